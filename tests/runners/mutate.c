/* mutate FILE SEED COUNT OUTDIR: writes COUNT mutants of a module, each with one thing wrong (or one thing merely
   different): a type, shape, attribute, operand, token, region end, version. Half of them are made through the writer
   and are well-formed containers; every fourth is a plain bit flip. For comparing verifiers; see
   tools/agree_reference.py. Mutants that the module structures cannot hold are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/module.h"

typedef struct mutator {
    bc_module *m;
    uint64_t state;
    bc_function *f;
    bc_op *op;
} mutator;

static unsigned below(mutator *k, uint64_t n)
{
    uint64_t x = k->state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (unsigned)((x ^ x >> 31) % n);
}

static bc_op *draw_op(mutator *k)
{
    bc_op *op = k->f->body->first;
    for (uint32_t i = below(k, k->f->op_count); i && op; i--)
        op = bc_next_op(op, k->f->body);
    return op;
}

/* A type of the module, sometimes with another element or size. */
static const bc_type *draw_type(mutator *k, const bc_type *now)
{
    if (!bc_is_tile(now) || below(k, 3) == 0)
        return k->m->types[below(k, k->m->type_count)];
    int64_t shape[8];
    uint32_t rank = now->rank > 7 ? 7 : now->rank;
    memcpy(shape, now->shape, rank * sizeof *shape);
    switch (below(k, 4)) {
    case 0: return bc_type_tile(k->m, bc_type_scalar(k->m, (bc_kind)below(k, BC_F8E5M2 + 1)), shape, rank);
    case 1:
        if (rank)
            shape[below(k, rank)] *= 2;
        break;
    case 2:
        if (rank)
            shape[below(k, rank)] = below(k, 5);
        break;
    default: shape[rank++] = 1;
    }
    return bc_type_tile(k->m, now->elem, shape, rank);
}

/* A value that is visible at the op: an argument of the function or an earlier result of the same block. */
static bc_value *draw_visible(mutator *k, const bc_op *op)
{
    uint32_t before = 0;
    for (const bc_op *o = op->block->first; o != op; o = o->next)
        before += o->result_count;
    uint32_t i = below(k, before + op->block->arg_count + k->f->body->arg_count + 1);
    if (i < before) {
        for (const bc_op *o = op->block->first;; o = o->next) {
            if (i < o->result_count)
                return &bc_results(o)[i];
            i -= o->result_count;
        }
    }
    i -= before;
    if (i < op->block->arg_count)
        return &op->block->args[i];
    return k->f->body->arg_count ? &k->f->body->args[i % k->f->body->arg_count] : NULL;
}

static bool change_operand(mutator *k)
{
    bc_value *value = k->op->operand_count ? draw_visible(k, k->op) : NULL;
    if (value)
        bc_operands(k->op)[below(k, k->op->operand_count)] = value;
    return value != NULL;
}

static bool change_result_type(mutator *k)
{
    if (!k->op->result_count)
        return false;
    bc_value *result = &bc_results(k->op)[below(k, k->op->result_count)];
    result->type = draw_type(k, result->type);
    return true;
}

static bool change_argument_type(mutator *k)
{
    bc_block *block = k->op->region_count ? bc_regions(k->op)[0] : NULL;
    if (!block || !block->arg_count)
        return false;
    bc_value *arg = &block->args[below(k, block->arg_count)];
    arg->type = draw_type(k, arg->type);
    return true;
}

