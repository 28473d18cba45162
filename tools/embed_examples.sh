#!/bin/sh
# Turns rule fixtures into C for `tilevm explain`: embed_examples.sh tests/rules > rule_examples.c
# Takes from each <rule>.test the lines after WHY, the first bad and the first good example, and what the tool prints
# for the bad one. Plain POSIX sh and awk.
set -e
folder=$1
printf '/* Made by tools/embed_examples.sh from %s. */\n#include "tools/tilevm/cmd/rule_examples.h"\n\n' "$folder"
printf 'const char rule_examples[] =\n'
export LC_ALL=C
for file in "$folder"/*.test; do
    [ -f "$file" ] || continue
    awk -v rule="$(basename "$file" .test)" '
        function quoted(s) {
            gsub(/\\/, "&&", s)
            gsub(/["?]/, "\\\\&", s)
            gsub(/\t/, "    ", s)
            return "\"" s "\""
        }
        BEGIN { part = "head" }
        /^--- / {
            part = ""
            if (($2 == "bad" || $2 == "good") && !($2 in seen)) {
                seen[$2] = 1
                part = last = $2
                if ($0 ~ / bytes( |$)/)
                    form[$2] = "bytes"
            } else if ($2 == "report" && last == "bad" && !("message" in seen)) {
                seen["message"] = 1
                part = "message"
            }
            next
        }
        part == "head" && /^# WHY/ { sub(/^# WHY */, ""); why = $0; in_why = 1; next }
        part == "head" && /^# RUN/ { in_why = 0; next }
        part == "head" && in_why { sub(/^# */, ""); why = why " " $0; next }
        part == "head" || part == "" { next }
        { text[part] = text[part] "\n        " quoted($0) " \"\\n\"" }
        END {
            printf "    \"%s\" \"\\0\" %s \"\\0%s\\0%s\\0\"", rule, quoted(why), form["bad"], form["good"]
            printf "%s \"\\0\"%s \"\\0\"%s \"\\0\"\n", text["bad"], text["good"], text["message"]
        }' "$file"
done
printf '    "";\n'
