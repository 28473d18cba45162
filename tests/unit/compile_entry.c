/* What a kernel is to the outside: its name, its parameters, and the strings of its module, whatever bytes they hold.
 */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "codegen/module/spell.h"
#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

/* The rule that spoke last. */
static void note(void *user, const tv_diag *d)
{
    *(const char **)user = d->rule;
}

/* Compiles the text; out_rule: what the code generator said, or "". */
static tv_status compile(const bc_text *source, const tv_compile_options *options, const char **out_rule, bc_text *out)
{
    tv_module *m = NULL;
    *out_rule = "";
    bc_text_init(out, NULL);
    CHECK(tv_module_parse(source->ptr, source->len, 0, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(m && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    tv_status status = tv_compile_ptx(m, options, (tv_sink){out_rule, note}, (tv_writer){out, bc_text_append});
    CHECK((status == TV_OK) == (out->len > 0));
    tv_module_close(m);
    return status;
}

/* ---- parameters ---- */

typedef struct params {
    const char *first; /* "": there is none */
    const char *type;
    unsigned count;
} params;

/* An empty kernel of those parameters compiles for what takes PTX up to ptx_version, into `wanted`; NULL: it has too
   many. */
static void check_params(const params *p, const char *target, unsigned ptx_version, bool assemble, const char *wanted)
{
    bc_text source, text;
    const char *rule;
    bc_text_init(&source, NULL);
    bc_text_puts(&source, "entry @k(");
    if (*p->first)
        bc_text_printf(&source, "%%first: tile<%s>%s", p->first, p->count ? ", " : "");
    for (unsigned i = 0; i < p->count; i++)
        bc_text_printf(&source, "%s%%p%u: tile<%s>", i ? ", " : "", i, p->type);
    bc_text_puts(&source, ") { return }");
    tv_status status =
        compile(&source, &(tv_compile_options){.target = target, .ptx_version = ptx_version}, &rule, &text);
    CHECK_MSG(status == (wanted ? TV_OK : TV_UNSUPPORTED), "%u of %s: %s", p->count, p->type, rule);
    CHECK_MSG(strcmp(rule, wanted ? "" : "G-PAR-01") == 0, "%u of %s: %s", p->count, p->type, rule);
    CHECK_MSG(!wanted || (text.ptr && strstr(text.ptr, wanted)), "%u of %s: %s", p->count, p->type, wanted);
    CHECK(!assemble || !text.len || harness_ptxas(text.ptr, text.len, target));
    bc_text_release(&text);
    bc_text_release(&source);
}

static void check_types(void)
{
    static const char *const types[][2] = {
        {"i1", "u8"},       {"i4", "u8"},       {"i8", "u8"},     {"i16", "b16"},      {"i32", "b32"},
        {"i64", "b64"},     {"f16", "b16"},     {"bf16", "b16"},  {"f32", "b32"},      {"tf32", "b32"},
        {"f64", "b64"},     {"f8E4M3FN", "u8"}, {"f8E5M2", "u8"}, {"f8E8M0FNU", "u8"}, {"ptr<f4E2M1FN>", "b64"},
        {"ptr<i1>", "b64"},
    };
    for (size_t i = 0; i < TV_COUNT(types); i++) {
        char wanted[60];
        snprintf(wanted, sizeof wanted, ".param .%s tv_param_0\n", types[i][1]);
        check_params(&(params){types[i][0], "i32", 0}, "sm_80", 0, true, wanted);
    }
}

static void check_limits(void)
{
    check_params(&(params){"", "i32", 0}, "sm_80", 0, false, ".entry k(\n)");
    check_params(&(params){"", "i32", 1088}, "sm_80", 0, false, ".version 7.5\n");
    check_params(&(params){"", "i32", 1088}, "sm_80", 75, false, ".version 7.5\n");
    check_params(&(params){"", "i32", 1089}, "sm_80", 0, false, ".version 8.1\n");
    check_params(&(params){"", "i32", 1089}, "sm_90a", 81, false, ".version 8.1\n");
    check_params(&(params){"", "i32", 1089}, "sm_90a", 80, false, NULL);
    check_params(&(params){"", "i32", 1089}, "sm_100", 0, false, ".version 8.6\n");
    check_params(&(params){"", "i4", 4352}, "sm_80", 0, true, ".version 7.5\n");
    check_params(&(params){"", "i4", 4353}, "sm_80", 0, false, ".version 8.1\n");
    /* i64 begin at multiples of 8 */
    check_params(&(params){"i1", "i64", 543}, "sm_80", 0, true, ".version 7.5\n");
    check_params(&(params){"i1", "i64", 544}, "sm_80", 0, true, ".version 8.1\n");
    check_params(&(params){"", "i8", 32764}, "sm_80", 0, false, ".version 8.1\n");
    check_params(&(params){"", "i8", 32765}, "sm_80", 0, false, NULL);
    check_params(&(params){"i32", "ptr<i8>", 4094}, "sm_90a", 0, true, ".version 8.1\n");
    check_params(&(params){"i32", "ptr<i8>", 4095}, "sm_90a", 0, false, NULL);
}

/* ---- names ---- */

/* A kernel that prints what a global holds, names and texts being these, compiles, or has a name that cannot be. */
static void check_names(const char *kernel, const char *global, const char *words, bool fine, const char *symbol)
{
    bc_text source, text;
    const char *rule;
    bc_text_init(&source, NULL);
    bc_text_printf(&source,
                   "#file = #cuda_tile.di_file<\"a.py\" in \"/src\">\n"
                   "#unit = #cuda_tile.di_compile_unit<file = #file>\n"
                   "#k = #cuda_tile.di_subprogram<file = #file, line = 1, name = \"%s\", linkageName = \"%s\", "
                   "compileUnit = #unit, scopeLine = 1>\n"
                   "#at = #cuda_tile.di_loc<loc(\"k.py%s\":2:3) in #k>\n"
                   "global @\"%s\" <i32: 7> : tile<1xi32>\n"
                   "entry @\"%s\"(%%p: tile<ptr<i32>>) {\n  %%q = get_global @\"%s\" : tile<ptr<i32>> loc(#at)\n"
                   "  %%x, %%t = load_ptr_tko weak %%q : tile<ptr<i32>> -> tile<i32>, token\n"
                   "  %%u = store_ptr_tko weak %%p, %%x : tile<ptr<i32>>, tile<i32> -> token\n"
                   "  print_tko \"%s%%d\", %%x : tile<i32> -> token\n  return\n} loc(#at)\n",
                   kernel, kernel, words, global, kernel, global, words);
    tv_status status = compile(&source, &(tv_compile_options){.line_info = true}, &rule, &text);
    CHECK_MSG(status == (fine ? TV_OK : TV_UNSUPPORTED), "%s, %s", kernel, global);
    CHECK_MSG(strcmp(rule, fine ? "" : "G-NAM-01") == 0, "%s: %s", kernel, rule);
    CHECK_MSG(!fine || (text.ptr && strstr(text.ptr, symbol)), "%s is no %s", global, symbol);
    CHECK(!text.len || harness_ptxas(text.ptr, text.len, "sm_80"));
    bc_text_release(&text);
    bc_text_release(&source);
}

static void check_module(void)
{
    static const char *const refused[] = {"k() { ret; } .visible .entry evil",
                                          "a-b",
                                          "1a",
                                          "_",
                                          "$",
                                          "%r1",
                                          "\\C3\\A4",
                                          "a\\0Ab",
                                          "a b",
                                          "$L1",
                                          "WARP_SZ",
                                          "vprintf",
                                          "malloc",
                                          "free",
                                          "tv_text_0_0",
                                          "tv_global_0",
                                          "tv_print_lock",
                                          "tv_sin_f32",
                                          "k,",
                                          "\\22"};
    static const char *const taken[] = {"k",          "__", "$$",  "add",      "entry",  "tv_scratch",
                                        "tv_param_0", "r1", "$Lx", "tv_sinus", "tv_in0", "print"};
    static const char *const renamed[] = {"g[4]; .entry evil() { ret; }",
                                          "",
                                          "a-b",
                                          "_",
                                          "tv_scratch",
                                          "tv_param_0",
                                          "tv_global_1",
                                          "$L1",
                                          "WARP_SZ",
                                          "vprintf",
                                          "\\0A",
                                          "%d1"};
    for (size_t i = 0; i < TV_COUNT(refused); i++)
        check_names(refused[i], "g", "", false, "");
    for (size_t i = 0; i < TV_COUNT(taken); i++)
        check_names(taken[i], "g", "", true, " g[4] = ");
    for (size_t i = 0; i < TV_COUNT(renamed); i++)
        if (renamed[i][0]) /* nothing is called "" */
            check_names("k", renamed[i], "", true, " tv_global_0[4] = ");
    check_names("k", "g", "a\\22\\0A.entry evil() { ret; }", true, ".file 1 \"k.pya??.entry evil() { ret; }\"\n");
    check_names("k", "g", "\\C3\\A4\\7F\\\\", true, ".file 1 \"k.py????\"\n");
    check_names("k", "g", "%%s\\0A", true, "{37, 37, 115, 10, 37, 100, 0}");
}

/* ---- strings ---- */

typedef void put_fn(bc_text *out, tv_str s);

static void check_put(put_fn *put, const char *s, size_t len, const char *wanted)
{
    bc_text text;
    bc_text_init(&text, NULL);
    put(&text, (tv_str){s, len});
    CHECK_MSG(strcmp(text.ptr ? text.ptr : "", wanted) == 0, "'%s', not '%s'", text.ptr ? text.ptr : "", wanted);
    bc_text_release(&text);
}

static void check_strings(void)
{
    char every[256], safe[257], path[20000];
    for (int i = 0; i < 256; i++) {
        every[i] = (char)i;
        safe[i] = i < ' ' || i > '~' || i == '"' || i == '\\' ? '?' : (char)i;
    }
    safe[256] = 0;
    check_put(cg_put_file_name, every, 256, safe);
    safe[200] = 0;
    check_put(cg_put_comment, every, 256, safe);
    check_put(cg_put_bytes, "", 0, "0");
    check_put(cg_put_bytes, "\xff\n", 2, "255, 10, 0");
    bc_text text;
    bc_text_init(&text, NULL);
    memset(path, 'a', sizeof path);
    cg_put_file_name(&text, (tv_str){path, sizeof path});
    CHECK(text.len == 4096);
    bc_text_release(&text);
}

int main(void)
{
    check_types();
    check_limits();
    check_module();
    check_strings();
    return TEST_END("compile_entry");
}
