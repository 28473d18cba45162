/* Atomic updates: every mode is a compare-and-swap loop around one pure function, so all modes and types take the same
   way. */
#include "vm/run/atomic.h"

#include <stdatomic.h>
#include <string.h>

#include "bytecode/number/number.h"

static memory_order order_of(bc_MemoryOrderingSemantics order)
{
    switch (order) {
    case BC_MemoryOrderingSemantics_acquire: return memory_order_acquire;
    case BC_MemoryOrderingSemantics_release: return memory_order_release;
    case BC_MemoryOrderingSemantics_acq_rel: return memory_order_acq_rel;
    case BC_MemoryOrderingSemantics_weak:
    case BC_MemoryOrderingSemantics_relaxed: break;
    }
    return memory_order_relaxed;
}

/* The order of a failed compare-and-swap: it only loads. */
static memory_order load_part(memory_order order)
{
    return order == memory_order_acquire || order == memory_order_acq_rel ? memory_order_acquire : memory_order_relaxed;
}

static float flushed(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (!(bits & 0x7f800000u))
        bits &= 0x80000000u;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static uint64_t add_floats(bc_kind kind, uint64_t a, uint64_t b)
{
    if (kind == BC_F64) {
        double x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        x += y;
        memcpy(&a, &x, sizeof x);
        return a;
    }
    if (kind == BC_F32) {
        uint32_t u = (uint32_t)a, v = (uint32_t)b;
        float x, y;
        memcpy(&x, &u, sizeof x);
        memcpy(&y, &v, sizeof y);
        x = flushed(flushed(x) + flushed(y));
        memcpy(&u, &x, sizeof u);
        return u;
    }
    /* the sum of two f16 or bf16 is rounded once: a double either holds it or decides no tie */
    return bc_float_round(kind, bc_float_value(kind, a) + bc_float_value(kind, b), BC_RoundingMode_nearest_even);
}

static uint64_t updated(bc_kind kind, bc_AtomicRMWMode mode, uint64_t old, uint64_t arg)
{
    unsigned width = bc_kind_bits(kind);
    int64_t a = bc_int_sign_extend(old, width), b = bc_int_sign_extend(arg, width);
    switch (mode) {
    case BC_AtomicRMWMode_and: return old & arg;
    case BC_AtomicRMWMode_or: return old | arg;
    case BC_AtomicRMWMode_xor: return old ^ arg;
    case BC_AtomicRMWMode_add: return old + arg;
    case BC_AtomicRMWMode_addf: return add_floats(kind, old, arg);
    case BC_AtomicRMWMode_max: return a > b ? old : arg;
    case BC_AtomicRMWMode_min: return a < b ? old : arg;
    case BC_AtomicRMWMode_umax: return old > arg ? old : arg;
    case BC_AtomicRMWMode_umin: return old < arg ? old : arg;
    case BC_AtomicRMWMode_xchg: return arg;
    }
    return old;
}

#define UPDATE(T)                                                                      \
    do {                                                                               \
        _Atomic(T) *p = (_Atomic(T) *)(uintptr_t)address;                              \
        T old = atomic_load_explicit(p, load_part(o)), new;                            \
        do                                                                             \
            new = (T)updated(kind, mode, old, arg);                                    \
        while (!atomic_compare_exchange_weak_explicit(p, &old, new, o, load_part(o))); \
        return old;                                                                    \
    } while (0)

uint64_t vm_atomic_update(uint64_t address, bc_kind kind, bc_AtomicRMWMode mode, uint64_t arg,
                          bc_MemoryOrderingSemantics order)
{
    memory_order o = order_of(order);
    switch (bc_kind_memory_bytes(kind)) {
    case 2: UPDATE(uint16_t);
    case 4: UPDATE(uint32_t);
    default: UPDATE(uint64_t);
    }
}

#define EXCHANGE_IF(T)                                                                                              \
    do {                                                                                                            \
        T old = (T)expected;                                                                                        \
        atomic_compare_exchange_strong_explicit((_Atomic(T) *)(uintptr_t)address, &old, (T)value, o, load_part(o)); \
        return old;                                                                                                 \
    } while (0)

uint64_t vm_atomic_exchange_if(uint64_t address, unsigned bytes, uint64_t expected, uint64_t value,
                               bc_MemoryOrderingSemantics order)
{
    memory_order o = order_of(order);
    if (bytes == 4)
        EXCHANGE_IF(uint32_t);
    EXCHANGE_IF(uint64_t);
}
