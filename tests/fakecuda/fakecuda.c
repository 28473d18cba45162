/* The fake driver. One lock around everything; objects are in one list. It is as strict as the strictest driver:
   handles must be alive, images sound, targets runnable, a launch must have exactly the threads that the kernel was
   compiled for. */
#include "container/bytes.h"
#include "container/cubin.h"
#include "container/fatbin.h"
#include "tests/fakecuda/fakecuda.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/driver.h"
#include "loader/record.h"
#include "tests/ptxsim/ptxsim.h"

#define CUBIN_MARK "\177ELF fake cubin\n"
#define BAD_INSTRUCTION "bogus"
enum {
    MOST_LINKED_SHARED =
        48 << 10,         /* static shared memory of a kernel that is linked; one that is loaded may have more */
    ACCELERATED = 0x10000 /* in a CUjit_target: of that architecture alone, which the linker gives more, too */
};

typedef enum object_kind { MODULE, LIBRARY, FUNCTION, KERNEL, LINK, MEMORY, EVENT, STREAM, GRAPH } object_kind;

typedef struct object {
    object_kind kind;
    struct object *next, *owner;
    char *ptx;         /* modules, libraries, links */
    char *cubin, *log; /* links: the result; modules, libraries, links: the caller's buffer for what is wrong */
    size_t log_size;
    unsigned target; /* a CUjit_target that the caller named, or 0 */
    bool assembled;  /* modules, libraries: PTX is code now */
    bc_arena arena;  /* of the records */
    ld_record *records;
    size_t record_count;
    const ld_record *record;  /* functions, kernels */
    double at_us;             /* events: the device's clock when it was recorded */
    bool capturing;           /* streams */
    struct object **launches; /* streams, graphs: functions and kernels, in the order of their launches */
    size_t launch_count;
    unsigned char *memory; /* memory: host memory stands for the device's; its address is the same */
    size_t size;
} object;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static object *objects;
static int version, capabilities[8], device_count, lost;
static int retained;                   /* primary contexts, all devices together */
static _Thread_local int current = -1; /* device of the current context */
static _Thread_local int below[64];    /* of those that were current before */
static _Thread_local unsigned depth;
static double clock_us; /* of the devices: what launches have taken so far */
static unsigned call_count, fail_at, link_count;
static int fail_code;
static const char *failed_name;
static char launch_line[1024], options_line[256];
static struct CUctx_st *const contexts = (struct CUctx_st *)(uintptr_t)0x1000; /* context of device n: + n + 1 */

/* ---- set up ---- */

static size_t count_live(void)
{
    size_t count = (size_t)retained;
    for (object *o = objects; o; o = o->next)
        count += o->kind != FUNCTION && o->kind != KERNEL;
    return count;
}

/* At the end of the process. What a lost context took with it is nobody's fault. */
static void note_what_is_left(void)
{
    const char *path = getenv("FAKECUDA_LEFT");
    FILE *file = path && count_live() && !lost ? fopen(path, "a") : NULL;
    if (!file)
        return;
    for (object *o = objects; o; o = o->next)
        fprintf(file, "an object of kind %d\n", (int)o->kind);
    fprintf(file, "%d retained contexts\n", retained);
    fclose(file);
}

static void set_up(void)
{
    const char *text = getenv("FAKECUDA_VERSION"), *devices = getenv("FAKECUDA_DEVICES");
    atexit(note_what_is_left);
    version = text ? atoi(text) : 12080;
    devices = devices ? devices : "90";
    while (*devices >= '0' && *devices <= '9' && device_count < 8) {
        char *end;
        capabilities[device_count++] = (int)strtol(devices, &end, 10);
        devices = *end == ',' ? end + 1 : end;
    }
}

/* The code that FAKECUDA_FAIL has for a function, 0 for none. */
static int failing(const char *name)
{
    const char *list = getenv("FAKECUDA_FAIL");
    size_t len = strlen(name);
    while (list && *list) {
        if (strncmp(list, name, len) == 0 && list[len] == '=')
            return atoi(list + len + 1);
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return 0;
}

/* Begins a call: takes the lock, and gives the code that it must fail with. */
static int enter(const char *name)
{
    pthread_mutex_lock(&lock);
    if (!version)
        set_up();
    call_count++;
    if (fail_at && call_count == fail_at) {
        failed_name = name;
        return fail_code;
    }
    if (lost)
        return lost;
    return failing(name);
}

static tvResult leave(int code)
{
    pthread_mutex_unlock(&lock);
    return code;
}

#define ENTER(name)             \
    int injected = enter(name); \
    if (injected)               \
    return leave(injected)

/* ---- objects ---- */

static object *find(const void *handle, object_kind kind)
{
    for (object *o = objects; o; o = o->next)
        if ((const void *)o == handle && o->kind == kind)
            return o;
    return NULL;
}

static object *make(object_kind kind, object *owner)
{
    object *o = calloc(1, sizeof *o);
    if (!o)
        abort();
    o->kind = kind;
    o->owner = owner;
    o->next = objects;
    bc_arena_init(&o->arena, NULL, 0);
    objects = o;
    return o;
}

static void drop(object *dead)
{
    for (object *o = objects; o;) { /* what it owns, first */
        object *next = o->next;
        if (o->owner == dead) {
            drop(o);
            next = objects;
        }
        o = next;
    }
    for (object **at = &objects; *at; at = &(*at)->next)
        if (*at == dead) {
            *at = dead->next;
            break;
        }
    bc_arena_release(&dead->arena);
    free(dead->ptx);
    free(dead->cubin);
    free(dead->memory);
    free(dead->launches);
    free(dead);
}

/* Does a device run code for the target? sm_90 is for later devices too, sm_90a for that one only. */
static bool runs_on(const char *target, int capability)
{
    char *end;
    long number = strtol(target + strlen(".target sm_"), &end, 10);
    return *end == 'a' ? number == capability : number <= capability;
}

static int capability_here(void)
{
    return current >= 0 ? capabilities[current] : device_count ? capabilities[0] : 0;
}

/* Takes in options of the assembler and empties the log. False: one that there is not, or a wrong value. */
static bool take_options(object *o, const char *how, unsigned count, const unsigned *options, void **values)
{
    unsigned level = 4, line_info = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned number = (unsigned)(uintptr_t)values[i];
        if (options[i] == LD_JIT_ERROR_LOG)
            o->log = values[i];
        else if (options[i] == LD_JIT_ERROR_LOG_SIZE)
            o->log_size = number;
        else if (options[i] == LD_JIT_OPTIMIZATION_LEVEL)
            level = number;
        else if (options[i] == LD_JIT_LINE_INFO)
            line_info = number;
        else if (options[i] == LD_JIT_TARGET)
            o->target = number;
        else
            return false;
    }
    if (level > 4 || line_info > 1 || !o->log != !o->log_size)
        return false;
    if (o->log)
        o->log[0] = 0;
    snprintf(options_line, sizeof options_line, "%s: level %u, line info %u, target 0x%x, %s", how, level, line_info,
             o->target, o->log ? "a log" : "no log");
    return true;
}

