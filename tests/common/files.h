/* Whole files in and out, for the test programs. */
#ifndef TILEVM_TESTS_COMMON_FILES_H
#define TILEVM_TESTS_COMMON_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* The file's bytes, followed by a zero byte; malloc'ed. NULL with errno set when it cannot be read. */
char *files_read(const char *path, size_t *out_size);
/* Replaces the file's contents. False with errno set. */
bool files_write(const char *path, const void *bytes, size_t size);
/* Paths below folder that end in suffix, sorted; folders whose name starts with a dot are left out. A path to a file is
   taken as it is. The array and the strings are malloc'ed; adds to *paths and *count. False with errno set. */
bool files_find(const char *folder, const char *suffix, char ***paths, size_t *count);

#endif
