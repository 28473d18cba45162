#!/bin/sh
# Every command that takes bytecode takes programs, libraries, objects, archives and fat binaries: programs.sh BUILD CORPUS WORK;
# ends with `programs: N passed, N failed`.
set -u
build=$1
work=$3
tilevm=$build/tilevm
passed=0
failed=0
rm -rf "$work"
mkdir -p "$work"

a=$2/bytecode/13.5/vadd_f32.tbc
b=$2/bytecode/13.5/softmax_row_f32.tbc
printf cubin > "$work/x.cubin"
printf ptx > "$work/x.ptx"

check() { # check NAME EXIT WORDS COMMAND...: the exit code, and words in what is printed
    name=$1
    want=$2
    words=$3
    shift 3
    "$@" > "$work/out" 2>&1
    code=$?
    if [ $code -eq "$want" ] && { [ -z "$words" ] || grep -qF -e "$words" "$work/out"; }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$name: exit $code, wanted $want and '$words':"
        head -n 20 "$work/out"
    fi
}
same() { # same NAME FILE FILE
    if cmp -s "$2" "$3"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "$1: $2 and $3 differ"; fi
}

packings=plain
for packing in zstd lz4; do
    if "$build/program" fatbin $packing 0 "$a" > /dev/null 2>&1; then
        packings="$packings $packing"
    else
        echo "programs $packing: skipped, built without its library"
    fi
done
for packing in $packings; do
    for form in elf object fatbin bare; do
        file=$work/$form.$packing
        "$build/program" $form $packing 3 "$work/x.cubin" "$a" "$work/x.ptx" "$b" > "$file"
        check "verify $form $packing" 0 "2 images, 2 valid" "$tilevm" verify "$file"
        check "extract $form $packing" 0 "" "$tilevm" extract "$file" -o "$work/ex.$form.$packing"
        same "extract $form $packing" "$a" "$(echo "$work/ex.$form.$packing"/*.1.sm_100.tbc)"
        same "extract $form $packing" "$b" "$(echo "$work/ex.$form.$packing"/*.2.sm_100.tbc)"
    done
done

app=$work/elf.plain
check "list" 0 "elf.plain: cubin 1 (sm_90): 8 bytes, plain at" "$tilevm" extract --list --all "$app"
check "name" 0 "object.plain(kernels_of_a_long_name.o): image 2 (sm_100)" "$tilevm" extract --list "$work/object.plain"
check "inspect" 0 "elf.plain: image 2 (sm_100): Tile IR bytecode" "$tilevm" inspect "$app"
check "inspect --json" 0 '"image":	2' "$tilevm" inspect --json "$app"
check "disasm" 0 "// $app: image 2 (sm_100)" "$tilevm" disasm "$app"
check "one image" 0 "image 2 (sm_100): Tile IR" "$tilevm" inspect "$app#2"
check "no such image" 2 "there is no image 3; it has 2" "$tilevm" inspect "$app#3"
check "diff" 0 "" "$tilevm" diff "$app" "$work/bare.plain"
check "diff with a file" 0 "" "$tilevm" diff "$app#1" "$a"
check "diff" 1 "from $app: image 2 (sm_100) to $a" "$tilevm" diff "$app#2" "$a"
check "diff" 1 "only in $app: image 2" "$tilevm" diff "$app" "$app#1"
check "diff --json" 1 '"only_a":' "$tilevm" diff --json "$app" "$app#1"
check "diff, quiet" 1 "" "$tilevm" diff -q "$app" "$app#1"
check "strip" 0 "" "$tilevm" strip "$app#1" -o "$work/stripped.tbc"
check "strip, which" 2 "holds 2 images; choose one" "$tilevm" strip "$app" -o "$work/stripped.tbc"
check "convert" 0 "" "$tilevm" convert "$app#1" --to 13.5 -o "$work/converted.tbc"
check "run, which" 2 "holds 2 images; choose one" "$tilevm" run "$app" --grid 1
entry=$("$tilevm" inspect "$b" | sed -n 's/^  is \([^,]*\),.*/\1/p' | head -n 1)
for file in "$app" "$work/object.plain"; do
    check "run, no such entry" 2 "none of its 2 images has an entry 'nothing'" "$tilevm" run "$file" --grid 1 --entry nothing
    check "run" 0 "written" "$tilevm" run "$file" --grid 1 --entry "$entry" --device cpu
    check "check" 0 "nothing found in 1 tile block" "$tilevm" check "$file" --grid 1 --entry "$entry"
done
check "compile" 0 "" "$tilevm" compile "$app" -o "$work/k.ptx"
for i in 1 2; do
    "$tilevm" compile "$app#$i" -o "$work/alone.ptx"
    same "compile" "$work/k.$i.ptx" "$work/alone.ptx"
