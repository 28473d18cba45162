#!/bin/sh
# `make run`: kernels of the corpus on the CPU. run_examples.sh TILEVM CORPUS; ends with `run: N passed, N failed`: a result
# that is not as expected is a failure.
set -u
export CUDA_VISIBLE_DEVICES= # on the CPU, also where there is a GPU
tilevm=$1
corpus=$2
kernels=$corpus/bytecode/13.4
expected=$corpus/expected
passed=0
failed=0

run() { # run WHAT ARGUMENTS...: says what, shows the command, runs it
    printf '\n# %s\n' "$1"
    shift
    line='$ tilevm run'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./:=,@+-]*) word="'$word'" ;; esac
        if [ $((${#line} + ${#word})) -gt 115 ]; then
            printf '%s \\\n' "$line"
            line='   '
        fi
        line="$line $word"
    done
    printf '%s\n' "$line"
    if "$tilevm" run "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

run "vector addition, with arguments made up for this grid" "$kernels/vadd_f32.tbc" --grid 128

run "the same with inputs of our own: every element of c must have the bits that NumPy computed" \
    "$kernels/vadd_f32.tbc" --grid 4 \
    'a=randint(f32,1000,-64,65,seed=1,den=8)' 'b=randint(f32,1000,-64,65,seed=2,den=8)' 'c=empty(f32,1000)' \
    --expect "c=bin(f32,1000,$expected/vadd_f32.c.bin,mode=bits)"

run "softmax of 10 rows" "$kernels/softmax_row_f32.tbc" --grid 10 --names x,y \
    'x=uniform(f32,[10,100],-4,4,seed=1)' 'y=empty(f32,[10,100])' \
    --expect "y=bin(f32,[10,100],$expected/softmax_row_f32.y.bin,rtol=2e-5,atol=1e-7)"

run "layer norm of 9 rows, with the mean and the scale that the backward pass needs" \
    "$kernels/layernorm_fwd_f32.tbc" --grid 9 --names x,weight,bias,y,mean,rstd,eps \
    'x=uniform(f32,[9,200],-2,3,seed=1)' 'weight=uniform(f32,200,0.5,1.5,seed=2)' 'bias=uniform(f32,200,-1,1,seed=3)' \
    'y=empty(f32,[9,200])' 'mean=empty(f32,9)' 'rstd=empty(f32,9)' eps=1e-5 \
    --expect "y=bin(f32,[9,200],$expected/layernorm_fwd_f32.y.bin,rtol=2e-5,atol=2e-5)" \
    --expect "mean=bin(f32,9,$expected/layernorm_fwd_f32.mean.bin,rtol=1e-4,atol=1e-5)" \
    --expect "rstd=bin(f32,9,$expected/layernorm_fwd_f32.rstd.bin,rtol=1e-4,atol=1e-5)"

run "matrix product in f16, with what was executed" "$kernels/matmul_simple_f16.tbc" --grid 4,3 --names A,B,C \
    'A=randint(f16,[100,70],-3,4,seed=1)' 'B=randint(f16,[70,90],-3,4,seed=2)' 'C=empty(f16,[100,90])' --stats \
    --expect "C=bin(f16,[100,90],$expected/matmul_simple_f16.C.bin,rtol=1e-3,atol=0)"

printf '\nrun: %d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
