#!/bin/sh
# Every test, one more at a time than there are processors; called by `make check`. Each step prints lines
# `name: N passed, N failed`, and `name: skipped, why` for what a missing tool keeps from running; a step that prints
# neither ran nothing, and has failed. Only failures show more. The last line adds up: `N passed, N failed, N skipped`.
# Logs stay in $BUILD/check.
#
# What is alike is taken in parts, another in each ROUND, so that rounds in a row come to all of it (tests/README.md#rounds). The
# round is the number of commits, or where that is not known that of the day; FULL=1 takes all.
set -u
MAKE=${MAKE:-make}
BUILD=${BUILD:-build}
logs=$BUILD/check
rm -rf "$logs"
mkdir -p "$logs"
processors=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
jobs=-j$processors
case " ${MAKEFLAGS:-} " in *jobserver*) jobs= ;; esac
passed=0
failed=0
skipped=0
broken=

commits() { [ "$(git rev-parse --is-shallow-repository 2> /dev/null)" = false ] && git rev-list --count HEAD; }
round=${ROUND:-$(commits || echo $(($(date +%s) / 86400)))}
# in_parts N [WHAT]: which of N parts has its turn, as make takes it.
in_parts() { echo "${2:-TEST_PART}=$([ -n "${FULL:-}" ] && echo 0/1 || echo $((round % $1))/"$1")"; }
# is_turn I N: is it a round with the number I, of N in a row?
is_turn() { [ -n "${FULL:-}" ] || [ $((round % $2)) -eq "$1" ]; }

# add_up STATUS LOG: the counts of a step to p, f and s. One that fails without a count is one failure.
add_up() {
    p=$(sed -n 's/^.*: \([0-9]*\) passed, \([0-9]*\) failed.*$/\1/p' "$2" | awk '{n += $1} END {print n + 0}')
    f=$(sed -n 's/^.*: \([0-9]*\) passed, \([0-9]*\) failed.*$/\2/p' "$2" | awk '{n += $1} END {print n + 0}')
    s=$(grep -c '^[^ ].*: skipped, ' "$2")
    [ "$1" -ne 0 ] && [ "$f" -eq 0 ] && f=1
}

# processor_seconds FILE: of the programs that a shell has run, by what its `times` printed.
processor_seconds() {
    awk 'NR == 2 { for (i = 1; i <= NF; i++) { split($i, t, "[ms]"); n += 60 * t[1] + t[2] } printf "%.0f", n }' "$1"
}

# begin NAME COMMAND...: runs it beside what goes on; its status, seconds and those of a processor come to NAME.end.
begin() {
    name=$1
    shift
    (
        start=$(date +%s)
        "$@" > "$logs/$name.log" 2>&1
        status=$?
        times > "$logs/$name.times"
        echo "$status $(($(date +%s) - start)) $(processor_seconds "$logs/$name.times")" > "$logs/$name.new"
        mv "$logs/$name.new" "$logs/$name.end"
    ) &
}

# report MUST_COUNT NAME: adds up the counts that a step printed, once it has ended.
report() {
    log=$logs/$2.log
    read -r status seconds processor < "$logs/$2.end"
    add_up "$status" "$log"
    if [ "$1" = yes ] && [ $((p + f + s)) -eq 0 ]; then
        echo "$2: ran nothing" >> "$log"
        f=1
    fi
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + s))
    printf '%-18s %6d passed %4d failed %2d skipped %5d s %5d s of a processor\n' "$2" "$p" "$f" "$s" "$seconds" "$processor"
    sed -n 's/^[^ ].*: skipped, /    skipped: /p' "$log"
    if [ "$f" -ne 0 ]; then
        broken="$broken $2"
        tail -n 60 "$log" | sed 's/^/    /'
        echo "    (all of it: $log)"
    fi
    return "$status"
}

# build NAME ARGUMENTS...: what make can do in parallel, and what follows needs; it counts only when it fails. Tests go
# on beside it.
build() {
    name=$1
    shift
    begin "$name" $MAKE --no-print-directory $jobs "$@"
    until [ -f "$logs/$name.end" ]; do sleep 0.1; done
    report no "$name"
}
# run NAME ARGUMENTS...: a test, beside as many others as there are processors, as some wait for half of their time (the loader,
# what runs without memory). Those that take long come early.
running=
run() {
    make_room $((processors + 1))
    name=$1
    shift
    begin "$name" $MAKE --no-print-directory "$@"
    running="$running $name"
}
# make_room N: waits until fewer than N tests run.
make_room() {
    while :; do
        still=
        count=0
        for one in $running; do
            if [ -f "$logs/$one.end" ]; then
                report yes "$one"
            else
                still="$still $one"
                count=$((count + 1))
            fi
        done
        running=$still
        [ $count -lt "$1" ] && return
        sleep 0.1
    done
}
# later NAME: a step that has its turn in another round.
later() { printf '%-18s in the next round\n' "$1"; }
# skip NAME WHY: a step that cannot run here.
skip() {
    skipped=$((skipped + 1))
    printf '%-18s skipped: %s\n' "$1" "$2"
}

