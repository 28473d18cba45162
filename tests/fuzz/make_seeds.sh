#!/bin/sh
# make_seeds.sh BUILD CORPUS OUT: writes what the fuzz targets begin with, OUT/<target>/. Real kernels of the corpus,
# loops with products, random modules in every version, texts of both, symbols of the kernels, and the array files,
# symbols and argument texts of the tests.
set -eu
tilevm=$1/tilevm
program=$1/program
corpus=$2
out=$3
rm -rf "$out"
mkdir -p "$out/read" "$out/text" "$out/symbol" "$out/args" "$out/bundle" "$out/fleet" "$out/toml" "$out/container" "$out/demangle" "$out/dap" \
    "$out/debug" "$out/tune"
ln -s read "$out/body"
ln -s read "$out/ptx"
ln -s read "$out/vm"
ln -s text "$out/tokens"

# Every fifth kernel of the oldest and of the newest version.
n=0
for file in "$corpus"/bytecode/13.1/*.tbc "$corpus"/bytecode/13.5/*.tbc; do
    n=$((n + 1))
    [ $((n % 5)) != 0 ] || cp "$file" "$out/read/$(basename "$(dirname "$file")")-$(basename "$file")"
done
for version in 13.1 13.2 13.3 13.4 13.5; do
    "$tilevm" gen --to $version --count 6 --ops 30 -o "$out/read/$version-gen-%d.tbc"
done

# Loops with products, which become rings, groups and skewed loops.
cp tests/data/attention.tileir "$out/text/attention.tir"
for test in tests/ptx/*.test; do
    kernel=$out/text/ptx-$(basename "$test" .test).tir
    sed -n '/^--- input/,/^--- stderr/{/^--- /!p;}' "$test" > "$kernel"
    grep -q 'mma[fi]' "$kernel" || rm "$kernel"
done
for kernel in "$out"/text/*.tir; do
    "$tilevm" asm "$kernel" -o "$out/read/$(basename "$kernel" .tir).tbc"
done

# write_symbol SYMBOL NAME: a symbol, a zero byte, a few small numbers and a large one.
write_symbol() {
    printf '%s\000\020\001\100\002\370abcdefgh' "$1" > "$out/symbol/$2"
}

n=0
for file in "$out"/read/*.tbc; do
    n=$((n + 1))
    name=$(basename "$file" .tbc)
    [ $((n % 2)) = 0 ] && "$tilevm" disasm -g "$file" 2> /dev/null > "$out/text/$name.tir"
    symbol=$("$tilevm" disasm "$file" 2> /dev/null | sed -n 's/^ *entry @\([A-Za-z0-9_]*\).*/\1/p' | head -n 1)
    [ "${symbol#kernel_}" != "$symbol" ] || write_symbol "$symbol" "$name" # random modules have plain names
done
n=0
for symbol in $(grep -o '"[A-Za-z0-9_]*_Kt[123][A-Za-z0-9_]*"' tests/unit/mangle.c | tr -d '"' | sort -u); do
    n=$((n + 1))
    write_symbol "$symbol" "unit-$n"
done

# Array files: the letter of the kind, any element type (255), the bytes.
for file in tests/data/arrays/*; do
    case $file in *.npz) letter=z ;; *) letter=n ;; esac
    { printf '%s\377' $letter; cat "$file"; } > "$out/args/$(basename "$file")"
done
header='{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
printf 't\377%b%s%s' "\\0$(printf %o ${#header})\\0000\\0000\\0000\\0000\\0000\\0000\\0000" "$header" 01234567 \
    > "$out/args/small.safetensors"
printf '%s' 'j{"entry": "k", "grid": [8, 2], "names": ["a", "b"], "seed": 3, "args": {"a": "randn(f32,[4,8],seed=7)",
"b": [1, true, "x"]}, "save": {"b": "out.npy"}, "expect": {"a": "ones(f32,[4,8]),rtol=1e-3"}, "rtol": 1e-5, "atol": 0}' \
    > "$out/args/all.json"
# Texts of arguments: those of the unit tests.
n=0
sed -n 's/^ *gives("\([^"]*\)".*/\1/p' tests/unit/args.c | while read -r text; do
    n=$((n + 1))
    printf 's\011%s' "$text" > "$out/args/text-$n"
done
printf 'g128,2x1' > "$out/args/grid"
# Bundles, as files, with their hashes to be made right, and in parts.
TILEVM_PTXAS=none "$tilevm" bundle build "$corpus/bytecode/13.4/vadd_f32.tbc" "$corpus/bytecode/13.4/softmax_row_f32.tbc" \
    -t sm_80,sm_90 -o "$out/two.tvb" > /dev/null
