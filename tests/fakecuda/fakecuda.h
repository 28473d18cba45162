/* A CUDA driver for tests: libcuda.so.1 without a GPU. It counts and checks what it is asked, keeps track of everything
   that was made, and fails where it is told to. "Code" is PTX text: its cubins are PTX with a mark in front. PTX with
   the word `bogus` is broken: linker and loader refuse it, with a log.

   The environment sets it up, before the first call:
     FAKECUDA_VERSION   12080     CUDA version that it claims
     FAKECUDA_DEVICES   90,80     compute capabilities of its devices; "none": none
     FAKECUDA_FAIL      NAME=CODE[,NAME=CODE...]   every call of that function fails
     FAKECUDA_LAZY      NAME      PTX is assembled in that function, not where it is loaded: cuModuleGetFunction,
   cuLibraryGetKernel, cuLibraryGetModule, cuKernelGetFunction, cuLaunchKernel FAKECUDA_LOG       FILE      a line for
   each launch is appended FAKECUDA_LEFT      FILE      what was not given back when the process ends FAKECUDA_RUN 1
   launches run on the simulator of tests/ptxsim, with host memory as the device's; else nothing runs FAKECUDA_BREAK
   WORD:N:OTHER   the N-th WORD of the PTX (from 1; 0: the last) counts as OTHER: add.rn.f32:2:sub.rn.f32
     FAKECUDA_BREAK_LAUNCHES   N  only in the first N launches
     FAKECUDA_MEMORY    1073741824     bytes of memory of each device
     FAKECUDA_TIMES     WORD:US[,WORD:US...]   microseconds that a kernel takes whose PTX has the word (default: 250)
     FAKECUDA_JITTER    PERCENT        up to so much more, drawn in a fixed order
     FAKECUDA_LOCAL     WORD:BYTES[,...]   bytes of local memory of a thread of such a kernel, as where it spills
   A test that is linked to nothing of it gets the functions below with dlsym. */
#ifndef TILEVM_TESTS_FAKECUDA_FAKECUDA_H
#define TILEVM_TESTS_FAKECUDA_FAKECUDA_H

#include <stddef.h>

typedef struct fake_control {
    void (*fail_call)(unsigned nth, int code); /* the nth call from now (from 1) fails; 0: none */
    unsigned (*calls)(void);                   /* calls since fail_call */
    const char *(*failed)(void);               /* the function that failed by fail_call, or NULL */
    size_t (*live)(void); /* modules, libraries, links, memory, events and retained contexts that were not given back */
    void (*lose_context)(int code);    /* every later call gives code, as after an illegal address; 0: none */
    unsigned (*links)(void);           /* how often PTX was linked */
    const char *(*last_launch)(void);  /* the line for the log; "" before the first */
    const char *(*last_options)(void); /* of the assembler, as the last call that takes some was given them */
} fake_control;

/* Exported as fake_cuda. */
typedef const fake_control *fake_cuda_fn(void);

#endif
