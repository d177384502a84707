#!/bin/sh
# Compiles the Java package into OUT/tare.jar and lays libtare beside it; with docs, also OUT/docs.
#
#   bindings/java/build.sh JDK LIBTARE.SO OUT [docs]
set -eu

jdk=$1 library=$2 out=$3 docs=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^#define TARE_VERSION "\(.*\)"$/\1/p' "$here/../c/include/tare.h")

rm -rf "$out/classes" "$out/docs"
mkdir -p "$out/classes"
# What libtare needs of Java is restricted: that is known, and asked for in the manifest.
"$jdk/bin/javac" -J-XX:TieredStopAtLevel=1 --release 22 -Xlint:all,-restricted -Werror -d "$out/classes" "$here"/src/tare/*.java
echo "$version" >"$out/classes/tare/version.txt"
printf 'Implementation-Title: tare\nImplementation-Version: %s\nEnable-Native-Access: ALL-UNNAMED\nAutomatic-Module-Name: tare\n' \
    "$version" >"$out/manifest"
"$jdk/bin/jar" --create --file "$out/tare.jar" --manifest "$out/manifest" -C "$out/classes" .
rm "$out/manifest"
# A program that has the old one open keeps it.
cp "$library" "$out/libtare.so.new"
mv "$out/libtare.so.new" "$out/libtare.so"
if [ -n "$docs" ] && [ -x "$jdk/bin/javadoc" ]; then
    "$jdk/bin/javadoc" -quiet --release 22 -Xdoclint:all -Werror -notimestamp -d "$out/docs" "$here"/src/tare/*.java
fi
