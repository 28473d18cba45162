/* Building blocks of a module: tables with interning, ops, blocks, walking. */
#include "bytecode/module.h"

#include <string.h>

#include "bytecode/base/text.h"

bc_module *bc_module_new(const tv_open_options *options, bc_version version)
{
    static const tv_open_options defaults = {0};
    if (!options)
        options = &defaults;
    bc_arena arena;
    bc_arena_init(&arena, options->allocator, options->memory_limit);
    bc_module *m = bc_new(&arena, bc_module, 1);
    if (!m) {
        bc_arena_release(&arena);
        return NULL;
    }
    m->arena = arena;
    m->version = version;
    m->strict = options->strict;
    return m;
}

void tv_module_close(tv_module *m)
{
    if (!m)
        return;
    bc_arena arena = m->arena; /* the module lies in its own arena */
    bc_arena_release(&arena);
}

unsigned tv_module_minor(const tv_module *m)
{
    return m->version;
}

void tv_module_memory(const tv_module *m, size_t *out_bytes, size_t *out_peak)
{
    *out_bytes = *out_peak = m->arena.held; /* an arena never shrinks */
}

/* ---- interning ---- */

static uint32_t hash_bytes(uint32_t h, const void *ptr, size_t len)
{
    const uint8_t *p = ptr;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x01000193u;
    return h;
}

static uint32_t hash_u64(uint32_t h, uint64_t v)
{
    uint64_t x = (v + h) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(x ^ (x >> 32));
}

static uint32_t hash_ints(uint32_t h, const int64_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        h = hash_u64(h, (uint64_t)p[i]);
    return hash_u64(h, n);
}

/* How many of the arrays of a type there are, by kind. */
static uint32_t dim_map_count(const bc_type *t)
{
    return t->kind == BC_PARTITION_VIEW || t->kind == BC_STRIDED_VIEW ? t->result_count : 0;
}
static uint32_t stride_count(const bc_type *t)
{
    return t->kind == BC_TENSOR_VIEW ? t->result_count : t->kind == BC_STRIDED_VIEW ? t->stride_count : 0;
}
static uint32_t member_count(const bc_type *t)
{
    return t->kind == BC_FUNCTION ? t->rank + t->result_count : 0;
}

static uint32_t hash_type(const bc_type *t)
{
    uint32_t h = hash_u64(t->kind, (uint64_t)t->padding << 8 | t->ptr_attr);
    h = hash_u64(h, t->elem ? t->elem->index + 1u : 0);
    h = hash_u64(h, (uint64_t)t->rank << 32 | t->result_count);
    h = hash_u64(h, t->sparse_dim);
    if (t->shape)
        h = hash_ints(h, t->shape, t->rank);
    if (t->strides)
        h = hash_ints(h, t->strides, stride_count(t));
    if (t->dim_map)
        h = hash_ints(h, t->dim_map, dim_map_count(t));
    for (uint32_t i = 0; i < member_count(t); i++)
        h = hash_u64(h, t->members[i]->index);
    return h;
}

static bool same_ints(const int64_t *a, const int64_t *b, uint32_t n)
{
    return n == 0 || a == b || memcmp(a, b, n * sizeof *a) == 0;
}

static bool same_type(const bc_type *a, const bc_type *b)
{
    return a->kind == b->kind && a->padding == b->padding && a->ptr_attr == b->ptr_attr && a->rank == b->rank
           && a->result_count == b->result_count && a->stride_count == b->stride_count && a->sparse_dim == b->sparse_dim
           && a->elem == b->elem && same_ints(a->shape, b->shape, a->shape ? a->rank : 0)
           && same_ints(a->strides, b->strides, stride_count(a)) && same_ints(a->dim_map, b->dim_map, dim_map_count(a))
           && (member_count(a) == 0 || memcmp(a->members, b->members, member_count(a) * sizeof *a->members) == 0);
}

/* Slots hold table index + 1. Finds the slot of an entry for which `same` holds, or a free one. */
typedef bool same_fn(const bc_module *m, uint32_t index, const void *key);
typedef uint32_t hash_fn(const bc_module *m, uint32_t index);

static uint32_t *find_slot(const bc_module *m, uint32_t *slots, size_t size, uint32_t hash, same_fn *same,
                           const void *key)
{
    size_t i = hash & (size - 1);
    while (slots[i] && !same(m, slots[i] - 1, key))
        i = (i + 1) & (size - 1);
    return &slots[i];
}

