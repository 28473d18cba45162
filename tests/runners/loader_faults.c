/* The loader against the fake driver (fakecuda/): everything that can go wrong, each with its message, nothing left
   behind.

     loader_faults FOLDER     runs every scenario in a process and an empty folder of its own below FOLDER
     loader_faults -s NAME    is one scenario, in the current folder

   The last line is `loader: N passed, N failed`. Links to the code generator of fakecuda/compile.c. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytecode/base/text.h"
#include "loader/cache.h"
#include "loader/folder.h"
#include "loader/image.h"
#include "tests/fakecuda/compile.h"
#include "tests/fakecuda/fakecuda.h"
#include "tests/common/files.h"
#include "tests/common/process.h"
#include "tests/common/programs.h"
#include "tests/unit/test.h"

static const fake_control *fake;
static bc_text said, noted;        /* messages of the handler */
static bc_text shared_bytecode[4]; /* by threads */

/* ---- memory ---- */

/* The linker leads the allocations of the loader here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static atomic_uint allocations, failing_allocation; /* 0: none */
static _Atomic(const char *) shrinking_file;        /* is cut off at the next malloc */

static bool allocation_fails(void)
{
    return failing_allocation && ++allocations == failing_allocation;
}

void *__wrap_malloc(size_t size)
{
    const char *path = atomic_exchange(&shrinking_file, NULL);
    if (path)
        CHECK(truncate(path, 100) == 0);
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(memory, size);
}

/* ---- what every scenario uses ---- */

static void ignore(void *user, const tv_diag *diag)
{
    (void)user;
    fprintf(stderr, "%.*s\n", (int)diag->message.len, diag->message.ptr);
}

/* A fat binary of the kinds that nvcc makes, with that Tile IR for compute_100, and with no code but what is given: PTX
   for an architecture, unless it is NULL. */
static bc_text make_fatbin(const bc_text *bytecode, co_packing packing, unsigned sm, const char *ptx)
{
    bc_text out;
    bc_text_init(&out, NULL);
    size_t begin = program_fatbin_begin(&out);
    CHECK(!ptx || program_fatbin_image(&out, CO_PTX, sm, false, CO_PLAIN, (tv_str){ptx, strlen(ptx) + 1}));
    CHECK(program_fatbin_image(&out, CO_TILE_IR, 100, false, packing, bc_text_get(bytecode)));
    program_fatbin_end(&out, begin);
    return out;
}

/* Is this scenario about Tile IR in fat binaries? */
static bool wants_fatbins(void)
{
    return getenv("IN_FATBIN") != NULL;
}

/* Bytecode with two kernels; number makes it another file. */
static bc_text make_bytecode(unsigned number)
{
    bc_text text, bytes;
    bc_text_init(&text, NULL);
    bc_text_init(&bytes, NULL);
    bc_text_printf(
        &text,
        "cuda_tile.module @m {\n"
        "entry @first(%%a: tile<ptr<f32>>, %%n: tile<i32>) { %%c = constant <i32: %u> : tile<i32>\n return }\n"
        "entry @second() { return }\n}\n",
        number);
    tv_module *module = NULL;
    tv_sink sink = {.report = ignore};
    CHECK(tv_module_parse(text.ptr, text.len, 1, NULL, sink, &module) == TV_OK);
    CHECK(tv_module_write(module, sink, (tv_writer){.user = &bytes, .write = bc_text_append}) == TV_OK);
    tv_module_close(module);
    bc_text_release(&text);
    if (!wants_fatbins())
        return bytes;
    bc_text fatbin = make_fatbin(&bytes, CO_PLAIN, 0, NULL);
    bc_text_release(&bytes);
    return fatbin;
}

static void hear(void *user, int severity, const char *text)
{
    (void)user;
    bc_text_printf(severity == TV_NOTE ? &noted : &said, "%d: %s\n", severity, text);
}

static bool was_said(const char *words)
{
    return said.ptr && strstr(said.ptr, words) != NULL;
}

#define CHECK_SAID(words) CHECK_MSG(was_said(words), "expected \"%s\" in:\n%s", (words), said.ptr ? said.ptr : "")
#define CHECK_MESSAGE(words)                                                                        \
    CHECK_MSG(strstr(tvGetLastErrorMessage(), (words)) != NULL, "expected \"%s\" in:\n%s", (words), \
              tvGetLastErrorMessage())

/* Makes device 0 current through the driver itself. */
static const ld_driver *start(void)
{
    const ld_driver *cu = NULL;
    struct CUctx_st *context;
    CHECK(ld_driver_open(&cu) == 0);
    if (!cu)
        exit(1);
    CHECK(cu->cuInit(0) == 0);
    CHECK(cu->cuDevicePrimaryCtxRetain(&context, 0) == 0);
    CHECK(cu->cuCtxPushCurrent(context) == 0);
    return cu;
}

static void stop(const ld_driver *cu)
{
    CHECK(cu->cuDevicePrimaryCtxRelease(0) == 0);
    CHECK_MSG(fake->live() == 0, "%zu objects were left", fake->live());
}

