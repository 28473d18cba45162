#!/bin/sh
# `tilevm doctor` on the fake driver, with everything wrong that can be; ends with `doctor: N passed, N failed`.
#
#   doctor.sh BUILD FOLDER      BUILD has tilevm and fakecuda/libcuda.so.1; FOLDER is made
set -u
. "$(dirname "$0")/says.sh"
build=$(cd "$1" && pwd)
names=$(sed -n 's/^CUDA(\([A-Za-z0-9]*\),.*/\1/p' "$(dirname "$0")/../../loader/cuda_api.def")
tilevm=$build/tilevm
rm -rf "$2" && mkdir -p "$2" && cd "$2" || exit 2
unset TILEVM_IMAGE CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_CACHE_PATH CUDA_DISABLE_PTX_JIT CUDA_VISIBLE_DEVICES TILEVM_CACHE_SIZE
export HOME="$PWD" TILEVM_CACHE_DIR="$PWD/cache" NO_COLOR=1 LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_RUN=1 FAKECUDA_LEFT="$PWD/left" \
    TILEVM_PTXAS=none

# with NAME=VALUE... -- COMMAND...
with() (
    while [ "$1" != -- ]; do
        export "$1"
        shift
    done
    shift
    "$@"
)

# ---- all is well ----
run 0 with FAKECUDA_DEVICES=90,70,80 -- "$tilevm" doctor
says 'driver       for CUDA 12.8, PTX up to 8.7'
says 'device 0     No GPU 0, sm_90, 1.07 of 1.07 GB free'
says 'code 0       for sm_90a: products by wgmma, tiles of loops by TMA or cp.async'
says 'code 2       for sm_80: products by mma.sync, tiles of loops by cp.async; our tests have never run on such a GPU'
says 'self-test 0  a kernel was loaded and run in'
says 'device 1     No GPU 1, sm_70: too old for Tile IR'
says 'self-test 2  a kernel was loaded and run in'
says "cache        $PWD/cache: 2 entries"
says 'ptxas        none; only cubins in bundles'
says 'kernels run here'
run 0 test ! -s left
run 0 "$tilevm" doctor --json
says '"schema":	"tilevm-doctor/1"'
says '"problems":	0'

# ---- driver and devices ----
run 1 with LD_LIBRARY_PATH=/nonexistent -- "$tilevm" doctor
says '[L-DRV-01]'
says 'fix: sudo apt-get install'
run 1 with FAKECUDA_VERSION=11080 -- "$tilevm" doctor
says '[L-DRV-02] the NVIDIA driver is for CUDA 11.8; 12.0 or later is needed'
says 'fix: sudo apt-get install --only-upgrade'
run 1 with FAKECUDA_DEVICES=none -- "$tilevm" doctor
says 'devices      none: CUDA_ERROR_NO_DEVICE'
says 'fix: nvidia-smi -L'
run 1 with FAKECUDA_DEVICES=none CUDA_VISIBLE_DEVICES= -- "$tilevm" doctor
says 'fix: unset CUDA_VISIBLE_DEVICES'
run 1 with FAKECUDA_DEVICES=70 -- "$tilevm" doctor
says 'too old for Tile IR'
run 1 with CUDA_DISABLE_PTX_JIT=1 -- "$tilevm" doctor
says 'fix: unset CUDA_DISABLE_PTX_JIT'
run 1 with FAKECUDA_FAIL=cuModuleLoadDataEx=221 -- "$tilevm" doctor
says '[L-JIT-02]'
says 'fix: (install the whole driver package'
run 1 with FAKECUDA_BREAK=mul.lo.s32:1:add.s32 FAKECUDA_MEMORY=1000000 -- "$tilevm" doctor
says 'its result is wrong'
silent 'kernels run here'
# Every call of the driver failing: never a crash, and all is given back.
for name in $names; do
    with "FAKECUDA_FAIL=$name=999" -- "$tilevm" doctor > out 2>&1
    code=$?
    run 0 test $code -le 1 # a function that it has no use for changes nothing
    [ $code -eq 0 ] || run 0 "$tilevm" explain "$(with "FAKECUDA_FAIL=$name=999" -- "$tilevm" doctor | sed -n 's/.*\[\(L-[A-Z0-9-]*\)\].*/\1/p;s/.*none: CUDA_ERROR.*/L-DRV-03/p' | head -n 1)"
    case $name in *Free | *Unload | *Destroy | *Release) rm -f left ;; esac # what gives back is what fails
    run 0 test ! -s left
done

# ---- the cache ----
run 1 with TILEVM_CACHE_SIZE=lots -- "$tilevm" doctor
says 'there is none: TILEVM_CACHE_SIZE is not a size'
run 0 with TILEVM_CACHE_SIZE=0 -- "$tilevm" doctor
says 'switched off: TILEVM_CACHE_SIZE is 0'
run 1 with TILEVM_CACHE_DIR=/proc/none -- "$tilevm" doctor
says 'fix: mkdir -p /proc/none'
mkdir open && chmod 777 open
run 1 with "TILEVM_CACHE_DIR=$PWD/open" -- "$tilevm" doctor
says 'chmod 700'
for entry in cache/*/*.tvk; do echo damaged > "$entry"; done
run 1 with FAKECUDA_DEVICES=none -- "$tilevm" doctor
says 'entries are damaged'
says 'fix: tilevm cache prune'
run 2 "$tilevm" doctor now
says "unexpected operand 'now'"

printf 'doctor: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
