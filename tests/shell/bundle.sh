#!/bin/sh
# Bundles end to end: built and looked at by the command, loaded by a program on the fake driver; ends with
# `bundle: N passed, N failed`.
#
#   bundle.sh BUILD CORPUS FOLDER      BUILD has tilevm, bundle_client and fakecuda/libcuda.so.1; FOLDER is made
#
# CC and SANITIZE: the compiler, and the sanitizers that BUILD was made with, for embedded kernels.
set -u
. "$(dirname "$0")/says.sh"
here=$(cd "$(dirname "$0")" && pwd)
ptxas=$here/../fakecuda/ptxas.sh
build=$(cd "$1" && pwd)
kernels=$(cd "$2" && pwd)/bytecode/13.4
tilevm=$build/tilevm
CC=${CC:-cc}
client=$build/bundle_client
rm -rf "$3" && mkdir -p "$3" && cd "$3" || exit 2
unset TILEVM_IMAGE CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_CACHE_PATH TILEVM_BUNDLE_KEY TILEVM_BUNDLE_TRUST
export HOME="$PWD" TILEVM_CACHE_DIR="$PWD/cache" NO_COLOR=1 LD_LIBRARY_PATH="$build/fakecuda" TILEVM_PTXAS="$ptxas" \
    TILEVM_LOG=note FAKECUDA_LEFT="$PWD/left"
newer=$PWD/newer.tbc # needs more shared memory than sm_80 gives a kernel

# on CAPABILITY FILE KERNEL...: the client on a device of that kind.
on() {
    capability=$1
    shift
    FAKECUDA_DEVICES=$capability "$client" "$@"
}
# with NAME=VALUE COMMAND...
with() (
    export "$1"
    shift
    "$@"
)
# change FILE OFFSET: another byte there.
change() {
    byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    printf "\\$(printf %o $(((byte + 1) % 256)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2> /dev/null
}

# ---- build ----
cat > newer.tileir << 'END'
cuda_tile.module @newer {
  entry @product(%p: tile<ptr<f64>>) {
    %v = make_tensor_view %p, shape = [8192, 4], strides = [4, 1] : tensor_view<8192x4xf64, strides=[4,1]>
    %tiles = make_partition_view %v : partition_view<tile=(8192x4), tensor_view<8192x4xf64, strides=[4,1]>>
    %i = constant <i32: 0> : tile<i32>
    %a = constant <f64: 1.0> : tile<8192x2xf64>
    %b = constant <f64: 1.0> : tile<2x4xf64>
    %c = constant <f64: 0.0> : tile<8192x4xf64>
    %s = mmaf %a, %b, %c : tile<8192x2xf64>, tile<2x4xf64>, tile<8192x4xf64>
    %t0 = make_token : token
    %t1 = store_view_tko weak %s, %tiles[%i, %i] token = %t0 : tile<8192x4xf64>, partition_view<tile=(8192x4), tensor_view<8192x4xf64, strides=[4,1]>>, tile<i32> -> token
    return
  }
}
END
run 0 "$tilevm" asm newer.tileir -o "$newer"
run 0 "$tilevm" bundle build "$kernels/vadd_f32.tbc" "$kernels/softmax_row_f32.tbc" -t sm_90,sm_80 -o app.tvb
says 'app.tvb: 2 kernels in 2 modules for 2 targets'
run 0 "$tilevm" bundle build "$kernels/softmax_row_f32.tbc" "$kernels/vadd_f32.tbc" -t sm_80,sm_90,sm_80 -o again.tvb -j 1
run 0 cmp app.tvb again.tvb
run 0 "$tilevm" bundle build "$kernels/vadd_f32.tbc" "$kernels/softmax_row_f32.tbc" -t sm_80,sm_90 -e ptx -o ptx.tvb
run 0 "$tilevm" bundle build "$kernels/vadd_f32.tbc" -e bytecode -o bytecode.tvb
run 0 "$tilevm" bundle build "$kernels/vadd_f32.tbc" -t sm_80 -o sm_80.tvb
run 0 with FAKE_PTXAS_REFUSES=sm_90a "$tilevm" bundle build "$kernels/vadd_f32.tbc" -t sm_80,sm_90 -o gap.tvb
says "no cubin for sm_90, but PTX: ptxas says"
run 0 "$tilevm" bundle list gap.tvb
says 'cubin    PTX'
run 0 "$tilevm" bundle verify app.tvb
says 'app.tvb: sound'
if command -v unzip > /dev/null; then
    run 0 unzip -tq app.tvb
    run 0 unzip -l app.tvb
    says manifest.json
