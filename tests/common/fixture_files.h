/* The files of a fixture on disk: a folder of its own, and the inputs in it. */
#ifndef TILEVM_TESTS_COMMON_FIXTURE_FILES_H
#define TILEVM_TESTS_COMMON_FIXTURE_FILES_H

#include "tests/common/fixture.h"

/* Below work: an empty folder named after the fixture's path, slashes and dots replaced. False with errno set. */
bool fixture_make_folder(const char *work, const char *path, char *out_folder, size_t size);

/* Writes a section's text, or the bytes it describes, to a file of the folder. False: f->error says why. */
bool fixture_write_section(fixture *f, const fixture_section *s, const char *folder, const char *name);

/* Writes the inputs; out_stdin is the name of the file for standard input, NULL without one. False: f->error says
   why. */
bool fixture_write_inputs(fixture *f, const char *folder, const char **out_stdin);

#endif