static void say(object *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (o->log)
        vsnprintf(o->log, o->log_size, format, args);
    va_end(args);
}

/* PTX to code, as linker and loader do it: a version that the driver takes, a target that the device runs, no
   instruction that there is not. */
static int assemble(object *o)
{
    const char *isa = strstr(o->ptx, ".version "), *target = strstr(o->ptx, ".target sm_"),
               *bad = strstr(o->ptx, BAD_INSTRUCTION);
    int major = 0, minor = 0;
    if (!isa || !target || sscanf(isa, ".version %d.%d", &major, &minor) != 2)
        return LD_CUDA_INVALID_PTX;
    if ((unsigned)(major * 10 + minor) > ld_ptx_version(version))
        return LD_CUDA_UNSUPPORTED_PTX_VERSION;
    if (!runs_on(target, o->target ? (int)(o->target % ACCELERATED) : capability_here()))
        return LD_CUDA_NO_BINARY_FOR_GPU;
    if (!bad)
        return 0;
    unsigned line = 1;
    for (const char *p = o->ptx; p < bad; p++)
        line += *p == '\n';
    say(o,
        "ptxas application ptx input, line %u; error   : Not a name of any known instruction: '%s'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors",
        line, BAD_INSTRUCTION);
    return LD_CUDA_INVALID_PTX;
}

/* The same for something that was loaded, in the function that FAKECUDA_LAZY names, once. */
static int assemble_in(object *o, const char *function)
{
    const char *lazy = getenv("FAKECUDA_LAZY");
    if (o->assembled || (lazy && strcmp(lazy, function) != 0))
        return 0;
    int code = assemble(o);
    o->assembled = !code;
    return code;
}

/* ---- real cubins and fat binaries ---- */

static bool put_kernel(void *user, tv_str kernel, const uint32_t block[3])
{
    bc_text_printf(user, ".visible .entry %.*s(.param .u64 p)\n.reqntid %u, %u, %u\n{ ret; }\n", (int)kernel.len,
                   kernel.ptr, block[0], block[1], block[2]);
    return true;
}

/* What this driver takes for a cubin: text, of the kernels whose blocks are told. */
static void put_cubin(tv_str cubin, bc_text *out)
{
    co_elf elf;
    if (co_elf_open(cubin, &elf))
        return;
    bc_text_printf(out, "%s.version 8.0\n.target sm_%u\n", CUBIN_MARK, elf.flags >> 8 & 0xff);
    co_cubin_blocks(&elf, put_kernel, out);
}

/* Cubins are for their generation, PTX for what comes later, too. */
static bool is_for(const co_entry *entry, unsigned kind, int capability)
{
    int sm = (int)entry->sm;
    return entry->kind == kind && sm <= capability && (kind == CO_PTX || sm / 10 == capability / 10);
}

/* The first cubin of a fat binary for the device, else its first PTX. It knows nothing of Tile IR. */
static void put_fatbin(const char *container, bc_text *out)
{
    co_fatbin fatbin;
    co_entry entry;
    const char *problem;
    tv_str bytes = {container, (size_t)co_number(container + 8, 8) + 16};
    for (unsigned kind = CO_CUBIN; kind >= CO_PTX && !out->len && co_fatbin_at(bytes, 0, &fatbin); kind--)
        while (!out->len && co_fatbin_next(&fatbin, &entry, &problem)) {
            char *image = is_for(&entry, kind, capability_here()) ? calloc(1, (size_t)entry.size + 1) : NULL;
            if (!image)
                continue;
            if (!co_unpack(entry.packing, entry.packed, image, (size_t)entry.size)) {
                if (kind == CO_CUBIN)
                    put_cubin((tv_str){image, (size_t)entry.size}, out);
                else
                    bc_text_puts(out, image);
            }
            free(image);
        }
}

/* Code as text; image itself if it is that already; NULL: there is none for the device. */
static const char *text_of(const void *image, bc_text *out)
{
    const char *bytes = image;
    if (co_number(bytes, 1) == 0xb1) /* the wrapper that nvcc puts around */
        memcpy(&bytes, bytes + 8, sizeof bytes);
    bool fatbin = co_number(bytes, 1) == 0x50;
    if (fatbin)
        put_fatbin(bytes, out);
    else if (strncmp(bytes, CUBIN_MARK, strlen(CUBIN_MARK)) != 0 && strncmp(bytes, "\177ELF", 4) == 0)
        put_cubin((tv_str){bytes, co_cubin_size(bytes, (size_t)1 << 30)}, out);
    return out->len ? bc_text_words(out) : fatbin ? NULL : bytes;
}

static int load_text(const char *function, const char *text, object_kind kind, unsigned count, const unsigned *options,
                     void **values, object **out)
{
    size_t mark = strlen(CUBIN_MARK);
    if (!text)
        return LD_CUDA_NO_BINARY_FOR_GPU;
    bool cubin = strncmp(text, CUBIN_MARK, mark) == 0;
    if (!cubin && strncmp(text, "//", 2) != 0 && strncmp(text, ".version", 8) != 0)
        return LD_CUDA_INVALID_IMAGE;
    text += cubin ? mark : 0;
    const char *target = strstr(text, ".target sm_");
    if (cubin && (!target || !runs_on(target, capability_here())))
        return LD_CUDA_NO_BINARY_FOR_GPU;
    object *o = make(kind, NULL);
    o->assembled = cubin;
    o->ptx = strdup(text);
    int code = !take_options(o, function, count, options, values) ? LD_CUDA_INVALID_VALUE
               : !o->ptx || !ld_records_from_ptx(&o->arena, bc_str(o->ptx), &o->records, &o->record_count)
                   ? LD_CUDA_INVALID_IMAGE
                   : assemble_in(o, function);
    if (code)
        drop(o);
    else
        *out = o;
    return code;
}

