/* tilevm: reads, verifies, prints, assembles, writes and runs CUDA Tile IR bytecode.

   Everything here is opaque handles and plain structs. These functions keep no global state, never print, never
   exit and never read a file: they take bytes and report through the sink they were given. (The loader of
   tilevm_cuda.h keeps what a process has once; its header says what.)

   A run     tv_module_open, tv_module_verify; tv_module_entry_find and tv_signature_of_entry say what a kernel takes;
             tv_call_new checks arguments and lays them out; tv_vm_new, tv_vm_add_buffer for each piece of memory,
             tv_vm_run, then tv_vm_get_stats. tests/api/example.c does all of it.
   Floats    The caller's floating-point environment (rounding, flushing, traps) changes nothing and is left as it was;
             callbacks are called in the default one.
   Threads   A handle is used by one thread at a time unless a function says otherwise; different handles are
             independent. A verified module is read-only, so any number of threads may run, print or query it.
   Ownership open/close and new/free pair up: the caller owns what open or new returned. Strings and arrays inside
             handles live as long as the handle. */
#ifndef TILEVM_TILEVM_H
#define TILEVM_TILEVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; and of the library that the program runs with, which may be another. */
#define TV_VERSION "0.1.0"
const char *tv_version(void);

/* A number that changes with the library's source text, for caches: what another build compiled is not taken over. */
const char *tv_build_id(void);

/* What a call came to. Every function that can fail returns one; results go to out_ parameters, which are written
   only on TV_OK. */
typedef enum tv_status {
    TV_OK = 0,
    TV_INVALID,     /* the input breaks a rule; the sink has the diagnostics */
    TV_USAGE,       /* an argument of the call makes no sense; the sink has a diagnostic */
    TV_IO,          /* a file could not be read or written (tools only) */
    TV_NO_MEMORY,   /* the allocator returned NULL or a limit on memory was reached */
    TV_UNSUPPORTED, /* well formed, but this build or target cannot do it; the sink names what */
    TV_TRAP         /* a kernel stopped with an X rule while running */
} tv_status;

/* Memory for everything a handle allocates. alloc returns memory aligned for any type, or NULL. Both may be called
   from any thread that uses the handle. NULL instead of a pointer to this struct means malloc and free. */
typedef struct tv_allocator {
    void *user;
    void *(*alloc)(void *user, size_t size);
    void (*release)(void *user, void *memory, size_t size);
} tv_allocator;

/* A borrowed string: not terminated, may hold any byte. */
typedef struct tv_str {
    const char *ptr;
    size_t len;
} tv_str;

typedef enum tv_severity { TV_ERROR, TV_WARNING, TV_NOTE } tv_severity;

#define TV_NO_OFFSET UINT64_MAX

/* One finding. All strings are borrowed for the duration of the sink call; absent ones have len 0. */
typedef struct tv_diag {
    tv_severity severity;
    const char *rule;            /* stable id, for example "V-FLT-02"; see tv_rule_find */
    tv_str message;              /* one sentence: operand by name, found and expected */
    tv_str function;             /* entry the finding is in */
    tv_str op;                   /* mnemonic; "unknown" of an op whose opcode cannot be read */
    uint32_t op_index;           /* position of the op in the function, pre-order from 0 */
    uint64_t offset;             /* file-absolute byte offset, or TV_NO_OFFSET */
    tv_str file;                 /* source place from the debug section; or of the text being parsed */
    uint32_t line, column;       /* from 1; 0 unknown */
    tv_str op_text;              /* the op as the disassembler prints it, without its regions */
    uint32_t caret, caret_len;   /* the part of op_text at fault, in bytes; caret_len 0 when not known */
    tv_str help;                 /* one thing to try */
    const struct tv_diag *other; /* the second op that takes part, for findings about two of them; else NULL */
    tv_str
        inlined_file; /* where the op itself stands, if that is code of another file that was inlined at file, line */
    uint32_t inlined_line, inlined_column; /* 0: at file, line itself */
} tv_diag;

typedef struct tv_sink {
    void *user;
    void (*report)(void *user, const tv_diag *diag);
} tv_sink;

