/* Assigns specs to parameters, and makes their values. Targets are "a", "0", a name from --names, "b.1" for an item of
   a tuple, "xs[2]" for an array of a list. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/args/args.h"

static int shown(tv_str s)
{
    return s.len < 60 ? (int)s.len : 60;
}

/* ---- names ---- */

static bool parse_index(tv_str s, size_t *out)
{
    size_t value = 0;
    if (s.len == 0 || s.len > 9)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        value = value * 10 + (size_t)(s.ptr[i] - '0');
    }
    *out = value;
    return true;
}

/* Place of a parameter by its name in --names, its letter or its number. */
static bool find_param(const arg_set *set, tv_str name, size_t *out)
{
    for (size_t i = 0; i < set->name_count; i++)
        if (bc_str_eq(name, set->names[i])) {
            *out = i;
            return true;
        }
    const tv_param *param;
    for (size_t i = 0; (param = tv_signature_param(set->signature, i)) != NULL; i++)
        if (bc_str_is(name, param->name)) {
            *out = i;
            return true;
        }
    return parse_index(name, out) && *out < tv_signature_param_count(set->signature);
}

/* "a, b (x), c" for messages. */
static void list_params(const arg_set *set, bc_text *out)
{
    const tv_param *param;
    for (size_t i = 0; (param = tv_signature_param(set->signature, i)) != NULL && out->len < 200; i++) {
        bc_text_printf(out, "%s%s", i ? ", " : "", param->name);
        if (i < set->name_count)
            bc_text_printf(out, " (%.*s)", shown(set->names[i]), set->names[i].ptr);
    }
}

static bool unknown_target(const arg_set *set, tv_str target, io_error *error)
{
    bc_text list;
    bc_text_init(&list, NULL);
    list_params(set, &list);
    io_fail(error, "the kernel has no parameter '%.*s'; it has %s", shown(target), target.ptr,
            list.len || list.failed ? bc_text_words(&list) : "none");
    bc_text_release(&list);
    return false;
}

/* Parameter and, for "xs[2]", which array of it (SIZE_MAX: none was named). */
static bool resolve(const arg_set *set, tv_str target, const tv_param **out, size_t *out_array, io_error *error)
{
    tv_str rest = target;
    size_t index;
    *out_array = SIZE_MAX;
    if (rest.len && rest.ptr[rest.len - 1] == ']') {
        const char *open = memchr(rest.ptr, '[', rest.len);
        if (!open || !parse_index((tv_str){open + 1, (size_t)(rest.ptr + rest.len - 1 - open) - 1}, out_array))
            return unknown_target(set, target, error);
        rest.len = (size_t)(open - rest.ptr);
    }
    const char *dot = memchr(rest.ptr, '.', rest.len);
    tv_str first = {rest.ptr, dot ? (size_t)(dot - rest.ptr) : rest.len};
    if (!find_param(set, first, &index))
        return unknown_target(set, target, error);
    const tv_param *param = tv_signature_param(set->signature, index);
    while (dot) {
        rest = (tv_str){dot + 1, (size_t)(rest.ptr + rest.len - dot - 1)};
        dot = memchr(rest.ptr, '.', rest.len);
        bool has_items = param->kind == TV_PARAM_TUPLE || param->kind == TV_PARAM_STRUCT;
        if (!parse_index((tv_str){rest.ptr, dot ? (size_t)(dot - rest.ptr) : rest.len}, &index) || !has_items
            || index >= param->item_count)
            return unknown_target(set, target, error);
        param = &param->items[index];
    }
    *out = param;
    return true;
}

static arg_value *value_of(const arg_set *set, const tv_param *leaf)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->values[i].leaf == leaf)
            return &set->values[i];
    return NULL;
}

bool arg_set_find(const arg_set *set, tv_str target, arg_value **out_value, size_t *out_array, io_error *error)
{
    const tv_param *param;
    size_t array;
    if (!resolve(set, target, &param, &array, error))
        return false;
    arg_value *value = value_of(set, param);
    if (!value || param->kind == TV_PARAM_SCALAR)
        return io_fail(error, "parameter '%.*s' is not an array", shown(target), target.ptr);
    if (param->kind == TV_PARAM_LIST && array == SIZE_MAX)
        return io_fail(error, "'%s' is a list; say which array, as in %s[0]", value->name, value->name);
    if (param->kind == TV_PARAM_LIST ? array >= value->array_count : array != SIZE_MAX && array != 0)
        return io_fail(error, "'%.*s': '%s' has no such array", shown(target), target.ptr, value->name);
    *out_value = value;
    *out_array = array == SIZE_MAX ? 0 : array;
    return true;
}

/* ---- giving ---- */

bool arg_set_init(arg_set *set, bc_arena *arena, const tv_signature *signature, io_error *error)
{
    size_t count = tv_signature_leaf_count(signature);
    *set = (arg_set){.arena = arena, .signature = signature, .values = bc_new(arena, arg_value, count)};
    if (!set->values)
        return io_fail(error, "out of memory");
    set->count = count;
    for (size_t i = 0; i < set->count; i++) {
        const tv_param *leaf = tv_signature_leaf(signature, i);
        set->values[i] = (arg_value){.leaf = leaf, .name = leaf->name};
    }
    return true;
}

