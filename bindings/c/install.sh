#!/bin/sh
# Installs libtare: the library under its versions, the header, and what pkg-config reads.
#
#   bindings/c/install.sh LIBTARE.SO PREFIX     DESTDIR= stands before PREFIX, in no file
set -eu

library=$1 prefix=$2
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^#define TARE_VERSION "\(.*\)"$/\1/p' "$here/include/tare.h")
major=${version%%.*}
root=${DESTDIR:-}$prefix

mkdir -p "$root/lib/pkgconfig" "$root/include"
install -m 644 "$library" "$root/lib/libtare.so.$version"
ln -sf "libtare.so.$version" "$root/lib/libtare.so.$major"
ln -sf "libtare.so.$major" "$root/lib/libtare.so"
install -m 644 "$here/include/tare.h" "$root/include/tare.h"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/tare.pc.in" >"$root/lib/pkgconfig/tare.pc"