static int load(const char *function, const void *image, object_kind kind, unsigned count, const unsigned *options,
                void **values, object **out)
{
    if (!image)
        return LD_CUDA_INVALID_VALUE;
    bc_text text;
    bc_text_init(&text, NULL);
    int code = load_text(function, text_of(image, &text), kind, count, options, values, out);
    bc_text_release(&text);
    return code;
}

static const ld_record *entry_of(const object *o, const char *name)
{
    for (size_t i = 0; i < o->record_count; i++)
        if (strcmp(o->records[i].name, name) == 0)
            return &o->records[i];
    return NULL;
}

static int get_entry(const char *function, object *owner, object_kind kind, const char *name, void **out)
{
    if (!owner)
        return LD_CUDA_INVALID_HANDLE;
    int code = assemble_in(owner, function);
    if (code)
        return code;
    const ld_record *record = name ? entry_of(owner, name) : NULL;
    if (!record)
        return LD_CUDA_NOT_FOUND;
    for (object *o = objects; o; o = o->next)
        if (o->owner == owner && o->kind == kind && o->record == record) {
            *out = o;
            return 0;
        }
    object *made = make(kind, owner);
    made->record = record;
    *out = made;
    return 0;
}

/* A variable of the code, as memory of its own: the simulator has another for each launch. */
static int get_global(object *owner, const char *name, unsigned long long *address, size_t *size)
{
    char words[256];
    snprintf(words, sizeof words, " %s[", name);
    const char *at = owner ? strstr(owner->ptx, words) : NULL;
    if (!at)
        return owner ? LD_CUDA_NOT_FOUND : LD_CUDA_INVALID_HANDLE;
    object *o = make(MEMORY, owner);
    o->size = (size_t)strtoul(at + strlen(words), NULL, 10);
    o->memory = calloc(1, o->size);
    if (!o->memory)
        abort();
    *address = (uintptr_t)o->memory;
    *size = o->size;
    return 0;
}

/* As many of the kernels as there is room for. */
static int list_entries(const char *function, object *owner, object_kind kind, unsigned count, void **out)
{
    int code = owner ? 0 : LD_CUDA_INVALID_HANDLE;
    for (size_t i = 0; !code && i < count && i < owner->record_count; i++)
        code = get_entry(function, owner, kind, owner->records[i].name, &out[i]);
    return code;
}

/* ---- the driver's functions ---- */

tvResult cuDriverGetVersion(int *out);
tvResult cuDriverGetVersion(int *out)
{
    ENTER("cuDriverGetVersion");
    *out = version;
    return leave(0);
}

#define CUDA(name, symbol, since, parameters) tvResult symbol parameters;
#include "loader/cuda_api.def"
#define CUDA(name, symbol, since, parameters) tvResult symbol parameters;
#include "tests/fakecuda/more_api.def"

typedef void any_fn(void);

tvResult cuGetProcAddress_v2(const char *name, void **out, int wanted, unsigned long long flags, unsigned *status)
{
    static const struct {
        const char *name;
        int since;
        any_fn *function;
    } table[] = {
#define CUDA(name, symbol, since, parameters) {#name, since, (any_fn *)symbol},
#include "loader/cuda_api.def"
#define CUDA(name, symbol, since, parameters) {#name, since, (any_fn *)symbol},
#include "tests/fakecuda/more_api.def"
    };
    ENTER("cuGetProcAddress");
    *out = NULL;
    char threaded[64];
    snprintf(threaded, sizeof threaded, "%s_ptsz", name);
    for (unsigned pass = 0; !*out && pass < 2; pass++) {
        if (pass == 0 && !(flags & 2))
            continue;
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
            if (strcmp(table[i].name, pass == 0 ? threaded : name) == 0 && table[i].since <= wanted
                && table[i].since <= version)
                memcpy(out, &table[i].function, sizeof *out);
    }
    if (status)
        *status = *out ? 0 : 1;
    return leave(*out ? 0 : LD_CUDA_NOT_FOUND);
}

tvResult cuInit(unsigned flags)
{
    ENTER("cuInit");
    return leave(flags ? LD_CUDA_INVALID_VALUE : device_count ? 0 : LD_CUDA_NO_DEVICE);
}

tvResult cuDeviceGetCount(int *count)
{
    ENTER("cuDeviceGetCount");
    *count = device_count;
    return leave(0);
}

tvResult cuDeviceGet(int *device, int ordinal)
{
    ENTER("cuDeviceGet");
    *device = ordinal;
    return leave(ordinal < 0 || ordinal >= device_count ? LD_CUDA_INVALID_DEVICE : 0);
}

tvResult cuDeviceGetAttribute(int *value, unsigned attribute, int device)
{
    ENTER("cuDeviceGetAttribute");
    if (device < 0 || device >= device_count)
        return leave(LD_CUDA_INVALID_DEVICE);
    switch (attribute) {
    case LD_ATTRIBUTE_CAPABILITY_MAJOR: *value = capabilities[device] / 10; break;
    case LD_ATTRIBUTE_CAPABILITY_MINOR: *value = capabilities[device] % 10; break;
    case LD_ATTRIBUTE_CLOCK_KHZ: *value = 1980000; break;
    case LD_ATTRIBUTE_MULTIPROCESSORS: *value = 132; break;
    case LD_ATTRIBUTE_MEMORY_CLOCK_KHZ: *value = 2619000; break;
    case LD_ATTRIBUTE_MEMORY_BUS_BITS: *value = 5120; break;
    case LD_ATTRIBUTE_L2_BYTES: *value = 50 << 20; break;
    default: return leave(LD_CUDA_INVALID_VALUE);
    }
    return leave(0);
}

tvResult cuDeviceGetName(char *name, int size, int device)
{
    ENTER("cuDeviceGetName");
    if (device < 0 || device >= device_count || size <= 0)
        return leave(LD_CUDA_INVALID_VALUE);
    snprintf(name, (size_t)size, "No GPU %d", device);
    return leave(0);
}

tvResult cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
    ENTER("cuDevicePrimaryCtxRetain");
    if (device < 0 || device >= device_count)
        return leave(LD_CUDA_INVALID_DEVICE);
    retained++;
    *context = (struct CUctx_st *)((uintptr_t)contexts + (uintptr_t)device + 1);
    return leave(0);
}

tvResult cuDevicePrimaryCtxRelease_v2(int device)
{
    ENTER("cuDevicePrimaryCtxRelease");
    if (device < 0 || device >= device_count || !retained)
        return leave(LD_CUDA_INVALID_CONTEXT);
    retained--;
    return leave(0);
}

tvResult cuCtxGetCurrent(struct CUctx_st **context)
{
    ENTER("cuCtxGetCurrent");
    *context = current < 0 ? NULL : (struct CUctx_st *)((uintptr_t)contexts + (uintptr_t)current + 1);
    return leave(0);
}

