#!/bin/sh
# Kernels in the form of Triton's (../triton/README.md): triton.sh BUILD FOLDER TARGET...; ends with
# `triton: N passed, N failed`. FOLDER is made; the targets are those that run on the PTX simulator.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/says.sh"
build=$(cd "$1" && pwd)
rm -rf "$2" && mkdir -p "$2/bytecode/13.1" && cd "$2" || exit 2
shift 2
tilevm=$build/tilevm

cp "$here/../triton/cases.txt" . && xz -dc "$here/../triton/expected.tar.xz" | tar -xf - || exit 2
for module in "$here"/../triton/modules/*.tileir; do
    run 0 "$tilevm" asm "$module" --to 13.1 -o "bytecode/13.1/$(basename "$module" .tileir).tbc"
done
run 0 "$tilevm" verify --quiet bytecode

# ---- results: on the virtual machine, with its checks, and as PTX on the simulator ----
run 0 "$build/corpus_run" . --version 13.1 --jobs 2
says ' 0 failed, 0 skipped'
run 0 "$build/corpus_run" . --version 13.1 --jobs 2 --checks "$here/../triton/findings.txt"
says ' 0 failed, 0 skipped'
for target; do
    run 0 "$build/corpus_run" . --version 13.1 --jobs 2 --ptx "$target"
    says ' 0 failed, 0 skipped'
done

# ---- every target, those of one architecture after those that are portable ----
mkdir -p ptx
for kind in '' a; do
    targets=$(sed -n "s/^TARGET(\(sm_[0-9]*$kind\),.*/\1/p" "$here/../../codegen/kernel/targets.def" | paste -sd, -)
    run 0 test -n "$targets"
    for module in bytecode/13.1/*.tbc; do
        run 0 "$tilevm" compile "$module" --target "$targets" --emit ptx -o "ptx/$(basename "$module" .tbc).ptx"
    done
done
ptxas=${TILEVM_PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
if [ -x "$ptxas" ]; then
    for ptx in ptx/*.sm_90a.ptx; do
        run 0 "$ptxas" -arch sm_90a "$ptx" -o ptx/cubin
    done
else
    echo "triton: there is no ptxas, and no PTX was assembled"
fi
echo "triton: $passed passed, $failed failed"
[ $failed -eq 0 ]
