#!/bin/sh
# Calls whose arguments emit code in an order that C leaves open; ends with `argument order: N passed, N failed`.
#
#   check_argument_order.sh FOLDER...
set -eu
here=$(dirname "$0")
# What numbers registers and labels, writes instructions, or adds ops to a function.
roots='^(cg_new|cg_ins|cg_ins_first|cg_template|cg_label|cg_place_label|ct_build|ct_build_own|ct_build_op)$'
sources=$(find "$@" -name '*.[ch]' | LC_ALL=C sort)
# shellcheck disable=SC2086
awk -v roots="$roots" -f "$here/code.awk" -f "$here/argument_order.awk" $sources $sources | awk '
    $1 == "right" {
        passed = $2
        next
    }
    {
        sub(/^order /, "")
        print $0 ": give each a variable, in the order that the code shall have"
        failed++
    }
    END {
        print "argument order: " passed " passed, " failed + 0 " failed"
        exit failed > 0 || !passed
    }'
