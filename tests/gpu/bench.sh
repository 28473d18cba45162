#!/bin/sh
# `make bench-gpu`: bench.sh BUILD CORPUS TARGET PYTHON. First the large kernels of the corpus, with the figures of NVIDIA's
# compiler 13.5 (corpus_perf_h200.csv: an H200, another day) beside ours; then ours beside torch and Triton, where Python has them.
build=$1
corpus=$2
target=$3
python=$4
here=$(dirname "$0")

lines=$(mktemp) || exit 2
trap 'rm -f "$lines"' EXIT
"$build/corpus_run" "$corpus" --gpu "$target" --version 13.5 --perf --jobs 4 | tee "$lines" >&2 # as it comes; then the table
awk -v table="$here/corpus_perf_h200.csv" '
    BEGIN {
        while ((getline line < table) > 0) {
            split(line, field, ",")
            reference[field[1]] = field[3]; flops[field[1]] = field[4]; bytes[field[1]] = field[5]; library[field[1]] = field[7]
        }
        printf "%-36s %10s %10s %7s %10s  %s\n", "microseconds", "ours", "reference", "ratio", "library", "ours"
    }
    $3 == "us" {
        r = reference[$1]; rate = ""
        if (flops[$1] != "") rate = sprintf("%.1f TFLOP/s", flops[$1] * r / $2)
        else if (bytes[$1] != "") rate = sprintf("%.2f TB/s", bytes[$1] * r / $2 / 1000)
        printf "%-36s %10.2f %10s %7s %10s  %s\n", $1, $2, r, r == "" ? "" : sprintf("%.2f", r / $2), library[$1], rate
        next
    }
    { print }' "$lines"
if command -v "$python" > /dev/null; then
    TILEVM_CACHE_SIZE=0 "$python" "$here/../../tools/bench_gpu.py" "$build/libtilevm.so" "$here/kernels"
else
    echo "torch and Triton beside ours: skipped, there is no $python"
fi
