#!/bin/sh
# Figures of bundles, each beside its aim.
#
#   bench_bundle.sh BUILD CORPUS FOLDER     BUILD has tilevm, bundle_client and fakecuda/libcuda.so.1; FOLDER is made
#
# 200 kernels of the corpus for 6 targets: how long a build takes and how large the bundle is; with TILEIR_TOOLS set to the
# folder of NVIDIA's tools, theirs on every 20th pair of kernel and target. BENCH_EMIT=all: with cubins, by the ptxas that is
# found (minutes). Then a bundle of 1,000 kernels: opening it and getting the first kernel, on the fake driver.
set -eu
build=$(cd "$1" && pwd)
kernels=$(cd "$2" && pwd)/bytecode/13.4
tilevm=$build/tilevm
emit=${BENCH_EMIT:-ptx}
targets=sm_80,sm_89,sm_90,sm_100,sm_103,sm_120
rm -rf "$3" && mkdir -p "$3" && cd "$3"

now() { date +%s.%N; }
# line WHAT FIGURE AIM
line() { printf '%-64s %12s   aim %s\n' "$1" "$2" "$3"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }

files=$(for file in "$kernels"/*.tbc; do "$tilevm" verify -q "$file" 2> /dev/null && echo "$file"; done |
    awk 'NR % 3 == 0' | head -n 200)
start=$(now)
"$tilevm" bundle build $files -t $targets -e "$emit" -o app.tvb > build.log 2>&1
took=$(awk -v a="$start" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }')
line "200 kernels, 6 targets ($emit): build, seconds" "$took" "-"
"$tilevm" bundle extract app.tvb -o plain > /dev/null
plain=$(cat plain/* | wc -c)
packed=$(wc -c < app.tvb)
line "bundle, bytes of $plain in plain files" "$packed" "-"
line "size of the bundle beside the plain files" "$(ratio "$packed" "$plain")" "0.333"

if [ -n "${TILEIR_TOOLS:-}" ] && [ -x "$TILEIR_TOOLS/tileiras" ]; then
    n=0
    pairs=0
    start=$(now)
    for file in $files; do
        for target in $(echo $targets | tr , ' '); do
            n=$((n + 1))
            [ $((n % 20)) = 0 ] || continue
            pairs=$((pairs + 1))
            "$TILEIR_TOOLS/tileiras" --gpu-name "$target" "$file" -o theirs.cubin > /dev/null 2>&1 || true
        done
    done
    theirs=$(awk -v a="$start" -v b="$(now)" -v n="$n" -v p="$pairs" 'BEGIN { printf "%.2f", (b - a) * n / p }')
    line "NVIDIA's compiler, from $pairs of the $n pairs, seconds" "$theirs" "-"
    line "build beside NVIDIA's compiler" "$(ratio "$took" "$theirs")" "0.200"
else
    echo "NVIDIA's compiler: skipped, TILEIR_TOOLS is not set"
fi

mkdir many
"$tilevm" disasm "$kernels/vadd_f32.tbc" > vadd.tir
for i in $(seq 1000); do
    sed "s/vadd_Kt1/vadd${i}_Kt1/" vadd.tir > one.tir
    "$tilevm" asm one.tir -o "many/k$i.tbc"
done
"$tilevm" bundle build many -t $targets -e ptx -o many.tvb > /dev/null
set -- $(LD_LIBRARY_PATH="$build/fakecuda" "$build/bundle_client" --bench many.tvb vadd1000)
line "1,000 kernels: opening the bundle, ms" "$1" "-"
line "1,000 kernels: opening, and the first kernel, ms" "$2" "5"
