#!/bin/sh
# Tests the fixture runner itself, with the shell as the tool: run.sh RUNNER WORK_FOLDER
set -u
here=$(dirname "$0")
passed=0
failed=0
expect() { # expect STATUS LAST_LINE ARGUMENTS...
    status=$1
    last=$2
    shift 2
    found=$("$runner" --tool /bin/sh --work "$work" "$@" 2>&1)
    if [ $? -eq "$status" ] && [ "$(printf '%s\n' "$found" | tail -n 1)" = "$last" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED run_fixtures %s: expected %s\n%s\n' "$*" "$last" "$found"
    fi
}
runner=$1
work=$2
mkdir -p "$work"
expect 0 'fixtures: 1 passed, 0 failed' "$here/right.fixture"
for wrong in "$here"/wrong-*.fixture; do
    expect 1 'fixtures: 0 passed, 1 failed' "$wrong"
done
# Parts: of two fixtures one each, and what is no part.
expect 0 'fixtures: 1 passed, 0 failed' --part 1/2 "$here/wrong-stdout.fixture" "$here/right.fixture"
expect 1 'fixtures: 0 passed, 1 failed' --part 0/2 "$here/wrong-stdout.fixture" "$here/right.fixture"
for part in 2/2 1 0/0 0/2x; do
    expect 2 'usage: run_fixtures --tool PATH --work FOLDER [--rules FOLDER] [--part I/N] [--update] [-j N] PATH...' --part $part "$here/right.fixture"
done
# --update mends what was printed, and only that.
for name in right wrong-stdout wrong-more wrong-less; do
    cp "$here/$name.fixture" "$work/updated.fixture"
    expect 0 'fixtures: 1 passed, 0 failed' --update "$work/updated.fixture"
    expect 0 'fixtures: 1 passed, 0 failed' "$work/updated.fixture"
done
cp "$here/wrong-status.fixture" "$work/updated.fixture"
expect 1 'fixtures: 0 passed, 1 failed' --update "$work/updated.fixture"
echo "runner: $passed passed, $failed failed"
[ $failed -eq 0 ]
