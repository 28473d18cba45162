/* The verifier's manners: limits, silence about consequences, options, memory. What each rule says is in tests/rules.
 */
#include <stdlib.h>
#include <string.h>

#include "bytecode/module.h"
#include "tests/unit/test.h"

/* ---- a sink that counts ---- */

typedef struct seen {
    unsigned errors, warnings;
    char first[16], last[16]; /* rules */
} seen;

static void see(void *user, const tv_diag *diag)
{
    seen *s = user;
    *(diag->severity == TV_ERROR ? &s->errors : &s->warnings) += 1;
    if (s->errors + s->warnings == 1)
        snprintf(s->first, sizeof s->first, "%s", diag->rule);
    snprintf(s->last, sizeof s->last, "%s", diag->rule);
}

static tv_module *parse(const char *text, unsigned minor)
{
    seen s = {0};
    tv_module *m = NULL;
    tv_status status = tv_module_parse(text, strlen(text), minor, NULL, (tv_sink){&s, see}, &m);
    CHECK_MSG(status == TV_OK, "%s: %s", text, s.first);
    return m;
}

static tv_status verify(tv_module *m, const tv_verify_options *options, seen *out)
{
    memset(out, 0, sizeof *out);
    return tv_module_verify(m, options, (tv_sink){out, see});
}

/* ---- consequences ---- */

