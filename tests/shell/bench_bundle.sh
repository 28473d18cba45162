#!/bin/bash
# Figures of bundles, each beside its aim.
#
#   bench_bundle.sh BUILD CORPUS FOLDER     BUILD has tilevm, bundle_client and fakecuda/libcuda.so.1; FOLDER is made
#
# 200 kernels of the corpus for 6 targets: what a build takes, with PTX alone and with cubins (BENCH_EMIT: "ptx all"), and how
# large the bundle is; then the start of a service that uses 50 kernels. With TILEIR_TOOLS set to the folder of NVIDIA's tools,
# every BENCH_SHAREth (5th; 1: all, which takes minutes) of the kernels by theirs and by ours, for all targets, as many at a time:
# some kernels take a hundred times as long as others, so only the same pairs can be compared. With PYTHON one that has cuda-tile,
# the same start from Python. Last a bundle of 1,000 kernels: opening it and getting the first kernel.
#
# The driver is the fake one, which takes no time: what it would take to assemble PTX is measured by ptxas, which is the same
# assembler; what it takes to start and to load code only a GPU can show (make check-gpu-deploy).
set -eu
export LC_ALL=C NO_COLOR=1
build=$(cd "$1" && pwd)
corpus=$(cd "$2" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
kernels=$corpus/bytecode/13.4
tilevm=$build/tilevm
ptxas=$(command -v ptxas || echo "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas")
[ -x "$ptxas" ] || ptxas=
export TILEVM_PTXAS="${ptxas:-none}"
emits=${BENCH_EMIT:-ptx${ptxas:+ all}}
share=${BENCH_SHARE:-5}
jobs=$(getconf _NPROCESSORS_ONLN)
targets=sm_80,sm_89,sm_90,sm_100,sm_103,sm_120
rm -rf "$3" && mkdir -p "$3" && cd "$3"

# line WHAT FIGURE [AIM]
line() { printf '%-84s %9s   %s\n' "$1" "$2" "${3:+aim $3}"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }
# timed COMMAND...: its seconds in $wall and, with what it started, of processor time in $cpu; what it prints in the file log.
timed() {
    local TIMEFORMAT='%R %U %S'
    { time "$@" > log 2>&1 || true; } 2> times
    read -r wall user system < times
    cpu=$(awk -v a="$user" -v b="$system" 'BEGIN { printf "%.3f", a + b }')
}
# least COMMAND...: milliseconds of processor time, the best of five.
least() {
    local best=
    for _ in 1 2 3 4 5; do
        rm -rf cache
        timed "$@"
        best=$(awk -v a="${best:-9999}" -v b="$cpu" 'BEGIN { print a < b ? a : b }')
    done
    awk -v s="$best" 'BEGIN { printf "%.0f", s * 1e3 }'
}

echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sort -u | head -n 1), $jobs jobs; $("$tilevm" --version | head -n 1)"
[ -n "$ptxas" ] && echo "ptxas $("$ptxas" --version | sed -n 's/.*release [^V]*V//p')"
files=$(for file in "$kernels"/*.tbc; do "$tilevm" verify -q "$file" 2> /dev/null && echo "$file"; done |
    awk 'NR % 3 == 0' | head -n 200)

# ---- NVIDIA's compiler ----
theirs=
some=$(echo "$files" | awk -v n="$share" 'NR % n == 0')
if [ -n "${TILEIR_TOOLS:-}" ] && [ -x "$TILEIR_TOOLS/tileiras" ]; then
    echo "NVIDIA's tileiras $("$TILEIR_TOOLS/tileiras" --version | sed -n 's/.*release [^V]*V//p')"
    for file in $some; do
        for target in ${targets//,/ }; do
            echo "$target $file"
        done
    done > pairs
    export CUDA_HOME="$(dirname "$TILEIR_TOOLS")" # where it looks for the rest of it
    timed xargs -P "$jobs" -L 1 sh -c '"$0/tileiras" --gpu-name "$1" "$2" -o "theirs-$$.cubin"' "$TILEIR_TOOLS" < pairs
    theirs=$cpu
    line "NVIDIA's compiler, $(wc -l < pairs) pairs of kernel and target ($(find . -name 'theirs-*' | wc -l) compile), seconds of processor time" "$theirs"
else
    echo "NVIDIA's compiler: skipped, TILEIR_TOOLS is not set"
fi

# ---- building ----
# build_for_all EMIT NAME FILE...: NAME.tvb
build_for_all() {
    local emit=$1 name=$2
    shift 2
    timed "$tilevm" bundle build "$@" -t $targets -e "$emit" -j "$jobs" -o "$name.tvb"
}
for emit in $emits; do
    what="6 targets, $([ "$emit" = ptx ] && echo PTX || echo 'PTX and cubins')"
    if [ -n "$theirs" ]; then
        build_for_all "$emit" some-"$emit" $some
        line "the same pairs, $what: build, seconds of processor time" "$cpu"
        line "the same pairs, $what: beside NVIDIA's compiler" "$(ratio "$cpu" "$theirs")" 0.200
    fi
    build_for_all "$emit" "$emit" $files
    line "200 kernels, $what: build, seconds" "$wall"
    line "200 kernels, $what: build, seconds of processor time" "$cpu"
    "$tilevm" bundle extract "$emit.tvb" -o plain-"$emit" > log
    line "200 kernels, $what: bytes beside the plain files'" "$(ratio "$(wc -c < "$emit.tvb")" "$(cat plain-"$emit"/* | wc -c)")" 0.333
done

# ---- starting ----
fifty=$(echo "$files" | awk 'NR % 4 == 1' | head -n 50)
start() {
    least env LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_DEVICES=90 TILEVM_CACHE_DIR="$PWD/cache" "$tilevm" cache warm "$1" --device 0
}
for emit in ${emits/all/cubin} bytecode; do
    "$tilevm" bundle build $fifty -t sm_90 -e "${emit/cubin/all}" -o "fifty-$emit.tvb" > log 2>&1
done
echo "a service that uses 50 kernels: processor time until all are loaded, ms"
[ -e fifty-cubin.tvb ] && line "  from cubins of a bundle" "$(start fifty-cubin.tvb)" 100
line "  from PTX of a bundle, without the driver's assembler" "$(start fifty-ptx.tvb)" 100
if [ -n "$ptxas" ]; then
    "$tilevm" bundle extract fifty-ptx.tvb -o fifty > log
    timed sh -c 'for f in fifty/*.ptx; do "$1" -arch "$(sed -n "s/^.target //p" "$f")" "$f" -o one.cubin; done' sh "$ptxas"
    line "  the same PTX by ptxas, in the place of that assembler" "$(awk -v s="$cpu" 'BEGIN { printf "%.0f", s * 1e3 }')"
fi
line "  from bytecode of a bundle, compiled at the start, without that assembler" "$(start fifty-bytecode.tvb)"
if "${PYTHON:-python3}" -c 'import cuda.tile' 2> /dev/null; then
    PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-python3}" "$top/tools/bench_cold_start.py" "${TILEIR_TOOLS:-}" $(basename -s .tbc $fifty) |
        while IFS='|' read -r what figure; do line "  $what" "$figure"; done
else
    echo "  from Python: skipped, ${PYTHON:-python3} has no cuda-tile"
fi

# ---- 1,000 kernels ----
mkdir many
"$tilevm" disasm "$kernels/vadd_f32.tbc" > vadd.tir
for i in $(seq 1000); do
    sed "s/vadd_Kt1/vadd${i}_Kt1/" vadd.tir > one.tir
    "$tilevm" asm one.tir -o "many/k$i.tbc"
done
"$tilevm" bundle build many -t $targets -e ptx -o many.tvb > /dev/null
set -- $(LD_LIBRARY_PATH="$build/fakecuda" "$build/bundle_client" --bench many.tvb vadd1000)
line "1,000 kernels: opening the bundle, ms" "$1"
line "1,000 kernels: opening, and the first kernel, ms" "$2" 5
