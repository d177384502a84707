#!/bin/sh
# Compiles what bench-bindings runs, beside tare.jar in OUT: OUT/bench in Java, and OUT/native in C.
#
#   bindings/java/bench.sh JDK OUT
set -eu

jdk=$1 out=$2
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$out/bench"
mkdir -p "$out/bench"
"$jdk/bin/javac" --release 22 -Xlint:all -Werror -cp "$out/tare.jar" -d "$out/bench" "$here"/bench/tare/bench/*.java
# libtare is found by the name that it has for programs.
ln -sf libtare.so "$out/libtare.so.0"
cc -O2 -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread -I"$here/../c/include" "$here/bench/native.c" \
    "$out/libtare.so" -Wl,-rpath,'$ORIGIN' -o "$out/native"
