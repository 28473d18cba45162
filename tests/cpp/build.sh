#!/bin/sh
# Compiles the kernels to bytecode, in variants: build.sh OUT; CUDA_HOME is a toolkit from 13.3 on (or the folder
# nvidia/cu13 of the packages nvidia-cuda-nvcc, -crt, -runtime, -tileiras and nvidia-nvvm). Debug information names the
# folders of sources and headers, so what is committed is made of copies in /src and /src/include.
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
src=${SRC:-/src}
mkdir -p "$src/include"
cp "$(dirname "$0")"/kernels/*.cu "$src"
cp -R "$CUDA_HOME/include/." "$src/include"
cd "$src"
variant() { # variant NAME OPTIONS...
    name=$1
    shift
    mkdir -p "$out/$name"
    for kernel in k*.cu; do
        "$CUDA_HOME/bin/nvcc" --enable-tile --tile-only --tilebc -std=c++20 -arch sm_90 "$@" -I "$src/include/crt" -I "$src/include" \
            "$kernel" -o "$out/$name/${kernel%.cu}.tbc"
    done
}
variant plain
variant G -G
# Neither of these changes the bytecode: locations are always in it, and nobody has optimised it yet.
[ "${ALL:-}" ] || exit 0
for option in -lineinfo -O0; do
    variant same "$option"
    diff -r "$out/plain" "$out/same"
done
