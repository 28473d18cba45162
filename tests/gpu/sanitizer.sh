#!/bin/sh
# `make check-gpu-sanitize`: the corpus under compute-sanitizer's memcheck, racecheck and synccheck.
# sanitizer.sh BUILD CORPUS TARGET [SHARE] [JOBS] [VERSION]: every SHARE-th case, JOBS processes side by side. Prints each finding with
# the case it belongs to; ends with `sanitizer: N passed, N failed` (cases, each tool by itself), or says why it was skipped.
build=$1
corpus=$2
target=$3
share=${4:-1}
jobs=${5:-4}
version=${6:-13.5}

sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$sanitizer" ]; then
    echo "sanitizer: skipped, there is no compute-sanitizer"
    exit 0
fi
if ! "$build/corpus_run" "$corpus" --gpu "$target" --filter '(none)' > /dev/null; then
    echo "sanitizer: skipped, there is no device"
    exit 0
fi
logs=$(mktemp -d) || exit 2
stopped=0
trap 'rm -rf "$logs"' EXIT
trap 'stopped=1' TERM INT # what was found so far is told all the same

for tool in memcheck racecheck synccheck; do
    processes=
    part=0
    while [ "$part" -lt "$jobs" ]; do
        "$sanitizer" --tool $tool "$build/corpus_run" "$corpus" --gpu "$target" --version "$version" --tight \
            --part "$part/$((jobs * share))" > "$logs/$tool.$part" 2>&1 &
        processes="$processes $!"
        part=$((part + 1))
    done
    for process in $processes; do
        wait "$process"
    done
    if [ $stopped = 1 ]; then
        echo "sanitizer: stopped in $tool, the time was up"
        break
    fi
done

# Lines of the tool start with "="; those with a deeper indentation tell more of the same finding.
awk -v stopped=$stopped '
    FNR == 1 { ended(); tool = FILENAME; sub(/.*\//, "", tool); sub(/\..*/, "", tool); complete = 0; name = "" }
    /^case / { close_case(); name = $2; bad = 0; next }
    /^FAILED/ { bad = 1; shown = 12; print tool ": " $0; next }
    /^corpus runs: / { close_case(); name = ""; complete = 1; next }
    /^=========     / { if (shown-- > 0) print "    " substr($0, 15); next }
    /^========= (COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY|No attached|Target application|Error: No attachable)/ || /^========= *$/ { shown = 0; next }
    /^=========/ { bad = 1; shown = 6; print tool ": " (name == "" ? "outside of cases" : name) ": " substr($0, 11); next }
    shown > 0 { shown--; print }
    function close_case() { if (name != "") { bad ? failed++ : passed++ } }
    function ended() { if (tool != "" && !complete && !stopped) { failed++; print tool ": a process ended early, in " name } }
    END { ended(); printf "sanitizer: %d passed, %d failed\n", passed, failed; exit failed > 0 }
' "$logs"/*
