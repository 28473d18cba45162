/* Images by key: recently used ones stay in memory, the rest is on disk. */
#include "loader/image.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loader/cache.h"
#include "loader/jit.h"
#include "loader/message.h"

/* ---- bytecode ---- */

static const unsigned char magic[8] = {0x7f, 'T', 'i', 'l', 'e', 'I', 'R', 0};

bool ld_is_bytecode(const void *bytes)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < sizeof magic; i++) /* stops at the first difference: a string may be shorter */
        if (p[i] != magic[i])
            return false;
    return true;
}

/* ---- making ---- */

/* Diagnostics of reader, verifier and code generator, as one message. */
typedef struct findings {
    bc_text text;
    unsigned count;
} findings;

static void take_diag(void *user, const tv_diag *diag)
{
    findings *f = user;
    if (diag->severity != TV_ERROR || f->count++ >= 5)
        return;
    bc_text_printf(&f->text, "\n   error[%s]: %.*s", diag->rule, (int)diag->message.len, diag->message.ptr);
    if (diag->function.len)
        bc_text_printf(&f->text, "\n      in @%.*s%s%.*s", (int)diag->function.len, diag->function.ptr,
                       diag->op_text.len ? ": " : "", (int)diag->op_text.len, diag->op_text.ptr);
    if (diag->line)
        bc_text_printf(&f->text, "\n      at %.*s:%u:%u", (int)diag->file.len, diag->file.ptr, (unsigned)diag->line,
                       (unsigned)diag->column);
    if (diag->help.len)
        bc_text_printf(&f->text, "\n      help: %.*s", (int)diag->help.len, diag->help.ptr);
}

static bool append(void *user, const void *bytes, size_t size)
{
    bc_text *text = user;
    bc_text_bytes(text, bytes, size);
    return !text->failed;
}

static tvResult code_of(tv_status status)
{
    switch (status) {
    case TV_OK: return LD_CUDA_SUCCESS;
    case TV_UNSUPPORTED: return LD_CUDA_NO_BINARY_FOR_GPU;
    case TV_NO_MEMORY:
    case TV_IO: return LD_CUDA_OUT_OF_MEMORY; /* the writer is memory */
    case TV_INVALID:
    case TV_USAGE:
    case TV_TRAP: break;
    }
    return LD_CUDA_INVALID_IMAGE;
}

tv_compile_options ld_compile_options(const ld_want *want, unsigned ptx_version)
{
    return (tv_compile_options){.target = tv_target_for(want->target, !want->portable, ptx_version),
                                .opt_level = TV_OPT_LEVEL(want->opt_level),
                                .line_info = want->line_info,
                                .ptx_version = ptx_version};
}

/* Bytecode to PTX. */
static tvResult compile(tv_str bytecode, const ld_want *want, int driver_version, bc_text *ptx)
{
    findings found = {0};
    bc_text_init(&found.text, NULL);
    tv_sink sink = {.user = &found, .report = take_diag};
    tv_compile_options options = ld_compile_options(want, ld_ptx_version(driver_version));
    tv_module *module = NULL;
    tv_status status = tv_module_open(bytecode.ptr, bytecode.len, NULL, sink, &module);
    ld_rule rule = LD_RULE_L_IMG_01;
    const char *what = "the bytecode is damaged or of a version that is not known";
    if (status == TV_OK) {
        what = "the bytecode is not valid";
        status = tv_module_verify(module, &(tv_verify_options){.max_errors = 5}, sink);
    }
    if (status == TV_OK) {
        rule = LD_RULE_L_IMG_02;
        what = "the bytecode cannot be compiled";
        status = tv_compile_ptx(module, &options, sink, (tv_writer){.user = ptx, .write = append});
    }
    tv_module_close(module);
    tvResult code = code_of(status);
    if (code == LD_CUDA_OUT_OF_MEMORY)
        ld_no_memory();
    else if (code != LD_CUDA_SUCCESS)
        ld_fail(rule, code, "%s for sm_%u%s", what, want->target, found.text.ptr ? found.text.ptr : "");
    bc_text_release(&found.text);
    return code;
}

static ld_image *new_image(void)
{
    ld_image *image = calloc(1, sizeof *image);
    if (image) {
        atomic_init(&image->users, 1);
        bc_arena_init(&image->arena, NULL, 0);
    }
    return image;
}

void ld_image_release(ld_image *image)
{
    if (image && atomic_fetch_sub(&image->users, 1) == 1) {
        bc_arena_release(&image->arena);
        free(image);
    }
}

double ld_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

const char *ld_image_name(const ld_image *image)
{
    return image->record_count ? image->records[0].name : "a module without kernels";
}

