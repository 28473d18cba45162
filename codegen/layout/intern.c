/* A table of layouts; see the header. */
#include "codegen/layout/intern.h"

typedef struct cg_layout_entry {
    cg_layout layout;
    struct cg_layout_entry *next;
} cg_layout_entry;

/* Adds words to an FNV-1a hash. */
static uint32_t add_words(uint32_t hash, const uint32_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * 16777619u;
    return hash;
}

/* Equal layouts (cg_layout_equal) have equal hashes. */
static uint32_t hash_of(const cg_layout *l)
{
    uint32_t hash = add_words(2166136261u, &(uint32_t){l->reg_bits}, 1);
    if (l->tile_bits) {
        hash = add_words(hash, l->reg, l->reg_bits);
        hash = add_words(hash, l->lane, CG_LANE_BITS);
        hash = add_words(hash, l->warp, l->warp_bits);
    }
    return hash ^ hash >> 16;
}

const cg_layout *cg_layout_intern(cg_layout_table *table, bc_arena *arena, const cg_layout *l)
{
    cg_layout_entry **bucket = &table->buckets[hash_of(l) % CG_LAYOUT_BUCKETS];
    for (const cg_layout_entry *e = *bucket; e; e = e->next)
        if (cg_layout_equal(&e->layout, l))
            return &e->layout;
    cg_layout_entry *e = bc_new(arena, cg_layout_entry, 1);
    if (!e)
        return NULL;
    *e = (cg_layout_entry){*l, *bucket};
    *bucket = e;
    return &e->layout;
}
