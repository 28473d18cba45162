/* Entries of a module, what they take, and the arguments of a launch. Programs include tilevm/tilevm.h, which states
   the rules that hold for all functions. */
#ifndef TILEVM_CALL_H
#define TILEVM_CALL_H

#include "tilevm/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- number types --------------------------------------------------------------------------------------------- */

/* Number types as users of kernels name them; TV_BOOL to TV_I64 hold integers. The signedness is for users: the IR has
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
    TV_I4, /* two elements per byte: only behind pointers */
    TV_DTYPE_COUNT
} tv_dtype;

/* The name of a type: "f32".

   Memory    the string lives forever
   Threads   any */
const char *tv_dtype_name(tv_dtype dtype);

/* Bits of one element in memory: a bool takes 8, tf32 32.

   Threads   any */
unsigned tv_dtype_bits(tv_dtype dtype);

/* Reads a name of a type: "f32", "float32", or the code of a mangled symbol, in upper or lower case.

   Returns   false, without a result, when text is none of them
   Threads   any */
bool tv_dtype_parse(tv_str text, tv_dtype *out_dtype);

/* ---- entries -------------------------------------------------------------------------------------------------- */

/* The number of entries: functions that can be launched. They are numbered from 0 in the order of the file. */
size_t tv_module_entry_count(const tv_module *module);

/* The symbol of an entry.

   entry     below tv_module_entry_count
   Memory    the string lives as long as the module */
tv_str tv_module_entry_name(const tv_module *module, size_t entry);

/* The number of parameters of an entry.

   entry     below tv_module_entry_count */
size_t tv_module_entry_param_count(const tv_module *module, size_t entry);

/* The type of an entry parameter: a number, or the address of numbers. */
typedef struct tv_entry_param {
    const char *element; /* "f32", "i1": as the assembly writes it; "?" for what is neither number nor pointer */
    bool pointer;        /* the address of such elements */
    unsigned size;       /* bytes that tv_vm_run and cuLaunchKernel read; 0 for "?" */
} tv_entry_param;

/* The type of a parameter of an entry.

   entry     below tv_module_entry_count
   param     below tv_module_entry_param_count
   Memory    element lives forever */
tv_entry_param tv_module_entry_param(const tv_module *module, size_t entry, size_t param);

/* The entry that a name stands for.

   name      a symbol; or a function's plain name, if only one entry has it; or empty, if there is only one entry. A C++
             function may be named with its parameters, without them ("ns::scale<float, 64>"), without template
             arguments, without namespaces, and with the first of its template arguments only ("scale<float>"): the best
             match is taken
   Returns   TV_OK; TV_USAGE when no entry or several match, with a list of the entries in the diagnostic */
tv_status tv_module_entry_find(const tv_module *module, tv_str name, tv_sink sink, size_t *out_entry);

/* ---- signatures ----------------------------------------------------------------------------------------------- */

/* The parameters of a kernel's function, as its author wrote them. Symbols of cuTile Python encode them:
   `f_Kt1_A1f32_1i16t1_p16_I64` is f(a, b), where a is an array and b the constant 64. Each array, list or scalar (a
   leaf) becomes one or more entry parameters (slots), which a launch passes. */
typedef struct tv_signature tv_signature;

enum { TV_MAX_RANK = 32 }; /* axes of an array */

/* What a parameter is. */
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

/* What a constant is. */
typedef enum tv_constant_kind {
    TV_CONSTANT_BOOL,
    TV_CONSTANT_INT,
    TV_CONSTANT_FLOAT,
    TV_CONSTANT_NONE,
    TV_CONSTANT_STRING,
    TV_CONSTANT_ENUM,
    TV_CONSTANT_DTYPE /* convention 3 */
} tv_constant_kind;

/* A value that was compiled into the kernel. */
typedef struct tv_constant {
    tv_constant_kind kind; /* which of the next members have it */
    int64_t integer;       /* BOOL, INT; clamped when the symbol has a larger one, of which text has all digits */
    double number;         /* FLOAT */
    tv_dtype dtype;        /* DTYPE */
    tv_str text;           /* as Python writes it: True, -1, 0.5, nan, 'UTF-8 text', mode.Color.RED */
} tv_constant;

