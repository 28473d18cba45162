#!/bin/sh
# `make release`, reduced to what needs no compiler: made twice, in two folders at two times, and compared; and what it refuses.
# That builds give the same bytes is for reproducible.sh and deb.sh. Archives are packed quickly: what matters is that
# they are alike. Ends with `release: N passed, N failed`.
#
#   release.sh FOLDER      FOLDER is made
set -u
. "$(dirname "$0")/says.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
for needed in git python3 xz; do
    command -v $needed > /dev/null || { echo "release: skipped, there is no $needed"; exit 0; }
done
git -C "$top" rev-parse -q --verify HEAD > /dev/null 2>&1 || { echo "release: skipped, this is no checkout of git"; exit 0; }
rm -rf "$1" && mkdir -p "$1" && cd "$1" || exit 2
export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1 RELEASE_PARTS=source XZ_PRESET=0
unset LICENSE_NAME MAKEFLAGS MAKELEVEL
version=$(sed -n 's/^.define TV_VERSION "\(.*\)"/\1/p' "$top/include/tilevm/tilevm.h")
name=tilevm-$version

# What is tested is this folder as it is: it becomes the last commit of a copy.
git clone -q --no-hardlinks "$top" one 2> /dev/null || exit 2
(cd "$top" && git ls-files -z -co --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh \
    | tar --null -T - -cf -) | tar -C one -xf - || exit 2
(cd "$top" && git ls-files -d) | (cd one && xargs -r rm -f)
printf '\n## [%s]\n' "$version" >> one/CHANGELOG.md
git -C one add -A && git -C one -c user.name=n -c user.email=e commit -q -m 'a release' || exit 2
git clone -q one two || exit 2
release() { (cd "$1" && shift && ${MAKE:-make} --no-print-directory release "$@"); }

run 0 release one VERSION="$version"
says 'the licence is missing'
sleep 1
run 0 release two VERSION="$version"
for file in $name.tar.xz $name.spdx.json SHA256SUMS; do
    run 0 cmp one/dist/$name/$file two/dist/$name/$file
done
run 0 sh -c "cd one/dist/$name && sha256sum -c SHA256SUMS"
run 0 test ! -e one/dist/work-"$version"
# The archive is the commit, and knows which.
mkdir archive && xz -dc one/dist/$name/$name.tar.xz | tar -C archive -xf - || exit 2
run 0 test "$(cd one && git ls-files | wc -l)" -eq "$(cd archive/$name && find . -type f | wc -l)"
run 0 test "$(sh archive/$name/tools/commit.sh)" = "$(git -C one rev-parse --short=12 HEAD)"
run 0 test "$(COMMIT=abc sh archive/$name/tools/commit.sh)" = abc
# The bill of materials.
run 0 python3 - one/dist/$name/$name.spdx.json "$version" "$(git -C one rev-parse HEAD)" << 'END'
import json, sys
document = json.load(open(sys.argv[1]))
ids = {e["SPDXID"] for e in document["packages"] + document["files"]} | {document["SPDXID"]}
assert all({r["spdxElementId"], r["relatedSpdxElement"]} <= ids for r in document["relationships"])
tilevm = document["packages"][0]
assert tilevm["versionInfo"] == sys.argv[2] and sys.argv[3] in tilevm["sourceInfo"]
assert tilevm["licenseDeclared"] == "NOASSERTION"
assert [f["fileName"] for f in document["files"]] == [f"./tilevm-{sys.argv[2]}.tar.xz"]
END
if command -v pyspdxtools > /dev/null; then
    run 0 pyspdxtools -i one/dist/$name/$name.spdx.json
else
    echo "release-spdx: skipped, pyspdxtools is not installed"
fi

# ---- with a licence ----
printf 'The text\n\nof a licence.\n' > two/LICENSE
git -C two add -A && git -C two -c user.name=n -c user.email=e commit -q -m 'a licence' || exit 2
run 0 release two VERSION="$version" LICENSE_NAME=MIT
silent 'the licence is missing'
run 0 grep -q '"licenseDeclared": "MIT"' two/dist/$name/$name.spdx.json
cd two || exit 2
run 0 env LICENSE_NAME=MIT sh tools/debian_copyright.sh tools/debian/copyright
says 'License: MIT
 The text
 .
 of a licence.'
run 0 env LICENSE_NAME=MIT python3 -c 'import sys; sys.path.insert(0, "tools/python"); import backend; print(backend.licence())'
says 'MIT'
sed -i 's/^LICENSE_NAME ?=.*/LICENSE_NAME ?= BSD-3-Clause/' mk/owner.mk
run 0 python3 -c 'import sys; sys.path.insert(0, "tools/python"); import backend; print(backend.licence())'
says 'BSD-3-Clause'
git checkout -q mk/owner.mk
cd ..
run 0 sh -c 'cd one && sh tools/debian_copyright.sh tools/debian/copyright'
says 'License: none-yet'

# ---- what is refused ----
run 2 release one VERSION=9.9.9
says "include/tilevm/tilevm.h has version $version, not 9.9.9"
run 2 release one VERSION=../x
says 'is not a version such as 1.2.3'
run 2 release one VERSION="$version" LICENSE_NAME=MIT
says 'there is no file LICENSE'
echo >> one/Makefile
run 2 release one VERSION="$version"
says 'the tree differs from the commit'
run 0 test "$(sh one/tools/commit.sh)" = "$(git -C one rev-parse --short=12 HEAD)-modified"
git -C one checkout -q Makefile
sed -i "s/^## \[.*//" one/CHANGELOG.md && git -C one -c user.name=n -c user.email=e commit -q -am 'no section'
run 2 release one VERSION="$version"
says "CHANGELOG.md has no section for $version"
sed -i '1s/(.*)/(0.0.1)/' one/tools/debian/changelog && git -C one -c user.name=n -c user.email=e commit -q -am 'other packages'
run 2 release one VERSION="$version"
says "tools/debian/changelog begins with version 0.0.1, not $version"

echo "release: $passed passed, $failed failed"
[ $failed -eq 0 ]