fi

# ---- what a target cannot run ----
run 0 "$tilevm" bundle build "$newer" "$kernels/vadd_f32.tbc" -t sm_80,sm_120a -o mixed.tvb
says 'sm_80 cannot run it: [G-'
says '-        cubin'
rm -f strict.tvb
run 1 "$tilevm" bundle build "$newer" "$kernels/vadd_f32.tbc" -t sm_80,sm_120a -o strict.tvb --strict
says 'strict.tvb was not written: not every target can run every kernel (--strict)'
run 1 test -e strict.tvb
run 0 "$tilevm" bundle list --json mixed.tvb
says '"why":	"[G-'

# ---- bundles that were built apart ----
run 0 "$tilevm" bundle build "$newer" "$kernels/vadd_f32.tbc" "$kernels/softmax_row_f32.tbc" -t sm_80,sm_90 -o whole.tvb
run 0 "$tilevm" bundle build "$newer" -t sm_80,sm_90 -o newer.tvb
for parts in 'app.tvb newer.tvb' 'newer.tvb app.tvb' 'app.tvb newer.tvb app.tvb' 'whole.tvb sm_80.tvb'; do
    run 0 "$tilevm" bundle join $parts -o joined.tvb
    says 'joined.tvb: 3 kernels in 3 modules for 2 targets'
    says 'sm_80 cannot run it: [G-'
    run 0 cmp joined.tvb whole.tvb
done
for target in sm_80 sm_90; do
    run 0 "$tilevm" bundle build "$newer" "$kernels/vadd_f32.tbc" "$kernels/softmax_row_f32.tbc" -t $target -o only-$target.tvb
done
run 0 "$tilevm" bundle join only-sm_90.tvb only-sm_80.tvb -o joined.tvb
run 0 cmp joined.tvb whole.tvb
run 0 "$tilevm" bundle join bytecode.tvb -o joined.tvb
run 0 cmp joined.tvb bytecode.tvb
run 0 "$tilevm" bundle build "$kernels/vadd_f32.tbc" -t sm_90,sm_90a -o both.tvb
run 0 "$tilevm" bundle join both.tvb -o joined.tvb
run 0 cmp joined.tvb both.tvb
rm -f joined.tvb
run 1 "$tilevm" bundle join newer.tvb app.tvb -o joined.tvb --strict
says 'joined.tvb was not written'
run 0 "$tilevm" bundle build "$newer" -t sm_90 -O1 -o other.tvb
run 1 "$tilevm" bundle join app.tvb other.tvb -o joined.tvb
says 'app.tvb and other.tvb were built with different options'
run 1 "$tilevm" bundle join app.tvb gap.tvb bytecode.tvb newer.tvb other.tvb -o joined.tvb
# The same kernel from two files; other code for one kernel; what is damaged.
"$tilevm" strip "$kernels/vadd_f32.tbc" -o stripped.tbc
run 0 "$tilevm" bundle build stripped.tbc -t sm_80,sm_90 -o other.tvb
run 1 "$tilevm" bundle join app.tvb other.tvb -o joined.tvb
says ' is in other.tvb and in app.tvb'
run 0 with FAKE_PTXAS_SAYS=other "$tilevm" bundle build "$kernels/vadd_f32.tbc" -t sm_80 -o other.tvb
run 1 "$tilevm" bundle join app.tvb other.tvb -o joined.tvb
says '[L-BUNDLE-01] other.tvb: it has other code for a kernel and target that another bundle has, too'
cp newer.tvb damaged.tvb && change damaged.tvb $(($(wc -c < damaged.tvb) / 2))
run 1 "$tilevm" bundle join app.tvb damaged.tvb -o joined.tvb
says '[L-BUNDLE-01] damaged.tvb'
run 1 test -e joined.tvb
# Files of one name stay apart, whichever names there are.
mkdir -p names/a names/b
for i in 1 2 3; do
    echo "cuda_tile.module @m { entry @named$i() { return } }" > named.tir && "$tilevm" asm named.tir -o named$i.tbc
done
cp named1.tbc names/a/k.tbc && cp named2.tbc names/b/k.tbc && cp named3.tbc names/k.2.tbc
run 0 "$tilevm" bundle build names -e bytecode -o names.tvb
run 0 "$tilevm" bundle extract names.tvb -o names-out
run 0 test "$(ls names-out)" = 'k.2.tbc
k.3.tbc
k.tbc'

