#!/bin/bash
# What docs/guides/fleets.md promises, on the devices that are here, one or several: doctor, a bundle of each form that they run,
# one handle in many threads on all of them, warming of caches, what the start of a service with 50 kernels takes. Ends
# with `deploy on a GPU: N passed, N failed`, or says that there is none.
#
#   deploy.sh BUILD CORPUS
set -u
export LC_ALL=C NO_COLOR=1
. "$(dirname "$0")/../says.sh"
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
kernels=$(cd "$2" && pwd)/bytecode/13.4
tilevm=$build/tilevm
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
unset CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_MODULE_LOADING TILEVM_IMAGE TILEVM_CACHE_LOWER TILEVM_BUNDLE_KEY TILEVM_BUNDLE_TRUST
export TILEVM_CACHE_DIR="$folder/cache" CUDA_CACHE_PATH="$folder/driver"

cat > fill.tir <<'END'
cuda_tile.module @m { entry @fill(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
} }
END
"$tilevm" asm fill.tir -o fill.tbc || exit 2
"$build/gpu_deploy" library fill.tbc > out 2>&1
status=$?
cat out
[ $status -ne 77 ] || exit 0
run 0 test $status -eq 0
shows() { run "$@"; cat out; }

# ---- doctor ----
shows 0 "$tilevm" doctor
says 'kernels run here'
"$tilevm" doctor > found
run 0 "$tilevm" doctor --json
says '"problems":	0'
targets=$(sed -n 's/^ok *device [0-9]* .*, \(sm_[0-9]*\), .*/\1/p' found | sort -u)
ptxas=$(sed -n 's|^ok *ptxas *\(/.*\)|\1|p' found)
echo "devices: $(echo $targets); ptxas: ${ptxas:-none}"

# ---- a bundle of each form, in many threads on all devices ----
use() { # use NAME WORDS OPTIONS...: builds a bundle, and uses it
    name=$1
    words=$2
    shift 2
    run 0 "$tilevm" bundle build fill.tbc "$@" -o "$name.tvb"
    run 0 "$tilevm" bundle verify "$name.tvb"
    shows 0 "$build/gpu_deploy" bundle "$name.tvb"
    says "$words"
}
all=$(echo $targets | tr ' ' ,)
use ptx 'PTX ' -t "$all" -e ptx
use earlier 'which the driver assembles for' -t sm_80 -e ptx
use bytecode 'compiled' -e bytecode
if [ -n "$ptxas" ]; then
    use cubin "the device's own target" -t "$all" -e all
    # An image that is for no device here: the next one is taken.
    case $all in *sm_8*) ;; *) use other 'PTX ' -t sm_80 -e all ;; esac
    case $all in sm_86 | sm_89) use family 'runs too' -t sm_80 -e all ;; esac
fi
if command -v openssl > /dev/null; then
    openssl genpkey -algorithm ed25519 -out private.pem 2> out && openssl pkey -in private.pem -pubout -out public.pem
    run 0 "$tilevm" bundle sign ptx.tvb --key private.pem
    run 0 env TILEVM_BUNDLE_KEY="$folder/public.pem" "$build/gpu_deploy" bundle ptx.tvb
    run 1 env TILEVM_BUNDLE_KEY="$folder/public.pem" "$build/gpu_deploy" bundle bytecode.tvb
    says '[L-BUNDLE-02]'
fi

# ---- embedded kernels: C that a compiler builds without us ----
embedded() { # embedded WHAT OPTIONS...
    what=$1
    shift
    run 0 "$tilevm" embed "$kernels/vadd_f32.tbc" "$@" -o kernels.c
    run 0 cc -std=c11 -Wall -Werror "$here/embedded.c" -I. kernels.c -o "embedded-$what" -pthread -ldl
    shows 0 "./embedded-$what"
    says 'vadd gives 0 on device 0, 0 elements are wrong'
}
if command -v cc > /dev/null; then
    embedded ptx -t "$all" -e ptx
    embedded earlier -t sm_80 -e ptx
    [ -z "$ptxas" ] || embedded cubin -t "$all" -e all
fi

# ---- warming, and the start of a service ----
mkdir fifty
for file in "$kernels"/*.tbc; do
    "$tilevm" verify -q "$file" 2> log && echo "$file"
done | awk 'NR % 12 == 0' | head -n 50 | xargs -I{} cp {} fifty
for emit in ptx bytecode ${ptxas:+all}; do
    run 0 "$tilevm" bundle build fifty -t "$all" -e $emit -o fifty-$emit.tvb
    run 0 "$tilevm" bundle build fill.tbc -t "$all" -e $emit -o one-$emit.tvb
done
cpu() { # cpu NAME=VALUE... COMMAND...: milliseconds of processor time
    local TIMEFORMAT='%U %S'
    { time env "$@" > log 2>&1 || cat log; } 2> times
    awk '{ printf "%.0f", ($1 + $2) * 1e3 }' times
}
warm=("$tilevm" cache warm --device 0)
figure() { # figure WHAT EMIT NAME=VALUE...
    what=$1
    emit=$2
    shift 2
    printf '%-60s %6s ms, of which without kernels %s\n' "$what" "$(cpu "$@" "${warm[@]}" fifty-"$emit".tvb)" \
        "$(cpu "$@" "${warm[@]}" one-"$emit".tvb)"
}
echo "a service that uses 50 kernels, processor time until all are loaded (aim for cubins: 100 ms beside the driver's own start):"
[ -z "$ptxas" ] || figure "cubins of a bundle" all TILEVM_LOG=error
figure "PTX of a bundle, assembled by the driver" ptx CUDA_CACHE_DISABLE=1
run 0 "$tilevm" cache warm fifty-ptx.tvb --device 0
figure "PTX of a bundle, from the driver's cache" ptx TILEVM_LOG=error
figure "bytecode of a bundle, caches empty" bytecode TILEVM_CACHE_DIR="$folder/none" CUDA_CACHE_DISABLE=1
shows 0 "$tilevm" cache warm fifty-bytecode.tvb --device all
figure "bytecode of a bundle, from the caches" bytecode TILEVM_LOG=error
# The lower layer: what one filled, another only reads.
run 0 env TILEVM_IMAGE=cubin TILEVM_CACHE_DIR="$folder/layer" "$tilevm" cache warm fifty-bytecode.tvb --device all
run 0 env TILEVM_IMAGE=cubin TILEVM_CACHE_DIR="$folder/own" TILEVM_CACHE_LOWER="$folder/layer" "$tilevm" cache warm fifty-bytecode.tvb
run 0 test ! -e own

echo "deploy on a GPU: $passed passed, $failed failed"
[ $failed -eq 0 ]
