/* Signatures: entries of a module, what their functions take, and which entry parameters that becomes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "bytecode/base/text.h"
#include "bytecode/base/demangle.h"
#include "bytecode/dtype.h"
#include "bytecode/symbol/mangle.h"
#include "bytecode/print/report.h"

struct tv_signature {
    bc_arena arena;
    bc_symbol symbol; /* convention 0: function is the whole symbol */
    const tv_param **leaves;
    size_t leaf_count, leaf_capacity, slot_count;
};

/* ---- laying out ---- */

static size_t slots_of(const tv_param *param)
{
    switch (param->kind) {
    case TV_PARAM_SCALAR:
    case TV_PARAM_POINTER: return 1;
    case TV_PARAM_ARRAY: return 1 + 2 * (size_t)param->ndim;
    case TV_PARAM_LIST: return 2;
    case TV_PARAM_TUPLE:
    case TV_PARAM_STRUCT:
    case TV_PARAM_CONSTANT:
    case TV_PARAM_TENSOR_MAP:
    case TV_PARAM_STREAM: break;
    }
    return 0;
}

/* "a" to "z", "aa" ... at the top; "b.0" inside. */
static const char *name_param(bc_arena *arena, const tv_param *outer, size_t index)
{
    char letters[16];
    size_t at = sizeof letters - 1;
    letters[at] = 0;
    if (!outer) {
        for (size_t n = index + 1; n > 0; n = (n - 1) / 26)
            letters[--at] = (char)('a' + (n - 1) % 26);
        return bc_arena_dup(arena, bc_str(letters + at)).ptr;
    }
    bc_text text;
    bc_text_init(&text, &arena->allocator);
    bc_text_printf(&text, outer->kind == TV_PARAM_LIST ? "%s[]" : "%s.%zu", outer->name, index);
    const char *name = text.failed ? NULL : bc_arena_dup(arena, bc_text_get(&text)).ptr;
    bc_text_release(&text);
    return name;
}

/* Fills in names and slots, and collects the leaves. Depth is that of tuples, which the parser bounds. */
static bool lay_out(tv_signature *s, const tv_param *outer, tv_param *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tv_param *param = &params[i];
        param->name = name_param(&s->arena, outer, i);
        if (!param->name)
            return false;
        bool inside_list = outer && outer->kind == TV_PARAM_LIST;
        size_t own = inside_list ? 0 : slots_of(param);
        param->first_slot = s->slot_count;
        s->slot_count += own;
        if (own) {
            s->leaves = bc_grow(&s->arena, s->leaves, s->leaf_count, &s->leaf_capacity, const tv_param *);
            if (!s->leaves)
                return false;
            s->leaves[s->leaf_count++] = param;
        }
        /* The arena made the items; only their view in tv_param is const. */
        if (!lay_out(s, param, (tv_param *)(uintptr_t)param->items, param->item_count))
            return false;
        param->slot_count = s->slot_count - param->first_slot;
    }
    return true;
}

static tv_signature *signature_new(const tv_allocator *allocator)
{
    tv_allocator a = allocator ? *allocator : bc_default_allocator();
    tv_signature *s = a.alloc(a.user, sizeof *s);
    if (!s)
        return NULL;
    *s = (tv_signature){0};
    bc_arena_init(&s->arena, &a, 0);
    return s;
}

void tv_signature_close(tv_signature *signature)
{
    if (!signature)
        return;
    tv_allocator a = signature->arena.allocator;
    bc_arena_release(&signature->arena);
    a.release(a.user, signature, sizeof *signature);
}

/* ---- from a symbol ---- */

static void warn(const tv_module *m, tv_sink sink, const bc_function *f, bc_rule rule, const char *format, ...)
    TV_PRINTF(5, 6);

static void warn(const tv_module *m, tv_sink sink, const bc_function *f, bc_rule rule, const char *format, ...)
{
    const bc_place place = {.function = f, .offset = f->offset, .row = BC_NO_ROW};
    va_list args;
    va_start(args, format);
    bc_report_as(m, sink, &place, rule, TV_WARNING, NULL, format, args);
    va_end(args);
}

/* NULL: out of memory, or error has a message. */
static tv_signature *decode(tv_str symbol, const tv_allocator *allocator, bc_symbol_error *error)
{
    *error = (bc_symbol_error){0};
    tv_signature *s = signature_new(allocator);
    if (!s)
        return NULL;
    bool too_long = symbol.len > BC_MAX_SYMBOL; /* the parser says so, and looks no further */
    tv_str copy = too_long ? symbol : bc_arena_dup(&s->arena, symbol);
    if (copy.ptr && bc_symbol_parse(&s->arena, copy, &s->symbol, error)
        && lay_out(s, NULL, s->symbol.params, s->symbol.param_count))
        return s;
    tv_signature_close(s);
    return NULL;
}

