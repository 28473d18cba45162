#!/bin/sh
# The tools of the zoo, with a stand-in for tilevm: the same kernels for a seed, limits that are kept and exceeded, and what
# tools/zoo_run.py needs of a folder. `make check-zoo` runs it first.
python=${PYTHON:-python3}
tools=$PWD/tools
zoo=$PWD/tests/gpu/perf/zoo.py
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
. "$PWD/tests/shell/says.sh"
cd "$place" || exit 2

# A seed means the same kernels, another one others; those of a part are the same as in the whole.
run 0 "$python" "$zoo" one --seed 7 --count 12
says "12 kernels of seed 7"
run 0 "$python" "$zoo" again --seed 7 --count 12
run 0 diff -r one again
run 0 "$python" "$zoo" part --seed 7 --count 3
run 0 sh -c 'for f in part/*.tir; do cmp "$f" "one/${f#part/}" || exit 1; done'
run 0 "$python" "$zoo" other --seed 8 --count 12
run 1 cmp one/cases.json other/cases.json
# Axes that a kernel was not composed by are none of its own: only loops over rows in turn have norms.
run 0 "$python" -c 'import json
works = {k["axes"]["work"] for k in json.load(open("one/cases.json"))["kernels"] if "norm" in k["axes"]}
assert works == {"three"}, works'

# Of two loads in each kernel one is ahead; why the other is not comes from $WHY.
mkdir bin
cat > bin/tilevm << 'END'
#!/bin/sh
[ "$1" = compile ] || exit 9
[ -z "$BROKEN" ] || { echo "tilevm: no"; exit 1; }
END
cat > bin/loads_told << 'END'
#!/bin/sh
[ "$1" = --list ] || exit 9
echo "$2:0x10: ahead"
echo "$2:0x20: not loaded ahead: $WHY"
END
chmod +x bin/tilevm bin/loads_told
neither="neither what the kernel means nor a budget keeps it behind"
limits() { printf '# a comment\n= it costs more\n- the kernel says so\n%s because of N bytes\n%s %s\n' "$1" "${2:-1000}" "$neither" > limits.txt; }
check() { "$python" "$tools/zoo_check.py" bin one --loads --limits limits.txt "$@"; }
limits 500.0
export WHY="because of 4 bytes; nor into registers: no"
run 0 check
says "12 of 24 loads in loops are ahead"
says "zoo: 12 passed, 0 failed"
says "by a budget for registers: 0, by neither: 12"
limits 500.0 0.1
run 1 check
says "12 are beyond the limit of 0.1 in a thousand, which is 0.0 here: $neither"
WHY="because of 4 bytes; nor into registers: it costs more"
run 0 check
says "by a budget for registers: 12, by neither: 0"
WHY="because of 4 bytes; nor into registers: no"
limits 0.1
run 1 check
says "12 are beyond the limit of 0.1 in a thousand"
WHY="never heard of; nor into registers: no"
run 1 check
says "12 are beyond the limit of 0.0 in a thousand"
WHY="because of 4 bytes; nor into registers: the kernel says so"
run 0 check
says "means: 12, by a budget for registers: 0, by neither: 0"
WHY="the kernel says so"
run 0 check
limits 900.0
WHY="because of 4 bytes; nor into registers: no"
run 0 check --update
run 0 grep -x "500.0 because of N bytes" limits.txt
limits 100.0
run 1 check --update
run 0 grep -x "100.0 because of N bytes" limits.txt
run 0 grep -x "# a comment" limits.txt
# Kernels of other folders are counted in the same way.
kinds() { "$python" "$tools/loads_kinds.py" bin limits.txt "$@" one; }
WHY="because of 4 bytes; nor into registers: no"
run 0 kinds --most 1
says "1 of 2 loads in loops are ahead"
says "loads-kinds: 1 passed, 0 failed"
run 1 kinds
says "1 are behind for neither reason, and the limit is 0"
WHY="the kernel says so"
run 0 kinds
export BROKEN=1
run 1 check
says "zoo: 0 passed, 12 failed"

# A folder for a GPU is whole, or what it lacks is said.
mkdir cubins
"$python" - << 'END'
import json, lzma
cases = json.load(open("one/cases.json"))
kernels = [dict(k, cubins={}) for k in cases["kernels"][:2]]
for k in kernels:
    k["cubins"]["ours"] = dict(file=k["name"] + ".xz", dynamic=0)
    with lzma.open("cubins/" + k["name"] + ".xz", "wb") as f:
        f.write(b"\x7fELF" + k["name"].encode())
json.dump(dict(compilers=["ours"], jobs=cases["jobs"], kernels=kernels), open("cubins/manifest.json", "w"))
END
run 0 "$python" "$tools/zoo_run.py" cubins --dry
says "2 kernels of 2 jobs by ours, 0 bad"
for f in cubins/*.xz; do echo nothing | xz > "$f"; break; done
run 1 "$python" "$tools/zoo_run.py" cubins --dry
says "is no cubin of it"
echo "zoo-tools: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
