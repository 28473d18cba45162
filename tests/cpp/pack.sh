#!/bin/sh
# Packs what make_corpus.py wrote: pack.sh FOLDER  (needs tar, xz). The same files give the same archive.
set -e
out=$(cd "$(dirname "$0")" && pwd)/corpus.tar.xz
cd "$1"
export LC_ALL=C
# Variants of one kernel stand together.
{ echo cases.txt; find bytecode -name '*.tbc' | awk -F/ '{print $3, $0}' | sort | cut -d' ' -f2; find expected -name '*.bin' | sort; } |
    tar --format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=644 --no-recursion -cf - -T - | xz -9e > "$out"
