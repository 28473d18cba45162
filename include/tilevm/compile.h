/* Compiling modules to PTX. Programs include tilevm/tilevm.h, which states the rules that hold for all functions. */
#ifndef TILEVM_COMPILE_H
#define TILEVM_COMPILE_H

#include "tilevm/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a remark of the code generator reports. */
typedef enum tv_remark_kind {
    TV_REMARK_PASSED,   /* an op got a fast form */
    TV_REMARK_MISSED,   /* an op did not get a fast form, and why */
    TV_REMARK_ANALYSIS, /* figures */
    TV_REMARK_KIND_COUNT
} tv_remark_kind;

/* A part of a remark's message: a value and its name or, if the key is empty, the text between values. */
typedef struct tv_remark_arg {
    tv_str key, value; /* the name, and the text */
} tv_remark_arg;

/* One remark. All strings are borrowed for the duration of the sink call. The documentation of the code generator lists
   the categories and names. */
typedef struct tv_remark {
    tv_remark_kind kind;                   /* what it reports */
    const char *category, *name;           /* "memory", "VectorAccess" */
    tv_str function;                       /* the kernel's symbol */
    tv_str op;                             /* mnemonic; empty for a remark about the whole kernel */
    uint64_t offset;                       /* of the op in the file, or TV_NO_OFFSET */
    tv_str file;                           /* source file, from the debug section */
    uint32_t line, column;                 /* from 1; 0: unknown */
    tv_str message;                        /* the values of args, one after the other */
    const tv_remark_arg *args;             /* arg_count of them */
    size_t arg_count;                      /* of args */
    tv_str inlined_file;                   /* as in tv_diag */
    uint32_t inlined_line, inlined_column; /* as in tv_diag */
} tv_remark;

/* Where remarks go. With report NULL, no remarks are made. */
typedef struct tv_remark_sink {
    void *user;                                          /* passed to report */
    void (*report)(void *user, const tv_remark *remark); /* remark is borrowed for the call */
} tv_remark_sink;

/* How much to optimise. TV_OPT_DEFAULT is level 3. Levels 1 to 3 are those of tileiras, TV_OPT_NONE is its level 0;
   other numbers count as 3. Below 3, no kernel becomes persistent; at TV_OPT_NONE, no load is prefetched. Results do
   not depend on the level. */
enum { TV_OPT_DEFAULT = 0, TV_OPT_NONE = 100 };

/* The option for level n, 0 to 3, as users write it. */
#define TV_OPT_LEVEL(n) ((n) ? (n) : (unsigned)TV_OPT_NONE)

/* How to compile a module. All zero, or NULL in its place: sm_80, the default level, no line numbers, any PTX version,
   no dumps, no remarks, all passes, unchecked and untimed. New fields are added at the end, and zero keeps the former
   behaviour. */
typedef struct tv_compile_options {
    const char *target;     /* "sm_90"; NULL: sm_80 */
    unsigned opt_level;     /* TV_OPT_DEFAULT, 1 to 3, or TV_OPT_NONE */
    bool line_info;         /* write .loc lines from the debug information */
    unsigned ptx_version;   /* highest PTX ISA version that the consumer accepts, as major * 10 + minor; 0: any */
    const char *dump_after; /* passes whose results go to dump as text: names with commas between them, or "all"; for
                               one kernel only, followed by @ and its symbol or function name; NULL: none */
    tv_writer dump;         /* for dump_after and time_passes */
    tv_remark_sink remarks; /* where remarks go */
    const char *stop_after; /* the last pass to run; nothing is written then; NULL: all run */
    bool verify_each;       /* check the compiler's own data after every pass */
    bool time_passes;       /* write a line to dump for each pass and kernel: how long it took */
} tv_compile_options;

/* The architecture-specific variant of a target, whose code runs only on that architecture and may use all of its
   features: "sm_90a" for "sm_90". The name itself if there is no variant, or if the target is not known.

   Memory    the result is target, or lives forever
   Threads   any */
const char *tv_target_exact(const char *target);

/* The target to compile for when a device of compute capability sm runs the code: the device's own target or, where
   that is not known, the nearest earlier one, whose code runs on later devices.

   sm            90 stands for 9.0
   exact         return the architecture-specific variant, such as "sm_90a"
   ptx_version   the highest that the consumer accepts, as in tv_compile_options; 0: any
   Returns       the name, or NULL when the device is too old
   Memory        the name lives forever
   Threads       any */
const char *tv_target_for(unsigned sm, bool exact, unsigned ptx_version);

/* Writes the kernels of a verified module as PTX text, without a zero byte at its end. The same module and options give
   the same bytes.

   options   may be NULL
   out       is called with portions of the text
   Returns   TV_OK; TV_USAGE when the module is not verified or an option is wrong; TV_UNSUPPORTED when the target
             cannot run the module, or this build cannot compile it yet: the sink names the op; TV_IO when out refused a
             portion; TV_INVALID when verify_each found a defect of the compiler, which the sink describes
   Threads   any number may compile one module at the same time */
tv_status tv_compile_ptx(const tv_module *module, const tv_compile_options *options, tv_sink sink, tv_writer out);

#ifdef __cplusplus
}
#endif
#endif
