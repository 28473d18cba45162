#!/bin/sh
# Prints build_id.c: tv_version, and tv_build_id with a checksum over the sources of the library.
#
#   build_id.sh FILE...
set -eu
sum=$(cat "$@" | cksum)
cat << END
#include "tilevm/tilevm.h"

const char *tv_version(void)
{
    return TV_VERSION;
}

const char *tv_build_id(void)
{
    return "${sum%% *}";
}
END
