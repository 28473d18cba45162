#!/bin/sh
# `tilevm run --device cuda` and --against, with a driver that runs kernels on the PTX simulator (tests/fakecuda); ends with
# `device: N passed, N failed`.
#
#   device.sh BUILD CORPUS FOLDER      BUILD has tilevm and fakecuda/libcuda.so.1; FOLDER is made
set -u
. "$(dirname "$0")/says.sh"
build=$(cd "$1" && pwd)
corpus=$(cd "$2" && pwd)
data=$(cd "$(dirname "$0")/../data" && pwd)
tilevm=$build/tilevm
rm -rf "$3" && mkdir -p "$3" && cd "$3" || exit 2
unset CUDA_VISIBLE_DEVICES TILEVM_IMAGE CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_CACHE_PATH
export HOME="$PWD" TILEVM_CACHE_DIR="$PWD/cache" NO_COLOR=1 LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_RUN=1 \
    FAKECUDA_LEFT="$PWD/left"

kernels=$corpus/bytecode/13.4
expected=$corpus/expected

# ---- results ----
run 0 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 4 --device cuda \
    'a=randint(f32,1000,-64,65,seed=1,den=8)' 'b=randint(f32,1000,-64,65,seed=2,den=8)' 'c=empty(f32,1000)' \
    --expect "c=bin(f32,1000,$expected/vadd_f32.c.bin,mode=bits)" --save c=c.npy
says 'on cuda:0, No GPU 0 (sm_90), 0.250 ms'
says 'c: as expected (bits)'
run 0 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 4 --device cpu --expect 'c=c.npy' \
    'a=randint(f32,1000,-64,65,seed=1,den=8)' 'b=randint(f32,1000,-64,65,seed=2,den=8)' 'c=empty(f32,1000)'
run 0 "$tilevm" run "$kernels/softmax_row_f32.tbc" --grid 10 --names x,y --against cpu --rtol 2e-5 \
    'x=uniform(f32,[10,100],-4,4,seed=1)' 'y=empty(f32,[10,100])' \
    --expect "y=bin(f32,[10,100],$expected/softmax_row_f32.y.bin,rtol=2e-5,atol=1e-7)"
says 'y: as on the CPU (rtol 2e-05'
run 0 "$tilevm" run "$kernels/layernorm_fwd_f32.tbc" --grid 9 --names x,weight,bias,y,mean,rstd,eps --device cuda \
    'x=uniform(f32,[9,200],-2,3,seed=1)' 'weight=uniform(f32,200,0.5,1.5,seed=2)' 'bias=uniform(f32,200,-1,1,seed=3)' \
    'y=empty(f32,[9,200])' 'mean=empty(f32,9)' 'rstd=empty(f32,9)' eps=1e-5 \
    --expect "y=bin(f32,[9,200],$expected/layernorm_fwd_f32.y.bin,rtol=2e-5,atol=2e-5)" \
    --expect "mean=bin(f32,9,$expected/layernorm_fwd_f32.mean.bin,rtol=1e-4,atol=1e-5)" \
    --expect "rstd=bin(f32,9,$expected/layernorm_fwd_f32.rstd.bin,rtol=1e-4,atol=1e-5)"
# Two products, the second of what the first led to: groups of warps, the second product an iteration late.
run 0 "$tilevm" asm "$data/attention.tileir" -o attention.tbc
run 0 "$tilevm" run attention.tbc --grid 1 --names q,k,v,o --against cpu 'q=uniform(f16,[128,64],-1,1,seed=1)' \
    'k=uniform(f16,[256,64],-1,1,seed=2)' 'v=uniform(f16,[256,64],-1,1,seed=3)' 'o=empty(f32,[128,64])'
says 'o: as on the CPU (rtol'
# Two stages of complex products, four in each that share operands; of tables only the real and imaginary parts are read.
run 0 "$tilevm" asm "$data/stages.tileir" -o stages.tbc
for element in 2 3; do
    run 0 "$tilevm" run stages.tbc --grid 1 --names w,f,x,y,row,element --against cpu --rtol 1e-2 --atol 1e-2 \
        'w=uniform(f16,1024,-0.5,0.5,seed=1)' 'f=uniform(f16,2240,-1,1,seed=2)' 'x=uniform(f16,4096,-1,1,seed=3)' \
        'y=empty(f16,4096)' row=48 element=$element
    says 'y: as on the CPU (rtol'
done
# Tiles of 65536 elements, in strips.
run 0 "$tilevm" asm "$data/strips.tileir" -o strips.tbc
for kernel in softmax norm turn scan scan0 sumall loop mixed order swap; do
    run 0 "$tilevm" run strips.tbc --entry $kernel --grid 1 --names p,q,o --against cpu --rtol 1e-3 \
        'p=randint(f32,[256,1024],-8,9,seed=1,den=8)' 'q=randint(f32,[256,1024],-8,9,seed=2,den=8)' 'o=empty(f32,[256,1024])'
    says 'o: as on the CPU (rtol'