void arg_set_release(arg_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        for (size_t k = 0; k < set->values[i].array_count; k++)
            arg_array_free(&set->values[i].arrays[k]);
    set->count = 0;
}

bool arg_set_names(arg_set *set, tv_str names, io_error *error)
{
    size_t count = 0, limit = tv_signature_param_count(set->signature);
    tv_str *list = arg_split(set->arena, names, &count, error);
    if (!list)
        return false;
    if (count > limit)
        return io_fail(error, "%zu names for %zu parameters", count, limit);
    for (size_t i = 0; i < count; i++) {
        if (list[i].len == 0)
            return io_fail(error, "name %zu is empty", i);
        arg_value *value = value_of(set, tv_signature_param(set->signature, i));
        tv_str kept = bc_arena_dup(set->arena, list[i]);
        if (!kept.ptr)
            return io_fail(error, "out of memory");
        if (value)
            value->name = kept.ptr;
        list[i] = kept;
    }
    set->names = list;
    set->name_count = count;
    return true;
}

/* A constant may be named, if the value is the one that was compiled in. */
static bool check_constant(const tv_param *param, const arg_spec *spec, io_error *error)
{
    const tv_constant *c = &param->constant;
    io_error inner;
    uint64_t bits = 0;
    bool same = bc_str_eq(spec->text, c->text);
    if (!same && spec->form == ARG_NUMBER && c->kind == TV_CONSTANT_INT)
        same = arg_parse_value(spec->word, TV_I64, &bits, &inner) && (int64_t)bits == c->integer;
    if (!same && spec->form == ARG_NUMBER && c->kind == TV_CONSTANT_BOOL)
        same = arg_parse_value(spec->word, TV_BOOL, &bits, &inner) && (int64_t)bits == c->integer;
    if (!same && spec->form == ARG_NUMBER && c->kind == TV_CONSTANT_FLOAT)
        same = arg_parse_value(spec->word, TV_F64, &bits, &inner) && memcmp(&bits, &c->number, sizeof bits) == 0;
    return same
           || io_fail(error, "parameter '%s' is the constant %.*s in this kernel; for %.*s it must be exported again",
                      param->name, shown(c->text), c->text.ptr, shown(spec->text), spec->text.ptr);
}

static bool assign(arg_set *set, const tv_param *param, const arg_spec *spec, const char *folder, bool override,
                   io_error *error);

/* The items of a tuple: all of them, or those that are not constants. */
static bool assign_items(arg_set *set, const tv_param *param, const arg_spec *spec, const char *folder, bool override,
                         io_error *error)
{
    size_t wanted = 0, next = 0;
    for (size_t i = 0; i < param->item_count; i++)
        wanted += param->items[i].slot_count > 0;
    if (spec->form != ARG_LIST)
        return io_fail(error, "parameter '%s' is a tuple; write its items as (first, second)", param->name);
    bool all = spec->item_count == param->item_count;
    if (!all && spec->item_count != wanted)
        return io_fail(error, "parameter '%s' is a tuple of %zu, %zu of them no constants; %zu items were given",
                       param->name, param->item_count, wanted, spec->item_count);
    for (size_t i = 0; i < param->item_count; i++)
        if ((all || param->items[i].slot_count > 0)
            && !assign(set, &param->items[i], &spec->items[next++], folder, override, error))
            return false;
    return true;
}

static bool assign(arg_set *set, const tv_param *param, const arg_spec *spec, const char *folder, bool override,
                   io_error *error)
{
    switch (param->kind) {
    case TV_PARAM_TUPLE:
    case TV_PARAM_STRUCT: return assign_items(set, param, spec, folder, override, error);
    case TV_PARAM_CONSTANT: return check_constant(param, spec, error);
    case TV_PARAM_TENSOR_MAP:
    case TV_PARAM_STREAM: return io_fail(error, "parameter '%s' takes no value", param->name);
    case TV_PARAM_SCALAR:
    case TV_PARAM_ARRAY:
    case TV_PARAM_LIST:
    case TV_PARAM_POINTER: break;
    }
    arg_value *value = value_of(set, param);
    if (!value)
        return io_fail(error, "parameter '%s' takes no value", param->name);
    if (value->given && !override)
        return io_fail(error, "argument '%s' is given twice", value->name);
    value->given = true;
    value->spec = *spec;
    value->folder = folder;
    return true;
}

/* The next parameter that takes a value and has none. */
static const tv_param *next_param(arg_set *set)
{
    const tv_param *param;
    while ((param = tv_signature_param(set->signature, set->next)) != NULL) {
        set->next++;
        const arg_value *value = value_of(set, param);
        if (param->slot_count > 0 && !(value && value->given))
            return param;
    }
    return NULL;
}

