#!/bin/sh
# The part of the sweep that fits the first hour on a GPU: first_hour_sweep.sh BUILD CASES FOLDER TARGET JOBS. Leaves
# FOLDER/sweep.csv; says why it was skipped. PYTHON: one with torch.
build=$1 cases=$2 folder=$3 target=$4 jobs=$5
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
python=${PYTHON:-python3}
if ! "$python" -c 'import torch' 2> /dev/null; then
    echo "sweep: skipped, there is no torch for $python"
    exit 0
fi
if ! command -v ptxas > /dev/null && [ ! -x "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" ]; then
    echo "sweep: skipped, there is no ptxas"
    exit 0
fi
"$python" "$tools/perf_build.py" "$cases" "$folder/sweep" "ours=$build/tilevm" --target "$target" --jobs "$jobs" \
    --filter '_c1$|^fmha_f16.*_o1$|rms_norm|softmax|cross_entropy|column_sum' \
    && "$python" "$tools/perf_run.py" "$folder/sweep" --seconds 240 --csv "$folder/sweep.csv"
