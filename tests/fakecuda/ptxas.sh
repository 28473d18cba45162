#!/bin/sh
# A ptxas whose cubins the fake driver takes: PTX with a mark in front. FAKE_PTXAS_REFUSES=sm_XX: it knows that target not.
# FAKE_PTXAS_SAYS=WORDS: part of the mark, as if it were another.
while [ $# -gt 0 ]; do
    case $1 in
        -o) out=$2; shift ;;
        *.ptx) in=$1 ;;
        -arch=*) arch=${1#-arch=} ;;
    esac
    shift
done
if [ "${FAKE_PTXAS_REFUSES:-}" = "$arch" ]; then
    echo "ptxas fatal   : Value '$arch' is not defined for option 'gpu-name'"
    exit 1
fi
{ printf '\177ELF fake cubin%s\n' "${FAKE_PTXAS_SAYS:-}"; cat "$in"; } > "$out"
