#!/bin/sh
# Makes the files of a release below dist/tilevm-VERSION, from the commit that is checked out; called by `make release`.
#
#   release.sh VERSION
#
# Everything is built in a copy of the commit, so that nothing else of this folder gets into it. The same commit gives the same bytes
# on the same system, wherever and whenever it is built.
#
#   RELEASE_PARTS         which of "source wheel static deb" to make; the default is all. The bill of materials and the checksums
#                         are made of what is there.
#   LICENSE_NAME          the licence of mk/owner.mk; without one, the release says so
#   CJSON_SOURCE          for static commands: the file cJSON.c (`make from-debian` downloads it)
#   XZ_PRESET             how hard xz tries, 0 to 9; the default is 6
#   MAKE, PYTHON          programs
set -eu
version=$1
cd "$(dirname "$0")/.."
top=$PWD
parts=${RELEASE_PARTS:-source wheel static deb}
out=$top/dist/tilevm-$version
work=$top/dist/work-$version
MAKE=${MAKE:-make}
PYTHON=${PYTHON:-python3}
preset=${XZ_PRESET:-6}
export LC_ALL=C TZ=UTC0
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES

stop() { echo "release: $1" >&2; exit 1; }
wanted() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }
say() { printf '  %-8s%s\n' "$1" "$2"; }

# ---- what a release needs ----
case $version in *[!0-9.]* | .* | *. | *..* | '') stop "'$version' is not a version such as 1.2.3" ;; esac
git rev-parse -q --verify HEAD > /dev/null 2>&1 || stop "this is not a checkout of git"
[ -z "$(git status --porcelain)" ] || stop "the tree differs from the commit: commit or remove the changes that 'git status' lists"
in_header=$(sed -n 's/^.define TV_VERSION "\(.*\)"/\1/p' include/tilevm/tilevm.h)
[ "$version" = "$in_header" ] || stop "include/tilevm/tilevm.h has version $in_header, not $version"
in_packages=$(sed -n '1s/^tilevm (\(.*\)).*/\1/p' tools/debian/changelog)
[ "$version" = "$in_packages" ] || stop "tools/debian/changelog begins with version $in_packages, not $version"
[ ! -f CHANGELOG.md ] || grep -qF "## [$version]" CHANGELOG.md || stop "CHANGELOG.md has no section for $version"
[ -z "${LICENSE_NAME:-}" ] || [ -f LICENSE ] || stop "mk/owner.mk names the licence $LICENSE_NAME, but there is no file LICENSE"

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
machine=$(uname -m)
name=tilevm-$version
rm -rf "$out" "$work"
mkdir -p "$out" "$work/log"

# pack ARCHIVE NAME: a folder of the work folder as an archive whose bytes depend on its contents only.
pack() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w --mtime="@$SOURCE_DATE_EPOCH" -C "$work" -cf - "$2" \
        | xz "-$preset" -T1 > "$out/$1"
}
# build WHAT ARGUMENTS...: make in the copy of the commit.
build() {
    say BUILD "$1"
    log=$work/log/$1
    shift
    "$MAKE" -C "$work/$name" --no-print-directory "-j$(getconf _NPROCESSORS_ONLN)" LICENSE_NAME="${LICENSE_NAME:-}" "$@" > "$log" 2>&1 || {
        tail -n 20 "$log" >&2
        stop "'make $*' failed; its whole output is in $log"
    }
}

git archive --prefix="$name/" HEAD | tar -C "$work" -xf -
if wanted source; then
    say PACK "$name.tar.xz"
    git archive --prefix="$name/" --format=tar HEAD | xz "-$preset" -T1 > "$out/$name.tar.xz"
fi
if wanted wheel; then
    build wheel wheel PYTHON="$PYTHON"
    cp "$work/$name"/dist/*.whl "$out"
fi
if wanted static; then
    build static static ${CJSON_SOURCE:+CJSON_SOURCE="$CJSON_SOURCE"}
    static=$name-linux-$machine
    mkdir "$work/$static"
    cp "$work/$name/build/release/static/tilevm" "$work/$name/build/release/static/tileiras" "$work/$name"/docs/man/*.1 "$work/$static"
    strip "$work/$static/tilevm" "$work/$static/tileiras"
    say PACK "$static.tar.xz"
    pack "$static.tar.xz" "$static"
fi
if wanted deb; then
    build deb deb
    cp "$work/$name"/build/deb/*.deb "$out"
fi

say WRITE "$name.spdx.json"
"$PYTHON" tools/sbom.py "$version" "$(git rev-parse HEAD)" "$out" > "$work/sbom"
mv "$work/sbom" "$out/$name.spdx.json"
say WRITE SHA256SUMS
(cd "$out" && find . -type f ! -name SHA256SUMS | sed 's|^\./||' | sort | xargs sha256sum > SHA256SUMS)
chmod -R u=rwX,go=rX "$out"
rm -rf "$work"
echo "release: $out"
sed 's/^/  /' "$out/SHA256SUMS"
[ -n "${LICENSE_NAME:-}" ] || echo "release: the licence is missing: the owner names one in mk/owner.mk and puts its text into LICENSE"