/* What the signature promises about one axis of an array. */
typedef struct tv_axis {
    bool has_extent, has_stride, has_stride_min; /* which of the next three are set */
    int64_t extent;                              /* the extent must be this (has_extent) */
    int64_t stride;                              /* the stride must be this (has_stride) */
    int64_t stride_min;                          /* the stride must be at least this (has_stride_min) */
    int64_t extent_multiple;                     /* the extent must be a multiple of this; 1: anything */
    int64_t stride_multiple;                     /* the stride must be a multiple of this; 1: anything */
} tv_axis;

/* A parameter of a function, or a part of one. Capital words name the kinds that a member is for. */
typedef struct tv_param {
    tv_param_kind kind;     /* what it is */
    const char *name;       /* "a", "b", ... by position; in a tuple "b.0", "b.1" */
    tv_dtype dtype;         /* SCALAR, ARRAY, LIST (of its arrays); POINTER: what it points to */
    uint32_t ndim;          /* ARRAY, LIST */
    const tv_axis *axes;    /* ARRAY: ndim of them */
    tv_dtype index_dtype;   /* ARRAY: TV_I32, TV_U32 or TV_I64: extents and strides must fit */
    int64_t base_multiple;  /* ARRAY: the address must be a multiple of this many bytes; 1: anything */
    const uint32_t *groups; /* ARRAY, LIST (its descriptors): may share memory only with parameters of the same group */
    size_t group_count;     /* of groups */
    bool overlaps;          /* ARRAY: two of its indices, LIST: two of its arrays may share memory */
    tv_constant constant;   /* CONSTANT */
    tv_str type_name;       /* STRUCT: module.Class */
    const struct tv_param *items;  /* TUPLE, STRUCT; LIST: the one array */
    size_t item_count;             /* of items */
    size_t first_slot, slot_count; /* the slots that it takes */
    bool constant_data;            /* POINTER: declared const: the kernel only reads through it */
} tv_param;

/* Decodes a symbol of cuTile Python.

   symbol      copied
   allocator   NULL: malloc and free; else copied, and in use until tv_signature_close
   Returns     TV_OK; TV_INVALID when the symbol does not follow the naming of cutile_python_v1 to v3: the diagnostic
               says where */
tv_status tv_signature_open(tv_str symbol, const tv_allocator *allocator, tv_sink sink, tv_signature **out_signature);

/* The signature of an entry. If the symbol describes no parameters or does not match the entry's type (which gives a
   warning), every entry parameter is a POINTER or SCALAR of its own. A C++ symbol says which of them are unsigned, bool
   or const, if the C++ runtime (libstdc++.so.6) is available to decode it.

   entry     below tv_module_entry_count
   Memory    uses the module's allocator until tv_signature_close
   Returns   TV_OK; TV_UNSUPPORTED when a parameter is neither a number nor an address of numbers */
tv_status tv_signature_of_entry(const tv_module *module, size_t entry, tv_sink sink, tv_signature **out_signature);

/* Releases a signature. NULL is fine. */
void tv_signature_close(tv_signature *signature);

/* The unmangled name of the function ("scale<float>" for C++); the symbol itself for an entry that is not mangled.

   Memory    the string lives as long as the signature */
tv_str tv_signature_function(const tv_signature *signature);

/* The calling convention: 1 to 3 for cutile_python_v1 to v3; 0 for a C++ symbol, or one that is not mangled. */
unsigned tv_signature_convention(const tv_signature *signature);

/* The number of parameters of the function. */
size_t tv_signature_param_count(const tv_signature *signature);

/* A parameter of the function; NULL past the end.

   Memory    the parameter lives as long as the signature */
const tv_param *tv_signature_param(const tv_signature *signature, size_t index);

/* A leaf: a parameter, or a part of one, that a caller provides. Leaves are numbered in the order of their slots, at
   any depth. NULL past the end.

   Memory    the leaf lives as long as the signature */
const tv_param *tv_signature_leaf(const tv_signature *signature, size_t index);

/* The number of leaves. */
size_t tv_signature_leaf_count(const tv_signature *signature);