tvResult cuCtxGetId(struct CUctx_st *context, unsigned long long *id)
{
    ENTER("cuCtxGetId");
    *id = context ? (unsigned long long)((uintptr_t)context - (uintptr_t)contexts) : (unsigned long long)(current + 1);
    return leave(*id ? 0 : LD_CUDA_INVALID_CONTEXT);
}

tvResult cuCtxGetDevice(int *device)
{
    ENTER("cuCtxGetDevice");
    *device = current;
    return leave(current < 0 ? LD_CUDA_INVALID_CONTEXT : 0);
}

tvResult cuCtxPushCurrent_v2(struct CUctx_st *context)
{
    ENTER("cuCtxPushCurrent");
    if (depth < TV_COUNT(below))
        below[depth] = current;
    depth++;
    current = (int)((uintptr_t)context - (uintptr_t)contexts) - 1;
    return leave(current < 0 || current >= device_count ? LD_CUDA_INVALID_CONTEXT : 0);
}

tvResult cuCtxPopCurrent_v2(struct CUctx_st **context)
{
    ENTER("cuCtxPopCurrent");
    if (current < 0)
        return leave(LD_CUDA_INVALID_CONTEXT);
    if (context)
        *context = (struct CUctx_st *)((uintptr_t)contexts + (uintptr_t)current + 1);
    depth--;
    current = depth < TV_COUNT(below) ? below[depth] : -1;
    return leave(0);
}

/* ---- memory and events ---- */

static size_t memory_limit(void)
{
    const char *text = getenv("FAKECUDA_MEMORY");
    return text ? (size_t)strtoull(text, NULL, 10) : (size_t)1 << 30;
}

static size_t memory_used(void)
{
    size_t used = 0;
    for (object *o = objects; o; o = o->next)
        used += o->kind == MEMORY ? o->size : 0;
    return used;
}

/* The piece that holds size bytes from the address on. */
static object *memory_at(unsigned long long address, size_t size)
{
    for (object *o = objects; o; o = o->next)
        if (o->kind == MEMORY && address >= (uintptr_t)o->memory && address - (uintptr_t)o->memory <= o->size
            && size <= o->size - (address - (uintptr_t)o->memory))
            return o;
    return NULL;
}

tvResult cuMemGetInfo_v2(size_t *available, size_t *total)
{
    ENTER("cuMemGetInfo");
    *total = memory_limit();
    *available = *total - memory_used();
    return leave(current < 0 ? LD_CUDA_INVALID_CONTEXT : 0);
}

tvResult cuMemAlloc_v2(unsigned long long *address, size_t size)
{
    enum { ALIGNMENT = 256 };
    ENTER("cuMemAlloc");
    if (current < 0 || !size)
        return leave(current < 0 ? LD_CUDA_INVALID_CONTEXT : LD_CUDA_INVALID_VALUE);
    if (size > memory_limit() - memory_used())
        return leave(LD_CUDA_OUT_OF_MEMORY);
    object *o = make(MEMORY, NULL);
    o->size = size;
    o->memory = aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!o->memory)
        abort();
    memset(o->memory, 0xee, size);
    *address = (uintptr_t)o->memory;
    return leave(0);
}

tvResult cuMemFree_v2(unsigned long long address)
{
    ENTER("cuMemFree");
    object *o = memory_at(address, 0);
    if (!o || (uintptr_t)o->memory != address)
        return leave(LD_CUDA_INVALID_VALUE);
    drop(o);
    return leave(0);
}

tvResult cuMemsetD8_v2(unsigned long long address, unsigned char value, size_t size)
{
    ENTER("cuMemsetD8");
    object *o = memory_at(address, size);
    if (o)
        memset(o->memory + (address - (uintptr_t)o->memory), value, size);
    return leave(o ? 0 : LD_CUDA_INVALID_VALUE);
}

tvResult cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t size)
{
    ENTER("cuMemcpyHtoD");
    object *o = memory_at(to, size);
    if (o)
        memcpy(o->memory + (to - (uintptr_t)o->memory), from, size);
    return leave(o ? 0 : LD_CUDA_INVALID_VALUE);
}

tvResult cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size)
{
    ENTER("cuMemcpyDtoH");
    object *o = memory_at(from, size);
    if (o)
        memcpy(to, o->memory + (from - (uintptr_t)o->memory), size);
    return leave(o ? 0 : LD_CUDA_INVALID_VALUE);
}

tvResult cuCtxSynchronize(void)
{
    ENTER("cuCtxSynchronize");
    return leave(current < 0 ? LD_CUDA_INVALID_CONTEXT : 0);
}

tvResult cuEventCreate(struct CUevent_st **event, unsigned flags)
{
    (void)flags;
    ENTER("cuEventCreate");
    *event = (struct CUevent_st *)make(EVENT, NULL);
    return leave(0);
}

tvResult cuCtxSetCurrent(struct CUctx_st *context)
{
    ENTER("cuCtxSetCurrent");
    current = context ? (int)((uintptr_t)context - (uintptr_t)contexts) - 1 : -1;
    return leave(current >= device_count ? LD_CUDA_INVALID_CONTEXT : 0);
}

tvResult cuDevicePrimaryCtxReset_v2(int device)
{
    ENTER("cuDevicePrimaryCtxReset");
    return leave(device < 0 || device >= device_count ? LD_CUDA_INVALID_DEVICE : 0);
}

tvResult cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t size, struct CUstream_st *stream)
{
    (void)stream;
    ENTER("cuMemcpyDtoDAsync");
    object *target = memory_at(to, size), *source = memory_at(from, size);
    if (target && source)
        memmove(target->memory + (to - (uintptr_t)target->memory), source->memory + (from - (uintptr_t)source->memory),
                size);
    return leave(target && source ? 0 : LD_CUDA_INVALID_VALUE);
}

tvResult cuMemsetD32Async(unsigned long long address, unsigned value, size_t count, struct CUstream_st *stream)
{
    (void)stream;
    ENTER("cuMemsetD32Async");
    object *o = count <= SIZE_MAX / sizeof value ? memory_at(address, count * sizeof value) : NULL;
    for (size_t i = 0; o && i < count; i++)
        memcpy(o->memory + (address - (uintptr_t)o->memory) + i * sizeof value, &value, sizeof value);
    return leave(o ? 0 : LD_CUDA_INVALID_VALUE);
}

