#!/bin/sh
# The commands that compile, with a code generator, an assembler and a driver that are not what they seem; ends with
# `dropin: N passed, N failed`.
#
#   dropin.sh BUILD FOLDER      BUILD has fakecuda/, with tilevm and tileiras; FOLDER is made
set -u
. "$(dirname "$0")/says.sh"
build=$(cd "$1" && pwd)
fake=$build/fakecuda
rm -rf "$2" && mkdir -p "$2" && cd "$2" || exit 2
unset CUDA_HOME CUDA_PATH TILEVM_PTXAS TILEVM_IMAGE CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_CACHE_PATH
mkdir temporary || exit 2
export HOME="$PWD" TILEVM_CACHE_DIR="$PWD/cache" NO_COLOR=1 TMPDIR="$PWD/temporary"

tileiras() { "$fake/tileiras" "$@"; }
tilevm() { "$fake/tilevm" "$@"; }

cat > kernel.tir <<'END'
cuda_tile.module @m { entry @scale(%a: tile<ptr<f32>>, %n: tile<i32>) { return } }
END
tilevm asm kernel.tir -o kernel.tbc || exit 2
head -c 40 kernel.tbc > short.tbc
echo 'cuda_tile.module @m { entry @k(%a: tile<4xi32>) { return } }' > invalid.tir
tilevm asm invalid.tir -o invalid.tbc || exit 2
printf 'text\n' > text.tbc

# ---- tileiras: options ----
export TILEVM_PTXAS=none
run 0 tileiras --list-versions
says 13.1
says 13.5
run 0 tileiras --version
says 'Assembler: none; writes PTX'
# What programs that look for a toolkit take as its version is the first match of a pattern, even where the path of the
# assembler has another.
# first PATTERN: the first match in what `tileiras --version` prints
first() { env TILEVM_PTXAS="$PWD/release 9.1, V9.1.85/ptxas" "$fake/tileiras" --version | grep -oE -e "$1" | head -n 1; }
run 0 test "$(first '\bV[0-9]+\.[0-9]+\.[0-9]+\b')" = V13.5.37 # XLA, for all tools of a toolkit
run 0 test "$(first 'release [0-9]+\.[0-9]+')" = 'release 13.5' # Triton, of ptxas
run 0 test "$(first ' V[0-9]+\.[0-9]+\.[0-9]+')" = ' V13.5.37' # CMake, FindCUDAToolkit
run 0 test "$(first 'release [0-9]+\.[0-9]+, *V[0-9]+')" = 'release 13.5, V13' # CMake, FindCUDA
run 0 tileiras --help
says '--gpu-name'
run 1 tileiras
says 'error: no input file provided'
run 1 tileiras --gpu-name sm_90 nothere
says "error: unable to read input file: nothere: No such file or directory"
run 2 tileiras kernel.tbc
says 'error: no GPU architecture was given'
run 1 tileiras --gpu-name=sm_91 kernel.tbc
says "tileiras: for the --gpu-name option: Cannot find option named 'sm_91'"
run 2 tileiras -O4 --gpu-name sm_90 kernel.tbc
says 'error: invalid optimization level: 4'
run 1 tileiras --opt-level=3x --gpu-name sm_90 kernel.tbc
run 1 tileiras --gpu-name sm_90 kernel.tbc kernel.tbc
says 'Too many positional arguments specified!'
run 1 tileiras --bogus
says "Unknown command line argument '--bogus'"
run 1 tileiras --gpu-nam=sm_90 kernel.tbc
says "tileiras: Did you mean '--gpu-name=sm_90'?"
run 1 tileiras --lineinf kernel.tbc
says "tileiras: Did you mean '--lineinfo'?"
run 5 tileiras --host-arch=x86_64 --host-os=linux -arch=sm_90 kernel.tbc -o k.none
says 'nvcc wants a cubin, and no ptxas is found: set CUDA_HOME to the toolkit (or TILEVM_PTXAS to its ptxas)'
run 1 test -e k.none
run 1 tileiras kernel.tbc -o
says 'tileiras: for the -o option: requires a value!'
run 2 tileiras --gpu-name sm_90 -O2 -g kernel.tbc
says 'optimized debugging is currently not supported'
run 2 tileiras --gpu-name sm_90 --apply-controls=x kernel.tbc
run 5 tileiras --gpu-name sm_90 -l x kernel.tbc
run 1 tileiras --gpu-name sm_90 --sanitize=racecheck kernel.tbc
run 1 tileiras --gpu-name sm_90 --preview=other kernel.tbc
run 0 tileiras --gpu-name sm_90 --sanitize=memcheck --host-os=windows --preview=simt -opt-level=2 \
    --lineinfo=true kernel.tbc -o k.out
