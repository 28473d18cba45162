/* A fixture file in memory: head lines, then sections. tests/README.md describes the format. */
#ifndef TILEVM_TESTS_COMMON_FIXTURE_H
#define TILEVM_TESTS_COMMON_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

enum { FIXTURE_MAX_SECTIONS = 64, FIXTURE_MAX_RUNS = 32, FIXTURE_MAX_ARGS = 64 };

/* Text between a line `--- kind [name] [key=value ...]` and the next such line, borrowed from the file's text. */
typedef struct fixture_section {
    char kind[16];
    char name[64];   /* empty when not given */
    bool is_bytes;   /* the word `bytes` stood after the kind */
    char to[16];     /* to=13.N */
    char flags[256]; /* flags="..." or flags=--strict */
    int exit_code;   /* exit=N; -1 when not given */
    const char *text;
    size_t len;
    char *replacement; /* new text, set by fixture_replace; NULL: unchanged */
} fixture_section;

typedef struct fixture_run {
    char *args[FIXTURE_MAX_ARGS]; /* terminated by NULL; strings owned by the fixture */
    int arg_count;
    int exit_code; /* -1 when EXPECT is not given */
} fixture_run;

typedef struct fixture {
    char *text; /* the whole file */
    size_t size;
    size_t head_len; /* bytes before the first section */
    bool has_why;
    fixture_run runs[FIXTURE_MAX_RUNS];
    int run_count;
    fixture_section sections[FIXTURE_MAX_SECTIONS];
    int section_count;
    char error[160]; /* what is wrong with the file; empty: nothing */
} fixture;

/* Reads a fixture. False after an error: fixture->error says what. Release it in any case. */
bool fixture_open(const char *path, fixture *f);
void fixture_release(fixture *f);

/* First section of that kind at or after index `from`, or -1. */
int fixture_find(const fixture *f, const char *kind, int from);

/* Gives a section a new text; text is copied. Section -1: a new one of that kind, placed at index `at`. */
bool fixture_replace(fixture *f, int section, const char *kind, int at, const char *text);

/* Writes the file with its new texts. False with errno set. */
bool fixture_save(const fixture *f, const char *path);

/* Splits a command line at spaces; quotes keep words together. False when there are too many words. */
bool fixture_split(const char *line, size_t len, fixture_run *run);

#endif
