#!/bin/sh
# Clients that know nothing of us, with libtilevm_cuda.so preloaded; ends with `preload: N passed, N failed`.
#
#   preload.sh BUILD FOLDER      BUILD has tilevm and fakecuda/; FOLDER is made
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
fake=$build/fakecuda
mkdir -p "$2" && cd "$2" || exit 2
passed=0
failed=0
unset TILEVM_IMAGE CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_CACHE_PATH
export HOME="$PWD" TILEVM_CACHE_DIR="$PWD/cache"

# expect WHAT EXPECTED FOUND
expect() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s\n  expected: %s\n  found:    %s\n' "$1" "$2" "$3"
    fi
}
# has WHAT WORDS FOUND
has() {
    case $3 in
        *"$2"*) passed=$((passed + 1)) ;;
        *) failed=$((failed + 1)); printf '%s\n  expected: ...%s...\n  found:    %s\n' "$1" "$2" "$3" ;;
    esac
}
host() { LD_PRELOAD=$fake/libtilevm_cuda.so "$fake/host" "$@" 2>&1; }

cat > kernel.tir <<'END'
cuda_tile.module @m { entry @scale(%a: tile<ptr<f32>>, %n: tile<i32>) { return } }
END
"$build/tilevm" asm kernel.tir -o kernel.tbc || exit 2
printf '.version 8.0\n.target sm_80\n.entry plain(.param .u64 p)\n{ ret; }\n' > plain.ptx

# Without it, this driver takes no bytecode.
expect 'not preloaded' 'cu.cuModuleLoadData: 200' "$("$fake/host" linked kernel.tbc scale 2>&1)"

for way in linked dlsym address file library kernel; do
    for form in ptx cubin; do
        expect "bytecode, $way, $form" "cuLaunchKernel scale grid 3,1,1 block 128,1,1 shared 65536 first 42
cuLaunchKernelEx scale grid 4,1,1 block 128,1,1 shared 65536 first 42" "$(TILEVM_IMAGE=$form host $way kernel.tbc scale)"
    done
done
expect 'bytecode, stream' "cuLaunchKernel_ptsz scale grid 3,1,1 block 128,1,1 shared 65536 first 42
cuLaunchKernelEx_ptsz scale grid 4,1,1 block 128,1,1 shared 65536 first 42" "$(host stream kernel.tbc scale)"

# What is not bytecode passes through as it is.
for way in linked dlsym address library file; do
    [ $way = linked ] && plain=$("$fake/host" $way plain.ptx plain 2>&1)
    expect "PTX, $way" "$plain" "$(host $way plain.ptx plain)"
done
# Code that was compiled before says which block it wants: in a cubin, in PTX, in fat binaries, by whatever way.
"$build/program" cubin scale 96 > scale.cubin || exit 2
printf '.version 8.0\n.target sm_80\n.visible .entry scale(.param .u64 p)\n.reqntid 96, 1, 1\n{ ret; }\n' > scale.ptx
printf '.version 8.0\n.target sm_80\n.visible .entry scale(.param .u64 p)\n.reqntid 32, 1, 1\n{ ret; }\n' > other.ptx
"$build/program" fatbin plain 0 scale.cubin other.ptx > cubin.fatbin
"$build/program" fatbin plain 0 scale.ptx > ptx.fatbin
launched="cuLaunchKernel scale grid 3,1,1 block 96,1,1 shared 0 first 42
cuLaunchKernelEx scale grid 4,1,1 block 96,1,1 shared 0 first 42"
for image in scale.cubin scale.ptx cubin.fatbin ptx.fatbin; do
    for way in linked dlsym address library kernel file; do
        expect "$image, $way, without us" "cu.cuLaunchKernel: 1" "$("$fake/host" $way $image scale 2>&1)"
        expect "$image, $way" "$launched" "$(host $way $image scale)"
    done
done
# What nvcc made of a program of tiles (tests/programs), for this device or not: code that is not for the device is compiled
# again from the Tile IR beside it, by the true code generator, and runs on the simulator; what is for it is the driver's.
xz -dc "$top/tests/programs/fatbins.tar.xz" | tar -xf - || exit 2
app() {
    LD_LIBRARY_PATH=$fake LD_PRELOAD=$build/libtilevm_cuda.so FAKECUDA_RUN=1 "$fake/app" "$@" 2>&1
}
ours='2 kernels
launches: 4 bytes, code 0
_Z4vaddPKfS0_Pfi: 64 threads
cuLaunchKernel _Z4vaddPKfS0_Pfi grid 2,1,1 block 64,1,1 shared 0: 200
_Z5countPii: 32 threads
cuLaunchKernel _Z5countPii grid 1,1,1 block 32,1,1 shared 0: 7'
# Of a cubin this driver knows blocks alone: its kernels write nothing.
theirs='2 kernels
launches: 0 bytes, code 500
_Z5countPii: 32 threads
cuLaunchKernel _Z5countPii grid 1,1,1 block 32,1,1 shared 0: -286331154
_Z4vaddPKfS0_Pfi: 128 threads
cuLaunchKernel _Z4vaddPKfS0_Pfi grid 2,1,1 block 128,1,1 shared 0: 0'
expect 'other, not packed' "$ours" "$(app library other-plain.fatbin)"
if "$build/program" fatbin zstd 0 scale.ptx > /dev/null 2>&1; then
    for way in library library-file wrapper data data-ex file; do
        refused=$(LD_LIBRARY_PATH=$fake "$fake/app" $way other.fatbin 2>&1)
        has "other, $way, without us" ': 209' "$refused"
        has "native, $way, without us" 'cu.cuLaunchKernel: 1' "$(LD_LIBRARY_PATH=$fake "$fake/app" $way native.fatbin 2>&1)"
        for variant in other virtual mixed; do
            expect "$variant, $way" "$ours" "$(app $way $variant.fatbin)"
        done
        expect "native, $way" "$theirs" "$(app $way native.fatbin)"
        expect "native, $way, sm_80" "$ours" "$(FAKECUDA_DEVICES=80 app $way native.fatbin)"
        expect "mixed, $way, sm_80" "$theirs" "$(FAKECUDA_DEVICES=80 app $way mixed.fatbin)"
        expect "mixed, $way, sm_86" "$theirs" "$(FAKECUDA_DEVICES=86 app $way mixed.fatbin)"
        expect "threads alone, $way" "$(LD_LIBRARY_PATH=$fake FAKECUDA_RUN=1 "$fake/app" $way threads.fatbin 2>&1)" \
            "$(app $way threads.fatbin)"
    done
    has "nvcc's own kernel" '__$dummy_kernel: 32 threads' "$(FAKECUDA_DEVICES=80 app library dummy.fatbin)"
    has 'from the cache' 'PTX from the cache' "$(TILEVM_LOG=note app library virtual.fatbin)"
    has 'why' 'the fat binary has no code for the device: its Tile IR is compiled' "$(TILEVM_LOG=note app library virtual.fatbin)"
