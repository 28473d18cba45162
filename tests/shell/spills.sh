#!/bin/sh
# What ptxas says of the corpus for one target: registers that it spills, beside a table that may only get better, and
# products that it cannot leave in flight (C7510, C7511, C7512, C7514), of which there may be none.
#
#   spills.sh TILEVM BYTECODE TABLE TARGET WORK [--update | I/N]
#
# TABLE has a line for every kernel that spills: its name, bytes stored, bytes loaded. I/N takes every Nth file, from the
# one with number I on. Ends with `spills: N passed, N
# failed`, or with a word when there is no ptxas.
set -u
tilevm=$1 bytecode=$2 table=$3 target=$4 work=$5 update=${6:-}
case $update in */*) part=$update ;; *) part=0/1 ;; esac
export tilevm target work

if ! command -v ptxas >/dev/null 2>&1; then
    echo 'spills: skipped, there is no ptxas'
    exit 0
fi
rm -rf "$work"
mkdir -p "$work"

# One module: `NAME stores loads` of each kernel with spills, `NAME warning ...` of others.
cat >"$work/one.sh" <<'END'
name=$(basename "$1" .tbc)
"$tilevm" compile "$1" --target "$target" -o "$work/$name.ptx" >/dev/null 2>&1 || exit 0 # what the target has not got
ptxas -arch="$target" -v "$work/$name.ptx" -o "$work/$name.cubin" 2>&1 | awk -v module="$name" '
    /C75[0-9][0-9]/ { print module, "warning", $0 }
    /Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
    /bytes spill stores/ {
        for (i = 2; i <= NF; i++)
            if ($i == "spill")
                bytes[$(i + 1)] = $(i - 2)
        if (bytes["stores,"] + bytes["loads"] > 0)
            print module "." kernel, bytes["stores,"], bytes["loads"]
    }'
rm -f "$work/$name.ptx" "$work/$name.cubin"
END
find "$bytecode" -name '*.tbc' | LC_ALL=C sort | awk -v part="$part" '
    { split(part, p, "/"); if ((NR - 1) % p[2] == p[1]) print }' >"$work/files"
<"$work/files" xargs -P "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)" -n 1 sh "$work/one.sh" | LC_ALL=C sort >"$work/found"
if [ "$update" = --update ]; then
    grep -v ' warning ' "$work/found" >"$table.new"
    mv "$table.new" "$table"
fi
awk -v modules="$(wc -l <"$work/files")" -v part="$part" '
    FNR == NR { stores[$1] = $2; loads[$1] = $3; next }
    $2 == "warning" { print; bad++; next }
    { seen[$1] = 1 }
    $2 > stores[$1] + 0 || $3 > loads[$1] + 0 {
        printf "%s: spills %d and %d bytes, %d and %d before\n", $1, $2, $3, stores[$1], loads[$1]
        bad++
    }
    $2 < stores[$1] + 0 { better++ }
    END {
        for (kernel in stores)
            better += part == "0/1" && !(kernel in seen)
        if (better)
            printf "%d kernels spill less than the table says: make spills takes that over\n", better
        printf "spills: %d passed, %d failed\n", modules - bad, bad
        exit bad > 0
    }' "$table" "$work/found"
