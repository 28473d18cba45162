#!/bin/sh
# ^C and progress of `tilevm run` and `tilevm check`; ends with `stop: N passed, N failed`.
#
#   stop.sh BUILD FOLDER      BUILD has tilevm; FOLDER is made
set -u
. "$(dirname "$0")/says.sh"
tilevm=$(cd "$1" && pwd)/tilevm
rm -rf "$2" && mkdir -p "$2" && cd "$2" || exit 2
export NO_COLOR=1

spinning_kernel spin.tir
run 0 "$tilevm" asm spin.tir -o spin.tbc

# ---- ^C: a line that tells where it was, and the exit code ----
interrupt() { # in the foreground, or timeout sends the signal twice
    seconds=$1
    shift
    timeout --foreground --preserve-status -k 60 -s INT "$seconds" "$tilevm" "$@"
}
run 130 interrupt 2 run spin.tbc --grid 4 --threads 2 --device cpu
says 'error[X-LIM-02]: tile block ('
says 'op 4:'
says "tilevm: stopped after "
says "at 'continue', round "
says 'of 10000000000: 0 of 4 tile blocks had ended, '
silent '[#'
silent 'left'
run 130 interrupt 2 run spin.tbc --grid 1 --device cpu --json
says '"outcome":	"trapped"'
says '"rule":	"X-LIM-02"'
run 130 interrupt 2 check spin.tbc --grid 2 --max-steps 100000000000
says 'tilevm: stopped after '
run 130 interrupt 2 run spin.tbc --grid 1 --device cpu --trace constant
says 'tilevm: stopped after '

# ---- progress: on a terminal only ----
if command -v script > /dev/null; then
    run 130 script -qec "timeout --foreground --preserve-status -s INT 4 '$tilevm' run spin.tbc --grid 1 --device cpu" typescript
    says ' left, round '
    says 'M ops'
    run 130 script -qec "timeout --foreground --preserve-status -s INT 4 '$tilevm' check spin.tbc --grid 9 --max-steps 100000000000" typescript
    says '] 0 of 9 tile blocks, round '
fi

echo "stop: $passed passed, $failed failed"
[ $failed -eq 0 ]
