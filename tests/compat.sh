#!/bin/sh
# What was promised to programs and to files of earlier releases (docs/reference/compatibility.md); ends with
# `compat: N passed, N failed`.
#
#   compat.sh BUILD FOLDER      BUILD has the libraries, tilevm, bundle_client and fakecuda/libcuda.so.1; FOLDER is made
#
# tests/compat has what there was: the names that the libraries show, with their versions; the declarations of the headers;
# a bundle and an entry of the cache of each version of their formats. With UPDATE set, new names and declarations are added
# to the lists; what is gone or has changed is an error in any case.
set -u
. "$(dirname "$0")/says.sh"
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
was=$top/tests/compat
CC=${CC:-cc}
rm -rf "$2" && mkdir -p "$2" && cd "$2" || exit 2
export LC_ALL=C NO_COLOR=1 HOME="$PWD"
unset TILEVM_BUNDLE_KEY TILEVM_BUNDLE_TRUST TILEVM_CACHE_LOWER

# symbols LIBRARY: NAME VERSION of all that it shows.
symbols() {
    objdump -T "$1" | awk '$4 != "*UND*" && ($2 == "g" || $2 == "w") && $NF !~ /^TILEVM_/ {
        version = $(NF - 1) ~ /^\(?TILEVM_/ ? $(NF - 1) : "-"
        print $NF, version
    }' | sort
}
# declarations HEADER: one to a line, without comments.
declarations() {
    printf '#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n__begin__\n#include "%s"\n' "$1" > header.c
    "$CC" -E -P -I"$top/include" header.c | tr -s ' \t\n' ' ' | awk '
        { text = text $0 }
        END {
            sub(/.*__begin__/, "", text)
            gsub(/extern "C" [{]/, "", text)
            for (i = 1; i <= length(text); i++) {
                c = substr(text, i, 1)
                depth += (c == "{") - (c == "}")
                line = line c
                if (c != ";" || depth)
                    continue
                gsub(/^ +| +$/, "", line)
                print line
                line = ""
            }
        }' | sort
}
# same NAME: is all of the list still there, and is all that is there in the list?
same() {
    run 0 test -s "$1"
    [ -n "${UPDATE:-}" ] && sort -u -o "$was/$1" "$1" $([ -e "$was/$1" ] && echo "$was/$1")
    comm -23 "$was/$1" "$1" > gone
    comm -13 "$was/$1" "$1" > new
    run 0 test ! -s gone
    [ -s gone ] && sed 's/^/    gone or changed: /' gone
    run 0 test ! -s new
    [ -s new ] && sed 's/^/    new, to be added with UPDATE=1: /' new
}

# The check itself: a name that is gone or has another version, and a structure that has grown, are seen.
printf 'a V_1\nb V_1\n' > old && printf 'a V_2\nb V_1\nc V_1\n' > now
run 0 test "$(comm -23 old now)" = 'a V_1'
printf 'struct s { int a; };\n' > one.h && printf 'struct s { int a; int b; };\n' > two.h
run 1 test "$(declarations "$PWD/one.h")" = "$(declarations "$PWD/two.h")"
run 0 test "$(declarations "$PWD/one.h")" = 'struct s { int a; };'

# ---- libraries ----
if command -v objdump > /dev/null; then
    symbols "$build/libtilevm.so" > libtilevm.txt
    symbols "$build/libtilevm_cuda.so" > libtilevm_cuda.txt
    same libtilevm.txt
    same libtilevm_cuda.txt
    run 1 grep -v ' TILEVM_[0-9]' libtilevm.txt
    run 0 sh -c "objdump -p '$build/libtilevm.so' | grep -q 'SONAME *libtilevm.so.0\$'"
else
    echo "compat-symbols: skipped, objdump is not installed"
fi
# As the compiler laid it out, by libabigail: sizes, members and their places, types of parameters; without what is private.
abi=libtilevm-$(uname -m).abi
if ! command -v abidiff > /dev/null; then
    echo "compat-abi: skipped, abidiff is not installed (abigail-tools)"
elif [ -n "${EMULATED:-}" ] || { [ ! -e "$was/$abi" ] && [ -z "${UPDATE:-}" ]; }; then
    echo "compat-abi: skipped, there is no list for this processor"
else
    run 0 abidw --headers-dir "$top/include/tilevm" --drop-private-types --exported-interfaces-only --no-corpus-path \
        --no-comp-dir-path --short-locs --type-id-style hash --no-elf-needed --out-file abi "$build/libtilevm.so"
    sed "s/ filepath='[^']*' line='[0-9]*' column='[0-9]*'//" abi > "$abi"
    [ -n "${UPDATE:-}" ] && cp "$abi" "$was/$abi"
    run 0 abidiff "$was/$abi" "$abi"
    # It sees a structure that has grown.
    sed "s/\(name='tv_verify_options' size-in-bits=\)'[0-9]*'/\1'4096'/" "$abi" > grown.abi
    run 4 abidiff "$was/$abi" grown.abi
    says tv_verify_options
fi
for header in tilevm tilevm_cuda; do
    declarations tilevm/$header.h > $header.h.txt
    same $header.h.txt
done

# ---- bundles ----
for bundle in "$was"/bundle-*.tvb; do
    run 0 "$build/tilevm" bundle verify "$bundle"
    says sound
    for capability in 80 90 100; do
        run 0 env LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_DEVICES=$capability TILEVM_CACHE_DIR="$PWD/cache" \
            "$build/bundle_client" "$bundle" scale
        says 'scale: '
    done
    run 0 "$build/tilevm" bundle list --json "$bundle"
    says '"schema":	"tilevm-bundle/1"'
done
# A format of later makes is refused, with what it is.
sed 's/tilevm bundle 1/tilevm bundle 9/' "$was/bundle-1.tvb" > later.tvb
run 1 cmp "$was/bundle-1.tvb" later.tvb
run 1 "$build/tilevm" bundle verify later.tvb
says 'it is of a version that a newer tilevm has made'

# ---- the cache ----
for entry in "$was"/cache-*.tvk; do
    name=$(basename "$entry" .tvk)
    id=${name##*-}
    mkdir -p "$name" && chmod 700 "$name" && (umask 077 && mkdir -p "$name/$(echo "$id" | cut -c1-2)" \
        && cat "$entry" > "$name/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).tvk")
    run 0 env TILEVM_CACHE_DIR="$PWD/$name" "$build/tilevm" cache verify
    says '1 entry'
    silent damaged
done

printf 'compat: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