/* Makes the hash large enough for count + 1 entries, rebuilding it when needed. */
static bool reserve_slots(bc_module *m, uint32_t **slots, size_t *size, size_t count, hash_fn *hash)
{
    if (*slots && count + 1 <= *size / 2)
        return true;
    size_t larger = 16;
    while (larger / 2 < count + 1)
        larger *= 2;
    uint32_t *fresh = bc_new(&m->arena, uint32_t, larger);
    if (!fresh)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        size_t at = hash(m, i) & (larger - 1);
        while (fresh[at])
            at = (at + 1) & (larger - 1);
        fresh[at] = i + 1;
    }
    *slots = fresh;
    *size = larger;
    return true;
}

static uint32_t hash_type_at(const bc_module *m, uint32_t i)
{
    return hash_type(m->types[i]);
}
static bool same_type_at(const bc_module *m, uint32_t i, const void *key)
{
    return same_type(m->types[i], key);
}

static uint32_t hash_str(tv_str s)
{
    return hash_bytes(0x811c9dc5u, s.ptr, s.len);
}
static uint32_t hash_string_at(const bc_module *m, uint32_t i)
{
    return hash_str(m->strings[i]->s);
}
static bool same_string_at(const bc_module *m, uint32_t i, const void *key)
{
    return bc_str_eq(m->strings[i]->s, *(const tv_str *)key);
}
static tv_str blob_str(const bc_blob *b)
{
    return (tv_str){(const char *)b->ptr, b->len};
}
static uint32_t hash_blob_at(const bc_module *m, uint32_t i)
{
    return hash_str(blob_str(m->constants[i]));
}
static bool same_blob_at(const bc_module *m, uint32_t i, const void *key)
{
    return bc_str_eq(blob_str(m->constants[i]), *(const tv_str *)key);
}

static const int64_t *copy_ints(bc_module *m, const int64_t *p, uint32_t n)
{
    int64_t *copy = bc_new(&m->arena, int64_t, n);
    if (copy && n)
        memcpy(copy, p, n * sizeof *p);
    return copy;
}

/* How deep a type is nested, and how many types stand in its text. */
static void measure_type(const bc_type *t, unsigned *out_depth, uint64_t *out_parts)
{
    *out_depth = 0;
    *out_parts = 1;
    uint32_t members = member_count(t);
    for (uint32_t i = t->elem ? 0 : 1; i <= members; i++) {
        const bc_type *inner = i == 0 ? t->elem : t->members[i - 1];
        *out_depth = *out_depth > inner->depth ? *out_depth : inner->depth + 1u;
        *out_parts += inner->parts;
    }
}

const char *bc_type_problem(const bc_type *proto)
{
    unsigned depth;
    uint64_t parts;
    measure_type(proto, &depth, &parts);
    _Static_assert(BC_MAX_TYPE_DEPTH == 16 && BC_MAX_TYPE_PARTS == 1 << 20, "the messages name the limits");
    return depth > BC_MAX_TYPE_DEPTH   ? "types are nested deeper than 16"
           : parts > BC_MAX_TYPE_PARTS ? "a type is made of more than 1048576 others"
                                       : NULL;
}

const bc_type *bc_type_add(bc_module *m, const bc_type *proto)
{
    if (!reserve_slots(m, &m->type_hash, &m->type_hash_size, m->type_count, hash_type_at))
        return NULL;
    uint32_t *slot = find_slot(m, m->type_hash, m->type_hash_size, hash_type(proto), same_type_at, proto);
    if (*slot)
        return m->types[*slot - 1];
    bc_type **grown = bc_grow(&m->arena, m->types, m->type_count, &m->type_capacity, bc_type *);
    bc_type *t = bc_new(&m->arena, bc_type, 1);
    if (!grown || !t)
        return NULL;
    m->types = grown;
    *t = *proto;
    t->index = (uint32_t)m->type_count;
    unsigned depth;
    uint64_t parts;
    measure_type(proto, &depth, &parts);
    t->depth = (uint8_t)depth;
    t->parts = (uint32_t)parts;
    if (proto->shape)
        t->shape = copy_ints(m, proto->shape, proto->rank);
    if (proto->strides)
        t->strides = copy_ints(m, proto->strides, stride_count(proto));
    if (proto->dim_map)
        t->dim_map = copy_ints(m, proto->dim_map, dim_map_count(proto));
    uint32_t members = member_count(proto);
    if (proto->members) {
        const bc_type **copy = bc_new(&m->arena, const bc_type *, members);
        if (copy && members)
            memcpy(copy, proto->members, members * sizeof *copy);
        t->members = copy;
    }
    if (m->arena.failed)
        return NULL;
    m->types[m->type_count++] = t;
    *slot = (uint32_t)m->type_count;
    return t;
}

