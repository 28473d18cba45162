/* Values of chosen ops while a kernel runs: shown by --trace, saved by --dump-tile. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"
#include "bytecode/module.h"
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/run/run.h"

enum { RUN_TRACED = 1, RUN_DUMPED = 2 }; /* marks of ops */

/* ---- texts ---- */

/* A number of decimal digits at the front of s, which is moved on. */
static bool take_number(tv_str *s, uint32_t *out)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < s->len && s->ptr[i] >= '0' && s->ptr[i] <= '9'; i++)
        if ((n = n * 10 + (uint64_t)(s->ptr[i] - '0')) > UINT32_MAX)
            return false;
    *out = (uint32_t)n;
    s->ptr += i;
    s->len -= i;
    return i > 0;
}

static bool take_char(tv_str *s, char c)
{
    if (!s->len || s->ptr[0] != c)
        return false;
    s->ptr++;
    s->len--;
    return true;
}

/* "12" or "12-20"; all of s. */
static bool parse_span(tv_str s, uint32_t *low, uint32_t *high)
{
    if (!take_number(&s, low))
        return false;
    *high = *low;
    return (!take_char(&s, '-') || take_number(&s, high)) && s.len == 0 && *low <= *high;
}

/* The piece up to a comma; s is moved past it. */
static tv_str take_piece(tv_str *s)
{
    const char *comma = memchr(s->ptr, ',', s->len);
    tv_str piece = {s->ptr, comma ? (size_t)(comma - s->ptr) : s->len};
    size_t used = piece.len + (comma != NULL);
    s->ptr += used;
    s->len -= used;
    return piece;
}

/* Length to show in messages. */
static int shown(tv_str s)
{
    return s.len < 60 ? (int)s.len : 60;
}

static bool is_number(tv_str s)
{
    return s.len > 0 && s.ptr[0] >= '0' && s.ptr[0] <= '9';
}

/* ---- ops ---- */

static const bc_block *body_of(const run_job *job)
{
    return bc_entry_at(job->module, job->entry)->body;
}

static const bc_op *op_at(const run_job *job, uint32_t index)
{
    const bc_block *body = body_of(job);
    const bc_op *op = body->first;
    while (op && index-- > 0)
        op = bc_next_op(op, body);
    return op;
}

static bool makes_tiles(const bc_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (bc_is_tile(bc_results(op)[i].type))
            return true;
    return false;
}

static bool is_op(const bc_op *op, tv_str name)
{
    return bc_str_is(name, bc_info(op)->name);
}

/* The i-th op there is, for suggestions. */
static const char *mnemonic_at(const void *user, size_t index)
{
    (void)user;
    for (unsigned code = 0; code < OP_LIMIT; code++)
        if (bc_ops[code].name && index-- == 0)
            return bc_ops[code].name;
    return NULL;
}

static bool no_such_op(const run_job *job, const char *option, tv_str name, io_error *error)
{
    char word[40];
    snprintf(word, sizeof word, "%.*s", name.len < 39 ? (int)name.len : 39, name.ptr);
    if (is_number(name))
        return io_fail(error, "%s: '%s': the kernel has ops 0 to %u", option, word, job->trace.op_count - 1);
    const char *closest = cli_closest(word, mnemonic_at, NULL);
    if (closest && strcmp(closest, word) == 0) /* an op, but none of this kernel's */
        closest = NULL;
    return io_fail(error, "%s: the kernel has no op '%s'%s%s%s", option, word, closest ? "; did you mean '" : "",
                   closest ? closest : "", closest ? "'?" : "");
}

/* Marks the ops of one piece of --trace. */
static bool mark_piece(run_job *job, tv_str piece, io_error *error)
{
    run_trace *t = &job->trace;
    uint32_t low = 0, high = UINT32_MAX, index = 0;
    bool by_index = is_number(piece), all = bc_str_is(piece, "all"), found = all, tiles = all;
    const bc_block *body = body_of(job);
    if (by_index && !parse_span(piece, &low, &high))
        return io_fail(error, "--trace: '%.*s' is not an index or a range of indices", shown(piece), piece.ptr);
    if (by_index && high >= t->op_count)
        return no_such_op(job, "--trace", piece, error);
    for (const bc_op *op = body->first; op; op = bc_next_op(op, body), index++) {
        if (by_index ? index < low || index > high : !all && !is_op(op, piece))
            continue;
        found = true;
        tiles = tiles || makes_tiles(op);
        t->ops[index] |= RUN_TRACED;
    }
    if (!found)
        return no_such_op(job, "--trace", piece, error);
    return tiles || io_fail(error, "--trace: '%.*s' makes no tiles: there is nothing to show", shown(piece), piece.ptr);
}

