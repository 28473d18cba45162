/* Remarks as the commands write them, from records with names that try to get out of their quotes; what of ptxas's
   figures is understood; choosing; and that the code generator's own remarks add up to their message. */
#include <string.h>

#include "tests/unit/test.h"
#include "tools/tilevm/compile/remarks.h"

static tv_remark example(const tv_remark_arg *args)
{
    return (tv_remark){.kind = TV_REMARK_MISSED,
                       .category = "memory",
                       .name = "VectorAccess",
                       .function = bc_str("k'\n...\n--- !x"),
                       .op = bc_str("load_view_tko"),
                       .offset = 0x80,
                       .file = bc_str("a'b.py"),
                       .line = 7,
                       .column = 3,
                       .message = bc_str("16 bytes\n, it's"),
                       .args = args,
                       .arg_count = 2};
}

static void check_forms(void)
{
    static const char document[] = "--- !Missed\n"
                                   "Pass:            memory\n"
                                   "Name:            VectorAccess\n"
                                   "DebugLoc:        { File: 'a''b.py', Line: 7, Column: 3 }\n"
                                   "Function:        \"k'\\x0a...\\x0a--- !x\"\n"
                                   "Args:\n"
                                   "  - Op:              'load_view_tko'\n"
                                   "  - String:          ': '\n"
                                   "  - Bytes:           '16'\n"
                                   "  - String:          \" bytes\\x0a, it's\"\n"
                                   "...\n";
    tv_remark_arg args[] = {{bc_str("Bytes"), bc_str("16")}, {{0}, bc_str(" bytes\n, it's")}};
    tv_remark remark = example(args);
    bc_text text, yaml, summary;
    tv_str bad;
    bc_text_init(&text, NULL);
    bc_text_init(&yaml, NULL);
    bc_text_init(&summary, NULL);
    remarks r = {.path = "k.tbc", .out = &yaml, .yaml = true, .summary = &summary};
    CHECK(remarks_choose(&r, "all", &bad));
    tv_remark_sink sink = remarks_sink(&r);
    sink.report(sink.user, &remark);
    sink.report(sink.user, &remark);
    CHECK(yaml.ptr && strncmp(yaml.ptr, document, strlen(document)) == 0);
    CHECK(yaml.len == 2 * strlen(document));
    remarks_summary(&r);
    CHECK(summary.ptr
          && strcmp(summary.ptr, "@k'\\x0a...\\x0a--- !x\n  loads and stores\n"
                                 "    a'b.py:7:3 load_view_tko: 16 bytes\\x0a, it's (2 times)\n")
                 == 0);
    r.yaml = false;
    r.summary = NULL;
    r.out = &text;
    remark.line = 0;
    sink.report(sink.user, &remark);
    CHECK(text.ptr
          && strcmp(text.ptr, "k.tbc:0x0080: remark: [missed memory/VectorAccess] load_view_tko: 16 bytes\\x0a, it's\n")
                 == 0);
    bc_text_release(&text);
    bc_text_release(&yaml);
    bc_text_release(&summary);
}

static void check_choice(void)
{
    remarks kinds = {0}, categories = {0}, both = {0}, none = {0};
    tv_str bad = {0};
    CHECK(remarks_choose(&kinds, "passed,missed", &bad) && kinds.wanted[TV_REMARK_PASSED] == REMARK_ALL
          && kinds.wanted[TV_REMARK_MISSED] == REMARK_ALL && !kinds.wanted[TV_REMARK_ANALYSIS]);
    CHECK(remarks_choose(&categories, "memory", &bad) && categories.wanted[TV_REMARK_ANALYSIS] == 1u << REMARK_memory);
    CHECK(remarks_choose(&both, "missed,loop,memory", &bad) && !both.wanted[TV_REMARK_PASSED]
          && both.wanted[TV_REMARK_MISSED] == (1u << REMARK_loop | 1u << REMARK_memory));
    CHECK(!remarks_choose(&none, "passed,,all", &bad) && bad.len == 0);
    CHECK(!remarks_choose(&none, "passed,memo", &bad) && bc_str_is(bad, "memo"));
}

typedef struct seen {
    unsigned count;
    bool adds_up;
    bc_text messages;
} seen;

static void see(void *user, const tv_remark *remark)
{
    seen *s = user;
    bc_text sum;
    bc_text_init(&sum, NULL);
    for (size_t i = 0; i < remark->arg_count; i++)
        bc_text_str(&sum, remark->args[i].value);
    s->adds_up = s->adds_up && bc_str_eq(bc_text_get(&sum), remark->message);
    s->count++;
    bc_text_printf(&s->messages, "%.*s %d %.*s\n", (int)remark->function.len, remark->function.ptr, (int)remark->kind,
                   (int)remark->message.len, remark->message.ptr);
    bc_text_release(&sum);
}