if [ -n "${FULL:-}" ]; then echo "every part of every test"; else echo "round $round (make check ROUND=$round repeats it)"; fi
if build build tests corpus; then
    run layers check-layers
    run sizes check-sizes
    run argument-order check-argument-order
    run format check-format
    run rules check-rules
    run docs check-docs
    run api-docs check-api-docs
    run examples-files check-examples
    run compat check-compat
    run hardening check-hardening
    run fixtures check-fixtures
    run unit check-unit "$(in_parts 7 TEST_TURNS)"
    run reproducible check-reproducible "$(in_parts 12)"
    run release check-release
    if is_turn 2 5; then run deb check-deb; else later deb; fi
    run static check-static
    run ptxas check-ptxas "$(in_parts 20)"
    run spills check-spills "$(in_parts 4)"
    run property check-property
    run random check-random ROUND="$round"
    run strips check-strips "$(in_parts 2)"
    run matrix check-matrix
    run batches check-batches
    run toml check-toml ROUND="$round"
    run report check-report
    run precision check-precision "$(in_parts 4)"
    run web check-web
    run matrix-ptx check-matrix-ptx "$(in_parts 2)"
    run ptx check-ptx
    run choices check-choices
    run loader check-loader
    run regress check-regress "$(in_parts 2)"
    run corpus check-corpus
    run cpp check-cpp
    run triton check-triton
    run oom check-oom
    run commands check-commands
    run programs check-programs
    run api check-api
    run python check-python
    run made-up check-made-up
    run ptx-sums check-ptx-sums
    run loads-told check-loads-told
    if is_turn 0 5; then run aarch64 check-aarch64-sample ROUND=$((round / 5)); else later aarch64; fi
    if "${PYTHON:-python3}" -c 'import jax_plugins.xla_cuda13' 2> /dev/null; then
        run jax check-jax
    else
        skip jax "no jax with its plugin for CUDA 13"
    fi
    if command -v python3 >/dev/null; then
        run zoo check-zoo ROUND="$round"
        run model check-model
        run counters check-counters
        run own-counters check-own-counters
        run figures check-figures
    else
        skip "zoo, model, counters, own-counters, figures" "no python3"
    fi
    run stop check-stop
    run debug check-debug
    run examples run
fi
# The unit tests have ptxas look at PTX, which is what most of their time goes to: once is enough for the same text. So it
# is for most launches on the simulator; their number is no multiple of that of the parts, so each kind has its turn.
once="PTXAS= $(in_parts 7 TEST_TURNS)"
seeds="FUZZ_TOOLS=$BUILD/release"
if build build-sanitized CONFIG=asan tests; then
    if is_turn 1 5; then run loader-sanitized SAN=1 check-loader; else later loader-sanitized; fi
    run fixtures-sanitized CONFIG=asan check-fixtures "$(in_parts 4)"
    run unit-sanitized CONFIG=asan check-unit $once
    run property-sanitized CONFIG=asan check-property
    run random-sanitized CONFIG=asan check-random ROUND="$round"
    run fuzz-replay CONFIG=asan check-fuzz-replay $seeds
    run batches-sanitized CONFIG=asan check-batches
    run matrix-sanitized CONFIG=asan check-matrix
    run ptx-sanitized CONFIG=asan PTX_TARGETS=sm_90a check-ptx "$(in_parts 3)"
    run malformed CONFIG=asan check-malformed "$(in_parts 2)"
    run corpus-sanitized CONFIG=asan check-corpus "$(in_parts 4)"
    run cpp-sanitized CONFIG=asan PTX_TARGETS=sm_90a check-cpp
    run oom-sanitized CONFIG=asan check-oom
    run commands-sanitized CONFIG=asan check-commands
    run programs-sanitized CONFIG=asan check-programs
fi
# Three more builds of everything, the tests on another processor, the sanitized loader and the packages say the same in
# most rounds: each has one of five.
if is_turn 2 5; then
    build build-threads CONFIG=tsan tests-threads && run threads CONFIG=tsan check-threads
else
    later threads
fi
if command -v clang > /dev/null; then
    if is_turn 3 5; then
        quick="CFLAGS=-O1 -g0" # compiles in three quarters of the time
        if build build-clang CC=clang BUILD="$BUILD/clang" "$quick" tests; then
            run unit-clang CC=clang BUILD="$BUILD/clang" "$quick" check-unit $once
            run ptx-order CC=clang BUILD="$BUILD/clang" "$quick" check-ptx-order
        fi
    else
        later unit-clang
        later ptx-order
    fi
    if ! is_turn 4 5; then
        later fuzz-smoke
    elif echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer,address -x c - -o "$logs/fuzzer" 2> "$logs/fuzzer.log"; then
        part=$(in_parts 4)
        # Compiles in three quarters of the time. What ends by a trap is replayed with CONFIG=asan, which says where and why.
        quick="CFLAGS=-g0 -fsanitize-trap=undefined"
        build build-fuzz CC=clang CONFIG=fuzz "$quick" fuzz "$part" \
            && build fuzz-smoke CC=clang CONFIG=fuzz "$quick" fuzz-smoke "$part" $seeds
    else
        skip fuzz-smoke "clang has no libFuzzer (libclang-rt-14-dev)"
    fi
else
    skip unit-clang "clang is not installed"
    skip ptx-order "clang is not installed"
    skip fuzz-smoke "clang is not installed"
fi
make_room 1
wait
times > "$logs/times"
sed -n '2s/\(.*\) \(.*\)/processor time: \1 in programs, \2 in the system/p' "$logs/times"
# Once more at the end, which is what a build server shows first: which steps, and the last that each said.
for name in $broken; do
    echo "failed: $name"
    tail -n 5 "$logs/$name.log" | cut -c 1-200 | sed 's/^/    /'
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
