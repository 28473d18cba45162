/* The only place for compiler extensions; each has a plain C fallback (TV_PLAIN_C picks the ones of functions, to test
   them). */
#ifndef TILEVM_BYTECODE_BASE_COMPILER_H
#define TILEVM_BYTECODE_BASE_COMPILER_H

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TV_PRINTF(format_arg, first_arg) __attribute__((format(printf, format_arg, first_arg)))
#define TV_LIKELY(x) __builtin_expect(!!(x), 1)
#define TV_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TV_NOINLINE __attribute__((noinline))
#define TV_BEFORE_MAIN __attribute__((constructor))
#else
#define TV_PRINTF(format_arg, first_arg)
#define TV_LIKELY(x) (x)
#define TV_UNLIKELY(x) (x)
#define TV_NOINLINE
#define TV_BEFORE_MAIN /* is not called: tests only */
#endif

/* Does this processor have the instructions, and the system their registers? TV_CPU_HAS(AVX2, "avx2"): the name in the
   C library's table, which is filled anyway when a program starts, and the one of the compiler's, whose filling costs
   every start a tenth of a millisecond under a hypervisor. The library's header shifts into the sign, which sanitizers
   report. */
#if defined(__GNUC__) && defined(__x86_64__) && defined(__has_include)
#if defined(__SANITIZE_ADDRESS__)
#define TV_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TV_SANITIZED 1
#endif
#endif
#if __has_include(<sys/platform/x86.h>) && !defined(TV_SANITIZED)
#include <sys/platform/x86.h>
/* CPU_FEATURE_ACTIVE of the same header shifts a 1 into the sign for every 32nd feature. */
static inline bool tv_cpu_has(unsigned feature)
{
    return __x86_get_cpuid_feature_leaf(feature / 128)->active_array[feature % 128 / 32] >> feature % 32 & 1;
}
#define TV_CPU_HAS(name, text) tv_cpu_has(x86_cpu_##name)
#else
#define TV_CPU_HAS(name, text) __builtin_cpu_supports(text)
#endif
#else
#define TV_CPU_HAS(name, text) 0
#endif

/* Zero bits above the highest set one. x is not 0. */
static inline unsigned tv_leading_zeros(uint64_t x)
{
#if defined(__GNUC__) && !defined(TV_PLAIN_C)
    return (unsigned)__builtin_clzll(x);
#else
    unsigned count = 0;
    for (unsigned step = 32; step; step /= 2) {
        if (x >> (64 - step) == 0) {
            count += step;
            x <<= step;
        }
    }
    return count;
#endif
}

/* Zero bits below the lowest set one. x is not 0. */
static inline unsigned tv_trailing_zeros(uint64_t x)
{
    return 63 - tv_leading_zeros(x & (~x + 1));
}

/* a * b as 128 bits: gives the low half. */
static inline uint64_t tv_multiply_wide(uint64_t a, uint64_t b, uint64_t *out_high)
{
#if defined(__SIZEOF_INT128__) && !defined(TV_PLAIN_C)
    __extension__ typedef unsigned __int128 tv_u128;
    tv_u128 product = (tv_u128)a * b;
    *out_high = (uint64_t)(product >> 64);
    return (uint64_t)product;
#else
    uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
    uint64_t low = a0 * b0, cross = a1 * b0 + (low >> 32), middle = a0 * b1 + (cross & UINT32_MAX);
    *out_high = a1 * b1 + (cross >> 32) + (middle >> 32);
    return middle << 32 | (low & UINT32_MAX);
#endif
}

/* Before a loop: iteration i touches only element i of every array, so the compiler may use vectors without asking
   whether the arrays overlap (they may be the same array). */
#if defined(__clang__)
#define TV_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TV_IVDEP _Pragma("GCC ivdep")
#else
#define TV_IVDEP
#endif

/* Before a loop with a small constant count: unroll it completely. */
#if defined(__clang__)
#define TV_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define TV_UNROLL _Pragma("GCC unroll 64")
#else
#define TV_UNROLL
#endif

/* Asks for the memory at an address that will be read soon; it need not be there. */
#if defined(__GNUC__)
#define TV_PREFETCH(address) __builtin_prefetch(address)
#else
#define TV_PREFETCH(address) ((void)(address))
#endif

/* A vector of type V made of elements of a and b, by index. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define TV_SHUFFLE(V, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#if !defined(TV_SHUFFLE) && defined(__GNUC__)
#define TV_SHUFFLE(V, a, b, ...) __builtin_shuffle(a, b, (V){__VA_ARGS__})
#endif

/* Orders stores past the caches (kernel `stream` of the virtual machine) before later stores. */
#if defined(__GNUC__) && defined(__SSE2__)
#define TV_STREAM_FENCE() __builtin_ia32_sfence()
#else
#define TV_STREAM_FENCE() ((void)0)
#endif

/* The floating-point environment of a thread: rounding, flushing of subnormals, what traps, what has happened. enter
   gives the caller's and sets the default one (nearest, no flushing, no traps, nothing happened). What is computed
   between enter and leave stands in functions of its own, so that no arithmetic moves across. */
#if defined(__GNUC__) && defined(__x86_64__) && !defined(TV_PLAIN_C)
typedef struct tv_float_env {
    uint32_t vectors; /* MXCSR: also flushing, FTZ and DAZ */
    uint32_t x87;     /* 16 bits; the C library asks this one for the rounding mode */
} tv_float_env;
static inline void tv_float_leave(tv_float_env env)
{
    __asm__ volatile("fldcw %0\n\tldmxcsr %1" : : "m"(env.x87), "m"(env.vectors) : "memory");
}
static inline tv_float_env tv_float_enter(void)
{
    tv_float_env env = {0};
    __asm__ volatile("fnstcw %0\n\tstmxcsr %1" : "+m"(env.x87), "=m"(env.vectors) : : "memory");
    tv_float_leave((tv_float_env){.vectors = 0x1f80, .x87 = 0x037f});
    return env;
}
#elif defined(__GNUC__) && defined(__aarch64__) && !defined(TV_PLAIN_C)
typedef struct tv_float_env {
    uint64_t control, status; /* FPCR: also flushing, FZ and FZ16, and the default NaN; FPSR */
} tv_float_env;
static inline void tv_float_leave(tv_float_env env)
{
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(env.control), "r"(env.status) : "memory");
}
static inline tv_float_env tv_float_enter(void)
{
    tv_float_env env;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(env.control), "=r"(env.status) : : "memory");
    tv_float_leave((tv_float_env){0});
    return env;
}
#else
typedef fenv_t tv_float_env;
static inline void tv_float_leave(tv_float_env env)
{
    fesetenv(&env);
}
static inline tv_float_env tv_float_enter(void)
{
    tv_float_env env;
    fegetenv(&env);
    fesetenv(FE_DFL_ENV);
    return env;
}
#endif

#define TV_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Leaves the calling function, a public one, with the status of call, which runs in the default floating-point
   environment whatever the caller's is; the caller then finds its own again. */
#define TV_RETURN_COMPUTED(call)                 \
    do {                                         \
        tv_float_env caller_ = tv_float_enter(); \
        tv_status st_ = (call);                  \
        tv_float_leave(caller_);                 \
        return st_;                              \
    } while (0)

/* Leaves the calling function with the status of call unless it is TV_OK. */
#define TV_TRY(call)            \
    do {                        \
        tv_status st_ = (call); \
        if (st_ != TV_OK)       \
            return st_;         \
    } while (0)

#endif