/* Loads, launches, unloads; gives the first error. */
static tvResult use_module(const bc_text *bytecode)
{
    struct CUmod_st *module;
    struct CUfunc_st *function;
    tvResult code = tvModuleLoadData(&module, bytecode->ptr);
    if (code != 0)
        return code;
    void *address = NULL;
    int n = 3;
    void *params[] = {&address, &n};
    if ((code = tvModuleGetFunction(&function, module, "first")) == 0)
        code = tvLaunchKernel(function, 7, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    tvResult unloaded = tvModuleUnload(module);
    return code ? code : unloaded;
}

static tvResult use_library(const bc_text *bytecode)
{
    struct CUlib_st *library;
    struct CUkern_st *kernel;
    struct CUfunc_st *function;
    tvResult code = tvLibraryLoadData(&library, bytecode->ptr, NULL, NULL, 0, NULL, NULL, 0);
    if (code != 0)
        return code;
    if ((code = tvLibraryGetKernel(&kernel, library, "second")) == 0
        && (code = tvKernelGetFunction(&function, kernel)) == 0)
        code = tvLaunchKernel(function, 7, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    tvResult unloaded = tvLibraryUnload(library);
    return code ? code : unloaded;
}

/* Is this scenario about cubins? Else modules are PTX. */
static bool wants_cubins(void)
{
    const char *form = getenv("TILEVM_IMAGE");
    return form && strcmp(form, "cubin") == 0;
}

static bool was_noted(const char *words)
{
    return noted.ptr && strstr(noted.ptr, words) != NULL;
}

#define CHECK_NOTED(words) CHECK_MSG(was_noted(words), "expected \"%s\" in:\n%s", (words), noted.ptr ? noted.ptr : "")

typedef struct tally {
    unsigned files, damaged;
    uint64_t bytes;
    char name[80]; /* of one of them */
} tally;

static void count_file(void *user, const ld_cache_info *info)
{
    tally *t = user;
    t->files++;
    t->damaged += info->problem != NULL;
    t->bytes += info->size;
    snprintf(t->name, sizeof t->name, "%s", info->name);
}

static tally look_at_cache(void)
{
    tally found = {0};
    ld_cache cache;
    ld_cache_init(&cache);
    CHECK(ld_cache_visit(&cache, true, count_file, &found) == NULL);
    ld_cache_release(&cache);
    return found;
}

/* ---- scenarios ---- */

/* A kernel may start before the one in front of it has ended. Source: CUDA driver API reference, CUlaunchAttributeID.
 */
enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6 };

static void scenario_load(void)
{
    bc_text bytecode = make_bytecode(1);
    const ld_driver *cu = start();
    struct CUmod_st *module, *again;
    struct CUfunc_st *function;
    CHECK(tvModuleLoadData(&module, bytecode.ptr) == 0);
    CHECK(tvModuleLoadData(&again, bytecode.ptr) == 0 && again != module);
    CHECK(fake->links() == wants_cubins() && fake_compile_count() == 1); /* the second came from memory */
    CHECK(tvModuleGetFunction(&function, module, "first") == 0);
    void *address = NULL;
    int n = 3;
    void *params[] = {&address, &n};
    CHECK(tvLaunchKernel(function, 7, 2, 1, 1, 1, 1, 0, NULL, params, NULL) == 0);
    CHECK(strcmp(fake->last_launch(), "cuLaunchKernel first grid 7,2,1 block 128,1,1 shared 65536 first 0") == 0);
    CHECK(tvLaunchKernel_ptsz(function, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL) == 0);
    CHECK(strncmp(fake->last_launch(), "cuLaunchKernel_ptsz", 19) == 0);
    tvLaunchConfig config = {
        .gridDimX = 5, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
    CHECK(tvLaunchKernelEx(&config, function, params, NULL) == 0);
    CHECK(strncmp(fake->last_launch(), "cuLaunchKernelEx first grid 5,1,1 block 128", 43) == 0);
    tvLaunchAttribute attribute = {.id = PROGRAMMATIC_STREAM_SERIALIZATION, .value.number = 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(tvLaunchKernelEx(&config, function, params, NULL) == 0);
    CHECK(strstr(fake->last_launch(), " attribute 6: 1"));
    CHECK(tvModuleGetFunction(&function, module, "third") == LD_CUDA_NOT_FOUND);
    CHECK_MESSAGE("[L-LOAD-02] there is no kernel third; there is first, second");
    unsigned long long where;
    size_t size;
    CHECK(tvModuleGetGlobal(&where, &size, module, "g") == LD_CUDA_NOT_FOUND);
    CHECK(tvModuleUnload(module) == 0 && tvModuleUnload(again) == 0);
    CHECK(tvModuleUnload(module) == LD_CUDA_INVALID_HANDLE);
    CHECK(use_library(&bytecode) == 0);
    CHECK(strncmp(fake->last_launch(), "cuLaunchKernel second grid 7,1,1 block 128", 42) == 0);
    stop(cu);
    bc_text_release(&bytecode);
}

static void scenario_library(void)
{
    bc_text bytecode = make_bytecode(2);
    const ld_driver *cu = start();
    struct CUlib_st *library;
    struct CUmod_st *module;
    struct CUkern_st *kernel;
    struct CUfunc_st *function;
    CHECK(files_write("k.tbc", bytecode.ptr, bytecode.len));
    CHECK(tvLibraryLoadFromFile(&library, "k.tbc", NULL, NULL, 0, NULL, NULL, 0) == 0);
    CHECK(tvLibraryGetModule(&module, library) == 0);
    CHECK(tvModuleGetFunction(&function, module, "second") == 0);
    CHECK(tvLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == 0);
    CHECK(tvLibraryGetKernel(&kernel, library, "second") == 0);
    CHECK(tvLaunchKernel((struct CUfunc_st *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == 0);
    CHECK(strstr(fake->last_launch(), "block 128,1,1") != NULL);
    CHECK(tvLibraryGetKernel(&kernel, library, "nothing") == LD_CUDA_NOT_FOUND);
    CHECK_MESSAGE("there is no kernel nothing");
    CHECK(tvLibraryUnload(library) == 0);
    CHECK(tvModuleLoad(&module, "k.tbc") == 0 && tvModuleUnload(module) == 0);
    CHECK(tvModuleLoadFatBinary(&module, bytecode.ptr) == 0 && tvModuleUnload(module) == 0);
    stop(cu);
    bc_text_release(&bytecode);
}

/* Devices of two kinds: PTX for the older one. Without a context too. */
static void scenario_two_devices(void)
{
    bc_text bytecode = make_bytecode(3);
    struct CUlib_st *library;
    CHECK(tvLibraryLoadData(&library, bytecode.ptr, NULL, NULL, 0, NULL, NULL, 0) == 0);
    CHECK(fake->links() == 0 && fake_compile_count() == 1);
    CHECK(tvLibraryUnload(library) == 0);
    const ld_driver *cu = start();
    CHECK(use_library(&bytecode) == 0);
    CHECK(fake->links() == 0 && fake_compile_count() == 1);
    CHECK(use_module(&bytecode) == 0); /* a module is for its context's device */
    CHECK(fake->links() == wants_cubins() && fake_compile_count() == 2);
    if (wants_cubins())
        CHECK_NOTED("made PTX in ");
    CHECK_NOTED(wants_cubins() ? ": there are devices of several kinds\n" : ": the driver keeps the code\n");
    stop(cu);
    bc_text_release(&bytecode);
}

/* What is not bytecode is the driver's affair. */
static void scenario_other_images(void)
{
    static const char ptx[] = ".version 8.0\n.target sm_80\n.entry plain(.param .u32 n)\n{ ret; }\n";
    const ld_driver *cu = start();
    struct CUmod_st *module;
    struct CUlib_st *library;
    struct CUfunc_st *function;
    int n = 1;
    void *params[] = {&n};
    CHECK(tvModuleLoadData(&module, ptx) == 0);
    CHECK(tvModuleGetFunction(&function, module, "plain") == 0);
    CHECK(tvLaunchKernel(function, 2, 1, 1, 64, 2, 1, 9, NULL, params, NULL) == 0);
    CHECK(strcmp(fake->last_launch() + 15, "plain grid 2,1,1 block 64,2,1 shared 9 first 1") == 0
          || strstr(fake->last_launch(), "block 64,2,1 shared 9") != NULL);
    CHECK(tvModuleUnload(module) == 0);
    CHECK(tvModuleLoadDataEx(&module, "rubbish", 0, NULL, NULL) == LD_CUDA_INVALID_IMAGE);
    CHECK(tvModuleLoadData(NULL, ptx) == LD_CUDA_INVALID_VALUE
          && tvModuleLoadData(&module, NULL) == LD_CUDA_INVALID_VALUE);
    CHECK(tvModuleLoad(&module, "there/is/none") == LD_CUDA_FILE_NOT_FOUND);
    CHECK(tvLibraryLoadFromFile(&library, "none", NULL, NULL, 0, NULL, NULL, 0) == LD_CUDA_FILE_NOT_FOUND);
    CHECK(files_write("plain.ptx", ptx, sizeof ptx - 1));
    CHECK(tvModuleLoad(&module, "plain.ptx") == 0 && tvModuleUnload(module) == 0);
    CHECK(tvLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == LD_CUDA_INVALID_HANDLE);
    CHECK(fake_compile_count() == 0);
    stop(cu);
}

/* Whose code a fat binary is launched as: the driver's, whose kernels have 64 threads, or ours. */
static const char *launched_from(const bc_text *fatbin)
{
    bool fine = use_module(fatbin) == 0;
    const char *module = !fine ? NULL : strstr(fake->last_launch(), "block 64,1,1") ? "driver" : "us";
    fine = use_library(fatbin) == 0;
    const char *library = !fine ? NULL : strstr(fake->last_launch(), "block 64,1,1") ? "driver" : "us";
    return module && library && strcmp(module, library) == 0 ? module : module || library ? "both" : "none";
}

#define CODE(words)                                                                      \
    ".version 8.0\n.target sm_80\n" words                                                \
    ".visible .entry first(.param .u64 p, .param .u32 n)\n.reqntid 64, 1, 1\n{ ret; }\n" \
    ".visible .entry second()\n.reqntid 64, 1, 1\n{ ret; }\n"

/* Code for the device goes to the driver, and what that does not take is compiled again, from the Tile IR beside it. */
static void scenario_fatbin(void)
{
    static const struct {
        unsigned sm;
        const char *ptx, *who;
    } rows[] = {{80, CODE(""), "driver"}, {90, CODE(""), "driver"},   {100, CODE(""), "us"},
                {0, NULL, "us"},          {80, CODE("bogus "), "us"}, {80, ".version 99.0\n.target sm_80\n", "us"},
                {80, "rubbish", "us"}};
    bc_text bytecode = make_bytecode(9);
    const ld_driver *cu = start();
    for (size_t i = 0; i < TV_COUNT(rows); i++) {
        bc_text fatbin = make_fatbin(&bytecode, CO_PLAIN, rows[i].sm, rows[i].ptx);
        const char *who = launched_from(&fatbin);
        CHECK_MSG(strcmp(who, rows[i].who) == 0, "row %zu: %s, not %s: %s", i, who, rows[i].who,
                  tvGetLastErrorMessage());
        CHECK(fake->live() == 1);
        bc_text_release(&fatbin);
    }
    CHECK_MSG(said.len == 0, "%s", said.ptr);
    CHECK_NOTED("the fat binary has no code for the device: its Tile IR is compiled");
    CHECK_NOTED("the fat binary has no code that the driver accepts: its Tile IR is compiled");
    stop(cu);
    bc_text_release(&bytecode);
}

/* A library is for all devices, a module for its own. */
static void scenario_fatbin_devices(void)
{
    bc_text bytecode = make_bytecode(9), fatbin = make_fatbin(&bytecode, CO_PLAIN, 90, CODE(""));
    const ld_driver *cu = start();
    CHECK_MSG(strcmp(launched_from(&fatbin), "both") == 0, "%s", launched_from(&fatbin));
    CHECK(strstr(fake->last_launch(), "block 128,1,1") != NULL);
    stop(cu);
    bc_text_release(&fatbin);
    bc_text_release(&bytecode);
}

/* The same from files; what is wrong with one is said. */
static void scenario_fatbin_files(void)
{
    bc_text bytecode = make_bytecode(9), fatbin = make_fatbin(&bytecode, CO_PLAIN, 0, NULL);
    const ld_driver *cu = start();
    struct CUmod_st *module;
    struct CUlib_st *library;
    CHECK(files_write("k.fatbin", fatbin.ptr, fatbin.len));
    CHECK(tvModuleLoad(&module, "k.fatbin") == 0 && tvModuleUnload(module) == 0);
    CHECK(tvLibraryLoadFromFile(&library, "k.fatbin", NULL, NULL, 0, NULL, NULL, 0) == 0);
    CHECK(tvLibraryUnload(library) == 0);
    CHECK(
        files_write("cut.fatbin", fatbin.ptr, fatbin.len - 20)); /* its entry ends behind it: the driver's to refuse */
    CHECK(tvModuleLoad(&module, "cut.fatbin") == LD_CUDA_NO_BINARY_FOR_GPU && said.len == 0);
    for (size_t i = fatbin.len - bytecode.len / 2; i < fatbin.len; i++)
        fatbin.ptr[i] = (char)0xff;
    CHECK(tvModuleLoadData(&module, fatbin.ptr) == LD_CUDA_INVALID_IMAGE);
    CHECK_SAID("[L-IMG-01] the Tile IR in the fat binary is damaged");
    bc_text_release(&fatbin);
    fatbin = make_fatbin(&bytecode, CO_PLAIN, 0, NULL);
    memcpy(fatbin.ptr + 16 + 40, "\0\x10", 2); /* the flags of the entry: a packing that nobody knows */
    char log[300] = "";
    tvJitOption options[] = {LD_JIT_ERROR_LOG, LD_JIT_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CHECK(tvLibraryLoadData(&library, fatbin.ptr, options, values, 2, NULL, NULL, 0) == LD_CUDA_INVALID_IMAGE);
    CHECK_MESSAGE("[L-IMG-01] the Tile IR in the fat binary cannot be unpacked: ");
    CHECK_MSG(strstr(log, "cannot be unpacked") != NULL, "%s", log);
    stop(cu);
    bc_text_release(&fatbin);
    bc_text_release(&bytecode);
}

static void scenario_launch_checks(void)
{
    bc_text bytecode = make_bytecode(4);
    const ld_driver *cu = start();
    struct CUmod_st *module;
    struct CUfunc_st *function = NULL;
    void *address = NULL;
    int n = 3;
    void *params[] = {&address, &n}, *hole[] = {&address, NULL};
    CHECK(tvModuleLoadData(&module, bytecode.ptr) == 0 && tvModuleGetFunction(&function, module, "first") == 0);
    CHECK(tvLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL) == LD_CUDA_INVALID_VALUE);
    CHECK_MESSAGE("[L-LAUNCH-01] launch of first: the grid has 0 tile blocks in x; 1 to 2147483647 are possible");
    CHECK(tvLaunchKernel(function, 1, 65536, 1, 1, 1, 1, 0, NULL, params, NULL) == LD_CUDA_INVALID_VALUE);
    CHECK_MESSAGE("the grid has 65536 tile blocks in y; 1 to 65535 are possible");
    CHECK(tvLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == LD_CUDA_INVALID_VALUE);
    CHECK_MESSAGE("[L-LAUNCH-03] launch of first: the kernel takes 2 parameters, but kernelParams is NULL");
    CHECK(tvLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, hole, NULL) == LD_CUDA_INVALID_VALUE);
    CHECK_MESSAGE("[L-LAUNCH-03] launch of first: kernelParams[1] is NULL; the kernel takes 2 parameters");
    CHECK(tvLaunchKernel(function, 1, 1, 1, 1, 1, 1, 100, NULL, params, NULL) == LD_CUDA_INVALID_VALUE);
    CHECK_MESSAGE("[L-LAUNCH-04] launch of first: ");
    CHECK_MESSAGE("sharedMemBytes must be 0");
    CHECK(tvLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL)
          == LD_CUDA_INVALID_VALUE); /* the driver's no */
    CHECK_MESSAGE("[L-LAUNCH-02] launch of first with 1, 1, 1 tile blocks of 32 threads (CUDA_ERROR_INVALID_VALUE)");
    CHECK_MESSAGE("help: launch with the block 1, 1, 1");
    unsigned char buffer[16] = {0};
    size_t size = 16;
    void *extra[] = {(void *)1, buffer, (void *)2, &size, NULL};
    CHECK(tvLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) == LD_CUDA_INVALID_VALUE);
    CHECK_MESSAGE("[L-LAUNCH-03] launch of first: the parameter buffer has 16 bytes, but its 2 parameters take 12");
    size = 12;
    CHECK(tvLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) == 0);
    fake->lose_context(LD_CUDA_ILLEGAL_ADDRESS);
    CHECK(tvLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) == LD_CUDA_ILLEGAL_ADDRESS);
    CHECK_MESSAGE("[L-RUN-01] launch of first with 1, 1, 1 tile blocks of 128 threads (CUDA_ERROR_ILLEGAL_ADDRESS)");
    CHECK_MESSAGE("an earlier kernel accessed memory that does not belong to it");
    CHECK(tvModuleLoadData(&module, bytecode.ptr) == LD_CUDA_ILLEGAL_ADDRESS);
    fake->lose_context(0);
    CHECK(tvModuleUnload(module) == 0);
    stop(cu);
    bc_text_release(&bytecode);
}

