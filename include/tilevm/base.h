/* Declarations that all parts of the API use: status codes, allocators, strings, diagnostics, rules, writers. Programs
   include tilevm/tilevm.h. */
#ifndef TILEVM_BASE_H
#define TILEVM_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. */
typedef enum tv_status {
    TV_OK = 0,
    TV_INVALID,     /* the input breaks a rule; the sink has the diagnostics */
    TV_USAGE,       /* an argument of the call is wrong; the sink has a diagnostic */
    TV_IO,          /* a writer refused its bytes; the commands return it for files, too */
    TV_NO_MEMORY,   /* the allocator returned NULL, or a limit on memory was reached */
    TV_UNSUPPORTED, /* the input is valid, but this build or target does not support it; the sink says what */
    TV_TRAP         /* a kernel stopped with an X rule while it ran */
} tv_status;

/* Memory for everything that a handle allocates. A NULL pointer in place of this struct stands for malloc and free.
   Both functions may be called from any thread that uses the handle. */
typedef struct tv_allocator {
    void *user;                                             /* passed to both functions */
    void *(*alloc)(void *user, size_t size);                /* memory aligned for any type, or NULL */
    void (*release)(void *user, void *memory, size_t size); /* size: as given to alloc */
} tv_allocator;

/* A borrowed string. It is not terminated and may hold any byte. */
typedef struct tv_str {
    const char *ptr; /* the first byte */
    size_t len;      /* bytes */
} tv_str;

/* ---- diagnostics --------------------------------------------------------------------------------------------- */

/* How bad a finding is. */
typedef enum tv_severity { TV_ERROR, TV_WARNING, TV_NOTE } tv_severity;

/* The offset of something that is not in the file. */
#define TV_NO_OFFSET UINT64_MAX

/* One finding. All strings are borrowed for the duration of the sink call; absent ones have len 0. */
typedef struct tv_diag {
    tv_severity severity;        /* how bad it is */
    const char *rule;            /* stable id, for example "V-FLT-02"; see tv_rule_find */
    tv_str message;              /* one sentence: the operand by name, what was found and what was expected */
    tv_str function;             /* the entry that contains the op */
    tv_str op;                   /* mnemonic; "unknown" for an op whose opcode cannot be read */
    uint32_t op_index;           /* position of the op in the function, in pre-order from 0 */
    uint64_t offset;             /* byte offset from the start of the file, or TV_NO_OFFSET */
    tv_str file;                 /* source file, from the debug section; or the name of the text being parsed */
    uint32_t line, column;       /* from 1; 0: unknown */
    tv_str op_text;              /* the op as the disassembler prints it, without its regions */
    uint32_t caret, caret_len;   /* the faulty part of op_text, in bytes; caret_len 0: not known */
    tv_str help;                 /* one thing to try */
    const struct tv_diag *other; /* the second op of a finding about two ops; else NULL */
    tv_str inlined_file;         /* the op's own file, if the op was inlined from it at file, line */
    uint32_t inlined_line, inlined_column; /* 0: the op was not inlined */
} tv_diag;

/* Where diagnostics go. A sink with report NULL drops them. */
typedef struct tv_sink {
    void *user;                                      /* passed to report */
    void (*report)(void *user, const tv_diag *diag); /* diag is borrowed for the call */
} tv_sink;

/* Where output goes. */
typedef struct tv_writer {
    void *user;                                                /* passed to write */
    bool (*write)(void *user, const void *bytes, size_t size); /* false stops the call, which returns TV_IO */
} tv_writer;

/* ---- rules --------------------------------------------------------------------------------------------------- */

/* A rule that diagnostics refer to. Ids are never reused or renumbered; texts may be improved. */
typedef struct tv_rule {
    const char *id;       /* F- container, T- types, V- ops, G- target, X- trap, A- assembly text, W- writing, C- calls,
                             L- loader */
    tv_severity severity; /* of its diagnostics, unless an option changes it */
    const char *title;    /* a few words */
    const char *text;     /* describes the rule: one paragraph */
    const char *help;     /* how to fix a violation, usually; may be empty */
} tv_rule;

/* The rule with that id or with that alias, spelled exactly; NULL if there is none.

   Memory    the rule lives forever
   Threads   any */
const tv_rule *tv_rule_find(const char *id);

/* The rule at an index, in published order; NULL past the end.

   Memory    the rule lives forever
   Threads   any */
const tv_rule *tv_rule_at(size_t index);

/* The alias at an index: another id that the reference uses for the same rule. NULL past the end.

   out_rule  the rule that it stands for; not written past the end
   Memory    the strings live forever
   Threads   any */
const char *tv_rule_alias_at(size_t index, const tv_rule **out_rule);

#ifdef __cplusplus
}
#endif
#endif
