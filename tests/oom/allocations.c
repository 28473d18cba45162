/* Linked into a command, this comes before the C library's allocations, also for the calls that other libraries make:
   the n-th one of a process fails. The environment says which:

     FAIL_ALLOCATION=7    the 7th;  7+: all from the 7th on
     LIST_ALLOCATIONS=F   none; the file F gets a line for each, a number for the calls that led to it

   Counting starts with main. With OWN_ALLOCATIONS, and the linker's --wrap, only what the command's own objects
   allocate counts: for runs with a driver and its simulator, and for those with a sanitizer. */
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <unistd.h>

#include "bytecode/base/compiler.h"

#if defined(OWN_ALLOCATIONS)
#define ABOVE(name) __wrap_##name
#define BELOW(name) __real_##name
#else
#define ABOVE(name) name
#define BELOW(name) __libc_##name
#endif

void *ABOVE(malloc)(size_t size);
void *ABOVE(calloc)(size_t count, size_t size);
void *ABOVE(realloc)(void *memory, size_t size);
void *BELOW(malloc)(size_t size);
void *BELOW(calloc)(size_t count, size_t size);
void *BELOW(realloc)(void *memory, size_t size);

static unsigned long failing; /* 0: none */
static bool onwards;
static int list = -1;
static atomic_ulong allocations;

/* A line for the allocation: its callers, the nearest first, in one number. */
static void note_callers(void)
{
    enum { DEPTH = 24, OURS = 2 };
    static _Thread_local bool inside;
    void *callers[DEPTH];
    if (inside)
        return;
    inside = true;
    uint64_t hash = 0;
    int count = backtrace(callers, DEPTH);
    for (int i = OURS; i < count; i++)
        hash = (hash ^ (uintptr_t)callers[i]) * 0x100000001b3u;
    dprintf(list, "%llx\n", (unsigned long long)hash);
    inside = false;
}

static bool fails(void)
{
    if (list >= 0)
        note_callers();
    if (!failing)
        return false;
    unsigned long n = atomic_fetch_add(&allocations, 1) + 1;
    if (n != failing && !(onwards && n > failing))
        return false;
    errno = ENOMEM;
    return true;
}

void *ABOVE(malloc)(size_t size)
{
    return fails() ? NULL : BELOW(malloc)(size);
}

void *ABOVE(calloc)(size_t count, size_t size)
{
    return fails() ? NULL : BELOW(calloc)(count, size);
}

void *ABOVE(realloc)(void *memory, size_t size)
{
    return fails() ? NULL : BELOW(realloc)(memory, size);
}

TV_BEFORE_MAIN static void start(void)
{
    const char *which = getenv("FAIL_ALLOCATION"), *path = getenv("LIST_ALLOCATIONS");
    char *end;
    if (path) {
        void *warm;
        backtrace(&warm, 1); /* loads what it needs */
        list = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    } else if (which) {
        failing = strtoul(which, &end, 10);
        onwards = *end == '+';
    }
}
