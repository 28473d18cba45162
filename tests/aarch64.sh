#!/bin/sh
# The unit test of the floating-point environment, built for aarch64 and run by an emulator, where both are installed:
# aarch64.sh BUILD. Ends with the test's own line of counts, or `float_env on aarch64: skipped, there is no ...`.
set -u
MAKE=${MAKE:-make}
cc=aarch64-linux-gnu-gcc
emulator=
for name in qemu-aarch64-static qemu-aarch64; do
    command -v $name > /dev/null && emulator=$name && break
done
for needed in $cc "${emulator:-qemu-aarch64}"; do
    command -v "$needed" > /dev/null || { echo "float_env on aarch64: skipped, there is no $needed"; exit 0; }
done
$MAKE --no-print-directory CC=$cc BUILD="$1" CONFIG=release WERROR=0 CFLAGS="-O1 -g0" "$1/release/unit_float_env" > "$1.log" 2>&1 \
    || { tail "$1.log"; echo "float_env on aarch64: 0 passed, 1 failed"; exit 1; }
$emulator -L /usr/aarch64-linux-gnu "$1/release/unit_float_env"
