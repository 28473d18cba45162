/* Which ops of two functions are each other's. They are aligned in three passes over what is not aligned yet: first ops
   with the same data flow (the op, its fields and all that leads to its operands), then ops with the same fields, then
   ops with the same mnemonic. */
#include "tools/tilevm/diff/align.h"

#include "tools/tilevm/diff/lcs.h"
#include "tools/tilevm/diff/same.h"

static uint64_t own_hash(const bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    const bc_row *rows = bc_attr_rows(info);
    uint64_t h = mix(op->opcode, op->operand_count);
    for (uint32_t i = 0; i < op->result_count; i++)
        h = mix_type(h, bc_results(op)[i].type);
    for (unsigned i = 0; i < info->attr_rows; i++)
        h = mix_attr(h, &rows[i], flat_first_type(op), &bc_attrs(op)[i]);
    return h;
}

/* Positions and hashes of the values of a block's arguments; `parent` is the hash of the op it belongs to. */
static void enter_block(flat_function *flat, const bc_block *block, uint32_t position, uint64_t parent, unsigned region)
{
    for (uint32_t i = 0; i < block->arg_count; i++) {
        const bc_value *v = &block->args[i];
        flat->position[v->id] = position;
        flat->values[v->id] = mix_type(mix(mix(parent, region), i), v->type);
    }
}

/* Position of the op that the op at `at` stands in. It is known for all before it, and the op before is either that op
   or inside it. */
static uint32_t find_parent(const flat_function *flat, uint32_t at)
{
    const bc_op *parent = flat->ops[at]->block->parent;
    uint32_t p = at;
    if (!parent)
        return FLAT_NONE;
    for (p--; p != FLAT_NONE && flat->ops[p] != parent;)
        p = flat->parent[p];
    return p;
}

bool flat_open(bc_arena *arena, const bc_function *f, flat_function *flat)
{
    *flat = (flat_function){.f = f};
    uint32_t ops = f->op_count, values = f->value_count;
    flat->ops = bc_new(arena, const bc_op *, ops);
    flat->full = bc_new(arena, uint64_t, ops);
    flat->own = bc_new(arena, uint64_t, ops);
    flat->shallow = bc_new(arena, uint64_t, ops);
    flat->parent = bc_new(arena, uint32_t, ops);
    flat->pair = bc_new(arena, uint32_t, ops);
    flat->values = bc_new(arena, uint64_t, values);
    flat->position = bc_new(arena, uint32_t, values);
    flat->other = bc_new(arena, const bc_value *, values);
    if (arena->failed)
        return false;
    enter_block(flat, f->body, FLAT_NONE, 0, 0);
    for (const bc_op *op = f->body->first; op && flat->count < ops; op = bc_next_op(op, f->body)) {
        uint32_t at = flat->count++;
        flat->ops[at] = op;
        uint32_t parent = flat->parent[at] = find_parent(flat, at);
        uint64_t h = flat->own[at] = own_hash(op), outer = parent == FLAT_NONE ? 0 : flat->own[parent];
        flat->shallow[at] = mix(h, outer);
        for (uint32_t i = 0; i < op->operand_count; i++)
            h = mix(h, flat->values[bc_operands(op)[i]->id]);
        flat->full[at] = mix(h, outer);
        flat->pair[at] = FLAT_NONE;
        for (uint32_t i = 0; i < op->result_count; i++) {
            flat->values[bc_results(op)[i].id] = mix(h, i);
            flat->position[bc_results(op)[i].id] = at;
        }
        for (unsigned i = 0; i < op->region_count; i++)
            if (bc_regions(op)[i])
                enter_block(flat, bc_regions(op)[i], at, h, i);
    }
    return true;
}

/* ---- aligning ---- */

/* The key by which ops pair in each pass. */
static uint64_t key_of(const flat_function *flat, uint32_t at, unsigned pass)
{
    return pass == 0 ? flat->full[at] : pass == 1 ? flat->shallow[at] : flat->ops[at]->opcode;
}

/* Pairs what is unpaired inside a gap between pairs. scratch has room for the keys and marks of both sides. */
static bool align_gap(flat_function *a, uint32_t a0, uint32_t a1, flat_function *b, uint32_t b0, uint32_t b1,
                      unsigned pass, uint64_t *keys, uint8_t *marks)
{
    uint32_t n = a1 - a0, m = b1 - b0;
    if (!n || !m)
        return true;
    uint64_t *keys_b = keys + n;
    uint8_t *marks_b = marks + n;
    for (uint32_t i = 0; i < n; i++)
        keys[i] = key_of(a, a0 + i, pass);
    for (uint32_t i = 0; i < m; i++)
        keys_b[i] = key_of(b, b0 + i, pass);
    if (!lcs_mark(keys, n, keys_b, m, marks, marks_b))
        return false;
    for (uint32_t i = 0, j = 0;; i++, j++) {
        while (i < n && !marks[i])
            i++;
        while (j < m && !marks_b[j])
            j++;
        if (i == n || j == m)
            return true;
        a->pair[a0 + i] = b0 + j;
        b->pair[b0 + j] = a0 + i;
    }
}

bool flat_align(bc_arena *arena, flat_function *a, flat_function *b)
{
    size_t total = (size_t)a->count + b->count;
    uint64_t *keys = bc_new(arena, uint64_t, total);
    uint8_t *marks = bc_new(arena, uint8_t, total);
    if (!keys || !marks)
        return false;
    for (unsigned pass = 0; pass < 3; pass++) {
        uint32_t i = 0, j = 0;
        while (i < a->count || j < b->count) {
            uint32_t i0 = i, j0 = j;
            while (i < a->count && a->pair[i] == FLAT_NONE)
                i++;
            while (j < b->count && b->pair[j] == FLAT_NONE)
                j++;
            if (!align_gap(a, i0, i, b, j0, j, pass, keys, marks))
                return false;
            i += i < a->count;
            j += j < b->count;
        }
    }
    return true;
}

/* Values of paired ops, and arguments of their blocks, stand for each other. */
static void pair_values(const flat_function *a, const bc_value *av, uint32_t an, const bc_value *bv, uint32_t bn)
{
    for (uint32_t i = 0; i < an && i < bn; i++)
        a->other[av[i].id] = &bv[i];
}

void flat_pair_values(const flat_function *a, const flat_function *b)
{
    pair_values(a, a->f->body->args, a->f->body->arg_count, b->f->body->args, b->f->body->arg_count);
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->pair[i] == FLAT_NONE)
            continue;
        const bc_op *x = a->ops[i], *y = b->ops[a->pair[i]];
        pair_values(a, bc_results(x), x->result_count, bc_results(y), y->result_count);
        for (unsigned r = 0; r < x->region_count; r++) {
            const bc_block *xb = bc_regions(x)[r], *yb = bc_regions(y)[r];
            if (xb && yb)
                pair_values(a, xb->args, xb->arg_count, yb->args, yb->arg_count);
        }
    }
}