/* ---- tile blocks ---- */

/* "*", "3", "0-3" for up to three axes; those that are missing stay as they are. */
static bool parse_blocks(const run_job *job, tv_str s, uint32_t *low, uint32_t *high, io_error *error)
{
    const uint32_t *grid = job->options.grid;
    const tv_str all = s;
    bool good = s.len > 0 && s.ptr[s.len - 1] != ',';
    for (unsigned axis = 0; good && s.len; axis++) {
        tv_str piece = take_piece(&s);
        good = axis < 3 && (bc_str_is(piece, "*") || parse_span(piece, &low[axis], &high[axis]));
        if (good && !bc_str_is(piece, "*") && high[axis] >= grid[axis])
            return io_fail(error, "--trace-block %.*s: the grid has tile blocks 0 to %u in %c", shown(all), all.ptr,
                           grid[axis] - 1, "xyz"[axis]);
    }
    return good
           || io_fail(error,
                      "--trace-block: '%.*s' is not of the form X[,Y[,Z]], each a number, a range such as 0-3 or *",
                      shown(all), all.ptr);
}

/* ---- what to dump ---- */

static bool bad_dump(const run_dump *d, const char *what, io_error *error)
{
    return io_fail(error, "--dump-tile %.100s: %s; write OP[#RESULT][:TIME][@X[,Y[,Z]]]=FILE, as in mmaf@1,0=tile.npy",
                   d->text, what);
}

/* The op that a mnemonic or an index means. */
static bool find_dump_op(const run_job *job, run_dump *d, tv_str name, io_error *error)
{
    const bc_block *body = body_of(job);
    uint32_t index = 0, found = 0;
    tv_str digits = name;
    bc_text list;
    if (is_number(name)) {
        if (!take_number(&digits, &d->op_index) || digits.len || d->op_index >= job->trace.op_count)
            return no_such_op(job, "--dump-tile", name, error);
        return true;
    }
    bc_text_init(&list, NULL);
    for (const bc_op *op = body->first; op; op = bc_next_op(op, body), index++) {
        if (!is_op(op, name))
            continue;
        d->op_index = index;
        if (list.len < 120)
            bc_text_printf(&list, "%s%u", found ? ", " : "", index);
        found++;
    }
    if (found == 0)
        no_such_op(job, "--dump-tile", name, error);
    else if (found > 1)
        io_fail(error, "--dump-tile %.100s: '%.*s' is op %s of the kernel; say which", d->text, shown(name), name.ptr,
                bc_text_words(&list));
    bc_text_release(&list);
    return found == 1;
}

/* [#RESULT][:TIME][@X[,Y[,Z]]] */
static bool parse_dump_place(const run_job *job, run_dump *d, tv_str s, io_error *error)
{
    uint32_t time = 0, nowhere;
    if (take_char(&s, '#') && !take_number(&s, &d->result))
        return bad_dump(d, "the number of the result is missing", error);
    d->has_time = take_char(&s, ':');
    if (d->has_time && !take_number(&s, &time))
        return bad_dump(d, "the number of the iteration is missing", error);
    d->time = time;
    if (take_char(&s, '@')) {
        for (unsigned axis = 0; axis < 3; axis++) {
            tv_str piece = take_piece(&s);
            if (!parse_span(piece, &d->block[axis], &nowhere) || d->block[axis] != nowhere)
                return bad_dump(d, "the tile block is not X[,Y[,Z]]", error);
            if (d->block[axis] >= job->options.grid[axis])
                return io_fail(error, "--dump-tile %.100s: the grid has tile blocks 0 to %u in %c", d->text,
                               job->options.grid[axis] - 1, "xyz"[axis]);
            if (!s.len)
                break;
        }
    }
    return !s.len || bad_dump(d, "it is malformed", error);
}