/* ---- rules ------------------------------------------------------------------------------------------------- */

typedef struct tv_rule {
    const char *id; /* published id: F- container, T- types, V- ops, G- target, X- trap, A- assembly text,
                       W- writing, C- calls */
    tv_severity severity;
    const char *title; /* a few words */
    const char *text;  /* what the rule is for, one paragraph */
    const char *help;  /* what usually mends it; may be empty */
} tv_rule;

/* The rule with that id (exact spelling) or that other id, or NULL. */
const tv_rule *tv_rule_find(const char *id);
/* The i-th rule in published order, or NULL past the end. */
const tv_rule *tv_rule_at(size_t index);
/* The i-th other id, under which a reference states the fact of a rule once more, or NULL past the end. */
const char *tv_rule_alias_at(size_t index, const tv_rule **out_rule);

/* ---- modules ----------------------------------------------------------------------------------------------- */

typedef struct tv_module tv_module;

typedef struct tv_open_options {
    const tv_allocator *allocator; /* NULL: malloc and free */
    size_t memory_limit;           /* bytes the module may take; 0: no limit */
    bool strict;                   /* also refuse what known readers tolerate (class S rules) */
} tv_open_options;

/* Reads bytecode. bytes  the whole file; borrowed until tv_module_close.
   Stops at the first malformed thing: TV_INVALID with exactly one error in the sink. The module is not verified yet. */
tv_status tv_module_open(const void *bytes, size_t size, const tv_open_options *options, tv_sink sink,
                         tv_module **out_module);

/* Parses the textual form (see docs/text.md). text is borrowed for the call only. Reports up to 20 errors.
   minor  13.minor is the version of the new module; 0 takes the lowest version that can express it. */
tv_status tv_module_parse(const char *text, size_t size, unsigned minor, const tv_open_options *options, tv_sink sink,
                          tv_module **out_module);

void tv_module_close(tv_module *module);

/* Minor number of the module's bytecode version: 1 to 5 for 13.1 to 13.5. */
unsigned tv_module_minor(const tv_module *module);

/* Bytes the module holds now, and the most it held since it was opened. */
void tv_module_memory(const tv_module *module, size_t *out_bytes, size_t *out_peak);

typedef struct tv_verify_options {
    bool strict;         /* refuse what known tools tolerate */
    unsigned max_errors; /* stop after that many; 0: 20 */
    unsigned target;     /* 80 for sm_80 ...: also check that every op can run there (G rules); 0: any */
    bool reference;      /* with target: what NVIDIA's compiler accepts there, instead of what can run at all */
} tv_verify_options;

/* Checks every rule. TV_OK: the module is trusted from now on (warnings may still have been reported);
   TV_INVALID: errors were reported. May be called more than once, with different options. */
tv_status tv_module_verify(tv_module *module, const tv_verify_options *options, tv_sink sink);

/* A growing output owned by the caller's callback. Returning false stops with TV_IO. */
typedef struct tv_writer {
    void *user;
    bool (*write)(void *user, const void *bytes, size_t size);
} tv_writer;

typedef struct tv_print_options {
    bool debug_info; /* locations, as tileirdisasm -g */
    bool prefix;     /* mnemonics and types with the cuda_tile. prefix, wrapped in a module op */
    bool offsets;    /* a comment with the byte offset before each op */
} tv_print_options;

/* Prints the module as text. Works on any module that opened, verified or not. */
tv_status tv_module_print(const tv_module *module, const tv_print_options *options, tv_writer out);

/* Writes the module as bytecode of its own version. A module read from a file that cuTile Python wrote, and not
   changed since, gives the same bytes. */
tv_status tv_module_write(const tv_module *module, tv_sink sink, tv_writer out);

/* Changes the version. TV_INVALID: something needs a newer one; the sink names each op, type or attribute, and
   the module is unchanged. */
tv_status tv_module_convert(tv_module *module, unsigned minor, tv_sink sink);

/* ---- code generation ---------------------------------------------------------------------------------------- */

/* What the code generator tells about what it made of an op: passed: it took a fast way; missed: it could not, and why;
   analysis: figures. docs/codegen.md lists categories and names. */
