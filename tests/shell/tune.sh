#!/bin/sh
# `tilevm tune`, without a GPU and with a driver whose clock is known (tests/fakecuda); ends with `tune: N passed, N failed`.
#
#   tune.sh BUILD CORPUS FOLDER      BUILD has tilevm and fakecuda/libcuda.so.1; FOLDER is made
set -u
. "$(dirname "$0")/says.sh"
build=$(cd "$1" && pwd)
corpus=$(cd "$2" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
tilevm=$build/tilevm
rm -rf "$3" && mkdir -p "$3" && cd "$3" || exit 2
unset CUDA_VISIBLE_DEVICES TILEVM_IMAGE CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_CACHE_PATH
export HOME="$PWD" TILEVM_CACHE_DIR="$PWD/cache" NO_COLOR=1 LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_LEFT="$PWD/left"
cp "$corpus/bytecode/13.4/matmul_persistent_f16.tbc" k.tbc
cp "$corpus/bytecode/13.4/vadd_f32.tbc" vadd.tbc
matmul="k.tbc --grid 16"

# ---- ranked without a GPU ----
run 0 "$tilevm" tune $matmul --device cpu
says 'k.tbc for sm_90a: 112 variants, '
says 'best by prediction: '
says 'for cuTile: kernel.replace_hints('
silent 'timed'
run 0 "$tilevm" tune $matmul --device cpu --target sm_80
says 'for sm_80: 28 variants, '
silent 'num_ctas'
run 0 "$tilevm" tune $matmul --device cpu --all
silent '--all'
# The same whatever the number of threads is.
for jobs in 1 4; do
    "$tilevm" tune $matmul --device cpu --jobs $jobs --json | sed 's/"ranking_seconds":[^,]*,//' > jobs.$jobs
done
if cmp -s jobs.1 jobs.4; then passed=$((passed + 1)); else failed=$((failed + 1)); echo '1 and 4 threads differ'; fi

# ---- spaces ----
cat > space.json <<'END'
{"hints": {"occupancy": [null, 1, 2], "num_ctas": [null, 2]}}
END
run 0 "$tilevm" tune $matmul --device cpu --space space.json
says '6 variants, '
run 0 "$tilevm" disasm k.tbc -o before.tir
run 0 "$tilevm" tune $matmul --device cpu --space space.json -o best.tbc
run 0 "$tilevm" verify best.tbc
# Hints are set for the one target, by their names in the bytecode; others stay.
printf '{"occupancy": [2], "num_worker_warps": [8]}' > one.json
run 0 "$tilevm" tune $matmul --device cpu --space one.json -o best.tbc
says '1 variants, 1 of them different'
run 0 "$tilevm" disasm best.tbc
says 'sm_90 = {num_worker_warps_per_cta = 8, occupancy = 2}'
printf '{"occupancy": [4]}' > one.json
run 0 "$tilevm" tune best.tbc --grid 16 --device cpu --space one.json --target sm_90 -o again.tbc
run 0 "$tilevm" disasm again.tbc
says 'sm_90 = {num_worker_warps_per_cta = 8, occupancy = 4}'
run 0 "$tilevm" tune again.tbc --grid 16 --device cpu --space one.json --target sm_80 -o both.tbc
run 0 "$tilevm" disasm both.tbc
says 'sm_80 = {occupancy = 4}, sm_90 = {num_worker_warps_per_cta = 8, occupancy = 4}'
"$tilevm" tune $matmul --device cpu --space one.json -o - > piped.tbc 2> report
run 0 "$tilevm" verify piped.tbc
# Files, each with a grid of its own; what cannot be compiled, or is another kernel, is said and stays out.
mkdir folder
cp best.tbc folder/a.tbc
head -c 200 k.tbc > folder/short.tbc
cp vadd.tbc folder/
# Files of variants may be programs and bundles: the image with the kernel is taken.
run 0 "$tilevm" bundle build k.tbc vadd.tbc -t sm_90 -e ptx -o folder/k.tvb
printf '{"variants": [{"file": "k.tvb"}, {"file": "k.tvb#1", "name": "first"}, {"file": "k.tvb#3"}]}' > folder/bundles.json
run 0 "$tilevm" tune $matmul --device cpu --space folder/bundles.json
says '3 variants, 1 of them different, 1 not compiled'
says 'not compiled: k.tvb#3: folder/k.tvb: there is no image 3; it has 2'
cat > folder/files.json <<'END'
{"variants": [{"file": "../k.tbc", "name": "TM=64"}, {"file": "a.tbc", "grid": [8, 2], "name": "TM=128"},
              {"file": "short.tbc"}, {"file": "none.tbc"}, {"file": "vadd.tbc"}, {"file": "../k.tbc", "name": "again"}],
 "hints": {"occupancy": [null, 33]}}
END
run 2 "$tilevm" tune $matmul --device cpu --space folder/files.json
says 'folder/files.json: occupancy: values are 1 to 32, or null'
sed 's/33/3/' folder/files.json > folder/good.json
run 0 "$tilevm" tune $matmul --device cpu --space folder/good.json
says '12 variants, '
says 'TM=128'
says 'not compiled: short.tbc: ['
says 'not compiled: none.tbc: folder/none.tbc: No such file'
says 'not compiled: vadd.tbc: its kernel takes 9 parameters, not 15'
run 0 "$tilevm" tune $matmul --device cpu --space folder/good.json --json
says '"same_as":'
says '"refused"'
printf '{"variants": [{"file": "folder/short.tbc"}]}' > none.json
run 1 "$tilevm" tune $matmul --device cpu --space none.json
# What is wrong in spaces that come from anybody.
wrong() {
    printf '%s' "$1" > wrong.json
    run 2 "$tilevm" tune $matmul --device cpu --space wrong.json
    says "$2"
}
wrong '' 'wrong.json: not JSON'
wrong '{"hints":' 'wrong.json: not JSON'
wrong '[1]' 'an object with hints or variants'
wrong '{}' 'an object with hints or variants'
wrong '{"hints": 7}' 'hints: an object'
wrong '{"hints": {"occupancy": 2}}' 'occupancy: a list of values'
wrong '{"hints": {"occupancy": []}}' 'occupancy: a list of values'
wrong '{"hints": {"occupancy": [[1]]}}' 'occupancy: values are 1 to 32, or null'
wrong '{"hints": {"occupancy": ["2"]}}' 'occupancy: values are 1 to 32, or null'
wrong '{"hints": {"occupancy": [1.5]}}' 'occupancy: values are 1 to 32, or null'
wrong '{"hints": {"occupancy": [1e300]}}' 'occupancy: values are 1 to 32, or null'
wrong '{"hints": {"num_ctas": [3]}}' 'num_ctas: values are 1, 2, 4, 8 or 16, or null'
wrong '{"hints": {"occupancy": [1, 1]}}' 'a value stands there twice'
wrong '{"hints": {"occupancy": [1]}, "occupancy": [2]}' 'occupancy stands there twice'
wrong '{"hints": {"warps": [1]}}' "'warps' is no hint"
wrong '{"variants": []}' 'variants: a list of 1 to 20000'
wrong '{"variants": [7]}' 'variants[0]: an object'
wrong '{"variants": [{"file": 7}]}' 'variants[0]: file and name are texts'
wrong '{"variants": [{"file": "k.tbc", "grid": [0]}]}' 'variants[0].grid'
wrong '{"variants": [{"file": "k.tbc", "grid": [1, 2, 3, 4]}]}' 'variants[0].grid'
wrong '{"variants": [{"file": "k.tbc", "tile": 64}]}' "variants[0]: 'tile' is not known"
deep=$(printf '%2000s' '' | tr ' ' '[')
wrong "{\"hints\": $deep" 'wrong.json: not JSON'
many='{"file": "k.tbc"}'
for i in 1 2 3 4 5 6 7 8 9 10 11; do many="$many, $many"; done
values='null, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12'
wrong "{\"occupancy\": [$values], \"variants\": [$many]}" '2048 times 13 variants are more than 20000'
run 2 "$tilevm" tune $matmul --device cpu --space none-there.json

# ---- timed on a GPU ----
export FAKECUDA_TIMES=minnctapersm:200,cluster:220 FAKECUDA_JITTER=3
run 0 "$tilevm" tune $matmul --device cuda --top 12 -o best.tbc
says 'timed on cuda:0, No GPU 0 (sm_90), caches warm: 6'
says 'best: occupancy='
says 'the first variant takes 1.2'
run 0 "$tilevm" disasm best.tbc
says 'sm_90 = {'
says 'occupancy = '
"$tilevm" tune $matmul --device cuda --top 3 --max-time 1000 --json > two.json 2> errors
"$tilevm" tune $matmul --device cuda --top 3 --max-time 1000 --json > out 2> errors
sed 's/"ranking_seconds":[^,]*,//' out > one && sed 's/"ranking_seconds":[^,]*,//' two.json > two
if cmp -s one two; then passed=$((passed + 1)); else failed=$((failed + 1)); echo 'two runs differ'; fi
# Spills are said of those that the device has loaded, before they are timed.
run 0 env FAKECUDA_LOCAL=minnctapersm:64 "$tilevm" tune $matmul --device cuda --top 12
says 'tilevm: note: occupancy=8, num_ctas=4: spills 64 bytes of a thread'
says '; spills 64 bytes'
cat > mixed.json <<'END'
{"variants": [{"file": "k.tbc"}, {"file": "folder/short.tbc"}], "occupancy": [1, 2]}
END
run 0 "$tilevm" tune $matmul --device cuda --space mixed.json
says 'tilevm: note: folder/short.tbc, occupancy=1: not compiled: ['
# The kernel as it is stays to the end, however slow it is.
run 0 env FAKECUDA_TIMES=minnctapersm:20,cluster:22 "$tilevm" tune $matmul --device cuda --top 12
says 'as it is'
says 'the first variant takes 12'
# For another target nothing is timed.
run 0 "$tilevm" tune $matmul --device cuda --target sm_80
silent 'timed on'
run 2 env FAKECUDA_FAIL=cuLaunchKernel=719 "$tilevm" tune $matmul --device cuda
run 2 "$tilevm" tune
run 2 "$tilevm" tune $matmul --target sm_80,sm_90
run 2 "$tilevm" tune $matmul --top 0
# ---- a kernel in Python ----
cat > mm.py <<'END'
import cuda.tile as ct


@ct.kernel
def matmul(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, 32))):
        a = ct.load(A, (m, k), (TM, 32))
        b = ct.load(B, (k, n), (32, TN))
        acc = ct.mma(a, b, acc)
    ct.store(C, (m, n), acc.astype(C.dtype))
