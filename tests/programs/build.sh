#!/bin/sh
# Makes a program of app.cu and threads.cu with nvcc, in variants: build.sh programs OUT, build.sh fatbins. CUDA_HOME is a
# toolkit from 13.3 on (or the folder nvidia/cu13 of the packages nvidia-cuda-nvcc, -crt, -runtime, -tileiras and
# nvidia-nvvm of one release).
# The tiles of a variant are for what its name says; its threads are for sm_90.
#
#   programs OUT   OUT/other, OUT/virtual, ...: programs with the CUDA runtime in them, for `make check-gpu-programs`; and
#                  bench.cu, for sm_90 by the toolkit's compiler and for compute_90, to be compiled by ours
#   fatbins        fatbins.tar.xz beside this script: the containers alone, with our own kernels and nothing else
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nvcc() {
    "$CUDA_HOME/bin/nvcc" --enable-tile -std=c++20 "$@"
}
# each COMMAND...: for every variant, its name and the options that say what it is built for.
each() {
    "$@" native -arch sm_90
    "$@" other -arch sm_100
    "$@" other-plain -arch sm_100 --compress-mode=none
    "$@" virtual -arch compute_90
    "$@" mixed -gencode arch=compute_80,code=sm_80 -gencode arch=compute_100,code=sm_100 -gencode arch=compute_120,code=compute_120
}
program() { # program VARIANT OPTIONS...
    name=$1
    shift
    nvcc "$@" -c "$here/app.cu" -o "$out/$name.o"
    nvcc -arch sm_90 -L "$CUDA_HOME/lib" -L "$CUDA_HOME/lib64" "$out/$name.o" "$out/threads.o" -o "$out/$name"
    rm "$out/$name.o"
}
fatbin() {
    name=$1
    shift
    nvcc "$@" -DTILES_ONLY --keep --keep-dir . -c app.cu -o app.o
    mv app.tile.fatbin "$work/$name.fatbin"
}
case ${1:-} in
programs)
    out=$(mkdir -p "$2" && cd "$2" && pwd)
    nvcc -arch sm_90 -c "$here/threads.cu" -o "$out/threads.o"
    each program
    rm "$out/threads.o"
    nvcc -arch sm_90 "$here/bench.cu" -L "$CUDA_HOME/lib" -L "$CUDA_HOME/lib64" -o "$out/bench.reference"
    nvcc -arch compute_90 "$here/bench.cu" -L "$CUDA_HOME/lib" -L "$CUDA_HOME/lib64" -o "$out/bench.ours"
    ;;
fatbins)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # Debug information names the folder: this one.
    src=${SRC:-/src}
    mkdir -p "$src" && cp "$here/app.cu" "$src" && cd "$src"
    each fatbin
    nvcc -arch sm_90 --keep --keep-dir . -c "$here/threads.cu" -o threads.o
    mv threads.fatbin "$work"
    mv threads.tile.fatbin "$work/dummy.fatbin" # nvcc adds a kernel to files without tiles
    cd "$work"
    LC_ALL=C tar --format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=644 -cf - *.fatbin | xz -9e > "$here/fatbins.tar.xz"
    ;;
*)
    echo 'usage: build.sh programs OUT | fatbins' >&2
    exit 2
    ;;
esac