static bool add_dump(run_job *job, const char *text, io_error *error)
{
    run_dump *d = &job->trace.dumps[job->trace.dump_count++];
    const char *equals = strchr(text, '=');
    *d = (run_dump){.text = text};
    if (!equals || equals == text || !equals[1])
        return bad_dump(d, "the op or the file is missing", error);
    tv_str all = {text, (size_t)(equals - text)}, name = {text, strcspn(text, "#:@=")};
    if (!find_dump_op(job, d, name, error)
        || !parse_dump_place(job, d, (tv_str){text + name.len, all.len - name.len}, error))
        return false;
    const bc_op *op = op_at(job, d->op_index);
    if (d->result >= op->result_count || !bc_is_tile(bc_results(op)[d->result].type))
        return io_fail(error, "--dump-tile %.100s: op %u, %s, makes no tile as result %u", text, d->op_index,
                       bc_info(op)->name, d->result);
    job->trace.ops[d->op_index] |= RUN_DUMPED;
    tv_str key = bc_arena_dup(&job->arena, all);
    job->saves[job->save_count++] = (arg_save){.name = key.ptr, .array = &d->value, .path = bc_str(equals + 1)};
    return key.ptr || io_fail(error, "out of memory");
}

/* Room for the dumped values among what is saved. */
static bool grow_saves(run_job *job, io_error *error)
{
    arg_save *saves = bc_new(&job->arena, arg_save, job->save_count + job->options.dump_count);
    if (!saves)
        return io_fail(error, "out of memory");
    if (job->save_count)
        memcpy(saves, job->saves, job->save_count * sizeof *saves);
    job->saves = saves;
    return true;
}

bool run_trace_prepare(run_job *job, io_error *error)
{
    run_trace *t = &job->trace;
    const run_options *o = &job->options;
    bc_arena_init(&t->arena, NULL, 0);
    if (!o->trace && o->dump_count == 0)
        return !o->trace_block || io_fail(error, "--trace-block needs --trace OPS");
    const bc_block *body = body_of(job);
    for (const bc_op *op = body->first; op; op = bc_next_op(op, body))
        t->op_count++;
    t->ops = bc_new(&job->arena, uint8_t, t->op_count);
    t->dumps = bc_new(&job->arena, run_dump, o->dump_count);
    if (!t->ops || !t->dumps)
        return io_fail(error, "out of memory");
    tv_str rest = o->trace ? bc_str(o->trace) : (tv_str){0};
    if (o->trace && !rest.len)
        return io_fail(error, "--trace needs ops");
    while (rest.len)
        if (!mark_piece(job, take_piece(&rest), error))
            return false;
    for (unsigned axis = 0; axis < 3; axis++)
        t->high[axis] = UINT32_MAX;
    if (o->trace_block && !parse_blocks(job, bc_str(o->trace_block), t->low, t->high, error))
        return false;
    if (!grow_saves(job, error))
        return false;
    for (size_t i = 0; i < o->dump_count; i++)
        if (!add_dump(job, o->dumps[i], error))
            return false;
    return true;
}

/* ---- values ---- */

static void put_line(const run_traced *r)
{
    bc_text text;
    bool is_pointer = strcmp(r->element, bc_kinds[BC_PTR].text) == 0;
    bc_text_init(&text, NULL);
    bc_text_printf(&text, "block (%u,%u,%u) op %u ", (unsigned)r->block[0], (unsigned)r->block[1],
                   (unsigned)r->block[2], (unsigned)r->op_index);
    bc_text_str(&text, r->op);
    if (r->result)
        bc_text_printf(&text, "#%u", (unsigned)r->result);
    if (r->line) {
        bc_text_puts(&text, " at ");
        bc_text_visible(&text, r->file, "");
        bc_text_printf(&text, ":%u", (unsigned)r->line);
    }
    bc_text_printf(&text, ": %s[", r->element);
    for (uint32_t i = 0; i < r->rank; i++)
        bc_text_printf(&text, "%s%lld", i ? ", " : "", (long long)r->shape[i]);
    bc_text_puts(&text, "]");
    for (unsigned i = 0; i < r->shown; i++) {
        bc_text_puts(&text, i ? ", " : " ");
        if (is_pointer)
            bc_text_printf(&text, "0x%llx", (unsigned long long)r->first[i]);
        else
            arg_print_value(&text, r->dtype, r->first[i]);
    }
    if (r->count > r->shown)
        bc_text_puts(&text, ", ...");
    if (r->count > r->shown && !is_pointer)
        run_put_figures(&text, r->dtype, &r->summary);
    bc_text_char(&text, '\n');
    cli_show(stderr, text.failed ? bc_str("out of memory\n") : bc_text_get(&text), false);
    bc_text_release(&text);
}

