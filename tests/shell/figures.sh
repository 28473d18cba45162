#!/bin/sh
# What `make bench-gpu-figures` does without a GPU: figures.sh TILEVM. A folder that lacks a cubin is found, and the table of given
# times says what is reached. `make check-figures` runs it.
tilevm=$PWD/$1
python=${PYTHON:-python3}
tools=$PWD/tools
figures=$PWD/tests/gpu/perf/figures.py
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
. "$PWD/tests/shell/says.sh"
cd "$place" || exit 2

run 0 "$python" "$figures" cases --tilevm "$tilevm" --only '^unpack_i4|^map_f32_20ops'
says "figures: 4 rows, 5 kernels"
run 1 "$python" "$figures" none --tilevm /bin/false --only '^unpack_i4'

# Cubins in name only, by both compilers where a row asks for them.
mkdir cubins
cp cases/cases.json cubins
"$python" - << 'END'
import json, lzma
cases = json.load(open("cases/cases.json"))
kernels = [dict(k, cubins={c: dict(file="%s.%s.xz" % (k["name"], c), dynamic=0) for c in ("ref", "ours")}) for k in cases["kernels"]]
for k in kernels:
    for cubin in k["cubins"].values():
        with lzma.open("cubins/" + cubin["file"], "wb") as f:
            f.write(b"\x7fELF" + k["name"].encode())
json.dump(dict(compilers=["ref", "ours"], jobs=cases["jobs"], kernels=kernels), open("cubins/manifest.json", "w"))
END
run 0 "$python" "$tools/figures_run.py" cubins --dry
says "figures: 4 rows, 5 kernels, 9 cubins, 0 bad"      # the promised kernel needs only ours

made() {
    echo "kernel,ours_us,ref_us,ours_failure,ref_failure,torch_us"
    echo "unpack_i4_16x256_raw,100,$1,,,"
    echo "unpack_i4_16x256_promised,97,,,,"
    echo "map_f32_20ops_16,50,60,,,"
    echo "map_f32_20ops_32,${2:-50},60,,,"
    echo "map_f32_20ops_64,50,60,$3,,"
}
result() { grep "^$1.* $2\$" out > /dev/null && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "not '$2': $1"; cat out; }; }
show() { "$python" "$tools/figures_run.py" cubins --times times.csv --json rows.json > out; }
made 125 > times.csv
show
result "rows by raw pointers without promises, beside NVIDIA's" reached
result "the same, beside the kernel with promises" reached
result "maps of 20 to 40 ops.*f32" reached
result "the same time for every tile: 20 ops, f32" reached
run 0 "$python" -c 'import json
rows = json.load(open("rows.json"))["rows"]
assert [r["reached"] for r in rows] == [True] * 4 and rows[0]["value"] == 1.25, rows'
made 119 53 > times.csv
show
result "rows by raw pointers without promises, beside NVIDIA's" "NOT reached"
result "maps of 20 to 40 ops.*f32" reached
result "the same time for every tile: 20 ops, f32" "NOT reached"
made 125 50 WRONG > times.csv      # a wrong result counts for nothing
show
result "maps of 20 to 40 ops.*f32" "reached, 2 of 3"
result "the same time for every tile: 20 ops, f32" "not measured"
rm cubins/unpack_i4_16x256_raw.ref.xz && echo nothing | xz > cubins/unpack_i4_16x256_raw.ref.xz
run 1 "$python" "$tools/figures_run.py" cubins --dry
says "is no cubin of it"
echo "figures-tools: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
