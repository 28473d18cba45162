/* Writes remarks. Names of kernels and files come from the input and may hold anything. */
#include "bytecode/base/visible.h"
#include "bytecode/base/demangle.h"
#include "tools/tilevm/compile/remarks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[TV_REMARK_KIND_COUNT] = {"passed", "missed", "analysis"};

const char *remarks_kind(tv_remark_kind kind)
{
    return kind_names[kind];
}

static const struct {
    const char *name, *text;
} categories[] = {
#define CATEGORY(name, text) {#name, text},
#include "codegen/kernel/remarks.def"
};

static remark_category category_of(const tv_remark *remark)
{
    unsigned i = 0;
    while (i + 1 < REMARK_CATEGORY_COUNT && strcmp(categories[i].name, remark->category) != 0)
        i++;
    return (remark_category)i;
}

bool remarks_choose(remarks *r, const char *list, tv_str *out_bad)
{
    uint32_t kinds = 0, chosen = 0;
    for (const char *p = list;; p++) {
        tv_str word = {p, strcspn(p, ",")};
        bool known = bc_str_is(word, "all");
        if (known)
            kinds = ((uint32_t)1 << TV_REMARK_KIND_COUNT) - 1;
        for (unsigned i = 0; i < TV_REMARK_KIND_COUNT; i++)
            if (bc_str_is(word, kind_names[i])) {
                kinds |= (uint32_t)1 << i;
                known = true;
            }
        for (unsigned i = 0; i < REMARK_CATEGORY_COUNT; i++)
            if (bc_str_is(word, categories[i].name)) {
                chosen |= (uint32_t)1 << i;
                known = true;
            }
        if (!known) {
            *out_bad = word;
            return false;
        }
        p += word.len;
        if (!*p)
            break;
    }
    for (unsigned i = 0; i < TV_REMARK_KIND_COUNT; i++)
        if (!kinds || (kinds >> i & 1))
            r->wanted[i] |= chosen ? chosen : REMARK_ALL;
    return true;
}

bool remarks_wanted(const remarks *r)
{
    return r->summary || r->out;
}

/* ---- text ---- */

static void put_clean(bc_text *out, tv_str s)
{
    bc_text_visible(out, s, "");
}

static void put_place(bc_text *out, const char *path, const tv_remark *remark)
{
    if (remark->line) {
        put_clean(out, remark->file);
        bc_text_printf(out, ":%u:%u", (unsigned)remark->line, (unsigned)remark->column);
    } else {
        put_clean(out, bc_str(path));
        if (remark->offset != TV_NO_OFFSET)
            bc_text_printf(out, ":0x%04llx", (unsigned long long)remark->offset);
    }
}

/* file:line:column: remark: [missed memory/VectorAccess] load_view_tko: ... */
static void put_text(bc_text *out, const char *path, const tv_remark *remark)
{
    put_place(out, path, remark);
    bc_text_printf(out, ": remark: [%s %s/%s] ", kind_names[remark->kind], remark->category, remark->name);
    if (remark->op.len) {
        bc_text_str(out, remark->op);
    } else {
        bc_text_char(out, '@');
        bc_text_function(out, remark->function);
    }
    bc_text_puts(out, ": ");
    put_clean(out, remark->message);
    if (remark->inlined_line) {
        bc_text_puts(out, " (inlined from ");
        put_clean(out, remark->inlined_file);
        bc_text_printf(out, ":%u:%u)", (unsigned)remark->inlined_line, (unsigned)remark->inlined_column);
    }
    bc_text_char(out, '\n');
}

/* ---- YAML, the documents of LLVM's optimisation records ---- */

/* In single quotes; in double ones where something must be escaped. */
static void put_quoted(bc_text *out, tv_str s)
{
    bc_text clean;
    bc_text_init(&clean, NULL);
    bc_text_utf8(&clean, s);
    bool plain = true;
    for (size_t i = 0; i < clean.len; i++)
        plain = plain && (unsigned char)clean.ptr[i] >= 0x20 && clean.ptr[i] != 0x7f;
    bc_text_char(out, plain ? '\'' : '"');
    for (size_t i = 0; i < clean.len; i++) {
        unsigned char c = (unsigned char)clean.ptr[i];
        if (!plain && (c < 0x20 || c == 0x7f || c == '"' || c == '\\'))
            bc_text_printf(out, "\\x%02x", c);
        else
            bc_text_printf(out, plain && c == '\'' ? "''" : "%c", c);
    }
    bc_text_char(out, plain ? '\'' : '"');
    out->failed = out->failed || clean.failed;
    bc_text_release(&clean);
}

