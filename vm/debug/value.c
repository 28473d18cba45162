/* Values: where they lie in a frame or in memory, and their elements. */
#include <string.h>

#include "bytecode/number/number.h"
#include "vm/debug/state.h"
#include "vm/run/view.h"

/* ---- elements ---- */

/* Index of an element in units of the strides: elements of a tile in row-major order, or of memory. */
static int64_t linear(const vm_debug_value *v, uint64_t place)
{
    int64_t at = v->offset;
    for (uint32_t d = v->rank; d-- > 0;) {
        at += (int64_t)(place % (uint64_t)v->shape[d]) * v->strides[d];
        place /= (uint64_t)v->shape[d];
    }
    return at;
}

static uint64_t pattern(const vm_debug_value *v, int64_t at)
{
    uint64_t x = 0;
    if (v->layout) {
        memcpy(&x, v->base + vm_layout_offset(v->layout, (size_t)at) * (v->bits / 8), v->bits / 8);
    } else if (v->bits < 8) {
        x = v->base[at / 2] >> (at % 2 ? 4 : 0) & 15;
    } else {
        memcpy(&x, v->base + at * (int64_t)(v->bits / 8), v->bits / 8);
        if (v->kind == BC_I1)
            x = x != 0;
    }
    return x;
}

uint64_t vm_debug_element(const vm_debug_value *v, uint64_t place)
{
    return pattern(v, linear(v, place));
}

unsigned vm_debug_item(const vm_debug_value *v)
{
    return v->bits < 8 ? 1 : v->bits / 8;
}

/* Calls a function for each element in row-major order, with its index. */
typedef struct walk {
    int64_t index[VM_DEBUG_MAX_RANK];
    int64_t at;
} walk;

static void walk_on(const vm_debug_value *v, walk *w)
{
    for (uint32_t d = v->rank; d-- > 0;) {
        w->at += v->strides[d];
        if (++w->index[d] < v->shape[d])
            return;
        w->at -= v->strides[d] * v->shape[d];
        w->index[d] = 0;
    }
}

static bool is_packed_tile(const vm_debug_value *v)
{
    int64_t stride = 1;
    if (!v->layout || v->offset || !vm_layout_is_packed(v->layout) || v->count != (uint64_t)1 << v->layout->bits)
        return false;
    for (uint32_t d = v->rank; d-- > 0;) {
        if (v->shape[d] != 1 && v->strides[d] != stride)
            return false;
        stride *= v->shape[d];
    }
    return true;
}

void vm_debug_copy(const vm_debug_value *v, void *out)
{
    unsigned item = vm_debug_item(v);
    walk w = {.at = v->offset};
    if (is_packed_tile(v)) {
        memcpy(out, v->base, (size_t)v->count * item);
        return;
    }
    for (uint64_t i = 0; i < v->count; i++, walk_on(v, &w)) {
        uint64_t x = pattern(v, w.at);
        memcpy((unsigned char *)out + i * item, &x, item);
    }
}

/* The address of an f4 in a view counts half bytes; this is the address of the byte. */
uint64_t dbg_address(const vm_debug_value *v, uint64_t place)
{
    int64_t at = linear(v, place);
    return (uint64_t)(uintptr_t)v->base + (uint64_t)(v->bits < 8 ? at / 2 : at * (int64_t)(v->bits / 8));
}

double dbg_number(const vm_debug_value *v, uint64_t bits)
{
    if (bc_float_format_of(v->kind))
        return bc_float_value(v->kind, v->kind == BC_TF32 ? bc_tf32_from_cell((uint32_t)bits) : bits);
    bool is_signed = v->dtype < TV_DTYPE_COUNT && bc_dtypes[v->dtype].is_signed;
    unsigned width = bc_kind_bits(v->kind);
    return is_signed && v->kind != BC_I1 ? (double)bc_int_sign_extend(bits, width) : (double)bits;
}

/* ---- NaNs and infinities ---- */

typedef struct special {
    bool nan, inf;
} special;

/* In the types that kernels compute in, NaNs and infinities have an exponent of all ones. */
static bool exponent_of(bc_kind kind, uint64_t *out_exponent, uint64_t *out_mantissa)
{
    switch (kind) {
    case BC_F16: *out_exponent = 0x7c00, *out_mantissa = 0x03ff; return true;
    case BC_BF16: *out_exponent = 0x7f80, *out_mantissa = 0x007f; return true;
    case BC_F32:
    case BC_TF32: *out_exponent = 0x7f800000, *out_mantissa = 0x007fffff; return true;
    case BC_F64: *out_exponent = 0x7ff0000000000000, *out_mantissa = 0x000fffffffffffff; return true;
    default: return false;
    }
}

