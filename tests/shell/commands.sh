#!/bin/sh
# What fixtures cannot say of the commands: terminals, colours of the environment, links and permissions, completions,
# documents for machines. commands.sh BUILD FOLDER; ends with `commands: N passed, N failed`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/says.sh"
build=$(cd "$1" && pwd)
tilevm=$build/tilevm
rm -rf "$2" && mkdir -p "$2" && cd "$2" || exit 2
unset NO_COLOR FORCE_COLOR
export HOME="$PWD" TILEVM_CACHE_DIR="$PWD/cache" TERM=xterm

cat > kernel.tir <<'END'
cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>) { return } }
END
"$tilevm" asm kernel.tir -o kernel.tbc || exit 2
head -c 40 kernel.tbc > short.tbc

# ---- control characters of names ----
escape=$(printf '\033')
newline='
'
for command in 'verify' 'inspect' 'disasm' 'run --grid 1' 'compile'; do
    run 2 "$tilevm" $command "none${escape}[31m${newline}tilevm: forged"
    says 'none\x1b[31m\x0atilevm: forged: No such file or directory'
    silent "$escape"
done
run 1 "$build/tileiras" --gpu-name sm_90 "none${escape}[31m"
says 'unable to read input file: none\x1b[31m: No such file'

# ---- colours: the option, then NO_COLOR, then FORCE_COLOR, then the terminal ----
run 1 env FORCE_COLOR=1 "$tilevm" verify short.tbc
says "${escape}[1m"
run 1 env FORCE_COLOR=0 "$tilevm" verify short.tbc
silent "$escape"
run 1 env FORCE_COLOR=1 NO_COLOR=1 "$tilevm" verify short.tbc
silent "$escape"
run 1 env FORCE_COLOR=1 "$tilevm" verify --color never short.tbc
silent "$escape"
run 1 env NO_COLOR=1 "$tilevm" verify --color always short.tbc
says "${escape}[1m"
run 1 env FORCE_COLOR= "$tilevm" verify short.tbc
silent "$escape"

# ---- terminals ----
if command -v script > /dev/null; then
    run 2 script -qec "$tilevm gen" /dev/null
    says 'bytecode is not for terminals'
    run 0 script -qec "$tilevm gen -o -" /dev/null
    says 'TileIR'
fi
run 0 "$tilevm" gen
says 'TileIR'

# ---- the version: release and commit ----
version=$(sed -n 's/^.define TV_VERSION "\(.*\)"/\1/p' "$here/../../include/tilevm/tilevm.h")
for option in --version -V; do
    run 0 "$tilevm" $option
    says "tilevm $version (commit $(sh "$here/../../tools/commit.sh"); Tile IR bytecode 13.1 to 13.5)"
done

# ---- help ----
run 0 "$tilevm" help help
says 'usage: tilevm help [options] [COMMAND]'
run 0 "$tilevm" help --help
run 2 "$tilevm" help nothing
says "unknown command 'nothing'"

# ---- files that are there ----
save() { "$tilevm" run kernel.tbc --device cpu --grid 1 'a=arange(f32, 4)' --save "a=$1"; }
run 0 save plain.npy
chmod 0640 plain.npy
run 0 save plain.npy
run 0 sh -c 'ls -l plain.npy | grep "^-rw-r-----"'
ln -s plain.npy link.npy
cp plain.npy before && : > plain.npy
run 0 save link.npy
run 0 test -h link.npy
run 0 cmp plain.npy before
chmod 0444 plain.npy
run 2 save plain.npy
says 'plain.npy: cannot write: it is read-only'
run 2 save link.npy
says 'link.npy: cannot write: it is read-only'
run 2 "$tilevm" gen -o plain.npy
says 'plain.npy: cannot write: it is read-only'
run 0 cmp plain.npy before
ln -s nowhere dangling.npy
run 2 save dangling.npy
says 'dangling.npy: cannot write: it is a link to a missing file'
run 0 test -h dangling.npy