END
set -- 'A=ones(bf16,[256,64])' 'B=ones(bf16,[64,128])' 'C=empty(bf16,[256,128])'
run 2 "$tilevm" tune mm.py:matmul --space '{"TM": [64]}' "$@"
says 'the number of tile blocks is missing'
run 2 "$tilevm" tune mm.py:matmul --grid TM "$@"
says 'which constants?'
run 2 env TILEVM_PYTHON=/none "$tilevm" tune mm.py:matmul --grid TM --space '{"TM": [64]}' "$@"
says '/none cannot be run'
if TILEVM_PYTHON=${PYTHON:-python3} && "$TILEVM_PYTHON" -c 'import cuda.tile, numpy' 2> /dev/null; then
    export TILEVM_PYTHON PYTHONPATH="$root/tools/python" TILEVM_LIBRARY="$build/libtilevm.so" TMPDIR="$PWD/tmp"
    mkdir tmp
    space='{"TM": [32, 64], "TN": [64, 128, 96], "occupancy": [null, 2]}'
    grid='cdiv(A.shape[0], TM), cdiv(B.shape[1], TN)'
    run 0 "$tilevm" tune mm.py:matmul --grid "$grid" --space "$space" "$@" --device cpu -o best.tbc
    says 'mm.py:matmul for sm_90a: 8 variants, '
    says 'TM=32, TN=64'
    says 'not exported: TM=32, TN=96: '
    run 0 "$tilevm" verify best.tbc
    run 0 "$tilevm" tune mm.py:matmul --grid "$grid" --space "$space" "$@" --device cuda
    says 'timed on cuda:0, No GPU 0 (sm_90)'
    run 2 "$tilevm" tune mm.py:other --grid "$grid" --space "$space" "$@"
    says 'mm.py has no kernel other'
    run 2 "$tilevm" tune mm.py:matmul --grid 'open("x")' --space "$space" "$@"
    says "--grid: 'open('x')' is not known"
    run 2 "$tilevm" tune mm.py:matmul --grid 1 --space '{"TM": [64]}' "$@"
    says 'no value for the parameter TN'
    if [ -z "$(ls tmp)" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo 'files were left' && ls tmp; fi
else
    echo 'tune: skipped: Python with cuda-tile and numpy is missing'
fi
if [ -e left ]; then failed=$((failed + 1)); echo 'something was left:' && cat left; else passed=$((passed + 1)); fi
echo "tune: $passed passed, $failed failed"
[ $failed -eq 0 ]
