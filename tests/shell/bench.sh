#!/bin/sh
# `tilevm bench`, on the virtual machine and with a driver whose clock is known (tests/fakecuda); ends with
# `bench: N passed, N failed`.
#
#   bench.sh BUILD CORPUS FOLDER      BUILD has tilevm and fakecuda/libcuda.so.1; FOLDER is made
set -u
. "$(dirname "$0")/says.sh"
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
corpus=$(cd "$2" && pwd)
tilevm=$build/tilevm
rm -rf "$3" && mkdir -p "$3" && cd "$3" || exit 2
unset CUDA_VISIBLE_DEVICES TILEVM_IMAGE CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_CACHE_PATH
export HOME="$PWD" TILEVM_CACHE_DIR="$PWD/cache" NO_COLOR=1 LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_LEFT="$PWD/left"
kernels=$corpus/bytecode/13.4
cp "$kernels/vadd_f32.tbc" vadd.tbc
cp "$kernels/matmul_simple_f16.tbc" matmul.tbc
vadd="vadd.tbc --grid 4 a=ones(f32,1024) b=ones(f32,1024) c=empty(f32,1024)"
matmul="matmul.tbc --grid 4,3 --names A,B,C A=ones(f16,[128,96]) B=ones(f16,[96,96]) C=empty(f16,[128,96])"

# ---- a GPU whose kernels take 250 us ----
run 0 "$tilevm" bench $matmul --device cuda
says 'matmul.tbc: 4x3x1 tile blocks on cuda:0, No GPU 0 (sm_90), caches warm'
says 'multiprocessors up to 1980 MHz, memory 2619 MHz; what they were during the run is not known'
says 'time        250.0 us, median of 2000 samples of 2 launches; 95 % interval 250.0 us to 250.0 us (+-0.0 %)'
says '2.359 MFLOP of products, 9.437 GFLOP/s: less than 0.1 % of 1071 TFLOP/s'
says 'memory      67.58 kB at least, 270.3 MB/s'
says 'bound by    none of these limits; the nearest is DRAM'
# 2 x 128 x 96 x 96 operations in 2.3 ns would be all that the tensor cores can do; here they take a third longer.
run 0 env FAKECUDA_TIMES=matmul:0.003 "$tilevm" bench $matmul --device cuda
says 'f16         2.359 MFLOP of products, 786.4 TFLOP/s: 73 % of 1071 TFLOP/s'
run 0 env FAKECUDA_TIMES=vadd:0.005 "$tilevm" bench $vadd --device cuda
says 'memory      12.29 kB at least, 2.458 TB/s: 73 % of 3.352 TB/s'
says 'bound by    DRAM'
silent 'the most'
# A clock that jitters: until the interval is narrow enough, in the same number of samples each time.
export FAKECUDA_JITTER=20
run 0 "$tilevm" bench $vadd --device cuda --json
cp out first.json
run 0 "$tilevm" bench $vadd --device cuda --json
if cmp -s out first.json; then passed=$((passed + 1)); else failed=$((failed + 1)); echo 'two runs differ'; fi
run 0 "$tilevm" bench $vadd --device cuda --precision 0.2 --csv
says 'name,device,caches,samples,median_us'
says 'vadd.tbc,"cuda:0, No GPU 0 (sm_90)",warm,'
run 0 "$tilevm" bench $vadd --device cuda --repeat 7
says 'median of 7 samples'
# Flushed caches: one launch a sample, and memory is written before it.
run 0 "$tilevm" bench $vadd --device cuda --cold
says 'caches flushed before each sample'
silent 'launches'
run 0 "$tilevm" bench $vadd --device cuda --restore
silent 'launches'

# ---- several by turns ----
"$tilevm" compile matmul.tbc --target sm_90a -o matmul.ptx || exit 2
TILEVM_PTXAS=$here/../fakecuda/ptxas.sh "$tilevm" compile matmul.tbc --target sm_90a -o matmul.cubin || exit 2
export FAKECUDA_TIMES=minnctapersm:280,cluster:260
run 0 "$tilevm" bench $matmul --device cuda --compare hints:occupancy=8 --compare hints:num_ctas=2@2,3 --compare matmul.ptx \
    --compare matmul.cubin
says 'hints:occupancy=8'
says '(95 % interval 1.1'
says 'hints:num_ctas=2@2,3'
says ': slower'
says 'no difference that the samples show'
says 'matmul.cubin'
run 0 "$tilevm" bench $matmul --device cuda --compare hints:occupancy=8 --csv
says '"cuda:0, No GPU 0 (sm_90)",warm'
export FAKECUDA_LOCAL=minnctapersm:96
run 0 "$tilevm" bench $matmul --device cuda --compare hints:occupancy=8
says 'and 96 bytes of local memory: it spills'
unset FAKECUDA_LOCAL
for wrong in hints:occupancy=33 hints:occupancy hints:num_ctas=3 hints:warps=2 hints:occupancy=2x 'hints:' hints:occupancy=99999999999999999999; do
    run 2 "$tilevm" bench $matmul --device cuda --compare "$wrong"
