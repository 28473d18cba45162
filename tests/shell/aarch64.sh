#!/bin/sh
# The tests on aarch64: built by a cross compiler, run by qemu's user mode.
#
#   aarch64.sh BUILD ROOT ARGUMENT...      of make; ROOT has libraries for aarch64 (make from-debian)
#
# Programs start each other, so each is a script that starts the emulator, beside the program itself, NAME.elf: the compiler
# that make gets puts it there. Prints what the targets print, or `aarch64: skipped, there is no ...`. Left out (EMULATED): what
# starts /proc/self/exe, which is the program without its script (tilevm test), and LD_PRELOAD, which the scripts' shell would take.
set -u
MAKE=${MAKE:-make}
compiler=aarch64-linux-gnu-gcc
for needed in $compiler qemu-aarch64; do
    command -v $needed > /dev/null || { echo "aarch64: skipped, there is no $needed"; exit 0; }
done
[ -d "$2" ] || { echo "aarch64: skipped, there are no libraries for it: make from-debian"; exit 0; }
mkdir -p "$1"
build=$(cd "$1" && pwd)
root=$(cd "$2" && pwd)
libraries=/usr/aarch64-linux-gnu/lib:$root/usr/lib/aarch64-linux-gnu:$root/lib/aarch64-linux-gnu
given=$1
shift 2

# pkg-config finds nothing but the root's.
export PKG_CONFIG_LIBDIR="$root/usr/lib/aarch64-linux-gnu/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
export EMULATED=1 LDFLAGS="-L$root/usr/lib/aarch64-linux-gnu -Wl,-rpath-link,$root/usr/lib/aarch64-linux-gnu"
# The interpreter by its own path: where the emulator is told of a root (-L), programs that walk folders from / are led there.
cat > "$build/cc.new" << END
#!/bin/sh
$compiler "\$@" -Wl,--dynamic-linker=/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 || exit
program=
for argument; do
    [ "\${last:-}" = -o ] && program=\$argument
    case \$argument in -c | -shared | -S | -E) exit 0 ;; esac
    last=\$argument
done
[ -n "\$program" ] || exit 0
file=\$(cd "\$(dirname "\$program")" && pwd)/\$(basename "\$program").elf
mv "\$program" "\$file"
cat > "\$program" << SCRIPT
#!/bin/sh
exec qemu-aarch64 -0 "\\\$0" -E LD_LIBRARY_PATH="\\\${LD_LIBRARY_PATH:+\\\$LD_LIBRARY_PATH:}$libraries" "\$file" "\\\$@"
SCRIPT
chmod +x "\$program"
END
chmod +x "$build/cc.new" && mv "$build/cc.new" "$build/cc"
$MAKE --no-print-directory CC="$build/cc" BUILD="$given" WERROR=0 HARDENING= CFLAGS="-O1 -g0" PTXAS= "$@"
