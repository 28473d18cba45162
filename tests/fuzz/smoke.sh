#!/bin/sh
# smoke.sh TARGET SECONDS WORK INPUT...: fuzzes for that long, beginning with the inputs; what is found stays in WORK.
# Ends with `name: N passed, N failed`.
set -u
target=$1
seconds=$2
work=$3
shift 3
name=$(basename "$target")
case $name in
    *_text | *_tokens) longest=24000 ;; # a kernel as text; cut off, it would not parse
    *) longest=6000 ;;
esac
rm -rf "$work"
mkdir -p "$work/corpus"
if "$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 -max_len="$longest" -print_final_stats=1 \
    -artifact_prefix="$work/" "$work/corpus" "$@" > "$work/log" 2>&1; then
    sed -n 's/^stat::number_of_executed_units: */inputs: /p' "$work/log"
    echo "$name: 1 passed, 0 failed"
else
    tail -n 40 "$work/log"
    echo "keep the input as tests/fuzz/crashes/${name#fuzz_}/<what it was>: $(ls "$work" | grep -v -e '^corpus$' -e '^log$')"
    echo "$name: 0 passed, 1 failed"
    exit 1
fi