typedef enum tv_remark_kind {
    TV_REMARK_PASSED,
    TV_REMARK_MISSED,
    TV_REMARK_ANALYSIS,
    TV_REMARK_KIND_COUNT
} tv_remark_kind;

/* A part of a remark's message: a value and what it is called, or, with an empty key, the words between. */
typedef struct tv_remark_arg {
    tv_str key, value;
} tv_remark_arg;

/* One remark. All strings are borrowed for the duration of the sink call. */
typedef struct tv_remark {
    tv_remark_kind kind;
    const char *category, *name; /* "memory", "VectorAccess" */
    tv_str function;             /* the kernel's symbol */
    tv_str op;                   /* mnemonic; empty for a remark about the whole kernel */
    uint64_t offset;             /* of the op in the file, or TV_NO_OFFSET */
    tv_str file;                 /* source place from the debug section */
    uint32_t line, column;       /* from 1; 0 unknown */
    tv_str message;              /* the values of args one after the other */
    const tv_remark_arg *args;
    size_t arg_count;
    tv_str inlined_file; /* as in tv_diag */
    uint32_t inlined_line, inlined_column;
} tv_remark;

typedef struct tv_remark_sink {
    void *user;
    void (*report)(void *user, const tv_remark *remark);
} tv_remark_sink;

/* How much to optimise: 0 is the default, 3; 1 to 3 are tileiras' levels, its 0 is TV_OPT_NONE. Others count as 3.
   Below 3 no thread block computes others' tile blocks, at TV_OPT_NONE no load runs ahead. Values stay. */
enum { TV_OPT_DEFAULT = 0, TV_OPT_NONE = 100 };
/* The option for level n, 0 to 3, as users write it. */
#define TV_OPT_LEVEL(n) ((n) ? (n) : (unsigned)TV_OPT_NONE)

/* All zero, or NULL in their place: sm_80, the default level, no line numbers, any PTX version, no dumps, no remarks,
   all passes, unchecked and untimed. New fields come last, and zero is what there was before them. */
typedef struct tv_compile_options {
    const char *target;     /* "sm_90"; NULL: sm_80 */
    unsigned opt_level;     /* TV_OPT_DEFAULT, 1 to 3 or TV_OPT_NONE */
    bool line_info;         /* .loc lines from the debug information */
    unsigned ptx_version;   /* highest PTX ISA version that the consumer takes, as major * 10 + minor; 0: any */
    const char *dump_after; /* names of passes, comma separated, or "all", and if only one kernel is meant @ and its
                               symbol or function name: what they found goes to dump as text; NULL: nothing does */
    tv_writer dump;
    tv_remark_sink remarks; /* zero: remarks are not even made */
    const char *stop_after; /* name of the pass that is the last to run, and nothing is written; NULL: all run */
    bool verify_each;       /* check after every pass that what it leaves makes sense */
    bool time_passes;       /* a line to dump for each pass and kernel: how long it took */
} tv_compile_options;

/* The target whose code runs on that very architecture only, and may use all it has: "sm_90a" for "sm_90". The name
   itself where there is none, or the target is not known. */
const char *tv_target_exact(const char *target);

/* The target to compile for when a device of compute capability sm (90: 9.0) runs the code and what takes the PTX knows
   versions up to ptx_version (as in tv_compile_options; 0: any): the device's own, of which exact wants all that it
   has, or, where that is not known, the nearest before it, whose code later devices run. NULL: too old. */
const char *tv_target_for(unsigned sm, bool exact, unsigned ptx_version);

/* Writes the kernels of a verified module as PTX text, without a zero byte at its end. Same module and options, same
   bytes. options may be NULL.
   TV_USAGE: not verified, or an option makes no sense; TV_UNSUPPORTED: the target cannot do it, or this build not yet;
   the sink names the op. TV_IO: the writer refused. TV_INVALID: verify_each has found a defect of ours, which the sink
   describes. */
tv_status tv_compile_ptx(const tv_module *module, const tv_compile_options *options, tv_sink sink, tv_writer out);

