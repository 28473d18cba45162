#!/bin/sh
# What to run in the first hour on a GPU that our tests have never run on (docs/notes/2026-11-first-hour.md).
#
#   first_hour.sh BUILD CORPUS CPP SWEEP FOLDER [SHARE]     SHARE: every Nth case (1)
#
# BUILD has the programs, CORPUS and CPP are the unpacked corpora, SWEEP the unpacked cases of the sweep. Each step has a
# limit; together they take an hour at most. Prints a line for each, leaves the logs in FOLDER, packs them as
# FOLDER.tar.gz, and ends with `first hour: N passed, N failed, N skipped`. PYTHON: an interpreter, for the sweep with
# torch. FIRST_HOUR_STEPS: the names of the steps to run (all).
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
corpus=$(cd "$2" && pwd)
cpp=$(cd "$3" && pwd)
sweep=$(cd "$4" && pwd)
rm -rf "$5" && mkdir -p "$5" && folder=$(cd "$5" && pwd) || exit 2
share=${6:-1}
python=${PYTHON:-python3}
tests=$here/..
export TILEVM_CACHE_DIR="$folder/cache" CUDA_CACHE_PATH="$folder/driver" NO_COLOR=1
part=0/$share
jobs=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
[ "$jobs" -le 16 ] || jobs=16
passed=0 failed=0 skipped=0 number=0

seconds() { date +%s; }
begun=$(seconds)

# step NAME LIMIT COMMAND...: runs it for LIMIT seconds at most. What ends with a line that says `skipped` was.
step() {
    name=$1 limit=$2 at=$(seconds)
    shift 2
    case " ${FIRST_HOUR_STEPS:-$name} " in *" $name "*) ;; *) return ;; esac
    number=$((number + 1))
    timeout "$limit" "$@" > "$folder/$name.log" 2>&1 < /dev/null
    status=$?
    last=$(tail -n 1 "$folder/$name.log")
    case $status,$last in
    124,*) verdict=STOPPED failed=$((failed + 1)) ;;
    0,*' passed, '*) verdict=passed passed=$((passed + 1)) ;;
    0,*skipped* | 0,*'there is no device'*) verdict=skipped skipped=$((skipped + 1)) ;;
    0,*) verdict=passed passed=$((passed + 1)) ;;
    *) verdict=FAILED failed=$((failed + 1)) ;;
    esac
    took=$(($(seconds) - at))
    printf '%2d %-10s %-8s %4d s  %s\n' $number "$name" "$verdict" $took "$last" | tee -a "$folder/summary.txt"
}

describe() {
    "$build/tilevm" --version
    uname -srm
    nvidia-smi 2> /dev/null || echo "there is no nvidia-smi"
    nvidia-smi -q 2> /dev/null
    ptxas --version 2> /dev/null || /usr/local/cuda/bin/ptxas --version 2> /dev/null || echo "there is no ptxas"
    "$python" -c 'import torch; print("torch", torch.__version__)' 2> /dev/null || echo "there is no torch"
    "$build/tilevm" doctor --json
}

describe > "$folder/machine.txt" 2>&1
target=$("$build/tilevm" doctor 2> /dev/null | sed -n 's/^.. *code 0 *for \(sm_[0-9a-z]*\):.*/\1/p')
if [ -z "$target" ]; then
    "$build/tilevm" doctor 2>&1 | sed 's/^/    /'
    echo "first hour: skipped, there is no device that kernels run on"
    exit 0
fi
sm=$(echo "$target" | tr -dc '0-9')
echo "code for $target; logs in $folder" | tee "$folder/summary.txt"

step doctor 60 "$build/tilevm" doctor
step corpus 420 "$build/corpus_run" "$corpus" --version 13.5 --gpu "$target" --needs "$tests/corpus/unsupported.txt" \
    --jobs "$jobs" --part "$part"
step matrix 480 "$build/matrix" "--gpu=$target" "--jobs=$jobs" --quick "--part=$part"
[ "$sm" -lt 90 ] || step clusters 180 "$build/corpus_run" "$corpus" --version 13.5 --gpu "$target" --cluster 2 \
    --needs "$tests/corpus/unsupported.txt" --jobs "$jobs" --part "$part"
step cpp 120 "$build/corpus_run" "$cpp" --version 13.5 --gpu "$target" --needs "$tests/cpp/unsupported.txt" \
    --jobs "$jobs" --part "$part"
step random 120 "$build/random_ptx" $((60 / share + 1)) "$target" 1 gpu
step memory 120 "$build/random_memory" $((400 / share + 1)) "$target" 1 gpu
step products 120 "$build/random_memory" $((400 / share + 1)) "$target" 1 gpu products
[ "$sm" -lt 90 ] || step chains 120 "$build/random_memory" $((400 / share + 1)) "$target" 1 gpu chains
step run 120 sh "$here/run.sh" "$build" "$corpus"
step loader 180 sh "$here/loader.sh" "$build" "$corpus/bytecode/13.4/vadd_f32.tbc"
step deploy 240 bash "$here/deploy.sh" "$build" "$corpus"
step speed 240 "$build/corpus_run" "$corpus" --gpu "$target" --version 13.5 --perf --jobs 1 --part "$part"
step sanitizer 600 sh "$here/sanitizer.sh" "$build" "$corpus" "$target" $((8 * share)) "$jobs"
step sweep 600 sh "$here/first_hour_sweep.sh" "$build" "$sweep" "$folder" "$target" "$jobs"

rm -rf "$folder/cache" "$folder/driver" "$folder/sweep"
tar -czf "$folder.tar.gz" -C "$(dirname "$folder")" "$(basename "$folder")" || exit 2
echo "send back $folder.tar.gz ($(($(seconds) - begun)) s)"
echo "first hour: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
