#!/bin/sh
# Mutation testing (README.md): run.sh PLANT BUILD COUNT SEED JOBS FILE...
# Plants COUNT single faults, drawn by SEED, one at a time into scratch copies of the tree and runs the tests that
# tests.txt gives for the file, until one fails. Results are kept in BUILD/mutation/results: what is there is not tried
# again, except, with RETRY=1, faults that survived. Lists survivors; those of survivors.txt have a reason.
set -u
plant=$1 build=$2 count=$3 seed=$4 jobs=$5
shift 5
here=tests/mutation
work=$(mkdir -p "$build/mutation" && cd "$build/mutation" && pwd)
results=$work/results
OUT=build/release
CORPUS=$(cd "$build/corpus" && pwd)
export OUT CORPUS
sources='Makefile mk bytecode codegen container docs include loader tests tools vm'
tab=$(printf '\t')
# Mutants are compiled without debugging information, and may earn warnings; but not take one pointer for another.
flags='WERROR=0 CFLAGS=-g0 -Werror=int-conversion -Werror=incompatible-pointer-types -Werror=implicit-function-declaration'
touch "$results"

build() { # TREE GOALS...
    tree=$1
    shift
    ${MAKE:-make} -C "$tree" -s --no-print-directory -j "$jobs" BUILD=build CONFIG=release "${flags%% *}" "${flags#* }" "$@"
}

programs() { # of a row of tests.txt
    for p in $(echo "$1" | cut -d'|' -f2); do echo "$OUT/$p"; done
}

# run_test TREE ROW SECONDS: 0 when it passes. The seconds are those of the processor, for each process, so that a busy
# machine ends none; ten times as long is for what waits in vain.
run_test() {
    (cd "$1" && ulimit -S -v 16000000 && ulimit -S -f 400000 && ulimit -S -t "$3" &&
        exec timeout -k 5 $((10 * $3)) sh -c "$(echo "$2" | cut -d'|' -f3-)") > "$1.log" 2>&1
}

limit_of() { # ROW: seconds, or nothing
    row=$1 awk -F'\t' '$2 == ENVIRON["row"] { print $1 }' "$work/limits"
}

# The rows of tests.txt for a file.
rows() {
    while IFS= read -r row; do
        # shellcheck disable=SC2254
        case $row in \#*) ;; *) pattern=$(echo "$row" | sed 's/ *|.*//'); case $1 in $pattern) echo "$row" ;; esac ;; esac
    done < "$here/tests.txt"
}

# Brings a copy of the tree and its library up to date; what an interrupted run had planted there is built again.
copy_tree() {
    mkdir -p "$1"
    # shellcheck disable=SC2086
    (cd "$1" && rm -rf $sources) && tar cf - $sources | tar xf - -C "$1"
    [ ! -f "$1.planted" ] || touch "$1/$(cat "$1.planted")"
    rm -f "$1.planted"
    build "$1" "$OUT/libtilevm.a"
}

# All tests that may run, without a fault: they must pass, and their time sets the limit. Known limits hold until a file
# changes.
baseline() {
    # shellcheck disable=SC2086
    [ -f "$work/limits" ] && [ -z "$(find $sources -newer "$work/limits" -type f)" ] || : > "$work/limits"
    for file in "$@"; do rows "$file"; done | sort -u > "$work/rows"
    while IFS= read -r row; do
        [ -z "$(limit_of "$row")" ] || continue
        # shellcheck disable=SC2046
        build "$work/tree.0" $(programs "$row") || return 1
        start=$(date +%s)
        run_test "$work/tree.0" "$row" 600 || { echo "fails without a fault: $row" >&2; cat "$work/tree.0.log" >&2; return 1; }
        echo "$((5 + 5 * ($(date +%s) - start)))$tab$row" >> "$work/limits"
    done < "$work/rows"
}

# All programs of a tree, and the compiler's command lines for what a fault can change, as make has them: to run make for
# each fault would take longer than to compile it.
prepare() {
    all=$(while IFS= read -r row; do programs "$row"; done < "$work/rows" | sort -u)
    # shellcheck disable=SC2086
    build "$1" $all && build "$1" -n -B "$OUT/libtilevm.a" $all | grep ' -o build/' > "$work/commands"
}

# make_again TREE TARGET OBJECT: what is linked takes the object before it looks into the library.
make_again() {
    (cd "$1" && eval "$(grep -- " -o $2\$" "$work/commands" | sed "s|$OUT/libtilevm.a|$3 &|")") > "$1.log" 2>&1
}

# try TREE FILE NUMBER: says what became of it, and which test said so.
try() {
    object=$OUT/obj/${2%.c}.o
    cp "$1/$object" "$1.o"
    echo "$2" > "$1.planted"
    "$plant" put "$3" "$2" > "$1/$2"
    if ! make_again "$1" "$object" ""; then
        echo "invalid"
    elif cmp -s "$1.o" "$1/$object"; then
        echo "same code"
    else
        meet_tests "$1" "$2"
    fi
    cp -p "$2" "$1/$2"
    cp "$1.o" "$1/$object"
    rm -f "$1.planted"
}

meet_tests() {
    rows "$2" > "$1.rows"
    built=' '
    while IFS= read -r row; do
        for p in $(programs "$row"); do
            case $built in *" $p "*) continue ;; esac
            make_again "$1" "$p" "$OUT/obj/${2%.c}.o" || { echo "invalid"; return; }
            built="$built$p "
        done
        run_test "$1" "$row" "$(limit_of "$row")" < /dev/null
        case $? in
        0) ;;
        124 | 137 | 152) echo "killed by the time that passed in${row##*|}"; return ;;
        125 | 126 | 127) echo "not run:${row##*|}"; return ;;
        *) echo "killed by${row##*|}"; return ;;
        esac
    done < "$1.rows"
    echo survived
}

# Every jobs-th fault of the list.
job() {
    line_number=0
    while IFS= read -r fault; do
        line_number=$((line_number + 1))
        [ $((line_number % jobs)) -eq "$1" ] || continue
        file=${fault%%"$tab"*}
        number=$(printf '%s\n' "$fault" | cut -f3)
        outcome=$(try "$work/tree.$1" "$file" "$number")
        printf '%s\t%s\n' "$outcome" "$fault" >> "$results"
        printf '%s\n' "$fault" | awk -F'\t' -v outcome="$outcome" '{print $1 ":" $2 ": " outcome}'
    done < "$work/todo"
}

if [ "${RETRY:-}" ]; then
    grep -v '^survived\|^not run' "$results" > "$results.new"
    mv "$results.new" "$results"
fi
"$plant" list "$seed" "$count" "$@" > "$work/list" || exit 2
cut -f2- "$results" | sort > "$work/known"
awk 'FILENAME == ARGV[1] {known[$0] = 1; next} !($0 in known)' "$work/known" "$work/list" > "$work/todo"
if [ -s "$work/todo" ]; then
    copy_tree "$work/tree.0" || exit 2
    # shellcheck disable=SC2046
    baseline $(cut -f1 "$work/todo" | sort -u) && prepare "$work/tree.0" || exit 2
    i=1
    while [ $i -lt "$jobs" ]; do
        [ -d "$work/tree.$i" ] || cp -a "$work/tree.0" "$work/tree.$i"
        copy_tree "$work/tree.$i" && prepare "$work/tree.$i" || exit 2
        i=$((i + 1))
    done
    i=0
    while [ $i -lt "$jobs" ]; do
        job $i &
        i=$((i + 1))
    done
    wait
fi
awk -F'\t' -f "$here/report.awk" "$here/survivors.txt" "$work/list" "$results"