/* ---- signatures --------------------------------------------------------------------------------------------- */

/* Number types as users of kernels name them; TV_BOOL to TV_I64 hold integers. Signedness is the user's: the IR has
   none. */
typedef enum tv_dtype {
    TV_BOOL,
    TV_U8,
    TV_U16,
    TV_U32,
    TV_U64,
    TV_I8,
    TV_I16,
    TV_I32,
    TV_I64,
    TV_F16,
    TV_BF16,
    TV_F32,
    TV_TF32,
    TV_F64,
    TV_F8E4M3FN,
    TV_F8E5M2,
    TV_F8E8M0FNU,
    TV_F8E5M3FNU,
    TV_F4E2M1FN,
    TV_I4, /* two elements a byte: only behind pointers */
    TV_DTYPE_COUNT
} tv_dtype;

const char *tv_dtype_name(tv_dtype dtype); /* "f32" */
/* Bits of one element in memory: a bool takes 8, tf32 32. */
unsigned tv_dtype_bits(tv_dtype dtype);
/* Understands "f32", "float32" and the codes of mangled symbols, in upper or lower case. */
bool tv_dtype_parse(tv_str text, tv_dtype *out_dtype);

/* Entries: the functions that can be launched, in file order. Indices are below the count. */
size_t tv_module_entry_count(const tv_module *module);
tv_str tv_module_entry_name(const tv_module *module, size_t entry); /* its symbol; lives as long as the module */
size_t tv_module_entry_param_count(const tv_module *module, size_t entry);

/* Type of an entry parameter: a number, or the address of numbers. */
typedef struct tv_entry_param {
    const char *element; /* "f32", "i1": as the assembly writes it; "?" for what is neither number nor pointer */
    bool pointer;
    unsigned size; /* bytes that tv_vm_run and cuLaunchKernel read; 0 for "?" */
} tv_entry_param;
tv_entry_param tv_module_entry_param(const tv_module *module, size_t entry, size_t param);

/* The entry with that symbol; or whose plain function name that is, if there is just one; or, for an empty name, the
   only entry. A function of C++ may be named with its parameters, without them ("ns::scale<float>"), without template
   arguments, and without namespaces; what fits best is taken. TV_USAGE: none or several; the diagnostic lists what
   there is. */
tv_status tv_module_entry_find(const tv_module *module, tv_str name, tv_sink sink, size_t *out_entry);

/* What a kernel's function takes, as its author wrote it. cutile_python symbols tell it: `f_Kt1_A1f32_1i16t1_p16_I64`
   is f(a, b) with a an array and b the constant 64. Each array, list or scalar (a leaf) becomes one or more entry
   parameters (slots), which is what a launch passes. */
typedef struct tv_signature tv_signature;

enum { TV_MAX_RANK = 32 }; /* axes of an array */

typedef enum tv_param_kind {
    TV_PARAM_SCALAR,     /* slot: the value */
    TV_PARAM_ARRAY,      /* slots: address of element (0, ...), ndim extents, ndim strides, in elements */
    TV_PARAM_LIST,       /* slots: address of the descriptors, i32 count; items[0] is what each array must be */
    TV_PARAM_POINTER,    /* slot: an address; entries whose symbol tells nothing, and convention 3 */
    TV_PARAM_TUPLE,      /* no slots of its own */
    TV_PARAM_STRUCT,     /* convention 3: a frozen dataclass */
    TV_PARAM_CONSTANT,   /* no slots: the value was compiled in */
    TV_PARAM_TENSOR_MAP, /* convention 3; how it is passed is not known */
    TV_PARAM_STREAM      /* convention 3; no slots */
} tv_param_kind;

typedef enum tv_constant_kind {
    TV_CONSTANT_BOOL,
    TV_CONSTANT_INT,
    TV_CONSTANT_FLOAT,
    TV_CONSTANT_NONE,
    TV_CONSTANT_STRING,
    TV_CONSTANT_ENUM,
    TV_CONSTANT_DTYPE /* convention 3 */
} tv_constant_kind;

