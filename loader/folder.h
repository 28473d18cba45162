/* Opening a folder of the user's own, whoever else may write to the folders above it. */
#ifndef TILEVM_LOADER_FOLDER_H
#define TILEVM_LOADER_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

/* Does a file or folder belong to the user, or, of what is only read (lower), to root? */
bool ld_is_own(const struct stat *info, uid_t user, bool lower);

/* The folder at the path, made with mode 0700 if wanted, with those above it. It must belong to the user, and nobody
   else may write to it. Symbolic links on the way are followed where only the user and root can have put them; in a
   folder that others may write to, they could lead anywhere. -1: out_problem says why, or is NULL if the folder is not
   there. */
int ld_folder_open(const char *path, bool create, const char **out_problem);

/* The same of a folder that is only read, and may be root's as well. */
int ld_folder_open_lower(const char *path, const char **out_problem);

/* A folder right below another one, likewise; -1 with errno. */
int ld_folder_open_sub(int parent, const char *name, bool create);
int ld_folder_open_sub_lower(int parent, const char *name);

#endif
