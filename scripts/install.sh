#!/bin/sh
# Installs a built tare, with its man pages, completions, and a systemd unit for `tare target`.
#
#   scripts/install.sh BINARY
#
# PREFIX (/usr/local), SYSCONFDIR, UNITDIR and DESTDIR in the environment say where. A configuration that is
# there already stays as it is.
set -eu

fail() {
    echo "install.sh: $*" >&2
    exit 2
}

binary=$(realpath -e -- "$1")
root=${DESTDIR:+$(realpath -m -- "$DESTDIR")}
cd "$(dirname "$0")/.."

# place NAME FOLDER: as it stands in the unit, which is no shell: absolute, with nothing that would need quotes.
place() {
    case $2 in
    /*) ;;
    *) fail "$1=$2 is not an absolute path" ;;
    esac
    case $2 in
    *[!A-Za-z0-9/._+-]*) fail "$1=$2 has a character other than letters, digits and / . _ + -" ;;
    esac
    realpath -ms -- "$2"
}

prefix=$(place PREFIX "${PREFIX:-/usr/local}")
case $prefix in
/usr) sysconfdir=${SYSCONFDIR:-/etc} site=vendor-completions vendor=vendor_completions.d ;;
*) sysconfdir=${SYSCONFDIR:-$prefix/etc} site=site-functions vendor=vendor_completions.d ;;
esac
sysconfdir=$(place SYSCONFDIR "$sysconfdir")
unitdir=$(place UNITDIR "${UNITDIR:-$prefix/lib/systemd/system}")

# put MODE FOLDER NAME: standard input becomes a file.
put() {
    mkdir -p "$root$2"
    rm -f "$root$2/$3"
    cat >"$root$2/$3"
    chmod "$1" "$root$2/$3"
}

install -D "$binary" "$root$prefix/bin/tare"
strip --remove-section=.comment "$root$prefix/bin/tare"

# Made first and put in place afterwards: of a pipe, the shell sees only whether its end has failed.
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$binary" man --out "$made" >/dev/null
gzip -9n "$made"/*.1
for page in "$made"/*.1.gz; do
    put 644 "$prefix/share/man/man1" "${page##*/}" <"$page"
done
for shell in bash zsh fish; do
    "$binary" completions $shell >"$made/$shell"
done
put 644 "$prefix/share/bash-completion/completions" tare <"$made/bash"
put 644 "$prefix/share/zsh/$site" _tare <"$made/zsh"
put 644 "$prefix/share/fish/$vendor" tare.fish <"$made/fish"

sed "s#@bindir@#$prefix/bin#; s#@sysconfdir@#$sysconfdir#" packaging/tare-target.service >"$made/unit"
put 644 "$unitdir" tare-target.service <"$made/unit"
[ -e "$root$sysconfdir/tare/target.toml" ] || put 644 "$sysconfdir/tare" target.toml <packaging/target.toml