typedef struct tv_constant {
    tv_constant_kind kind;
    int64_t integer; /* BOOL, INT; clamped when the symbol has a larger one, text has all digits */
    double number;   /* FLOAT */
    tv_dtype dtype;  /* DTYPE */
    tv_str text;     /* as Python writes it: True, -1, 0.5, nan, 'UTF-8 text', mode.Color.RED */
} tv_constant;

/* What the kernel was promised about one axis of an array. */
typedef struct tv_axis {
    bool has_extent, has_stride, has_stride_min;
    int64_t extent;          /* the extent must be this (has_extent) */
    int64_t stride;          /* the stride must be this (has_stride) */
    int64_t stride_min;      /* the stride must be at least this (has_stride_min) */
    int64_t extent_multiple; /* the extent must be a multiple of this; 1: anything */
    int64_t stride_multiple;
} tv_axis;

typedef struct tv_param {
    tv_param_kind kind;
    const char *name;       /* "a", "b", ... by position; in a tuple "b.0", "b.1" */
    tv_dtype dtype;         /* SCALAR, ARRAY, LIST (of its arrays); POINTER: what it points to */
    uint32_t ndim;          /* ARRAY, LIST */
    const tv_axis *axes;    /* ARRAY: ndim of them */
    tv_dtype index_dtype;   /* ARRAY: TV_I32, TV_U32 or TV_I64: extents and strides must fit */
    int64_t base_multiple;  /* ARRAY: the address must be a multiple of this many bytes; 1: anything */
    const uint32_t *groups; /* ARRAY, LIST (its descriptors): may share memory with parameters of the same group only */
    size_t group_count;
    bool overlaps;                /* ARRAY: two of its indices, LIST: two of its arrays may share memory */
    tv_constant constant;         /* CONSTANT */
    tv_str type_name;             /* STRUCT: module.Class */
    const struct tv_param *items; /* TUPLE, STRUCT; LIST: the one array */
    size_t item_count;
    size_t first_slot, slot_count;
    bool constant_data; /* POINTER: its author wrote const: the kernel only reads what is there */
} tv_param;

/* Decodes a symbol. symbol is copied. TV_INVALID: it does not follow the naming of cutile_python_v1 to v3; the
   diagnostic says where. */
tv_status tv_signature_open(tv_str symbol, const tv_allocator *allocator, tv_sink sink, tv_signature **out_signature);
/* Signature of an entry. Where the symbol tells nothing, or (with a warning) does not fit the entry's type, every
   entry parameter counts as a POINTER or SCALAR of its own; a symbol of C++ says what of them is unsigned, bool or
   const (where the C++ runtime, libstdc++.so.6, is there to read it). TV_UNSUPPORTED: a parameter is neither. */
tv_status tv_signature_of_entry(const tv_module *module, size_t entry, tv_sink sink, tv_signature **out_signature);
void tv_signature_close(tv_signature *signature);

/* Name of the function without what was mangled in, "scale<float>" of C++; the symbol itself for an entry that is not
   mangled. */
tv_str tv_signature_function(const tv_signature *signature);
/* Calling convention: 1 to 3 for cutile_python_v1 to v3; 0: the symbol is of C++, or was not mangled. */
unsigned tv_signature_convention(const tv_signature *signature);
size_t tv_signature_param_count(const tv_signature *signature);
const tv_param *tv_signature_param(const tv_signature *signature, size_t index); /* NULL past the end */

/* The leaves in the order of their slots, at any depth: what a caller provides. NULL past the end. */
const tv_param *tv_signature_leaf(const tv_signature *signature, size_t index);
size_t tv_signature_leaf_count(const tv_signature *signature);

typedef enum tv_slot_role {
    TV_SLOT_VALUE,
    TV_SLOT_ADDRESS,
    TV_SLOT_EXTENT,
    TV_SLOT_STRIDE,
    TV_SLOT_LIST_ADDRESS,
    TV_SLOT_LIST_COUNT
} tv_slot_role;

typedef struct tv_slot {
    tv_slot_role role;
    const tv_param *leaf;
    uint32_t axis;  /* EXTENT, STRIDE */
    tv_dtype dtype; /* of the value; ADDRESS: what is there */
    unsigned size;  /* bytes passed: 1, 2, 4 or 8 */
} tv_slot;

