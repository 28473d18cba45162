#!/bin/sh
# Checks the order of the layers and the form of the headers; ends with `layers: N passed, N failed`.
#
#   tools, tests ──► vm   codegen   loader        vm and codegen do not see each other; loader knows no op and no IR
#                     │      │         │
#                     └─► bytecode     │
#                            └─► bytecode/base ◄┘   everyone may include include/tilevm
set -u
CC=${CC:-cc}
passed=0
failed=0

ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); printf '%s\n' "$1"; }

# Which of our files may a file of this folder include? A list of patterns.
allowed() {
    case $1 in
        include/*)       echo 'tilevm/*' ;;
        bytecode/base/*) echo 'tilevm/* bytecode/base/*' ;;
        bytecode/*)      echo 'tilevm/* bytecode/*' ;;
        vm/*)            echo 'tilevm/* bytecode/* vm/*' ;;
        codegen/*)       echo 'tilevm/* bytecode/* codegen/*' ;;
        loader/*)        echo 'tilevm/* bytecode/base/* loader/*' ;;
        tools/*)         echo 'tilevm/* bytecode/* vm/* codegen/* loader/* tools/*' ;;
        tests/*)         echo '*' ;;
    esac
}

# Which system headers only some files may use: zlib and cJSON never in a header, CUDA nowhere.
check_system() { # check_system FILE HEADER
    case $2 in
        zlib.h)          case $1 in loader/*.c | tools/*.c | tests/*.c) return 0 ;; esac ;;
        *cJSON.h)        case $1 in tools/*.c | tests/*.c) return 0 ;; esac ;;
        cuda*.h)         ;;
        *)               return 0 ;;
    esac
    return 1
}

matches() { # matches PATH PATTERN...
    path=$1
    shift
    for pattern in "$@"; do
        case $path in $pattern) return 0 ;; esac
    done
    return 1
}

set -f # the patterns are for case, not for file names
files=$(find include bytecode vm codegen loader tools tests -name '*.[ch]' -o -name '*.def' 2>/dev/null | LC_ALL=C sort)
for file in $files; do
    fine=yes
    for included in $(sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file"); do
        matches "$included" $(allowed "$file") && continue
        bad "$file: may not include \"$included\""
        fine=no
    done
    for included in $(sed -n 's/^ *# *include *<\([^>]*\)>.*/\1/p' "$file"); do
        check_system "$file" "$included" && continue
        bad "$file: may not include <$included>"
        fine=no
    done
    [ $fine = yes ] && ok
done

# The public headers use three standard headers and nothing else.
for file in $(find include -name '*.h'); do
    if sed -n 's/^ *# *include *<\([^>]*\)>.*/\1/p' "$file" | grep -vqE '^std(bool|def|int)\.h$'; then
        bad "$file: includes more than <stdbool.h> <stddef.h> <stdint.h>"
    else
        ok
    fi
done

# Compiler extensions have one place.
for file in $files; do
    [ "$file" = bytecode/base/compiler.h ] && continue
    if grep -nE '__attribute__|__builtin_|__extension__|__typeof__' "$file"; then
        bad "$file: a compiler extension outside bytecode/base/compiler.h"
    fi
done

# Text for people goes through tools/tilevm/show.c, which makes control characters visible. Elsewhere only texts without
# anything of a file in them are printed: help, completions, the progress bar.
for file in $(printf '%s\n' $files | grep '^tools/.*\.c$'); do
    case $file in
        */show.c | */main.c | */options.c | */cmd_completions.c | */progress.c | */cmd_reduce.c) continue ;;
    esac
    if grep -nE '(^|[^a-z_])(v?printf|puts|putchar|perror) *\(|f(printf|puts|putc|write) *\(.*std(out|err)' "$file"; then
        bad "$file: prints by itself; take cli_print or cli_show"
    else
        ok
    fi
done

# A header is guarded by its path and compiles alone.
for file in $(printf '%s\n' $files | grep '\.h$'); do
    guard=TILEVM_$(printf %s "$file" | sed -e 's|^include/tilevm/||' -e 's|^tools/tilevm/|tools/|' -e 's|\.h$||' |
                   tr 'a-z/-' 'A-Z__')_H
    if ! grep -q "^#ifndef $guard\$" "$file"; then
        bad "$file: the include guard is not $guard"
    elif ! $CC -std=c11 -D_GNU_SOURCE -I. -Iinclude -fsyntax-only -x c "$file"; then
        bad "$file: does not compile on its own"
    else
        ok
    fi
done

echo "layers: $passed passed, $failed failed"
[ $failed -eq 0 ]
