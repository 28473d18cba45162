/* toml_dump: reads documents from standard input, each behind a line with its length, and writes for each what the
   reader of tilevm.toml makes of it: a JSON list in a line, or `null` where it refuses it. tests/toml/differential.py
   compares that. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/report/toml.h"

enum { MOST = 1 << 20 };

/* As JSON, every byte on its own: as Latin-1 of the UTF-8. */
static void put_text(const char *text)
{
    putchar('"');
    for (; *text; text++)
        printf("\\u%04x", (unsigned char)*text);
    putchar('"');
}

static bool dump(toml_reader *r, bool print)
{
    const char *separator = "";
    for (toml_event event; (event = toml_next(r)) != TOML_END; separator = ", ") {
        if (event == TOML_ERROR)
            return false;
        if (!print)
            continue;
        static const char *const names[] = {[TOML_TABLE] = "table",
                                            [TOML_ITEM] = "item",
                                            [TOML_STRING] = "string",
                                            [TOML_INTEGER] = "integer",
                                            [TOML_BOOLEAN] = "boolean"};
        printf("%s[\"%s\", ", separator, names[event]);
        put_text(r->key);
        if (event == TOML_STRING)
            printf(", "), put_text(r->string);
        else if (event == TOML_INTEGER || event == TOML_BOOLEAN)
            printf(", %" PRId64, r->integer);
        putchar(']');
    }
    return true;
}

int main(void)
{
    static toml_reader r;
    static char text[MOST], line[32];
    while (fgets(line, sizeof line, stdin)) {
        size_t size = strtoull(line, NULL, 10);
        if (size > MOST || fread(text, 1, size, stdin) != size)
            return 2;
        toml_open(&r, text, size);
        if (!dump(&r, false)) {
            puts("null");
            continue;
        }
        toml_open(&r, text, size);
        putchar('[');
        dump(&r, true);
        puts("]");
    }
    return 0;
}
