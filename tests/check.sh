#!/bin/sh
# Every test, in the order of what fails fastest; called by `make check`. Each step prints lines `name: N passed, N failed`,
# and `name: skipped, why` for what a missing tool keeps from running; a step that prints neither ran nothing, and has
# failed. Only failures show more. The last line adds up: `N passed, N failed, N skipped`. Logs stay in $BUILD/check.
set -u
MAKE=${MAKE:-make}
BUILD=${BUILD:-build}
logs=$BUILD/check
rm -rf "$logs"
mkdir -p "$logs"
jobs=-j$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
case " ${MAKEFLAGS:-} " in *jobserver*) jobs= ;; esac
passed=0
failed=0
skipped=0

# add_up STATUS LOG: the counts of a step to p, f and s. One that fails without a count is one failure.
add_up() {
    p=$(sed -n 's/^.*: \([0-9]*\) passed, \([0-9]*\) failed.*$/\1/p' "$2" | awk '{n += $1} END {print n + 0}')
    f=$(sed -n 's/^.*: \([0-9]*\) passed, \([0-9]*\) failed.*$/\2/p' "$2" | awk '{n += $1} END {print n + 0}')
    s=$(grep -c '^[^ ].*: skipped, ' "$2")
    [ "$1" -ne 0 ] && [ "$f" -eq 0 ] && f=1
}

# step MUST_COUNT NAME COMMAND...: runs it, adds up the counts it printed.
step() {
    must_count=$1
    name=$2
    shift 2
    log=$logs/$name.log
    start=$(date +%s)
    "$@" > "$log" 2>&1
    status=$?
    add_up $status "$log"
    if [ "$must_count" = yes ] && [ $((p + f + s)) -eq 0 ]; then
        echo "$name: ran nothing" >> "$log"
        f=1
    fi
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + s))
    printf '%-18s %6d passed %4d failed %2d skipped %5d s\n' "$name" "$p" "$f" "$s" $(($(date +%s) - start))
    sed -n 's/^[^ ].*: skipped, /    skipped: /p' "$log"
    if [ "$f" -ne 0 ]; then
        tail -n 60 "$log" | sed 's/^/    /'
        echo "    (all of it: $log)"
    fi
    return $status
}

# build NAME ARGUMENTS...: what make can do in parallel; a build counts only when it fails.
build() {
    name=$1
    shift
    step no "$name" $MAKE --no-print-directory $jobs "$@"
}
run() {
    name=$1
    shift
    step yes "$name" $MAKE --no-print-directory "$@"
}
# skip NAME WHY: a step that cannot run here.
skip() {
    skipped=$((skipped + 1))
    printf '%-18s skipped: %s\n' "$1" "$2"
}

if build build tests corpus; then
    run layers check-layers
    run sizes check-sizes
    run format check-format
    run unit check-unit
    run fixtures check-fixtures
    run commands check-commands
    run docs check-docs
    run oom check-oom
    run api check-api
    run hardening check-hardening
    run reproducible check-reproducible
    run examples run
    run made-up check-made-up
    run stop check-stop
    run loader check-loader
    run property check-property
    run corpus check-corpus
    run matrix check-matrix
    run ptx-sums check-ptx-sums
    run ptx check-ptx
    run matrix-ptx check-matrix-ptx
    run strips check-strips
    run ptxas check-ptxas PTXAS_SHARE=5
fi
if build build-sanitized CONFIG=asan tests; then
    run unit-sanitized CONFIG=asan check-unit
    run fixtures-sanitized CONFIG=asan check-fixtures
    run oom-sanitized CONFIG=asan check-oom
    run commands-sanitized CONFIG=asan check-commands
    run loader-sanitized SAN=1 check-loader
    run property-sanitized CONFIG=asan check-property
    run corpus-sanitized CONFIG=asan check-corpus
    run malformed CONFIG=asan check-malformed
    run fuzz-replay CONFIG=asan check-fuzz-replay
    run matrix-sanitized CONFIG=asan check-matrix
    run ptx-sanitized CONFIG=asan PTX_TARGETS=sm_90a check-ptx
fi
build build-threads CONFIG=tsan tests-threads && run threads CONFIG=tsan check-threads
if command -v clang > /dev/null; then
    build build-clang CC=clang BUILD="$BUILD/clang" tests && run unit-clang CC=clang BUILD="$BUILD/clang" check-unit
    build build-fuzz CC=clang CONFIG=fuzz fuzz && build fuzz-smoke CC=clang CONFIG=fuzz fuzz-smoke
else
    skip unit-clang "clang is not installed"
    skip fuzz-smoke "clang is not installed"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
