/* Opens a folder that belongs to the user, even if others may write to the folders above it. */
#ifndef TILEVM_LOADER_FOLDER_H
#define TILEVM_LOADER_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

/* Does a file or folder belong to the user or, if it is only read (lower), to root? */
bool ld_is_own(const struct stat *info, uid_t user, bool lower);

/* Opens the folder at the path; if requested, creates it with mode 0700, and the folders above it. It must belong to
   the user and must not be writable by anybody else. Symbolic links in the path are followed only where only the user
   and root can have created them; in a folder that others may write to, they could lead anywhere. -1: out_problem says
   why, or is NULL if the folder does not exist. */
int ld_folder_open(const char *path, bool create, const char **out_problem);

/* The same for a folder that is only read, and may belong to root as well. */
int ld_folder_open_lower(const char *path, const char **out_problem);

/* The same for a folder directly below another one; -1 with errno. */
int ld_folder_open_sub(int parent, const char *name, bool create);
int ld_folder_open_sub_lower(int parent, const char *name);

#endif
