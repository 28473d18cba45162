/* Compiling one entry: what vm/compile/emit.c (values) and inst.c (instructions) offer to the compile hooks in vm/op.

   A hook turns one op into instructions. It gets its operands with vm_need_*, makes an instruction, binds the operands
   and results to fields of it, and appends it:

       vm_need_packed(e, v);                                  // may itself append instructions, so it comes first
       copy_inst *inst = vm_new_inst(e, op, copy_run, copy_inst);
       vm_read(e, &inst->head, &inst->from, v);
       vm_write(e, &inst->head, &inst->to, result);
       vm_append(e, &inst->head);

   Out of memory never has to be checked by a hook: vm_new_inst then gives memory to write into, and emission stops. */
#ifndef TILEVM_VM_COMPILE_EMIT_H
#define TILEVM_VM_COMPILE_EMIT_H

#include "bytecode/base/compiler.h"
#include "bytecode/print/report.h"
#include "vm/run/code.h"
#include "vm/run/layout.h"

typedef struct vm_emit vm_emit;
typedef struct vm_value vm_value;
typedef struct vm_ctx vm_ctx;
typedef struct vm_group vm_group;
typedef uint32_t vm_storage; /* index into vm_emit.storages */

enum { VM_NO_STORAGE = 0, VM_TOKEN_BYTES = 8 }; /* a token with storage is a pointer to a clock */

/* How a value of the program is there while it runs. */
typedef enum vm_form {
    VM_UNSEEN,
    VM_NOTHING, /* tokens, unless checks need them */
    VM_STORED,  /* elements at storage + offset, laid out by layout */
    VM_NODE,    /* of an open group: not there yet */
    VM_ROWS,    /* through the vm_rows in storage; packed rows of 2^row_bits elements */
    VM_RECORD   /* a view: the struct in storage */
} vm_form;

struct vm_value {
    uint8_t form;
    uint8_t elem_bytes;
    uint8_t row_bits;
    bool rows_ok;      /* all uses can read it as rows, and nothing is stored before the last of them */
    bool mma_only;     /* all uses are operands of products, which read it as it lies */
    uint32_t uses;     /* by ops that run; 0: never needed */
    uint32_t last_use; /* pre-order position of the last op that uses it */
    vm_layout layout;  /* STORED, NODE, ROWS */
    vm_storage storage;
    size_t offset;       /* bytes into storage */
    vm_storage packed;   /* a packed copy, or VM_NO_STORAGE */
    uint32_t packed_for; /* position of the one op it was made for; UINT32_MAX: for all */
    vm_inst *packer;     /* instruction that makes the packed copy */
    vm_storage staging;  /* ROWS: where the copy goes if it cannot stay in memory */
    vm_ctx *home;        /* the piece of code that makes it */
    vm_inst *maker;      /* STORED, ROWS: instruction after which it is there; NULL: from the start of home */
    vm_group *group;     /* NODE */
    uint32_t node;
    uint32_t same_node; /* NODE: id + 1 of another value that is the same node */
};

/* A piece of code that is entered at its start: the preamble, the body of the entry, a region. */
struct vm_ctx {
    vm_ctx *parent;
    vm_ctx *children, *last_child, *sibling;
    vm_inst *header; /* the instruction that enters it */
    bool loop;       /* runs more than once */
    bool branch;     /* may not run at all: nothing costly is moved out of it */
    uint32_t depth;
    vm_inst *first, *last;
    vm_group *groups;    /* open ones */
    uint32_t start, end; /* positions of its instructions, once numbered */
    uint32_t segment;    /* that ops are counted in now */
};

typedef enum vm_access { VM_READ, VM_WRITE, VM_UPDATE } vm_access;

struct vm_emit {
    const bc_module *m;
    const bc_function *f;
    const tv_vm *vm;
    vm_code *code;
    tv_sink sink;
    bc_arena *arena;             /* the code's: stays */
    bc_arena temp;               /* released when the entry is compiled */
    bool plain;                  /* trace, checks: no groups, no aliases of memory, every value packed */
    bool checks;                 /* some are wanted */
    bool tokens;                 /* checks need them: they have storage */
    struct vm_exact_slot *exact; /* by value id, with options.precision: its exact elements; else NULL */
    bool failed;                 /* out of memory, or reported */
    tv_status status;
    vm_value *values; /* by bc_value.id */
    vm_ctx *preamble, *body, *cur;
    vm_ctx *at;        /* where the instructions of the current op go */
    vm_group *lanes;   /* in the body of a reduce or scan that runs on strips */
    uint32_t position; /* pre-order, of the current op */
    uint32_t next_position;
    struct vm_region_state *region; /* innermost one being emitted */
    bool leaves;                    /* a break, continue or return was emitted since this was last cleared */
    unsigned quiet;                 /* in a body that runs once per element: no trace */
    void (*walk)(vm_emit *e, vm_ctx *ctx, const bc_block *block);
    struct vm_compile *compile;
    struct vm_plan *plan;
    struct vm_storages *storages;
    const struct vm_widened *widened; /* code for batches: the function is a wide one; else NULL */
    const struct vm_note **notes;     /* of its accesses, as far as they are emitted */
    bool committed;
    size_t scratch_bytes;
    alignas(64) unsigned char trash[4096]; /* what allocations give after the arena failed */
};