static void put_yaml(bc_text *out, const tv_remark *remark)
{
    static const char *const tags[TV_REMARK_KIND_COUNT] = {"Passed", "Missed", "Analysis"};
    bc_text_printf(out, "--- !%s\nPass:            %s\nName:            %s\n", tags[remark->kind], remark->category,
                   remark->name);
    if (remark->line) {
        bc_text_puts(out, "DebugLoc:        { File: ");
        put_quoted(out, remark->file);
        bc_text_printf(out, ", Line: %u, Column: %u }\n", (unsigned)remark->line, (unsigned)remark->column);
    }
    bc_text_puts(out, "Function:        ");
    put_quoted(out, remark->function);
    bc_text_puts(out, "\nArgs:\n");
    if (remark->op.len)
        bc_text_printf(out, "  - Op:              '%.*s'\n  - String:          ': '\n", (int)remark->op.len,
                       remark->op.ptr);
    for (size_t i = 0; i < remark->arg_count; i++) {
        const tv_remark_arg *arg = &remark->args[i];
        tv_str key = arg->key.len ? arg->key : bc_str("String");
        bc_text_printf(out, "  - %.*s:%*s", (int)key.len, key.ptr, key.len < 15 ? (int)(16 - key.len) : 1, "");
        put_quoted(out, arg->value);
        bc_text_char(out, '\n');
    }
    bc_text_puts(out, "...\n");
}

/* ---- summary ---- */

typedef struct remark_line {
    remark_category category;
    char *kernel, *text; /* owned */
    unsigned count;
} remark_line;

/* NULL: out of memory. */
static char *taken(bc_text *text)
{
    char *copy = text->failed ? NULL : strdup(text->ptr ? text->ptr : "");
    bc_text_release(text);
    return copy;
}

static void keep_line(remarks *r, const tv_remark *remark)
{
    if (r->line_count == r->line_capacity) {
        size_t capacity = r->line_capacity ? 2 * r->line_capacity : 32;
        remark_line *grown = realloc(r->lines, capacity * sizeof *grown);
        if (!grown) {
            r->failed = true;
            return;
        }
        r->lines = grown;
        r->line_capacity = capacity;
    }
    bc_text text, kernel;
    bc_text_init(&text, NULL);
    bc_text_init(&kernel, NULL);
    bc_text_function(&kernel, remark->function);
    if (remark->op.len) {
        put_place(&text, r->path, remark);
        bc_text_printf(&text, " %.*s: ", (int)remark->op.len, remark->op.ptr);
    }
    put_clean(&text, remark->message);
    remark_line line = {.category = category_of(remark), .count = 1};
    line.kernel = taken(&kernel);
    line.text = taken(&text);
    bool known = false;
    r->failed = r->failed || !line.kernel || !line.text;
    for (size_t i = 0; i < r->line_count && !r->failed && !known; i++)
        if (r->lines[i].category == line.category && strcmp(r->lines[i].text, line.text) == 0
            && strcmp(r->lines[i].kernel, line.kernel) == 0) {
            r->lines[i].count++;
            known = true;
        }
    if (known || r->failed) {
        free(line.kernel);
        free(line.text);
    } else {
        r->lines[r->line_count++] = line;
    }
}

/* What there is about a kernel, by category. */
static void put_kernel(const remarks *r, const char *kernel)
{
    bc_text_printf(r->summary, "@%s\n", kernel);
    for (unsigned category = 0; category < REMARK_CATEGORY_COUNT; category++) {
        bool any = false;
        for (size_t i = 0; i < r->line_count; i++) {
            const remark_line *line = &r->lines[i];
            if (line->category != category || strcmp(line->kernel, kernel) != 0)
                continue;
            if (!any)
                bc_text_printf(r->summary, "  %s\n", categories[category].text);
            any = true;
            bc_text_printf(r->summary, "    %s", line->text);
            if (line->count > 1)
                bc_text_printf(r->summary, " (%u times)", line->count);
            bc_text_char(r->summary, '\n');
        }
    }
}

