/* Values as text. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/debug/debug.h"

enum { MOST_ELEMENTS = 200, MOST_SHORT = 8 };

/* ---- numbers and tuples ---- */

static void put_number(const vm_debug_value *v, bc_text *out)
{
    if (v->is_int)
        bc_text_printf(out, "%lld", (long long)v->i);
    else
        bc_text_printf(out, "%.9g", v->d);
}

/* True: the value is no array, and has been written. */
static bool put_simple(debug_session *s, const vm_debug_value *v, bc_text *out)
{
    if (v->form == VM_DEBUG_NUMBER)
        put_number(v, out);
    else if (v->form == VM_DEBUG_TUPLE)
        bc_text_printf(out, "(%lld, %lld, %lld)", (long long)v->tuple[0], (long long)v->tuple[1],
                       (long long)v->tuple[2]);
    else if (v->form == VM_DEBUG_VIEW)
        vm_debug_print_view(s->d, v, out);
    else if (v->rank == 0)
        vm_debug_print_element(s->d, v, vm_debug_element(v, 0), out);
    else
        return false;
    return true;
}

/* ---- elements ---- */

/* Brackets that open before or close after element i. */
static unsigned brackets(const vm_debug_value *v, uint64_t i)
{
    unsigned n = 0;
    uint64_t below = 1;
    for (uint32_t d = v->rank; d-- > 0;) {
        below *= (uint64_t)v->shape[d];
        n += i % below == 0;
    }
    return n;
}

static void repeat(bc_text *out, char c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        bc_text_char(out, c);
}

/* Rows on lines of their own. */
static void put_elements(debug_session *s, const vm_debug_value *v, uint64_t most, bc_text *out)
{
    uint64_t shown = v->count < most ? v->count : most;
    for (uint64_t i = 0; i < shown; i++) {
        unsigned open = brackets(v, i), close = brackets(v, i + 1);
        if (i && open) {
            bc_text_puts(out, ",\n");
            repeat(out, ' ', v->rank - open);
        } else if (i) {
            bc_text_puts(out, ", ");
        }
        repeat(out, '[', open);
        vm_debug_print_element(s->d, v, vm_debug_element(v, i), out);
        repeat(out, ']', close);
    }
    if (shown < v->count)
        bc_text_printf(out, ", ...\n%llu of %llu elements; --all shows all", (unsigned long long)shown,
                       (unsigned long long)v->count);
}

void debug_put_value(debug_session *s, const vm_debug_value *v, bool all, bc_text *out)
{
    if (put_simple(s, v, out)) {
        bc_text_char(out, '\n');
        return;
    }
    vm_debug_print_type(v, out);
    bc_text_char(out, '\n');
    put_elements(s, v, all ? UINT64_MAX : MOST_ELEMENTS, out);
    bc_text_char(out, '\n');
}

void debug_put_short(debug_session *s, const vm_debug_value *v, bc_text *out)
{
    if (put_simple(s, v, out))
        return;
    vm_debug_print_type(v, out);
    for (uint64_t i = 0; i < MOST_SHORT && i < v->count; i++) {
        bc_text_puts(out, i ? ", " : "  ");
        vm_debug_print_element(s->d, v, vm_debug_element(v, i), out);
    }
    bc_text_puts(out, v->count > MOST_SHORT ? ", ..." : "");
}

/* ---- arrays ---- */

bool debug_array(const vm_debug_value *v, arg_array *out, vm_debug_error *error)
{
    io_error problem = {{0}};
    size_t size = (size_t)v->count * vm_debug_item(v);
    if (v->form != VM_DEBUG_DATA)
        return debug_fail(error, "elements are wanted, of a tile or an array");
    void *data = malloc(size + 1);
    if (!data)
        return debug_fail(error, "out of memory");
    vm_debug_copy(v, data);
    const tv_tile tile = {.shape = v->shape, .rank = v->rank, .count = v->count, .data = data, .size = size};
    bool good = run_tile_array(&tile, v->dtype, out, &problem);
    free(data);
    return good || debug_fail(error, "%.300s", problem.text);
}

void debug_put_stats(debug_session *s, const vm_debug_value *v, bc_text *out)
{
    arg_array array = {0};
    arg_summary summary;
    vm_debug_error error;
    if (v->form != VM_DEBUG_DATA || v->kind == BC_PTR || !debug_array(v, &array, &error)) {
        debug_put_short(s, v, out);
        bc_text_char(out, '\n');
        return;
    }
    arg_array_summary(&array, &summary);
    vm_debug_print_type(v, out);
    run_put_figures(out, array.dtype, &summary);
    bc_text_char(out, '\n');
    arg_array_free(&array);
}

bool debug_put_comparison(debug_session *s, const vm_debug_value *v, const char *name, tv_str text, bool *same,
                          bc_text *out, vm_debug_error *error)
{
    arg_array got = {0}, want = {0};
    arg_spec spec;
    arg_comparison comparison = {0};
    bc_arena arena;
    io_error problem = {{0}};
    if (!debug_array(v, &got, error))
        return false;
    bc_arena_init(&arena, NULL, 0);
    const arg_context context = {.arena = &arena};
    arg_tolerance tolerance = run_tolerance(&s->job->options, got.dtype);
    bool good = arg_spec_parse(&arena, text, &spec, &problem) && arg_tolerance_keys(&spec, &tolerance, &problem)
                && arg_make_array(&context, &spec, got.dtype, 0, &want, &problem)
                && arg_compare(&got, &want, &tolerance, &comparison, &problem);
    if (good && s->answer)
        run_add_comparison(s->answer, json_object(s->answer, s->answer->root, "comparison"), &got, &comparison);
    if (good && comparison.wrong) {
        arg_comparison_print(out, name, &got, &comparison);
    } else if (good) {
        bc_text_printf(out, "%s: the same, ", name);
        arg_comparison_print_tolerance(out, &comparison);
        bc_text_char(out, '\n');
    }
    *same = good && !comparison.wrong;
    arg_comparison_free(&comparison);
    arg_array_free(&got);
    arg_array_free(&want);
    bc_arena_release(&arena);
    return good || debug_fail(error, "%.380s", problem.text);
}