static special special_of(bc_kind kind, uint64_t bits)
{
    uint64_t exponent, mantissa;
    if (exponent_of(kind, &exponent, &mantissa)) {
        bool top = (bits & exponent) == exponent;
        return (special){top && (bits & mantissa), top && !(bits & mantissa)};
    }
    bc_float_class c = bc_float_split(kind, bits).class_;
    return (special){c == BC_FLOAT_NAN, c == BC_FLOAT_INF};
}

void dbg_counts(const vm_debug_value *v, uint64_t *nan, uint64_t *inf)
{
    walk w = {.at = v->offset};
    *nan = *inf = 0;
    if (!bc_float_format_of(v->kind))
        return;
    for (uint64_t i = 0; i < v->count; i++, walk_on(v, &w)) {
        special s = special_of(v->kind, pattern(v, w.at));
        *nan += s.nan;
        *inf += s.inf;
    }
}

/* For packed f32, the usual case: does any element have an exponent of all ones? The loop has no branches. */
static bool any_top_f32(const unsigned char *base, size_t n)
{
    uint32_t any = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t x;
        memcpy(&x, base + 4 * i, 4);
        any |= (x & 0x7f800000u) == 0x7f800000u;
    }
    return any != 0;
}

bool dbg_has(const vm_debug_value *v, bool nan)
{
    walk w = {.at = v->offset};
    if (!bc_float_format_of(v->kind))
        return false;
    if (v->kind == BC_F32 && is_packed_tile(v) && !any_top_f32(v->base, (size_t)v->count))
        return false;
    for (uint64_t i = 0; i < v->count; i++, walk_on(v, &w)) {
        special s = special_of(v->kind, pattern(v, w.at));
        if (nan ? s.nan : s.inf)
            return true;
    }
    return false;
}

/* ---- tiles ---- */

bool dbg_locate(const vm_debug *d, const vm_started *s, const bc_value *value, vm_debug_value *out)
{
    const vm_placed *placed = &d->code.placed[value->id];
    const bc_type *type = value->type;
    if (!s || placed->form == VM_PLACED_NOWHERE)
        return false;
    *out = (vm_debug_value){.form = placed->form == VM_PLACED_TILE ? VM_DEBUG_DATA : VM_DEBUG_VIEW,
                            .base = s->worker.frame.base + placed->at,
                            .type = type,
                            .count = 1};
    if (placed->form == VM_PLACED_RECORD)
        return true;
    if (type->rank > VM_DEBUG_MAX_RANK)
        return false;
    out->kind = bc_elem_kind(type);
    if (!bc_dtype_from_kind(out->kind, &out->dtype))
        out->dtype = TV_U64; /* pointers */
    out->bits = 8u * placed->elem_bytes;
    out->layout = &placed->layout;
    out->rank = type->rank;
    for (uint32_t i = type->rank; i-- > 0;) {
        out->shape[i] = type->shape[i];
        out->strides[i] = (int64_t)out->count;
        out->count *= (uint64_t)type->shape[i];
    }
    return true;
}

/* A value is available from the end of its op, or from the start of the region whose argument it is, to the end of the
   enclosing block of ops. */
bool dbg_in_scope(const vm_debug *d, const bc_value *value, uint32_t position, vm_debug_error *error)
{
    uint32_t home = d->homes[value->id], parent;
    bc_text name;
    bool before, inside;
    if (value->op) {
        before = position == DBG_NONE || d->ends[home] <= position;
        parent = d->parents[home];
    } else {
        before = true;
        parent = home;
    }
    inside = parent == DBG_NONE || (position != DBG_NONE && position > parent && position < d->ends[parent]);
    if (inside && before && d->code.placed[value->id].form != VM_PLACED_NOWHERE)
        return true;
    bc_text_init(&name, NULL);
    vm_debug_print_value_name(d, value, &name);
    if (!inside)
        dbg_fail(error, "%.60s is not in scope here", bc_text_words(&name));
    else if (!before)
        dbg_fail(error, "%.60s is not there yet: op %u makes it", bc_text_words(&name), home);
    else
        dbg_fail(error, "%.60s is a token, or stands in the body of a reduction: it has no value to show",
                 bc_text_words(&name));
    bc_text_release(&name);
    return false;
}

bool vm_debug_value_of(const vm_debug *d, const bc_value *value, vm_debug_value *out, vm_debug_error *error)
{
    const vm_started *s = dbg_shown(d);
    const vm_probe *probe = s ? dbg_probe_of(s) : NULL;
    if (!s)
        return dbg_fail(error, "the run has ended: no tile block has values any more");
    if (!dbg_in_scope(d, value, probe ? probe->position : DBG_NONE, error))
        return false;
    return dbg_locate(d, s, value, out) || dbg_fail(error, "it has no value to show");
}