void remarks_summary(remarks *r)
{
    for (size_t i = 0; i < r->line_count && !r->failed; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen = seen || strcmp(r->lines[k].kernel, r->lines[i].kernel) == 0;
        if (!seen)
            put_kernel(r, r->lines[i].kernel);
    }
    for (size_t i = 0; i < r->line_count; i++) {
        free(r->lines[i].kernel);
        free(r->lines[i].text);
    }
    free(r->lines);
    r->lines = NULL;
    r->line_count = r->line_capacity = 0;
}

/* ---- the sink ---- */

static void take(void *user, const tv_remark *remark)
{
    remarks *r = user;
    if (r->summary)
        keep_line(r, remark);
    if (!r->out || !(r->wanted[remark->kind] >> category_of(remark) & 1))
        return;
    if (r->yaml)
        put_yaml(r->out, remark);
    else
        put_text(r->out, r->path, remark);
}

tv_remark_sink remarks_sink(remarks *r)
{
    return remarks_wanted(r) ? (tv_remark_sink){.user = r, .report = take} : (tv_remark_sink){0};
}

/* ---- ptxas ---- */

/* The number in front of words, or 0. */
static unsigned long number_before(tv_str line, const char *words)
{
    const char *found = memmem(line.ptr, line.len, words, strlen(words)), *p = found;
    while (p && p > line.ptr && p[-1] >= '0' && p[-1] <= '9')
        p--;
    return p ? strtoul(p, NULL, 10) : 0;
}

static void report_registers(tv_str kernel, const unsigned long figures[3], tv_remark_sink sink)
{
    static const char *const keys[] = {"Registers", "SpillStores", "SpillLoads"};
    static const char *const words[] = {" registers of a thread", " bytes of spill stores", " bytes of spill loads"};
    char digits[3][24];
    tv_remark_arg args[8];
    bc_text message;
    size_t count = 0;
    bc_text_init(&message, NULL);
    for (unsigned i = 0; i < TV_COUNT(keys); i++) {
        if (i)
            args[count++] = (tv_remark_arg){.value = bc_str(", ")};
        snprintf(digits[i], sizeof digits[i], "%lu", figures[i]);
        args[count++] = (tv_remark_arg){bc_str(keys[i]), bc_str(digits[i])};
        args[count++] = (tv_remark_arg){.value = bc_str(words[i])};
    }
    for (size_t i = 0; i < count; i++)
        bc_text_str(&message, args[i].value);
    tv_remark remark = {.kind = figures[1] || figures[2] ? TV_REMARK_MISSED : TV_REMARK_ANALYSIS,
                        .category = categories[REMARK_kernel].name,
                        .name = "Registers",
                        .function = kernel,
                        .offset = TV_NO_OFFSET,
                        .message = bc_text_get(&message),
                        .args = args,
                        .arg_count = count};
    sink.report(sink.user, &remark);
    bc_text_release(&message);
}

/* "ptxas info    : Compiling entry function 'k' for 'sm_90'", "Function properties for f" followed by a line of bytes
   for each function, and, last of an entry, "ptxas info    : Used 24 registers, ...". */
void remarks_of_ptxas(tv_str words, tv_remark_sink sink)
{
    static const char entry[] = "Compiling entry function '", used[] = "ptxas info    : Used ";
    tv_str kernel = {0};
    unsigned long figures[3] = {0};
    for (const char *p = words.ptr, *end = p + words.len; sink.report && p && p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p)), *name;
        tv_str line = {p, (size_t)((stop ? stop : end) - p)};
        p += line.len + 1;
        if ((name = memmem(line.ptr, line.len, entry, strlen(entry)))) {
            name += strlen(entry);
            const char *quote = memchr(name, '\'', (size_t)(line.ptr + line.len - name));
            kernel = (tv_str){name, quote ? (size_t)(quote - name) : 0};
            memset(figures, 0, sizeof figures);
        }
        figures[1] += number_before(line, " bytes spill stores");
        figures[2] += number_before(line, " bytes spill loads");
        if (line.len > strlen(used) && memcmp(line.ptr, used, strlen(used)) == 0 && kernel.len) {
            figures[0] = number_before(line, " registers");
            report_registers(kernel, figures, sink);
            kernel = (tv_str){0};
        }
    }
}