run 0 tileiras -O0 -g --arch=sm_80 -o k.out -- kernel.tbc
run 0 tileiras --gpu-name sm_90 -O3 --lineinfo --remark-format=yaml --remarks=all --remarks-output-file=r.yaml kernel.tbc -o k.out
run 0 grep -q -e '^--- !Missed$' r.yaml
run 0 grep -q -F "  - Bytes:           '16'" r.yaml
run 0 grep -q -F "  - String:          ' bytes it''s'" r.yaml
run 0 tileiras --gpu-name sm_90 --remarks=memory kernel.tbc -o k.out
says "kernel.py:7:3: remark: [missed memory/VectorAccess] load_view_tko: 16 bytes it's"
run 0 tileiras --gpu-name sm_90 --remarks=all --remarks-missed=none kernel.tbc -o k.out
run 0 test ! -s out
run 0 tileiras --gpu-name sm_90 --remarks-missed=tensorcore --remarks-passed=all --remarks-analysis=all --remarks-failed=all kernel.tbc -o k.out
run 0 test ! -s out
run 3 tileiras --gpu-name sm_90 --remark-format=yaml --remarks=all --remarks-output-file=no/r.yaml kernel.tbc -o k.out

# ---- tileiras: output ----
run 0 tileiras --gpu-name sm_90 kernel.tbc
run 0 test -s elf.o
run 0 tileiras --gpu-name sm_90 kernel.tbc -o k.ptx
run 0 grep -q '.target sm_90' k.ptx
run 0 test "$(tail -c 1 k.ptx | od -An -tx1)" = ' 00'
run 0 test "$(tr -d '\0' < k.ptx | wc -c)" -eq $(($(wc -c < k.ptx) - 1))
run 0 tileiras --gpu-name sm_90 kernel.tbc -o -
says '.entry scale'
run 2 tileiras --gpu-name sm_90 kernel.tbc -o no/k.ptx
says "error: cannot write 'no/k.ptx': No such file or directory"
if [ -c /dev/full ]; then
    run 2 tileiras --gpu-name sm_90 kernel.tbc -o /dev/full
    says "error: cannot write '/dev/full': No space left on device"
    run 0 test -c /dev/full
fi
run 3 tileiras --gpu-name sm_90 short.tbc -o none
says 'error: input does not correspond to Tile IR bytecode'
run 3 tileiras --gpu-name sm_90 invalid.tbc -o none
says 'invalid.tbc:0x'
says ': error: [V-ENT-02]'
run 3 tileiras --gpu-name sm_90 text.tbc -o none
says 'text.tbc:0x0000: error: [F-001]'
export FAKE_COMPILE_REFUSES=1
run 5 tileiras --gpu-name sm_90 kernel.tbc -o none
says 'kernel.py:7:3: error: [G-GEN-01] there is no code for this'
says 'error: failed to compile Tile IR program'
unset FAKE_COMPILE_REFUSES
run 1 test -e none

# ---- ptxas ----
mkdir -p home/bin other
cat > home/bin/ptxas <<'END'
#!/bin/sh
# Notes how it was called; gives its input back, in capitals.
echo "$*" > "${0%/*}/called"
while [ $# -gt 0 ]; do
    case $1 in -o) output=$2; shift ;; -*) ;; *) input=$1 ;; esac
    shift
done
tr 'a-z' 'A-Z' < "$input" > "$output"
echo "ptxas info    : 0 bytes gmem"
echo "ptxas info    : Compiling entry function 'scale' for 'sm_90a'"
echo "ptxas info    : Function properties for scale"
echo "    48 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads"
echo "ptxas info    : Used 255 registers, used 1 barriers"
END
cat > other/ptxas <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in -o) shift ;; -*) ;; *) input=$1 ;; esac
    shift
