/* Members of static archives as `ar` writes them: System V's long names (GNU) and those of BSD. Everything read is
   hostile. */
#ifndef TILEVM_CONTAINER_ARCHIVE_H
#define TILEVM_CONTAINER_ARCHIVE_H

#include "tilevm/tilevm.h"

typedef struct co_archive {
    tv_str file, long_names;
    size_t at; /* of the next member */
} co_archive;

typedef struct co_member {
    tv_str name, bytes;
} co_member;

bool co_is_archive(tv_str file);
/* A thin one only names its members, which are files beside it. */
bool co_is_thin_archive(tv_str file);
void co_archive_open(tv_str file, co_archive *out);
/* The next member that is a file, passing over tables of symbols and of names. False: there is none, or, with
 *out_problem set, it is damaged. */
bool co_archive_next(co_archive *archive, co_member *out, const char **out_problem);

#endif
