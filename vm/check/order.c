/* Finds out whether results depend on the order of tile blocks, or on undefined elements: restores the memory of
   before the first run, runs the grid again, and compares the results. */
#include <math.h>
#include <string.h>

#include "bytecode/dtype.h"
#include "bytecode/number/number.h"
#include "bytecode/print/report.h"
#include "vm/check/check.h"

/* The contents of all writable memory, region after region. */
struct vm_saved {
    unsigned char *bytes;
    size_t size;
};

static size_t writable_bytes(const tv_vm *vm)
{
    size_t size = 0;
    for (size_t i = 0; i < vm->regions.count; i++)
        if (vm->regions.items[i].writable)
            size += (size_t)(vm->regions.items[i].end - vm->regions.items[i].start);
    return size;
}

/* Copies to the saved bytes, or from them if `restore`. */
static void copy_all(const tv_vm *vm, unsigned char *saved, bool restore)
{
    for (size_t i = 0; i < vm->regions.count; i++) {
        const vm_region *r = &vm->regions.items[i];
        size_t size = (size_t)(r->end - r->start);
        void *memory = (void *)(uintptr_t)r->start;
        if (!r->writable)
            continue;
        memcpy(restore ? memory : saved, restore ? saved : memory, size);
        saved += size;
    }
}

static bool save(struct vm_check *check, struct vm_saved *out)
{
    out->size = writable_bytes(check->vm);
    out->bytes = check->memory.alloc(check->memory.user, out->size + 1);
    if (out->bytes)
        copy_all(check->vm, out->bytes, false);
    return out->bytes != NULL;
}

static void forget(struct vm_check *check, struct vm_saved *saved)
{
    if (saved->bytes)
        check->memory.release(check->memory.user, saved->bytes, saved->size + 1);
}

/* ---- comparing ---- */

/* The differences in one region. */
typedef struct difference {
    uint64_t count;        /* differing elements */
    uint64_t address;      /* of the one in the message */
    const vm_array *array; /* that contains it, or NULL */
    uint64_t got, want;    /* its patterns */
    bool only_rounding;
} difference;

static uint64_t load(const unsigned char *at, size_t bytes)
{
    uint64_t x = 0;
    memcpy(&x, at, bytes);
    return x;
}

/* Are these floats whose upper half of bits agrees? Sums of the same numbers in another order differ like that. */
static bool differ_in_rounding(bc_kind kind, uint64_t a, uint64_t b)
{
    const bc_float_format *format = bc_float_format_of(kind);
    if (!format)
        return false;
    if (kind == BC_TF32) {
        a = bc_tf32_from_cell((uint32_t)a);
        b = bc_tf32_from_cell((uint32_t)b);
    }
    double x = bc_float_value(kind, a), y = bc_float_value(kind, b);
    return fabs(x - y) <= ldexp(fmax(fabs(x), fabs(y)), -(format->mantissa_bits / 2));
}

/* The address and size of the element that contains a byte. */
static uint64_t element_start(const vm_array *array, uint64_t address, size_t *out_bytes)
{
    int64_t index[TV_MAX_RANK];
    *out_bytes = array && array->item_bits >= 8 ? array->item_bits / 8 : 1;
    if (!array || *out_bytes == 1 || !vm_array_element(array, address, index))
        return address;
    uint64_t start = array->base;
    for (uint32_t d = 0; d < array->ndim; d++)
        start += (uint64_t)(index[d] * array->strides[d]) * *out_bytes;
    return start;
}

static void note(difference *d, const vm_array *array, uint64_t address, uint64_t got, uint64_t want)
{
    bool rounding = array && differ_in_rounding(bc_dtypes[array->dtype].kind, got, want);
    if (!d->count || (d->only_rounding && !rounding)) {
        d->array = array;
        d->address = address;
        d->got = got;
        d->want = want;
        d->only_rounding = rounding;
    }
    d->count++;
}

static void compare_region(const tv_vm *vm, const vm_region *r, const unsigned char *want, difference *d)
{
    const unsigned char *got = (const unsigned char *)(uintptr_t)r->start;
    size_t size = (size_t)(r->end - r->start), bytes;
    for (size_t i = 0; i < size;) {
        if (got[i] == want[i]) {
            i++;
            continue;
        }
        bool is_element;
        const vm_array *array = vm_arrays_find(&vm->arrays, r->start + i, &is_element);
        if (!is_element)
            array = NULL;
        uint64_t start = element_start(array, r->start + i, &bytes);
        size_t at = (size_t)(start - r->start);
        note(d, array, start, load(got + at, bytes), load(want + at, bytes));
        i = at + bytes;
    }
}

static void print_value(bc_text *out, const vm_array *array, uint64_t bits)
{
    bc_kind kind = array ? bc_dtypes[array->dtype].kind : BC_I8;
    vm_print_scalar(out, NULL, kind, kind == BC_TF32 ? bc_tf32_from_cell((uint32_t)bits) : bits);
}