size_t tv_signature_slot_count(const tv_signature *signature);
/* False past the end. */
bool tv_signature_slot(const tv_signature *signature, size_t index, tv_slot *out_slot);

/* One line without newline for people: "f32[n0, n1]  n0 % 16, stride1 = 1, base % 16". */
tv_status tv_param_print(const tv_param *param, tv_writer out);

/* ---- calls --------------------------------------------------------------------------------------------------- */

/* An array as the kernel will see it. data is the address of element (0, ..., 0). */
typedef struct tv_array {
    void *data;
    tv_dtype dtype;
    uint32_t ndim;          /* at most TV_MAX_RANK */
    const int64_t *shape;   /* elements */
    const int64_t *strides; /* elements, may be negative or zero; NULL: row-major */
} tv_array;

/* Lowest and one past the highest byte that the array's elements take; both data when an extent is 0. False when the
   array is larger than the address space. */
bool tv_array_span(const tv_array *array, uintptr_t *out_low, uintptr_t *out_high);

/* What is given for one leaf of a signature: for an ARRAY one array; for a POINTER one array, of which the kernel gets
   the address only; for a LIST item_count arrays; for a SCALAR its type and bits. */
typedef struct tv_arg {
    const char *name; /* for messages; NULL: the leaf's own name */
    const tv_array *arrays;
    size_t array_count;
    tv_dtype dtype; /* SCALAR */
    uint64_t bits;  /* SCALAR: the value's pattern in the low bits; a tf32 as its 32-bit cell */
} tv_arg;

/* Arguments that were checked against a signature and laid out as tv_vm_run and cuLaunchKernel take them. */
typedef struct tv_call tv_call;

/* args  one for each leaf, in order; arrays, shapes and strides are borrowed for the call of this function only, the
         memory behind the arrays until the kernel has run.
   Every promise of the signature is checked: types, ranks, extents, strides, addresses, what may share memory. All
   that is wrong is reported, naming the argument; TV_INVALID then. An integer scalar may be given for the other
   signedness. */
tv_status tv_call_new(const tv_signature *signature, const tv_arg *args, size_t count, const tv_allocator *allocator,
                      tv_sink sink, tv_call **out_call);
void tv_call_free(tv_call *call);
/* params[i] points to the value of entry parameter i. */
const void *const *tv_call_params(const tv_call *call, size_t *out_count);
/* Memory of the call that kernels read: the descriptors of its i-th list. It must be known to the machine
   (tv_vm_add_buffer). False past the end. */
bool tv_call_storage(const tv_call *call, size_t index, void **out_ptr, size_t *out_size);

/* ---- virtual machine ---------------------------------------------------------------------------------------- */

/* Runs kernels of one verified module on the CPU. The module is borrowed and must outlive the machine. */
typedef struct tv_vm tv_vm;

/* A tile as the hooks see it: count elements in row-major order, packed without gaps. i1 (0 or 1), i4 and f4E2M1FN
   take one byte each, tf32 four, pointers eight. */
typedef struct tv_tile {
    const char *element; /* as the assembly writes it: "f32", "i1", "ptr" */
    const int64_t *shape;
    uint32_t rank;
    uint64_t count;
    const void *data; /* borrowed for the call */
    size_t size;      /* bytes */
} tv_tile;

/* One result of one op of one tile block, for tv_vm_options.trace. Strings are borrowed for the call. */
typedef struct tv_trace {
    uint32_t block[3];
    tv_str op;         /* mnemonic */
    uint32_t op_index; /* position of the op in the function, pre-order from 0; as in tv_diag */
    uint32_t result;   /* which result, from 0 */
    tv_str file;       /* source place, empty when unknown */
    uint32_t line;
    tv_tile tile;
} tv_trace;

