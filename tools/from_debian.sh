#!/bin/sh
# What some builds need and the packages that are installed do not have, from the archive of the Debian that this is, without
# installing anything: lists, packages and all stay below the folder.
#
#   from_debian.sh libraries ARCHITECTURE FOLDER PACKAGE...      unpacked into FOLDER/root
#   from_debian.sh source FOLDER PACKAGE                         unpacked into FOLDER
set -eu
way=$1
shift
architecture=$(dpkg --print-architecture)
kind=deb-src
if [ "$way" = libraries ]; then
    architecture=$1
    kind=deb
    shift
fi
mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
cd "$1"
shift
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $release main" > sources.list
apt() {
    apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o APT::Sandbox::User="$(id -un)" \
        -o Dir::State::lists="$PWD/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$PWD/cache" \
        -o Dir::Etc::sourcelist="$PWD/sources.list" -o Dir::Etc::sourceparts=/dev/null "$@"
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
rm -rf lists cache sources.list
