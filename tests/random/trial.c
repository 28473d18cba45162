#include "tests/random/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/dtype.h"
#include "bytecode/number/number.h"
#include "tests/common/gpu.h"
#include "tests/ptxsim/ptxsim.h"

enum { PAGE = 4096, SIMULATED_STEPS = 1 << 30 };

/* ---- memory ---- */

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

void *trial_alloc(size_t bytes)
{
    void *p = aligned_alloc(PAGE, whole_pages(bytes ? bytes : 1));
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    memset(p, 0, whole_pages(bytes ? bytes : 1));
    return p;
}

void trial_add_array(trial_memory *mem, bc_kind kind, size_t size, size_t start)
{
    trial_array *a = &mem->arrays[mem->count];
    *a = (trial_array){.bytes = trial_alloc(size), .size = whole_pages(size), .start = start, .kind = kind};
    mem->values[mem->count++] = (uint64_t)(uintptr_t)(a->bytes + start);
}

void trial_add_value(trial_memory *mem, uint64_t value)
{
    mem->arrays[mem->count] = (trial_array){0};
    mem->values[mem->count++] = value;
}

void trial_add_alias(trial_memory *mem, size_t param, size_t start)
{
    trial_add_value(mem, (uint64_t)(uintptr_t)(mem->arrays[param].bytes + start));
}

void trial_clone(const trial_memory *from, trial_memory *out)
{
    *out = *from;
    for (size_t i = 0; i < from->count; i++) {
        trial_array *a = &out->arrays[i];
        if (!a->bytes)
            continue;
        a->bytes = trial_alloc(a->size);
        memcpy(a->bytes, from->arrays[i].bytes, a->size);
    }
}

void trial_free(trial_memory *mem)
{
    for (size_t i = 0; i < mem->count; i++)
        free(mem->arrays[i].bytes);
}

static unsigned stored_bits(bc_kind kind)
{
    return kind == BC_I1 ? 8 : kind == BC_TF32 ? 32 : bc_kind_bits(kind);
}

enum { SMALL_NUMBERS = 23 };

/* The small numbers of a kind, then the same with a minus. */
static void small_numbers(bc_kind kind, uint64_t out[2 * SMALL_NUMBERS])
{
    for (uint64_t i = 0; i < 2 * SMALL_NUMBERS; i++) {
        uint64_t number = i < SMALL_NUMBERS ? i : SMALL_NUMBERS - i;
        bool is_float = bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
        out[i] = kind == BC_I1 ? i % SMALL_NUMBERS & 1 : is_float ? bc_int_to_float(kind, number, 64, true) : number;
    }
}

static void fill_array(const trial_array *a, uint64_t *state, bool all_small)
{
    unsigned bits = stored_bits(a->kind);
    uint64_t numbers[2 * SMALL_NUMBERS];
    small_numbers(a->kind, numbers);
    for (size_t e = 0; e < a->size * 8 / bits; e++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        uint64_t r = *state >> 33, sign = r >> 7 & 1;
        bool small = all_small || a->kind == BC_I1 || r % 8 != 0;
        uint64_t number = small ? numbers[(r >> 8) % SMALL_NUMBERS + sign * SMALL_NUMBERS] : *state ^ *state >> 29;
        bc_packed_set(a->bytes, bits, e, a->kind == BC_TF32 ? number << 13 : number);
    }
}

void trial_fill(trial_memory *mem, bool all_small)
{
    uint64_t state = 1;
    for (size_t i = 0; i < mem->count; i++)
        if (mem->arrays[i].bytes)
            fill_array(&mem->arrays[i], &state, all_small);
}

bool trial_same_element(bc_kind kind, unsigned bits, uint64_t a, uint64_t b)
{
    (void)bits;
    bc_kind as = kind == BC_TF32 ? BC_F32 : kind;
    return a == b || (bc_kinds[as].kind_class == BC_CLASS_FLOAT && bc_float_is_nan(as, a) && bc_float_is_nan(as, b));
}

static bool same_array(size_t param, const trial_array *vm, const trial_array *other, char *what, size_t size)
{
    unsigned bits = stored_bits(vm->kind);
    if (memcmp(vm->bytes, other->bytes, vm->size) == 0)
        return true;
    for (size_t e = 0; e < vm->size * 8 / bits; e++) {
        uint64_t x = bc_packed_get(vm->bytes, bits, e), y = bc_packed_get(other->bytes, bits, e);
        if (!trial_same_element(vm->kind, bits, x, y)) {
            snprintf(what, size, "parameter %zu, element %td: 0x%" PRIx64 ", in PTX 0x%" PRIx64, param,
                     (ptrdiff_t)e - (ptrdiff_t)(vm->start * 8 / bits), x, y);
            return false;
        }
    }
    return true;
}

bool trial_same_memory(const trial_memory *vm, const trial_memory *other, char *what, size_t size)
{
    for (size_t i = 0; i < vm->count; i++)
        if (vm->arrays[i].bytes && !same_array(i, &vm->arrays[i], &other->arrays[i], what, size))
            return false;
    return true;
}

/* ---- the machine ---- */

void trial_note(void *finding, const tv_diag *d)
{
    trial_finding *f = finding;
    if (d->severity == TV_NOTE || f->found)
        return;
    *f = (trial_finding){.found = true, .has_op = d->op.len > 0, .op_index = d->op_index};
    snprintf(f->text, sizeof f->text, "%s: %.*s", d->rule, (int)d->message.len, d->message.ptr);
}