const bc_string *bc_string_add(bc_module *m, tv_str s, bool copy)
{
    if (!reserve_slots(m, &m->string_hash, &m->string_hash_size, m->string_count, hash_string_at))
        return NULL;
    uint32_t *slot = find_slot(m, m->string_hash, m->string_hash_size, hash_str(s), same_string_at, &s);
    if (*slot)
        return m->strings[*slot - 1];
    bc_string **grown = bc_grow(&m->arena, m->strings, m->string_count, &m->string_capacity, bc_string *);
    bc_string *entry = bc_new(&m->arena, bc_string, 1);
    if (!grown || !entry)
        return NULL;
    m->strings = grown;
    *entry = (bc_string){.s = copy ? bc_arena_dup(&m->arena, s) : s, .index = (uint32_t)m->string_count};
    if (m->arena.failed)
        return NULL;
    m->strings[m->string_count++] = entry;
    *slot = (uint32_t)m->string_count;
    return entry;
}

const bc_blob *bc_blob_add(bc_module *m, const void *ptr, size_t len, bool copy)
{
    tv_str key = {ptr, len};
    if (!reserve_slots(m, &m->constant_hash, &m->constant_hash_size, m->constant_count, hash_blob_at))
        return NULL;
    uint32_t *slot = find_slot(m, m->constant_hash, m->constant_hash_size, hash_str(key), same_blob_at, &key);
    if (*slot)
        return m->constants[*slot - 1];
    bc_blob **grown = bc_grow(&m->arena, m->constants, m->constant_count, &m->constant_capacity, bc_blob *);
    bc_blob *entry = bc_new(&m->arena, bc_blob, 1);
    if (!grown || !entry)
        return NULL;
    m->constants = grown;
    if (copy)
        key = bc_arena_dup(&m->arena, key);
    *entry = (bc_blob){.ptr = (const uint8_t *)key.ptr, .len = len, .index = (uint32_t)m->constant_count};
    if (m->arena.failed)
        return NULL;
    m->constants[m->constant_count++] = entry;
    *slot = (uint32_t)m->constant_count;
    return entry;
}

static bool same_di(const bc_di *x, const bc_di *y)
{
    return x->tag == y->tag && x->a == y->a && x->b == y->b && x->name == y->name && x->other == y->other
           && x->line == y->line && x->column == y->column && x->flags == y->flags;
}

static uint32_t hash_di(const bc_di *d)
{
    uint32_t h = hash_u64(d->tag, (uint64_t)d->a << 32 | d->b);
    h = hash_u64(h, d->name ? d->name->index + 1u : 0);
    h = hash_u64(h, d->other ? d->other->index + 1u : 0);
    return hash_u64(h, (uint64_t)d->line << 32 | (d->column ^ d->flags << 16));
}

static uint32_t hash_di_at(const bc_module *m, uint32_t i)
{
    return hash_di(&m->debug[i]);
}
static bool same_di_at(const bc_module *m, uint32_t i, const void *key)
{
    return same_di(&m->debug[i], key);
}

uint32_t bc_di_add(bc_module *m, const bc_di *proto)
{
    if (!reserve_slots(m, &m->debug_hash, &m->debug_hash_size, m->debug_count, hash_di_at))
        return 0;
    uint32_t *slot = find_slot(m, m->debug_hash, m->debug_hash_size, hash_di(proto), same_di_at, proto);
    if (*slot)
        return *slot;
    bc_di *grown = bc_grow(&m->arena, m->debug, m->debug_count, &m->debug_capacity, bc_di);
    if (!grown)
        return 0;
    m->debug = grown;
    m->debug[m->debug_count++] = *proto;
    *slot = (uint32_t)m->debug_count;
    return *slot;
}

const bc_type *bc_type_scalar(bc_module *m, bc_kind kind)
{
    return bc_type_add(m, &(bc_type){.kind = (uint8_t)kind, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR});
}

