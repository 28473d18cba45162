/* What is needed to run kernels on GPUs, looked at piece by piece; for everything that is wrong, what mends it. */
#ifndef TILEVM_TOOLS_DOCTOR_DOCTOR_H
#define TILEVM_TOOLS_DOCTOR_DOCTOR_H

#include "bytecode/base/arena.h"
#include "loader/driver.h"
#include "tools/tilevm/cli/cli.h"

typedef enum doctor_state { DOCTOR_FINE, DOCTOR_NOTE, DOCTOR_PROBLEM } doctor_state;

typedef struct doctor_check {
    const char *name; /* "driver", "device 0"; in the arena, as the rest */
    doctor_state state;
    tv_str text; /* what was found */
    tv_str fix;  /* a command, or else words in parentheses; empty if there is nothing to do */
} doctor_check;

typedef struct doctor {
    bc_arena arena;
    const ld_driver *driver; /* NULL: there is none */
    doctor_check *checks;
    size_t count, capacity, problems;
    bool failed; /* out of memory */
} doctor;

/* Adds a check; the text by format, fix NULL or as doctor_check has it. */
void doctor_add(doctor *d, const char *name, doctor_state state, const char *fix, const char *format, ...)
    TV_PRINTF(5, 6);

/* In this order: each may rely on what those before it found. */
void doctor_look_at_driver(doctor *d);
/* The device files in a folder (/dev): may this user open them? */
void doctor_look_at_nodes(doctor *d, const char *folder);
/* Every device, and a kernel on it that is compiled, loaded and run, and whose result is compared. */
void doctor_look_at_devices(doctor *d);
void doctor_look_at_cache(doctor *d);
void doctor_look_at_tools(doctor *d);

#endif
