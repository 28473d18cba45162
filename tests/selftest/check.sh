#!/bin/sh
# Tests tests/shell/check.sh itself, with a make that is none: check.sh WORK_FOLDER
set -u
runner=$(cd "$(dirname "$0")/../shell" && pwd)/check.sh
mkdir -p "$1" && cd "$1" || exit 2
passed=0
failed=0
# What the runner needs, and no clang.
rm -rf bin && mkdir bin
for tool in sh sed awk grep date tail printf mkdir mv rm getconf cat sleep cut; do
    ln -s "$(command -v $tool)" bin/$tool
done
# expect STATUS LAST_LINE: with the make of standard input, which finds in $target what is to be made.
expect() {
    {
        echo '#!/bin/sh'
        echo 'for target; do :; done'
        cat
    } > fake-make
    chmod +x fake-make
    found=$(PATH="$PWD/bin" MAKEFLAGS= MAKE="$PWD/fake-make" BUILD="$PWD/build" sh "$runner" 2>&1)
    status=$?
    if [ $status -eq "$1" ] && printf '%s\n' "$found" | tail -n 1 | grep -qx "$2"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED check.sh: expected status %s and %s, found %s\n%s\n' "$1" "$2" "$status" "$found"
    fi
}
expect 1 '0 passed, [1-9][0-9]* failed, 5 skipped' << 'END'
exit 0
END
expect 0 '[1-9][0-9]* passed, 0 failed, 5 skipped' << 'END'
echo "some: 1 passed, 0 failed"
echo "others: 2 passed, 0 failed"
END
expect 0 '[1-9][0-9]* passed, 0 failed, 6 skipped' << 'END'
case $* in *check-ptxas*) echo "ptxas: skipped, there is no ptxas"; exit 0 ;; esac
echo "some: 1 passed, 0 failed"
END
expect 1 '[1-9][0-9]* passed, 1 failed, 5 skipped' << 'END'
[ "$target" = check-docs ] && exit 2
echo "some: 1 passed, 0 failed"
END
expect 1 '[1-9][0-9]* passed, 1 failed, 5 skipped' << 'END'
[ "$target" = check-docs ] && exit 0
echo "some: 1 passed, 0 failed"
END
expect 1 '[1-9][0-9]* passed, 3 failed, 5 skipped' << 'END'
[ "$target" = check-docs ] && echo "docs: 4 passed, 3 failed" && exit 1
echo "some: 1 passed, 0 failed"
END
if PATH="$PWD/bin" MAKEFLAGS= MAKE="$PWD/fake-make" BUILD="$PWD/build" sh "$runner" 2>&1 | grep -qx 'failed: docs'; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo 'FAILED check.sh: does not name the step that failed'
fi
# takes ROUND TEXT [FULL]: are these the arguments of a step in that round?
takes() {
    PATH="$PWD/bin" MAKEFLAGS= MAKE="$PWD/fake-make" BUILD="$PWD/build" ROUND=$1 FULL=${3:-} sh "$runner" > said 2>&1
    if grep -qx -e "$2" asked; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED check.sh: round %s: no step was asked for %s:\n' "$1" "$2"
        cat asked
    fi
    rm -f asked
}
printf '#!/bin/sh\necho "$*" >> "%s/asked"\necho "some: 1 passed, 0 failed"\n' "$PWD" > fake-make
takes 6 '.*CONFIG=asan check-fixtures TEST_PART=2/4'
takes 7 '.*CONFIG=asan check-fixtures TEST_PART=3/4'
takes 7 '.*CONFIG=asan check-fixtures TEST_PART=0/1' 1
takes 7 '.*CONFIG=tsan check-threads'
takes 8 '.*CONFIG=tsan check-threads' 1
takes 15 '.*check-aarch64-sample ROUND=3'
takes 6 '.*SAN=1 check-loader'
# As many parts of the tests on aarch64 as there are different ones, and round after round each of them.
list=$(sh "$(dirname "$runner")/aarch64_round.sh" --list)
rounds=$(for round in 130 131 132 133; do sh "$(dirname "$runner")/aarch64_round.sh" $round; done)
if [ "$(echo "$list" | wc -l)" -eq 132 ] && [ -z "$(echo "$list" | sort | uniq -d)" ] \
    && [ "$rounds" = "$(echo "$list" | tail -n 2; echo "$list" | head -n 2)" ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    printf 'FAILED aarch64_round.sh: rounds\n%s\n' "$rounds"
fi
echo "make check: $passed passed, $failed failed"
[ $failed -eq 0 ]