/* Device and host have the same addresses. */
tvResult cuMemHostRegister_v2(void *memory, size_t size, unsigned flags)
{
    (void)flags;
    ENTER("cuMemHostRegister");
    if (!memory || !size)
        return leave(LD_CUDA_INVALID_VALUE);
    object *o = make(MEMORY, NULL);
    o->size = size;
    o->memory = memory;
    return leave(0);
}

tvResult cuMemHostUnregister(void *memory)
{
    ENTER("cuMemHostUnregister");
    object *o = memory_at((uintptr_t)memory, 0);
    if (!o || (void *)o->memory != memory)
        return leave(LD_CUDA_INVALID_VALUE);
    o->memory = NULL; /* the caller's */
    drop(o);
    return leave(0);
}

tvResult cuMemHostGetDevicePointer_v2(unsigned long long *address, void *memory, unsigned flags)
{
    (void)flags;
    ENTER("cuMemHostGetDevicePointer");
    *address = (uintptr_t)memory;
    return leave(memory_at((uintptr_t)memory, 0) ? 0 : LD_CUDA_INVALID_VALUE);
}

tvResult cuEventSynchronize(struct CUevent_st *event)
{
    ENTER("cuEventSynchronize");
    return leave(find(event, EVENT) ? 0 : LD_CUDA_INVALID_HANDLE);
}

tvResult cuGetErrorString(tvResult code, const char **text)
{
    ENTER("cuGetErrorString");
    *text = code ? "an error of the driver for tests" : "no error";
    return leave(0);
}

tvResult cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream)
{
    (void)stream;
    ENTER("cuEventRecord");
    object *o = find(event, EVENT);
    if (o)
        o->at_us = clock_us;
    return leave(o ? 0 : LD_CUDA_INVALID_HANDLE);
}

tvResult cuEventElapsedTime(float *ms, struct CUevent_st *start, struct CUevent_st *end)
{
    ENTER("cuEventElapsedTime");
    const object *from = find(start, EVENT), *to = find(end, EVENT);
    if (from && to)
        *ms = (float)((to->at_us - from->at_us) * 1e-3);
    return leave(from && to ? 0 : LD_CUDA_INVALID_HANDLE);
}

/* The end of a function that destroys an object. */
static tvResult destroy(const void *handle, object_kind kind)
{
    object *o = find(handle, kind);
    if (o)
        drop(o);
    return leave(o ? 0 : LD_CUDA_INVALID_HANDLE);
}

tvResult cuEventDestroy_v2(struct CUevent_st *event)
{
    ENTER("cuEventDestroy");
    return destroy(event, EVENT);
}

/* ---- linking ---- */

tvResult cuLinkCreate_v2(unsigned count, unsigned *options, void **values, struct CUlinkState_st **state)
{
    ENTER("cuLinkCreate");
    if (current < 0)
        return leave(LD_CUDA_INVALID_CONTEXT);
    object *o = make(LINK, NULL);
    if (!take_options(o, "cuLinkCreate", count, options, values)) {
        drop(o);
        return leave(LD_CUDA_INVALID_VALUE);
    }
    *state = (struct CUlinkState_st *)o;
    return leave(0);
}

tvResult cuLinkAddData_v2(struct CUlinkState_st *state, unsigned type, void *data, size_t size, const char *name,
                          unsigned count, unsigned *options, void **values)
{
    (void)name;
    (void)options;
    (void)values;
    ENTER("cuLinkAddData");
    object *o = find(state, LINK);
    const char *text = data;
    if (!o || type != LD_JIT_INPUT_PTX || count || !size || text[size - 1] != 0)
        return leave(LD_CUDA_INVALID_VALUE);
    free(o->ptx);
    o->ptx = strdup(text);
    return leave(assemble(o));
}

tvResult cuLinkComplete(struct CUlinkState_st *state, void **cubin, size_t *size)
{
    ENTER("cuLinkComplete");
    object *o = find(state, LINK);
    if (!o || !o->ptx)
        return leave(LD_CUDA_INVALID_VALUE);
    const char *shared = strstr(o->ptx, "tv_scratch[");
    if (o->target < ACCELERATED && shared && strtoul(shared + strlen("tv_scratch["), NULL, 10) > MOST_LINKED_SHARED) {
        say(o, "%s", "error : Entry function uses too much shared data");
        return leave(LD_CUDA_INVALID_PTX);
    }
    size_t len = strlen(CUBIN_MARK) + strlen(o->ptx) + 1;
    o->cubin = malloc(len);
    if (!o->cubin)
        abort();
    snprintf(o->cubin, len, "%s%s", CUBIN_MARK, o->ptx);
    *cubin = o->cubin;
    *size = len;
    link_count++;
    return leave(0);
}

tvResult cuLinkDestroy(struct CUlinkState_st *state)
{
    ENTER("cuLinkDestroy");
    object *o = find(state, LINK);
    if (o)
        drop(o);
    return leave(o ? 0 : LD_CUDA_INVALID_HANDLE);
}

/* ---- modules and libraries ---- */

static tvResult load_module(const char *function, struct CUmod_st **module, const void *image, unsigned count,
                            const unsigned *options, void **values)
{
    object *o;
    int code = !module       ? LD_CUDA_INVALID_VALUE
               : current < 0 ? LD_CUDA_INVALID_CONTEXT
                             : load(function, image, MODULE, count, options, values, &o);
    if (!code)
        *module = (struct CUmod_st *)o;
    return leave(code);
}

/* What is in a small file, until the next call; NULL: there is none. */
static const char *read_text(const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

tvResult cuModuleLoad(struct CUmod_st **module, const char *path)
{
    ENTER("cuModuleLoad");
    const char *text = read_text(path);
    return text ? load_module("cuModuleLoad", module, text, 0, NULL, NULL) : leave(LD_CUDA_FILE_NOT_FOUND);
}

tvResult cuModuleLoadData(struct CUmod_st **module, const void *image)
{
    ENTER("cuModuleLoadData");
    return load_module("cuModuleLoadData", module, image, 0, NULL, NULL);
}

tvResult cuModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned count, unsigned *options,
                            void **values)
{
    ENTER("cuModuleLoadDataEx");
    return load_module("cuModuleLoadDataEx", module, image, count, options, values);
}

tvResult cuModuleLoadFatBinary(struct CUmod_st **module, const void *image)
{
    ENTER("cuModuleLoadFatBinary");
    return load_module("cuModuleLoadFatBinary", module, image, 0, NULL, NULL);
}

