#!/bin/sh
# random_memory.sh PROGRAM KERNELS FIRST JOBS FOLDER TARGET... [gpu] [products | pairs | chains]: KERNELS random
# kernels (products: those that multiply; pairs: in pairs of thread blocks; chains: multiply products again) from seed FIRST on, each for all targets,
# by so many processes at a time; kernels that fail are kept in FOLDER. Ends with `random kernels: N passed, ...`.
set -u
program=$1 kernels=$2 first=$3 jobs=$4 folder=$5
shift 5
rm -rf "$folder" && mkdir -p "$folder" || exit 2
export RANDOM_MEMORY_KEEP="$folder"
words='' targets=''
for target; do
    case $target in
        gpu | products | pairs | chains) words="$words $target" ;;
        *) targets=$targets,$target ;;
    esac
done
targets=${targets#,}
share=$(((kernels + jobs - 1) / jobs)) job=0
while [ $job -lt "$jobs" ]; do
    # shellcheck disable=SC2086 # several words, or none
    "$program" $share "$targets" $((first + job * share)) $words > "$folder/$job.out" 2>&1 &
    job=$((job + 1))
done
wait
cat "$folder"/*.out | grep -v '^random memory\|^random chains\|^random pairs'
cat "$folder"/*.out | awk '
    /^random memory .* passed, / { passed += $4; failed += $6; left += $8; ended++ }
    /^random memory .*: skipped/ { print; skipped++ }
    /^random pairs: / { singles++; pairs += $3 }
    /^random chains: / { chains++; pairs += $3; issuers += $9 }
    END {
        if (chains)
            printf "random chains: %d in pairs of thread blocks, %d of them with an issuer\n", pairs, issuers
        if (singles)
            printf "random pairs: %d in pairs of thread blocks\n", pairs
        printf "random kernels: %d passed, %d failed; %d left out, as their results are not defined; for %s\n", \
            passed, failed, left, targets
        exit failed > 0 || ended + skipped < runs || (passed == 0 && !skipped)
    }' runs="$jobs" targets="$targets"
