#!/bin/sh
# The tests on aarch64: built by a cross compiler, run by qemu's user mode.
#
#   aarch64.sh BUILD ROOT TARGET...      ROOT has libraries for aarch64 (make from-debian); AARCH64_PROGRAMS: what to build, all
#
# Programs start each other, so each is a script that starts the emulator, beside the program itself, NAME.elf. Prints what the
# targets print, or `aarch64: skipped, there is no ...`. Left out (EMULATED): what starts /proc/self/exe, which is the program
# without its script (tilevm test), and LD_PRELOAD, which the scripts' shell would take.
set -u
MAKE=${MAKE:-make}
build=$1
cc=aarch64-linux-gnu-gcc
for needed in $cc qemu-aarch64; do
    command -v $needed > /dev/null || { echo "aarch64: skipped, there is no $needed"; exit 0; }
done
[ -d "$2" ] || { echo "aarch64: skipped, there are no libraries for it: make from-debian"; exit 0; }
root=$(cd "$2" && pwd)
shift 2
mkdir -p "$build"

# pkg-config finds nothing but the root's.
export PKG_CONFIG_LIBDIR="$root/usr/lib/aarch64-linux-gnu/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
# The interpreter by its own path: where the emulator is told of a root (-L), programs that walk folders from / are led there.
export EMULATED=1 LDFLAGS="-Wl,--dynamic-linker=/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 -L$root/usr/lib/aarch64-linux-gnu -Wl,-rpath-link,$root/usr/lib/aarch64-linux-gnu"
make_it() {
    $MAKE --no-print-directory CC=$cc BUILD="$build" WERROR=0 HARDENING= CFLAGS="-O1 -g0" PTXAS= "$@"
}
libraries=/usr/aarch64-linux-gnu/lib:$root/usr/lib/aarch64-linux-gnu:$root/lib/aarch64-linux-gnu
# For what tests compile themselves.
export EMULATOR="$build/emulate"
case $EMULATOR in /*) ;; *) EMULATOR=$PWD/$EMULATOR ;; esac
cat > "$EMULATOR" << END
#!/bin/sh
exec qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="\${LD_LIBRARY_PATH:+\$LD_LIBRARY_PATH:}$libraries" "\$@"
END
chmod +x "$EMULATOR"
# wrap FILE: a script in its place, that runs it.
wrap() {
    mv "$1" "$1.elf"
    cat > "$1" << END
#!/bin/sh
exec qemu-aarch64 -0 "\$0" -E LD_LIBRARY_PATH="\${LD_LIBRARY_PATH:+\$LD_LIBRARY_PATH:}$libraries" \\
    "$(cd "$(dirname "$1")" && pwd)/$(basename "$1").elf" "\$@"
END
    chmod +x "$1"
}
# shellcheck disable=SC2086 # several
make_it ${AARCH64_PROGRAMS:-tests} > "$build/log" 2>&1 || { tail "$build/log"; echo "aarch64: 0 passed, 1 failed"; exit 1; }
find "$build/release" -type f -perm -100 ! -name '*.elf' ! -name '*.so*' | while read -r file; do
    [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] && wrap "$file"
done
make_it "$@"