static bool change_attribute(mutator *k)
{
    const bc_op_info *info = bc_info(k->op);
    if (!info->attr_rows)
        return false;
    unsigned i = below(k, info->attr_rows);
    const bc_row *row = &bc_attr_rows(info)[i];
    bc_attr *a = &bc_attrs(k->op)[i];
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_UNIT:
    case BC_ENC_BOOL: a->u ^= 1; return true;
    case BC_ENC_ENUM: {
        const bc_enum_value *value = bc_enum_at((bc_enum_id)row->enum_id, below(k, 9));
        a->u = row->arity == BC_OPTIONAL && below(k, 3) == 0 ? BC_ABSENT : value ? value->number : 0;
        return true;
    }
    case BC_ENC_VARINT32:
    case BC_ENC_VARINT64: a->u = below(k, 6); return true;
    case BC_ENC_CONST: a->blob = k->m->constants[below(k, k->m->constant_count)]; return true;
    case BC_ENC_STRING: a->string = k->m->strings[below(k, k->m->string_count)]; return true;
    case BC_ENC_I32S: {
        bc_ints *ints = bc_new(&k->m->arena, bc_ints, 1);
        int64_t *values = bc_new(&k->m->arena, int64_t, 8);
        uint32_t count = below(k, 2) ? a->ints->count : below(k, 4);
        for (uint32_t j = 0; j < 8; j++)
            values[j] = below(k, 4);
        *ints = (bc_ints){values, count > 8 ? 8 : count};
        a->ints = ints;
        return true;
    }
    case BC_ENC_TAGGED: {
        bc_tagged *t = bc_new(&k->m->arena, bc_tagged, 1);
        *t = *a->tagged;
        t->u.bits = t->tag == BC_TAG_DIV_BY ? below(k, 70) : t->u.bits;
        t->a = (int64_t)below(k, 300) - 150;
        t->b = (int64_t)below(k, 300) - 150;
        a->tagged = t;
        return true;
    }
    default: return false;
    }
}

/* The same op with one operand less or one doubled. */
static bool change_operand_count(mutator *k)
{
    bc_op *old = k->op;
    const bc_op_info *info = bc_info(old);
    if (old->region_count || info->mode == BC_MODE_PLAIN || info->mode == BC_MODE_NONE || !old->operand_count)
        return false;
    bool more = below(k, 2);
    uint32_t count = more ? old->operand_count + 1u : old->operand_count - 1u;
    bc_op *op = bc_op_new(k->m, (bc_opcode)old->opcode, old->result_count, count);
    for (uint32_t i = 0; i < old->result_count; i++)
        bc_results(op)[i].type = bc_results(old)[i].type;
    memcpy(bc_attrs(op), bc_attrs(old), old->attr_slots * sizeof(bc_attr));
    for (uint32_t i = 0; i < count; i++)
        bc_operands(op)[i] = bc_operands(old)[i < old->operand_count ? i : old->operand_count - 1u];
    if (info->mode == BC_MODE_SEGMENTED) {
        bc_segments s = bc_get_segments(old);
        unsigned last = info->operand_rows - 1u;
        if (!more && s.present >> last & 1)
            s.present &= (uint16_t) ~(1u << last);
        else if (more || s.count[0])
            s.count[0] = (uint16_t)(s.count[0] + (more ? 1 : -1));
        else
            return false;
        memcpy(&bc_attrs(op)[info->attr_rows], &s, sizeof s);
    }
    op->loc = old->loc;
    op->next = old->next;
    op->block = old->block;
    bc_block *block = old->block;
    if (block->last == old)
        block->last = op;
    if (block->first == old)
        block->first = op;
    else
        for (bc_op *o = block->first; o; o = o->next)
            if (o->next == old)
                o->next = op;
    for (bc_op *o = k->f->body->first; o; o = bc_next_op(o, k->f->body))
        for (uint32_t i = 0; i < o->operand_count; i++)
            if (bc_operands(o)[i]->op == old)
                bc_operands(o)[i] = &bc_results(op)[bc_operands(o)[i]->number];
    bc_function_number(k->f);
    return true;
}

static bool change_terminator(mutator *k)
{
    static const uint8_t ends[] = {OP_yield, OP_break, OP_continue, OP_return};
    if (!(bc_info(k->op)->traits & BC_TERMINATOR))
        return false;
    k->op->opcode = ends[below(k, TV_COUNT(ends))];
    return true;
}