/* Every call of the driver fails in turn. */
static void scenario_each_call_fails(void)
{
    static tvResult (*const uses[])(const bc_text *) = {use_module, use_library};
    const ld_driver *cu = start();
    size_t kept = 1; /* the context; and what an unload that failed leaves with the driver */
    for (unsigned way = 0; way < 2; way++) {
        unsigned seen = 0;
        for (unsigned n = 1;; n++) {
            bc_text bytecode = make_bytecode(1000 + 100 * way + n); /* nothing comes from memory */
            fake->fail_call(n, LD_CUDA_OUT_OF_MEMORY);
            tvResult code = uses[way](&bytecode);
            const char *failed = fake->failed();
            fake->fail_call(0, 0);
            size_t left = fake->live() - kept;
            if (failed) {
                seen++;
                bool unload = strcmp(failed, "cuModuleUnload") == 0 || strcmp(failed, "cuLibraryUnload") == 0;
                /* Whether there is a context only decides between two forms; a fat binary whose device is not known is
                   the driver's to refuse. */
                bool fine = code == LD_CUDA_OUT_OF_MEMORY
                            || (code == 0 && (wants_fatbins() || strcmp(failed, "cuCtxGetCurrent") == 0));
                CHECK_MSG(fine, "%s failed, but the result was %d", failed, (int)code);
                size_t lost = unload || strcmp(failed, "cuLinkDestroy") == 0;
                CHECK_MSG(left == lost, "%s failed: %zu objects left", failed, left);
                kept += lost;
                bool plain = unload || strcmp(failed, "cuLibraryGetKernel") == 0
                             || strcmp(failed, "cuKernelGetFunction") == 0;
                CHECK_MSG(plain || code == 0 || strncmp(tvGetLastErrorMessage(), "[L-MEM-01] ", 11) == 0,
                          "%s failed without a message", failed);
                CHECK(uses[way](&bytecode) == 0); /* and then it works */
                CHECK(fake->live() == kept);
            }
            bc_text_release(&bytecode);
            if (!failed)
                break;
        }
        CHECK_MSG(seen >= 10, "only %u calls were made", seen);
    }
    CHECK(cu->cuDevicePrimaryCtxRelease(0) == 0);
}

/* ---- one handle, several devices ---- */

/* A library that belongs to no device, and the contexts of the two that use it. */
static struct CUlib_st *both_library;
static struct CUctx_st *both_contexts[2];

