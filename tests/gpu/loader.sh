#!/bin/sh
# The loader on a real device, with PTX and with cubins: each way to load, first with empty caches, then from them; and PTX that the
# driver refuses. loader.sh BUILD VADD.tbc; ends with `loader on a GPU: N passed, N failed`, or says that there is no device.
set -u
. "$(dirname "$0")/../shell/says.sh"
build=$(cd "$1" && pwd)
file=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
unset CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_MODULE_LOADING

"$build/gpu_loader" api "$file" > out 2>&1
if [ $? -eq 77 ]; then
    cat out
    exit 0
fi

# loads STATUS COMMAND...: like run, and shows what was printed.
loads() {
    run "$@"
    cat out
}

for form in ptx cubin; do
    export TILEVM_IMAGE=$form TILEVM_CACHE_DIR="$folder/$form" CUDA_CACHE_PATH="$folder/$form.driver"
    echo "cache empty, $form:"
    loads 0 "$build/gpu_loader" api "$file"
    echo "cache hit, $form:"
    loads 0 "$build/gpu_loader" api "$file"
    for mode in LAZY EAGER; do
        echo "library, $mode loading, $form:"
        loads 0 env CUDA_MODULE_LOADING=$mode "$build/gpu_loader" library "$file"
    done
    echo "preloaded, $form:"
    loads 0 env TILEVM_LOG=note LD_PRELOAD="$build/libtilevm_cuda.so" "$build/gpu_loader" client "$file"
    run 0 "$build/gpu_loader" fault "$file"
    # A code generator whose PTX is broken.
    for mode in LAZY EAGER; do
        loads 1 env CUDA_MODULE_LOADING=$mode FAKE_COMPILE_BREAKS=1 TILEVM_CACHE_SIZE=0 \
            LD_PRELOAD="$build/fakecuda/libtilevm_cuda.so" "$build/gpu_loader" client "$file"
        says 'tilevm: error: [L-JIT-01] the driver cannot assemble the kernel:'
        says 'which belongs to op 0 return kernel.py:3:5'
    done
    run 0 "$build/tilevm" cache list
    says '2 entries, '
done
# The driver kept what it made of PTX.
run 0 sh -c 'find ptx.driver -type f | grep .'

echo "loader on a GPU: $passed passed, $failed failed"
[ $failed -eq 0 ]
