#!/bin/sh
# embed_text.sh FILE.c.in: writes it as the C source of embed_types and embed_code, split at the line @DATA@.
set -eu
quote() {
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/'
}
echo '#include "tools/tilevm/cmd/embed_text.h"'
echo 'const char embed_types[] ='
sed '/^@DATA@$/,$d' "$1" | quote
echo '    "";'
echo 'const char embed_code[] ='
sed '1,/^@DATA@$/d' "$1" | quote
echo '    "";'