done
check "compile, several" 2 "2 images do not fit into one output" "$tilevm" compile "$app" -o -
check "compile, for its own target" 0 ".target sm_100" "$tilevm" compile "$app#1" -o -
check "compile --json" 0 '"image":	2' "$tilevm" compile --json "$app" -o "$work/k.ptx"
check "report, for its own target" 0 '"target":	"sm_100"' "$tilevm" report "$app#1" --json
check "report, which" 2 "holds 2 images; choose one" "$tilevm" report "$app" -o "$work/k.html"
check "bundle" 0 "" "$tilevm" bundle build "$app#1" -t sm_90 -o "$work/k.tvb"
# The commands that time, tune, show and step take programs and bundles alike.
"$tilevm" bundle build "$a" "$b" -t sm_90 -e ptx -o "$work/both.tvb" > "$work/out"
for file in "$app" "$work/object.plain" "$work/fatbin.plain" "$work/both.tvb"; do
    what=${file##*/}
    set -- --grid 1 --entry "$entry"
    check "bench $what" 0 "$what: 1x1x1 tile blocks" "$tilevm" bench "$file" "$@" --device cpu --repeat 3
    check "bench --compare $what" 0 "times as long" "$tilevm" bench "$b" "$@" --device cpu --repeat 3 --compare "$file"
    check "tune $what" 0 "best by prediction" "$tilevm" tune "$file" "$@" --device cpu
    check "report $what" 0 '"function":	"softmax_row"' "$tilevm" report "$file" --run "$@" --json
    check "report --diff $what" 0 '"other":	{' "$tilevm" report "$b" --diff "$file" --entry "$entry" --json
    check "debug $what" 0 "tile block (0, 0, 0), op 0" "$tilevm" debug "$file" "$@" --batch
    check "precision $what" 0 "precision of " "$tilevm" run "$file" "$@" --device cpu --precision
    check "trace $what" 0 "" "$tilevm" run "$file" "$@" --device cpu --trace-events "$work/trace.json"
    check "check --report $what" 0 "nothing found" "$tilevm" check "$file" "$@" --report "$work/check.html"
done
bundle=$work/both.tvb
check "modules" 0 "both.tvb(softmax_row_f32): image 1: Tile IR" "$tilevm" inspect "$bundle#1"
check "verify a bundle" 0 "2 images, 2 valid" "$tilevm" verify "$bundle"
check "diff with a bundle" 0 "" "$tilevm" diff "$bundle#2" "$a"
check "a bundle, which" 2 "holds 2 images; choose one" "$tilevm" run "$bundle" --grid 1
check "extract from a bundle" 0 "" "$tilevm" extract "$bundle" -o "$work/ex.bundle"
same "extract from a bundle" "$b" "$(echo "$work/ex.bundle"/*.1.tbc)"
# One changed byte of a module: its hash is another.
at=$(grep -aobF objects/ "$bundle" | head -n 1 | cut -d: -f1)
cp "$bundle" "$work/changed.tvb"
[ -n "$at" ] && printf '\377\377' | dd of="$work/changed.tvb" bs=1 seek=$((at + 200)) conv=notrunc 2> /dev/null
check "a changed bundle" 2 "unreadable" "$tilevm" verify "$work/changed.tvb"
head -c 500 "$bundle" > "$work/short.tvb"
check "a short bundle" 2 "short.tvb: " "$tilevm" verify "$work/short.tvb"
check "nothing" 2 "it contains no Tile IR and no other device code" "$tilevm" verify "$(command -v sh)"
check "embedded" 0 "image 1" sh -c '"$1" data plain 0 "$2" > "$3" && "$4" extract --list "$3"' - "$build/program" "$a" \
    "$work/data" "$tilevm"
"$build/program" elf plain 0 "$work/x.cubin" "$work/x.ptx" > "$work/none"
check "no Tile IR" 2 "it contains no Tile IR, but machine code for sm_90, PTX for compute_100" "$tilevm" verify "$work/none"
# A damaged one is said, and the others are read.
head -c $(($(wc -c < "$work/fatbin.plain") - 40)) "$work/fatbin.plain" > "$work/cut"
check "damaged" 2 "image 2: the fat binary is damaged: an entry extends past its end" "$tilevm" verify "$work/cut"
check "damaged" 2 "1 valid, 1 unreadable" "$tilevm" verify "$work/cut"
check "document of a list" 0 '"packing":	"plain"' "$tilevm" extract --list --all --json "$app"
check "document of files" 0 '"output":	' "$tilevm" extract --json "$app" -o "$work/ex.json"
check "document of damage" 2 '"problem":	"the fat binary is damaged' "$tilevm" extract --json "$work/cut" -o "$work/ex.json"
check "document of none" 2 '"problem":	"it is bytecode itself"' "$tilevm" extract --json "$a" -o "$work/ex.json"
check "document of no file" 2 '"problem":	"it cannot be opened"' "$tilevm" extract --json nothere -o "$work/ex.json"
check "damaged" 2 "image 2: the fat binary is damaged" "$tilevm" extract "$work/cut" -o "$work/ex.cut"
same "damaged" "$a" "$work/ex.cut/cut.1.sm_100.tbc"
check "bytecode itself" 2 "it is bytecode itself" "$tilevm" extract "$a" -o "$work/ex.a"
check "text" 2 "no program, library, object, archive or fat binary" "$tilevm" extract Makefile -o "$work/ex.a"
cp "$app" "$work/app#1"
check "a file of that name" 0 "2 images, 2 valid" "$tilevm" verify "$work/app#1"
check "standard input" 0 "2 images, 2 valid" sh -c '"$1" verify - < "$2"' - "$tilevm" "$app"

echo "programs: $passed passed, $failed failed"
[ $failed -eq 0 ]
