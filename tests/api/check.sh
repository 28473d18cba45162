#!/bin/sh
# The library as others get it: installed into an empty folder, found by pkg-config, linked shared and static into a C
# program (example.c) and a C++ one (header.cc). check.sh FOLDER; ends with `api: N passed, N failed`. With UPDATE set,
# example.txt becomes what the program prints.
set -u
MAKE=${MAKE:-make}
CC=${CC:-cc}
here=$(dirname "$0")
rm -rf "$1"
mkdir -p "$1"
root=$(cd "$1" && pwd)
prefix=/opt/tilevm
installed=$root$prefix
lib=lib/multiarch # as distributions have it, lib/x86_64-linux-gnu
passed=0
failed=0

check() { # check WHAT COMMAND...: counts; shows what a command that failed said
    what=$1
    shift
    if "$@" > "$root/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what"
        sed 's/^/    /' "$root/log"
    fi
}

package() { # pkg-config that sees nothing but what was installed, and what that asks for
    PKG_CONFIG_SYSROOT_DIR= PKG_CONFIG_PATH=$installed/$lib/pkgconfig \
        pkg-config --define-variable=prefix="$installed" "$@" tilevm
}
version() { package --modversion && [ "$(package --modversion)" = "$(sed -n 's/^.define TV_VERSION "\(.*\)"/\1/p' \
    "$installed/include/tilevm/tilevm.h")" ]; }
runs() { # runs PROGRAM: ends with 0 and prints what is expected
    LD_LIBRARY_PATH=$installed/$lib "$1" > "$root/out" || return 1
    [ -z "${UPDATE:-}" ] || cp "$root/out" "$here/example.txt"
    diff "$here/example.txt" "$root/out"
}
is_shared() { LD_LIBRARY_PATH=$installed/$lib ldd "$1" | grep -q "libtilevm.so.0 => $installed/$lib/"; }
tool() { "$installed/bin/tilevm" --version && "$installed/bin/tilevm" help run; }

strict="-std=c11 -Wall -Wextra -Wpedantic -Werror"
check "install" $MAKE --no-print-directory install DESTDIR="$root" PREFIX=$prefix LIBDIR=$prefix/$lib
check "the version of the package" version
check "the command" tool
check "shared: build" $CC $strict "$here/example.c" $(package --cflags --libs) -o "$root/shared"
check "shared: run" runs "$root/shared"
check "shared: takes the installed library" is_shared "$root/shared"
check "static: build" $CC $strict -static "$here/example.c" $(package --static --cflags --libs) -o "$root/static"
check "static: run" runs "$root/static"

# A compiler of C++ that is here and works; the C one of clang knows C++ too.
cxx=
echo 'int main() { return 0; }' > "$root/none.cc"
for candidate in c++ g++ clang++ clang; do
    $candidate -x c++ "$root/none.cc" -o "$root/none" > /dev/null 2>&1 && cxx=$candidate && break
done
if [ -n "$cxx" ]; then
    check "C++: build" $cxx -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror "$here/header.cc" -x none \
        $(package --cflags --libs) -o "$root/cxx"
    check "C++: run" env LD_LIBRARY_PATH="$installed/$lib" "$root/cxx"
else
    echo "api: skipped, there is no compiler of C++ to try the header"
fi

check "uninstall" $MAKE --no-print-directory uninstall DESTDIR="$root" PREFIX=$prefix LIBDIR=$prefix/$lib
check "nothing is left" sh -c "! find '$installed' -type f -o -type l | grep ."
echo "api: $passed passed, $failed failed"
[ $failed -eq 0 ]