TILEVM_PTXAS=none "$tilevm" bundle build "$corpus/bytecode/13.4/vadd_f32.tbc" -e bytecode -o "$out/one.tvb" > /dev/null
for file in one two; do
    { printf f; cat "$out/$file.tvb"; } > "$out/bundle/file-$file"
    { printf s; cat "$out/$file.tvb"; } > "$out/bundle/sealed-$file"
    at=$(grep -abo 'TVINDEX' "$out/$file.tvb" | head -n 1 | cut -d: -f1)
    { printf h; tail -c +$((at + 1)) "$out/$file.tvb" | head -c 400; } > "$out/bundle/head-$file"
    { printf 'r\001'; tail -c +$((at + 161)) "$out/$file.tvb" | head -c 300; } > "$out/bundle/record-$file"
    rm "$out/$file.tvb"
done
printf 'ged25519 %064d %0128d\n' 1 2 > "$out/bundle/signature"
printf 'm{"schema": "tilevm-bundle/1", "modules": []}' > "$out/bundle/manifest"
printf 'm{"schema": "tilevm-bundle/1", "options": {"opt_level": 3, "lineinfo": true, "cubins": true}, "targets": ["sm_80"],
"modules": [{"name": "k", "missing": [{"target": "sm_80", "why": "old"}]}]}' > "$out/bundle/manifest-read"
# Fleets: those of the documents and of the fixtures.
sed -n '/^{"schema": "tilevm-fleet/,/^```/p' docs/guides/fleets.md | grep -v '^```' > "$out/fleet/documented"
sed -n 's/^\({.*tilevm-fleet.*}\)$/\1/p' tests/fleet/*.test | while read -r text; do
    n=$((${n:-0} + 1))
    printf '%s' "$text" > "$out/fleet/$n"
done
# Suppressions: those of the documents and of the fixtures.
sed -n '/^\[\[suppress/,/^```/p' docs/guides/ci.md | grep -v '^```' > "$out/toml/documented"
sed -n '/^--- input races.toml/,/^--- input other/{/^---/!p;}' tests/check/suppressed.test > "$out/toml/fixture"
printf "a = 1\r\n[b]\n'c d' = -2 # x\n[[e]]\n\"f\" = true\n" > "$out/toml/kinds"
# Messages of editors: the session of a fixture, a message a line and with headers.
sed -n '/^--- stdin/,/^--- /{/^---/!p;}' tests/debug/dap.test > "$out/dap.lines"
{ printf l; cat "$out/dap.lines"; } > "$out/dap/lines"
{ printf h; while read -r line; do printf 'Content-Length: %d\r\n\r\n%s' "${#line}" "$line"; done < "$out/dap.lines"; } \
    > "$out/dap/headers"
rm "$out/dap.lines"
# Commands of the debugger: those of the fixtures.
n=0
for test in tests/debug/*.test; do
    grep -q '^# RUN *debug --dap' "$test" && continue
    n=$((n + 1))
    sed -n '/^--- stdin/,/^--- /{/^---/!p;}' "$test" > "$out/debug/$n"
    [ -s "$out/debug/$n" ] || rm "$out/debug/$n"
done
printf 'break divf if %%a has nan\nwatch a[1]\ncatch nan\ncontinue\nwho a[1]\nback 3\nstats %%a\npicture %%a\n' > "$out/debug/all"
# Spaces: those of the documents and of the tests; results of a run.
sed -n '/^{"hints"/,/^```/p' docs/guides/bench.md | grep -v '^```' > "$out/documented"
{ printf s; cat "$out/documented"; } > "$out/tune/documented"
rm "$out/documented"
n=0
sed -n "s/^wrong '\({.*}\)' .*/\1/p" tests/shell/tune.sh | while read -r text; do
    n=$((n + 1))
    printf 's%s' "$text" > "$out/tune/space-$n"
done
"$tilevm" bench "$corpus/bytecode/13.4/vadd_f32.tbc" --grid 2 --device cpu --repeat 4 --save "$out/saved" > /dev/null
{ printf b; cat "$out/saved"; } > "$out/tune/saved"
rm "$out/saved"
# Symbols of C++, without their _Z.
n=0
for symbol in $(grep -o '"_Z[A-Za-z0-9_]*"' tests/unit/demangle.c | tr -d '"' | sort -u); do
    n=$((n + 1))
    printf '%s' "${symbol#_Z}" > "$out/demangle/$n"
done
# Programs: every form, plain and packed where there is a library for it.
"$tilevm" gen --count 2 --ops 5 -o "$out/small-%d.tbc"
for form in elf object fatbin bare data; do
    for packing in plain zstd lz4; do
        seed=$out/container/$form-$packing
        "$program" $form $packing 1 "$out"/small-*.tbc > "$seed" 2> /dev/null || rm "$seed"
    done
done
rm "$out"/small-*.tbc
touch "$out/made"