/* What a machine can look for while a kernel runs: things that a GPU does not tell. docs/vm.md says how. */
typedef enum tv_check {
    TV_CHECK_BOUNDS = 1,  /* accesses between the elements of an array, indices outside a view */
    TV_CHECK_UNINIT = 2,  /* reads of memory that nothing has written, results that use what a load leaves open */
    TV_CHECK_RACES = 4,   /* conflicting accesses of two tile blocks, or of one op, that nothing orders */
    TV_CHECK_TOKENS = 8,  /* conflicting accesses of one tile block that no token orders */
    TV_CHECK_ASSUME = 16, /* assume facts that are false */
    TV_CHECK_VALUES = 32, /* operands for which the result of an op is undefined */
    TV_CHECK_ORDER = 64,  /* results that depend on the order of the tile blocks */
    TV_CHECK_ALL = 127
} tv_check;

typedef struct tv_check_info {
    const char *name;    /* "races" */
    const char *summary; /* a few words */
    uint32_t check;      /* tv_check */
} tv_check_info;
/* The i-th check, or NULL past the end. */
const tv_check_info *tv_check_at(size_t index);

typedef struct tv_vm_options {
    const tv_allocator *allocator; /* NULL: malloc and free */
    unsigned threads;              /* tile blocks that run at the same time; 0: one per processor we may use */
    size_t memory_limit;           /* bytes for code, tile storage and alloca, all threads together; 0: half of what
                                      the machine has. Fewer threads are used when not all frames fit. */
    uint64_t step_limit;           /* ops (those of loops each time round) that one run may execute: exactly so many
                                      are, then the run stops; 0: no limit */
    uint64_t order_seed;           /* 0: tile blocks start in order, x fastest; else in an order drawn from the seed */
    tv_writer output;              /* text of print_tko and assert, one call per line or print; write NULL: dropped */
    void *user;                    /* for the callbacks below; any worker may call them, one call at a time */
    bool (*progress)(void *user, uint64_t done, uint64_t total); /* tile blocks; some times a second, also within a
                                      block and within an op; false stops the run. tv_vm_where tells more */
    void (*trace)(void *user, const tv_trace *trace); /* every tile that a chosen op makes; slow; NULL: none */
    bool (*trace_op)(void *user, tv_str op, uint32_t op_index); /* is the op chosen? Asked while a kernel is compiled;
                                      NULL: all are */
    bool profile;                                               /* also measure the time of each op for tv_vm_op_time */
    uint32_t checks;       /* tv_check bits; 0: none, at no cost. With checks tile blocks take turns on one
                              thread, always in the same way, and a deadlock among them is a trap */
    unsigned max_findings; /* stop after so many findings of checks; 0: 20 */
    unsigned check_orders; /* TV_CHECK_ORDER: how many other orders to try; 0: 3 */
} tv_vm_options;

/* What the last tv_vm_run did. */
typedef struct tv_vm_stats {
    uint64_t blocks;                     /* tile blocks that ran to their end */
    uint64_t ops;                        /* ops executed */
    uint64_t bytes_loaded, bytes_stored; /* global memory, atomics counted in both */
    uint64_t flops;         /* floating-point operations of element-wise ops, reductions and mma (2 per product) */
    size_t frame_bytes;     /* tile storage of one running block */
    size_t memory_bytes;    /* most that was held at a time, all threads together */
    unsigned threads;       /* that took part */
    double seconds;         /* wall time of the blocks, without compiling */
    double compile_seconds; /* 0 when the entry had run before */
} tv_vm_stats;

/* options may be NULL. TV_USAGE: the module has not been verified; TV_NO_MEMORY. Kernels are compiled when they
   first run. Globals of the module get their storage here and keep their contents between runs. */
tv_status tv_vm_new(const tv_module *module, const tv_vm_options *options, tv_sink sink, tv_vm **out_vm);
void tv_vm_free(tv_vm *vm);

/* Lets kernels reach [ptr, ptr + size); every access through a pointer must lie in one such range, in a global of
   the module or in storage from alloca. Nothing is copied: the memory stays the caller's and must outlive the runs.
   name      for diagnostics, copied; may be NULL
   writable  false: stores and atomics to it trap
   TV_USAGE when the range is empty, wraps around or overlaps another one. */