const bc_type *bc_type_tile(bc_module *m, const bc_type *elem, const int64_t *shape, uint32_t rank)
{
    static const int64_t none[1];
    return bc_type_add(m, &(bc_type){.kind = BC_TILE,
                                     .padding = BC_NO_PADDING,
                                     .ptr_attr = BC_NO_PTR_ATTR,
                                     .elem = elem,
                                     .shape = rank ? shape : none,
                                     .rank = rank});
}

int64_t bc_shape_elems(const int64_t *shape, uint32_t rank)
{
    int64_t elems = 1;
    for (uint32_t d = 0; d < rank; d++) {
        if (shape[d] < 1 || shape[d] > (1 << 24) / elems)
            return -1;
        elems *= shape[d];
    }
    return elems;
}

/* ---- ops and blocks ---- */

bc_op *bc_op_new_in(bc_arena *arena, bc_opcode opcode, uint32_t result_count, uint32_t operand_count)
{
    const bc_op_info *info = &bc_ops[opcode];
    unsigned slots = info->attr_rows + (info->mode == BC_MODE_SEGMENTED ? 1u : 0u);
    size_t size = sizeof(bc_op) + result_count * sizeof(bc_value) + slots * sizeof(bc_attr)
                  + operand_count * sizeof(bc_value *) + info->region_rows * sizeof(bc_block *);
    if (result_count > BC_MAX_OPERANDS || operand_count > BC_MAX_OPERANDS)
        return NULL;
    bc_op *op = bc_arena_alloc(arena, size, alignof(bc_op));
    if (!op)
        return NULL;
    op->opcode = (uint8_t)opcode;
    op->attr_slots = (uint8_t)slots;
    op->region_count = info->region_rows;
    op->result_count = (uint16_t)result_count;
    op->operand_count = (uint16_t)operand_count;
    bc_value *results = bc_results(op);
    for (uint32_t i = 0; i < result_count; i++) {
        results[i].op = op;
        results[i].number = (uint16_t)i;
    }
    return op;
}

bc_op *bc_op_new(bc_module *m, bc_opcode opcode, uint32_t result_count, uint32_t operand_count)
{
    return bc_op_new_in(&m->arena, opcode, result_count, operand_count);
}

void bc_op_defaults(bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    const bc_row *rows = bc_attr_rows(info);
    bc_attr *attrs = bc_attrs(op);
    for (unsigned i = 0; i < info->attr_rows; i++) {
        bool scalar = rows[i].encoding >= BC_ENC_ENUM && rows[i].encoding <= BC_ENC_BOOL;
        attrs[i].u = rows[i].arity == BC_OPTIONAL && scalar ? BC_ABSENT : scalar ? rows[i].older : 0;
    }
}

void bc_block_append(bc_block *block, bc_op *op)
{
    op->block = block;
    op->next = NULL;
    if (block->last)
        block->last->next = op;
    else
        block->first = op;
    block->last = op;
    block->op_count++;
}

bc_block *bc_block_new(bc_module *m, bc_op *parent, uint32_t arg_count)
{
    bc_block *block = arg_count <= BC_MAX_OPERANDS ? bc_new(&m->arena, bc_block, 1) : NULL;
    if (!block)
        return NULL;
    block->parent = parent;
    block->arg_count = arg_count;
    block->args = bc_new(&m->arena, bc_value, arg_count);
    if (!block->args)
        return NULL;
    for (uint32_t i = 0; i < arg_count; i++)
        block->args[i].number = (uint16_t)i;
    return block;
}

bc_op *bc_next_op(const bc_op *op, const bc_block *root)
{
    for (unsigned i = 0; i < op->region_count; i++) {
        bc_block *inner = bc_regions(op)[i];
        if (inner && inner->first)
            return inner->first;
    }
    for (;;) {
        if (op->next)
            return op->next;
        const bc_block *block = op->block;
        if (block == root || !block->parent)
            return NULL;
        bc_op *parent = block->parent;
        /* the regions after the one that ended */
        unsigned i = 0;
        while (i < parent->region_count && bc_regions(parent)[i] != block)
            i++;
        for (i++; i < parent->region_count; i++) {
            bc_block *inner = bc_regions(parent)[i];
            if (inner && inner->first)
                return inner->first;
        }
        op = parent;
    }
}