# ---- which artifact is taken ----
run 0 on 90 app.tvb vadd softmax_row
says "vadd: cubin sm_90a: a cubin for sm_90a, the device's own target"
says 'cuLaunchKernel vadd_Kt1_'
says 'tilevm: note: app.tvb: a bundle of 2 kernels, not signed, opened in'
run 0 on 86 app.tvb vadd
says 'vadd: family cubin sm_80: a cubin for sm_80, which sm_86 runs too'
run 0 on 87 app.tvb vadd
says 'vadd: PTX sm_80: PTX 7.5 for sm_80, which the driver assembles for sm_87'
run 0 on 100 app.tvb vadd
says 'vadd: PTX sm_90: PTX 7.5 for sm_90, which the driver assembles for sm_100'
run 0 on 90 bytecode.tvb vadd
says 'vadd: bytecode: bytecode, compiled for sm_90'
run 0 on 90 --data app.tvb vadd
says 'vadd: cubin sm_90a'
run 0 with BUNDLE_DEVICES=2 on 90,80 app.tvb vadd
says 'vadd: cubin sm_90a'
says 'vadd: cubin sm_80'
run 0 on 90 --threads app.tvb vadd softmax_row
says '8 threads: fine'
run 0 with BUNDLE_DEVICES=2 on 90,80 --threads app.tvb vadd softmax_row
says '8 threads: fine'
silent 'objects were left'
run 1 on 90 app.tvb nothing
says '[L-LOAD-02] app.tvb: there is no kernel nothing among its 2'
run 1 on 70 app.tvb vadd
says 'the device is sm_70'

# ---- what `fleet check` says is what is taken ----
for capability in 80 86 87 89 90 100 120; do
    for version in 12.8 13.0; do
        echo '{"schema": "tilevm-fleet/1", "hosts": [{"name": "host", "gpu": "sm_'$capability'", "drivers": "'$version'"}]}' > fleet.json
        for bundle in app ptx bytecode sm_80; do
            run 0 "$tilevm" fleet check $bundle.tvb --fleet fleet.json --json
            why=$(sed -n '/"kernel":.*"vadd_/,/}/s/.*"why":\t"\(.*\)",*$/\1/p' out)
            run 0 with "FAKECUDA_VERSION=${version%.*}0${version#*.}0" on $capability $bundle.tvb vadd
            says "vadd: "
            says ": ${why:?}"
        done
    done
done

# ---- loading all of it ahead ----
run 0 with FAKECUDA_DEVICES=90,80 "$tilevm" cache warm app.tvb
says 'cuda:0, No GPU 0 (sm_90): 2 kernels loaded'
says 'cuda:1, No GPU 1 (sm_80): 2 kernels loaded'
run 0 with FAKECUDA_DEVICES=90,80 "$tilevm" cache warm app.tvb --json
says '"schema":	"tilevm-cache-warm/1"'
says '"capability":	80'
says '"failed":	0'
run 1 with FAKECUDA_FAIL=cuModuleLoadDataEx=218 "$tilevm" cache warm app.tvb --json
says '"loaded":	0'
says '"problems":	["[L-JIT-01]'
run 1 with FAKECUDA_DEVICES=90 "$tilevm" cache warm nothere.tvb --json
says '"problem":'
run 0 with FAKECUDA_DEVICES=90,80 "$tilevm" cache warm app.tvb --device 1
silent cuda:0
run 0 with FAKECUDA_DEVICES=90 "$tilevm" cache clear
run 0 with FAKECUDA_DEVICES=90 "$tilevm" cache warm bytecode.tvb
run 0 "$tilevm" cache list
says '1 entry'
run 2 with FAKECUDA_FAIL=cuModuleLoadDataEx=2 "$tilevm" cache warm bytecode.tvb
says 'CUDA_ERROR_OUT_OF_MEMORY'
says '0 kernels loaded, 1 not'
run 1 with FAKECUDA_FAIL=cuModuleLoadDataEx=218 "$tilevm" cache warm bytecode.tvb
says '0 kernels loaded, 1 not'
run 2 with FAKECUDA_DEVICES=none "$tilevm" cache warm app.tvb
run 2 "$tilevm" cache warm app.tvb --device 7
says 'there is no device cuda:7'
run 1 "$tilevm" cache warm nothere.tvb
run 2 "$tilevm" cache warm
run 2 "$tilevm" cache list --device 1