static tv_status open_symbol(tv_str symbol, const tv_allocator *allocator, tv_sink sink, tv_signature **out_signature)
{
    const bc_place nowhere = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    bc_symbol_error error;
    tv_signature *s = decode(symbol, allocator, &error);
    if (s) {
        *out_signature = s;
        return TV_OK;
    }
    if (!error.message[0])
        return TV_NO_MEMORY;
    int shown = symbol.len < 200 ? (int)symbol.len : 200;
    bc_report(NULL, sink, &nowhere, BC_RULE_C_SYM_01, "symbol '%.*s%s', byte %zu: %s", shown, symbol.ptr,
              symbol.len > 200 ? "..." : "", error.offset, error.message);
    return TV_INVALID;
}

tv_status tv_signature_open(tv_str symbol, const tv_allocator *allocator, tv_sink sink, tv_signature **out_signature)
{
    TV_RETURN_COMPUTED(open_symbol(symbol, allocator, sink, out_signature));
}

/* ---- from an entry ---- */

/* Is a number of C++ what the entry takes? Only integers lose something on their way to bytecode. */
static bool fits_number(tv_dtype cxx, tv_dtype entry)
{
    bool integers = cxx <= TV_I64 && entry <= TV_I64;
    return cxx == entry || (integers && tv_dtype_bits(cxx) == tv_dtype_bits(entry));
}

/* What the parameters of a C++ function say that bytecode does not, where there is one for each of the entry's. */
static void take_cxx(tv_signature *s, tv_str symbol, size_t count)
{
    bc_cxx_name name;
    tv_str param;
    size_t given = 0;
    if (!bc_demangle(symbol, &name))
        return;
    tv_str function = bc_arena_dup(&s->arena, name.function);
    s->symbol.function = function.ptr ? function : s->symbol.function;
    for (tv_str rest = name.params; bc_cxx_next_param(&rest, &param);)
        given++;
    if (given != count)
        return;
    tv_str rest = name.params;
    for (size_t i = 0; i < count && bc_cxx_next_param(&rest, &param); i++) {
        bc_cxx_type type = bc_cxx_type_of(param);
        tv_param *p = &s->symbol.params[i];
        if (type.pointer != (p->kind == TV_PARAM_POINTER))
            continue;
        p->constant_data = type.constant;
        if (type.known && fits_number(type.dtype, p->dtype))
            p->dtype = type.dtype;
    }
}

/* Every entry parameter is a parameter of its own. */
static tv_status from_types(const tv_module *m, const bc_function *f, tv_sink sink, tv_signature **out_signature)
{
    tv_signature *s = signature_new(&m->arena.allocator);
    if (!s)
        return TV_NO_MEMORY;
    tv_status status = TV_NO_MEMORY;
    size_t count = f->type->rank;
    s->symbol.function = bc_arena_dup(&s->arena, f->name->s);
    s->symbol.params = bc_new(&s->arena, tv_param, count);
    for (size_t i = 0; s->symbol.params && i < count; i++) {
        const bc_type *type = f->type->members[i];
        tv_entry_param p = bc_entry_param_of_type(type);
        if (!p.size) {
            const bc_place place = {.function = f, .offset = f->offset, .row = BC_NO_ROW};
            bc_report(m, sink, &place, BC_RULE_C_ARG_01,
                      "entry parameter %zu is neither a number nor a pointer to "
                      "numbers, so that nothing can be passed for it",
                      i);
            status = TV_UNSUPPORTED;
            goto done;
        }
        const bc_type *number = p.pointer ? type->elem->elem : type->elem;
        s->symbol.params[i].kind = p.pointer ? TV_PARAM_POINTER : TV_PARAM_SCALAR;
        bc_dtype_from_kind((bc_kind)number->kind, &s->symbol.params[i].dtype);
    }
    take_cxx(s, f->name->s, count);
    s->symbol.param_count = count;
    if (s->symbol.function.ptr && s->symbol.params && lay_out(s, NULL, s->symbol.params, count)) {
        *out_signature = s;
        return TV_OK;
    }
done:
    tv_signature_close(s);
    return status;
}

static bool slot_fits(const tv_slot *slot, const bc_type *type)
{
    tv_entry_param p = bc_entry_param_of_type(type);
    bool address = slot->role == TV_SLOT_ADDRESS || slot->role == TV_SLOT_LIST_ADDRESS;
    return p.size && p.pointer == address && strcmp(p.element, bc_kinds[bc_dtypes[slot->dtype].kind].text) == 0;
}

static bool is_opaque(const tv_param *params, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (params[i].kind == TV_PARAM_TENSOR_MAP || is_opaque(params[i].items, params[i].item_count))
            return true;
    return false;
}

