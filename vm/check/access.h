/* Declarations for the checks of accesses: access.c compiles them, memory.c runs them. */
#ifndef TILEVM_VM_CHECK_ACCESS_H
#define TILEVM_VM_CHECK_ACCESS_H

#include "vm/check/check.h"
#include "vm/compile/access.h"

typedef struct vm_access_check {
    vm_inst head;
    uint32_t number; /* in vm_code.check_ops */
    bool is_view;
    vm_access_info info;     /* views */
    const int64_t *inbounds; /* views: promises by dimension, or NULL */
    size_t pointers, n;      /* pointers */
    size_t mask;
    bool has_mask;
    uint8_t kind, bytes;   /* of an element in memory; bytes 0: f4 */
    size_t value, compare; /* rmw, cas: operands */
    uint8_t mode;          /* rmw: bc_AtomicRMWMode */
    size_t token_in, token_out;
    bool has_token_in;
    bool order, shadow, bounds; /* the checks that are requested */
} vm_access_check;

enum { VM_MEMO = 16 };

/* One execution. */
typedef struct vm_touch {
    vm_frame *f;
    const vm_access_check *c;
    const vm_check_op *what;
    struct vm_check *check;
    vm_event event;
    uint32_t id;                  /* of the event */
    const vm_clock *before;       /* the events that the token orders before this access */
    const vm_clock *after;        /* these, and those that were acquired */
    const vm_clock *seen;         /* the clock that was joined into `after` last */
    const vm_clock *own;          /* release: the events that this one publishes itself */
    const vm_clock *old, *joined; /* the last clock that was joined with `own`, and the result */
    const vm_region *region;      /* that contains the last element */
    struct {
        vm_cell from, to;
        bool writes, valid;
    } memo[VM_MEMO];               /* cells often change in the same way: the results for the last ones */
    bool told_unwritten, told_gap; /* this execution has a finding already; there could be one for every element */
    uint64_t places;               /* sum as in vm_last, of the elements so far */
    bool traps;                    /* the access itself will trap, at an element outside memory */
    bool failed;                   /* out of memory */
} vm_touch;

typedef bool vm_visit(vm_touch *t, uint64_t address, size_t element);

/* Calls visit for every element that is accessed, until it returns false. */
bool vm_visit_all(vm_touch *t, vm_visit *visit);

vm_handler vm_access_run;

/* For the machine's observer (vm/check/observe.c). The first function: a strong access read what another event has
   written (writer 0: no event has written it), and acquired what was released with it. The second: the access conflicts
   with an earlier event; the place is text. */
void vm_observe_read(vm_touch *t, uint32_t writer, bool acquired);
void vm_observe_conflict(const vm_touch *t, bc_rule rule, const vm_event *first, const char *place);
/* Binds what vm_visit_all needs of an op that touches memory and whose tile operands can be read packed. */
void vm_bind_visit(vm_emit *e, vm_access_check *c, const bc_op *op);

/* Appends an instruction that does nothing and knows what op is about to access; NULL: op touches no memory. */
const vm_access_check *vm_emit_access_place(vm_emit *e, const bc_op *op);

/* The parameter of the entry from which the access derives its address; VM_NO_PARAM if it is not known. */
uint32_t vm_param_of(const bc_function *f, const bc_op *op);
/* The array that was passed to a parameter. NULL: none was described. */
const vm_array *vm_array_of_param(const vm_run *run, uint32_t param);
/* Is element i of the stored tile computed from element i of the load, so that the store must come later? */
bool vm_stores_loaded(const bc_op *store, const bc_op *load);

#endif