/* Its kernel for the device of the current context, launched. */
static tvResult launch_from_library(void)
{
    struct CUkern_st *kernel;
    struct CUfunc_st *function;
    tvResult code = tvLibraryGetKernel(&kernel, both_library, "second");
    if (code == 0)
        code = tvKernelGetFunction(&function, kernel);
    return code ? code : tvLaunchKernel(function, 7, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

/* The library's kernel, and a module for that device alone. */
static tvResult use_here(const bc_text *bytecode)
{
    tvResult code = launch_from_library();
    return code ? code : use_module(bytecode);
}

static const ld_driver *start_on_both(const bc_text *bytecode)
{
    const ld_driver *cu = start();
    CHECK(cu->cuCtxGetCurrent(&both_contexts[0]) == 0);
    CHECK(cu->cuDevicePrimaryCtxRetain(&both_contexts[1], 1) == 0);
    CHECK(tvLibraryLoadData(&both_library, bytecode->ptr, NULL, NULL, 0, NULL, NULL, 0) == 0);
    return cu;
}

static void stop_on_both(const ld_driver *cu)
{
    CHECK(tvLibraryUnload(both_library) == 0);
    CHECK(cu->cuDevicePrimaryCtxRelease(1) == 0 && cu->cuDevicePrimaryCtxRelease(0) == 0);
}

/* Every call that is made for one device fails in turn, while the other one uses the same library: it goes on as if
   nothing had been, and the first one works again. */
static void scenario_each_call_fails_on_both(void)
{
    bc_text shared = make_bytecode(50);
    const ld_driver *cu = start_on_both(&shared);
    size_t kept = fake->live(); /* and what an unload that failed leaves with the driver */
    for (unsigned device = 0; device < 2; device++) {
        unsigned seen = 0;
        for (unsigned n = 1;; n++) {
            bc_text bytecode = make_bytecode(2000 + 100 * device + n); /* nothing comes from memory */
            CHECK(cu->cuCtxPushCurrent(both_contexts[device]) == 0);
            fake->fail_call(n, LD_CUDA_OUT_OF_MEMORY);
            tvResult code = use_here(&bytecode);
            const char *failed = fake->failed();
            fake->fail_call(0, 0);
            CHECK_MSG(!failed || code == LD_CUDA_OUT_OF_MEMORY || (code == 0 && strcmp(failed, "cuCtxGetCurrent") == 0),
                      "%s failed on device %u, but the result was %d", failed, device, (int)code);
            kept += failed && (strcmp(failed, "cuModuleUnload") == 0 || strcmp(failed, "cuLinkDestroy") == 0);
            CHECK_MSG(fake->live() == kept, "%s failed: %zu objects left", failed ? failed : "nothing",
                      fake->live() - kept);
            CHECK(cu->cuCtxPushCurrent(both_contexts[!device]) == 0);
            CHECK_MSG(use_here(&bytecode) == 0, "%s failed on device %u, and now the other one", failed, device);
            CHECK(cu->cuCtxPopCurrent(&(struct CUctx_st *){NULL}) == 0);
            CHECK_MSG(use_here(&bytecode) == 0, "after %s failed, device %u does not work", failed, device);
            CHECK(cu->cuCtxPopCurrent(&(struct CUctx_st *){NULL}) == 0);
            bc_text_release(&bytecode);
            if (!failed)
                break;
            seen++;
        }
        CHECK_MSG(seen >= 8, "only %u calls were made on device %u", seen, device);
    }
    stop_on_both(cu);
    bc_text_release(&shared);
}

static void *thread_of_devices(void *user)
{
    size_t number = *(const size_t *)user;
    const ld_driver *cu = NULL;
    size_t wrong = ld_driver_open(&cu) != 0;
    for (size_t i = 0; i < 40; i++) {
        wrong += cu->cuCtxPushCurrent(both_contexts[(number + i) % 2]) != 0;
        wrong += use_here(&shared_bytecode[i % 2]) != 0;
        wrong += cu->cuCtxPopCurrent(&(struct CUctx_st *){NULL}) != 0;
    }
    return (void *)(uintptr_t)wrong;
}

/* The same from many threads at a time: what is compiled for a kind of device is compiled once. */
static void scenario_threads_on_both(void)
{
    enum { THREADS = 12 };
    bc_text shared = make_bytecode(60);
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    const ld_driver *cu = start_on_both(&shared);
    unsigned before = fake_compile_count();
    for (unsigned i = 0; i < 2; i++)
        shared_bytecode[i] = make_bytecode(61 + i);
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, thread_of_devices, &numbers[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;
        CHECK(pthread_join(threads[i], &wrong) == 0);
        CHECK_MSG(wrong == NULL, "%zu of its uses went wrong", (size_t)(uintptr_t)wrong);
    }
    CHECK_MSG(fake_compile_count() - before == 4, "%u compilations of 2 files for 2 devices",
              fake_compile_count() - before);
    CHECK(look_at_cache().files == 5 && look_at_cache().damaged == 0); /* those, and the library's */
    stop_on_both(cu);
    CHECK_MSG(fake->live() == 0, "%zu objects were left", fake->live());
    bc_text_release(&shared);
    for (unsigned i = 0; i < 2; i++)
        bc_text_release(&shared_bytecode[i]);
}

/* Every allocation of the loader fails in turn: the load fails with a message, or does without (the cache). */
static void scenario_no_host_memory(void)
{
    static tvResult (*const uses[])(const bc_text *) = {use_module, use_library};
    const ld_driver *cu = start();
    for (unsigned way = 0; way < 2; way++) {
        unsigned refused = 0;
        bool reached = true;
        for (unsigned n = 1; reached; n++) {
            bc_text bytecode = make_bytecode(1000 * (way + 1) + n);
            allocations = 0;
            failing_allocation = n;
            tvResult code = uses[way](&bytecode);
            reached = allocations >= n;
            failing_allocation = 0;
            CHECK_MSG(code == 0 || (reached && code == LD_CUDA_OUT_OF_MEMORY), "allocation %u: %d %s", n, (int)code,
                      tvGetLastErrorMessage());
            CHECK_MSG(fake->live() == 1, "allocation %u: %zu objects left", n, fake->live() - 1);
            refused += code != 0;
            bc_text_release(&bytecode);
        }
        CHECK_MSG(refused >= 10, "%u loads were refused", refused);
    }
    stop(cu);
}

static void scenario_no_driver(void)
{
    struct CUmod_st *module;
    bc_text bytecode = make_bytecode(5);
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library) {
        puts("a driver is installed here: what happens without one is not tested");
        dlclose(library);
    } else {
        CHECK(tvModuleLoadData(&module, bytecode.ptr) == LD_CUDA_SHARED_OBJECT_INIT_FAILED);
        CHECK_MESSAGE("[L-DRV-01] there is no CUDA driver: libcuda.so.1: cannot open shared object file");
        CHECK_MESSAGE("help: install the NVIDIA driver");
        CHECK(tvLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == LD_CUDA_SHARED_OBJECT_INIT_FAILED);
    }
    bc_text_release(&bytecode);
}

static void scenario_old_driver(void)
{
    struct CUmod_st *module;
    bc_text bytecode = make_bytecode(5);
    CHECK(tvModuleLoadData(&module, bytecode.ptr) == LD_CUDA_CALL_REQUIRES_NEWER_DRIVER);
    CHECK_MESSAGE("[L-DRV-02] the NVIDIA driver is for CUDA 11.8; 12.0 or later is needed");
    CHECK_MESSAGE("help: update the NVIDIA driver");
    bc_text_release(&bytecode);
}

static void scenario_no_device(void)
{
    struct CUmod_st *module;
    struct CUlib_st *library;
    bc_text bytecode = make_bytecode(5);
    CHECK(tvModuleLoadData(&module, bytecode.ptr) == LD_CUDA_INVALID_CONTEXT);
    CHECK_MESSAGE("[L-CTX-01] bytecode is compiled for the device of the current context, and there is none");
    CHECK_MESSAGE("make a context current first");
    CHECK(tvLibraryLoadData(&library, bytecode.ptr, NULL, NULL, 0, NULL, NULL, 0) == LD_CUDA_NO_DEVICE);
    CHECK_MESSAGE("[L-DRV-03] there is no device to compile for (CUDA_ERROR_NO_DEVICE)");
    CHECK_MESSAGE("help: see that nvidia-smi lists a GPU");
    bc_text_release(&bytecode);
}

static void scenario_old_device(void)
{
    struct CUmod_st *module;
    bc_text bytecode = make_bytecode(5);
    const ld_driver *cu = start();
    CHECK(tvModuleLoadData(&module, bytecode.ptr) == LD_CUDA_NO_BINARY_FOR_GPU);
    CHECK_MESSAGE("[L-ARCH-01] the device is sm_70; Tile IR kernels run on sm_75 and later");
    CHECK(use_library(&bytecode) == LD_CUDA_NO_BINARY_FOR_GPU);
    stop(cu);
    bc_text_release(&bytecode);
}

static void scenario_no_memory(void)
{
    struct CUmod_st *module;
    bc_text bytecode = make_bytecode(5);
    const ld_driver *cu = start();
    CHECK(tvModuleLoadData(&module, bytecode.ptr) == LD_CUDA_OUT_OF_MEMORY);
    CHECK_MESSAGE("[L-MEM-01] the driver cannot load the compiled kernel (CUDA_ERROR_OUT_OF_MEMORY)");
    CHECK_MESSAGE("help: free device memory");
    stop(cu);
    bc_text_release(&bytecode);
}

/* The assembler is not there, or forbidden, and says nothing. */
static void scenario_no_jit(void)
{
    struct CUmod_st *module;
    bc_text bytecode = make_bytecode(5);
    const ld_driver *cu = start();
    CHECK(tvModuleLoadData(&module, bytecode.ptr) == LD_CUDA_JIT_COMPILER_NOT_FOUND);
    CHECK_MESSAGE("[L-JIT-02] the driver cannot assemble the kernel");
    CHECK_MESSAGE("libnvidia-ptxjitcompiler.so.1");
    stop(cu);
    bc_text_release(&bytecode);
}

/* PTX that the driver refuses: what it says is brought back to the op, in the message and in the caller's log. */
static void check_jit_message(tvResult code, const char *what)
{
    CHECK_MSG(code == LD_CUDA_INVALID_PTX, "%s: %d", what, (int)code);
    CHECK_MESSAGE("[L-JIT-01] the driver cannot assemble the kernel:\n   ptxas application ptx input, line ");
    CHECK_MESSAGE(
        "error   : Not a name of any known instruction: 'bogus'\n      which belongs to op 0 return kernel.py:3:5\n"
        "   ptxas fatal   : Ptx assembly aborted due to errors\n (CUDA_ERROR_INVALID_PTX)");
}

static void scenario_jit_log(void)
{
    struct CUmod_st *module;
    struct CUlib_st *library;
    bc_text bytecode = make_bytecode(5);
    const ld_driver *cu = start();
    char log[1024] = "";
    tvJitOption options[] = {LD_JIT_ERROR_LOG, LD_JIT_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    check_jit_message(tvModuleLoadDataEx(&module, bytecode.ptr, 2, options, values), "module");
    CHECK(strstr(log, "[L-JIT-01] the driver cannot assemble the kernel:\n   ptxas application ptx input, line ")
          != NULL);
    CHECK(strstr(log, "which belongs to op 0") != NULL);
    CHECK((uintptr_t)values[1] == strlen(log) + 1);
    check_jit_message(tvLibraryLoadData(&library, bytecode.ptr, NULL, NULL, 0, NULL, NULL, 0), "library");
    stop(cu);
    bc_text_release(&bytecode);
}

/* With lazy loading the same comes later, and is as good a message. */
static void scenario_jit_lazy(void)
{
    struct CUmod_st *module;
    struct CUlib_st *library;
    struct CUkern_st *kernel;
    struct CUfunc_st *function;
    bc_text bytecode = make_bytecode(5);
    const ld_driver *cu = start();
    setenv("FAKECUDA_LAZY", "cuModuleGetFunction", 1);
    check_jit_message(tvModuleLoadData(&module, bytecode.ptr), "cuModuleGetFunction");
    setenv("FAKECUDA_LAZY", "cuLibraryGetKernel", 1);
    check_jit_message(tvLibraryLoadData(&library, bytecode.ptr, NULL, NULL, 0, NULL, NULL, 0), "cuLibraryGetKernel");
    setenv("FAKECUDA_LAZY", "cuLibraryGetModule", 1);
    CHECK(tvLibraryLoadData(&library, bytecode.ptr, NULL, NULL, 0, NULL, NULL, 0) == 0);
    check_jit_message(tvLibraryGetModule(&module, library), "cuLibraryGetModule");
    setenv("FAKECUDA_LAZY", "cuKernelGetFunction", 1);
    CHECK(tvLibraryGetKernel(&kernel, library, "second") == 0);
    check_jit_message(tvKernelGetFunction(&function, kernel), "cuKernelGetFunction");
    setenv("FAKECUDA_LAZY", "cuLaunchKernel", 1);
    check_jit_message(tvLaunchKernel((struct CUfunc_st *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                      "cuLaunchKernel");
    CHECK(tvLibraryUnload(library) == 0);
    stop(cu);
    bc_text_release(&bytecode);
}

/* What the caller asks of the assembler reaches it: by the loader's options for PTX, by the linker's for a cubin. */
static void scenario_jit_options(void)
{
    static const struct {
        unsigned level, line_info;
        const char *found;
    } asked[] = {{0, 0, "level 0, line info 0"}, {1, 1, "level 4, line info 1"}, {4, 0, "level 4, line info 0"}};
    bc_text bytecode = make_bytecode(6);
    const ld_driver *cu = start();
    struct CUmod_st *module;
    struct CUlib_st *library;
    tvJitOption options[] = {LD_JIT_OPTIMIZATION_LEVEL, LD_JIT_LINE_INFO};
    bool linked = wants_cubins();
    char expected[200];
    for (size_t i = 0; i < TV_COUNT(asked); i++) {
        void *values[] = {(void *)(uintptr_t)asked[i].level, (void *)(uintptr_t)asked[i].line_info};
        CHECK(tvModuleLoadDataEx(&module, bytecode.ptr, 2, options, values) == 0);
        snprintf(expected, sizeof expected, "%s: %s, target %s", linked ? "cuLinkCreate" : "cuModuleLoadDataEx",
                 asked[i].found, linked ? "0x1005a, a log" : "0x0, a log");
        /* A cubin is then loaded without any. */
        CHECK_MSG(linked || strcmp(fake->last_options(), expected) == 0, "%s", fake->last_options());
        CHECK(!linked
              || strcmp(fake->last_options(), "cuModuleLoadDataEx: level 4, line info 0, target 0x0, no log") == 0);
        CHECK(tvModuleUnload(module) == 0);
        CHECK(tvLibraryLoadData(&library, bytecode.ptr, options, values, 2, NULL, NULL, 0) == 0);
        snprintf(expected, sizeof expected, "cuLibraryLoadData: %s, target 0x0, %s",
                 linked ? "level 4, line info 0" : asked[i].found, linked ? "no log" : "a log");
        CHECK_MSG(strcmp(fake->last_options(), expected) == 0, "%s", fake->last_options());
        CHECK(tvLibraryUnload(library) == 0);
    }
    if (linked) { /* the linker's own, when nothing comes after it */
        setenv("FAKE_COMPILE_BREAKS", "1", 1);
        bc_text broken = make_bytecode(7);
        CHECK(tvModuleLoadDataEx(&module, broken.ptr, 2, options, (void *[]){NULL, (void *)1}) == LD_CUDA_INVALID_PTX);
        CHECK_MSG(strcmp(fake->last_options(), "cuLinkCreate: level 0, line info 1, target 0x1005a, a log") == 0, "%s",
                  fake->last_options());
        bc_text_release(&broken);
    }
    stop(cu);
    bc_text_release(&bytecode);
}

/* More static shared memory than the linker takes: unless the target is of one architecture alone, the kernel stays
   PTX. */
static void scenario_large_shared(void)
{
    bool takes = strcmp(getenv("FAKECUDA_DEVICES"), "90") == 0;
    bc_text bytecode = make_bytecode(8);
    const ld_driver *cu = start();
    CHECK(use_module(&bytecode) == 0 && use_library(&bytecode) == 0);
    CHECK(fake->links() == takes && fake_compile_count() == 1 && said.len == 0);
    if (takes)
        CHECK_NOTED("made a cubin in ");
    else
        CHECK_NOTED(": it needs more shared memory than the linker of the driver allows\n");
    CHECK_NOTED(takes ? "first: handed to the driver as a cubin in " : "first: handed to the driver as PTX in ");
    stop(cu);
    bc_text_release(&bytecode);
}

/* ---- PTX or cubin ---- */

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Everything that decides, with the reason that notes give. */
static void scenario_form(void)
{
    static const struct {
        const char *image, *disable, *size, *path, *home;
        ld_form form;
        const char *why;
    } rows[] = {
        {NULL, NULL, NULL, NULL, "home", LD_PTX, "the driver keeps the code"},
        {"", "", "", "", "home", LD_PTX, "the driver keeps the code"},
        {NULL, "0", "1", NULL, "home/not/yet", LD_PTX, "the driver keeps the code"},
        {NULL, NULL, NULL, "home", NULL, LD_PTX, "the driver keeps the code"},
        {NULL, NULL, NULL, "not/yet", "file", LD_PTX, "the driver keeps the code"},
        {NULL, NULL, NULL, "/", "home", LD_CUBIN, "CUDA_CACHE_PATH cannot be written to"},
        {NULL, "1", NULL, NULL, "home", LD_CUBIN, "CUDA_CACHE_DISABLE is set"},
        {NULL, "2", "5", "home", "home", LD_CUBIN, "CUDA_CACHE_DISABLE is set"},
        {NULL, NULL, "0", NULL, "home", LD_CUBIN, "CUDA_CACHE_MAXSIZE is 0"},
        {NULL, NULL, "lots", NULL, "home", LD_PTX, "the driver keeps the code"},
        {NULL, NULL, NULL, "file/of", "home", LD_CUBIN, "CUDA_CACHE_PATH cannot be written to"},
        {NULL, NULL, NULL, "closed", "home", LD_CUBIN, "CUDA_CACHE_PATH cannot be written to"},
        {NULL, NULL, NULL, "closed/not/yet", "home", LD_CUBIN, "CUDA_CACHE_PATH cannot be written to"},
        {NULL, NULL, NULL, NULL, "file", LD_CUBIN, "the driver's cache, ~/.nv/ComputeCache, cannot be written to"},
        {NULL, NULL, NULL, NULL, "closed", LD_CUBIN, "the driver's cache, ~/.nv/ComputeCache, cannot be written to"},
        {NULL, NULL, NULL, NULL, "blocked", LD_CUBIN, "the driver's cache, ~/.nv/ComputeCache, cannot be written to"},
        {NULL, NULL, NULL, NULL, NULL, LD_CUBIN,
         "the driver's cache has no folder: neither CUDA_CACHE_PATH nor HOME is set"},
        {"ptx", "1", "0", NULL, NULL, LD_PTX, "TILEVM_IMAGE asks for it"},
        {"cubin", NULL, NULL, NULL, "home", LD_CUBIN, "TILEVM_IMAGE asks for it"},
        {"PTX", "1", NULL, NULL, "home", LD_CUBIN, "CUDA_CACHE_DISABLE is set"},
        {"elf", NULL, NULL, NULL, "home", LD_PTX, "the driver keeps the code"},
    };
    CHECK(mkdir("home", 0700) == 0 && mkdir("closed", 0500) == 0 && files_write("file", "", 0));
    CHECK(mkdir("blocked", 0700) == 0 && files_write("blocked/.nv", "", 0));
    bool root = geteuid() == 0;
    CHECK(!root || (chown("home", 12345, 12345) == 0 && chown(".", 12345, 12345) == 0 && seteuid(12345) == 0));
    for (size_t i = 0; i < TV_COUNT(rows); i++) {
        const char *why = "";
        set("TILEVM_IMAGE", rows[i].image);
        set("CUDA_CACHE_DISABLE", rows[i].disable);
        set("CUDA_CACHE_MAXSIZE", rows[i].size);
        set("CUDA_CACHE_PATH", rows[i].path);
        set("HOME", rows[i].home);
        ld_form form = ld_form_here(&why);
        CHECK_MSG(form == rows[i].form && strcmp(why, rows[i].why) == 0, "row %zu: %d, %s", i, (int)form, why);
    }
    CHECK(bc_str_is(bc_text_get(&said), "1: [L-IMG-04] TILEVM_IMAGE is 'PTX'; it counts as not set\n")); /* once */
    /* When nobody keeps anything, the better code. */
    const char *why = "";
    set("TILEVM_IMAGE", NULL);
    set("CUDA_CACHE_DISABLE", "1");
    set("TILEVM_CACHE_SIZE", "0");
    CHECK(ld_form_here(&why) == LD_PTX && strcmp(why, "nothing keeps the code") == 0);
    CHECK(!root || seteuid(0) == 0);
}

/* A driver that keeps nothing: a cubin, which is there in the next process. */
static void scenario_driver_keeps_nothing(void)
{
    bc_text bytecode = make_bytecode(1);
    const ld_driver *cu = start();
    CHECK(use_module(&bytecode) == 0 && use_library(&bytecode) == 0);
    CHECK(fake->links() == 1 && fake_compile_count() == 1 && said.len == 0);
    CHECK_NOTED("made a cubin in ");
    CHECK_NOTED(": CUDA_CACHE_DISABLE is set\n2: first: handed to the driver as a cubin in ");
    CHECK(look_at_cache().files == 1);
    stop(cu);
    bc_text_release(&bytecode);
}

static void scenario_bad_bytecode(void)
{
    struct CUmod_st *module;
    bc_text bytecode = make_bytecode(5);
    const ld_driver *cu = start();
    char *copy = malloc(bytecode.len);
    memcpy(copy, bytecode.ptr, bytecode.len);
    copy[9] = 99; /* minor version */
    CHECK(tvModuleLoadData(&module, copy) == LD_CUDA_INVALID_IMAGE);
    CHECK_MESSAGE("[L-IMG-01] the bytecode is damaged or of a version that is not known for sm_90");
    CHECK_MESSAGE("error[F-003]: bytecode version 13.99 is not supported");
    copy[9] = bytecode.ptr[9];
    copy[12] = 0x7f; /* id of the first section */
    CHECK(tvModuleLoadData(&module, copy) == LD_CUDA_INVALID_IMAGE);
    CHECK_MESSAGE("[L-IMG-01] the bytecode is damaged");
    free(copy);
    CHECK(fake_compile_count() == 0);
    setenv("FAKE_COMPILE_REFUSES", "1", 1);
    CHECK(tvModuleLoadData(&module, bytecode.ptr) == LD_CUDA_NO_BINARY_FOR_GPU);
    CHECK_MESSAGE(
        "[L-IMG-02] the bytecode cannot be compiled for sm_90\n   error[G-GEN-01]: there is no code for this\n"
        "      in @first: addi %0, %1\n      at kernel.py:7:3\n      help: try something else");
    stop(cu);
    bc_text_release(&bytecode);
}

/* A file that becomes shorter between the look at its size and reading it. */
static void scenario_shrinking_file(void)
{
    enum { LONGER_THAN_BUFFERS = 1 << 20 };
    struct CUmod_st *module;
    bc_text bytecode = make_bytecode(5);
    const ld_driver *cu = start();
    CHECK(files_write("k.tbc", bytecode.ptr, bytecode.len) && truncate("k.tbc", LONGER_THAN_BUFFERS) == 0);
    shrinking_file = "k.tbc";
    CHECK(tvModuleLoad(&module, "k.tbc") == LD_CUDA_OPERATING_SYSTEM);
    CHECK_MESSAGE("[L-IMG-03] k.tbc cannot be read: it was truncated while being read");
    stop(cu);
    bc_text_release(&bytecode);
}

/* ---- the cache ---- */

static void scenario_cache_fill(void)
{
    bc_text bytecode = make_bytecode(1);
    const ld_driver *cu = start();
    CHECK(use_module(&bytecode) == 0);
    CHECK(fake_compile_count() == 1 && fake->links() == wants_cubins());
    CHECK_NOTED("2: first: compiled for sm_90 in ");
    CHECK_NOTED(wants_cubins() ? " ms, made a cubin in " : " ms, made PTX in ");
    struct stat info;
    CHECK(stat("cache", &info) == 0 && (info.st_mode & 0777) == 0700);
    tally found = look_at_cache();
    CHECK(found.files == 1 && found.damaged == 0);
    char path[128];
    snprintf(path, sizeof path, "cache/%s", found.name);
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600);
    stop(cu);
    bc_text_release(&bytecode);
}

/* After scenario_cache_fill in the same folder. */
static void scenario_cache_hit(void)
{
    bc_text bytecode = make_bytecode(1);
    const ld_driver *cu = start();
    CHECK(use_module(&bytecode) == 0);
    CHECK(fake_compile_count() == 0 && fake->links() == 0);
    CHECK(strstr(fake->last_launch(), "block 128,1,1 shared 65536") != NULL);
    CHECK(said.len == 0);
    CHECK_NOTED(wants_cubins() ? "2: first: for sm_90, a cubin from the cache: TILEVM_IMAGE asks for it\n2: first: "
                                 "handed to the driver as a cubin in "
                               : "2: first: for sm_90, PTX from the cache: the driver keeps the code\n2: first: handed "
                                 "to the driver as PTX in ");
    stop(cu);
    bc_text_release(&bytecode);
}

/* Every kind of damage, each in a process of its own since images stay in memory: the child must compile again, say so,
   and leave a sound entry. */
static void check_rebuilt(const bc_text *bytecode, const char *what, const char *words)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test_failed = 0;
        const ld_driver *cu = start();
        CHECK_MSG(use_module(bytecode) == 0, "%s", what);
        CHECK_MSG(fake_compile_count() == 1, "%s: it was not compiled again", what);
        CHECK_SAID("1: [L-CACHE-01] cache entry ");
        CHECK_SAID(words);
        stop(cu);
        _exit(test_failed != 0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", what);
    tally found = look_at_cache();
    CHECK_MSG(found.files == 1 && found.damaged == 0, "%s: %u files, %u damaged", what, found.files, found.damaged);
}

static void scenario_cache_damage(void)
{
    bc_text bytecode = make_bytecode(1);
    ld_cache cache;
    ld_cache_init(&cache);
    tally entry = look_at_cache();
    char path[128];
    snprintf(path, sizeof path, "cache/%s", entry.name);
    size_t size = 0;
    char *whole = files_read(path, &size);
    CHECK(whole != NULL && size > 72);
    static const size_t places[] = {0, 7, 8, 12, 16, 24, 32, 40, 71, 72, 90};
    for (size_t i = 0; whole && i < TV_COUNT(places); i++) {
        char what[64];
        snprintf(what, sizeof what, "byte %zu changed", places[i]);
        whole[places[i]] ^= 0x10;
        CHECK(files_write(path, whole, size));
        check_rebuilt(&bytecode, what, "is not used");
        whole[places[i]] ^= 0x10;
    }
    for (size_t cut = 0; whole && cut < size; cut += size / 7) {
        CHECK(files_write(path, whole, cut));
        check_rebuilt(&bytecode, "cut short", "it is truncated; it is compiled again");
    }
    /* The sound answer to another question under this name. */
    tv_str head = bc_str("tilevm\nform cubin\n"), image = bc_str("image");
    ld_cache_key other = {.head = head, .bytecode = bc_text_get(&bytecode)};
    char id[LD_CACHE_ID], other_path[128];
    ld_cache_key_id(&other, id);
    snprintf(other_path, sizeof other_path, "cache/%.2s/%s.tvk", id, id + 2);
    ld_cache_put(&cache, &other, (tv_str){.ptr = "", .len = 0}, image);
    CHECK(rename(other_path, path) == 0);
    check_rebuilt(&bytecode, "a foreign entry", "it was made for another key");
    /* A link, and a file that others may write to. */
    CHECK(unlink(path) == 0 && files_write("elsewhere", whole, size) && symlink("../../elsewhere", path) == 0);
    check_rebuilt(&bytecode, "a link", "it is a symbolic link");
    CHECK(chmod(path, 0666) == 0);
    check_rebuilt(&bytecode, "writable for all", "others may write to it");
    if (geteuid() == 0) {
        CHECK(chown(path, 12345, 12345) == 0);
        check_rebuilt(&bytecode, "another owner", "it belongs to another user");
    }
    free(whole);
    ld_cache_release(&cache);
    bc_text_release(&bytecode);
}

/* Without a usable folder everything works, after one warning. */
static void check_without_cache(const char *rule, const char *words)
{
    bc_text bytecode = make_bytecode(1), another = make_bytecode(2);
    const ld_driver *cu = start();
    CHECK(use_module(&bytecode) == 0 && use_module(&another) == 0);
    CHECK(fake_compile_count() == 2);
    CHECK_SAID(rule);
    CHECK_SAID(words);
    CHECK_MSG(said.ptr && strchr(said.ptr, '\n') == said.ptr + said.len - 1, "more than one message:\n%s",
              said.ptr ? said.ptr : "");
    stop(cu);
    bc_text_release(&bytecode);
    bc_text_release(&another);
}

static void scenario_cache_open_to_all(void)
{
    CHECK(mkdir("cache", 0700) == 0 && chmod("cache", 0777) == 0);
    check_without_cache("[L-CACHE-02]", "others may write to the folder");
}

static void scenario_cache_foreign(void)
{
    if (geteuid() != 0)
        return; /* only root can give a folder away */
    CHECK(mkdir("cache", 0755) == 0 && chown("cache", 12345, 12345) == 0);
    check_without_cache("[L-CACHE-02]", "the folder belongs to another user");
}

/* A link out of a folder that others may write to, as /tmp, could lead anywhere; one that only the user can have made
   is followed, relative or not. */
static void scenario_cache_link(void)
{
    char here[PATH_MAX], target[PATH_MAX + 8];
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(target, sizeof target, "%s/real", here);
    CHECK(mkdir("real", 0700) == 0 && mkdir("shared", 0700) == 0 && mkdir("own", 0700) == 0);
    CHECK(symlink("../real", "shared/link") == 0 && symlink("../real", "own/relative") == 0);
    CHECK(symlink(target, "own/absolute") == 0 && symlink("loop", "own/loop") == 0);
    static const struct {
        const char *path;
        mode_t shared;
        const char *problem;
    } cases[] = {{"shared/link", 0777, "a symbolic link leads to it"},
                 {"shared/link/cache", 01777, "a symbolic link leads to it"},
                 {"own/../shared/link", 0770, "a symbolic link leads to it"},
                 {"own/loop", 0700, "Too many levels of symbolic links"},
                 {"shared/link", 0755, NULL},
                 {"./own//relative/a/b/", 0700, NULL},
                 {"own/absolute/c", 0700, NULL},
                 {"shared/mine", 01777, NULL}};
    for (size_t i = 0; i < TV_COUNT(cases); i++) {
        const char *problem;
        CHECK(chmod("shared", cases[i].shared) == 0);
        int fd = ld_folder_open(cases[i].path, true, &problem);
        CHECK_MSG((fd < 0) == (cases[i].problem != NULL), "%s: %s", cases[i].path, problem ? problem : "opened");
        CHECK(!cases[i].problem || (problem && strstr(problem, cases[i].problem)));
        CHECK(access("real/cache", F_OK) != 0);
        if (fd >= 0)
            close(fd);
    }
    CHECK(access("real/a/b", F_OK) == 0 && access("real/c", F_OK) == 0 && access("shared/mine", F_OK) == 0);
    CHECK(chmod("shared", 0777) == 0);
    setenv("TILEVM_CACHE_DIR", "shared/link/cache", 1);
    check_without_cache("[L-CACHE-02]", "the cache shared/link/cache is not used: a symbolic link leads to it");
    CHECK(access("real/cache", F_OK) != 0);
}

static void scenario_cache_nowhere(void)
{
    unsetenv("TILEVM_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    check_without_cache("[L-CACHE-02]", "the cache is not used: none of TILEVM_CACHE_DIR");
}

/* A folder that cannot be made: for root as for anybody. */
static void scenario_cache_no_folder(void)
{
    CHECK(files_write("cache", "", 0));
    check_without_cache("[L-CACHE-02]", "Not a directory");
}

static void scenario_cache_read_only(void)
{
    if (geteuid() == 0) {
        setenv("TILEVM_CACHE_DIR", "/proc/tilevm-test", 1); /* where not even root makes folders */
        check_without_cache("[L-CACHE-02]", "the cache /proc/tilevm-test is not used: No such file or directory");
        return;
    }
    CHECK(mkdir("cache", 0500) == 0);
    check_without_cache("[L-CACHE-03]", "cannot be written: Permission denied");
}

static void scenario_cache_full(void)
{
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, RLIM_INFINITY})
          == 0); /* a write beyond fails, as on a full disk */
    check_without_cache("[L-CACHE-03]", "cannot be written: File too large");
    tally found = look_at_cache();
    CHECK(found.files == 0); /* nothing half written */
}

static void scenario_cache_off(void)
{
    bc_text bytecode = make_bytecode(1);
    const ld_driver *cu = start();
    CHECK(use_module(&bytecode) == 0);
    CHECK(said.len == 0 && access("cache", F_OK) != 0);
    stop(cu);
    bc_text_release(&bytecode);
}

static void put_numbered(const ld_cache *cache, unsigned number, size_t size, int64_t age)
{
    char head[32];
    snprintf(head, sizeof head, "entry %u\n", number);
    unsigned char *image = malloc(size);
    uint32_t noise = number + 1; /* which zlib cannot make smaller */
    for (size_t i = 0; i < size; i++) {
        noise ^= noise << 13;
        noise ^= noise >> 17;
        noise ^= noise << 5;
        image[i] = (unsigned char)(noise >> 8);
    }
    ld_cache_key key = {.head = bc_str(head), .bytecode = bc_str("code")};
    ld_cache_put(cache, &key, bc_str("records"), (tv_str){.ptr = (const char *)image, .len = size});
    char id[LD_CACHE_ID], path[128];
    ld_cache_key_id(&key, id);
    snprintf(path, sizeof path, "cache/%.2s/%s.tvk", id, id + 2);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= age;
    utimensat(AT_FDCWD, path, (struct timespec[]){now, now}, 0);
    free(image);
}

static bool has_numbered(const ld_cache *cache, unsigned number)
{
    char head[32];
    snprintf(head, sizeof head, "entry %u\n", number);
    ld_cache_entry entry;
    if (!ld_cache_get(cache, &(ld_cache_key){.head = bc_str(head), .bytecode = bc_str("code")}, &entry))
        return false;
    CHECK(bc_str_is(entry.records, "records"));
    free(entry.memory);
    return true;
}

static void scenario_cache_prune(void)
{
    ld_cache cache;
    ld_cache_removed removed;
    ld_cache_init(&cache);
    CHECK(cache.limit == 100 << 10);
    for (unsigned i = 0; i < 8; i++)
        put_numbered(&cache, i, 10000, 1000 - (int64_t)i);
    CHECK(look_at_cache().files == 8);
    allocations = 0;
    failing_allocation = 1;
    const char *problem = ld_cache_prune(&cache, 0, &removed);
    failing_allocation = 0;
    CHECK(problem && strcmp(problem, "out of memory") == 0 && look_at_cache().files == 8);
    CHECK(has_numbered(&cache, 0)); /* now it is the one used last */
    put_numbered(&cache, 8, 10000, 0);
    put_numbered(&cache, 9, 10000, 0);
    put_numbered(&cache, 10, 10000, 0);
    CHECK(ld_cache_prune(&cache, cache.limit, &removed) == NULL);
    CHECK(look_at_cache().bytes <= cache.limit);
    CHECK(has_numbered(&cache, 0) && !has_numbered(&cache, 1) && has_numbered(&cache, 10));
    put_numbered(&cache, 11, 200000, 0); /* larger than all may be */
    CHECK(!has_numbered(&cache, 11));
    /* What others left there stays; what was left half written an hour ago goes. */
    CHECK(files_write("cache/notes.txt", "mine", 4));
    CHECK(mkdir("cache/00", 0700) == 0 || errno == EEXIST);
    CHECK(files_write("cache/00/.tmp-1-2-3", "half", 4) && files_write("cache/00/.tmp-1-2-4", "half", 4));
    struct timespec old = {.tv_sec = time(NULL) - 7200};
    CHECK(utimensat(AT_FDCWD, "cache/00/.tmp-1-2-3", (struct timespec[]){old, old}, 0) == 0);
    unsigned entries = look_at_cache().files - 1;
    CHECK(look_at_cache().damaged == 1); /* what is being written is no damage, and prune agrees */
    CHECK(ld_cache_prune(&cache, cache.limit, &removed) == NULL && removed.files == 1);
    CHECK(look_at_cache().damaged == 0 && look_at_cache().files == entries);
    CHECK(access("cache/00/.tmp-1-2-4", F_OK) == 0);
    old.tv_sec += 14400; /* the clock of another machine is ahead */
    CHECK(utimensat(AT_FDCWD, "cache/00/.tmp-1-2-4", (struct timespec[]){old, old}, 0) == 0);
    CHECK(look_at_cache().damaged == 1);
    CHECK(ld_cache_prune(&cache, cache.limit, &removed) == NULL && removed.files == 1);
    CHECK(ld_cache_prune(&cache, 0, &removed) == NULL);
    CHECK(look_at_cache().files == 0 && access("cache/notes.txt", F_OK) == 0);
    ld_cache_release(&cache);
}

static void scenario_cache_sizes(void)
{
    static const struct {
        const char *text;
        uint64_t limit;
        bool problem;
    } sizes[] = {{"1000", 1000, false},
                 {"64K", 65536, false},
                 {"3m", 3 << 20, false},
                 {"2G", (uint64_t)2 << 30, false},
                 {"", (uint64_t)1 << 30, false},
                 {"lots", 0, true},
                 {"-1", 0, true},
                 {"5X", 0, true},
                 {"1GG", 0, true},
                 {"99999999999999999999", 0, true},
                 {"99999999999G", 0, true}};
    for (size_t i = 0; i < TV_COUNT(sizes); i++) {
        ld_cache cache;
        setenv("TILEVM_CACHE_SIZE", sizes[i].text, 1);
        ld_cache_init(&cache);
        CHECK_MSG((cache.problem != NULL) == sizes[i].problem, "%s", sizes[i].text);
        CHECK_MSG(sizes[i].problem || cache.limit == sizes[i].limit, "%s", sizes[i].text);
        ld_cache_release(&cache);
    }
    unsetenv("TILEVM_CACHE_SIZE");
    unsetenv("TILEVM_CACHE_DIR");
    static const struct {
        const char *xdg, *home, *path;
    } places[] = {{"/x", "/h", "/x/tilevm"},
                  {"relative", "/h", "/h/.cache/tilevm"},
                  {"", "/h", "/h/.cache/tilevm"},
                  {"", "", NULL}};
    for (size_t i = 0; i < TV_COUNT(places); i++) {
        ld_cache cache;
        setenv("XDG_CACHE_HOME", places[i].xdg, 1);
        setenv("HOME", places[i].home, 1);
        ld_cache_init(&cache);
        CHECK(places[i].path ? cache.path && strcmp(cache.path, places[i].path) == 0 : !cache.path && cache.problem);
        ld_cache_release(&cache);
    }
}

/* 32 processes at once, all of them cold. */
static void scenario_cache_many(void)
{
    enum { PROCESSES = 32 };
    bc_text bytecode = make_bytecode(1), another = make_bytecode(2);
    int gate[2];
    CHECK(pipe(gate) == 0);
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            char go;
            close(gate[1]);
            if (read(gate[0], &go, 1) < 0) /* ends when the parent closes its side */
                _exit(2);
            test_failed = 0;
            const ld_driver *cu = start();
            CHECK(use_module(i % 2 ? &bytecode : &another) == 0);
            CHECK(use_module(i % 2 ? &another : &bytecode) == 0);
            CHECK_MSG(said.len == 0, "%s", said.ptr);
            stop(cu);
            _exit(test_failed != 0);
        }
    }
    close(gate[0]);
    close(gate[1]);
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = 0;
        CHECK(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    tally found = look_at_cache();
    CHECK_MSG(found.files == 2 && found.damaged == 0, "%u files, %u damaged", found.files, found.damaged);
    bc_text_release(&bytecode);
    bc_text_release(&another);
}

