#!/bin/sh
# Installs the Debian packages that are missing, saying which; installs nothing if all are there.
#
#   scripts/need.sh PROGRAM=PACKAGE...
#
# PROGRAM is what the package is needed for: a name in PATH, or a path (which may have a *).
set -eu

# Many Debian programs are in sbin, which is not in every PATH.
PATH=$PATH:/usr/sbin:/sbin

there() {
    case $1 in
    */*) for file in $1; do [ -e "$file" ] && return 0; done; return 1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

missing=
for pair in "$@"; do
    there "${pair%%=*}" || missing="$missing ${pair#*=}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "missing Debian packages:$missing" >&2
    echo "install them, as root:  apt-get install$missing" >&2
    exit 1
fi
echo "installing Debian packages:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
# The tests start what they need themselves: services that come with a package stay off.
# shellcheck disable=SC2086 # words are to be split
RUNLEVEL=1 SYSTEMD_OFFLINE=1 apt-get install -q -y --no-install-recommends $missing >/dev/null
