#!/bin/sh
# Checks which system headers are used where, who looks into what parts of the code generator have, the form of the
# headers, and who prints; ends with `layers: N passed, N failed`. Which folder may include which: tools/folders.sh.
set -u
CC=${CC:-cc}
passed=0
failed=0

ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); printf '%s\n' "$1"; }

# Which system headers only some files may use: zlib and cJSON never in a header, CUDA nowhere.
check_system() { # check_system FILE HEADER
    case $2 in
        zlib.h)          case $1 in loader/*.c | tools/*.c | tests/*.c) return 0 ;; esac ;;
        zstd.h | lz4.h)  case $1 in container/*.c | tests/*.c) return 0 ;; esac ;;
        *cJSON.h)        case $1 in tools/*.c | tests/*.c) return 0 ;; esac ;;
        cuda*.h)         ;;
        *)               return 0 ;;
    esac
    return 1
}

files=$(find include bytecode container vm codegen loader tools tests -name '*.[ch]' -o -name '*.def' -o -name '*.inc' 2>/dev/null | LC_ALL=C sort)
# each CHECK MARK WHY FILE...: CHECK takes a file and a header that it includes, between the characters MARK; WHY it may not.
# All files are read at once: a process for each would take most of the time.
each() {
    check=$1 mark=$2 why=$3
    shift 3
    worst=
    passed=$((passed + $#))
    for line in $(awk -F "[$mark]" 'NF >= 3 && $1 ~ /^ *# *include *$/ { print FILENAME ":" $2 }' "$@"); do
        file=${line%%:*}
        $check "$file" "${line#*:}" && continue
        bad "$file: may not include ${line#*:}$why"
        [ "$file" = "$worst" ] || passed=$((passed - 1))
        worst=$file
    done
}
# lists LIST FILE: is the file a line of the list?
lists() { case "
$1
" in *"
$2
"*) return 0 ;; *) return 1 ;; esac }
each check_system '<>' '' $files

# What one part of the code generator has for itself (docs/internals/codegen.md, "What a pass sees"): who may look into
# it.
check_own() { # check_own FILE HEADER
    case $2 in
        codegen/values/homes.h)
            case $1 in codegen/passes/layouts.c | codegen/plan/homes.c | codegen/values/* | codegen/access/* | codegen/ops/*) return 0 ;; esac ;;
        codegen/ops/lowering.h)        case $1 in codegen/passes/lower.c | codegen/ops/*) return 0 ;; esac ;;
        codegen/ops/slots.h)           case $1 in codegen/ops/*) return 0 ;; esac ;;
        codegen/values/shared_state.h) case $1 in codegen/values/*) return 0 ;; esac ;;
        codegen/values/strip_state.h)  case $1 in codegen/passes/strip_ops.c | codegen/values/*) return 0 ;; esac ;;
        codegen/ptx/emit.h)
            case $1 in
                codegen/passes/lower.c | codegen/text/* | codegen/model/lines.c | codegen/compile.c | codegen/weight.c) return 0 ;;
                codegen/ptx/* | codegen/math/* | codegen/module/* | codegen/values/* | codegen/ops/*) return 0 ;;
            esac ;;
        *) return 0 ;;
    esac
    return 1
}

each check_own '"' ', which is private' $(printf '%s\n' $files | grep '^codegen/')

# The public headers use three standard headers and nothing else.
for file in $(find include -name '*.h'); do
    if sed -n 's/^ *# *include *<\([^>]*\)>.*/\1/p' "$file" | grep -vqE '^std(bool|def|int)\.h$'; then
        bad "$file: includes more than <stdbool.h> <stddef.h> <stdint.h>"
    else
        ok
    fi
done

# Compiler extensions have one place, and vectors theirs.
extension='__attribute__|__builtin_|__extension__|__typeof__'
for file in $(grep -lE "$extension" $files); do
    case $file in bytecode/base/compiler.h | vm/kernels/mma.inc) continue ;; esac
    grep -nE "$extension" "$file"
    bad "$file: a compiler extension outside bytecode/base/compiler.h"
done

# Text for people goes through tools/tilevm/cli/show.c, which makes control characters visible. Elsewhere only texts without
# anything of a file in them are printed: help, completions, the progress bar.
print='(^|[^a-z_])(v?printf|puts|putchar|perror) *\(|f(printf|puts|putc|write) *\(.*std(out|err)'
tools=$(printf '%s\n' $files | grep '^tools/.*\.c$')
printing=$(grep -lE "$print" $tools)
for file in $tools; do
    case $file in
        */cli/show.c | */main.c | */cli/options.c | */cmd/completions.c | */cli/progress.c | */cmd/reduce.c) continue ;;
    esac
    if lists "$printing" "$file"; then
        grep -nE "$print" "$file"
        bad "$file: prints by itself; take cli_print or cli_show"
    else
        ok
    fi
done

# A header is guarded by its path and compiles alone: one command for all, which says what is wrong where, then, if it
# fails, one for each.
headers=$(printf '%s\n' $files | grep '\.h$')
compiles() { $CC -std=c11 -D_GNU_SOURCE -I. -Iinclude -fsyntax-only -x c "$@"; }
guarded=$(awk '
    FNR == 1 {
        guard = FILENAME
        sub(/^include\/tilevm\//, "", guard)
        sub(/^tools\/tilevm\//, "tools/", guard)
        sub(/\.h$/, "", guard)
        gsub(/[\/-]/, "_", guard)
        guard = "#ifndef TILEVM_" toupper(guard) "_H"
    }
    $0 == guard { print FILENAME }' $headers)
compiles $headers && all_compile=yes || all_compile=
for file in $headers; do
    if ! lists "$guarded" "$file"; then
        bad "$file: the include guard is not that of its path, TILEVM_FOLDER_FILE_H"
    elif [ -z "$all_compile" ] && ! compiles "$file"; then
        bad "$file: does not compile on its own"
    else
        ok
    fi
done

echo "layers: $passed passed, $failed failed"
[ $failed -eq 0 ]
