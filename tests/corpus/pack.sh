#!/bin/sh
# Packs what make_corpus.py made in this folder: pack.sh  (needs tar, xz). The same files give the same archives.
set -e
cd "$(dirname "$0")"
export LC_ALL=C
pack() { # pack ARCHIVE: the file names come on standard input
    tar --format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=644 --no-recursion -cf - -T - |
        xz -9e > "$1"
}
# Files of one case stand together, whatever their version: that halves the archive.
{ echo cases.txt; find bytecode -name '*.tbc' | awk -F/ '{print $3, $0}' | sort | cut -d' ' -f2; } | pack bytecode.tar.xz
find expected -name '*.bin' | sort | pack expected.tar.xz