done
says "occupancy must be 1 to 32, not '99999999999999999999'"
run 2 "$tilevm" bench $matmul --device cuda --compare none.tbc
says 'none.tbc: No such file'
printf 'text' > other
run 2 "$tilevm" bench $matmul --device cuda --compare other
says 'other: '
run 2 "$tilevm" bench $matmul --device cuda --compare vadd.tbc
says 'vadd.tbc: its kernel takes 9 parameters, not 15 as matmul.tbc'
head -c 100 matmul.tbc > short.tbc
run 2 "$tilevm" bench $matmul --device cuda --compare short.tbc
says 'short.tbc: not valid'

# ---- results that are kept ----
unset FAKECUDA_TIMES
run 0 "$tilevm" bench $vadd --device cuda --save base.json
run 0 "$tilevm" bench $vadd --device cuda --against base.json
says 'vadd.tbc against base.json: 1.000 times as long'
says ': as before'
export FAKECUDA_TIMES=vadd:300
run 1 "$tilevm" bench $vadd --device cuda --against base.json
says ': SLOWER'
run 0 "$tilevm" bench $vadd --device cuda --against base.json --threshold 30
says ': as before'
export FAKECUDA_TIMES=vadd:200
run 0 "$tilevm" bench $vadd --device cuda --against base.json
says ': faster'
run 1 env FAKECUDA_TIMES=vadd:300 "$tilevm" bench $vadd --device cuda --against base.json --json
says '"slower":'
unset FAKECUDA_TIMES FAKECUDA_JITTER
run 2 "$tilevm" bench $vadd --device cuda --cold --against base.json
says 'not comparable'
run 2 "$tilevm" bench $vadd --device cpu --max-time 0.1 --against base.json
says 'not comparable'
run 2 "$tilevm" bench $vadd --device cuda --save folder/that/is/not.json
for text in '' '{' '[]' '{"schema":"tilevm-run/1"}' '{"schema":"tilevm-bench/1"}' \
    '{"schema":"tilevm-bench/1","device":"x","caches":"warm","subjects":[{"name":"a","samples_us":[]}]}' \
    '{"schema":"tilevm-bench/1","device":"x","caches":"warm","subjects":[{"name":"a","samples_us":[1,-1]}]}' \
    '{"schema":"tilevm-bench/1","device":"x","caches":"warm","subjects":[{"name":"a","samples_us":["1"]}]}' \
    '{"schema":"tilevm-bench/1","device":"x","caches":"warm","subjects":[7]}'; do
    printf '%s' "$text" > wrong.json
    run 2 "$tilevm" bench $vadd --device cuda --against wrong.json
    says 'wrong.json: '
done

# ---- what is counted before a run is what the virtual machine counts ----
# same KERNEL ARGUMENTS...: operations exactly; bytes where no tile leaves its array.
same() {
    "$tilevm" bench "$@" --device cuda --json > gpu.json 2> errors || sed 's/^/    /' errors
    "$tilevm" bench "$@" --device cpu --max-time 0.05 --json > cpu.json 2> errors || sed 's/^/    /' errors
    for figure in flops bytes_accessed bytes_read bytes_written; do
        g=$(grep -o "\"$figure\":[^,]*" gpu.json) && c=$(grep -o "\"$figure\":[^,]*" cpu.json)
        if [ -n "$g" ] && [ "$g" = "$c" ]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "$1: before a run $g, by the virtual machine $c"
        fi
    done
}
same $vadd
same $matmul
same "$kernels/softmax_row_f32.tbc" --grid 16 --names x,y 'x=uniform(f32,[16,1024],-4,4)' 'y=empty(f32,[16,1024])'
run 0 "$tilevm" asm "$here/../data/attention.tileir" -o attention.tbc
same attention.tbc --grid 1 --names q,k,v,o 'q=ones(f16,[128,64])' 'k=ones(f16,[256,64])' 'v=ones(f16,[256,64])' \
    'o=empty(f32,[128,64])'
