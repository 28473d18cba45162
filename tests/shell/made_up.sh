#!/bin/sh
# Every kernel of the corpus runs with arguments that tilevm makes up, for the grid of its case. made_up.sh TILEVM CORPUS; ends
# with `made-up arguments: N passed, N failed`. Kernels that must trap or must not verify are left out, and large ones.
set -u
export CUDA_VISIBLE_DEVICES= # on the CPU, also where there is a GPU
tilevm=$1
corpus=$2
list=$(mktemp)
log=$(mktemp)
trap 'rm -f "$list" "$log"' EXIT
passed=0
failed=0

# FILE SYMBOL GRID of each case, in its newest version
awk '$1 == "case" { file = "" }
     $1 == "info" { wanted = $3 == "check" && $4 == "run" }
     $1 == "symbol" { symbol = $2 }
     $1 == "grid" { grid = $2 "," $3 "," $4 }
     $1 == "file" { file = $3 }
     $1 == "end" && wanted { print file, symbol, grid }' "$corpus/cases.txt" > "$list"
while read -r file symbol grid; do
    if timeout 60 "$tilevm" run "$corpus/$file" --entry "$symbol" --grid "$grid" --quiet > /dev/null 2> "$log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$file: status $?"
        head -n 5 "$log"
    fi
done < "$list"
[ $((passed + failed)) -gt 0 ] || failed=1
echo "made-up arguments: $passed passed, $failed failed"
[ $failed -eq 0 ]