static void find_difference(struct vm_check *check, const difference *d, uint64_t seed)
{
    const vm_run run = {.vm = check->vm};
    bc_text text;
    bc_text_init(&text, &check->vm->allocator);
    vm_print_place(&text, &run, d->address);
    bc_text_puts(&text, " is ");
    print_value(&text, d->array, d->want);
    bc_text_puts(&text, ", and ");
    print_value(&text, d->array, d->got);
    if (check->junk)
        bc_text_puts(&text, " when undefined elements of loads have other values");
    else
        bc_text_printf(&text, " when the tile blocks run in order %llu", (unsigned long long)seed);
    if (d->count > 1)
        bc_text_printf(&text, "; %llu elements differ", (unsigned long long)d->count);
    bc_rule rule = check->junk ? BC_RULE_X_OPN_01 : d->only_rounding ? BC_RULE_X_ORD_02 : BC_RULE_X_ORD_01;
    vm_find_in_results(check, rule, NULL, "%s", bc_text_words(&text));
    bc_text_release(&text);
}

/* Compares all regions, and returns the number of those that differ. */
static size_t compare(struct vm_check *check, const struct vm_saved *first, uint64_t seed)
{
    const tv_vm *vm = check->vm;
    const unsigned char *want = first->bytes;
    size_t found = 0;
    for (size_t i = 0; i < vm->regions.count; i++) {
        const vm_region *r = &vm->regions.items[i];
        difference d = {0};
        if (!r->writable)
            continue;
        compare_region(vm, r, want, &d);
        want += r->end - r->start;
        found += d.count != 0;
        if (d.count)
            find_difference(check, &d, seed);
    }
    return found;
}

/* ---- all orders ---- */

enum { DEFAULT_ORDERS = 3 };

static bool wants_orders(const struct vm_check *check, const vm_launch *launch)
{
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    return (check->vm->options.checks & TV_CHECK_ORDER) && blocks > 1;
}

/* Runs the grid again. *out_differs: the run stopped, or the results differ. */
static tv_status try_again(struct vm_check *check, const vm_launch *launch, const struct vm_saved *before,
                           const struct vm_saved *first, uint64_t seed, bool *out_differs, tv_sink sink)
{
    copy_all(check->vm, before->bytes, true);
    tv_status status = vm_run_order(check, launch, seed, true, sink);
    *out_differs = status == TV_TRAP || (status == TV_OK && compare(check, first, seed));
    return status == TV_TRAP ? TV_OK : status; /* a trap is a finding */
}

static tv_status try_all(struct vm_check *check, const vm_launch *launch, const struct vm_saved *before,
                         const struct vm_saved *first, tv_sink sink)
{
    const tv_vm_options *o = &check->vm->options;
    unsigned orders = o->check_orders ? o->check_orders : DEFAULT_ORDERS;
    bool differs = false;
    tv_status status = TV_OK;
    if (check->code->opens && (o->checks & TV_CHECK_UNINIT) && !check->full) {
        check->junk = true;
        status = try_again(check, launch, before, first, o->order_seed, &differs, sink);
        check->junk = false;
    }
    if (!wants_orders(check, launch))
        orders = 0;
    differs = false;
    for (unsigned i = 1; i <= orders && status == TV_OK && !differs && !check->full; i++)
        status = try_again(check, launch, before, first, o->order_seed + i, &differs, sink);
    copy_all(check->vm, first->bytes, true);
    return status;
}

static tv_status no_memory(const struct vm_check *check, tv_sink sink)
{
    bc_place place = {.function = check->code->function, .offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    if (atomic_load(&check->vm->starved))
        return TV_NO_MEMORY;
    bc_report(check->vm->module, sink, &place, BC_RULE_X_RUN_02,
              "there is no room for two copies of the %zu bytes that the kernel may write, to run it again",
              writable_bytes(check->vm));
    return TV_NO_MEMORY;
}

tv_status vm_check_results(struct vm_check *check, const vm_launch *launch, tv_sink sink)
{
    struct vm_saved before = {0}, first = {0};
    bool once = !wants_orders(check, launch) && !(check->code->opens && (check->vm->options.checks & TV_CHECK_UNINIT));
    uint64_t seed = check->vm->options.order_seed;
    tv_status status = TV_OK;
    if (once)
        return vm_run_order(check, launch, seed, false, sink);
    if (!save(check, &before))
        return no_memory(check, sink);
    status = vm_run_order(check, launch, seed, false, sink);
    if (status == TV_OK && !save(check, &first))
        status = no_memory(check, sink);
    if (status == TV_OK)
        status = try_all(check, launch, &before, &first, sink);
    forget(check, &first);
    forget(check, &before);
    return status;
}