static tvResult unload(const void *handle, object_kind kind)
{
    object *o = find(handle, kind);
    if (o)
        drop(o);
    return leave(o ? 0 : LD_CUDA_INVALID_HANDLE);
}

tvResult cuModuleUnload(struct CUmod_st *module)
{
    ENTER("cuModuleUnload");
    return unload(module, MODULE);
}

tvResult cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
    ENTER("cuModuleGetFunction");
    object *owner = find(module, MODULE);
    return leave(
        get_entry("cuModuleGetFunction", owner ? owner : find(module, LIBRARY), FUNCTION, name, (void **)function));
}

tvResult cuModuleGetGlobal_v2(unsigned long long *address, size_t *size, struct CUmod_st *module, const char *name)
{
    ENTER("cuModuleGetGlobal");
    return leave(get_global(find(module, MODULE), name, address, size));
}

tvResult cuModuleGetFunctionCount(unsigned *count, struct CUmod_st *module)
{
    ENTER("cuModuleGetFunctionCount");
    object *o = find(module, MODULE);
    *count = o ? (unsigned)o->record_count : 0;
    return leave(o ? 0 : LD_CUDA_INVALID_HANDLE);
}

tvResult cuModuleEnumerateFunctions(struct CUfunc_st **functions, unsigned count, struct CUmod_st *module)
{
    ENTER("cuModuleEnumerateFunctions");
    return leave(list_entries("cuModuleEnumerateFunctions", find(module, MODULE), FUNCTION, count, (void **)functions));
}

tvResult cuFuncGetName(const char **name, struct CUfunc_st *function)
{
    ENTER("cuFuncGetName");
    object *o = find(function, FUNCTION);
    *name = o ? o->record->name : NULL;
    return leave(o ? 0 : LD_CUDA_INVALID_HANDLE);
}

tvResult cuFuncSetAttribute(struct CUfunc_st *function, unsigned attribute, int value)
{
    ENTER("cuFuncSetAttribute");
    return leave(find(function, FUNCTION) && attribute == LD_FUNCTION_MAX_DYNAMIC_SHARED && value <= 227 << 10
                     ? 0
                     : LD_CUDA_INVALID_VALUE);
}

tvResult cuLibraryLoadData(struct CUlib_st **library, const void *code, unsigned *jit_options, void **jit_values,
                           unsigned jit_count, unsigned *options, void **values, unsigned count)
{
    (void)options;
    (void)values;
    (void)count;
    ENTER("cuLibraryLoadData");
    object *o;
    int failed = load("cuLibraryLoadData", code, LIBRARY, jit_count, jit_options, jit_values, &o);
    if (!failed)
        *library = (struct CUlib_st *)o;
    return leave(failed);
}

tvResult cuLibraryLoadFromFile(struct CUlib_st **library, const char *path, unsigned *jit_options, void **jit_values,
                               unsigned jit_count, unsigned *options, void **values, unsigned count)
{
    (void)options;
    (void)values;
    (void)count;
    ENTER("cuLibraryLoadFromFile");
    object *o;
    const char *text = read_text(path);
    int failed = text ? load("cuLibraryLoadFromFile", text, LIBRARY, jit_count, jit_options, jit_values, &o)
                      : LD_CUDA_FILE_NOT_FOUND;
    if (!failed)
        *library = (struct CUlib_st *)o;
    return leave(failed);
}

tvResult cuLibraryUnload(struct CUlib_st *library)
{
    ENTER("cuLibraryUnload");
    return unload(library, LIBRARY);
}

tvResult cuLibraryGetKernel(struct CUkern_st **kernel, struct CUlib_st *library, const char *name)
{
    ENTER("cuLibraryGetKernel");
    return leave(get_entry("cuLibraryGetKernel", find(library, LIBRARY), KERNEL, name, (void **)kernel));
}

tvResult cuLibraryGetKernelCount(unsigned *count, struct CUlib_st *library)
{
    ENTER("cuLibraryGetKernelCount");
    object *o = find(library, LIBRARY);
    *count = o ? (unsigned)o->record_count : 0;
    return leave(o ? 0 : LD_CUDA_INVALID_HANDLE);
}

tvResult cuLibraryEnumerateKernels(struct CUkern_st **kernels, unsigned count, struct CUlib_st *library)
{
    ENTER("cuLibraryEnumerateKernels");
    return leave(list_entries("cuLibraryEnumerateKernels", find(library, LIBRARY), KERNEL, count, (void **)kernels));
}

tvResult cuLibraryGetGlobal(unsigned long long *address, size_t *size, struct CUlib_st *library, const char *name)
{
    ENTER("cuLibraryGetGlobal");
    return leave(get_global(find(library, LIBRARY), name, address, size));
}

tvResult cuKernelGetName(const char **name, struct CUkern_st *kernel)
{
    ENTER("cuKernelGetName");
    object *o = find(kernel, KERNEL);
    *name = o ? o->record->name : NULL;
    return leave(o ? 0 : LD_CUDA_INVALID_HANDLE);
}

tvResult cuKernelGetLibrary(struct CUlib_st **library, struct CUkern_st *kernel)
{
    ENTER("cuKernelGetLibrary");
    object *o = find(kernel, KERNEL);
    *library = (struct CUlib_st *)(o ? o->owner : NULL);
    return leave(o ? 0 : LD_CUDA_INVALID_HANDLE);
}

/* The number behind the first WORD of "WORD:NUMBER[,WORD:NUMBER...]" in a variable that the PTX has. */
static double number_for(const object *o, const char *variable, double otherwise)
{
    char word[64];
    for (const char *list = getenv(variable); list && *list; list = strchr(list, ',')) {
        double number = 0;
        list += *list == ',';
        if (sscanf(list, "%63[^:,]:%lf", word, &number) == 2 && strstr(o->owner->ptx, word))
            return number;
    }
    return otherwise;
}

/* How many threads a block may have; what a thread takes. */
static int get_attribute(const object *o, int *value, unsigned attribute)
{
    if (!o)
        return LD_CUDA_INVALID_HANDLE;
    const uint32_t *block = o->record->block;
    switch (attribute) {
    case 0: *value = block[0] ? (int)(block[0] * block[1] * block[2]) : 1024; return 0;
    case LD_FUNCTION_SHARED: *value = 0; return 0;
    case LD_FUNCTION_REGISTERS: *value = 64; return 0;
    case LD_FUNCTION_LOCAL: *value = (int)number_for(o, "FAKECUDA_LOCAL", 0); return 0;
    default: return LD_CUDA_INVALID_VALUE;
    }
}