void trial_note_pairs(void *pairs, const tv_remark *r)
{
    trial_pairs *found = pairs;
    bc_text message;
    bc_text_init(&message, NULL);
    bc_text_append(&message, r->message.ptr, r->message.len);
    if (strcmp(r->name, "Cluster") == 0)
        found->pair |= strstr(bc_text_words(&message), "compute a tile block as a pair") != NULL;
    if (strcmp(r->name, "MatrixProduct") == 0)
        found->issuer |= strstr(bc_text_words(&message), "; a warp of its own starts it") != NULL;
    bc_text_release(&message);
}

tv_status trial_run_machine(const tv_module *m, trial_memory *mem, trial_log log, uint64_t step_limit, uint32_t checks,
                            trial_finding *out)
{
    const tv_vm_options options = {
        .threads = 1, .step_limit = step_limit, .checks = checks, .max_findings = 1, .check_orders = 1};
    const void *params[TRIAL_PARAMS + 1];
    tv_sink sink = {out, trial_note};
    tv_vm *vm = NULL;
    *out = (trial_finding){0};
    tv_status status = tv_vm_new(m, &options, sink, &vm);
    for (size_t i = 0; i < mem->count && status == TV_OK; i++) {
        params[i] = &mem->values[i];
        if (mem->arrays[i].bytes)
            status = tv_vm_add_buffer(vm, mem->arrays[i].bytes, mem->arrays[i].size, "memory", true, sink);
    }
    params[mem->count] = &log.bytes;
    if (log.bytes && status == TV_OK)
        status = tv_vm_add_buffer(vm, log.bytes, log.size, "log", true, sink);
    if (status == TV_OK)
        status = tv_vm_run(vm, NULL, (uint32_t[]){mem->grid, 1, 1}, params, mem->count + (log.bytes != NULL), sink);
    tv_vm_free(vm);
    return status;
}

/* ---- compiled ---- */

static bool run_sim(const bc_text *text, const trial_memory *vm, const trial_memory *other, const trial_log logs[2],
                    uint64_t seed, char *what, size_t size)
{
    const void *params[TRIAL_PARAMS + 1];
    uint64_t log_at = (uint64_t)(uintptr_t)logs[0].bytes;
    ptxsim *sim = ptxsim_load(text->ptr, text->len, what, size);
    if (!sim)
        return false;
    for (size_t i = 0; i < vm->count; i++) {
        params[i] = &vm->values[i];
        if (vm->arrays[i].bytes)
            ptxsim_buffer_add_at(sim, (uint64_t)(uintptr_t)vm->arrays[i].bytes, other->arrays[i].bytes,
                                 vm->arrays[i].size, "memory");
    }
    if (logs[1].bytes)
        ptxsim_buffer_add_at(sim, log_at, logs[1].bytes, logs[1].size, "log");
    params[vm->count] = &log_at;
    const ptxsim_launch launch = {.grid = {vm->grid, 1, 1},
                                  .params = params,
                                  .seed = seed,
                                  .step_limit = SIMULATED_STEPS,
                                  .between_clusters = !logs[1].bytes};
    bool fine = ptxsim_run(sim, &launch);
    if (!fine)
        snprintf(what, size, "%s", ptxsim_report_text(sim));
    ptxsim_free(sim);
    return fine;
}

static bool launch(const bc_text *text, tv_str name, trial_memory *mem, uint64_t log_at)
{
    const void *params[TRIAL_PARAMS + 1];
    char entry[200];
    gpu_module *module = NULL;
    snprintf(entry, sizeof entry, "%.*s", (int)name.len, name.ptr);
    for (size_t i = 0; i < mem->count; i++)
        params[i] = &mem->values[i];
    params[mem->count] = &log_at;
    bool fine = gpu_load(text->ptr, &module) && gpu_launch(module, entry, (const uint32_t[]){mem->grid, 1, 1}, params)
                && gpu_wait();
    gpu_unload(module);
    return fine;
}

static void trade(unsigned char *a, unsigned char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

/* What both have of memory and logs changes places. */
static void trade_all(trial_memory *vm, trial_memory *other, const trial_log logs[2])
{
    for (size_t i = 0; i < vm->count; i++)
        if (vm->arrays[i].bytes)
            trade(vm->arrays[i].bytes, other->arrays[i].bytes, vm->arrays[i].size);
    if (logs[0].bytes)
        trade(logs[0].bytes, logs[1].bytes, logs[0].size);
}

static bool run_gpu(const bc_text *text, tv_str entry, trial_memory *vm, trial_memory *other, const trial_log logs[2],
                    char *what, size_t size)
{
    bool fine = !logs[0].bytes || gpu_map(logs[0].bytes, logs[0].size);
    size_t mapped = 0;
    trade_all(vm, other, logs);
    for (; fine && mapped < vm->count; mapped++)
        fine = !vm->arrays[mapped].bytes || gpu_map(vm->arrays[mapped].bytes, vm->arrays[mapped].size);
    fine = fine && launch(text, entry, vm, (uint64_t)(uintptr_t)logs[0].bytes);
    if (!fine)
        snprintf(what, size, "%s", gpu_error());
    for (size_t i = 0; i < mapped; i++)
        if (vm->arrays[i].bytes)
            gpu_unmap(vm->arrays[i].bytes);
    if (logs[0].bytes)
        gpu_unmap(logs[0].bytes);
    if (!fine) { /* the context may be gone */
        gpu_close();
        gpu_open();
    }
    trade_all(vm, other, logs);
    return fine;
}

bool trial_run_ptx(trial_device device, const bc_text *text, tv_str entry, trial_memory *vm, trial_memory *other,
                   const trial_log logs[2], uint64_t seed, char *what, size_t size)
{
    return device == TRIAL_GPU ? run_gpu(text, entry, vm, other, logs, what, size)
                               : run_sim(text, vm, other, logs, seed, what, size);
}
