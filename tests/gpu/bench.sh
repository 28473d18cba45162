#!/bin/sh
# `make bench-gpu`: bench.sh BUILD CORPUS TARGET PYTHON [OLD]. First the large kernels of the corpus, with the figures of NVIDIA's
# compiler 13.5 (corpus_perf_h200.csv: an H200, another day) beside ours, and, in turn with ours, those of OLD, the corpus_run of another
# build; then ours beside torch and Triton, where Python has them. Fails if a kernel takes over 1/0.98 of the time that it took with OLD.
build=$1
corpus=$2
target=$3
python=$4
old=$5
here=$(dirname "$0")

lines=$(mktemp) || exit 2
trap 'rm -f "$lines"' EXIT
large() { # NAME CORPUS_RUN: its lines, NAME in front; on standard error as they come
    "$2" "$corpus" --gpu "$target" --version 13.5 --perf --jobs 4 | awk -v name="$1" '{ print name, $0; print > "/dev/stderr" }'
}
for round in 1 2; do # the better of two: another process may have had the GPU
    [ -z "$old" ] || large old "$old"
    [ $round = 2 ] && [ -z "$old" ] || large new "$build/corpus_run"
done > "$lines"
slower=0
awk -v table="$here/corpus_perf_h200.csv" '
    BEGIN {
        while ((getline line < table) > 0) {
            split(line, field, ",")
            reference[field[1]] = field[3]; flops[field[1]] = field[4]; bytes[field[1]] = field[5]; library[field[1]] = field[7]
        }
    }
    $4 != "us" { if (!seen[$0]++) print; next }
    {
        if (!($2 in named)) { named[$2] = 1; names[++count] = $2 }
        if (!(($1, $2) in best) || $3 < best[$1, $2]) best[$1, $2] = $3
    }
    END {
        printf "%-36s %10s %10s %7s %10s %10s %7s  %s\n", "microseconds", "ours", "reference", "ratio", "library", "old", "old/new", "ours"
        for (i = 1; i <= count; i++) {
            name = names[i]; us = best["new", name]; was = best["old", name]; r = reference[name]; rate = ""
            if (flops[name] != "") rate = sprintf("%.1f TFLOP/s", flops[name] * r / us)
            else if (bytes[name] != "") rate = sprintf("%.2f TB/s", bytes[name] * r / us / 1000)
            if (was != "") { product += log(was / us); both++ }
            if (was != "" && was / us < 0.98) slower++
            printf "%-36s %10.2f %10s %7s %10s %10s %7s  %s\n", name, us, r, r == "" ? "" : sprintf("%.2f", r / us), library[name], was,
                   was == "" ? "" : sprintf("%.2f", was / us), rate
        }
        if (both) printf "%d kernels, %d of them below 0.98 of before; geometric mean of old / new: %.2f\n", both, slower, exp(product / both)
        exit slower > 0
    }' "$lines" || slower=1
if command -v "$python" > /dev/null; then
    TILEVM_CACHE_SIZE=0 "$python" "$here/../../tools/bench_gpu.py" "$build/libtilevm.so" "$here/kernels"
else
    echo "torch and Triton beside ours: skipped, there is no $python"
fi
exit $slower
