#!/bin/sh
# The same sources give the same bytes in any folder: a copy of them, somewhere else and with a build folder of another
# name, is built and compared; ends with `reproducible: N passed, N failed`.
#
#   reproducible.sh BUILD FOLDER I/N      FOLDER is made; every Nth object, from the one with number I on, is compiled
#                                         there, the others are BUILD's
#
# Flags keep folders and times out of every file alike (-ffile-prefix-map, -Wdate-time), so that a share of them shows it.
set -u
MAKE=${MAKE:-make}
build=$(cd "$1" && pwd)
rm -rf "$2" && mkdir -p "$2/sources" || exit 2
folder=$(cd "$2" && pwd)
passed=0
failed=0
cp -Rp Makefile mk include bytecode container vm codegen loader tools tests "$folder/sources" || exit 2
if [ "$3" != 0/1 ]; then
    mkdir -p "$folder/objects/release/obj" || exit 2
    for part in flags obj/bytecode obj/container obj/vm obj/codegen obj/loader obj/tools; do
        cp -Rp "$build/$part" "$folder/objects/release/$part" || exit 2
    done
    find "$folder/objects" -name '*.o' | LC_ALL=C sort | awk -v part="$3" '
        { split(part, p, "/"); if ((NR - 1) % p[2] == p[1]) print }' | xargs rm
fi
COMMIT=$(sh tools/commit.sh) $MAKE --no-print-directory -C "$folder/sources" CONFIG=release BUILD="$folder/objects" > "$folder/log" 2>&1 \
    || { tail "$folder/log"; echo "reproducible: 0 passed, 1 failed"; exit 1; }
compiled=$(grep -c '^  CC ' "$folder/log")
echo "$compiled files compiled again"
if [ "$compiled" -ge 10 ]; then passed=1; else failed=1; fi
for file in tilevm tileiras mkbc libtilevm.a libtilevm.so libtilevm_cuda.so; do
    if cmp "$build/$file" "$folder/objects/release/$file"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
rm -rf "$folder"
echo "reproducible: $passed passed, $failed failed"
[ $failed -eq 0 ]