done
# Loads into registers, ahead of iterations of which there are none, few or more.
run 0 "$tilevm" asm "$data/early.tileir" -o early.tbc
for n in 0 1 2 3 6; do
    run 0 "$tilevm" run early.tbc --entry scaled --grid 2 --names a,t,e,d,n --against cpu 'a=randint(f16,15000,-8,9,seed=1,den=8)' \
        't=randint(i32,4096,-8,9,seed=2)' 'e=randint(f32,4096,-8,9,seed=3)' 'd=empty(f32,512)' n=$n
    says 'd: as on the CPU'
    run 0 "$tilevm" run early.tbc --entry nest --grid 1 --names a,d,n --against cpu 'a=uniform(f32,8192,-1,1,seed=1)' \
        'd=empty(f32,1024)' n=$n
    says 'd: as on the CPU'
    run 0 "$tilevm" run early.tbc --entry rows --grid 1 --names a,t,d,n --against cpu 'a=randint(f32,[4096,128],-8,9,seed=1)' \
        't=randint(i32,8,0,4096,seed=2)' 'd=empty(f32,128)' n=$n
    says 'd: as on the CPU'
done
# A lock that is taken by each iteration, of which there are none, one or several, for which it is taken once.
run 0 "$tilevm" asm "$data/locks.tileir" -o locks.tbc
for n in 0 1 2 4; do
    run 0 "$tilevm" run locks.tbc --grid 8 --names a,s,lock,other,n --against cpu 'a=randint(f32,[8,2048],-8,9,seed=1)' \
        's=randint(f32,[8,2048],-8,9,seed=2)' 'lock=zeros(i32,1)' 'other=zeros(i32,1)' n=$n
    says 's: as on the CPU'
    says 'lock: as on the CPU (bits)'
done
run 0 "$tilevm" run "$kernels/matmul_simple_f16.tbc" --grid 4,3 --names A,B,C --device cuda \
    'A=randint(f16,[100,70],-3,4,seed=1)' 'B=randint(f16,[70,90],-3,4,seed=2)' 'C=empty(f16,[100,90])' \
    --expect "C=bin(f16,[100,90],$expected/matmul_simple_f16.C.bin,rtol=1e-3,atol=0)"

