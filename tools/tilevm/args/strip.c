/* Strips of elements as doubles, and work spread over the processors. The loops have their type outside, so that
   compilers can do several elements at a time. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "bytecode/number/number.h"
#include "bytecode/number/fast.h"
#include "tools/tilevm/args/args.h"

/* ---- reading ---- */

#define EACH(type, value)                        \
    for (size_t i = 0; i < n; i++, at += step) { \
        type x;                                  \
        memcpy(&x, at, sizeof x);                \
        out[i] = (double)(value);                \
    }                                            \
    break

void arg_get_reals(tv_dtype dtype, const unsigned char *at, int64_t step, size_t n, double *out)
{
    switch (dtype) {
    case TV_BOOL: EACH(uint8_t, x != 0);
    case TV_U8: EACH(uint8_t, x);
    case TV_U16: EACH(uint16_t, x);
    case TV_U32: EACH(uint32_t, x);
    case TV_U64: EACH(uint64_t, x);
    case TV_I8: EACH(int8_t, x);
    case TV_I16: EACH(int16_t, x);
    case TV_I32: EACH(int32_t, x);
    case TV_I64: EACH(int64_t, x);
    case TV_F16: EACH(uint16_t, bc_f16_to_f32(x));
    case TV_BF16: EACH(uint16_t, bc_bf16_to_f32(x));
    case TV_F32:
    case TV_TF32: EACH(float, x);
    case TV_F64: EACH(double, x);
    case TV_F8E4M3FN: EACH(uint8_t, bc_f8e4m3_to_f32(x));
    case TV_F8E5M2: EACH(uint8_t, bc_f8e5m2_to_f32(x));
    case TV_F8E8M0FNU: EACH(uint8_t, bc_f8e8m0_to_f32(x));
    case TV_F8E5M3FNU: EACH(uint8_t, bc_f8e5m3_to_f32(x));
    case TV_F4E2M1FN: /* not stored one by one */
    case TV_I4:
    case TV_DTYPE_COUNT: break;
    }
}
#undef EACH

/* ---- writing: rounded once, to nearest even ---- */

#define EACH(type, value)                        \
    for (size_t i = 0; i < n; i++, at += step) { \
        double d = in[i];                        \
        type x = (value);                        \
        memcpy(at, &x, sizeof x);                \
    }                                            \
    break

void arg_put_reals(tv_dtype dtype, unsigned char *at, int64_t step, size_t n, const double *in)
{
    const bc_RoundingMode nearest = BC_RoundingMode_nearest_even;
    switch (dtype) {
    case TV_F64: EACH(double, d);
    case TV_F32: EACH(float, (float)d);
    case TV_TF32: EACH(uint32_t, bc_f32_to_tf32_cell(bc_f64_to_f32_odd(d)));
    case TV_F16: EACH(uint16_t, bc_f64_to_f16(d));
    case TV_BF16: EACH(uint16_t, bc_f64_to_bf16(d));
    case TV_F8E4M3FN: EACH(uint8_t, bc_f32_to_f8e4m3(bc_f64_to_f32_odd(d)));
    case TV_F8E5M2: EACH(uint8_t, bc_f32_to_f8e5m2(bc_f64_to_f32_odd(d)));
    case TV_F8E8M0FNU: EACH(uint8_t, (uint8_t)bc_float_round(BC_F8E8M0FNU, d, nearest));
    case TV_F8E5M3FNU: EACH(uint8_t, (uint8_t)bc_float_round(BC_FNV8E5M3FNU, d, nearest));
    case TV_BOOL:
    case TV_U8:
    case TV_U16:
    case TV_U32:
    case TV_U64:
    case TV_I8:
    case TV_I16:
    case TV_I32:
    case TV_I64:
    case TV_F4E2M1FN:
    case TV_I4:
    case TV_DTYPE_COUNT: break; /* integers are written as such */
    }
}
#undef EACH

/* ---- several processors ---- */

typedef struct work {
    void (*step)(void *user, uint64_t index);
    void *user;
    uint64_t count;
    atomic_uint_least64_t next;
} work;

static void *take_steps(void *user)
{
    work *w = user;
    for (;;) {
        uint64_t index = atomic_fetch_add(&w->next, 1);
        if (index >= w->count)
            return NULL;
        w->step(w->user, index);
    }
}

static unsigned processors(void)
{
#ifdef __EMSCRIPTEN__
    return 1;
#else
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
#endif
}

void arg_parallel(uint64_t count, void (*step)(void *user, uint64_t index), void *user)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    work w = {.step = step, .user = user, .count = count};
    unsigned wanted = processors(), started = 0;
    if (wanted > MOST)
        wanted = MOST;
    if (wanted > count)
        wanted = (unsigned)count;
    /* If a thread cannot be started, the others do its share. */
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, take_steps, &w) == 0)
        started++;
    take_steps(&w);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
