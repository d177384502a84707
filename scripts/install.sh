#!/bin/sh
# Installs a built tare, with its man pages, completions, and a systemd unit for `tare target`.
#
#   scripts/install.sh BINARY
#
# PREFIX (/usr/local), SYSCONFDIR, UNITDIR and DESTDIR in the environment say where. A configuration that is
# there already stays as it is.
set -eu
cd "$(dirname "$0")/.."

binary=$1
prefix=${PREFIX:-/usr/local}
case $prefix in
/usr) sysconfdir=${SYSCONFDIR:-/etc} site=vendor-completions vendor=vendor_completions.d ;;
*) sysconfdir=${SYSCONFDIR:-$prefix/etc} site=site-functions vendor=vendor_completions.d ;;
esac
unitdir=${UNITDIR:-$prefix/lib/systemd/system}
root=${DESTDIR:-}

# put MODE FOLDER NAME: standard input becomes a file.
put() {
    mkdir -p "$root$2"
    rm -f "$root$2/$3"
    cat >"$root$2/$3"
    chmod "$1" "$root$2/$3"
}

install -D "$binary" "$root$prefix/bin/tare"
strip --remove-section=.comment "$root$prefix/bin/tare"

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$binary" man --out "$pages" >/dev/null
for page in "$pages"/*.1; do
    gzip -9n <"$page" | put 644 "$prefix/share/man/man1" "${page##*/}.gz"
done
"$binary" completions bash | put 644 "$prefix/share/bash-completion/completions" tare
"$binary" completions zsh | put 644 "$prefix/share/zsh/$site" _tare
"$binary" completions fish | put 644 "$prefix/share/fish/$vendor" tare.fish

sed "s#@bindir@#$prefix/bin#; s#@sysconfdir@#$sysconfdir#" packaging/tare-target.service |
    put 644 "$unitdir" tare-target.service
[ -e "$root$sysconfdir/tare/target.toml" ] || put 644 "$sysconfdir/tare" target.toml <packaging/target.toml