# Masks that are true for whole tiles, for parts of them, for none, and of numbers that wrap around inside of a tile.
run 0 "$tilevm" asm "$data/unmask.tileir" -o unmask.tbc
for numbers in 0,192,192 0,100,192 0,192,64 64,1000,0 2147483600,2147483647,2147483584 -2147483648,-2147483600,0 -100,0,2147483600; do
    rest=${numbers#*,}
    run 0 "$tilevm" run unmask.tbc --grid 1 --names a,b,o,from,limit,row --against cpu 'a=randint(f16,[64,48],-3,4,seed=1)' \
        'b=randint(f16,[48,64],-3,4,seed=2)' 'o=empty(f32,[64,64])' "from=${numbers%%,*}" "limit=${rest%,*}" "row=${rest#*,}"
    says 'o: as on the CPU'
done

# Blocks in bands of eight rows, and the rest in a narrower one.
run 0 "$tilevm" run "$kernels/perf_matmul_simple_f16_4096.tbc" --grid 2,9 --names A,B,C --against cpu \
    'A=randint(f16,[256,64],-3,4,seed=1)' 'B=randint(f16,[64,1152],-3,4,seed=2)' 'C=empty(f16,[256,1152])'
says 'C: as on the CPU'

# The same along bands of eight columns, where the operand along y is the larger one.
run 0 "$tilevm" run "$kernels/perf_matmul_tall_f16.tbc" --grid 11,3 --names A,B,C --against cpu \
    'A=randint(f16,[704,64],-3,4,seed=1)' 'B=randint(f16,[64,384],-3,4,seed=2)' 'C=empty(f16,[704,384])'
says 'C: as on the CPU'

# Iterations dealt to the blocks of a cluster: fewer than there are clusters, as many, more.
run 0 "$tilevm" asm "$data/dealt.tileir" -o dealt.tbc
for rows in 0 1 11 45; do
    run 0 "$tilevm" run dealt.tbc --grid 11 --names a,b,rows --against cpu 'a=randint(f32,[45,64],-8,9,seed=1)' 'b=zeros(f32,[45,64])' rows=$rows
    says 'b: as on the CPU'
done

# A suite: each test on both. Under an emulator the command cannot start itself.
if [ -z "${EMULATED:-}" ]; then
    mkdir suite && cp "$kernels/vadd_f32.tbc" suite/vadd.tbc
    echo '{"grid": 4, "args": {"a": "arange(f32,1000)", "b": "ones(f32,1000)", "c": "empty(f32,1000)"}, "expect": {"c": "arange(f32,1000,1)"}}' \
        > suite/vadd.args.json
    run 0 "$tilevm" test suite
    says 'ok    suite/vadd.args.json on cuda'
    says '2 tests: 2 passed, 0 failed'
    run 1 env FAKECUDA_BREAK=add.rn.f32:1:sub.rn.f32 "$tilevm" test suite
    says 'FAIL  suite/vadd.args.json on cuda'
    says '2 tests: 1 passed, 1 failed'
    run 0 env FAKECUDA_BREAK=add.rn.f32:1:sub.rn.f32 "$tilevm" test suite --device cpu
fi

# PTX or a cubin; also with more shared memory than the driver's linker takes where the target is not named.
for form in ptx cubin; do
    export TILEVM_IMAGE=$form
    run 0 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 4 --against cpu
    says 'c: as on the CPU'
    run 0 "$tilevm" run "$kernels/perf_matmul_simple_f16_4096.tbc" --grid 1,1 --names A,B,C --against cpu \
        'A=randint(f16,[128,128],-3,4,seed=1)' 'B=randint(f16,[128,128],-3,4,seed=2)' 'C=empty(f16,[128,128])'
    says 'C: as on the CPU'
done
unset TILEVM_IMAGE

# Raw pointers, scalars, aliases, null, places in memory; what is written between elements.
cat > raw.tir <<'END'
entry @copy(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>) {
  %i = iota : tile<8xi32>
  %n1 = reshape %n : tile<i32> -> tile<1xi32>
  %n8 = broadcast %n1 : tile<1xi32> -> tile<8xi32>
  %mask = cmpi less_than %i, %n8, signed : tile<8xi32> -> tile<8xi1>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p8 = broadcast %p1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %from = offset %p8, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %q8 = broadcast %q1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %to = offset %q8, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %zero = constant <i32: 0> : tile<8xi32>
  %v, %t0 = load_ptr_tko weak %from, %mask, %zero : tile<8xptr<i32>>, tile<8xi1>, tile<8xi32> -> tile<8xi32>, token
  %t1 = store_ptr_tko weak %to, %v, %mask : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> token
  return
}
END
"$tilevm" asm raw.tir -o raw.tbc || exit 2
run 0 "$tilevm" run raw.tbc --grid 1 -d cuda 'arange(i32,8)' 'zeros(i32,8)' 5 --expect 'b=values(i32,[0,1,2,3,4,0,0,0])'
run 0 "$tilevm" run raw.tbc --grid 1 -d cuda 'arange(i32,16,offset=3)' '@a(i32,8,offset=11)' 4 \
    --expect 'b=values(i32,[0,1,2,3,12,13,14,15])'
run 0 "$tilevm" run raw.tbc --grid 1 --against cpu null null 0
run 1 "$tilevm" run raw.tbc --grid 1 -d cuda 'arange(i32,8)' 'zeros(i32,[2,3],strides=[4,1])' 7
says "the kernel wrote outside the elements of argument 'b', 12 bytes from the first"
run 1 "$tilevm" run raw.tbc --grid 1 -d cuda 'arange(i32,8)' 'zeros(i32,4)' 8 --save b=none.npy
says "the kernel wrote outside the elements of argument 'b', 16 bytes from the first"
run 1 test -e none.npy

# Lists, whose descriptors hold addresses; what kernels print.
run 0 "$tilevm" run "$kernels/list_of_arrays_sum.tbc" --grid 4 --against cpu
says 'written'
cat > print.tir <<'END'
cuda_tile.module @m { entry @hello(%n: tile<i32>) { print_tko "n is %d\n", %n : tile<i32> -> token return } }
END
"$tilevm" asm print.tir -o print.tbc || exit 2
run 0 "$tilevm" run print.tbc --grid 1 -d cuda 42
says 'n is 42'
run 0 "$tilevm" run print.tbc --grid 1 -d cuda 42 --json
says '"output":	"n is 42\n"'
says '"device":	"cuda:0"'
says '"device_name":	"No GPU 0 (sm_90)"'
says '"kernel_ms":	0.25'

# ---- which device ----
run 0 "$tilevm" run raw.tbc --grid 1 'arange(i32,8)' 'zeros(i32,8)' 5
says 'on cuda:0'
run 0 "$tilevm" run raw.tbc --grid 1 --device cpu 'arange(i32,8)' 'zeros(i32,8)' 5
silent 'on '
run 0 env FAKECUDA_DEVICES=80,120 "$tilevm" run raw.tbc --grid 1 --device cuda:1 'arange(i32,8)' 'zeros(i32,8)' 5
says 'on cuda:1, No GPU 1 (sm_120)'
run 0 env FAKECUDA_DEVICES=130 "$tilevm" run raw.tbc --grid 1 --device cuda 'arange(i32,8)' 'zeros(i32,8)' 5
says 'on cuda:0, No GPU 0 (sm_130)' # newer than all that is known
run 0 "$tilevm" run raw.tbc --grid 1 --device auto --trace offset 'arange(i32,8)' 'zeros(i32,8)' 5
says 'on the CPU: --trace is for the CPU'
run 0 env FAKECUDA_DEVICES=none "$tilevm" run raw.tbc --grid 1 --device auto 'arange(i32,8)' 'zeros(i32,8)' 5
says 'on the CPU: [L-DRV-03] there is no device to run on (CUDA_ERROR_NO_DEVICE)'
run 0 env FAKECUDA_DEVICES=none "$tilevm" run raw.tbc --grid 1 --device auto --json 'arange(i32,8)' 'zeros(i32,8)' 5
says '"not_on_a_gpu":	"[L-DRV-03] there is no device'
run 0 env FAKECUDA_DEVICES=70 "$tilevm" run raw.tbc --grid 1 'arange(i32,8)' 'zeros(i32,8)' 5
silent 'on '

# ---- what goes wrong ----
cuda() { "$tilevm" run raw.tbc --grid "${GRID:-1}" --device "${DEVICE:-cuda}" 'arange(i32,8)' 'zeros(i32,8)' 5 "$@"; }
if ! ldconfig -p 2> /dev/null | grep -q 'libcuda\.so\.1'; then
    LD_LIBRARY_PATH=/no/such run 2 cuda
    says 'tilevm: [L-DRV-01] there is no CUDA driver'
    says 'help: install the NVIDIA driver'
fi
FAKECUDA_DEVICES=none run 2 cuda
says '[L-DRV-03] there is no device to run on (CUDA_ERROR_NO_DEVICE)'
FAKECUDA_DEVICES=90,80 DEVICE=cuda:7 run 2 cuda
says '[L-DRV-03] there is no device cuda:7; there are cuda:0 to cuda:1'
DEVICE=cuda:x run 2 cuda
DEVICE=gpu run 2 cuda
says "'gpu' is not one of auto, cpu, cuda, cuda:N"
FAKECUDA_VERSION=11080 run 2 cuda
says '[L-DRV-02] the NVIDIA driver is for CUDA 11.8; 12.0 or later is needed'
FAKECUDA_DEVICES=70 run 1 cuda
says '[L-ARCH-01] the device is sm_70; Tile IR kernels run on sm_75 and later'
FAKECUDA_MEMORY=30000 run 2 cuda
says '[L-MEM-01] No GPU 0 has no 1.64e-05 GB for an array: 1.36e-05 of its 3e-05 GB are free (CUDA_ERROR_OUT_OF_MEMORY)'
GRID=1,70000 run 2 cuda
says '[L-LAUNCH-01] launch of copy: the grid has 70000 tile blocks in y; 1 to 65535 are possible'
GRID=1,70000 DEVICE=auto run 0 cuda
says 'on the CPU: [L-LAUNCH-01] launch of copy: the grid has 70000 tile blocks in y'
TILEVM_CACHE_SIZE=0 FAKECUDA_FAIL=cuModuleLoadDataEx=221 run 2 cuda
says '[L-JIT-02] the driver cannot assemble the kernel'
says "install the driver's JIT compiler"
TILEVM_CACHE_SIZE=0 TILEVM_IMAGE=cubin FAKECUDA_FAIL=cuLinkCreate=221 run 2 cuda
says '[L-JIT-02] the driver cannot assemble the kernel'
TILEVM_IMAGE=elf run 0 cuda
says "tilevm: warning: [L-IMG-04] TILEVM_IMAGE is 'elf'"
while read -r rule calls; do
    for call in $calls; do
        FAKECUDA_FAIL=$call=999 run 2 cuda
        says "tilevm: [$rule] "
        says '(CUDA_ERROR_UNKNOWN)'
    done
done <<'END'
L-CTX-01 cuCtxPushCurrent cuDevicePrimaryCtxRetain
L-MEM-01 cuMemAlloc
L-DRV-04 cuMemcpyHtoD cuMemcpyDtoH cuEventCreate
L-RUN-01 cuEventRecord cuCtxSynchronize cuEventElapsedTime
L-LAUNCH-05 cuLaunchKernel
END
# An address that is none: the context is lost, on every device alike.
run 1 "$tilevm" run raw.tbc --grid 1 -d cuda null 'zeros(i32,8)' 5
says '[L-RUN-01] the kernel failed on No GPU 0 (CUDA_ERROR_ILLEGAL_ADDRESS)'
says "'tilevm run --device cpu'"
run 1 "$tilevm" run raw.tbc --grid 1 null 'zeros(i32,8)' 5 --json
says '"outcome":	"trapped"'
says '"rule":	"L-RUN-01"'
says '"message":	"[L-RUN-01] the kernel failed on No GPU 0 (CUDA_ERROR_ILLEGAL_ADDRESS)'
# An assert that does not hold.
cat > assert.tir <<'END'
cuda_tile.module @m { entry @check(%n: tile<i32>) {
  %five = constant <i32: 5> : tile<i32>
  %ok = cmpi less_than %n, %five, signed : tile<i32> -> tile<i1>
  assert %ok, "n is too large" : tile<i1>
  return } }
END
"$tilevm" asm assert.tir -o assert.tbc || exit 2
run 0 "$tilevm" run assert.tbc --grid 1 -d cuda 4
run 1 "$tilevm" run assert.tbc --grid 1 -d cuda 6
says 'n is too large'
says 'the kernel failed on No GPU 0 (CUDA_ERROR_LAUNCH_FAILED)'
run 1 "$tilevm" run assert.tbc --grid 1 -d cuda 6 --json
says '"device":	"cuda:0"'
says 'n is too large\n"'
# An image that the driver does not take.
TILEVM_CACHE_SIZE=0 FAKECUDA_FAIL=cuModuleLoadDataEx=999 run 2 cuda
says 'tilevm: [L-LOAD-01] the driver cannot load the compiled kernel (CUDA_ERROR_UNKNOWN)'
for option in '--trace all' '--dump-tile 1=x.npy' '--check all' --stats --profile '--order 3' '--threads 2' '--memory 5' \
    '--max-steps 5'; do
    run 2 cuda $option
    says 'works on the CPU only, not on --device cuda'
done
DEVICE=cpu run 2 cuda --against cpu
says '--against needs a GPU; use --device cuda'

# The cache: of no use, damaged, and cold for 32 processes at once.
TILEVM_CACHE_DIR=/proc/tilevm-test run 0 cuda
says 'tilevm: warning: [L-CACHE-02] '
mkdir full && (ulimit -f 0 && trap '' XFSZ && TILEVM_CACHE_DIR="$PWD/full" exec "$tilevm" run raw.tbc --grid 1 -d cuda \
    'arange(i32,8)' 'zeros(i32,8)' 5 2>&1) | cat > out
says 'on cuda:0'
says 'tilevm: warning: [L-CACHE-03] the cache'
says 'cannot be written: File too large'
run 0 cuda
printf x >> "$(find cache -name '*.tvk' | head -1)"
for file in $(find cache -name '*.tvk'); do printf x >> "$file"; done
run 0 cuda
says 'tilevm: warning: [L-CACHE-01] '
run 0 cuda
silent warning
export TILEVM_CACHE_DIR="$PWD/cold"
n=0
while [ $n -lt 32 ]; do
    cuda --quiet --expect 'b=values(i32,[0,1,2,3,4,0,0,0])' > cold.$n 2>&1 || echo failed >> cold.$n &
    n=$((n + 1))
done
wait
run 0 sh -c 'cat cold.*'
silent warning
silent failed
run 0 "$tilevm" cache verify
run 0 "$tilevm" cache list
says '1 entry,'

# ---- against ----
# broken WORD:N:OTHER COMMAND...: a device whose WORD does OTHER.
broken() {
    what=$1
    shift
    FAKECUDA_BREAK=$what TILEVM_CACHE_SIZE=0 "$@"
}
run 1 broken add.rn.f32:1:sub.rn.f32 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against cpu
says 'the first op that differs: op 18 addf at kernels/vadd.py:11, byte 0x0081, tile block (0, 0, 0)'
says '  %1 = addf %tile, %tile_10'
says 'operand from op 15 load_view_tko: the same bits'
run 1 broken add.rn.f32:1:sub.rn.f32 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against cpu --json
says '"other":	"cpu"'
says '"op":	"addf"'
says '"op_index":	18'
run 1 broken ex2.approx:1:sin.approx "$tilevm" run "$kernels/softmax_row_f32.tbc" --grid 2 --against cpu
says 'exp at kernels/softmax.py:14'
# Sums whose order is free: a product with f16 accumulators, f32 ones of 1024 terms, atomics that all meet in one place.
cat > sums.tir <<'END'
cuda_tile.module @m {
  entry @product(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %r: tile<ptr<f16>>) {
    %zero = constant <i32: 0> : tile<i32>
    %acc = constant <f16: 0.0> : tile<32x32xf16>
    %pv = make_tensor_view %p, shape = [32, 32], strides = [32, 1] : tensor_view<32x32xf16, strides=[32,1]>
    %qv = make_tensor_view %q, shape = [32, 32], strides = [32, 1] : tensor_view<32x32xf16, strides=[32,1]>
    %rv = make_tensor_view %r, shape = [32, 32], strides = [32, 1] : tensor_view<32x32xf16, strides=[32,1]>
    %pp = make_partition_view %pv : partition_view<tile=(32x32), tensor_view<32x32xf16, strides=[32,1]>>
    %qp = make_partition_view %qv : partition_view<tile=(32x32), tensor_view<32x32xf16, strides=[32,1]>>
    %rp = make_partition_view %rv : partition_view<tile=(32x32), tensor_view<32x32xf16, strides=[32,1]>>
    %a, %t0 = load_view_tko weak %pp[%zero, %zero] : partition_view<tile=(32x32), tensor_view<32x32xf16, strides=[32,1]>>, tile<i32> -> tile<32x32xf16>, token
    %b, %t1 = load_view_tko weak %qp[%zero, %zero] : partition_view<tile=(32x32), tensor_view<32x32xf16, strides=[32,1]>>, tile<i32> -> tile<32x32xf16>, token
    %c = mmaf %a, %b, %acc : tile<32x32xf16>, tile<32x32xf16>, tile<32x32xf16>
    %d = addf %c, %c : tile<32x32xf16>
    %t2 = store_view_tko weak %d, %rp[%zero, %zero] : tile<32x32xf16>, partition_view<tile=(32x32), tensor_view<32x32xf16, strides=[32,1]>>, tile<i32> -> token
    return
  }
  entry @long(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
    %i = iota : tile<1024xi32>
    %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %pn = broadcast %p1 : tile<1xptr<f32>> -> tile<1024xptr<f32>>
    %from = offset %pn, %i : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
    %x, %t0 = load_ptr_tko weak %from : tile<1024xptr<f32>> -> tile<1024xf32>, token
    %s = reduce %x dim=0 identities=[0.0 : f32] : tile<1024xf32> -> tile<f32> (%l: tile<f32>, %r: tile<f32>) {
      %sum = addf %l, %r : tile<f32>
      yield %sum : tile<f32>
    }
    %t1 = store_ptr_tko weak %q, %s : tile<ptr<f32>>, tile<f32> -> token
    return
  }
  entry @contended(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>) {
    %i = iota : tile<256xi32>
    %aligned = assume div_by<16>, %p : tile<ptr<f16>>
    %p1 = reshape %aligned : tile<ptr<f16>> -> tile<1xptr<f16>>
    %pn = broadcast %p1 : tile<1xptr<f16>> -> tile<256xptr<f16>>
    %from = offset %pn, %i : tile<256xptr<f16>>, tile<256xi32> -> tile<256xptr<f16>>
    %x, %t0 = load_ptr_tko weak %from : tile<256xptr<f16>> -> tile<256xf16>, token
    %q1 = reshape %q : tile<ptr<f16>> -> tile<1xptr<f16>>
    %to = broadcast %q1 : tile<1xptr<f16>> -> tile<256xptr<f16>>
    %old, %t1 = atomic_rmw_tko relaxed device %to, addf, %x : tile<256xptr<f16>>, tile<256xf16> -> tile<256xf16>, token
    return
  }
}
END
"$tilevm" asm sums.tir -o sums.tbc || exit 2
sums() { "$tilevm" run sums.tbc --grid 1 --against cpu --entry "$@"; }
run 0 sums product
says 'a: as on the CPU (rtol 0.001, atol 1e-05)'
says 'for sums of 33 terms in f16)'
run 1 sums product --rtol 1e-3 --atol 1e-5
says 'the first op that differs: op 10 mmaf'
run 1 broken add.rn.f16x2:0:sub.rn.f16x2 sums product
says 'for sums of 33 terms in f16)'
says 'the first op that differs: op 11 addf'
run 0 sums product --json
says '"sum_terms":	33'
run 0 sums long 'randn(f32,1024)' 'zeros(f32,1)'
says 'for sums of 1024 terms in f32)'
run 0 sums contended 'uniform(f16,256,0.1,0.3)' 'zeros(f16,1)'
says 'for sums of 257 terms in f16)'
run 1 broken red.relaxed.gpu.global.add.noftz.f16:0:red.relaxed.gpu.global.add.noftz.bf16 sums contended 'uniform(f16,256,0.1,0.3)' 'zeros(f16,1)'

# A row of p in %x, where it goes in q, and a one.
row=$(cat <<'END'
  %i = iota : tile<64xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p64 = broadcast %p1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %from = offset %p64, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q64 = broadcast %q1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %to = offset %q64, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %x, %t0 = load_ptr_tko weak %from : tile<64xptr<f32>> -> tile<64xf32>, token
  %one = constant <i32: 1> : tile<i32>
END
)

# A loop: the round in which it happens first, and in the order of execution.
cat > loop.tir <<END
entry @loops(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
$row
  %n = constant <i32: 5> : tile<i32>
  %zero = constant <f32: 0.0> : tile<64xf32>
  %sum = for %k in (%one to %n, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<64xf32>) {
    %kf = itof %k signed : tile<i32> -> tile<f32>
    %k1 = reshape %kf : tile<f32> -> tile<1xf32>
    %k64 = broadcast %k1 : tile<1xf32> -> tile<64xf32>
    %d = mulf %x, %k64 : tile<64xf32>
    %next = addf %acc, %d : tile<64xf32>
    continue %next : tile<64xf32>
  }
  %t1 = store_ptr_tko weak %to, %sum : tile<64xptr<f32>>, tile<64xf32> -> token
  return
}
END
"$tilevm" asm loop.tir -o loop.tbc || exit 2
loop() { "$tilevm" run loop.tbc --grid 1 'uniform(f32,64,1,2)' 'zeros(f32,64)' --against cpu; }
run 0 loop
run 1 broken mul.rn.f32:1:div.rn.f32 loop
says 'mulf, byte'
says 'tile block (0, 0, 0), time 1 from 0'
run 1 broken setp.lt.s32:1:setp.le.s32 loop
says 'control flow differs in op 11 for'
run 1 broken st.global.b32:0:st.global.b16 loop
says 'the operands of every store and atomic agree; one of these ops differs, the last of which is op 18 store_ptr_tko'

# What a loop results in differs too, and its first ops are looked at in another module than the one that differs first.
run 1 broken max.f32:1:min.f32 "$tilevm" run "$corpus/bytecode/13.5/attention_causal_f16.tbc" --grid 1,1 --against cpu
says 'reduce at kernels/attention.py:33'

# Loops without a count, branches, scalars.
cat > branch.tir <<END
entry @control(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %bx, %by, %bz = get_tile_block_id : tile<i32>
$row
  %four = constant <i32: 4> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %r = loop iter_values(%acc = %x, %k = %zero) : tile<64xf32>, tile<i32> -> tile<64xf32> {
    %done = cmpi greater_than_or_equal %k, %four, signed : tile<i32> -> tile<i1>
    if %done {
      break %acc : tile<64xf32>
    }
    %two = constant <i32: 2> : tile<i32>
    %is = cmpi equal %k, %two, signed : tile<i32> -> tile<i1>
    %next = if %is -> (tile<64xf32>) {
      %s = sqrt %acc : tile<64xf32>
      yield %s : tile<64xf32>
    } else {
      %d = addf %acc, %x : tile<64xf32>
      yield %d : tile<64xf32>
    }
    %k1 = addi %k, %one : tile<i32>
    continue %next, %k1 : tile<64xf32>, tile<i32>
  }
  %t1 = store_ptr_tko weak %to, %r : tile<64xptr<f32>>, tile<64xf32> -> token
  return
}
END
"$tilevm" asm branch.tir -o branch.tbc || exit 2
branch() { "$tilevm" run branch.tbc --grid 2 'uniform(f32,64,1,2)' 'zeros(f32,64)' --against cpu; }
run 0 branch
run 1 broken sqrt.rn.f32:1:rcp.rn.f32 branch
says 'the first op that differs: op 19 sqrt'
run 1 broken setp.eq.s32:1:setp.ge.s32 branch
says 'the first op that differs: op 17 cmpi, byte 0x0061, tile block (0, 0, 0), time 3 from 0'
says '[]  cuda 1  cpu 0'

# In the second tile block first; in no op when its values are looked at; where no log fits. Each block stores to a row
# of its own.
sed -e 's/@loops/@blocks/; s/itof %k signed/itof %number signed/' \
    -e 's/%kf = /%number = addi %bx, %one : tile<i32>\n    &/' \
    -e 's/%to = .*/%bx, %by, %bz = get_tile_block_id : tile<i32>/' \
    -e "s/%one = constant.*/&\\
  %c2 = constant <i32: 2> : tile<i32>\\
  %c64 = constant <i32: 64> : tile<i32>\\
  %above = muli %by, %c2 : tile<i32>\\
  %row = addi %bx, %above : tile<i32>\\
  %first = muli %row, %c64 : tile<i32>\\
  %f1 = reshape %first : tile<i32> -> tile<1xi32>\\
  %f64 = broadcast %f1 : tile<1xi32> -> tile<64xi32>\\
  %place = addi %i, %f64 : tile<64xi32>\\
  %to = offset %q64, %place : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>/" loop.tir > blocks.tir
"$tilevm" asm blocks.tir -o blocks.tbc || exit 2
blocks() { "$tilevm" run blocks.tbc --grid "$1" --threads 1 'uniform(f32,64,1,2)' 'zeros(f32,256)' --against cpu; }
run 1 broken mul.rn.f32:1:div.rn.f32 blocks 2,2
says 'mulf, byte'
says 'tile block (1, 0, 0)'
FAKECUDA_BREAK_LAUNCHES=1 run 1 broken mul.rn.f32:1:div.rn.f32 blocks 2
says 'with the values of ops exposed there is no difference'
FAKECUDA_MEMORY=50000 run 1 broken mul.rn.f32:1:div.rn.f32 blocks 2
says 'the op could not be found: with values exposed the GPU does not run the kernel: [L-MEM-01] No GPU 0 has no'

# Every type of elements comes into the log, and back alike.
cat > types.tir <<'END'
entry @types(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %i = iota : tile<64xi32>
  %m = reshape %i : tile<64xi32> -> tile<4x16xi32>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1x1xptr<i32>>
  %pn = broadcast %p1 : tile<1x1xptr<i32>> -> tile<4x16xptr<i32>>
  %from = offset %pn, %m : tile<4x16xptr<i32>>, tile<4x16xi32> -> tile<4x16xptr<i32>>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1x1xptr<i32>>
  %qn = broadcast %q1 : tile<1x1xptr<i32>> -> tile<4x16xptr<i32>>
  %to = offset %qn, %m : tile<4x16xptr<i32>>, tile<4x16xi32> -> tile<4x16xptr<i32>>
  %x, %t0 = load_ptr_tko weak %from : tile<4x16xptr<i32>> -> tile<4x16xi32>, token
  %i64 = exti %x signed : tile<4x16xi32> -> tile<4x16xi64>
  %i16 = trunci %x : tile<4x16xi32> -> tile<4x16xi16>
  %i8 = trunci %x : tile<4x16xi32> -> tile<4x16xi8>
  %i4 = trunci %i8 : tile<4x16xi8> -> tile<4x16xi4>
  %f64 = itof %x signed : tile<4x16xi32> -> tile<4x16xf64>
  %f32 = itof %x signed : tile<4x16xi32> -> tile<4x16xf32>
  %f16 = itof %x signed : tile<4x16xi32> -> tile<4x16xf16>
  %bf16 = itof %x signed : tile<4x16xi32> -> tile<4x16xbf16>
  %tf32 = ftof %f32 : tile<4x16xf32> -> tile<4x16xtf32>
  %e4 = ftof %f32 : tile<4x16xf32> -> tile<4x16xf8E4M3FN>
  %e5 = ftof %f32 : tile<4x16xf32> -> tile<4x16xf8E5M2>
  %e8 = ftof %f32 rounding<zero> : tile<4x16xf32> -> tile<4x16xf8E8M0FNU>
  %f4 = ftof %f32 : tile<4x16xf32> -> tile<4x16xf4E2M1FN>
  %i1 = cmpi less_than %x, %m, signed : tile<4x16xi32> -> tile<4x16xi1>
  %at = ptr_to_int %from : tile<4x16xptr<i32>> -> tile<4x16xi64>
  %y = maxi %x, %m signed : tile<4x16xi32>
  %t1 = store_ptr_tko weak %to, %y : tile<4x16xptr<i32>>, tile<4x16xi32> -> token
  return
}
END
"$tilevm" asm types.tir -o types.tbc || exit 2
run 1 broken max.s32:1:min.s32 "$tilevm" run types.tbc --grid 1 'randint(i32,64,-20,20)' 'zeros(i32,64)' --against cpu
says 'the first op that differs: op 24 maxi'
# In the elements of a list.
run 1 broken add.rn.f32:1:sub.rn.f32 "$tilevm" run "$kernels/list_of_arrays_sum.tbc" --grid 2 --against cpu
says 'addf at kernels/params.py:42'

# Another image: outputs only.
"$tilevm" compile "$kernels/vadd_f32.tbc" -t sm_80 -o vadd.ptx || exit 2
sed 's/add\.rn\.f32/sub.rn.f32/' vadd.ptx > wrong.ptx
run 0 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against vadd.ptx
says 'c: as on vadd.ptx'
run 0 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against "$kernels/vadd_f32.tbc"
run 1 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against wrong.ptx
says '  the first: [0]  cuda '
silent 'op 18'
run 2 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against nothere.cubin
says 'nothere.cubin: No such file or directory'
run 2 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against raw.tir
says 'the driver cannot load the image (CUDA_ERROR_INVALID_IMAGE)'
run 2 "$tilevm" run "$kernels/vadd_f32.tbc" --grid 3 --against "$kernels/softmax_row_f32.tbc"
says 'there is no kernel vadd_'

# Whatever went wrong, everything was given back.
run 1 cat left

echo "device: $passed passed, $failed failed"
[ $failed -eq 0 ]