static void number_block(bc_block *block, uint32_t *next_value, uint32_t *ops)
{
    for (uint32_t i = 0; i < block->arg_count; i++)
        block->args[i].id = (*next_value)++;
    for (bc_op *op = block->first; op; op = op->next) {
        (*ops)++;
        for (unsigned i = 0; i < op->region_count; i++)
            if (bc_regions(op)[i])
                number_block(bc_regions(op)[i], next_value, ops);
        for (uint32_t i = 0; i < op->result_count; i++)
            bc_results(op)[i].id = (*next_value)++;
    }
}

void bc_function_number(bc_function *f)
{
    f->value_count = f->op_count = 0;
    if (f->body)
        number_block(f->body, &f->value_count, &f->op_count);
}

/* ---- operands ---- */

bc_segments bc_get_segments(const bc_op *op)
{
    bc_segments s;
    memcpy(&s, &bc_attrs(op)[op->attr_slots - 1], sizeof s);
    return s;
}

_Static_assert(sizeof(bc_segments) == sizeof(bc_attr), "segments live in an attribute slot");

/* Apart from its caller, which would pay for the array on the stack in each of its calls. */
static TV_NOINLINE bc_range segment_range(const bc_op *op, const bc_row *rows, unsigned row)
{
    bc_segments s = bc_get_segments(op);
    bc_range range = {0, 0};
    unsigned variadic = 0;
    for (unsigned i = 0; i <= row; i++) {
        range.first += range.count;
        if (rows[i].arity == BC_VARIADIC)
            range.count = s.count[variadic++];
        else
            range.count = rows[i].arity == BC_ONE || (s.present >> i & 1);
    }
    return range;
}

bc_range bc_operand_range_at(const bc_op *op, unsigned row)
{
    const bc_op_info *info = bc_info(op);
    const bc_row *rows = bc_operand_rows(info);
    if (info->mode == BC_MODE_PLAIN)
        return (bc_range){row, 1};
    if (info->mode == BC_MODE_COUNTED) /* only the last row can be anything but ONE */
        return rows[row].arity == BC_ONE ? (bc_range){row, 1} : (bc_range){row, op->operand_count - row};
    return segment_range(op, rows, row);
}

bc_range bc_operand_range(const bc_op *op, int row)
{
    const bc_op_info *info = bc_info(op);
    return bc_operand_range_at(op, (unsigned)(row - info->first_row - info->result_rows - info->attr_rows));
}

bc_value *bc_operand(const bc_op *op, int row)
{
    bc_range range = bc_operand_range(op, row);
    return range.count ? bc_operands(op)[range.first] : NULL;
}

bool bc_type_fits(const bc_type *t, const bc_constraint_info *c)
{
    switch ((bc_form)c->form) {
    case BC_FORM_ANY: return t->kind != BC_FUNCTION;
    case BC_FORM_TILE:
        return t->kind == BC_TILE && bc_kind_in((bc_kind)t->elem->kind, c->elements)
               && (c->rank < 0 || t->rank == (uint32_t)c->rank);
    case BC_FORM_TOKEN: return t->kind == BC_TOKEN;
    case BC_FORM_TENSOR_VIEW: return t->kind == BC_TENSOR_VIEW;
    case BC_FORM_PARTITION_VIEW: return t->kind == BC_PARTITION_VIEW;
    case BC_FORM_STRIDED_VIEW: return t->kind == BC_STRIDED_VIEW;
    case BC_FORM_GATHER_SCATTER_VIEW: return t->kind == BC_GATHER_SCATTER_VIEW;
    case BC_FORM_TILE_VIEW: return bc_is_tile_view(t);
    }
    return false;
}

bool bc_attr_is_there(const bc_row *row, const bc_attr *a)
{
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_UNIT: return a->u != 0;
    case BC_ENC_ENUM:
    case BC_ENC_VARINT32:
    case BC_ENC_VARINT64:
    case BC_ENC_BOOL: return row->arity != BC_OPTIONAL || a->u != BC_ABSENT;
    case BC_ENC_BOOLS: /* all false is as good as nothing */
        for (uint32_t i = 0; a->ints && i < a->ints->count; i++)
            if (a->ints->ptr[i])
                return true;
        return false;
    case BC_ENC_STRING:
    case BC_ENC_CONST:
    case BC_ENC_TAGGED:
    case BC_ENC_HINTS:
    case BC_ENC_ATTRS:
    case BC_ENC_I32S: return a->tagged != NULL;
    case BC_ENC_NONE: break;
    }
    return false;
}