/* Each text has one mistake and ops that use its result. */
static void one_mistake_one_report(void)
{
    static const struct {
        const char *text, *rule;
    } cases[] = {
        {"entry @k(%n: tile<i32>) {\n"
         "  %a = addi %n, %n : tile<8xi32>\n" /* wrong result type */
         "  %b = addi %a, %n : tile<i32>\n"
         "  %c = muli %b, %n : tile<i32>\n  return\n}\n",
         "V-INT-02"},
        {"entry @k(%n: tile<i32>) {\n"
         "  %a = iota : tile<3xi32>\n" /* no such type */
         "  %b = iota : tile<3xi32>\n"
         "  %c = addi %a, %b : tile<3xi32>\n"
         "  %d = reshape %c : tile<3xi32> -> tile<4xi32>\n  return\n}\n",
         "T-03"},
        {"entry @k(%n: tile<i32>) {\n"
         "  %a = constant <i64: 1> : tile<i64>\n"
         "  %r = for %i in (%n to %a, step %n) : tile<i32> iter_values(%x = %n) -> (tile<i32>) {\n" /* bounds differ */
         "    continue %a : tile<i64>\n  }\n"
         "  %s = addi %r, %a : tile<i32>\n  return\n}\n",
         "V-FOR-01"},
        {"entry @k(%n: tile<i32>) {\n"
         "  %a = addf %n, %n : tile<i32>\n" /* one type, wrong three times */
         "  return\n}\n",
         "V-FLT-01"},
        {"entry @k(%n: i32, %m: i32) {\n" /* two parameters of one wrong type */
         "  %a = assume div_by<4>, %n : i32\n  return\n}\n",
         "V-ENT-02"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tv_module *m = parse(cases[i].text, 0);
        if (!m)
            continue;
        seen s;
        CHECK(verify(m, NULL, &s) == TV_INVALID);
        CHECK_MSG(s.errors == 1 && strcmp(s.first, cases[i].rule) == 0, "case %zu: %u errors, first %s, last %s", i,
                  s.errors, s.first, s.last);
        tv_module_close(m);
    }
}

/* Mistakes that have nothing to do with each other are all reported, in one pass and in the order of the text. */
static void every_mistake_is_reported(void)
{
    tv_module *m = parse("entry @k(%n: tile<i32>, %x: tile<f16>) {\n"
                         "  %a = divi %n, %n unsigned rounding<negative_inf> : tile<i32>\n"
                         "  %b = addf %x, %x flush_to_zero : tile<f16>\n"
                         "  %c = constant <i1: true> : tile<i1>\n"
                         "  if %c {\n    %d = ftof %x : tile<f16> -> tile<f16>\n  }\n"
                         "  break\n}\n"
                         "entry @other(%n: tile<8xi32>) {\n  return\n}\n",
                         0);
    seen s;
    CHECK(verify(m, NULL, &s) == TV_INVALID);
    CHECK_MSG(s.errors == 5 && strcmp(s.first, "V-INT-04") == 0 && strcmp(s.last, "V-ENT-02") == 0,
              "%u errors, first %s, last %s", s.errors, s.first, s.last);
    tv_module_close(m);
}

/* ---- options ---- */

static char *many(const char *line, unsigned count)
{
    char *text = malloc(100 + count * (strlen(line) + 12));
    if (!text)
        abort();
    char *p = text + sprintf(text, "entry @k(%%n: tile<i32>, %%x: tile<f16>) {\n");
    for (unsigned i = 0; i < count; i++)
        p += sprintf(p, "  %%v%u = %s\n", i, line);
    strcpy(p, "  return\n}\n");
    return text;
}

static void limits(void)
{
    char *text = many("addf %x, %x flush_to_zero : tile<f16>", 50);
    tv_module *m = parse(text, 0);
    static const unsigned limit[] = {0, 1, 7, 50, 1000}, expected[] = {20, 1, 7, 50, 50};
    for (unsigned i = 0; i < 5; i++) {
        seen s;
        tv_verify_options options = {.max_errors = limit[i]};
        CHECK(verify(m, &options, &s) == TV_INVALID);
        CHECK_MSG(s.errors == expected[i], "limit %u: %u errors", limit[i], s.errors);
    }
    tv_module_close(m);
    free(text);

    text = many("extract %t[%n] : tile<8xf32> -> tile<8xf32>", 50);
    char *with_warnings = malloc(strlen(text) + 200);
    if (!with_warnings)
        abort();
    strcpy(with_warnings, "entry @k(%x: tile<f16>) {\n  %t = constant <f32: 1.0> : tile<8xf32>\n"
                          "  %n = constant <i32: 5> : tile<i32>\n");
    strcat(with_warnings, strchr(text, '\n') + 1);
    m = parse(with_warnings, 0);
    seen s;
    CHECK(verify(m, &(tv_verify_options){.max_errors = 3}, &s) == TV_OK); /* warnings do not stop it */
    CHECK_MSG(s.errors == 0 && s.warnings == 3 && strcmp(s.first, "V-EXT-06") == 0, "%u, %s", s.warnings, s.first);
    tv_module_close(m);
    free(with_warnings);
    free(text);
}

/* One module, verified again and again with different options. */
static void options_do_not_stick(void)
{
    tv_module *m = parse("entry @\"a-b\"() {\n  %c = constant <f8E5M2: 1.0> : tile<8xf8E5M2>\n"
                         "  %d = ftof %c : tile<8xf8E5M2> -> tile<8xf32>\n  return\n}\n",
                         0);
    seen s;
    for (int round = 0; round < 2; round++) {
        CHECK(verify(m, NULL, &s) == TV_OK && s.warnings == 1 && strcmp(s.first, "V-ENT-08") == 0);
        CHECK(verify(m, &(tv_verify_options){.strict = true}, &s) == TV_INVALID && s.errors == 1);
        CHECK(verify(m, &(tv_verify_options){.target = 80}, &s) == TV_OK);
        CHECK(verify(m, &(tv_verify_options){.target = 80, .reference = true}, &s) == TV_INVALID);
        CHECK_MSG(s.errors == 2 && strcmp(s.last, "G-TYP-01") == 0, "%u, %s", s.errors, s.last);
        CHECK(verify(m, &(tv_verify_options){.target = 12}, &s) == TV_INVALID && strcmp(s.first, "G-TGT-01") == 0);
    }
    CHECK(tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK); /* a sink that does not listen */
    tv_module_close(m);
}

/* Newer things in a module that claims to be older. Files and text are refused earlier; modules made in memory are not.
 */
static void versions(void)
{
    static const struct {
        const char *line, *rule;
        unsigned needs;
    } cases[] = {
        {"%a = atan2 %x, %x : tile<f32>", "W-01", 2},
        {"%a = exp %x rounding<approx> : tile<f32>", "W-01", 3},
        {"%a = ftoi %x signed saturating : tile<f32> -> tile<i32>", "W-01", 4},
        {"%t = make_token : token\n  %a = print_tko \"%f\", %x token=%t : tile<f32> -> token", "W-01", 2},
        {"%a = ftof %x rounding<nearest_away> : tile<f32> -> tile<tf32>", "F-080", 4},
        {"%a = ftof %x : tile<f32> -> tile<fnv8E5M3FNU>", "F-037", 4},
        {"for unsigned %i in (%n to %n, step %n) : tile<i32> {\n    continue\n  }", "W-01", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, "entry @k(%%x: tile<f32>, %%n: tile<i32>) {\n  %s\n  return\n}\n", cases[i].line);
        tv_module *m = parse(text, cases[i].needs);
        if (!m)
            continue;
        seen s;
        CHECK_MSG(verify(m, NULL, &s) == TV_OK, "case %zu: %s", i, s.first);
        m->version = (bc_version)(cases[i].needs - 1);
        CHECK(verify(m, NULL, &s) == TV_INVALID);
        CHECK_MSG(s.errors == 1 && strcmp(s.first, cases[i].rule) == 0, "case %zu: %u errors, first %s", i, s.errors,
                  s.first);
        tv_module_close(m);
    }
}

/* ---- memory ---- */

/* Fails the n-th allocation and all after it. */
typedef struct stingy {
    unsigned left;
    int held;
} stingy;

static void *stingy_alloc(void *user, size_t size)
{
    stingy *s = user;
    if (s->left == 0)
        return NULL;
    s->left--;
    s->held++;
    return malloc(size);
}

static void stingy_release(void *user, void *memory, size_t size)
{
    (void)size;
    stingy *s = user;
    if (memory)
        s->held--;
    free(memory);
}

/* Without memory the answer is TV_NO_MEMORY, or the right one. Nothing leaks and nothing is made up. */
static void out_of_memory(void)
{
    static const char *const texts[] = {
        "global @g <i32: [1, 2]> : tile<2xi32>\nentry @k(%p: tile<ptr<i32>>) {\n  %x = constant <i32: 1> : tile<i32>\n"
        "  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token\n"
        "  %v, %u = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token\n  return\n}\n",
        "entry @k(%n: tile<i32>) {\n  %a = addi %n, %n : tile<8xi32>\n  %b = addi %a, %n : tile<i32>\n  return\n}\n",
    };
    static const tv_status right[] = {TV_OK, TV_INVALID};
    for (unsigned i = 0; i < 2; i++) {
        bool finished = false;
        for (unsigned n = 0; n < 200 && !finished; n++) {
            stingy purse = {.left = 1000};
            tv_allocator allocator = {&purse, stingy_alloc, stingy_release};
            tv_module *m = NULL;
            seen s = {0};
            CHECK(tv_module_parse(texts[i], strlen(texts[i]), 0, &(tv_open_options){.allocator = &allocator},
                                  (tv_sink){&s, see}, &m)
                  == TV_OK);
            purse.left = n;
            tv_status status = verify(m, NULL, &s);
            finished = purse.left > 0;
            CHECK_MSG(status == right[i] || (!finished && status == TV_NO_MEMORY), "text %u, %u allocations: %d", i, n,
                      (int)status);
            tv_module_close(m);
            CHECK_MSG(purse.held == 0, "text %u, %u allocations: %d not released", i, n, purse.held);
        }
        CHECK_MSG(finished, "text %u never finished", i);
    }
}

int main(void)
{
    one_mistake_one_report();
    every_mistake_is_reported();
    limits();
    options_do_not_stick();
    versions();
    out_of_memory();
    return TEST_END("verify");
}