done
echo "ptxas $input, line 11; error   : Unknown symbol 'x'" >&2
echo "ptxas fatal   : Ptx assembly aborted due to errors" >&2
exit 255
END
chmod +x home/bin/ptxas other/ptxas
unset TILEVM_PTXAS
export CUDA_HOME="$PWD/home"
run 0 tileiras --version
says "Assembler: $PWD/home/bin/ptxas"
run 0 tileiras --gpu-name sm_90 -O2 --lineinfo kernel.tbc -o k.cubin
run 0 grep -q 'ENTRY SCALE' k.cubin
run 0 grep -q -e '^-arch=sm_90a -O2 -lineinfo .*/kernel.ptx -o .*/kernel.cubin$' home/bin/called
run 0 tileiras --gpu-name sm_90 --remarks=all kernel.tbc -o k.cubin
says 'kernel.tbc: remark: [missed kernel/Registers] @scale: 255 registers of a thread, 40 bytes of spill stores, 44 bytes of spill loads'
run 0 grep -q -e ' -v ' home/bin/called
rm home/bin/called
run 0 env PATH="$PWD/other:$PATH" "$fake/tileiras" --gpu-name sm_90 kernel.tbc -o k.cubin
run 0 test -f home/bin/called
unset CUDA_HOME
run 5 env PATH="$PWD/other:$PATH" "$fake/tileiras" --gpu-name sm_90 kernel.tbc -o none
says "error: [L-ASM-01] $PWD/other/ptxas does not assemble the kernel:"
says "line 11; error   : Unknown symbol 'x'"
says 'which belongs to op 0 return kernel.py:3:5'
run 1 test -e none
printf '#!/bin/sh\necho "ptxas fatal   : Value sm_90 is not defined for option '"'gpu-name'"'"\nexit 1\n' > other/old
chmod +x other/old
run 5 env TILEVM_PTXAS="$PWD/other/old" "$fake/tileiras" --gpu-name sm_90 kernel.tbc -o none
says 'help: this ptxas is too old for the kernel'
run 5 env TILEVM_PTXAS=/bin/false "$fake/tileiras" --gpu-name sm_90 kernel.tbc -o none
says 'it printed nothing, and its exit code is 1'
run 5 env TILEVM_PTXAS=/no/such "$fake/tileiras" --gpu-name sm_90 kernel.tbc -o none
# The emulator starts a program that is not there, and ends it with 127.
[ -n "${EMULATED:-}" ] || says '/no/such cannot be run: No such file or directory'
run 5 env TILEVM_PTXAS="$PWD/home/bin/ptxas" TMPDIR=/no/such "$fake/tileiras" --gpu-name sm_90 kernel.tbc -o none
says 'no folder for temporary files'
run 0 test -z "$(ls -A "$TMPDIR")"

