#!/bin/sh
# How far do the medians of `tilevm bench` lie apart when the same kernel is timed again, in a process of its own? Prints
# the least and the largest median of each kernel in microseconds, and whether all lie within 1 %.
#
#   bench_repeat.sh BUILD CORPUS      BENCH_REPEAT_RUNS: how often (5)
set -u
tilevm=$1/tilevm
kernels=$2/bytecode/13.4
runs=${BENCH_REPEAT_RUNS:-5}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# time_kernel NAME ARGUMENTS...
time_kernel() {
    name=$1
    shift
    i=0
    while [ $i -lt "$runs" ]; do
        "$tilevm" bench "$kernels/$name.tbc" --device cuda "$@" --csv > "$work/out" || exit 2
        sed -n 2p "$work/out" | awk -F, -v name="$name" '{ print name, $(NF - 13) }' >> "$work/medians"
        i=$((i + 1))
    done
}

time_kernel vadd_f32 --grid 65536 'a=ones(f32,16777216)' 'b=ones(f32,16777216)' 'c=empty(f32,16777216)'
time_kernel softmax_row_f32 --grid 4096 --names x,y 'x=uniform(f32,[4096,1024],-4,4)' 'y=empty(f32,[4096,1024])'
time_kernel perf_matmul_simple_f16_4096 --grid 32,32 --names A,B,C 'A=randn(f16,[4096,4096])' \
    'B=randn(f16,[4096,4096])' 'C=empty(f16,[4096,4096])'
awk '{ n[$1]++; if (n[$1] == 1 || $2 < low[$1]) low[$1] = $2; if (n[$1] == 1 || $2 > high[$1]) high[$1] = $2 }
     END { yes = "yes"
           for (k in n) { apart = (high[k] / low[k] - 1) * 100
                          if (apart > 1) yes = "no"
                          printf "%-32s %d runs: %10.2f to %10.2f us, %.2f %% apart\n", k, n[k], low[k], high[k], apart }
           print "all of them within 1 %: " yes }' "$work/medians"
