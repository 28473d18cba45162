#!/bin/sh
# The same sources give the same bytes in any folder: a copy of them, somewhere else and with a build folder of another
# name, is built and compared. reproducible.sh BUILD FOLDER; ends with `reproducible: N passed, N failed`.
set -u
MAKE=${MAKE:-make}
build=$(cd "$1" && pwd)
rm -rf "$2" && mkdir -p "$2/sources" || exit 2
folder=$(cd "$2" && pwd)
passed=0
failed=0
cp -R Makefile include bytecode container vm codegen loader tools tests "$folder/sources" || exit 2
$MAKE --no-print-directory -C "$folder/sources" CONFIG=release BUILD="$folder/objects" > "$folder/log" 2>&1 \
    || { tail "$folder/log"; echo "reproducible: 0 passed, 1 failed"; exit 1; }
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
