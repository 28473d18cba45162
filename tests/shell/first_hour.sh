#!/bin/sh
# `make first-hour` on the driver for tests, whose kernels run on the simulator: first_hour.sh BUILD CORPUS CPP FOLDER.
# Ends with `first hour on a fake driver: N passed, N failed`.
set -u
. "$(dirname "$0")/says.sh"
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
corpus=$(cd "$2" && pwd)
cpp=$(cd "$3" && pwd)
rm -rf "$4" && mkdir -p "$4/sweep" && cd "$4" || exit 2
LD_LIBRARY_PATH=$build/fakecuda
export LD_LIBRARY_PATH
first() { PYTHON=/nonexistent FAKECUDA_RUN=1 sh "$here/../gpu/first_hour.sh" "$build" "$corpus" "$cpp" sweep "$@"; }

export FAKECUDA_DEVICES=75 FAKECUDA_TILES=1
FIRST_HOUR_STEPS='doctor corpus matrix clusters cpp random memory products chains sweep'
export FIRST_HOUR_STEPS
run 0 first results 150
says 'code for sm_75'
says 'doctor     passed'
says 'corpus     passed'
says 'matrix     passed'
says 'cpp        passed'
silent 'clusters' # which the device has not got
silent 'chains'
says 'sweep: skipped, there is no torch'
says 'random     passed'
says 'memory     passed'
says 'products   passed'
says 'first hour: 7 passed, 0 failed, 1 skipped'
run 0 tar -tzf results.tar.gz
says 'results/summary.txt'
says 'results/machine.txt'
says 'results/corpus.log'

# A device whose products are wrong.
FIRST_HOUR_STEPS=corpus
run 1 env FAKECUDA_BREAK=st.global:1:ld.global PYTHON=/nonexistent FAKECUDA_RUN=1 sh "$here/../gpu/first_hour.sh" \
    "$build" "$corpus" "$cpp" sweep broken 150
says 'corpus     FAILED'
says 'first hour: 0 passed, 1 failed, 0 skipped'

export FAKECUDA_DEVICES=none
run 0 first none
says 'first hour: skipped, there is no device that kernels run on'

echo "first hour on a fake driver: $passed passed, $failed failed"
[ $failed -eq 0 ]
