#!/bin/sh
# What the linker and the compiler were to put into programs and libraries is there: hardening.sh BUILD; ends with
# `hardening: N passed, N failed`.
set -u
build=$1
passed=0
failed=0

# has FILE WHAT PATTERN TEXT: some line of the text matches
has() {
    if printf '%s\n' "$4" | grep -qE -e "$3"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: $2"
    fi
}
hasnt() {
    if printf '%s\n' "$4" | grep -qE -e "$3"; then
        failed=$((failed + 1))
        echo "$1: $2"
    else
        passed=$((passed + 1))
    fi
}

command -v readelf > /dev/null || { echo "readelf is not installed"; exit 1; }
machine=$(readelf -hW "$build/tilevm" | sed -n 's/^ *Machine: *//p')
for file in tilevm tileiras mkbc libtilevm.so libtilevm_cuda.so; do
    elf=$(readelf -hldW "$build/$file")
    symbols=$(readelf --dyn-syms -W "$build/$file")
    has $file 'not position independent' '^ *Type: *DYN' "$elf"
    case $file in
        *.so) ;;
        *) has $file 'no PIE' '\(FLAGS_1\).*PIE' "$elf" ;;
    esac
    has $file 'no read-only relocations' '^ *GNU_RELRO' "$elf"
    has $file 'bound lazily' '\(FLAGS(_1)?\).*NOW' "$elf"
    hasnt $file 'an executable stack' '^ *GNU_STACK.*RWE' "$elf"
    hasnt $file 'a search path for libraries' '\((RPATH|RUNPATH)\)' "$elf"
    hasnt $file 'relocations in code' '\(TEXTREL\)' "$elf"
    has $file 'no stack protector' ' __stack_chk_(fail|guard)' "$symbols"
    has $file 'no FORTIFY_SOURCE' ' __[a-z]+_chk(@|$)' "$symbols"
done

# The marks of -fcf-protection: a program loses them to one object without, so the library's own objects are looked at.
case $machine in
    *X86-64*)
        objects=$(readelf -nW "$build/libtilevm.a" | grep -c '^File: ')
        marked=$(readelf -nW "$build/libtilevm.a" | grep -c 'x86 feature: IBT, SHSTK')
        has libtilevm.a "$marked of $objects objects have the marks of -fcf-protection" '^yes$' \
            "$([ "$objects" -gt 0 ] && [ "$objects" -eq "$marked" ] && echo yes)" ;;
esac

# Who needs what: the library and tileiras do without cJSON.
for file in tileiras libtilevm.so libtilevm_cuda.so; do
    hasnt $file 'needs cJSON' 'NEEDED.*cjson' "$(readelf -dW "$build/$file")"
done
echo "hardening: $passed passed, $failed failed"
[ $failed -eq 0 ]