ld_form ld_image_form(const ld_image *image)
{
    static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'};
    return image->size >= sizeof elf && memcmp(image->bytes, elf, sizeof elf) == 0 ? LD_CUBIN : LD_PTX;
}

const char *ld_form_name(ld_form form)
{
    return form == LD_CUBIN ? "a cubin" : "PTX";
}

/* Why the image has its form. */
static const char *why_of(const ld_image *image, const ld_want *want)
{
    return ld_image_form(image) == want->form ? want->why
                                              : "it needs more shared memory than the linker of the driver allows";
}

static tvResult keep_ptx(tv_str ptx, ld_image *image)
{
    tv_str copy = bc_arena_dup(&image->arena, ptx);
    image->bytes = (const unsigned char *)copy.ptr;
    image->size = ptx.len;
    return copy.ptr ? LD_CUDA_SUCCESS : ld_no_memory();
}

/* Converts PTX to the wanted form. But for targets of one architecture alone the driver's linker gives kernels 48 KiB
   of static shared memory (seen on driver 580) where its loader gives them all that the device has: such a kernel stays
   PTX. */
static tvResult finish(const ld_driver *driver, tv_str ptx, const ld_want *want, ld_image *image)
{
    ld_record *records = NULL;
    if (!ld_records_from_ptx(&image->arena, ptx, &records, &image->record_count))
        return image->arena.failed ? ld_no_memory()
                                   : ld_fail(LD_RULE_L_JIT_01, LD_CUDA_INVALID_PTX,
                                             "the entries of the compiled kernel cannot be read");
    image->records = records;
    if (want->form == LD_PTX)
        return keep_ptx(ptx, image);
    bc_text words;
    bc_text_init(&words, NULL);
    ld_want here = *want;
    here.target = 0; /* the device of the context, with all it has */
    tvResult code = ld_link(driver, ptx, &here, &image->arena, &words, &image->bytes, &image->size);
    if (code != LD_CUDA_SUCCESS && words.ptr && strstr(words.ptr, "too much shared data"))
        code = keep_ptx(ptx, image);
    else if (code != LD_CUDA_SUCCESS)
        ld_jit_fail(code, &words);
    bc_text_release(&words);
    return code;
}

ld_image *ld_image_new(tv_str bytes, tv_str records)
{
    ld_image *image = new_image();
    if (!image)
        return NULL;
    ld_record *list = NULL;
    tv_str copy = bc_arena_dup(&image->arena, bytes);
    if (!copy.ptr || !ld_records_parse(&image->arena, records, &list, &image->record_count)) {
        ld_image_release(image);
        return NULL;
    }
    image->bytes = (const unsigned char *)copy.ptr;
    image->size = copy.len;
    image->records = list;
    return image;
}

ld_image *ld_image_compiled(tv_str records)
{
    ld_image *image = new_image();
    ld_record *list = NULL;
    if (!image || !ld_records_parse(&image->arena, records, &list, &image->record_count)) {
        ld_image_release(image);
        return NULL;
    }
    for (size_t i = 0; i < image->record_count; i++)
        list[i].only_block = true;
    image->bytes = (const unsigned char *)"";
    image->records = list;
    return image;
}

/* Compiles, assembles, and caches the result. */
static tvResult build_image(const ld_driver *driver, const ld_cache *cache, const ld_cache_key *key,
                            const ld_want *want, ld_image *image)
{
    bc_text ptx, records;
    bc_text_init(&ptx, NULL);
    bc_text_init(&records, NULL);
    double start = ld_now_ms(), compiled = start;
    tvResult code = compile(key->bytecode, want, driver->version, &ptx);
    if (code == LD_CUDA_SUCCESS) {
        compiled = ld_now_ms();
        code = finish(driver, bc_text_get(&ptx), want, image);
    }
    if (code == LD_CUDA_SUCCESS) {
        ld_note("%s: compiled for sm_%u in %.1f ms, made %s in %.1f ms: %s", ld_image_name(image), want->target,
                compiled - start, ld_form_name(ld_image_form(image)), ld_now_ms() - compiled, why_of(image, want));
        ld_records_print(image->records, image->record_count, &records);
        if (!records.failed)
            ld_cache_put(cache, key, bc_text_get(&records),
                         (tv_str){.ptr = (const char *)image->bytes, .len = image->size});
    }
    bc_text_release(&ptx);
    bc_text_release(&records);
    return code;
}