/* Killed at any moment: what is there is whole. */
static void scenario_cache_killed(void)
{
    unsigned finished = 0;
    for (unsigned round = 0; round < 30 || (!finished && round < 300); round++) { /* emulated ones begin late */
        pid_t child = fork();
        if (child == 0) {
            ld_cache cache;
            ld_cache_init(&cache);
            for (unsigned i = 0; i < 10000; i++)
                put_numbered(&cache, i % 50, 30000, 0);
            _exit(0);
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000 + 700000 * (long)round}, NULL);
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child);
        DIR *top = opendir("cache");
        finished += top != NULL;
        if (top)
            closedir(top);
    }
    CHECK(finished > 0);
    ld_cache cache;
    ld_cache_init(&cache);
    for (unsigned i = 0; i < 50; i++)
        has_numbered(&cache, i);
    CHECK_MSG(said.len == 0, "%s", said.ptr); /* nothing damaged was met */
    ld_cache_release(&cache);
    bc_text bytecode = make_bytecode(1);
    const ld_driver *cu = start();
    CHECK(use_module(&bytecode) == 0);
    stop(cu);
    bc_text_release(&bytecode);
}

/* ---- threads ---- */

static struct CUctx_st *shared_context;
static const ld_driver *shared_driver;

static void *thread_of_loads(void *user)
{
    size_t first = *(const size_t *)user, wrong = 0;
    wrong += shared_driver->cuCtxPushCurrent(shared_context) != 0;
    for (size_t i = 0; i < 40; i++) {
        const bc_text *bytecode = &shared_bytecode[(first + i) % 4];
        wrong += (i % 2 ? use_library(bytecode) : use_module(bytecode)) != 0;
    }
    return (void *)(uintptr_t)wrong;
}