/* Keeps a copy for the JSON document; false: out of memory. */
static bool keep(run_trace *t, const run_traced *r, const tv_trace *from)
{
    run_traced *kept = bc_new(&t->arena, run_traced, 1);
    int64_t *shape = bc_new(&t->arena, int64_t, r->rank);
    if (!kept || !shape)
        return false;
    *kept = *r;
    if (r->rank)
        memcpy(shape, r->shape, r->rank * sizeof *shape);
    kept->shape = shape;
    kept->op = bc_arena_dup(&t->arena, from->op);
    kept->file = bc_arena_dup(&t->arena, from->file);
    if (!kept->op.ptr || !kept->file.ptr)
        return false;
    if (t->last)
        t->last->next = kept;
    else
        t->first = kept;
    t->last = kept;
    return true;
}

static void show(run_job *job, const tv_trace *from, const arg_array *array)
{
    run_trace *t = &job->trace;
    run_traced r = {.op_index = from->op_index,
                    .result = from->result,
                    .line = from->line,
                    .op = from->op,
                    .file = from->file,
                    .element = from->tile.element,
                    .dtype = array->dtype,
                    .rank = from->tile.rank,
                    .shape = from->tile.shape,
                    .count = array->count};
    memcpy(r.block, from->block, sizeof r.block);
    for (; r.shown < RUN_TRACE_SHOWN && r.shown < array->count; r.shown++)
        r.first[r.shown] = arg_load(array->first + r.shown * array->item, array->item);
    arg_array_summary(array, &r.summary);
    if (!job->options.json)
        put_line(&r);
    else if (!keep(t, &r, from)) {
        t->no_memory = true;
        return;
    }
    t->shown++;
}

static bool is_shown(const run_job *job, const tv_trace *from)
{
    const run_trace *t = &job->trace;
    bool inside = job->options.trace && (t->ops[from->op_index] & RUN_TRACED);
    for (unsigned axis = 0; axis < 3; axis++)
        inside = inside && from->block[axis] >= t->low[axis] && from->block[axis] <= t->high[axis];
    return inside;
}

static void take_dump(run_dump *d, const tv_trace *from)
{
    io_error error;
    if (d->op_index != from->op_index || d->result != from->result
        || memcmp(d->block, from->block, sizeof d->block) != 0)
        return;
    if (d->seen++ != d->time && d->has_time)
        return;
    arg_array_free(&d->value);
    if (!run_tile_array(&from->tile, run_dtype_of(from->tile.element), &d->value, &error))
        d->problem = "out of memory";
}

static void take_value(void *user, const tv_trace *from)
{
    run_job *job = user;
    run_trace *t = &job->trace;
    arg_array array = {0};
    io_error error;
    for (size_t i = 0; i < t->dump_count; i++)
        take_dump(&t->dumps[i], from);
    if (!is_shown(job, from))
        return;
    if (job->options.trace_max && t->shown >= job->options.trace_max)
        t->hidden++;
    else if (run_tile_array(&from->tile, run_dtype_of(from->tile.element), &array, &error))
        show(job, from, &array);
    else
        t->no_memory = true;
    arg_array_free(&array);
}

static bool is_wanted(void *user, tv_str op, uint32_t op_index)
{
    const run_trace *t = &((const run_job *)user)->trace;
    (void)op;
    return op_index < t->op_count && t->ops[op_index];
}

void run_trace_hook(const run_job *job, tv_vm_options *vm)
{
    if (!job->trace.ops)
        return;
    vm->trace = take_value;
    vm->trace_op = is_wanted;
}

/* ---- afterwards ---- */

static bool check_dump(const run_dump *d, io_error *error)
{
    if (d->problem)
        return io_fail(error, "--dump-tile %.100s: %s", d->text, d->problem);
    return d->value.storage
           || io_fail(error, "--dump-tile %.100s: op %u ran %llu times in tile block (%u,%u,%u); nothing was saved",
                      d->text, d->op_index, (unsigned long long)d->seen, d->block[0], d->block[1], d->block[2]);
}

bool run_trace_finish(run_job *job, io_error *error)
{
    run_trace *t = &job->trace;
    if (t->hidden && !job->options.json)
        cli_print(stderr, "%llu more values were not shown; --trace-max raises the limit\n",
                  (unsigned long long)t->hidden);
    for (size_t i = 0; i < t->dump_count; i++)
        if (!check_dump(&t->dumps[i], error))
            return false;
    return !t->no_memory || io_fail(error, "--trace: out of memory");
}

void run_trace_release(run_job *job)
{
    for (size_t i = 0; i < job->trace.dump_count; i++)
        arg_array_free(&job->trace.dumps[i].value);
    bc_arena_release(&job->trace.arena);
}
