/* The effects of ops on memory that other threads can see, and the barriers that they need. The `shared` and `sync`
   passes find both, and lowering emits them.

   The effects of an op are in the order of its instructions. Threads wait at a barrier before an effect if another
   thread may still use the memory that it accesses. For global memory, a token orders the accesses of all threads. It
   costs a barrier, unless the two accesses cannot be to the same memory, or every thread accesses only its own elements
   in both. Without a token there is no order (memory reference, 3.4). Accesses through the same parameter or allocation
   keep the order of the program nevertheless, because hand-written kernels often omit tokens; only those of one store,
   in iterations that are executed together, do not.

   An asynchronous product reads shared memory through a proxy of its own (PTX ISA, "async proxy"), to which writes of
   threads are visible only after a fence. The fence follows the write, if such a product reads it on some path before
   another fence. TMA writes through that proxy already.

   A loop over strips (CT_strips) goes through the elements of its ops. Its trips are not iterations, and no access
   waits for one of another trip. Threads wait once, when the loop begins, before the accesses in it. */
#ifndef TILEVM_CODEGEN_VALUES_EFFECTS_H
#define TILEVM_CODEGEN_VALUES_EFFECTS_H

#include "codegen/tile/tokens.h"
#include "codegen/values/values.h"

typedef enum cg_effect_kind {
    CG_USES_SCRATCH, /* writes scratch, waits at a barrier, reads it */
    CG_ACCESSES,     /* reads or writes global memory */
    CG_MEETS,        /* waits for all earlier effects; for_one: unless the one thread did all of them */
    CG_BEGINS,       /* nothing itself: a loop over strips begins, and it contains accesses */
    CG_FILLS_RING,   /* writes the memory of rings, from here on */
    CG_READS_RING,   /* may still read it */
    CG_WRITTEN,      /* threads have written shared memory, by instructions or by cp.async */
    CG_READS_ASYNC   /* an asynchronous product reads it, through another proxy that sees fenced writes */
} cg_effect_kind;

/* The threads that wait for each other before an effect. */
typedef enum cg_meeting { CG_NOBODY, CG_EACH_WARP, CG_ALL_WARPS } cg_meeting;

typedef struct cg_effect {
    struct cg_effect *next; /* of the same op */
    const ct_op *op;
    uint32_t number;      /* unique in the kernel */
    uint8_t kind, before; /* cg_effect_kind, cg_meeting */
    /* Of shared memory: */
    cg_span span;
    const struct cg_ring *ring; /* whose slots it accesses; NULL: scratch */
    bool fence;                 /* of CG_WRITTEN: each thread makes its writes visible to the other proxy */
    bool small;                 /* may have any address */
    bool again;                 /* is in a loop of the op's own */
    bool by_turns;              /* of scratch: each execution of the op uses the half that the last one did not use */
    uint32_t loads;             /* then: elements that a thread has registers for, on their way there */
    bool leaves;                /* is on the path to the kernel's end */
    /* Of CG_MEETS: */
    bool for_one, others; /* for one thread, which releases; it waits for the effects of others */
    /* Of an access: */
    bool write, started;     /* a load that was started earlier, which needs no barrier any more */
    const ct_op *access;     /* the load or store */
    ct_sources *sources;     /* the ops that it follows */
    const ct_value *memory;  /* its view or pointers */
    const ct_value *origin;  /* the value from which its address derives */
    uint32_t root;           /* number of the memory that it accesses: 0: not known; others do not overlap */
    bool elements_apart;     /* no two indices of its tensor are the same element of memory */
    const cg_layout *layout; /* of its elements; NULL: not known */
} cg_effect;

/* The effects of an op. */
typedef struct cg_effects {
    cg_effect *first, *last, *taken; /* taken: the last one that was lowered */
    uint32_t stretch;                /* the stretch of the program in which rings have memory, from 1; 0: none has */
} cg_effects;

/* From the op that creates a ring to the point at which neither that ring nor any created meanwhile is live. */
typedef struct cg_stretch {
    uint32_t rings_at, bytes; /* the address of rings, after the scratch that is used at the same time; their size */
} cg_stretch;

/* For a kernel. */
typedef struct cg_sharing {
    cg_effect *const *effects; /* by number */
    uint32_t effect_count;
    uint32_t scratch_bytes; /* from byte 0 on */
    uint32_t rings_at,
        ring_bytes; /* the address of the rings with the lowest one; the size of all rings from there on */
    cg_stretch *stretches;
    uint32_t stretch_count;
    struct cg_barrier_of {
        uint32_t number, threads; /* 0: all threads of the block */
    } barriers[2];                /* of the groups of warps */
    bool synced;                  /* barriers have been placed */
} cg_sharing;

/* ---- finding (shared pass) ---- */

/* The bytes of scratch that the op may use, which are fewer while rings are live. op NULL: any op. */
uint32_t cg_scratch_room(const cg_func *c, const ct_op *op);
/* Adds an effect after the existing ones. Too much scratch is reported. */
cg_effect *cg_add_effect(cg_func *c, ct_op *op, cg_effect_kind kind);
cg_effect *cg_add_scratch(cg_func *c, ct_op *op, uint32_t bytes);
/* Adds an effect on a ring. CG_WRITTEN and CG_READS_ASYNC may be on the op's scratch; then ring is NULL. */
void cg_add_ring(cg_func *c, ct_op *op, cg_effect_kind kind, const struct cg_ring *ring);
/* memory: the view or pointer operand of the access. layout: may be NULL. */
void cg_add_access(cg_func *c, ct_op *op, const ct_op *access, const ct_value *memory, bool write,
                   const cg_layout *layout);
/* Adds the effects of cg_convert, cg_share and cg_begin_pieces. The second returns whether there are any. */
void cg_add_conversion(cg_func *c, ct_op *op, bc_kind kind, const cg_layout *from, const cg_layout *to);
bool cg_add_share(cg_func *c, ct_op *op, bc_kind kind, const cg_layout *l);
cg_effect *cg_add_pieces(cg_func *c, ct_op *op, bc_kind kind, uint32_t tile_bits);

/* ---- comparing (sync pass; codegen/values/conflicts.c) ---- */

/* When an effect occurred relative to another one. */
typedef enum cg_before {
    CG_SAME_TRIP,
    CG_EARLIER_TRIP,
    CG_EARLIER_VIEW
} cg_before; /* of a loop; with a view of its own */
/* The same after the loop with that body has begun its next iteration. */
cg_before cg_before_next_trip(const cg_effect *e, cg_before how, const ct_block *body);
/* Does the effect remain pending after its op? */
bool cg_effect_lasts(const cg_effect *e);
/* The barrier that must be between the two, the earlier and the later one. */
cg_meeting cg_meeting_between(const cg_effect *earlier, cg_before how, const cg_effect *later);
/* Is it a write of a scalar, which only the thread that owns it executes? */
bool cg_is_by_one_thread(const cg_effect *e);
/* The barrier within an effect, before its last part. */
cg_meeting cg_meeting_within(const cg_effect *e);
/* Does the later effect read through another proxy what the earlier one has written? */
bool cg_fence_between(const cg_effect *earlier, const cg_effect *later);

/* ---- emitting ---- */

/* Takes the op's next effect, of that kind; emits the barrier and the fence that it needs. */
const cg_effect *cg_take_effect(cg_func *c, const ct_op *op, cg_effect_kind kind);
/* The same for an access. */
void cg_take_access(cg_func *c, const ct_op *op);

#endif
