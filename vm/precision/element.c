/* The exact element of a result: what it would be, how far the result is from it, and which op is to blame. */
#include "vm/precision/precision.h"

/* An op amplifies the errors of its operands if they grow by at least this factor: 4 bits. */
enum { MUCH = 16 };

/* ---- units ---- */

/* 2^exponent, for exponents of normal doubles and below. */
static double power(int exponent)
{
    return exponent >= -1022 ? ldexp(1, exponent) : ldexp(ldexp(1, -1022), exponent + 1022);
}

double vm_ulps(const bc_float_format *format, double distance, double a, double b)
{
    double larger = fmax(fabs(a), fabs(b));
    int exponent = format->min_exponent;
    if (distance == 0 || !vm_is_finite(distance) || !vm_is_finite(larger))
        return fabs(distance);
    if (larger > 0 && ilogb(larger) > exponent)
        exponent = ilogb(larger);
    return fabs(distance) / power(exponent - format->mantissa_bits);
}

/* Relative to the larger of the two. */
static double relative(double distance, double a, double b)
{
    double larger = fmax(fabs(a), fabs(b));
    return distance == 0 ? 0 : larger > 0 ? fabs(distance) / larger : 1;
}

void vm_note_error(vm_error *e, double ulps, uint64_t block, uint64_t element, double value, double exact)
{
    bool is_worst = ulps > e->worst;
    if (!vm_is_finite(ulps))
        e->infinite++;
    else
        e->sum += ulps;
    if (!is_worst)
        return;
    e->worst = ulps;
    e->block = block;
    e->element = element;
    e->value = value;
    e->exact = exact;
}

/* ---- blame ---- */

/* Parts of an error, by the op whose rounding brought them. */
typedef struct parts {
    uint32_t origin[1 + VM_EXACT_OPERANDS];
    double share[1 + VM_EXACT_OPERANDS];
    uint32_t count;
} parts;

static void add_part(parts *p, uint32_t origin, double share)
{
    uint32_t i = 0;
    if (!origin || share == 0)
        return;
    while (i < p->count && p->origin[i] != origin)
        i++;
    if (i == p->count) {
        p->origin[p->count] = origin;
        p->share[p->count++] = 0;
    }
    p->share[i] = vm_is_finite(share) ? p->share[i] + share : fabs(share);
}

static void take_largest(const parts *p, vm_exact *out)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!out->origin || fabs(p->share[i]) > fabs(out->share)) {
            out->origin = p->origin[i];
            out->share = p->share[i];
        }
}

/* The part of an operand's effect on the result that comes from the operand's origin. */
static double share_of(const vm_source *s)
{
    double error = vm_wide_distance(s->real, s->exact.x);
    double share = error != 0 ? s->effect * (s->exact.share / error) : 0;
    return vm_is_finite(s->effect) && vm_is_finite(share) ? share : (double)INFINITY;
}

/* The operand whose error moves the result most; NULL: none. */
static const vm_source *largest_source(const vm_source *sources, uint32_t count)
{
    const vm_source *most = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (sources[i].effect != 0 && (!most || fabs(sources[i].effect) > fabs(most->effect)))
            most = &sources[i];
    return most;
}

/* Factor by which the relative errors of the operands grow in the op, apart from its rounding; 0: the operands have no
   errors. */
static double growth_of(vm_wide pure, vm_wide full, const vm_source *sources, uint32_t count)
{
    double before = 0, after = relative(vm_wide_distance(pure, full), pure.hi, full.hi);
    for (uint32_t i = 0; i < count; i++)
        before = fmax(before, relative(vm_wide_distance(sources[i].real, sources[i].exact.x), sources[i].real.hi,
                                       sources[i].exact.x.hi));
    return before > 0 && vm_is_finite(before) && vm_is_finite(after) ? after / before : 0;
}

static void note_growth(vm_loss *loss, double growth, uint64_t block, uint64_t element, double value, double exact)
{
    loss->grown++;
    vm_note_error(&loss->growth, growth, block, element, value, exact);
}

/* How the errors of operands reach the result. */
static void inherit(vm_frame *f, const vm_maker *m, size_t element, double real, vm_wide pure, vm_wide full,
                    const vm_source *sources, uint32_t count, parts *p, vm_exact *out)
{
    const vm_source *most = largest_source(sources, count);
    double inherited = fabs(vm_wide_distance(pure, full));
    for (uint32_t i = 0; i < count; i++)
        if (sources[i].effect != 0)
            add_part(p, sources[i].exact.origin, share_of(&sources[i]));
    if (!most || inherited < fabs(vm_wide_distance(vm_wide_of(real), pure)))
        return;
    double growth = growth_of(pure, full, sources, count);
    out->growth = most->exact.growth;
    out->amplifier = most->exact.amplifier;
    if (growth < MUCH)
        return;
    note_growth(&vm_precision_of(f)->ops[m->op], growth, f->block_index, element, real, full.hi);
    if (growth > (double)out->growth) {
        out->growth = (float)growth;
        out->amplifier = m->op + 1;
    }
}

/* ---- elements ---- */

static bool all_finite(const vm_source *sources, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!vm_is_finite(sources[i].real.hi))
            return false;
    return true;
}

vm_exact vm_exact_make(vm_frame *f, const vm_maker *m, size_t element, double real, vm_wide pure, vm_wide full,
                       const vm_source *sources, uint32_t count)
{
    vm_loss *loss = &vm_precision_of(f)->ops[m->op];
    vm_exact out = {.x = full};
    parts p = {.count = 0};
    double introduced = vm_wide_distance(vm_wide_of(real), pure), error = vm_wide_distance(vm_wide_of(real), full);
    loss->elements++;
    if (!vm_is_finite(real) && all_finite(sources, count))
        loss->overflows++;
    if (introduced == 0 && error == 0)
        return out;
    add_part(&p, m->op + 1, introduced);
    inherit(f, m, element, real, pure, full, sources, count, &p, &out);
    take_largest(&p, &out);
    vm_note_error(&loss->introduced, vm_ulps(m->format, introduced, real, pure.hi), f->block_index, element, real,
                  pure.hi);
    vm_note_error(&loss->accumulated, vm_ulps(m->format, error, real, full.hi), f->block_index, element, real, full.hi);
    return out;
}

void vm_note_decision(vm_frame *f, const vm_maker *m, size_t element, double value, double exact)
{
    vm_loss *loss = &vm_precision_of(f)->ops[m->op];
    if (!loss->decisions++)
        vm_note_error(&loss->decided, 1, f->block_index, element, value, exact);
}
