#!/bin/sh
# Installs a Debian package of tare in a root of its own, runs it there, and removes it. Nothing may stay. Needs
# root; mounts and network are in namespaces.
#
#   scripts/deb_test.sh PACKAGE           a root made by mmdebstrap: Debian's essential packages and the dependencies
#   scripts/deb_test.sh PACKAGE --bare    a root with nothing but the dependencies, a shell and rm: takes seconds
set -eu
PATH=$PATH:/usr/sbin:/sbin

fail() {
    echo "$package: $*" >&2
    exit 1
}

dependencies() {
    dpkg-deb -f "$package" Depends | sed 's/([^)]*)//g; s/,/ /g'
}

# Has no library but those that the package says it needs.
bare_root() {
    mkdir -p usr/bin usr/lib usr/lib64 usr/sbin etc var/lib/dpkg/info var/lib/dpkg/updates
    for folder in bin lib lib64 sbin; do ln -s usr/$folder $folder; done
    # shellcheck disable=SC2046 # names of packages
    for file in $(dpkg -L $(dependencies) | grep -E '\.so(\.|$)') /bin/sh /bin/rm; do
        [ -f "$file" ] || continue
        mkdir -p "./${file%/*}"
        cp --dereference "$file" "./$file"
    done
    # shellcheck disable=SC2046
    dpkg-query --status $(dependencies) >var/lib/dpkg/status
    for name in $(dependencies); do cp /var/lib/dpkg/info/"$name":*.list var/lib/dpkg/info/; done
}

# The release that this host runs: its mirrors are known.
clean_root() {
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    include=$(dependencies | tr -s ' ' ',')
    mmdebstrap --quiet --variant=essential --include="$include" "$suite" .
}

everything() {
    find . -xdev \( -path ./var/lib/dpkg -o -path ./var/log -o -path ./proc -o -path ./dev \) -prune \
        -o -printf '%p %y %m %U %s %l\n' |
        # A folder's size is what its files made of it.
        awk '$2 == "d" { $5 = "" } { print }' | LC_ALL=C sort
}

# In namespaces that end with this script, whatever it started.
inside() {
    ip link set lo up
    mkdir -p proc dev try
    mount -t proc proc proc
    mount -t tmpfs tmpfs dev
    for device in null zero random urandom; do
        : >dev/$device
        mount --bind /dev/$device dev/$device
    done
    everything >"$root.before"
    dpkg --root="$root" --install "$package" >/dev/null
    run_it
    dpkg --root="$root" --remove tare >/dev/null
    [ -f etc/tare/target.toml ] || fail "the configuration is gone before the package is purged"
    dpkg --root="$root" --purge tare >/dev/null 2>&1
    everything >"$root.after"
    diff "$root.before" "$root.after" || fail "this stays when the package is removed"
    ! dpkg-query --admindir=var/lib/dpkg --status tare >/dev/null 2>&1 || fail "dpkg still knows it"
}

run_it() {
    tare="env -i PATH=$PATH HOME=/try chroot $root tare"
    $tare --version
    # What the service runs, with the configuration that is installed.
    $tare target --config /etc/tare/target.toml >try/target.txt &
    target=$!
    for _ in $(seq 100); do
        grep -qs '^listening on http://127.0.0.1:8080' try/target.txt && break
        sleep 0.1
    done
    url=http://127.0.0.1:8080/
    $tare http --rate 100 --duration 1s --no-progress --quiet --accept-invalid --out /try/run "$url"
    $tare report /try/run --json | grep -q '"done": 100,' || fail "of 100 requests, not 100 were answered"
    $tare report /try/run --html | grep -q '</html>' || fail "the report is no page"
    kill "$target"
    wait "$target" || fail "the target ended with status $?"
    find try -mindepth 1 -delete
}

if [ "$1" = --inside ]; then
    package=$2 root=$3
    cd "$root"
    inside
    exit
fi
package=$(realpath "$1")
script=$(realpath "$0")
root=$(mktemp -d)
trap 'cd /; rm -rf --one-file-system "$root" "$root.before" "$root.after"' EXIT
cd "$root"
chmod 755 .
if [ "${2:-}" = --bare ]; then bare_root; else clean_root; fi
unshare --net --mount --pid --fork --kill-child "$script" --inside "$package" "$root"
echo "$package: installed, run, removed"