/* Does the entry take just the slots of the signature? Otherwise warns. */
static bool fits_entry(const tv_module *m, const bc_function *f, const tv_signature *s, tv_sink sink)
{
    tv_slot slot;
    if (is_opaque(s->symbol.params, s->symbol.param_count)) {
        warn(m, sink, f, BC_RULE_C_SYM_02, "the symbol has a tensor map, and how that is passed is not known");
        return false;
    }
    if (s->slot_count != f->type->rank) {
        warn(m, sink, f, BC_RULE_C_SYM_02, "the symbol tells of %zu entry parameters, the entry has %u", s->slot_count,
             f->type->rank);
        return false;
    }
    for (size_t i = 0; tv_signature_slot(s, i, &slot); i++)
        if (!slot_fits(&slot, f->type->members[i])) {
            tv_entry_param p = bc_entry_param_of_type(f->type->members[i]);
            warn(m, sink, f, BC_RULE_C_SYM_02, "entry parameter %zu is %s%s, but for '%s' the symbol asks for %s%s", i,
                 p.pointer ? "a pointer to " : "", p.element, slot.leaf->name,
                 slot.role == TV_SLOT_ADDRESS || slot.role == TV_SLOT_LIST_ADDRESS ? "a pointer to " : "",
                 bc_kinds[bc_dtypes[slot.dtype].kind].text);
            return false;
        }
    return true;
}

static tv_status signature_of_entry(const tv_module *module, size_t entry, tv_sink sink, tv_signature **out_signature)
{
    const bc_function *f = bc_entry_at(module, entry);
    tv_str function, mangled;
    bc_symbol_error error;
    if (!f)
        return TV_USAGE;
    if (!bc_symbol_split(f->name->s, &function, &mangled))
        return from_types(module, f, sink, out_signature);
    tv_signature *s = decode(f->name->s, &module->arena.allocator, &error);
    if (s && fits_entry(module, f, s, sink)) {
        *out_signature = s;
        return TV_OK;
    }
    if (!s && !error.message[0])
        return TV_NO_MEMORY;
    if (!s)
        warn(module, sink, f, BC_RULE_C_SYM_01, "the symbol cannot be decoded, byte %zu: %s", error.offset,
             error.message);
    tv_signature_close(s);
    return from_types(module, f, sink, out_signature);
}

tv_status tv_signature_of_entry(const tv_module *module, size_t entry, tv_sink sink, tv_signature **out_signature)
{
    TV_RETURN_COMPUTED(signature_of_entry(module, entry, sink, out_signature));
}

/* ---- queries ---- */

tv_str tv_signature_function(const tv_signature *signature)
{
    return signature->symbol.function;
}

unsigned tv_signature_convention(const tv_signature *signature)
{
    return signature->symbol.convention;
}

size_t tv_signature_param_count(const tv_signature *signature)
{
    return signature->symbol.param_count;
}

const tv_param *tv_signature_param(const tv_signature *signature, size_t index)
{
    return index < signature->symbol.param_count ? &signature->symbol.params[index] : NULL;
}

size_t tv_signature_leaf_count(const tv_signature *signature)
{
    return signature->leaf_count;
}

const tv_param *tv_signature_leaf(const tv_signature *signature, size_t index)
{
    return index < signature->leaf_count ? signature->leaves[index] : NULL;
}

size_t tv_signature_slot_count(const tv_signature *signature)
{
    return signature->slot_count;
}

static unsigned size_of(tv_dtype dtype)
{
    unsigned bits = tv_dtype_bits(dtype);
    return bits < 8 ? 1 : bits / 8;
}

/* The within-th slot of a leaf. */
static tv_slot slot_of_leaf(const tv_param *leaf, size_t within)
{
    tv_slot slot = {.leaf = leaf, .role = TV_SLOT_ADDRESS, .dtype = leaf->dtype, .size = 8};
    if (leaf->kind == TV_PARAM_SCALAR) {
        slot.role = TV_SLOT_VALUE;
        slot.size = size_of(leaf->dtype);
    } else if (leaf->kind == TV_PARAM_LIST) {
        slot.role = within ? TV_SLOT_LIST_COUNT : TV_SLOT_LIST_ADDRESS;
        slot.dtype = within ? TV_I32 : TV_I64;
        slot.size = within ? 4 : 8;
    } else if (within) {
        bool stride = within > leaf->ndim;
        slot.role = stride ? TV_SLOT_STRIDE : TV_SLOT_EXTENT;
        slot.axis = (uint32_t)(within - 1 - (stride ? leaf->ndim : 0));
        slot.dtype = leaf->index_dtype;
        slot.size = size_of(leaf->index_dtype);
    }
    return slot;
}

bool tv_signature_slot(const tv_signature *signature, size_t index, tv_slot *out_slot)
{
    if (index >= signature->slot_count)
        return false;
    size_t low = 0, high = signature->leaf_count; /* the last leaf that begins at or before index */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (signature->leaves[middle]->first_slot <= index)
            low = middle;
        else
            high = middle;
    }
    const tv_param *leaf = signature->leaves[low];
    *out_slot = slot_of_leaf(leaf, index - leaf->first_slot);
    return true;
}