# Triangular loops: a tile block has as many iterations as its number.
cat > triangle.tir <<'END'
cuda_tile.module @m {
  entry @triangle(%out: tile<ptr<f32>>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %ten = constant <i32: 10> : tile<i32>
    %start = constant <f32: 1.0> : tile<64xf32>
    %sum = for %i in (%zero to %x, step %one) : tile<i32> iter_values(%s = %start) -> (tile<64xf32>) {
      %next = addf %s, %s : tile<64xf32>
      continue %next : tile<64xf32>
    }
    %early = cmpi less_than %x, %ten, signed : tile<i32> -> tile<i1>
    %end = if %early -> (tile<64xf32>) {
      %squared = mulf %sum, %sum : tile<64xf32>
      yield %squared : tile<64xf32>
    } else {
      yield %sum : tile<64xf32>
    }
    %offsets = iota : tile<64xi32>
    %p1 = reshape %out : tile<ptr<f32>> -> tile<1xptr<f32>>
    %p = broadcast %p1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
    %at = offset %p, %offsets : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
    %t = store_ptr_tko weak %at, %end : tile<64xptr<f32>>, tile<64xf32> -> token
    return
  }
}
END
run 0 "$tilevm" asm triangle.tir -o triangle.tbc
same triangle.tbc --grid 40 --names out 'out=empty(f32,64)'
run 0 "$tilevm" bench triangle.tbc --grid 4000 --names out 'out=empty(f32,64)' --device cuda
says 'counted     in 256 tile blocks, as in all of them'
# A loop whose end depends on data.
cat > search.tir <<'END'
cuda_tile.module @m {
  entry @search(%out: tile<ptr<i32>>) {
    %n, %t = load_ptr_tko weak %out : tile<ptr<i32>> -> tile<i32>, token
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %x = constant <f32: 1.0> : tile<64xf32>
    %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %x) -> (tile<64xf32>) {
      %next = addf %s, %s : tile<64xf32>
      continue %next : tile<64xf32>
    }
    return
  }
}
END
run 0 "$tilevm" asm search.tir -o search.tbc
run 0 "$tilevm" bench search.tbc --grid 1 --names out 'out=full(i32,1,5)' --device cuda
says "counted     at least: how often 'for' runs is not known"

# ---- the CPU ----
run 0 "$tilevm" convert vadd.tbc --to 13.5 -o vadd5.tbc
run 0 "$tilevm" bench $vadd --device cpu --max-time 0.2 --compare vadd5.tbc
says 'times as long'
run 2 "$tilevm" bench $vadd --device cpu --compare matmul.tbc
rm -f left
run 0 env FAKECUDA_DEVICES=none "$tilevm" bench $vadd --max-time 0.1
says 'on the CPU, by the virtual machine'
says 'not a GPU   '
run 2 env FAKECUDA_DEVICES=none "$tilevm" bench $vadd --device cuda
run 2 "$tilevm" bench $vadd --device cpu --compare matmul.ptx
says 'matmul.ptx: not bytecode, which the CPU needs'
run 2 "$tilevm" bench $vadd --device cpu --compare hints:occupancy=8 --max-time 0.1

# ---- usage, failures, what is left ----
run 2 "$tilevm" bench
run 2 "$tilevm" bench $vadd --csv --json
run 2 "$tilevm" bench $vadd --precision 0
run 2 "$tilevm" bench $vadd --max-time nan
run 2 "$tilevm" bench $vadd --threshold 101
run 2 env FAKECUDA_FAIL=cuLaunchKernel=719 "$tilevm" bench $vadd --device cuda
run 2 env FAKECUDA_FAIL=cuEventCreate=2 "$tilevm" bench $vadd --device cuda
run 2 env FAKECUDA_FAIL=cuMemsetD8=1 "$tilevm" bench $vadd --device cuda --cold
run 2 env FAKECUDA_FAIL=cuStreamCreate=2 "$tilevm" bench $vadd --device cuda
run 2 env FAKECUDA_FAIL=cuStreamBeginCapture=900 "$tilevm" bench $vadd --device cuda
says 'cannot record launches'
run 2 env FAKECUDA_FAIL=cuStreamEndCapture=901 "$tilevm" bench $vadd --device cuda
run 2 env FAKECUDA_FAIL=cuGraphInstantiateWithFlags=2 "$tilevm" bench $vadd --device cuda
run 2 env FAKECUDA_FAIL=cuGraphLaunch=719 "$tilevm" bench $vadd --device cuda
says 'the kernel failed on'
run 0 env FAKECUDA_FAIL=cuGraphLaunch=719 "$tilevm" bench $vadd --device cuda --cold
run 2 env FAKECUDA_MEMORY=100000000 "$tilevm" bench $vadd --device cuda --cold
if [ -e left ]; then failed=$((failed + 1)); echo 'something was left:' && cat left; else passed=$((passed + 1)); fi

# ---- the measurement of `make bench-gpu-repeat` ----
run 0 env FAKECUDA_JITTER=2 BENCH_REPEAT_RUNS=1 sh "$here/../gpu/bench_repeat.sh" "$build" "$corpus"
says 'perf_matmul_simple_f16_4096'
says 'all of them within 1 %: yes'

# ---- summaries as NumPy makes them ----
if ${PYTHON:-python3} -c 'import numpy' 2> /dev/null; then
    run 0 ${PYTHON:-python3} "$here/numpy_summary.py" first.json gpu.json
else
    echo 'bench: skipped: python3 with numpy is missing'
fi
echo "bench: $passed passed, $failed failed"
[ $failed -eq 0 ]
