#!/bin/sh
# The loader on a real device: each way to load, first with an empty cache, then from it. loader.sh BUILD VADD.tbc; ends with
# 0 also where there is no device, after saying so.
set -u
build=$1
file=$2
TILEVM_CACHE_DIR=$(mktemp -d) || exit 2
export TILEVM_CACHE_DIR
trap 'rm -rf "$TILEVM_CACHE_DIR"' EXIT
status=0

run() {
    "$@"
    code=$?
    [ $code -eq 77 ] && exit 0
    [ $code -eq 0 ] || status=1
}

echo 'empty cache:'
run "$build/gpu_loader" api "$file"
echo 'from the cache:'
run "$build/gpu_loader" api "$file"
run "$build/gpu_loader" library "$file"
echo 'preloaded:'
run env LD_PRELOAD="$build/libtilevm_cuda.so" "$build/gpu_loader" client "$file"
run "$build/gpu_loader" fault "$file"
"$build/tilevm" cache list || status=1
exit $status
