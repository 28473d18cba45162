#!/bin/sh
# Programs of nvcc on a real device (sm_90, which `native` is built for), the others built for another, with libtilevm_cuda.so preloaded: programs.sh BUILD
# PROGRAMS, which `make gpu-programs` has made where nvcc is. Ends with `programs on a GPU: N passed, N failed`.
set -u
. "$(dirname "$0")/../shell/says.sh"
build=$(cd "$1" && pwd)
[ -x "$2/native" ] || { echo "programs on a GPU: skipped, there is no $2: make gpu-programs, with CUDA_HOME of a toolkit from 13.3 on"; exit 0; }
programs=$(cd "$2" && pwd)
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
unset CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_MODULE_LOADING TILEVM_IMAGE
"$programs/native" > out 2>&1
why=$(grep -o -m 1 'no CUDA-capable device is detected\|CUDA driver version is insufficient[^)]*' out)
[ -n "$why" ] && { echo "programs on a GPU: skipped, $why"; exit 0; }

# shows STATUS COMMAND...: like run, with what was printed.
shows() {
    run "$@"
    sed 's/^/    /' out
}
for program in "$programs"/*; do
    name=$(basename "$program")
    case $name in bench.*) continue ;; esac
    "$build/tilevm" verify "$program" > out 2>&1 || { echo "programs-$name: skipped, $(tail -n 1 out)"; continue; }
    echo "$name, not preloaded:"
    "$program" 2>&1 | tail -n 2 | sed 's/^/    /'
    for mode in LAZY EAGER; do
        for form in ptx cubin; do
            export TILEVM_CACHE_DIR="$folder/$form" CUDA_CACHE_PATH="$folder/$form.driver"
            for time in first again; do
                echo "$name, $mode loading, $form, $time:"
                shows 0 env CUDA_MODULE_LOADING=$mode TILEVM_IMAGE=$form TILEVM_LOG=note LD_PRELOAD="$build/libtilevm_cuda.so" "$program"
                says ' passed, 0 failed'
            done
        done
    done
    # What is built for the device (sm_90) is used; nothing else is.
    case $name in
    native) silent 'its Tile IR is compiled' ;;
    *) says 'its Tile IR is compiled' && says 'from the cache' ;;
    esac
done

# The speed of two kernels beside the toolkit's compiler.
run 0 "$programs/bench.reference"
cp out reference
run 0 env LD_PRELOAD="$build/libtilevm_cuda.so" "$programs/bench.ours"
silent WRONG
awk 'NR == FNR { took[$1] = $2; next } { printf "%s: %s us, the toolkit'"'"'s compiler %s us: %.2f of its speed\n", $1, $2, took[$1], took[$1] / $2 }' reference out

echo "programs on a GPU: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
