#!/bin/sh
# random_old.sh PROGRAM KERNELS FIRST JOBS FOLDER COMMIT: compiles random kernels for sm_90a with the tilevm of an
# earlier commit, which is built in FOLDER, and counts which defects the kernels that fail show: two ring buffers that
# are live at the same time and share an address, and views that overlap themselves. Each must be found, and every
# kernel that fails must pass with the present compiler.
set -u
program=$1 kernels=$2 first=$3 jobs=$4 folder=$5 commit=$6
commit=$(git rev-parse --short "$commit^{commit}") || exit 2
mkdir -p "$folder" && folder=$(cd "$folder" && pwd) || exit 2
tree=$folder/$commit found=$folder/found work=$folder/work
old=$tree/build/release/tilevm
mkdir -p "$tree" "$work" || exit 2
if [ ! -x "$old" ]; then
    git archive "$commit" | tar -xf - -C "$tree" || exit 2
    if ! MAKEFLAGS='' ${MAKE:-make} -C "$tree" -s -j "$jobs" CONFIG=release WERROR=0 build/release/tilevm \
        > "$work/make.log" 2>&1; then
        tail -n 5 "$work/make.log" >&2
        exit 2
    fi
fi

# live_rings DUMP: is there a ring that is created while another one is live, and shares a byte with it? A ring is live
# from its own line to the last line that names it, and from there to the end of the loops and branches around that line
# that are not around its own.
live_rings() {
    awk '
        function depth(text) { match(text, /^ */); return RLENGTH }
        { line[NR] = $0 }
        / = ring \{.* [0-9]+ to [0-9]+\}$/ {
            name[++count] = $1; made[count] = NR
            sub(/\}$/, "", $NF); low[count] = $(NF - 2) + 0; high[count] = $NF + 0
        }
        END {
            for (i = 1; i <= count; i++) {
                last = made[i]
                for (k = last + 1; k <= NR; k++)
                    if (line[k] ~ name[i] "([^0-9]|$)")
                        last = k
                while (last < NR && depth(line[last]) > depth(line[made[i]]))
                    last++
                for (j = i + 1; j <= count; j++)
                    if (made[j] < last && low[j] < high[i] && low[i] < high[j])
                        found = 1
            }
            exit !found
        }' "$1"
}

# overlaps KERNEL: has it a tensor with a dimension whose stride lies within the elements that another dimension spans?
# Extents and strides that are known only at launch are left out.
overlaps() {
    grep -o 'tensor_view<[0-9x?]*x[a-z0-9]*, strides=\[[0-9,?]*\]>' "$1" | sort -u | awk -F '[<,[]' '
        {
            rank = split($2, extent, "x") - 1
            sub(/.*\[/, ""); sub(/\]>/, ""); split($0, stride, ",")
            for (i = 1; i <= rank; i++)
                for (j = 1; j <= rank; j++)
                    if (i != j && extent[i] > 1 && extent[i] extent[j] stride[i] stride[j] !~ /\?/ \
                        && stride[i] + 0 >= stride[j] + 0 && stride[i] <= (extent[j] - 1) * stride[j])
                        found = 1
        }
        END { exit !found }'
}

RANDOM_MEMORY_COMPILER=$old sh "$(dirname "$0")/random_memory.sh" "$program" "$kernels" "$first" "$jobs" "$found" \
    sm_90a > "$work/found.log" 2>&1
tail -n 1 "$work/found.log"
rings='' views='' others=0 failures=0 pass=0
for kernel in $(find "$found" -name '*.tileir' | sort); do
    seed=$(basename "$kernel" .tileir) failures=$((failures + 1))
    "$old" asm "$kernel" -o "$work/k.tbc" \
        && "$old" compile "$work/k.tbc" --target sm_90a "-O$((seed % 4))" --dump-after shared -o "$work/k.ptx" \
            > "$work/k.dump" 2>&1
    if live_rings "$work/k.dump"; then
        rings="$rings $seed"
    elif overlaps "$kernel"; then
        views="$views $seed"
    else
        others=$((others + 1))
    fi
    if "$program" 1 sm_90a "$seed" > "$work/now.log" 2>&1; then pass=$((pass + 1)); else tail -n 2 "$work/now.log"; fi
done
# shellcheck disable=SC2086 # one word for each seed
count() {
    set -- $1
    echo $#
}
echo "two live rings at one place: $(count "$rings"), seeds${rings:- none}"
echo "views that overlap themselves: $(count "$views"), seeds${views:- none}"
echo "random kernels that $commit fails: $failures, of which $others show neither; $pass pass now"
[ -n "$rings" ] && [ -n "$views" ] && [ "$pass" -eq "$failures" ]
