/* Random modules: what they and their entries are to the outside. Parameters, names, hints, globals. */
#include <stdio.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "bytecode/base/text.h"
#include "tools/tilevm/gen/inside.h"

/* ---- parameters ---- */

/* Now and then more than older PTX takes: they need 4352 bytes at most. */
uint32_t gen_draw_param_count(generator *g)
{
    return gen_chance(g, 3) ? 500 + gen_below(g, 700) : 3 + gen_below(g, 9);
}

/* Pointers first, to anything; one of them multicast at times, to what multimem ops take. Then every number that a
   scalar can be; of many parameters the later ones are no pointers, so that each pointer can have memory. */
const bc_type *gen_draw_param(generator *g, uint32_t i)
{
    enum {
        MULTIMEM = BC_SET(I32) | BC_SET(I64) | BC_SET(F16) | BC_SET(BF16) | BC_SET(F32) | BC_SET(F64),
        SCALARS = (BC_SET_NUMBER | BC_SET(I4)) & ~BC_SET(F4E2M1FN),
        MOST_POINTERS = 12
    };
    bool multicast = i == 2 && g->m->version >= BC_13_5 && gen_chance(g, 60);
    bool pointer = i < 3 || (i < MOST_POINTERS && gen_chance(g, 40));
    bc_kind_set set = multicast ? MULTIMEM : pointer ? BC_SET_NUMBER : SCALARS;
    if (!multicast && gen_chance(g, 80))
        set = BC_SET_INT | BC_SET_BASE_FLOAT;
    const bc_type *elem = gen_scalar_type(g, gen_draw_kind(g, set));
    if (pointer)
        elem = gen_ptr_type(g, elem, multicast ? BC_PtrAttr_multicast : BC_NO_PTR_ATTR);
    return bc_type_tile(g->m, elem, NULL, 0);
}

/* ---- names ---- */

const bc_string *gen_draw_name(generator *g, const char *prefix, unsigned number)
{
    static const char letters[] = "_$0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char name[160];
    size_t length = (size_t)snprintf(name, sizeof name, "%s_%u", prefix, number);
    if (gen_chance(g, 20)) {
        name[length++] = '_';
        for (unsigned more = gen_below(g, 120); more > 0; more--)
            name[length++] = letters[gen_below(g, sizeof letters - 1)];
    }
    return bc_string_add(g->m, (tv_str){name, length}, true);
}

/* ---- hints ---- */

/* A hint of that name; values are those that compilers read, and now and then others. */
static bc_entry draw_hint(generator *g, const char *name)
{
    bool tma = strcmp(name, "allow_tma") == 0;
    uint64_t value = gen_chance(g, 80) ? (uint64_t)1 << gen_below(g, 6) : gen_below(g, 40);
    return (bc_entry){.key = bc_string_add(g->m, bc_str(name), false),
                      .value = tma ? (bc_tagged){.tag = BC_TAG_BOOL, .u.bits = gen_below(g, 2)}
                                   : (bc_tagged){.tag = BC_TAG_INTEGER,
                                                 .type = gen_scalar_type(g, BC_I32),
                                                 .u.bits = value}};
}

/* Of one target: each hint that there is, or not. Keys stand in the order in which they are printed. */
static bc_tagged draw_target_hints(generator *g, unsigned opcode)
{
    static const char *const of_entries[] = {"num_cta_in_cga", "num_worker_warps_per_cta", "occupancy"};
    static const char *const of_ops[] = {"allow_tma", "latency"};
    bool views = opcode == OP_load_view_tko || opcode == OP_store_view_tko;
    const char *const *names = opcode == OP_LIMIT ? of_entries : views ? of_ops : of_ops + 1;
    unsigned known = opcode == OP_LIMIT ? TV_COUNT(of_entries) : views ? 2 : 1;
    bc_entry *entries = bc_new(&g->m->arena, bc_entry, TV_COUNT(of_entries));
    bc_tagged hints = {.tag = BC_TAG_DICTIONARY, .u.dict = {entries, 0}};
    for (unsigned i = 0; entries && i < known; i++)
        if (gen_chance(g, 50))
            entries[hints.u.dict.count++] = draw_hint(g, names[i]);
    return hints;
}

const bc_tagged *gen_hints(generator *g, unsigned opcode)
{
    static const char *const targets[] = {"default", "sm_100", "sm_120", "sm_80", "sm_90"};
    bc_tagged *hints = bc_new(&g->m->arena, bc_tagged, 1);
    bc_entry *entries = bc_new(&g->m->arena, bc_entry, TV_COUNT(targets));
    if (!hints || !entries)
        return NULL;
    *hints = (bc_tagged){.tag = BC_TAG_HINTS, .u.dict = {entries, 0}};
    for (unsigned first = gen_below(g, TV_COUNT(targets)), i = first; i < TV_COUNT(targets); i++)
        if (i == first || gen_chance(g, 30))
            entries[hints->u.dict.count++] = (bc_entry){.key = bc_string_add(g->m, bc_str(targets[i]), false),
                                                        .value = draw_target_hints(g, opcode)};
    return g->m->arena.failed ? NULL : hints;
}

/* ---- globals ---- */

bool gen_global(generator *g, unsigned number)
{
    int64_t shape = 1 << gen_below(g, 5);
    bc_kind_set set = gen_chance(g, 70) ? BC_SET_INT | BC_SET_BASE_FLOAT : BC_SET_NUMBER & ~BC_SET(F4E2M1FN);
    const bc_type *type = bc_type_tile(g->m, gen_scalar_type(g, gen_draw_kind(g, set)), &shape, 1);
    const bc_blob *value = type ? gen_draw_blob(g, type) : NULL;
    const bc_string *name = gen_draw_name(g, "table", number);
    if (!value || !name)
        return false;
    g->m->globals[g->m->global_count++] =
        (bc_global){.name = name, .type = type, .value = value, .alignment = (uint64_t)16 << gen_below(g, 5)};
    return true;
}