/* ---- text ---- */

static void put_promise(bc_text *out, bool *first, const char *format, ...) TV_PRINTF(3, 4);

static void put_promise(bc_text *out, bool *first, const char *format, ...)
{
    va_list args;
    bc_text_puts(out, *first ? "  " : ", ");
    *first = false;
    va_start(args, format);
    bc_text_vprintf(out, format, args);
    va_end(args);
}

static void put_axis(bc_text *out, bool *first, const tv_axis *a, uint32_t i)
{
    if (a->has_extent)
        put_promise(out, first, "n%u = %lld", i, (long long)a->extent);
    else if (a->extent_multiple > 1)
        put_promise(out, first, "n%u %% %lld", i, (long long)a->extent_multiple);
    if (a->has_stride)
        put_promise(out, first, "stride%u = %lld", i, (long long)a->stride);
    if (a->stride_multiple > 1)
        put_promise(out, first, "stride%u %% %lld", i, (long long)a->stride_multiple);
    if (a->has_stride_min)
        put_promise(out, first, "stride%u >= %lld", i, (long long)a->stride_min);
}

static void put_groups(bc_text *out, bool *first, const tv_param *param)
{
    for (size_t i = 0; i < param->group_count; i++)
        put_promise(out, first, "alias group %x", param->groups[i]);
}

static void put_array(bc_text *out, const tv_param *param)
{
    bool first = true;
    bc_text_printf(out, "%s[", tv_dtype_name(param->dtype));
    for (uint32_t i = 0; i < param->ndim; i++)
        bc_text_printf(out, "%sn%u", i ? ", " : "", i);
    bc_text_char(out, ']');
    for (uint32_t i = 0; i < param->ndim; i++)
        put_axis(out, &first, &param->axes[i], i);
    if (param->base_multiple > 1)
        put_promise(out, &first, "base %% %lld", (long long)param->base_multiple);
    put_groups(out, &first, param);
    if (param->overlaps)
        put_promise(out, &first, "may overlap itself");
    if (param->index_dtype != TV_I32)
        put_promise(out, &first, "%s index", tv_dtype_name(param->index_dtype));
}

static void put_list(bc_text *out, const tv_param *param)
{
    bool first = false;
    bc_text_puts(out, "list of ");
    put_array(out, &param->items[0]);
    put_groups(out, &first, param);
    if (param->overlaps)
        put_promise(out, &first, "arrays may overlap");
}

static void put_items(bc_text *out, const tv_param *param)
{
    bc_text_puts(out, "tuple of ");
    bc_text_printf(out, "%zu", param->item_count);
}

/* What a symbol spells may be any text: control characters are written as \xNN, so that it stays on its line. */
static void put_spelled(bc_text *out, tv_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte < ' ' || byte == 127)
            bc_text_printf(out, "\\x%02x", byte);
        else
            bc_text_char(out, (char)byte);
    }
}

static void put_constant(bc_text *out, const tv_constant *c)
{
    const char *quote = c->kind == TV_CONSTANT_STRING ? "'" : "";
    bc_text_printf(out, "= %s", quote);
    put_spelled(out, c->text);
    bc_text_puts(out, quote);
}

static void put_param(bc_text *out, const tv_param *param)
{
    switch (param->kind) {
    case TV_PARAM_SCALAR: bc_text_puts(out, tv_dtype_name(param->dtype)); break;
    case TV_PARAM_ARRAY: put_array(out, param); break;
    case TV_PARAM_LIST: put_list(out, param); break;
    case TV_PARAM_POINTER:
        bc_text_printf(out, "pointer to %s%s", param->constant_data ? "constant " : "", tv_dtype_name(param->dtype));
        break;
    case TV_PARAM_TUPLE: put_items(out, param); break;
    case TV_PARAM_STRUCT: put_spelled(out, param->type_name); break;
    case TV_PARAM_CONSTANT: put_constant(out, &param->constant); break;
    case TV_PARAM_TENSOR_MAP: bc_text_puts(out, "tensor map"); break;
    case TV_PARAM_STREAM: bc_text_puts(out, "stream"); break;
    }
}

static tv_status print_param(const tv_param *param, tv_writer out)
{
    bc_text text;
    bc_text_init(&text, NULL);
    put_param(&text, param);
    tv_status status = text.failed ? TV_NO_MEMORY : out.write(out.user, text.ptr, text.len) ? TV_OK : TV_IO;
    bc_text_release(&text);
    return status;
}

tv_status tv_param_print(const tv_param *param, tv_writer out)
{
    TV_RETURN_COMPUTED(print_param(param, out));
}
