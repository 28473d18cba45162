#!/bin/sh
# What of the tests on aarch64 a round takes, as arguments of make; after as many rounds as there are parts all have run.
#
#   aarch64_round.sh ROUND      --list: what every round takes
set -u
# A goal, and how many parts it has; one takes up to a minute under the emulator. Of random modules and kernels there are 200.
rounds=$(awk '{
    for (i = 0; i < $2; i++)
        if ($1 == "check-property")
            printf "%s PROPERTY_SEEDS=%d PROPERTY_FIRST=%d\n", $1, 200 / $2, 1 + i * 200 / $2
        else
            printf "%s TEST_PART=%d/%d\n", $1, i, $2
}' << 'END'
check-matrix      48
check-property    20
check-unit        12
check-fixtures    12
check-corpus      16
check-cpp          4
check-malformed    4
check-fuzz-replay 12
check-commands     1
check-programs     1
check-compat       1
check-loader       1
END
)
if [ "$1" = --list ]; then
    echo "$rounds"
else
    echo "$rounds" | awk -v round="$1" '{ line[NR] = $0 } END { print line[round % NR + 1] }'
fi