/* What is passed in a slot. */
typedef enum tv_slot_role {
    TV_SLOT_VALUE,
    TV_SLOT_ADDRESS,
    TV_SLOT_EXTENT,
    TV_SLOT_STRIDE,
    TV_SLOT_LIST_ADDRESS,
    TV_SLOT_LIST_COUNT
} tv_slot_role;

/* One entry parameter, and the leaf to which it belongs. */
typedef struct tv_slot {
    tv_slot_role role;    /* what is passed */
    const tv_param *leaf; /* the leaf to which it belongs */
    uint32_t axis;        /* EXTENT, STRIDE */
    tv_dtype dtype;       /* of the value; ADDRESS: of the elements at the address */
    unsigned size;        /* bytes passed: 1, 2, 4 or 8 */
} tv_slot;

/* The number of slots. */
size_t tv_signature_slot_count(const tv_signature *signature);

/* A slot.

   Memory    its leaf lives as long as the signature
   Returns   false, without a result, past the end */
bool tv_signature_slot(const tv_signature *signature, size_t index, tv_slot *out_slot);

/* Prints a parameter for people, on one line without a newline: "f32[n0, n1]  n0 % 16, stride1 = 1, base % 16".

   Returns   TV_OK; TV_IO when out refused it
   Threads   any */
tv_status tv_param_print(const tv_param *param, tv_writer out);

/* ---- arguments ------------------------------------------------------------------------------------------------ */

/* An array as the kernel sees it. */
typedef struct tv_array {
    void *data;             /* the address of element (0, ..., 0) */
    tv_dtype dtype;         /* of the elements */
    uint32_t ndim;          /* at most TV_MAX_RANK */
    const int64_t *shape;   /* extents in elements, ndim of them */
    const int64_t *strides; /* in elements, may be negative or zero; NULL: row-major */
} tv_array;

/* The addresses of an array's bytes, from the lowest to one past the highest; both are data when an extent is 0.

   Returns   false, without a result, when the array is larger than the address space
   Threads   any */
bool tv_array_span(const tv_array *array, uintptr_t *out_low, uintptr_t *out_high);

/* The argument for one leaf of a signature: one array for an ARRAY; one array for a POINTER, of which the kernel
   gets the address only; array_count arrays for a LIST; a type and bits for a SCALAR. */
typedef struct tv_arg {
    const char *name;       /* for messages; NULL: the leaf's own name */
    const tv_array *arrays; /* ARRAY, POINTER: one; LIST: array_count of them */
    size_t array_count;     /* SCALAR: 0 */
    tv_dtype dtype;         /* SCALAR */
    uint64_t bits;          /* SCALAR: the value's pattern in the low bits; a tf32 as its 32-bit cell */
} tv_arg;

/* Arguments that were checked against a signature, laid out as tv_vm_run and cuLaunchKernel take them. */
typedef struct tv_call tv_call;

/* Checks arguments against every promise of a signature: types, ranks, extents, strides, addresses, and shared memory.
   An integer scalar may have the other signedness.

   args        count arguments: one for each leaf, in order
   allocator   NULL: malloc and free; else copied, and in use until tv_call_free
   Memory      args, shapes and strides are borrowed for this function only; the signature is not needed afterwards; the
               memory behind the arrays must stay until the kernel has run
   Returns     TV_OK; TV_INVALID after all errors were reported, each with the argument's name */
tv_status tv_call_new(const tv_signature *signature, const tv_arg *args, size_t count, const tv_allocator *allocator,
                      tv_sink sink, tv_call **out_call);

/* Releases a call. NULL is fine. */
void tv_call_free(tv_call *call);

/* The values of the entry parameters: *out_count pointers, of which number i points to the value of parameter i.

   Memory    pointers and values live as long as the call */
const void *const *tv_call_params(const tv_call *call, size_t *out_count);

/* The memory of a call that kernels read: the descriptors of one of its lists. Add it to the machine with
   tv_vm_add_buffer.

   out_size  bytes
   Memory    it lives as long as the call
   Returns   false, without a result, past the end */
bool tv_call_storage(const tv_call *call, size_t index, void **out_ptr, size_t *out_size);

#ifdef __cplusplus
}
#endif
#endif