static void scenario_threads(void)
{
    enum { THREADS = 16 };
    shared_driver = start();
    CHECK(shared_driver->cuCtxGetCurrent(&shared_context) == 0);
    for (unsigned i = 0; i < 4; i++)
        shared_bytecode[i] = make_bytecode(i);
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, thread_of_loads, &numbers[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;
        CHECK(pthread_join(threads[i], &wrong) == 0);
        CHECK_MSG(wrong == NULL, "%zu of its loads went wrong", (size_t)(uintptr_t)wrong);
    }
    CHECK_MSG(fake_compile_count() == 4, "%u compilations of 4 files", fake_compile_count());
    stop(shared_driver);
    for (unsigned i = 0; i < 4; i++)
        bc_text_release(&shared_bytecode[i]);
}

/* ---- running them ---- */

static const struct {
    const char *name;
    void (*run)(void);
    const char *environment[3]; /* NAME=value */
    bool no_driver;
    bool same_folder; /* goes on in the folder of the one before */
} scenarios[] = {
    {"load", scenario_load, {NULL}, false, false},
    {"load-cubin", scenario_load, {"TILEVM_IMAGE=cubin"}, false, false},
    {"library", scenario_library, {NULL}, false, false},
    {"library-cubin", scenario_library, {"TILEVM_IMAGE=cubin"}, false, false},
    {"two-devices", scenario_two_devices, {"FAKECUDA_DEVICES=90,80"}, false, false},
    {"two-devices-cubin", scenario_two_devices, {"FAKECUDA_DEVICES=90,80", "TILEVM_IMAGE=cubin"}, false, false},
    {"two-later-devices", scenario_two_devices, {"FAKECUDA_DEVICES=100,90"}, false, false},
    {"unknown-device", scenario_load, {"FAKECUDA_DEVICES=130"}, false, false},
    {"unknown-device-cubin", scenario_load, {"FAKECUDA_DEVICES=130", "TILEVM_IMAGE=cubin"}, false, false},
    {"other-images", scenario_other_images, {NULL}, false, false},
    {"launch-checks", scenario_launch_checks, {NULL}, false, false},
    {"each-call-fails", scenario_each_call_fails, {"TILEVM_CACHE_SIZE=0"}, false, false},
    {"each-call-fails-cubin", scenario_each_call_fails, {"TILEVM_CACHE_SIZE=0", "TILEVM_IMAGE=cubin"}, false, false},
    {"fatbin", scenario_fatbin, {NULL}, false, false},
    {"fatbin-cubin", scenario_fatbin, {"TILEVM_IMAGE=cubin"}, false, false},
    {"fatbin-devices", scenario_fatbin_devices, {"FAKECUDA_DEVICES=90,80"}, false, false},
    {"fatbin-files", scenario_fatbin_files, {NULL}, false, false},
    {"fatbin-load", scenario_load, {"IN_FATBIN=1"}, false, false},
    {"fatbin-each-call-fails", scenario_each_call_fails, {"TILEVM_CACHE_SIZE=0", "IN_FATBIN=1"}, false, false},
    {"fatbin-no-host-memory", scenario_no_host_memory, {"IN_FATBIN=1"}, false, false},
    {"each-call-fails-on-both",
     scenario_each_call_fails_on_both,
     {"TILEVM_CACHE_SIZE=0", "FAKECUDA_DEVICES=90,80"},
     false,
     false},
    {"each-call-fails-on-both-cubin",
     scenario_each_call_fails_on_both,
     {"TILEVM_CACHE_SIZE=0", "FAKECUDA_DEVICES=90,80", "TILEVM_IMAGE=cubin"},
     false,
     false},
    {"threads-on-both", scenario_threads_on_both, {"FAKE_COMPILE_SLOWLY=1", "FAKECUDA_DEVICES=90,80"}, false, false},
    {"threads-on-both-cubin",
     scenario_threads_on_both,
     {"FAKE_COMPILE_SLOWLY=1", "FAKECUDA_DEVICES=90,80", "TILEVM_IMAGE=cubin"},
     false,
     false},
    {"no-host-memory", scenario_no_host_memory, {NULL}, false, false},
    {"no-host-memory-cubin", scenario_no_host_memory, {"CUDA_CACHE_DISABLE=1"}, false, false},
    {"no-driver", scenario_no_driver, {NULL}, true, false},
    {"old-driver", scenario_old_driver, {"FAKECUDA_VERSION=11080"}, false, false},
    {"no-device", scenario_no_device, {"FAKECUDA_DEVICES=none"}, false, false},
    {"old-device", scenario_old_device, {"FAKECUDA_DEVICES=70"}, false, false},
    {"no-memory", scenario_no_memory, {"FAKECUDA_FAIL=cuModuleLoadDataEx=2"}, false, false},
    {"no-memory-cubin", scenario_no_memory, {"FAKECUDA_FAIL=cuModuleLoadDataEx=2", "TILEVM_IMAGE=cubin"}, false, false},
    {"no-jit", scenario_no_jit, {"FAKECUDA_FAIL=cuModuleLoadDataEx=221"}, false, false},
    {"no-jit-lazy", scenario_no_jit, {"FAKECUDA_FAIL=cuModuleGetFunction=221"}, false, false},
    {"no-jit-cubin", scenario_no_jit, {"FAKECUDA_FAIL=cuLinkCreate=221", "TILEVM_IMAGE=cubin"}, false, false},
    {"jit-log", scenario_jit_log, {"FAKE_COMPILE_BREAKS=1"}, false, false},
    {"jit-log-cubin", scenario_jit_log, {"FAKE_COMPILE_BREAKS=1", "TILEVM_IMAGE=cubin"}, false, false},
    {"jit-lazy", scenario_jit_lazy, {"FAKE_COMPILE_BREAKS=1"}, false, false},
    {"jit-options", scenario_jit_options, {NULL}, false, false},
    {"jit-options-cubin", scenario_jit_options, {"TILEVM_IMAGE=cubin"}, false, false},
    {"large-shared",
     scenario_large_shared,
     {"FAKE_COMPILE_SHARED=65536", "FAKECUDA_DEVICES=90", "TILEVM_IMAGE=cubin"},
     false,
     false},
    {"large-shared-ptx",
     scenario_large_shared,
     {"FAKE_COMPILE_SHARED=65536", "FAKECUDA_DEVICES=80", "TILEVM_IMAGE=cubin"},
     false,
     false},
    {"form", scenario_form, {NULL}, false, false},
    {"driver-keeps-nothing", scenario_driver_keeps_nothing, {"CUDA_CACHE_DISABLE=1"}, false, false},
    {"bad-bytecode", scenario_bad_bytecode, {NULL}, false, false},
    {"shrinking-file", scenario_shrinking_file, {NULL}, false, false},
    {"cache-fill", scenario_cache_fill, {NULL}, false, false},
    {"cache-hit", scenario_cache_hit, {NULL}, false, true},
    {"cache-damage", scenario_cache_damage, {NULL}, false, true},
    {"cache-fill-cubin", scenario_cache_fill, {"TILEVM_IMAGE=cubin"}, false, false},
    {"cache-hit-cubin", scenario_cache_hit, {"TILEVM_IMAGE=cubin"}, false, true},
    {"cache-open-to-all", scenario_cache_open_to_all, {NULL}, false, false},
    {"cache-foreign", scenario_cache_foreign, {NULL}, false, false},
    {"cache-link", scenario_cache_link, {NULL}, false, false},
    {"cache-nowhere", scenario_cache_nowhere, {NULL}, false, false},
    {"cache-no-folder", scenario_cache_no_folder, {NULL}, false, false},
    {"cache-read-only", scenario_cache_read_only, {NULL}, false, false},
    {"cache-full", scenario_cache_full, {NULL}, false, false},
    {"cache-off", scenario_cache_off, {"TILEVM_CACHE_SIZE=0"}, false, false},
    {"cache-prune", scenario_cache_prune, {"TILEVM_CACHE_SIZE=100K"}, false, false},
    {"cache-sizes", scenario_cache_sizes, {NULL}, false, false},
    {"cache-many", scenario_cache_many, {"FAKE_COMPILE_SLOWLY=1"}, false, false},
    {"cache-killed", scenario_cache_killed, {NULL}, false, false},
    {"threads", scenario_threads, {"FAKE_COMPILE_SLOWLY=1"}, false, false},
    {"threads-cubin", scenario_threads, {"FAKE_COMPILE_SLOWLY=1", "TILEVM_IMAGE=cubin"}, false, false},
};

