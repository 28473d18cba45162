#!/bin/sh
# The Python package: its modules, the wheel, cuTile Python without a GPU; lines `name: N passed, N failed`.
#
#   python.sh PYTHON BUILD KERNELS FOLDER     FOLDER is made
#
# Whatever that Python lacks (numpy, cuda-tile, torch, pytest) is skipped, with a word.
set -u
python=$1
build=$(cd "$2" && pwd)
kernels=$(cd "$3" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$4" && mkdir -p "$4" && cd "$4" || exit 2
folder=$PWD
status=0
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { echo "python: skipped, there is no $python of 3.10 or later"; exit 0; }
has() { "$python" -c "import $1" 2>/dev/null; }

# unit NAME FILE: the tests of a file, counted
unit() {
    "$python" "$root/tests/python/$2" > "$1.log" 2>&1
    ended=$?
    ran=$(sed -n 's/^Ran \([0-9]*\) tests* in .*/\1/p' "$1.log")
    bad=$(sed -n 's/^FAILED (//p' "$1.log" | tr -c '0-9=a-z' ' ' | awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^(failures|errors)=/) { sub(/.*=/, "", $i); n += $i } } END { print n + 0 }')
    left=$(sed -n 's/^.*skipped=\([0-9]*\).*/\1/p' "$1.log")
    [ $ended -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    [ "$bad" -ne 0 ] && { cat "$1.log"; status=1; }
    [ -n "$left" ] && echo "python $1: skipped, $left tests need numpy, cuda-tile, torch or pytest, which this Python has not all"
    echo "python $1: $((${ran:-0} - ${left:-0} - bad)) passed, $bad failed"
}

export PYTHONPATH="$root/tools/python" TILEVM_LIBRARY="$build/libtilevm.so" TILEVM_TEST_KERNELS="$kernels" PYTHONDONTWRITEBYTECODE=1
unit package test_package.py
unit interface test_abi.py
unit variants test_variants.py
if has numpy; then
    export LD_LIBRARY_PATH="$build/fakecuda" FAKECUDA_RUN=1 TILEVM_CACHE_DIR="$folder/cache"
    unit device test_device.py
    unset LD_LIBRARY_PATH FAKECUDA_RUN TILEVM_CACHE_DIR
else
    echo "python device: skipped, numpy is not installed"
fi
if has cuda.tile; then
    unit cutile test_cutile.py
else
    echo "python cutile: skipped, cuda-tile is not installed"
fi

# The wheel, installed where there is no compiler and no network.
unset PYTHONPATH TILEVM_LIBRARY
passed=0
failed=0
try() { # try WHAT COMMAND...: it succeeds
    what=$1
    shift
    if "$@" > try.log 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$what:"
        cat try.log
    fi
}
if ! has tomllib || ! "$python" -m venv --help > /dev/null 2>&1 || ! has ensurepip; then
    echo "python wheel: skipped, building needs Python 3.11, installing venv and ensurepip"
    exit $status
fi
try 'the wheel is built' "$python" "$root/tools/python/backend.py" "$build/wheel" "$folder/one"
try 'it is built again' "$python" "$root/tools/python/backend.py" "$build/wheel" "$folder/two"
try 'with the same bytes' cmp one/*.whl two/*.whl
# A library that needs what a system may lack gets no tag that says all have it.
if readelf -d "$build/libtilevm.so" | grep -q zstd; then
    cp -r "$build/wheel" other && cp "$build/libtilevm.so" other/package/
    try 'what not all systems have is refused' sh -c '! "$@" 2> said && grep -q "cannot need liblz4.so.1, libzstd.so.1" said' sh "$python" "$root/tools/python/backend.py" other three
fi
try 'a virtual environment' "$python" -m venv venv
try 'it is installed' env PATH="$folder/venv/bin:/nowhere" venv/bin/pip install --no-index --no-cache-dir one/*.whl
try 'tilevm is there' venv/bin/tilevm verify "$kernels/vadd_f32.tbc"
try 'tileiras is there' venv/bin/tileiras --version
try 'the module is there' venv/bin/python -c 'import sys, tilevm; sys.exit(bool(tilevm.verify(sys.argv[1])))' "$kernels/vadd_f32.tbc"
try 'its version is that of the command' sh -c 'test "$(venv/bin/tilevm --version | cut -d" " -f2)" = "$(venv/bin/python -c "import tilevm; print(tilevm.__version__)")"'
try 'cuTile is asked for where it is missing' sh -c '! venv/bin/python -m tilevm.cutile x.py 2>&1 | grep -v "pip install cuda-tile" | grep Traceback'
try 'it is removed' venv/bin/pip uninstall -y tilevm
try 'nothing is left' sh -c '! ls venv/bin | grep -E "^tile(vm|iras)$" && ! ls venv/lib/tilevm 2>/dev/null'
echo "python wheel: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $status -eq 0 ]