tv_status tv_vm_add_buffer(tv_vm *vm, void *ptr, size_t size, const char *name, bool writable, tv_sink sink);
/* Tells what lies in a buffer that was added; several arrays may share one. Messages then name elements, and checks
   know what lies between them. name is copied. undefined   the elements hold nothing yet: to read one before it is
   written is a finding of TV_CHECK_UNINIT TV_USAGE when a part of the array lies in no buffer. */
tv_status tv_vm_describe_array(tv_vm *vm, const tv_array *array, const char *name, bool undefined, tv_sink sink);
typedef struct tv_leaf { /* what is known of what was given for a leaf */
    const char *name;    /* for messages, copied; NULL: the leaf's own */
    bool read_only;      /* stores and atomics to its memory trap, unless another leaf may write there */
    bool undefined;      /* as in tv_vm_describe_array */
} tv_leaf;

/* Adds and describes what the values of entry parameters (as for tv_vm_run; read now only) reach: arrays from their
   lowest to their highest element, lists with descriptors and arrays. Ranges that overlap become one buffer. What a
   POINTER leaf reaches is not known: add that. leaves: NULL, or one for each leaf. TV_USAGE: count is not that of the
   slots, an extent or a list's count is negative, a range wraps around or overlaps a buffer that was added before. */
tv_status tv_vm_add_params(tv_vm *vm, const tv_signature *signature, const void *const *params, size_t count,
                           const tv_leaf *leaves, tv_sink sink);
/* Forgets all buffers and arrays. */
void tv_vm_clear_buffers(tv_vm *vm);

/* Address and size of a global's storage, for reading and writing between runs. False: no global has that name. */
bool tv_vm_global(const tv_vm *vm, const char *name, void **out_ptr, size_t *out_size);

/* Runs one kernel.
   entry    its symbol; NULL when the module has just one
   grid     tile blocks in x, y, z; each 1 to 2^24 - 1
   params   as for cuLaunchKernel: params[i] points to the value of entry parameter i (i1 and i4: one byte, tf32:
            four, pointers: eight), count values in all
   Memory   frames of the workers, released before the call returns
   Returns  TV_OK; TV_TRAP after one X rule was reported (buffers keep what was written until then); TV_INVALID when
            the run went to its end but checks found errors, each reported once per pair of ops; TV_USAGE for a
            wrong entry, grid or count; TV_UNSUPPORTED for an op that no single machine can do; TV_NO_MEMORY
   Threads  one call at a time per tv_vm; different tv_vm are independent, also on one module */
tv_status tv_vm_run(tv_vm *vm, const char *entry, const uint32_t grid[3], const void *const *params, size_t count,
                    tv_sink sink);

/* Where a run is. */
typedef struct tv_vm_place {
    uint32_t block[3];      /* the tile block that the worker which calls back is in, or was last */
    tv_str op;              /* mnemonic of what comes next there or is under way; empty between tile blocks */
    tv_str file;            /* source place of the op, empty when unknown */
    uint32_t line;          /*   0 when unknown */
    uint64_t ops;           /* executed so far by all workers, but for the last few thousands */
    uint64_t round, rounds; /* of the outermost `for` around the op that goes round more than once; 0, 0: there is none
                             */
} tv_vm_place;

/* For tv_vm_options.progress, with a file descriptor as user: the run goes on until something can be read from it. */
bool tv_vm_until_readable(void *user, uint64_t done, uint64_t total);

/* For progress callbacks, which alone may call it: where the run is. False: nothing runs. */
bool tv_vm_where(const tv_vm *vm, tv_vm_place *out_place);

/* Figures of the last run. */
void tv_vm_get_stats(const tv_vm *vm, tv_vm_stats *out_stats);

typedef struct tv_vm_op_time {
    const char *op; /* mnemonic */
    uint64_t count; /* times executed */
    double seconds; /* all threads together; 0 without options.profile */
} tv_vm_op_time;

/* Op kinds of the last run in table order: the i-th that was executed; false past the end. */
bool tv_vm_op_time_at(const tv_vm *vm, size_t index, tv_vm_op_time *out_time);

#ifdef __cplusplus
}
#endif
#endif
