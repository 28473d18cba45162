/* The only place for compiler extensions; each has a plain C fallback. */
#ifndef TILEVM_BYTECODE_BASE_COMPILER_H
#define TILEVM_BYTECODE_BASE_COMPILER_H

#if defined(__GNUC__)
#define TV_PRINTF(format_arg, first_arg) __attribute__((format(printf, format_arg, first_arg)))
#define TV_LIKELY(x) __builtin_expect(!!(x), 1)
#define TV_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TV_NOINLINE __attribute__((noinline))
#else
#define TV_PRINTF(format_arg, first_arg)
#define TV_LIKELY(x) (x)
#define TV_UNLIKELY(x) (x)
#define TV_NOINLINE
#endif

#define TV_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Leaves the calling function with the status of call unless it is TV_OK. */
#define TV_TRY(call) do { tv_status st_ = (call); if (st_ != TV_OK) return st_; } while (0)

#endif
