/* Numbers of arrays as JSON: what an array holds, and how it differs from another one. */
#include <math.h>
#include <stdio.h>

#include "bytecode/number/number.h"
#include "tools/tilevm/run/run.h"

void run_add_hex(json_doc *doc, cJSON *parent, const char *key, uint64_t value, unsigned bytes)
{
    char text[24];
    snprintf(text, sizeof text, "%0*llx", (int)bytes * 2, (unsigned long long)value);
    json_text(doc, parent, key, text);
}

void run_add_number(json_doc *doc, cJSON *parent, const char *key, tv_dtype dtype, uint64_t bits)
{
    double real = arg_value_of(dtype, bits);
    bc_text text;
    if (bc_dtype_is_float(dtype) && isfinite(real)) {
        json_real(doc, parent, key, real);
    } else if (!bc_dtype_is_float(dtype) && bc_dtypes[dtype].is_signed) {
        json_int(doc, parent, key, bc_int_sign_extend(bits, bc_kind_bits(bc_dtypes[dtype].kind)));
    } else if (!bc_dtype_is_float(dtype) && bits <= INT64_MAX) {
        json_int(doc, parent, key, (int64_t)bits);
    } else {
        bc_text_init(&text, NULL);
        arg_print_value(&text, dtype, bits);
        json_made(doc, parent, key, &text);
        bc_text_release(&text);
    }
}

void run_add_figures(json_doc *doc, cJSON *item, tv_dtype dtype, const arg_summary *s)
{
    if (s->has_range) {
        run_add_number(doc, item, "min", dtype, s->min);
        json_real(doc, item, "mean", s->mean);
        run_add_number(doc, item, "max", dtype, s->max);
    }
    json_uint(doc, item, "nan", s->nan_count);
    json_uint(doc, item, "inf", s->inf_count);
}

static void add_index(json_doc *doc, cJSON *parent, const arg_array *array, uint64_t place)
{
    int64_t index[TV_MAX_RANK];
    cJSON *list = json_array(doc, parent, "index");
    arg_index_of(array, place, index);
    for (uint32_t i = 0; i < array->ndim; i++)
        json_int(doc, list, NULL, index[i]);
}

void run_add_difference(json_doc *doc, cJSON *item, const arg_array *array, const arg_difference *d)
{
    add_index(doc, item, array, d->place);
    run_add_number(doc, item, "got", array->dtype, d->got);
    run_add_number(doc, item, "want", array->dtype, d->want);
    run_add_hex(doc, item, "got_bits", d->got, array->item);
    run_add_hex(doc, item, "want_bits", d->want, array->item);
    if (d->ulp != UINT64_MAX)
        json_uint(doc, item, "ulp", d->ulp);
}

void run_add_tolerance(json_doc *doc, cJSON *item, const arg_comparison *c)
{
    json_text(doc, item, "mode", arg_mode_name(c->tolerance.mode));
    json_real(doc, item, "rtol", c->tolerance.rtol);
    json_real(doc, item, "atol", c->tolerance.atol);
    if (!(c->slack > 0))
        return;
    json_real(doc, item, "sum_atol", c->slack);
    json_real(doc, item, "sum_terms", c->tolerance.terms);
    json_text(doc, item, "sum_dtype", tv_dtype_name(c->tolerance.sum_dtype));
}

void run_add_comparison(json_doc *doc, cJSON *item, const arg_array *got, const arg_comparison *c)
{
    run_add_tolerance(doc, item, c);
    json_uint(doc, item, "count", c->count);
    json_uint(doc, item, "wrong", c->wrong);
    cJSON *worst = json_array(doc, item, "worst");
    for (unsigned k = 0; k < c->worst_count; k++)
        run_add_difference(doc, json_object(doc, worst, NULL), got, &c->worst[k]);
}
