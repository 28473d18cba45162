#!/bin/sh
# Packs what cases.py wrote: pack.sh FOLDER [NAME]  (needs tar, xz). NAME: cases, or tiles for --tiles. The same files give the
# same archive.
set -e
here=$(cd "$(dirname "$0")" && pwd)
name=${2:-cases}
cd "$1"
export LC_ALL=C
find . -name cases.json -o -name '*.tbc' | sort |
    tar --format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=644 --no-recursion -cf - -T - |
    xz -9e > "$here/$name.tar.xz"