tvResult cuKernelGetAttribute(int *value, unsigned attribute, struct CUkern_st *kernel, int device)
{
    ENTER("cuKernelGetAttribute");
    return leave(device < device_count ? get_attribute(find(kernel, KERNEL), value, attribute)
                                       : LD_CUDA_INVALID_DEVICE);
}

tvResult cuFuncGetAttribute(int *value, unsigned attribute, struct CUfunc_st *function)
{
    ENTER("cuFuncGetAttribute");
    return leave(get_attribute(find(function, FUNCTION), value, attribute));
}

/* The module of a library is the library under another type. */
tvResult cuLibraryGetModule(struct CUmod_st **module, struct CUlib_st *library)
{
    ENTER("cuLibraryGetModule");
    object *o = find(library, LIBRARY);
    *module = (struct CUmod_st *)o;
    return leave(o ? assemble_in(o, "cuLibraryGetModule") : LD_CUDA_INVALID_HANDLE);
}

tvResult cuKernelGetFunction(struct CUfunc_st **function, struct CUkern_st *kernel)
{
    ENTER("cuKernelGetFunction");
    object *o = find(kernel, KERNEL);
    return leave(o ? get_entry("cuKernelGetFunction", o->owner, FUNCTION, o->record->name, (void **)function)
                   : LD_CUDA_INVALID_HANDLE);
}

tvResult cuKernelSetAttribute(unsigned attribute, int value, struct CUkern_st *kernel, int device)
{
    ENTER("cuKernelSetAttribute");
    return leave(find(kernel, KERNEL) && attribute == LD_FUNCTION_MAX_DYNAMIC_SHARED && value <= 227 << 10
                         && device < device_count
                     ? 0
                     : LD_CUDA_INVALID_VALUE);
}

/* ---- launches ---- */

/* Where the n-th word of the text begins, from 1; 0: the last. NULL: nowhere. */
static const char *nth_word(const char *text, const char *word, unsigned n)
{
    const char *at = strstr(text, word), *next;
    while (at && n != 1 && (next = strstr(at + 1, word))) {
        at = next;
        n -= n > 0;
    }
    return n > 1 ? NULL : at;
}

/* Is the instruction broken in this launch? */
static bool breaks_now(void)
{
    static unsigned launches;
    const char *most = getenv("FAKECUDA_BREAK_LAUNCHES");
    return launches++ < (most ? strtoul(most, NULL, 10) : UINT_MAX);
}

/* FAKECUDA_BREAK=WORD:N:OTHER. The text with the N-th WORD made OTHER, as for a device whose WORD is broken. Owned by
   the caller. */
static char *broken(const char *ptx)
{
    const char *spec = getenv("FAKECUDA_BREAK");
    char word[64], other[64];
    unsigned nth = 0;
    char *copy = malloc(strlen(ptx) + sizeof other);
    if (!copy)
        abort();
    strcpy(copy, ptx);
    if (!breaks_now() || !spec || sscanf(spec, "%63[^:]:%u:%63s", word, &nth, other) != 3)
        return copy;
    const char *at = nth_word(ptx, word, nth);
    if (at)
        sprintf(copy + (at - ptx), "%s%s", other, at + strlen(word));
    return copy;
}

/* What a device says about the reports of a launch, from the next call on. */
static int lost_by(const ptxsim *sim)
{
    for (size_t i = 0; i < ptxsim_report_count(sim); i++)
        if (ptxsim_report_at(sim, i)->check == PTXSIM_OUT_OF_BOUNDS)
            return LD_CUDA_ILLEGAL_ADDRESS;
    return LD_CUDA_LAUNCH_FAILED;
}

/* How far a launch takes the clock of the device: a quarter of a millisecond, or what FAKECUDA_TIMES has for a word of
   its PTX; up to FAKECUDA_JITTER percent more, drawn in a fixed order. */
static void take_time(const object *o)
{
    enum { DEFAULT_US = 250 };
    static uint32_t state = 1;
    const char *jitter = getenv("FAKECUDA_JITTER");
    state = state * 1664525u + 1013904223u;
    double share = jitter ? strtod(jitter, NULL) / 100 * (state >> 8) / (1 << 24) : 0;
    clock_us += number_for(o, "FAKECUDA_TIMES", DEFAULT_US) * (1 + share);
}

/* Runs the kernel on the simulator. What goes wrong loses the context, as on a device, and is told on standard error.
 */
static int execute(const object *o, const tvLaunchConfig *c, void **params)
{
    char error[400];
    char *ptx = broken(o->owner->ptx);
    ptxsim *sim = ptxsim_load(ptx, strlen(ptx), error, sizeof error);
    free(ptx);
    if (!sim) {
        fprintf(stderr, "fakecuda: %s\n", error);
        return LD_CUDA_INVALID_IMAGE;
    }
    for (object *m = objects; m; m = m->next)
        if (m->kind == MEMORY)
            ptxsim_buffer_add_at(sim, (uintptr_t)m->memory, m->memory, m->size, "memory");
    ptxsim_launch l = {.entry = o->record->name,
                       .grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                       .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                       .dynamic_shared = c->sharedMemBytes,
                       .params = (const void *const *)params,
                       .between_clusters = true};
    if (!ptxsim_run(sim, &l)) {
        fprintf(stderr, "fakecuda: %s", ptxsim_report_text(sim));
        lost = lost_by(sim);
    }
    fputs(ptxsim_output(sim), stdout);
    fflush(stdout);
    ptxsim_free(sim);
    return 0;
}

/* With FAKECUDA_TILES, blocks of one thread stand for those that the kernel requires, as the driver has it for kernels
   that NVIDIA's compiler made of tiles. */
static tvLaunchConfig with_threads(const tvLaunchConfig *c, const ld_record *r)
{
    tvLaunchConfig all = *c;
    if (getenv("FAKECUDA_TILES") && r->block[0] && c->blockDimX == 1 && c->blockDimY == 1 && c->blockDimZ == 1) {
        all.blockDimX = r->block[0];
        all.blockDimY = r->block[1];
        all.blockDimZ = r->block[2];
    }
    return all;
}

/* A captured launch takes its time whenever the graph is launched; nothing executes it. */
static void capture(object *stream, object *function)
{
    object **launches = realloc(stream->launches, (stream->launch_count + 1) * sizeof(object *));
    if (!launches)
        abort();
    launches[stream->launch_count++] = function;
    stream->launches = launches;
}