# ---- documents ----
# Standard output is one document, of that command's form, also when things fail.
for status in 0 1 2; do
    case $status in 0) file=kernel.tbc ;; 1) file=short.tbc ;; 2) file=none.tbc ;; esac
    for command in 'verify' 'inspect' 'compile -o k.ptx' 'run --device cpu --grid 1' 'check --grid 1'; do
        for spelling in --json -J; do
            name=${command%% *}
            run $status sh -c '"$@" 2> errors' sh "$tilevm" $command $spelling $file
            says "\"schema\":	\"tilevm-$name/1\""
            cp out document
            run 0 sh -c 'head -n 1 document | grep -qx "{" && tail -n 1 document | grep -qx "}"'
        done
    done
done
for status in 0 2; do
    case $status in 0) file=kernel.tbc ;; 2) file=none.tbc ;; esac
    run $status sh -c "'$tilevm' debug --json $file --grid 1 -c quit 2> errors"
    says '{"schema":"tilevm-debug/1",'
done
run 0 "$tilevm" diff --json kernel.tbc kernel.tbc
says '"schema":	"tilevm-diff/1"'
run 2 sh -c "'$tilevm' diff --json kernel.tbc none.tbc 2> errors"
says '"path":	"none.tbc"'
run 2 sh -c "'$tilevm' run --json none.tbc --grid 1 2> errors"
says '"outcome":	"error"'
says '"message":	"none.tbc: No such file or directory"'
run 0 grep -cx 'tilevm: none.tbc: No such file or directory' errors
run 0 sh -c '[ "$(wc -l < errors)" -eq 1 ]'
run 2 sh -c "'$tilevm' run --json kernel.tbc 2> errors"
says '"message":	"the number of tile blocks is missing; use --grid X[,Y[,Z]]"'
run 0 "$tilevm" explain --list --json
says '"id":	"F-001"'
run 0 "$tilevm" explain --json f-001
says '"fails":	{'
run 2 "$tilevm" explain --json f-999
for action in list verify prune clear path; do
    run 0 "$tilevm" cache $action --json
    says '"schema":	"tilevm-cache/1"'
    says "\"path\":	\"$PWD/cache\""
done
run 2 sh -c "TILEVM_CACHE_SIZE=0 '$tilevm' cache list --json 2> errors"
says '"problem":	"TILEVM_CACHE_SIZE is 0"'
run 0 "$tilevm" compile --json -t sm_80,sm_90 kernel.tbc
says '"output":	"kernel.sm_90.ptx"'
run 2 "$tilevm" compile --json -o - kernel.tbc
run 0 test -s kernel.sm_80.ptx

# ---- JUnit: what Ant's schema asks for beyond other readers of the form ----
run 2 "$tilevm" verify -f junit kernel.tbc short.tbc none.tbc -o junit.xml
if command -v xmllint > /dev/null; then
    run 0 xmllint --noout --relaxng "$here/../data/junit-ant.rng" junit.xml
fi

# ---- completions ----
run 0 "$tilevm" completions bash tileiras
says '--gpu-name) words='
run 2 "$tilevm" completions bash other
run 2 "$tilevm" completions bash tilevm more
if command -v bash > /dev/null; then
    complete() { # complete PROGRAM WORD...: what bash offers for the last word
        program=$1
        bash -c '. /dev/stdin; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_$1"; printf "%s\n" "${COMPREPLY[@]}"' \
            bash "$@" <<END
$("$tilevm" completions bash "$program")
END
    }
    run 0 complete tilevm explain V-ENT-
    says 'V-ENT-08'
    run 0 complete tilevm explain --js
    says '--json'
    run 0 complete tilevm cache ver
    says 'verify'
    run 0 complete tilevm completions z
    says 'zsh'
    run 0 complete tileiras --gpu
    says '--gpu-name'
    run 0 complete tileiras --gpu-name sm_9
    says 'sm_90'
    run 0 complete tileiras --remarks = mem
    says 'memory'
fi

echo "commands: $passed passed, $failed failed"
[ $failed -eq 0 ]