static tvResult make_image(const ld_driver *driver, const ld_cache_key *key, const ld_want *want, ld_image **out_image)
{
    ld_cache cache;
    ld_cache_init(&cache);
    ld_cache_entry entry;
    ld_image *image = NULL;
    if (ld_cache_get(&cache, key, &entry)) {
        image = ld_image_new(entry.image, entry.records);
        free(entry.memory);
        if (image)
            ld_note("%s: for sm_%u, %s from the cache: %s", ld_image_name(image), want->target,
                    ld_form_name(ld_image_form(image)), why_of(image, want));
    }
    tvResult code = LD_CUDA_SUCCESS;
    if (!image) {
        image = new_image();
        code = image ? build_image(driver, &cache, key, want, image) : ld_no_memory();
    }
    ld_cache_release(&cache);
    if (code != LD_CUDA_SUCCESS) {
        ld_image_release(image);
        return code;
    }
    *out_image = image;
    return LD_CUDA_SUCCESS;
}

/* ---- in memory ---- */

/* A few images, most recently used first. An image that is being made already has a place, so that other threads that
   want it wait; threads with other keys do not. */
typedef struct held_image {
    char id[LD_CACHE_ID];
    ld_image *image; /* NULL: being made */
    struct held_image *next;
} held_image;

enum { HELD_IMAGES = 64 };
#define HELD_BYTES ((size_t)64 << 20)

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t held_changed = PTHREAD_COND_INITIALIZER;
static held_image *held;

/* Unlinks and gives the place with that id. With held_lock. */
static held_image *take_place(const char *id)
{
    for (held_image **at = &held; *at; at = &(*at)->next)
        if (strcmp((*at)->id, id) == 0) {
            held_image *place = *at;
            *at = place->next;
            return place;
        }
    return NULL;
}

/* Releases images beyond the limit. With held_lock. */
static void trim_held(void)
{
    size_t count = 0, bytes = 0;
    for (held_image **at = &held; *at;) {
        held_image *place = *at;
        count++;
        bytes += place->image ? place->image->size : 0;
        if (place->image && count > 1 && (count > HELD_IMAGES || bytes > HELD_BYTES)) {
            *at = place->next;
            ld_image_release(place->image);
            free(place);
        } else {
            at = &place->next;
        }
    }
}

/* The image, with one more use; or NULL and a place in the list that the caller must fill or remove (NULL: out of
   memory). */
static ld_image *find_held(const char *id, held_image **out_place)
{
    pthread_mutex_lock(&held_lock);
    held_image *place;
    while ((place = take_place(id)) != NULL) {
        place->next = held;
        held = place;
        if (place->image)
            break;
        pthread_cond_wait(&held_changed, &held_lock);
    }
    ld_image *image = place ? place->image : NULL;
    if (image) {
        atomic_fetch_add(&image->users, 1);
    } else if ((place = calloc(1, sizeof *place)) != NULL) {
        memcpy(place->id, id, LD_CACHE_ID);
        place->next = held;
        held = place;
    }
    *out_place = place;
    pthread_mutex_unlock(&held_lock);
    return image;
}

/* Fills the place, or takes it away when image is NULL. */
static void settle_held(held_image *place, ld_image *image)
{
    pthread_mutex_lock(&held_lock);
    if (image) {
        atomic_fetch_add(&image->users, 1);
        place->image = image;
        trim_held();
    } else {
        free(take_place(place->id));
    }
    pthread_cond_broadcast(&held_changed);
    pthread_mutex_unlock(&held_lock);
}

tvResult ld_image_get(const ld_driver *driver, tv_str bytecode, const ld_want *want, ld_image **out_image)
{
    bc_text head;
    bc_text_init(&head, NULL);
    bc_text_printf(&head, "tilevm %s %s\nform %s\ntarget sm_%u%s\ndriver %d\noptions -O%u%s\n", TV_VERSION,
                   tv_build_id(), want->form == LD_CUBIN ? "cubin" : "ptx", want->target, want->portable ? "+" : "",
                   driver->version, want->opt_level, want->line_info ? " --lineinfo" : "");
    if (head.failed) {
        bc_text_release(&head);
        return ld_no_memory();
    }
    ld_cache_key key = {.head = bc_text_get(&head), .bytecode = bytecode};
    char id[LD_CACHE_ID];
    ld_cache_key_id(&key, id);
    held_image *place;
    tvResult code = LD_CUDA_SUCCESS;
    ld_image *image = find_held(id, &place);
    if (!image && place) {
        code = make_image(driver, &key, want, &image);
        settle_held(place, code == LD_CUDA_SUCCESS ? image : NULL);
    } else if (!image) {
        code = ld_no_memory();
    }
    bc_text_release(&head);
    if (code == LD_CUDA_SUCCESS)
        *out_image = image;
    return code;
}
