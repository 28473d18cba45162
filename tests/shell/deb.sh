#!/bin/sh
# The Debian packages: built, looked at by lintian, built again from another folder, installed into a root of their own, and
# used from there; ends with `deb: N passed, N failed`.
#
#   deb.sh BUILD TREE FOLDER      BUILD has tilevm; TREE is what `make deb-tree` makes; FOLDER is made
#
# With BUILD's objects in the tree, where they were made by the same flags, only what packages have of their own is built.
set -u
. "$(dirname "$0")/says.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
for needed in dpkg-buildpackage dh; do
    command -v $needed > /dev/null || { echo "deb: skipped, there is no $needed"; exit 0; }
done
lacking=$(dpkg-checkbuilddeps "$top/tools/debian/control" 2>&1) || { echo "deb: skipped, ${lacking#*: error: }"; exit 0; }
${MAKE:-make} --no-print-directory deb-tree || exit 2
tree=$(cd "$2" && pwd)
rm -rf "$3" && mkdir -p "$3/again" && cd "$3" || exit 2
# Packed quickly: what matters is that packages are alike.
export DPKG_DEB_COMPRESSOR_LEVEL=0
export LC_ALL=C NO_COLOR=1 HOME="$PWD" DEB_CFLAGS_SET='' DEB_LDFLAGS_SET='' DEB_BUILD_OPTIONS="nocheck noautodbgsym"
unset MAKEFLAGS MAKELEVEL LD_LIBRARY_PATH
package() { (cd "$1" && dpkg-buildpackage -us -uc -b -nc); }

mkdir -p "$tree/build/release"
for part in obj gen flags libtilevm.list tilevm.list; do
    cp -Rp "$build/$part" "$tree/build/release/" || exit 2
done
cp -Rp "$tree" again/
version=$(sed -n 's/^.define TV_VERSION "\(.*\)"/\1/p' "$top/include/tilevm/tilevm.h")
run 0 test "$version" = "$(cd "$tree" && dpkg-parsechangelog -S Version)"
run 0 package "$tree"
packages=$(ls "$tree"/../*.deb)
run 0 test "$(echo "$packages" | wc -l)" -eq 4
if command -v lintian > /dev/null; then
    # Nothing above the level of remarks, and no override without a reason above it.
    run 0 lintian --allow-root --fail-on error,warning,info,pedantic --display-info --pedantic "$tree"/../*.changes
    for file in "$top"/tools/debian/*.lintian-overrides; do
        run 0 awk '/^#/ { reason = 1; next } { if (!reason) exit 1; reason = 0 }' "$file"
    done
else
    echo "deb-lintian: skipped, lintian is not installed"
fi
run 0 package "again/$(basename "$tree")"
for file in $packages; do
    run 0 cmp "$file" "again/$(basename "$file")"
done
# A name that the library does not show any more, and one that nobody has promised, end the build.
for change in 's/^tv_version .*//' 's/^tv_version .*/&\ntv_version_of TILEVM_0.1/'; do
    sed -i "$change" "again/$(basename "$tree")/tests/compat/libtilevm.txt"
    run 2 env DEB_RULES_REQUIRES_ROOT=no make -C "again/$(basename "$tree")" -f debian/rules override_dh_makeshlibs
    says 'tv_version'
    cp "$top/tests/compat/libtilevm.txt" "again/$(basename "$tree")/tests/compat/"
done
rm -rf again

# ---- installed ----
root=$PWD/root
multiarch=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
mkdir root
if [ "$(id -u)" -eq 0 ]; then
    mkdir -p root/var/lib/dpkg/updates root/var/lib/dpkg/info root/etc
    : > root/var/lib/dpkg/status
    # What they depend on is the system's; scripts of packages find the root in DPKG_ROOT.
    manage() { dpkg --root="$root" --log=/dev/null --force-depends --force-script-chrootless "$@"; }
    alternatives() { update-alternatives --root "$root" --log /dev/null "$@"; }
    run 0 manage -i $packages
    link=$root/usr/bin/tileiras
    resolved() { readlink "$root$(readlink "$link")"; }
    run 0 test "$(resolved)" = /usr/libexec/tilevm/tileiras
    run 0 test -L "$root/usr/share/man/man1/tileiras.1.gz"
    # Another compiler of that name stands beside it, whichever is wanted.
    mkdir -p root/usr/local/cuda/bin && echo other > root/usr/local/cuda/bin/tileiras
    run 0 alternatives --install /usr/bin/tileiras tileiras /usr/local/cuda/bin/tileiras 60
    run 0 test "$(resolved)" = /usr/local/cuda/bin/tileiras
    run 0 alternatives --set tileiras /usr/libexec/tilevm/tileiras
    run 0 test "$(resolved)" = /usr/libexec/tilevm/tileiras
else
    echo "deb-install: skipped, dpkg installs as root only"
    for file in $packages; do
        dpkg-deb -x "$file" root || exit 2
    done
fi
# What was installed: commands, library, files for development. The links of alternatives lead into the real root.
tilevm=$root/usr/bin/tilevm
tileiras=$root/usr/libexec/tilevm/tileiras
run 0 "$tilevm" --version
says "$version"
run 0 "$tileiras" --version
echo 'cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %x = constant <i32: 7> : tile<i32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
} }' > k.tir
run 0 "$tilevm" asm k.tir -o k.tbc
run 0 "$tilevm" run k.tbc --grid 1 'zeros(i32,1)' --expect 'a=values(i32,[7])'
run 0 "$tilevm" explain V-INT-04
run 0 "$tilevm" bundle build k.tbc -t sm_80,sm_90 -e ptx -o k.tvb
run 0 "$tilevm" bundle verify k.tvb
for page in tilevm tilevm-tileiras; do
    run 0 sh -c "zcat '$root/usr/share/man/man1/$page.1.gz' | grep -q '^.TH'"
done
for name in tilevm tileiras; do
    run 0 bash -n "$root/usr/share/bash-completion/completions/$name"
    run 0 test -s "$root/usr/share/zsh/vendor-completions/_$name" -a -s "$root/usr/share/fish/vendor_completions.d/$name.fish"
done
lib=$root/usr/lib/$multiarch
flags() { PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --define-variable=prefix="$root/usr" "$@" tilevm; }
run 0 cc "$top/tests/api/example.c" $(flags --cflags --libs) -o shared
run 0 cc -static "$top/tests/api/example.c" $(flags --static --cflags --libs) -o static
for program in "env LD_LIBRARY_PATH=$lib ./shared" ./static; do
    run 0 sh -c "$program > printed"
    run 0 cmp printed "$top/tests/api/example.txt"
done
run 0 env LD_LIBRARY_PATH="$build/fakecuda" TILEVM_CACHE_DIR="$PWD/cache" LD_PRELOAD="$lib/tilevm/libtilevm_cuda.so" "$build/fakecuda/host" linked k.tbc k
says 'cuLaunchKernel k grid 3,1,1'
if [ "$(id -u)" -eq 0 ]; then
    run 0 manage --purge tilevm-tileiras tilevm libtilevm-dev libtilevm0
    run 0 test "$(readlink "$root/etc/alternatives/tileiras")" = /usr/local/cuda/bin/tileiras
    run 0 alternatives --remove tileiras /usr/local/cuda/bin/tileiras
    run 0 test -z "$(find "$root/usr" "$root/etc" ! -type d ! -path '*/local/*')"
fi
printf 'deb: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