/* ---- the hooks ---- */

typedef void vm_hook(vm_emit *e, const bc_op *op);

#define OP(name, ...) vm_hook vm_##name;
#include "bytecode/ops.def"

/* ---- values ---- */

static inline vm_value *vm_value_of(vm_emit *e, const bc_value *v)
{
    return &e->values[v->id];
}
static inline bc_value *vm_result(const bc_op *op, unsigned i)
{
    return &bc_results(op)[i];
}
static inline bool vm_used(vm_emit *e, const bc_value *v)
{
    return vm_value_of(e, v)->uses != 0;
}
/* Elements of a tile value. */
static inline size_t vm_count(const bc_value *v)
{
    return (size_t)1 << vm_type_bits(v->type);
}

/* Sees that v lies somewhere that vm_read can bind: closes the group it is in, copies rows. Nothing about its layout.
 */
void vm_need_stored(vm_emit *e, const bc_value *v);
/* The same, and packed in row-major order. */
void vm_need_packed(vm_emit *e, const bc_value *v);

/* Whether v has a packed copy that the current op may read. */
static inline bool vm_has_packed(const vm_emit *e, const vm_value *v)
{
    return v->packed && (v->packed_for == UINT32_MAX || v->packed_for == e->position);
}

/* ---- instructions ---- */

void *vm_new_inst_bytes(vm_emit *e, const bc_op *op, vm_handler *run, size_t size);
#define vm_new_inst(e, op, run, T) ((T *)vm_new_inst_bytes((e), (op), (run), sizeof(T)))

/* Memory in the code's arena; like vm_new_inst, never NULL for up to sizeof trash bytes. */
void *vm_code_bytes(vm_emit *e, size_t size);

/* Binds a field of inst to where v lies (STORED, RECORD, or the cell of ROWS), or its packed form. */
void vm_read(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *v);
void vm_read_packed(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *v);
/* Makes packed storage for a result (or a record of `bytes`) and binds a field to it. */
void vm_write(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result);
void vm_write_record(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result, size_t bytes);
/* The result is the same memory as source, seen through a layout, from offset bytes on. */
void vm_alias(vm_emit *e, const bc_value *result, const bc_value *source, const vm_layout *layout, size_t offset);

/* Storage that is no value's: scratch of one instruction or state of a loop. */
vm_storage vm_new_storage(vm_emit *e, size_t bytes, vm_ctx *home);
void vm_bind(vm_emit *e, vm_inst *inst, size_t *field, vm_storage storage, size_t offset, vm_access access);
/* The two could share storage if their lives allow it: inst would then copy nothing. */
void vm_affinity(vm_emit *e, vm_inst *inst, vm_storage from, vm_storage to);

/* Puts inst at the end of e->at, after closing what has to come before it. */
void vm_append(vm_emit *e, vm_inst *inst);
void vm_append_to(vm_emit *e, vm_ctx *ctx, vm_inst *inst);
/* Puts inst behind another instruction of ctx; before NULL: at the end so far. */
void vm_insert_after(vm_emit *e, vm_ctx *ctx, vm_inst *before, vm_inst *inst);

/* Scratch memory that an instruction may use while it runs, at frame->scratch. */
void vm_need_scratch(vm_emit *e, size_t bytes);

/* Reports that this op cannot be run and stops. */
void vm_unsupported(vm_emit *e, const bc_op *op, const char *format, ...) TV_PRINTF(3, 4);

/* ---- element-wise ops ---- */

/* result[i] = map(operand[i]...) for the first map->operands operands of op. */
void vm_emit_map(vm_emit *e, const bc_op *op, const vm_map *map);
/* The same with the operands given. */
void vm_emit_map_of(vm_emit *e, const bc_op *op, const bc_value *result, const vm_map *map, bc_value *const *operands);

#endif