static tvResult launch(struct CUfunc_st *f, const tvLaunchConfig *given, const char *how, void **params, void **extra)
{
    object *o = find(f, FUNCTION), *stream = find(given->hStream, STREAM);
    o = o ? o : find(f, KERNEL);
    if (!o)
        return leave(LD_CUDA_INVALID_HANDLE);
    const ld_record *r = o->record;
    const tvLaunchConfig all = with_threads(given, r), *c = &all;
    if (!c->gridDimX || !c->gridDimY || !c->gridDimZ || c->gridDimY > 65535 || c->gridDimZ > 65535
        || (r->block[0] && (c->blockDimX != r->block[0] || c->blockDimY != r->block[1] || c->blockDimZ != r->block[2]))
        || (!params && !extra && r->param_count))
        return leave(LD_CUDA_INVALID_VALUE);
    int code = assemble_in(o->owner, "cuLaunchKernel");
    if (code)
        return leave(code);
    if (stream && stream->capturing) {
        capture(stream, o);
        return leave(0);
    }
    take_time(o);
    unsigned long long first = 0;
    unsigned char byte;
    for (uint32_t i = 0; params && i < r->param_count; i++) { /* reads them all, as the driver does */
        memcpy(&byte, params[i], 1);
        memcpy(i == 0 ? (void *)&first : &byte, params[i], i == 0 && r->param_bytes >= 8 ? 8 : 1);
    }
    snprintf(launch_line, sizeof launch_line, "%s %s grid %u,%u,%u block %u,%u,%u shared %u first %llu", how, r->name,
             c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes, first);
    for (unsigned i = 0; i < c->numAttrs; i++) {
        size_t length = strlen(launch_line);
        snprintf(launch_line + length, sizeof launch_line - length, " attribute %u: %d", c->attrs[i].id,
                 c->attrs[i].value.number);
    }
    const char *log = getenv("FAKECUDA_LOG");
    FILE *file = log ? fopen(log, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", launch_line);
        fclose(file);
    }
    return leave(getenv("FAKECUDA_RUN") ? execute(o, c, params) : 0);
}

#define LAUNCH(symbol)                                                                                        \
    tvResult symbol(struct CUfunc_st *f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
                    unsigned block_y, unsigned block_z, unsigned shared_bytes, struct CUstream_st *stream,    \
                    void **params, void **extra)                                                              \
    {                                                                                                         \
        ENTER(#symbol);                                                                                       \
        tvLaunchConfig c = {.gridDimX = grid_x,                                                               \
                            .gridDimY = grid_y,                                                               \
                            .gridDimZ = grid_z,                                                               \
                            .blockDimX = block_x,                                                             \
                            .blockDimY = block_y,                                                             \
                            .blockDimZ = block_z,                                                             \
                            .sharedMemBytes = shared_bytes,                                                   \
                            .hStream = stream};                                                               \
        return launch(f, &c, #symbol, params, extra);                                                         \
    }
#define LAUNCH_EX(symbol)                                                                           \
    tvResult symbol(const tvLaunchConfig *config, struct CUfunc_st *f, void **params, void **extra) \
    {                                                                                               \
        ENTER(#symbol);                                                                             \
        return launch(f, config, #symbol, params, extra);                                           \
    }

LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)
LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)

/* ---- streams and graphs ---- */

tvResult cuStreamCreate(struct CUstream_st **stream, unsigned flags)
{
    (void)flags;
    ENTER("cuStreamCreate");
    *stream = (struct CUstream_st *)make(STREAM, NULL);
    return leave(0);
}

tvResult cuStreamDestroy_v2(struct CUstream_st *stream)
{
    ENTER("cuStreamDestroy");
    return destroy(stream, STREAM);
}

tvResult cuStreamBeginCapture_v2(struct CUstream_st *stream, unsigned mode)
{
    (void)mode;
    ENTER("cuStreamBeginCapture");
    object *o = find(stream, STREAM);
    if (!o || o->capturing)
        return leave(LD_CUDA_INVALID_HANDLE);
    o->capturing = true;
    return leave(0);
}

/* A graph that has the launches of `from`, which loses them. */
static object *make_graph(object *from)
{
    object *made = make(GRAPH, NULL);
    made->launches = from->launches;
    made->launch_count = from->launch_count;
    from->launches = NULL;
    from->launch_count = 0;
    return made;
}

tvResult cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph)
{
    ENTER("cuStreamEndCapture");
    object *o = find(stream, STREAM);
    if (!o || !o->capturing)
        return leave(LD_CUDA_INVALID_HANDLE);
    o->capturing = false;
    *graph = (struct CUgraph_st *)make_graph(o);
    return leave(0);
}

tvResult cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph, unsigned long long flags)
{
    (void)flags;
    ENTER("cuGraphInstantiateWithFlags");
    object *o = find(graph, GRAPH);
    if (!o)
        return leave(LD_CUDA_INVALID_HANDLE);
    *exec = (struct CUgraphExec_st *)make_graph(o);
    return leave(0);
}

tvResult cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
    ENTER("cuGraphLaunch");
    object *o = find(exec, GRAPH);
    if (!o || !find(stream, STREAM))
        return leave(LD_CUDA_INVALID_HANDLE);
    for (size_t i = 0; i < o->launch_count; i++)
        take_time(o->launches[i]);
    return leave(0);
}

tvResult cuGraphExecDestroy(struct CUgraphExec_st *exec)
{
    ENTER("cuGraphExecDestroy");
    return destroy(exec, GRAPH);
}

tvResult cuGraphDestroy(struct CUgraph_st *graph)
{
    ENTER("cuGraphDestroy");
    return destroy(graph, GRAPH);
}

/* ---- control ---- */

static void fail_call(unsigned nth, int code)
{
    pthread_mutex_lock(&lock);
    fail_at = nth;
    fail_code = code;
    call_count = 0;
    failed_name = NULL;
    pthread_mutex_unlock(&lock);
}

static unsigned calls(void)
{
    return call_count;
}

static const char *failed(void)
{
    return failed_name;
}

static size_t live(void)
{
    pthread_mutex_lock(&lock);
    size_t count = count_live();
    pthread_mutex_unlock(&lock);
    return count;
}

static void lose_context(int code)
{
    pthread_mutex_lock(&lock);
    lost = code;
    pthread_mutex_unlock(&lock);
}

static unsigned links(void)
{
    return link_count;
}

static const char *last_launch(void)
{
    return launch_line;
}

static const char *last_options(void)
{
    return options_line;
}

const fake_control *fake_cuda(void);
const fake_control *fake_cuda(void)
{
    static const fake_control control = {fail_call,    calls, failed,      live,
                                         lose_context, links, last_launch, last_options};
    return &control;
}