static int run_here(const char *name)
{
    bc_text_init(&said, NULL);
    bc_text_init(&noted, NULL);
    tvSetMessageHandler(hear, NULL);
    for (size_t i = 0; i < TV_COUNT(scenarios); i++) {
        if (strcmp(scenarios[i].name, name) != 0)
            continue;
        if (!scenarios[i].no_driver) {
            void *library = dlopen("libcuda.so.1", RTLD_NOW), *found = library ? dlsym(library, "fake_cuda") : NULL;
            fake_cuda_fn *get;
            memcpy(&get, &found, sizeof get);
            if (!get) {
                fputs("the fake driver was not found\n", stderr);
                return 1;
            }
            fake = get();
        }
        scenarios[i].run();
        bc_text_release(&said);
        bc_text_release(&noted);
        return TEST_END(name);
    }
    return 2;
}

static void set_environment(const char *const *settings, bool set)
{
    for (size_t i = 0; i < 3 && settings[i]; i++) {
        const char *equals = strchr(settings[i], '=');
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(equals - settings[i]), settings[i]);
        if (set)
            setenv(name, equals + 1, 1);
        else
            unsetenv(name);
    }
}

/* What decides about the form of modules is as for most people: a home that can be written to, and nothing else. */
static void set_home(const char *folder)
{
    static const char *const others[] = {"TILEVM_IMAGE", "CUDA_CACHE_DISABLE", "CUDA_CACHE_MAXSIZE", "CUDA_CACHE_PATH"};
    setenv("HOME", folder, 1);
    for (size_t i = 0; i < TV_COUNT(others); i++)
        unsetenv(others[i]);
}

