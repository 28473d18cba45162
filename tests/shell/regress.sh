#!/bin/bash
# Kernels that once gave a wrong number: each of tests/regress runs on a device and on the virtual machine, which must
# agree. Without a GPU the device is the PTX simulator behind the driver of tests/fakecuda, for each of four targets.
#
#   regress.sh BUILD FOLDER [gpu]     BUILD has tilevm and fakecuda/libcuda.so.1; FOLDER is made; gpu: the device that there is
#
# Where there is a ptxas (CUDA_HOME/bin or PATH), it assembles what no device here has run: the PTX for sm_100a.
#
# A kernel's line `// run: OPTIONS ARGUMENTS` says how; `// GPUs: 80 90` for which of them, else 80, 90, 100 and 120.
# `// multiprocessors: 1 100` for devices with so many, else 1.
# REGRESS_KERNELS and REGRESS_GPUS: those alone. TEST_PART=I/N: each kernel for every Nth of its targets, one at least, in
# other rounds for the others. Ends with `regress: N passed, N failed`.
set -u
build=$(cd "$1" && pwd)
kernels=$(cd "$(dirname "$0")/../regress" && pwd)
rm -rf "$2" && mkdir -p "$2" && cd "$2" || exit 2
unset CUDA_VISIBLE_DEVICES TILEVM_IMAGE
export HOME="$PWD" TILEVM_CACHE_DIR="$PWD/cache" NO_COLOR=1
export FAKECUDA_VERSION=13000 # a driver that takes clusters
passed=0
failed=0
kernel_number=0
part=${TEST_PART:-0/1}
ptxas=${CUDA_HOME:-/usr/local/cuda}/bin/ptxas
[ -x "$ptxas" ] || ptxas=$(command -v ptxas)

# check LABEL WORD...: does the command end well and every array come as on the CPU?
check() {
    local label=$1
    shift
    if timeout 300 "$@" > "$label.log" 2>&1 && grep -q ': as on the CPU' "$label.log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$label: $*"
        tail -n 12 "$label.log" | sed 's/^/    /'
    fi
}

# compiles LABEL WORD...: does the compiler find nothing wrong with what its passes have made, or ptxas with the PTX?
compiles() {
    local label=$1
    shift
    if ! timeout 300 "$@" > "$label.log" 2>&1; then
        failed=$((failed + 1))
        echo "$label: $*"
        tail -n 4 "$label.log" | sed 's/^/    /'
    fi
}

# assembles LABEL FILE TARGET
assembles() {
    [ -z "$ptxas" ] || [ "$3" != sm_100a ] || compiles "$1" "$ptxas" -arch "$3" "$2" -o "$2.cubin"
}

# in_turn TARGET...: those whose turn it is; where there are fewer than parts, all of them.
in_turn() {
    local n=0 target
    for target; do
        if [ $# -lt "${part#*/}" ] || [ $(((kernel_number + n) % ${part#*/})) -eq "${part%/*}" ]; then echo "$target"; fi
        n=$((n + 1))
    done
}

for kernel in "$kernels"/*.tileir; do
    name=$(basename "$kernel" .tileir)
    case " ${REGRESS_KERNELS:-$name} " in *" $name "*) ;; *) continue ;; esac
    eval "words=($(sed -n 's|^// run: ||p' "$kernel"))"
    gpus=$(sed -n 's|^// GPUs: ||p' "$kernel")
    counts=$(sed -n 's|^// multiprocessors: ||p' "$kernel")
    kernel_number=$((kernel_number + 1))
    "$build/tilevm" asm "$kernel" -o "$name.tbc" || { failed=$((failed + 1)); continue; }
    if [ "${3:-}" = gpu ]; then
        check "$name" "$build/tilevm" run "$name.tbc" --device cuda --against cpu "${words[@]}"
        continue
    fi
    for gpu in $(in_turn ${REGRESS_GPUS:-${gpus:-80 90 100 120}}); do
        target=sm_$gpu
        [ "$gpu" -lt 90 ] || target=${target}a
        compiles "$name-$target" "$build/tilevm" compile "$name.tbc" --target "$target" --verify-each -o "$name.ptx"
        assembles "$name-$target" "$name.ptx" "$target"
        for count in ${counts:-1}; do
            check "$name-sm_$gpu-$count" env LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_RUN=1 FAKECUDA_DEVICES=$gpu \
                PTXSIM_MULTIPROCESSORS="$count" \
                "$build/tilevm" run "$name.tbc" --device cuda --against cpu "${words[@]}"
        done
    done
done
[ -n "$ptxas" ] || echo 'regress: nothing is assembled, as there is no ptxas'
echo "regress: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
