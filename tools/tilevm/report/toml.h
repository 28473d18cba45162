/* A reader for a subset of TOML 1.0, used for tilevm.toml. A file in the subset has the same meaning as in TOML.
   Anything else is rejected, whether it is valid TOML or not.

   The subset has comments; tables [name] and arrays of tables [[name]] whose name is one key; key = value with one key,
   bare or quoted; and values that are strings in "" or '' on one line, decimal 64-bit integers, true and false. It does
   not have dotted keys, arrays, inline tables, multi-line strings, floats, dates, or other integers.

   The file is not trusted: nothing is allocated, and names, strings and counts are limited. */
#ifndef TILEVM_TOOLS_REPORT_TOML_H
#define TILEVM_TOOLS_REPORT_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOML_MOST_KEY = 64, TOML_MOST_STRING = 4096, TOML_MOST_KEYS = 64, TOML_MOST_TABLES = 64 };

typedef enum toml_event {
    TOML_END,
    TOML_TABLE, /* [key] */
    TOML_ITEM,  /* [[key]]: another table of the array */
    TOML_STRING,
    TOML_INTEGER,
    TOML_BOOLEAN,
    TOML_ERROR /* reader->error says what is wrong */
} toml_event;

typedef struct toml_name {
    char text[TOML_MOST_KEY + 1];
    bool is_array;
} toml_name;

typedef struct toml_reader {
    const char *text;
    size_t size, at;
    unsigned line; /* from 1 */
    char key[TOML_MOST_KEY + 1];
    char string[TOML_MOST_STRING + 1]; /* followed by a NUL; contains none */
    size_t length;
    int64_t integer; /* also 0 and 1 for false and true */
    char error[200];
    toml_name keys[TOML_MOST_KEYS], tables[TOML_MOST_TABLES]; /* of the current table; of the file */
    size_t key_count, table_count;
    bool in_table;
} toml_reader;

/* text: borrowed. */
void toml_open(toml_reader *r, const char *text, size_t size);
/* The next event. After TOML_END and TOML_ERROR, it is the same again. */
toml_event toml_next(toml_reader *r);

#endif