# ---- tilevm compile ----
export TILEVM_PTXAS=none
run 0 tilevm compile kernel.tbc
run 0 grep -q '.target sm_80' kernel.ptx
run 0 tilevm compile kernel.tbc --target sm_80,sm_90a,120 -o out.ptx
run 0 grep -q '.target sm_80' out.sm_80.ptx
run 0 grep -q '.target sm_90a' out.sm_90a.ptx
run 0 grep -q '.target sm_120' out.sm_120.ptx
run 0 tilevm compile - -t sm_90 -o - < kernel.tbc
run 2 tilevm compile kernel.tbc --target sm_80,gpu
says "'gpu' is not a target"
run 2 tilevm compile kernel.tbc -t sm_80,sm_90 -o -
run 2 tilevm compile kernel.tbc --ptx-version 8
run 2 tilevm compile
run 1 tilevm compile invalid.tbc
says 'error[V-ENT-02]'
run 1 tilevm compile kernel.tbc -t sm_99
says 'sm_99 is no known target'
run 1 env FAKE_COMPILE_REFUSES=1 "$fake/tilevm" compile kernel.tbc
says 'error[G-GEN-01]: there is no code for this'
run 0 env TILEVM_PTXAS="$PWD/home/bin/ptxas" "$fake/tilevm" compile kernel.tbc -t sm_90 -e cubin
run 0 grep -q 'ENTRY SCALE' kernel.cubin
# Without ptxas the driver assembles; without a driver that is said.
run 0 env LD_LIBRARY_PATH="$fake" "$fake/tilevm" compile kernel.tbc -t sm_90 -o driver.cubin
says "tilevm: note: kernel.tbc: assembled for sm_90 by the driver's linker; the code of a ptxas is faster"
run 0 grep -q 'fake cubin' driver.cubin
run 1 env LD_LIBRARY_PATH="$fake" FAKE_COMPILE_BREAKS=1 "$fake/tilevm" compile kernel.tbc -t sm_90 -o no.cubin
says "Not a name of any known instruction: 'bogus'"
says 'which belongs to op 0 return kernel.py:3:5'
silent 'note: '
run 1 env LD_LIBRARY_PATH="$fake" FAKECUDA_FAIL=cuLinkComplete=218 "$fake/tilevm" compile kernel.tbc -t sm_90 -o no.cubin
says 'tilevm: [L-ASM-01] kernel.tbc: cannot be assembled for sm_90'
says 'cuLinkComplete: CUDA_ERROR_INVALID_PTX (218)'
run 1 env LD_LIBRARY_PATH="$fake" FAKECUDA_DEVICES=none "$fake/tilevm" compile kernel.tbc -t sm_90 -o no.cubin
says 'cuInit: CUDA_ERROR_NO_DEVICE (100)'
if ! ldconfig -p 2> /dev/null | grep -q 'libcuda\.so\.1'; then
    run 1 env LD_LIBRARY_PATH=/no/such "$fake/tilevm" compile kernel.tbc -t sm_90 -o no.cubin
    says '[L-DRV-01] there is no CUDA driver'
    says 'help: set CUDA_HOME to a CUDA toolkit'
fi
run 1 test -e no.cubin

# ---- tilevm cache ----
run 0 tilevm cache path
says "$PWD/cache"
run 0 tilevm cache list
says "0 entries, 0 bytes in $PWD/cache"
if [ -e "$fake/libtilevm_cuda.so" ] && [ "${PRELOAD:-yes}" = yes ]; then
    run 0 env LD_PRELOAD="$fake/libtilevm_cuda.so" "$fake/host" linked kernel.tbc scale
    run 0 tilevm cache list
    says 'sm_90    12080  scale'
    says '1 entry,'
    run 0 tilevm cache verify
    entry=$(find cache -name '*.tvk')
    printf x >> "$entry"
    run 1 tilevm cache verify
    says 'damaged: it is truncated'
    says '[L-CACHE-01] '
    run 0 tilevm cache prune
    says 'removed 1 entry'
    run 0 env LD_PRELOAD="$fake/libtilevm_cuda.so" "$fake/host" linked kernel.tbc scale
    touch "$(dirname "$(find cache -name '*.tvk')")/.tmp-1-2-3"
    run 0 tilevm cache verify
    says '1 entry,'
    touch -d '2 hours ago' "$(find cache -name '.tmp-1-2-3')"
    run 1 tilevm cache verify
    says 'incomplete'
    run 0 tilevm cache prune
    says 'removed 1 entry'
    run 0 tilevm cache verify
    run 0 tilevm cache prune --size 1G
    says 'removed 0 entries'
    run 0 tilevm cache clear
    says 'removed 1 entry'
fi
run 2 tilevm cache
run 2 tilevm cache wipe
says "'wipe' is not one of list|verify|prune|clear|path"
run 2 tilevm cache list --size 5
run 2 tilevm cache prune --size lots
run 2 env TILEVM_CACHE_SIZE=0 "$fake/tilevm" cache list
says 'tilevm: [L-CACHE-02] there is no cache: TILEVM_CACHE_SIZE is 0'
mkdir -p cache && chmod go+w cache
run 2 tilevm cache list
says '[L-CACHE-02] '
says 'others may write to the folder'

echo "dropin: $passed passed, $failed failed"
[ $failed -eq 0 ]