# ---- a driver that does not take what suits best ----
run 1 with FAKECUDA_FAIL=cuModuleLoadDataEx=209 on 90 app.tvb vadd
says '[L-BUNDLE-03]'
says "the driver refused a cubin for sm_90a, the device's own target (CUDA_ERROR_NO_BINARY_FOR_GPU); trying the next best artifact"
says 'the driver refused PTX 7.5 for sm_90'
run 0 on 90 --each-call app.tvb vadd
says 'each of many calls failed in turn: fine'
run 0 on 90 --each-call ptx.tvb softmax_row
says 'each of many calls failed in turn: fine'

# ---- signatures ----
if command -v openssl > /dev/null; then
    openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out public.pem || exit 2
    openssl genpkey -algorithm ed25519 | openssl pkey -pubout -out other.pem || exit 2
    cp app.tvb signed.tvb
    run 0 "$tilevm" bundle sign -k key.pem signed.tvb
    run 0 "$tilevm" bundle sign -k key.pem signed.tvb -o twice.tvb
    run 0 cmp signed.tvb twice.tvb
    run 0 "$tilevm" bundle verify --key public.pem signed.tvb
    says 'signed.tvb: sound, and signed with that key'
    run 1 "$tilevm" bundle verify --key other.pem signed.tvb
    says '[L-BUNDLE-02] signed.tvb: it is signed, but not with this key: other.pem'
    run 1 "$tilevm" bundle verify --key public.pem app.tvb
    says '[L-BUNDLE-02] app.tvb: it is not signed: public.pem'
    run 2 "$tilevm" bundle sign -k public.pem app.tvb -o no.tvb
    says '[L-BUNDLE-02] the key public.pem cannot be used: it is a public key, and the private half is needed to sign'
    run 2 "$tilevm" bundle sign -k nope.pem app.tvb -o no.tvb
    says 'the key nope.pem cannot be used: No such file or directory'
    # An encrypted key prompts for nothing.
    openssl pkcs8 -topk8 -in key.pem -passout pass:open-sesame -out encrypted.pem || exit 2
    echo open-sesame > phrase && chmod 600 phrase
    run 2 "$tilevm" bundle sign -k encrypted.pem app.tvb -o no.tvb < /dev/null
    says 'it is encrypted; name the file with its passphrase with --passphrase-file'
    run 1 test -e no.tvb
    run 0 "$tilevm" bundle sign -k encrypted.pem --passphrase-file phrase app.tvb -o with_phrase.tvb
    run 0 cmp signed.tvb with_phrase.tvb
    run 2 "$tilevm" bundle sign -k encrypted.pem -P public.pem app.tvb -o no.tvb
    says 'the passphrase file public.pem cannot be used: '
    run 0 with TILEVM_BUNDLE_KEY=public.pem on 90 signed.tvb vadd
    run 1 with TILEVM_BUNDLE_KEY=other.pem on 90 signed.tvb vadd
    says '[L-BUNDLE-02] signed.tvb: it is signed, but not with this key'
    run 1 with TILEVM_BUNDLE_KEY=public.pem on 90 app.tvb vadd
    says '[L-BUNDLE-02] app.tvb: it is not signed'
    run 1 with TILEVM_BUNDLE_KEY=nothere.pem on 90 signed.tvb vadd
    # The keys that a host trusts.
    mkdir trusted && cp other.pem public.pem trusted || exit 2
    run 0 with TILEVM_BUNDLE_TRUST=trusted on 90 signed.tvb vadd
    run 1 with TILEVM_BUNDLE_TRUST=trusted on 90 app.tvb vadd
    says '[L-BUNDLE-02] app.tvb: it is not signed: trusted'
    run 1 with TILEVM_BUNDLE_KEY=public.pem with TILEVM_BUNDLE_TRUST=other.pem on 90 signed.tvb vadd
    says '[L-BUNDLE-02] signed.tvb: it is signed, but not with this key: other.pem'
    # A digit of the signature changed: nobody loads it, key or not.
    at=$(grep -abo 'ed25519 ' signed.tvb | head -n 1 | cut -d: -f1)
    cp signed.tvb forged.tvb && printf 0123456789abcdef | dd of=forged.tvb bs=1 seek=$((at + 100)) conv=notrunc 2> /dev/null
    run 1 on 90 forged.tvb vadd
    says '[L-BUNDLE-02] forged.tvb: the signature is wrong'
    run 1 "$tilevm" bundle verify forged.tvb
    # Without the library nobody can tell, and a bundle that is signed is not opened.
    mkdir none && echo 'int nothing;' > none.c
    "$CC" -shared none.c -o none/libcrypto.so.3 && cp none/libcrypto.so.3 none/libcrypto.so.1.1 || exit 2
    run 1 with LD_LIBRARY_PATH="$PWD/none:$LD_LIBRARY_PATH" on 90 signed.tvb vadd
    says '[L-BUNDLE-02] signed.tvb: signatures need OpenSSL'
    run 1 with LD_LIBRARY_PATH="$PWD/none" "$tilevm" bundle verify --key public.pem signed.tvb
    says 'signatures need OpenSSL'
    run 0 with LD_LIBRARY_PATH="$PWD/none:$LD_LIBRARY_PATH" on 90 app.tvb vadd
