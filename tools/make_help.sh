#!/bin/sh
# Prints the targets that makefiles describe, by group: `##@ GROUP`, `## TARGET: text`, and `##   text` for its further lines.
#
#   make_help.sh MAKEFILE...
set -eu
sed -n 's/^##\(@\{0,1\} .*\)/\1/p' "$@" | awk '
    function line(name, text) { printf "  %-22s%s\n", name, text }
    /^@ / { print (NR > 1 ? "\n" : "") substr($0, 3); next }
    /^   / { line("", substr($0, 4)); next }
    { at = index($0, ": "); line(substr($0, 2, at - 2), substr($0, at + 2)) }'
