#!/bin/sh
# The commands that need no libraries, in a root that has nothing else; ends with `static: N passed, N failed`.
#
#   static.sh BUILD FOLDER      BUILD has tilevm, fakecuda/libcuda.so.1, gen/; CJSON_SOURCE: as for make static; FOLDER is made
#
# Without cJSON's source or archive there is no such tilevm, and tileiras alone is looked at.
set -u
. "$(dirname "$0")/says.sh"
build=$(cd "$1" && pwd)
make=${MAKE:-make}
"$make" --no-print-directory "$1/static/tileiras" > /dev/null 2>&1 || { echo "static: 0 passed, 1 failed"; exit 1; }
made=tileiras
if "$make" --no-print-directory CJSON_SOURCE="${CJSON_SOURCE:-}" "$1/static/tilevm" > "$build/static/log" 2>&1; then
    made="tilevm tileiras"
elif grep -qF "'make from-debian'" "$build/static/log"; then
    echo "static-tilevm: skipped, there is no archive of cJSON and no source of it (make from-debian)"
else
    tail "$build/static/log"
    failed=$((failed + 1))
fi
rm -rf "$2" && mkdir -p "$2/root/bin" "$2/root/tmp" && cd "$2" || exit 2
export NO_COLOR=1 HOME="$PWD" TILEVM_PTXAS=none
unset LD_LIBRARY_PATH TILEVM_BUNDLE_KEY TILEVM_BUNDLE_TRUST

for name in $made; do
    file=$build/static/$name
    run 0 readelf -hldW "$file"
    silent 'INTERP'
    silent '(NEEDED)'
    says 'FLAGS_1'
    says ' PIE'
    says 'GNU_RELRO'
    cp "$file" root/bin/
done
echo 'cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %x = constant <i32: 7> : tile<i32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
} }' > root/k.tir
"$build/tilevm" asm root/k.tir -o root/k.tbc || exit 2
# Alone in a root, where this user may change it.
alone() { (cd root && env -i PATH=./bin HOME=/ "$@"); }
chroot=$(command -v chroot) && chroot root /bin/tileiras --version > /dev/null 2>&1 && alone() { env -i PATH=/bin HOME=/ TILEVM_PTXAS=none "$chroot" root "$@"; }
run 0 alone tileiras --version
if [ "$made" != tileiras ]; then
    run 0 alone tilevm verify k.tbc
    run 0 alone tilevm run k.tbc --grid 1 'zeros(i32,1)' --expect 'a=values(i32,[7])' --device cpu
    for target in sm_80 sm_120; do
        run 0 alone tilevm compile k.tbc --target $target -o k.ptx
        run 0 "$build/tilevm" compile root/k.tbc --target $target -o k.ptx
        run 0 cmp k.ptx root/k.ptx
    done
    run 0 alone tilevm bundle build k.tbc -t sm_80,sm_90 -e ptx -o k.tvb
    if command -v openssl > /dev/null; then
        openssl genpkey -algorithm ed25519 -out root/private.pem 2> /dev/null \
            && openssl pkey -in root/private.pem -pubout -out root/public.pem || exit 2
        run 0 alone tilevm bundle sign k.tvb --key private.pem
        run 0 alone tilevm bundle verify k.tvb --key public.pem
        says 'sound'
    else
        echo "static-signatures: skipped, openssl is not installed"
    fi
    # No driver, though one is there; and no library of C++ for the names of its kernels.
    run 2 env LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_RUN=1 "$build/static/tilevm" run root/k.tbc --grid 1 'zeros(i32,1)' --device cuda
    says 'this tilevm is linked statically'
    run 1 env LD_LIBRARY_PATH="$build/fakecuda" "$build/static/tilevm" doctor
    run 2 alone tilevm run k.tbc --grid 1 'zeros(i32,1)' --device cuda
    says '[L-DRV-01]'
fi
printf 'static: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
