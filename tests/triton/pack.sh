#!/bin/sh
# Packs the folder expected that make.py wrote here: pack.sh  (needs tar, xz). The same files give the same archive.
set -e
cd "$(dirname "$0")"
export LC_ALL=C
find expected -name '*.bin' | sort |
    tar --format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=644 --no-recursion -cf - -T - |
    xz -9e > expected.tar.xz
rm -r expected
