#!/bin/sh
# nvcc with another tile compiler: toolchain.sh FOLDER makes FOLDER/bin/nvcc, which calls that tileiras.
#
#   CUDA_HOME   the toolkit, from 13.3 on (or the folder nvidia/cu13 of its packages for Python); default /usr/local/cuda
#   TILEIRAS    the tile compiler; default: the tileiras of PATH
#
# nvcc calls the tileiras that stands beside it, whatever PATH says, and finds itself by its own path. So nvcc and its
# profile are copies here, and all else are links.
set -eu
out=${1:?"usage: toolchain.sh FOLDER"}
cuda=${CUDA_HOME:-/usr/local/cuda}
[ -x "$cuda/bin/nvcc" ] || { echo "toolchain.sh: there is no $cuda/bin/nvcc: set CUDA_HOME" >&2; exit 1; }
cuda=$(cd "$cuda" && pwd)
tileiras=$(command -v "${TILEIRAS:-tileiras}") || { echo "toolchain.sh: there is no ${TILEIRAS:-tileiras}" >&2; exit 1; }
case $tileiras in /*) ;; *) tileiras=$PWD/$tileiras ;; esac

mkdir -p "$out/bin"
cp -f "$cuda/bin/nvcc" "$cuda/bin/nvcc.profile" "$out/bin/"
for part in "$cuda"/bin/*; do
    [ -e "$out/bin/$(basename "$part")" ] || ln -s "$part" "$out/bin/"
done
for part in "$cuda"/*; do
    [ -e "$out/$(basename "$part")" ] || ln -s "$part" "$out/"
done
ln -sf "$tileiras" "$out/bin/tileiras"
