/* What ops do with memory that other threads see, and where threads must meet for it: found by the `shared` and `sync`
   passes, so that lowering emits what was decided.

   An op has its effects in the order in which its instructions have them. Threads meet before an effect if another
   thread may not be done with what it touches. Order among accesses to global memory: a token edge orders all threads'
   accesses; it costs a barrier unless the two cannot touch the same memory or every thread only meets its own elements.
   Without an edge there is no order (memory reference, 3.4); accesses by way of the same parameter or allocation keep
   that of the program all the same, which forgives tokens that were left out by hand.

   wgmma reads shared memory in a proxy of its own (PTX ISA, "async proxy"), which sees what threads have written only
   when they have fenced it: behind what is written, if on some way wgmma reads it before another fence. What the copy
   engine writes is in that proxy already.

   A loop over strips (CT_strips) goes through the elements of its ops: its trips are no iterations, and no access waits
   for one of another trip. Threads meet once, when it begins, before the accesses in it. */
#ifndef TILEVM_CODEGEN_VALUES_EFFECTS_H
#define TILEVM_CODEGEN_VALUES_EFFECTS_H

#include "codegen/values/values.h"

typedef enum cg_effect_kind {
    CG_USES_SCRATCH, /* writes bytes of it, meets, reads them */
    CG_ACCESSES,     /* reads or writes global memory */
    CG_MEETS,        /* whatever was done before; for_one: unless that thread did all of it */
    CG_BEGINS,       /* nothing yet: a loop over strips, in which accesses are */
    CG_FILLS_RING,   /* the memory of rings is written from here on */
    CG_READS_RING,   /* and may still be read */
    CG_WRITTEN,      /* shared memory has been written by instructions of threads, cp.async among them */
    CG_READS_ASYNC   /* and is read by wgmma, in another proxy, which sees what was fenced */
} cg_effect_kind;

/* Who meets before an effect. */
typedef enum cg_meeting { CG_NOBODY, CG_EACH_WARP, CG_ALL_WARPS } cg_meeting;

typedef struct cg_effect {
    struct cg_effect *next; /* of the op */
    const ct_op *op;
    uint32_t number;      /* in the kernel */
    uint8_t kind, before; /* cg_effect_kind, cg_meeting */
    /* Of shared memory: */
    cg_span span;
    const struct cg_ring *ring; /* whose slots it is; NULL: scratch */
    bool fence;                 /* written: each thread makes it visible to the other proxy */
    bool small;                 /* may lie anywhere */
    bool again;                 /* in a loop of the op's own */
    bool leaves;                /* on the way to the kernel's end */
    /* Of threads that meet: */
    bool for_one, others; /* so that one thread may release; it has to wait for what others did */
    /* Of an access: */
    bool write, started;     /* started before, which needs no barrier any more */
    const ct_op *access;     /* the load or store */
    const ct_value *memory;  /* its view or pointers */
    const ct_value *origin;  /* what its address comes from */
    uint32_t root;           /* memory that it reaches: 0 unknown, else one of those that do not overlap */
    bool elements_apart;     /* through a view of a tensor no two indices of which are one element of memory */
    const cg_layout *layout; /* of the elements over threads; NULL: unknown */
} cg_effect;

/* Of an op. */
typedef struct cg_effects {
    cg_effect *first, *last, *taken; /* taken: the last one that was lowered */
    uint32_t stretch;                /* of the program in which rings have memory, from 1; 0: none has */
} cg_effects;

/* From the op that makes a ring to where neither it nor any other one that was made meanwhile has memory any more. */
typedef struct cg_stretch {
    uint32_t rings_at, bytes; /* where rings lie: behind the scratch that is used beside them; what they take */
} cg_stretch;

/* Of the kernel. */
typedef struct cg_sharing {
    cg_effect *const *effects; /* by number */
    uint32_t effect_count;
    uint32_t scratch_bytes;        /* from the first byte on */
    uint32_t rings_at, ring_bytes; /* where rings lie that lie first, and what all take from there on */
    cg_stretch *stretches;
    uint32_t stretch_count;
    struct cg_barrier_of {
        uint32_t number, threads; /* 0: all of the block */
    } barriers[2];                /* at which a group of warps meets */
    bool synced;                  /* it is known before which effects */
} cg_sharing;

/* ---- finding (shared pass) ---- */

/* How much scratch the op can have: less while rings have memory. NULL: any op. */
uint32_t cg_scratch_room(const cg_func *c, const ct_op *op);
/* Effects of an op, behind those that it has. Of scratch: too much of it is reported. */
cg_effect *cg_add_effect(cg_func *c, ct_op *op, cg_effect_kind kind);
cg_effect *cg_add_scratch(cg_func *c, ct_op *op, uint32_t bytes);
/* One on a ring; what has been written and what wgmma reads may be the op's scratch, ring NULL. */
void cg_add_ring(cg_func *c, ct_op *op, cg_effect_kind kind, const struct cg_ring *ring);
/* memory: the view or pointer operand of the access. layout: may be NULL. */
void cg_add_access(cg_func *c, ct_op *op, const ct_op *access, const ct_value *memory, bool write,
                   const cg_layout *layout);
/* What cg_convert, cg_share and cg_begin_pieces do; the second: whether it does anything. */
void cg_add_conversion(cg_func *c, ct_op *op, bc_kind kind, const cg_layout *from, const cg_layout *to);
bool cg_add_share(cg_func *c, ct_op *op, bc_kind kind, const cg_layout *l);
cg_effect *cg_add_pieces(cg_func *c, ct_op *op, bc_kind kind, uint32_t tile_bits);

/* ---- judging (sync pass; codegen/values/conflicts.c) ---- */

/* How an effect came before another one. */
typedef enum cg_before {
    CG_SAME_TRIP,
    CG_EARLIER_TRIP,
    CG_EARLIER_VIEW
} cg_before; /* of a loop; with a view of its own */
/* How it did when the loop with that body goes round. */
cg_before cg_before_next_trip(const cg_effect *e, cg_before how, const ct_block *body);
/* Has the effect something that is not over when the op has gone on? */
bool cg_effect_lasts(const cg_effect *e);
/* Who has to meet between the two, an earlier and a later one, if nobody has yet. */
cg_meeting cg_meeting_between(const cg_effect *earlier, cg_before how, const cg_effect *later);
/* Is it a write of a scalar, which the one thread does that owns those? */
bool cg_is_by_one_thread(const cg_effect *e);
/* Who meets within an effect, before what it leaves behind. */
cg_meeting cg_meeting_within(const cg_effect *e);
/* Does the later one read in another proxy what the earlier one has written? */
bool cg_fence_between(const cg_effect *earlier, const cg_effect *later);

/* ---- emitting ---- */

/* The op's next effect, of that kind, after the barrier and with the fence that it needs. */
const cg_effect *cg_take_effect(cg_func *c, const ct_op *op, cg_effect_kind kind);
/* The same for an access. */
void cg_take_access(cg_func *c, const ct_op *op);

#endif