bool arg_set_give(arg_set *set, tv_str target, tv_str text, const char *folder, bool override, io_error *error)
{
    const tv_param *param;
    size_t array = SIZE_MAX;
    arg_spec spec;
    if (target.len) {
        if (!resolve(set, target, &param, &array, error))
            return false;
        if (array != SIZE_MAX)
            return io_fail(error, "give '%s' as a list: %s=[first, second]", param->name, param->name);
    } else {
        param = next_param(set);
        if (!param)
            return io_fail(error, "'%.*s' is one argument more than the kernel takes", shown(text), text.ptr);
    }
    if (!arg_spec_parse(set->arena, text, &spec, error)) {
        io_error inner = *error;
        return io_fail(error, "argument '%s': %.400s", param->name, inner.text);
    }
    set->any = true;
    return assign(set, param, &spec, folder, override, error);
}

const arg_value *arg_set_missing(const arg_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (!set->values[i].given)
            return &set->values[i];
    return NULL;
}

/* ---- making ---- */

static bool named(const arg_value *value, size_t array, io_error *error)
{
    io_error inner = *error;
    if (value->leaf->kind == TV_PARAM_LIST)
        return io_fail(error, "argument '%s[%zu]': %.400s", value->name, array, inner.text);
    return io_fail(error, "argument '%s': %.400s", value->name, inner.text);
}

static bool is_alias(const arg_spec *spec)
{
    return spec->form == ARG_ALIAS;
}

/* Arrays of a value that are not aliases; aliases keep storage NULL until their turn. */
static bool make_arrays(const arg_set *set, const arg_context *context, arg_value *value, unsigned ordinal,
                        io_error *error)
{
    bool list = value->leaf->kind == TV_PARAM_LIST;
    if (list && value->spec.form != ARG_LIST) {
        io_fail(error, "a list is needed, as in [first.npy, second.npy]");
        return named(value, 0, error);
    }
    size_t count = list ? value->spec.item_count : 1;
    const arg_spec *specs = list ? value->spec.items : &value->spec;
    value->arrays = bc_new(set->arena, arg_array, count);
    if (!value->arrays)
        return io_fail(error, "out of memory");
    for (size_t i = 0; i < count; i++) {
        arg_array *array = &value->arrays[value->array_count++];
        if (!is_alias(&specs[i])
            && !arg_make_array(context, &specs[i], value->leaf->dtype, ordinal + (unsigned)i, array, error))
            return named(value, i, error);
        if (specs[i].form == ARG_NULL && value->leaf->kind != TV_PARAM_POINTER) {
            io_fail(error, "only raw pointers may be null");
            return named(value, i, error);
        }
    }
    return true;
}

/* An array that shares the memory of another. */
static bool make_alias(const arg_set *set, const arg_context *context, const arg_spec *spec, arg_array *out,
                       bool *out_done, io_error *error)
{
    arg_value *value;
    size_t index;
    if (!arg_set_find(set, spec->word, &value, &index, error))
        return false;
    if (index >= value->array_count)
        return io_fail(error, "'%.*s' has no memory to share", shown(spec->word), spec->word.ptr);
    const arg_array *of = &value->arrays[index];
    if (!of->storage)
        return true; /* an alias itself, which is made later */
    *out_done = true;
    return arg_make_alias(context, spec, of, out, error);
}

/* One round over the aliases; true while some were made. */
static bool make_aliases(const arg_set *set, const arg_context *context, bool *out_left, bool *out_made,
                         io_error *error)
{
    *out_left = *out_made = false;
    for (size_t i = 0; i < set->count; i++) {
        arg_value *value = &set->values[i];
        const arg_spec *specs = value->spec.form == ARG_LIST ? value->spec.items : &value->spec;
        for (size_t k = 0; k < value->array_count; k++) {
            bool done = false;
            if (!is_alias(&specs[k]) || value->arrays[k].storage)
                continue;
            if (!make_alias(set, context, &specs[k], &value->arrays[k], &done, error))
                return named(value, k, error);
            *out_left = *out_left || !done;
            *out_made = *out_made || done;
        }
    }
    return true;
}

bool arg_set_make(arg_set *set, const arg_context *context, io_error *error)
{
    unsigned ordinal = 0;
    for (size_t i = 0; i < set->count; i++) {
        arg_value *value = &set->values[i];
        arg_context here = *context;
        here.folder = value->folder;
        if (!value->given || value->spec.form == ARG_AUTO)
            continue;
        if (value->leaf->kind != TV_PARAM_SCALAR) {
            if (!make_arrays(set, &here, value, ordinal, error))
                return false;
            ordinal += (unsigned)value->array_count;
            continue;
        }
        value->dtype = value->leaf->dtype;
        if (!arg_make_scalar(&value->spec, value->dtype, &value->bits, error))
            return named(value, 0, error);
    }
    for (bool left = true, made = true; left;) {
        if (!made)
            return io_fail(error, "arguments share memory in a circle");
        if (!make_aliases(set, context, &left, &made, error))
            return false;
    }
    return true;
}