static seen new_seen(void)
{
    seen s = {.adds_up = true};
    bc_text_init(&s.messages, NULL);
    return s;
}

static void check_ptxas(void)
{
    static const char words[] = "ptxas info    : 0 bytes gmem\n"
                                "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
                                "ptxas info    : Function properties for a\n"
                                "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                "ptxas info    : Used 24 registers, used 0 barriers\n"
                                "ptxas info    : Compiling entry function 'b' for 'sm_90a'\n"
                                "ptxas info    : Function properties for helper\n"
                                "    8 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
                                "ptxas info    : Function properties for b\n"
                                "    48 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads\n"
                                "ptxas info    : Used 255 registers";
    seen s = new_seen();
    remarks_of_ptxas(bc_str(words), (tv_remark_sink){&s, see});
    CHECK(s.adds_up && s.messages.ptr
          && strcmp(s.messages.ptr,
                    "a 2 24 registers of a thread, 0 bytes of spill stores, 0 bytes of spill loads\n"
                    "b 1 255 registers of a thread, 44 bytes of spill stores, 52 bytes of spill loads\n")
                 == 0);
    bc_text_release(&s.messages);
    s = new_seen();
    remarks_of_ptxas(bc_str("ptxas info    : Used 24 registers\nptxas info    : Compiling entry function 'a"),
                     (tv_remark_sink){&s, see});
    CHECK(s.count == 0);
    remarks_of_ptxas((tv_str){0}, (tv_remark_sink){&s, see});
    CHECK(s.count == 0);
}

static bool ignore(void *user, const void *bytes, size_t size)
{
    (void)user, (void)bytes, (void)size;
    return true;
}

static bool refuse(void *user, const void *bytes, size_t size)
{
    (void)user, (void)bytes, (void)size;
    return false;
}

/* A line for each pass with time_passes; no PTX with stop_after. */
static void check_passes(const tv_module *m)
{
    bc_text times, ptx;
    unsigned lines = 0, passes = 0;
#define PASS(name, needs, gives, keeps, summary) passes++;
#include "codegen/passes/passes.def"
    bc_text_init(&times, NULL);
    bc_text_init(&ptx, NULL);
    tv_compile_options options = {.time_passes = true, .verify_each = true, .dump = {&times, bc_text_append}};
    CHECK(tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){&ptx, bc_text_append}) == TV_OK && ptx.len);
    for (const char *at = times.ptr; at && *at; at = strchr(at, '\n') + 1)
        lines += strncmp(at, "// time: ", 9) == 0 && strstr(at, " us ");
    CHECK_MSG(lines == passes, "%u lines", lines);
    bc_text_clear(&ptx);
    bc_text_clear(&times);
    options.stop_after = "facts";
    CHECK(tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){NULL, refuse}) == TV_OK);
    CHECK(times.ptr && strstr(times.ptr, " facts ") && !strstr(times.ptr, " lower "));
    options.stop_after = "all";
    CHECK(tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){&ptx, bc_text_append}) == TV_USAGE && !ptx.len);
    bc_text_release(&times);
    bc_text_release(&ptx);
}

static void check_generator(void)
{
    static const char source[] = "entry @k(%p: tile<ptr<i32>>, %a: tile<i32>) {\n"
                                 "  %t = store_ptr_tko weak %p, %a : tile<ptr<i32>>, tile<i32> -> token\n  return\n}\n";
    tv_module *m = NULL;
    CHECK(tv_module_parse(source, sizeof source - 1, 0, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    seen s = new_seen();
    tv_compile_options options = {.remarks = {&s, see}};
    CHECK(tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){NULL, ignore}) == TV_OK && s.count == 3 && s.adds_up);
    CHECK(s.messages.ptr
          && strstr(s.messages.ptr,
                    "k 1 tile<ptr<i32>>: 1 x 4 bytes a thread, not masked; limited by a single element\n"));
    options = (tv_compile_options){.dump_after = "facts", .dump = {NULL, refuse}};
    CHECK(tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){NULL, ignore}) == TV_IO);
    options.dump_after = "facts@other";
    CHECK(tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){NULL, ignore}) == TV_USAGE);
    options.dump_after = "lower,none";
    CHECK(tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){NULL, ignore}) == TV_USAGE);
    check_passes(m);
    tv_module_close(m);
    bc_text_release(&s.messages);
}

int main(void)
{
    check_forms();
    check_choice();
    check_ptxas();
    check_generator();
    return TEST_END("remarks");
}
