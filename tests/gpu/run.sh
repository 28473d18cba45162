#!/bin/sh
# `tilevm run` on a real device; ends with `run on a GPU: N passed, N failed`, or says that there is none.
#
#   run.sh BUILD CORPUS
set -u
. "$(dirname "$0")/../shell/says.sh"
tilevm=$(cd "$1" && pwd)/tilevm
corpus=$(cd "$2" && pwd)
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
export TILEVM_CACHE_DIR="$folder/cache" NO_COLOR=1
kernels=$corpus/bytecode/13.4
expected=$corpus/expected

"$tilevm" run "$kernels/vadd_f32.tbc" --grid 4 --device auto > out 2>&1
if ! grep -q '^on cuda:0' out; then
    grep '^on ' out
    exit 0
fi
head -n 1 out

run 0 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 4 --device cuda --against cpu --rtol 0 --atol 0 \
    'a=randint(f32,1000,-64,65,seed=1,den=8)' 'b=randint(f32,1000,-64,65,seed=2,den=8)' 'c=empty(f32,1000)' \
    --expect "c=bin(f32,1000,$expected/vadd_f32.c.bin,mode=bits)"
run 0 "$tilevm" run "$kernels/softmax_row_f32.tbc" --grid 10 --names x,y --against cpu --rtol 2e-5 \
    'x=uniform(f32,[10,100],-4,4,seed=1)' 'y=empty(f32,[10,100])' \
    --expect "y=bin(f32,[10,100],$expected/softmax_row_f32.y.bin,rtol=2e-5,atol=1e-7)"
run 0 "$tilevm" run "$kernels/matmul_simple_f16.tbc" --grid 4,3 --names A,B,C --against cpu \
    'A=randint(f16,[100,70],-3,4,seed=1)' 'B=randint(f16,[70,90],-3,4,seed=2)' 'C=empty(f16,[100,90])' \
    --expect "C=bin(f16,[100,90],$expected/matmul_simple_f16.C.bin,rtol=1e-3,atol=0)"
run 0 "$tilevm" run "$kernels/list_of_arrays_sum.tbc" --grid 4 --against cpu

# In both forms, with little and with much shared memory; of the large ones the linker makes a cubin, too, where the target ends in a.
for form in ptx cubin; do
    run 0 env TILEVM_IMAGE=$form "$tilevm" run "$kernels/vadd_f32.tbc" --grid 4 --against cpu
    run 0 env TILEVM_IMAGE=$form "$tilevm" run "$kernels/perf_matmul_simple_f16_4096.tbc" --grid 1,1 --names A,B,C --against cpu \
        'A=randint(f16,[128,128],-3,4,seed=1)' 'B=randint(f16,[128,128],-3,4,seed=2)' 'C=empty(f16,[128,128])'
    says 'C: as on the CPU'
done

# An op that differs, where we know which: the order of sums in a product.
run 1 "$tilevm" run "$kernels/mma_random_f16.tbc" --grid 2 --against cpu --rtol 0 --atol 0
says 'the first op that differs: op 49 mmaf'
cat out

cat > print.tir <<'END'
cuda_tile.module @m { entry @hello(%n: tile<i32>) { print_tko "n is %d\n", %n : tile<i32> -> token return } }
END
"$tilevm" asm print.tir -o print.tbc || exit 2
run 0 "$tilevm" run print.tbc --grid 1 -d cuda 42
says 'n is 42'
run 0 "$tilevm" run print.tbc --grid 1 -d cuda 42 --json
says '"output":	"n is 42\n"'

"$tilevm" compile "$kernels/vadd_f32.tbc" -t sm_80 -o vadd.ptx || exit 2
sed 's/add\.rn\.f32/sub.rn.f32/' vadd.ptx > wrong.ptx
run 0 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against vadd.ptx
run 1 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against wrong.ptx

run 2 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --device cuda:99
says 'there is no device cuda:99'
cat > far.tir <<'END'
entry @far(%p: tile<ptr<i32>>) {
  %n = constant <i64: 1099511627776> : tile<i64>
  %q = offset %p, %n : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>
  %x, %t0 = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
  %t1 = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
}
END
"$tilevm" asm far.tir -o far.tbc || exit 2
run 1 "$tilevm" run far.tbc --grid 1 --device cuda 'zeros(i32,8)'
says 'CUDA_ERROR_ILLEGAL_ADDRESS'
run 2 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 1 --device cuda 'zeros(f32,8)' 'zeros(f32,8)' 'zeros(f32,8)' --against far.tir

echo "run on a GPU: $passed passed, $failed failed"
[ $failed -eq 0 ]