fi

# ---- damage: every part, found by verify, and never loaded ----
size=$(wc -c < app.tvb)
for cut in 0 1 30 300 $((size / 2)) $((size - 100)) $((size - 1)); do
    head -c "$cut" app.tvb > damaged.tvb
    run 1 "$tilevm" bundle verify damaged.tvb
    says '[L-BUNDLE-01] damaged.tvb: '
    run 1 on 90 damaged.tvb vadd
    says '[L-BUNDLE-01] damaged.tvb: '
done
# Another byte somewhere: refused, unless it is one of a packed stream that unpacks to the same.
"$tilevm" bundle extract app.tvb -o whole > /dev/null
unharmed() {
    "$tilevm" bundle verify damaged.tvb || return 0
    rm -rf part && "$tilevm" bundle extract damaged.tvb -o part && diff -r whole part
}
for at in $(seq 0 $((size / 60)) $((size - 1))); do
    cp app.tvb damaged.tvb && change damaged.tvb "$at"
    run 0 unharmed
done
cat app.tvb app.tvb > damaged.tvb
run 1 "$tilevm" bundle verify damaged.tvb
object=$("$tilevm" bundle show app.tvb -K vadd | sed -n 's/.*sm_90a .*\(objects.*\)/\1/p')
at=$(grep -abo "$object" app.tvb | head -n 1 | cut -d: -f1)
cp app.tvb damaged.tvb && change damaged.tvb $((at + 100))
run 1 on 90 damaged.tvb vadd
says "[L-BUNDLE-01] damaged.tvb: $object: it "
run 0 on 80 damaged.tvb vadd
run 1 on 90 nothere.tvb vadd
says '[L-BUNDLE-01] nothere.tvb: No such file or directory (CUDA_ERROR_FILE_NOT_FOUND)'

# ---- embed: C that needs nothing but the driver ----
cp "$here/../gpu/embedded.c" main.c
flags="-Wall -Wextra -Wpedantic -Werror ${SANITIZE:-}"
# embedded CAPABILITY: the program on a device of that kind, which runs on the simulator.
embedded() {
    with FAKECUDA_RUN=1 with FAKECUDA_DEVICES="$1" ./main
}
run 0 "$tilevm" embed "$kernels/vadd_f32.tbc" "$kernels/softmax_row_f32.tbc" -t sm_80,sm_90 -e ptx -o kernels.c
run 0 "$CC" -std=c11 $flags main.c kernels.c -o main -pthread -ldl
run 0 embedded 90
says 'vadd gives 0 on device 0, 0 elements are wrong'
run 0 embedded 86
says 'vadd gives 0 on device 0, 0 elements are wrong'
run 1 embedded 70
says 'vadd gives 209 on device 0, 0 elements'
run 1 with FAKECUDA_FAIL=cuModuleLoadData=2 embedded 90
says 'vadd gives 2 on device 0, 0 elements'
cp kernels.c from_bytecode.c
run 0 "$tilevm" embed ptx.tvb -o kernels.c
run 0 cmp kernels.c from_bytecode.c
run 0 "$tilevm" embed app.tvb -o kernels.c
run 0 "$CC" -std=c11 $flags main.c kernels.c -o main -pthread -ldl
run 0 embedded 90
says 'vadd gives 0 on device 0, 0 elements are wrong'
if command -v c++ > /dev/null; then
    run 0 c++ $flags -fsyntax-only -x c++ kernels.h
fi
run 1 "$tilevm" embed bytecode.tvb -o kernels.c
says 'it has a kernel as bytecode only'
run 1 "$tilevm" embed damaged.tvb -o kernels.c
run 2 "$tilevm" embed app.tvb -o kernels.cpp
says 'name a C file with -o FILE.c'

# ---- nothing is left ----
run 1 test -s left
echo "bundle: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
