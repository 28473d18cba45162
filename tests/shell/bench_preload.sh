#!/usr/bin/env bash
# How much slower programs start with libtilevm_cuda.so preloaded: bench_preload.sh BUILD FOLDER. One that does not use
# CUDA, and one that loads a fat binary of code without Tile IR through the fake driver. The least of many runs each, in turns.
set -eu
build=$(cd "$1" && pwd)
mkdir -p "$2" && cd "$2"
runs=${BENCH_RUNS:-200}
export HOME="$PWD" TILEVM_CACHE_SIZE=0

printf '.version 8.0\n.target sm_80\n.visible .entry first()\n{ ret; }\n' > small.ptx
# fatbin NAME PACKING KIB: of machine code, and PTX beside it as nvcc puts it there.
fatbin() {
    "$build/program" cubin first 128 "$3" > code.cubin
    "$build/program" fatbin "$2" 0 code.cubin small.ptx > "$1" 2> /dev/null || rm -f "$1"
}
fatbin 16-KiB plain 16
fatbin 500-KiB-packed zstd 500
fatbin 2-MiB plain 2048
fatbin 2-MiB-packed zstd 2048

# took COMMAND...: microseconds of one run.
took() {
    local start=${EPOCHREALTIME/./}
    "$@" > /dev/null 2>&1 || true
    echo $((${EPOCHREALTIME/./} - start))
}
# beside WHAT COMMAND...: the least time without and with it.
beside() {
    local what=$1 without=999999999 with=999999999 t
    shift
    for ((i = 0; i < runs; i++)); do
        t=$(took env "$@")
        without=$((t < without ? t : without))
        t=$(took env LD_PRELOAD="$build/libtilevm_cuda.so" "$@")
        with=$((t < with ? t : with))
    done
    printf '%-40s %6d us, preloaded %6d us: %+d us\n' "$what" "$without" "$with" $((with - without))
}
export LD_LIBRARY_PATH="$build/fakecuda"
beside 'no CUDA' true
for fatbin in *KiB* *MiB*; do
    beside "a library of $fatbin" "$build/fakecuda/app" library "$fatbin"
done
