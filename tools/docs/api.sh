#!/bin/sh
# Builds pages of the public headers with Doxygen, which warns of whatever has no comment; a warning is a failure. Ends with
# `api-docs: N passed, N failed`.
#
#   api.sh FOLDER [HEADER...]      FOLDER is made; without HEADER, those of include/tilevm
set -u
command -v doxygen > /dev/null || { echo "api-docs: skipped, doxygen is not installed"; exit 0; }
tools=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
[ $# -gt 0 ] || set -- include/tilevm/*.h
rm -rf "$folder" && mkdir -p "$folder" || exit 2
version=$(sed -n 's/^.define TV_VERSION "\(.*\)"/\1/p' include/tilevm/tilevm.h)
doxygen - > "$folder/log" 2> "$folder/warnings" << END
PROJECT_NAME           = tilevm
PROJECT_NUMBER         = $version
OUTPUT_DIRECTORY       = $folder
INPUT                  = $*
FULL_PATH_NAMES        = NO
FILTER_PATTERNS        = *.h="awk -f $tools/doxygen.awk"
OPTIMIZE_OUTPUT_FOR_C  = YES
JAVADOC_AUTOBRIEF      = YES
MACRO_EXPANSION        = YES
EXPAND_ONLY_PREDEF     = YES
PREDEFINED             = DOXYGEN
TYPEDEF_HIDES_STRUCT   = YES
GENERATE_LATEX         = NO
HAVE_DOT               = NO
QUIET                  = YES
WARN_IF_UNDOCUMENTED   = YES
WARN_IF_DOC_ERROR      = YES
WARN_NO_PARAMDOC       = NO
EXTRACT_ALL            = NO
HTML_TIMESTAMP         = NO
END
[ $? -eq 0 ] || { tail "$folder/log" "$folder/warnings"; echo "api-docs: 0 passed, 1 failed"; exit 1; }
sed -i "s|^$PWD/||" "$folder/warnings"
cat "$folder/warnings"
failed=$(grep -c 'warning: ' "$folder/warnings")
echo "api-docs: $# passed, $failed failed"
[ "$failed" -eq 0 ]
