#!/bin/sh
# reference.sh BUILD CORPUS FOLDER TARGETS CTAS PART: compiles (that part of) the corpus with NVIDIA's tile compiler, once, into FOLDER,
# and runs its PTX on the simulator, for each target of TARGETS and each number of thread blocks a tile block of CTAS.
# What does not run is listed with a reason in tests/corpus/reference.txt; that list must be right. Nothing of theirs
# stays but in FOLDER. TILEIR_TOOLS: the folder of tileiras, or PATH has it; REFERENCE_SECONDS: how long one kernel may take it
# (300). Ends with `reference: N passed, N failed, N
# listed`.
set -u
build=$1 corpus=$2 folder=$3 targets=$4 ctas=$5 part=$6
list=tests/corpus/reference.txt
PATH=${TILEIR_TOOLS:+$TILEIR_TOOLS:}$PATH
command -v tileiras > /dev/null || { echo "reference: skipped, there is no tileiras (TILEIR_TOOLS)"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "reference: skipped, the compiler's code for the host is for x86-64"; exit 0; }
: "${CUDA_HOME:=$(dirname "$(dirname "$(command -v tileiras)")")}"
export PATH CUDA_HOME
passed=0 failed=0 listed=0

# compile TARGET BYTECODE INTO: what is there already stays, so that what was interrupted goes on. A file that is refused
# leaves its message, and one that takes too long says so.
# shellcheck disable=SC2016
compile() {
    mkdir -p "$3"
    find "$2" -name '*.tbc' | sort | while IFS= read -r file; do
        name=$3/$(basename "$file" .tbc)
        [ -e "$name.cubin" ] || [ -e "$name.refused" ] || printf '%s\0%s\0' "$file" "$name"
    done | xargs -0 -r -n 2 -P 2 sh -c '
        timeout "$2" tileiras "$3" -o "$4.part" --gpu-name "$1" -O3 --lineinfo 2> "$4.log"
        status=$?
        case $status in
        0) mv "$4.part" "$4.cubin" && rm "$4.log" ;;
        124) echo "it does not end within $2 seconds" > "$4.refused" && rm -f "$4.part" "$4.log" ;;
        *) [ $status -lt 124 ] && mv "$4.log" "$4.refused" || rm -f "$4.part" "$4.log" ;;
        esac' compile "$1" "${REFERENCE_SECONDS:-300}"
}

# run TARGET CTAS BYTECODE INTO: nothing fails but what is listed, what is listed fails, and at least 95 % pass.
run() {
    log=$4.$(echo "$part" | tr / -).log
    "$build/corpus_run" "$corpus" --version 13.5 --reference "$4" --ptx "$1" --needs tests/corpus/unsupported.txt \
        --part "$part" --jobs 2 > "$log"
    sed -n 's/^FAILED \([^ ]*\) .*/\1/p' "$log" | sort > "$log.failed"
    awk -v target="$1" -v ctas="$2" '!/^#/ && ($2 == target || $2 == "*") && ($3 == ctas || $3 == "*") { print $1 }' \
        "$list" | sort > "$log.listed"
    now=$(sed -n 's/^corpus runs: \([0-9]*\) passed.*/\1/p' "$log") not=$(wc -l < "$log.failed")
    for name in $(comm -23 "$log.failed" "$log.listed"); do
        failed=$((failed + 1))
        echo "$1, $2 blocks: $name: $(grep -A 2 "^FAILED $name " "$log" | sed -n 2p)"
    done
    for name in $(comm -13 "$log.failed" "$log.listed"); do
        [ -e "$3/$name.tbc" ] || continue
        failed=$((failed + 1))
        echo "$1, $2 blocks: $name runs, though $list has it"
    done
    listed=$((listed + $(comm -12 "$log.failed" "$log.listed" | wc -l))) passed=$((passed + ${now:-0}))
    if [ $((${now:-0} * 5)) -lt $((not * 95)) ]; then
        failed=$((failed + 1))
        echo "$1, $2 blocks: fewer than 95 % run"
    fi
    echo "$1, $2 blocks: ${now:-0} passed, $not did not"
}

for count in $ctas; do
    bytecode=$folder/bytecode-$count/$(echo "$part" | tr / -)
    mkdir -p "$bytecode"
    [ "$count" = 1 ] && spread= || spread="--cluster $count"
    # shellcheck disable=SC2086
    "$build/corpus_run" "$corpus" --version 13.5 --part "$part" $spread --write "$bytecode" > /dev/null
    for target in $targets; do
        into=$folder/$target-$count
        compile "$target" "$bytecode" "$into"
        run "$target" "$count" "$bytecode" "$into"
    done
done
echo "reference: $passed passed, $failed failed, $listed listed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
