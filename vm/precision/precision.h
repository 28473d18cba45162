/* Runs a kernel and, at the same time, the same kernel without rounding: every float has an exact element, which is its
   value without rounding. Ops compute both; decisions and addresses follow the kernel's own values. With
   options.precision, an entry is compiled to code that executes one op at a time in program order, with an instruction
   after each op that does the same to the exact elements. Without it, the code has none of this.

     wide.h        numbers of 106 bits
     functions.c   what element-wise ops give in them
     element.c     the exact element of a result, and what is noted of it
     storage.c     storage of exact tiles
     emit.c        which op gets which instruction
     map.c         element-wise ops
     move.c        ops that move elements
     product.c     products of matrices
     access.c      loads, stores, atomics
     cells.c       exact elements of memory
     state.c       one run; what it adds up
     report.c      the public calls that tell about it

   All of it runs on one thread. */
#ifndef TILEVM_VM_PRECISION_PRECISION_H
#define TILEVM_VM_PRECISION_PRECISION_H

#include <string.h>

#include "bytecode/number/number.h"
#include "vm/compile/emit.h"
#include "vm/precision/functions.h"
#include "vm/precision/cells.h"
#include "vm/run/schedule.h"

/* ---- figures ---- */

/* Errors of the elements that an op made, or that an array holds: their distances from what they are compared with, in
   units in the last place of the larger of the two. */
typedef struct vm_error {
    double worst, sum; /* of the finite ones; worst is infinite if one error is infinite */
    uint64_t infinite;
    uint64_t block, element; /* of the worst */
    double value, exact;
} vm_error;

/* Of one op. */
typedef struct vm_loss {
    const bc_op *op; /* NULL: the op has made no float */
    uint64_t elements;
    vm_error introduced;      /* by its own rounding */
    vm_error accumulated;     /* by its rounding and the errors of its operands */
    double caused, amplified; /* worst errors of stored elements: by its rounding, by amplification */
    uint64_t grown;           /* elements for which it amplified the errors of operands */
    vm_error growth;          /* factors, not units */
    uint64_t overflows;       /* elements that became infinite or NaN from finite operands */
    uint64_t decisions;       /* results that would differ without rounding */
    vm_error decided;         /* the first of them */
    bool is_sum, drops;
} vm_loss;

/* Of an array that the kernel has written. */
typedef struct vm_array_loss {
    const vm_array *array;   /* NULL: memory that is not described */
    const vm_region *region; /* it lies in */
    uint8_t kind;
    uint64_t elements;
    vm_error error; /* element: the address */
    double largest, distance;
    uint32_t origin, amplifier; /* ops of the worst element, by position + 1; 0: none */
} vm_array_loss;

struct vm_precision {
    tv_vm *vm;
    const vm_code *code;
    tv_allocator memory; /* counts, and fails beyond the memory limit */
    size_t held;
    vm_loss *ops; /* by position */
    uint32_t op_count;
    uint32_t grid[3];
    vm_cells cells;
    vm_array_loss *arrays;
    size_t array_count, array_capacity;
};

/* ---- exact elements ---- */

/* The op that makes an element. */
typedef struct vm_maker {
    uint32_t op; /* position */
    uint8_t kind, bytes;
    const bc_float_format *format;
} vm_maker;

/* The op that is being emitted, which makes floats of a kind. */
vm_maker vm_maker_of(const vm_emit *e, bc_kind kind);

/* An operand of an element: its value, its exact value, and how far the difference moves the result. */
typedef struct vm_source {
    vm_wide real;
    vm_exact exact;
    double effect;
} vm_source;

/* The exact element of a result, whose value is `real`; `pure` is the op without rounding on the operands as they are,
   `full` on exact ones. Notes the errors of the op. */
vm_exact vm_exact_make(vm_frame *f, const vm_maker *maker, size_t element, double real, vm_wide pure, vm_wide full,
                       const vm_source *sources, uint32_t count);
/* Counts a decision that follows the values of the kernel and would differ without rounding. */
void vm_note_decision(vm_frame *f, const vm_maker *maker, size_t element, double value, double exact);
/* Adds an error to the figures. */
void vm_note_error(vm_error *error, double ulps, uint64_t block, uint64_t element, double value, double exact);

/* In units in the last place of the larger of a and b, in a format. */
double vm_ulps(const bc_float_format *format, double distance, double a, double b);

static inline vm_exact vm_exact_of(double value)
{
    return (vm_exact){.x = {value, 0}};
}

/* Element i of packed elements. */
static inline double vm_real_at(const unsigned char *tile, size_t i, bc_kind kind, unsigned bytes)
{
    uint64_t bits = 0;
    float single;
    if (kind == BC_F32) {
        memcpy(&single, tile + i * sizeof single, sizeof single);
        return single;
    }
    memcpy(&bits, tile + i * bytes, bytes);
    return bc_float_value(kind, kind == BC_TF32 ? bc_tf32_from_cell((uint32_t)bits) : bits);
}

static inline struct vm_precision *vm_precision_of(const vm_frame *f)
{
    return f->run->vm->precision;
}

/* ---- compiling ---- */

/* Behind the instructions of op. */
void vm_emit_exact(vm_emit *e, const bc_op *op);
/* In front of them. */
void vm_emit_exact_before(vm_emit *e, const bc_op *op);
/* False: out of memory. */
bool vm_exact_begin(vm_emit *e);

/* Storage of the exact elements of v; VM_NO_STORAGE: they are what v holds. */
vm_storage vm_exact_storage(const vm_emit *e, const bc_value *v);
/* Makes sure that a float has such storage for the current op. */
void vm_need_exact(vm_emit *e, const bc_value *v);
void vm_set_exact(vm_emit *e, const bc_value *v, vm_storage storage);
/* Makes storage for the exact elements of a result and binds a field to it. */
void vm_write_exact(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result);

static inline bool vm_has_floats(const bc_value *v)
{
    return bc_is_tile(v->type) && bc_float_format_of(bc_elem_kind(v->type));
}
static inline size_t vm_exact_bytes(const bc_value *v)
{
    return vm_count(v) * sizeof(vm_exact);
}

/* An operand of an instruction. */
typedef struct vm_exact_operand {
    size_t real, exact;
    bool has_exact, is_float, is_signed;
    uint8_t kind, bytes, width;
} vm_exact_operand;

/* Binds v, which can be read packed. */
void vm_bind_operand(vm_emit *e, vm_inst *inst, vm_exact_operand *operand, const bc_value *v);
/* Element i, both ways. */
vm_source vm_source_at(const vm_frame *f, const vm_exact_operand *operand, size_t i);

/* By the kind of op. */
void vm_emit_exact_map(vm_emit *e, const bc_op *op, const vm_exact_op *what);
void vm_emit_exact_select(vm_emit *e, const bc_op *op);
void vm_emit_exact_move(vm_emit *e, const bc_op *op);
void vm_emit_exact_product(vm_emit *e, const bc_op *op);
void vm_emit_exact_access(vm_emit *e, const bc_op *op);

/* ---- running ---- */

/* Stops the run: no memory is left for exact elements. Always NULL. */
const vm_inst *vm_precision_no_memory(vm_frame *f, const vm_inst *inst);

/* Runs the whole grid on one thread and keeps the figures in vm->precision. As vm_run_grid. */
tv_status vm_run_precisely(tv_vm *vm, const vm_code *code, const uint32_t grid[3], const void *const *params,
                           tv_sink sink);
void vm_precision_release(tv_vm *vm);

#endif