/* Another op with the same shape of record. */
static bool change_opcode(mutator *k)
{
    const bc_op_info *old = bc_info(k->op);
    for (unsigned tries = 0; tries < 60; tries++) {
        unsigned code = below(k, OP_LIMIT);
        const bc_op_info *info = &bc_ops[code];
        if (info->name && info->mode == old->mode && info->operand_rows == old->operand_rows
            && info->attr_rows == old->attr_rows && info->result_rows == old->result_rows && !info->region_rows
            && !old->region_rows && info->since <= k->m->version && code != k->op->opcode
            && (!info->attr_rows || bc_attr_rows(info)[0].encoding == bc_attr_rows(old)[0].encoding)
            && info->attr_rows < 2) {
            k->op->opcode = (uint8_t)code;
            return true;
        }
    }
    return false;
}

static bool change_type_everywhere(mutator *k)
{
    bc_type *t = k->m->types[below(k, k->m->type_count)];
    if (t->shape && t->rank && below(k, 2)) {
        int64_t *shape = bc_new(&k->m->arena, int64_t, t->rank);
        memcpy(shape, t->shape, t->rank * sizeof *shape);
        shape[below(k, t->rank)] = (int64_t)below(k, 9) - 1;
        t->shape = shape;
        return true;
    }
    if (bc_is_tile_view(t)) {
        t->padding = (uint8_t)below(k, 5);
        return true;
    }
    return false;
}

static bool change_version(mutator *k)
{
    k->m->version = (bc_version)(1 + below(k, 5));
    return true;
}

static bool mutate(mutator *k)
{
    static bool (*const changes[])(mutator *) = {
        change_operand,   change_operand,         change_result_type,   change_result_type,   change_attribute,
        change_attribute, change_attribute,       change_argument_type, change_operand_count, change_terminator,
        change_opcode,    change_type_everywhere, change_version,
    };
    k->f = &k->m->functions[below(k, k->m->function_count)];
    k->op = draw_op(k);
    return k->op && changes[below(k, TV_COUNT(changes))](k);
}

static bool make_mutant(const uint8_t *bytes, size_t size, uint64_t seed, bc_text *out)
{
    mutator k = {.state = seed};
    if (seed % 4 == 0) {
        bc_text_bytes(out, bytes, size);
        out->ptr[below(&k, size)] ^= (char)(1u << below(&k, 8));
        return true;
    }
    if (tv_module_open(bytes, size, NULL, (tv_sink){0}, &k.m) != TV_OK || !k.m->function_count)
        return false;
    bool made = false;
    for (unsigned tries = 0; tries < 20 && !made; tries++)
        made = mutate(&k);
    made = made && tv_module_write(k.m, (tv_sink){0}, (tv_writer){out, bc_text_append}) == TV_OK;
    tv_module_close(k.m);
    return made && (out->len != size || memcmp(out->ptr, bytes, size) != 0);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: mutate FILE SEED COUNT OUTDIR\n");
        return 2;
    }
    FILE *f = fopen(argv[1], "rb");
    static uint8_t bytes[1 << 20];
    size_t size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (!f || fclose(f) != 0 || size == 0)
        return 2;
    const char *slash = strrchr(argv[1], '/');
    uint64_t seed = strtoull(argv[2], NULL, 10);
    for (long i = 0, count = atol(argv[3]); i < count; i++) {
        bc_text out;
        bc_text_init(&out, NULL);
        if (make_mutant(bytes, size, seed + (uint64_t)i, &out)) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s.%llu", argv[4], slash ? slash + 1 : argv[1],
                     (unsigned long long)seed + (uint64_t)i);
            FILE *o = fopen(path, "wb");
            if (!o || fwrite(out.ptr, 1, out.len, o) != out.len || fclose(o) != 0)
                return 2;
        }
        bc_text_release(&out);
    }
    return 0;
}
