/* What statically linked commands get in the place of libraries that are looked for at run time (--wrap): none. The C
   library could load them, but only beside the very glibc that it is of, and code with thread-local data, which the
   driver is, crashes at the first use of it (glibc 2.36). So there is no driver, and each user of a library says so.
   The same for names of users, which come out of such libraries. */
#include <grp.h>
#include <pwd.h>
#include <stddef.h>

void *__wrap_dlopen(const char *path, int mode);
char *__wrap_dlerror(void);
struct passwd *__wrap_getpwuid(uid_t user);
struct group *__wrap_getgrgid(gid_t group);

void *__wrap_dlopen(const char *path, int mode)
{
    (void)path;
    (void)mode;
    return NULL;
}

char *__wrap_dlerror(void)
{
    static char text[] = "this tilevm is linked statically and cannot load libraries: use the dynamically linked one";
    return text;
}

struct passwd *__wrap_getpwuid(uid_t user)
{
    (void)user;
    return NULL;
}

struct group *__wrap_getgrgid(gid_t group)
{
    (void)group;
    return NULL;
}
