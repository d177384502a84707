#!/bin/sh
# Packs a built tare as a Debian package, and prints its name.
#
#   scripts/deb.sh BINARY FOLDER [dpkg-deb option]...
#
# DEBFULLNAME and DEBEMAIL in the environment name the maintainer; without them it is the authors, whose address
# is of the domain that RFC 2606 reserves for those that do not exist. The same sources make the same package: files
# have the time of the last commit (or SOURCE_DATE_EPOCH).
set -eu
cd "$(dirname "$0")/.."

binary=$1 folder=$2
shift 2
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-The Tare authors} <${DEBEMAIL:-authors@tare.invalid}>"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/tare
docs=$root/usr/share/doc/tare
mkdir -p "$docs" "$root/DEBIAN" "$folder"

PREFIX=/usr SYSCONFDIR=/etc UNITDIR=/lib/systemd/system DESTDIR=$root scripts/install.sh "$binary"
install -m 644 packaging/debian/copyright "$docs/copyright"
scripts/libraries.py | gzip -9n >"$docs/libraries.gz"
install -m 644 docs/*.md "$docs"
gzip -9n <CHANGELOG.md >"$docs/changelog.gz"
gzip -9n >"$docs/changelog.Debian.gz" <<END
tare ($version-1) unstable; urgency=medium

  * Version $version; see changelog.gz.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END
mkdir -p "$root/usr/share/lintian/overrides"
install -m 644 packaging/debian/lintian-overrides "$root/usr/share/lintian/overrides/tare"

# dpkg-shlibdeps reads debian/control where it is started.
mkdir "$work/debian"
printf 'Source: tare\n\nPackage: tare\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O tare/usr/bin/tare 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
# It counts symbols; packed relocations (crates/cli/build.rs) need a newer one.
if readelf -d "$root/usr/bin/tare" | grep -q '(RELR)'; then
    depends=$(echo "$depends" | sed 's/libc6 (>= 2\.[12][0-9]*)/libc6 (>= 2.36)/; s/libc6 (>= 2\.3[0-5])/libc6 (>= 2.36)/')
fi

sed -e "s#@version@#$version-1#; s#@architecture@#$architecture#" \
    -e "s#@maintainer@#$maintainer#; s#@depends@#$depends#" \
    -e "s#@size@#$(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f1)#" \
    packaging/debian/control >"$root/DEBIAN/control"
echo /etc/tare/target.toml >"$root/DEBIAN/conffiles"
install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$root/DEBIAN"
(cd "$root" && find usr lib -type f | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"

dpkg-deb --root-owner-group "$@" --build "$root" "$folder/tare_${version}-1_$architecture.deb" >/dev/null
echo "$folder/tare_${version}-1_$architecture.deb"