/* Adds up what the scenarios print. */
static void run_one(size_t i, char *self, const char *folder, const char *driver)
{
    char *argv[] = {self, (char[]){"-s"}, strdup(scenarios[i].name), NULL};
    char cache[4200];
    snprintf(cache, sizeof cache, "%s/cache", folder);
    setenv("TILEVM_CACHE_DIR", cache, 1);
    setenv("LD_LIBRARY_PATH", scenarios[i].no_driver ? "/nonexistent" : driver, 1);
    set_home(folder);
    set_environment(scenarios[i].environment, true);
    process_result result;
    unsigned passed, failed;
    char *end;
    if (!process_run(folder, argv, NULL, 300, &result)) {
        CHECK_MSG(false, "%s: %s", scenarios[i].name, strerror(errno));
    } else {
        const char *line = strstr(result.out, ": ");
        if (result.exit_code > 1 || result.signal || !(line = strstr(result.out, scenarios[i].name))
            || sscanf(line + strlen(scenarios[i].name), ": %u passed, %u failed", &passed, &failed) != 2)
            CHECK_MSG(false, "%s ended with status %d, signal %d\n%s%s", scenarios[i].name, result.exit_code,
                      result.signal, result.out, result.err);
        else {
            test_passed += (int)passed;
            test_failed += (int)failed;
            if (failed)
                fprintf(stderr, "%s:\n%s", scenarios[i].name, result.err);
            else if ((end = strstr(result.out, scenarios[i].name)) != result.out)
                fprintf(stderr, "%.*s", (int)(end - result.out), result.out);
        }
        process_release(&result);
    }
    set_environment(scenarios[i].environment, false);
    free(argv[2]);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "-s") == 0)
        return run_here(argv[2]);
    char self[4096], driver[4200], folder[4096] = "", top[4096];
    if (argc != 2 || !realpath(argv[0], self) || (mkdir(argv[1], 0777) != 0 && errno != EEXIST)
        || !realpath(argv[1], top)) {
        fputs("usage: loader_faults FOLDER\n", stderr);
        return 2;
    }
    snprintf(driver, sizeof driver, "%.*s/fakecuda", (int)(strrchr(self, '/') - self), self);
    process_mark_sanitizers();
    for (size_t i = 0; i < TV_COUNT(scenarios); i++) {
        if (!scenarios[i].same_folder) {
            snprintf(folder, sizeof folder, "%.3000s/%s", top, scenarios[i].name);
            if (mkdir(folder, 0777) != 0) {
                fprintf(stderr, "%s: %s\n", folder, strerror(errno));
                return 2;
            }
        }
        run_one(i, self, folder, driver);
    }
    return TEST_END("loader");
}