else
    echo 'preload-fatbins: skipped, built without zstd'
fi

expect 'no such kernel in a cubin' 'cu.cuModuleGetFunction: 500' "$(host linked scale.cubin other)"
expect 'no such kernel' 'cu.cuModuleGetFunction: 500' "$(host linked kernel.tbc other 2> /dev/null | tail -1)"

# Messages go to standard error, as TILEVM_LOG says.
has 'message' 'tilevm: error: [L-IMG-02] the bytecode cannot be compiled for sm_90' "$(FAKE_COMPILE_REFUSES=1 TILEVM_CACHE_SIZE=0 host linked kernel.tbc scale)"
expect 'no message' 'cu.cuModuleLoadData: 209' "$(FAKE_COMPILE_REFUSES=1 TILEVM_CACHE_SIZE=0 TILEVM_LOG=none host linked kernel.tbc scale)"
has 'PTX that is refused' 'tilevm: error: [L-JIT-01] the driver cannot assemble the kernel:' "$(FAKE_COMPILE_BREAKS=1 TILEVM_CACHE_SIZE=0 host linked kernel.tbc scale)"
# Notes say which form, and why.
notes() { TILEVM_LOG=note host linked kernel.tbc scale; }
has 'PTX' 'tilevm: note: scale: for sm_90, PTX from the cache: the driver keeps the code' "$(notes)"
has 'PTX, how long' 'tilevm: note: scale: handed to the driver as PTX in ' "$(notes)"
has 'cubin' 'tilevm: note: scale: for sm_90, a cubin from the cache: CUDA_CACHE_DISABLE is set' "$(CUDA_CACHE_DISABLE=1 notes)"
has 'cubin, no home' 'a cubin from the cache: the driver'"'"'s cache has no folder' "$(unset HOME; notes)"
has 'no cache at all' 'made PTX in ' "$(unset HOME; TILEVM_CACHE_SIZE=0 notes)"
has 'a wrong value' "tilevm: warning: [L-IMG-04] TILEVM_IMAGE is 'fatbin'; it counts as not set" "$(TILEVM_IMAGE=fatbin host linked kernel.tbc scale)"
has 'old driver' 'tilevm: error: [L-DRV-02] the NVIDIA driver is for CUDA 11.8; 12.0 or later is needed' "$(FAKECUDA_VERSION=11080 host linked kernel.tbc scale)"

# A program that has nothing to do with CUDA runs as ever.
expect 'another program' 'hello' "$(LD_PRELOAD=$build/libtilevm_cuda.so sh -c 'echo hello' 2>&1)"
# It hands out nothing but the driver's names and dlsym.
expect 'exports' '' "$(nm -D --defined-only "$build/libtilevm_cuda.so" | awk '{print $3}' | grep -v -e '^cu[A-Z]' -e '^dlsym$')"

if command -v python3 > /dev/null; then
    # As Python clients do it: ctypes for the first function, cuGetProcAddress for the others.
    expect 'ctypes' 'the driver and its stand-in differ' "$(LD_LIBRARY_PATH=$fake LD_PRELOAD=$fake/libtilevm_cuda.so python3 -c '
import ctypes
dll = ctypes.CDLL("libcuda.so.1")
get = dll["cuGetProcAddress_v2"]
found = ctypes.c_void_p()
assert get(b"cuLibraryLoadData", ctypes.byref(found), 12000, ctypes.c_uint64(0), None) == 0
assert found.value == ctypes.cast(dll["cuLibraryLoadData"], ctypes.c_void_p).value
import os
mapped = [l for l in open("/proc/self/maps") if int(l.split("-")[0], 16) <= found.value < int(l.split("-")[1].split()[0], 16)]
print("the driver and its stand-in differ" if "libtilevm_cuda" in mapped[0] else mapped[0])' 2>&1)"
else
    echo 'python3 is not installed: ctypes is not tested'
fi

echo "preload: $passed passed, $failed failed"
[ $failed -eq 0 ]