const bc_value *vm_debug_local_at(const vm_debug *d, size_t index)
{
    const vm_started *s = dbg_shown(d);
    const vm_probe *probe = s ? dbg_probe_of(s) : NULL;
    vm_debug_error error;
    for (uint32_t i = 0; s && i < d->function->value_count; i++)
        if (d->values[i] && dbg_in_scope(d, d->values[i], probe ? probe->position : DBG_NONE, &error) && index-- == 0)
            return d->values[i];
    return NULL;
}

static bool has_name(const vm_debug *d, const bc_value *value, tv_str name)
{
    bc_text text;
    bc_text_init(&text, NULL);
    vm_debug_print_value_name(d, value, &text);
    bool same = bc_str_eq(bc_text_get(&text), name);
    bc_text_release(&text);
    return same;
}

const bc_value *dbg_find_value(const vm_debug *d, tv_str name, uint32_t position)
{
    const bc_value *any = NULL;
    vm_debug_error error;
    for (uint32_t i = 0; i < d->function->value_count; i++) {
        if (!d->values[i] || !has_name(d, d->values[i], name))
            continue;
        if (dbg_in_scope(d, d->values[i], position, &error))
            return d->values[i];
        any = any ? any : d->values[i];
    }
    return any;
}

/* ---- arrays ---- */

void dbg_array_value(const vm_array *a, vm_debug_value *out)
{
    *out = (vm_debug_value){.form = VM_DEBUG_DATA,
                            .kind = bc_dtypes[a->dtype].kind,
                            .dtype = a->dtype,
                            .rank = a->ndim,
                            .count = 1,
                            .base = (const unsigned char *)(uintptr_t)a->base,
                            .bits = a->item_bits,
                            .array = a};
    for (uint32_t i = 0; i < a->ndim; i++) {
        out->shape[i] = a->shape[i];
        out->strides[i] = a->strides[i];
        out->count *= (uint64_t)a->shape[i];
    }
}

bool vm_debug_array_at(const vm_debug *d, size_t index, vm_debug_value *out)
{
    const vm_arrays *arrays = &d->vm->arrays;
    if (index >= arrays->count)
        return false;
    dbg_array_value(&arrays->items[index], out);
    return true;
}

const vm_array *dbg_find_array(const vm_debug *d, tv_str name)
{
    const vm_arrays *arrays = &d->vm->arrays;
    for (size_t i = 0; i < arrays->count; i++)
        if (bc_str_is(name, arrays->items[i].name))
            return &arrays->items[i];
    return NULL;
}

/* ---- text ---- */

void vm_debug_print_element(const vm_debug *d, const vm_debug_value *v, uint64_t bits, bc_text *out)
{
    if (v->kind == BC_TF32)
        vm_print_scalar(out, &d->run, BC_F32, bits);
    else if (v->kind == BC_PTR || bc_float_format_of(v->kind))
        vm_print_scalar(out, &d->run, v->kind, bits);
    else if (v->dtype < TV_DTYPE_COUNT && bc_dtypes[v->dtype].is_signed)
        bc_text_printf(out, "%lld", (long long)bc_int_sign_extend(bits, bc_kind_bits(v->kind)));
    else
        bc_text_printf(out, "%llu", (unsigned long long)bits);
}

static void put_dims(bc_text *out, const int64_t *dims, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        bc_text_printf(out, "%s%lld", i ? ", " : "", (long long)dims[i]);
}

void vm_debug_print_view(const vm_debug *d, const vm_debug_value *v, bc_text *out)
{
    const vm_record *record = (const vm_record *)(const void *)v->base;
    uint32_t rank = bc_is_tile_view(v->type) ? v->type->elem->rank : v->type->rank;
    bc_text_puts(out, "from ");
    vm_print_scalar(out, &d->run, BC_PTR, record->base);
    bc_text_puts(out, ", shape [");
    put_dims(out, record->dims, rank);
    bc_text_puts(out, "], strides [");
    put_dims(out, record->dims + rank, rank);
    bc_text_char(out, ']');
}

void vm_debug_print_type(const vm_debug_value *v, bc_text *out)
{
    if (v->form == VM_DEBUG_VIEW) {
        bc_print_type(out, v->type, false);
        return;
    }
    bc_text_puts(out, v->kind == BC_PTR ? "ptr" : bc_dtypes[v->dtype].text);
    for (uint32_t i = 0; i < v->rank; i++)
        bc_text_printf(out, "%s%lld", i ? ", " : "[", (long long)v->shape[i]);
    if (v->rank)
        bc_text_char(out, ']');
}

const char *vm_debug_array_name(const vm_debug_value *v)
{
    return v->array ? v->array->name : "";
}
