#!/bin/sh
# What some builds need and the packages that are installed do not have, from the archives that this Debian is set up with,
# without installing anything: lists, packages and all stay below the folder.
#
#   from_debian.sh libraries ARCHITECTURE FOLDER PACKAGE...      unpacked into FOLDER/root
#   from_debian.sh source FOLDER PACKAGE                         unpacked into FOLDER
set -eu
way=$1
shift
architecture=$(dpkg --print-architecture)
types=deb-src
if [ "$way" = libraries ]; then
    architecture=$1
    types=deb
    shift
fi
mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/sources.list.d"
cd "$1"
shift
# The same archives, for sources and for all architectures.
cat /etc/apt/sources.list 2> /dev/null > sources.list || :
cp /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources sources.list.d 2> /dev/null || :
sed -i -E "s/^Types:.*/Types: $types/; /^Architectures:/d; s/^deb(-src)? (\[[^]]*\])?/$types \2/; s/^(deb[^ ]* \[.*)arch=[^] ]* ?/\1/" \
    sources.list $(find sources.list.d -type f)
apt() {
    apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o APT::Sandbox::User="$(id -un)" \
        -o Dir::State::lists="$PWD/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$PWD/cache" \
        -o Dir::Etc::sourcelist="$PWD/sources.list" -o Dir::Etc::sourceparts="$PWD/sources.list.d" "$@"
}
apt update
if [ "$way" = source ]; then
    apt source "$1"
else
    apt download "$@"
    mkdir -p root
    for file in *.deb; do
        dpkg-deb -x "$file" root
    done
    # Links that lead out of the root.
    find root -type l -lname '/*' | while read -r link; do
        ln -sf "$PWD/root$(readlink "$link")" "$link"
    done
fi
rm -rf lists cache sources.list sources.list.d
