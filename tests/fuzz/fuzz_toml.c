/* tilevm.toml: it is refused with a reason, or each entry has what an entry must have. */
#include "tests/fuzz/fuzz.h"
#include "tools/tilevm/report/suppress.h"
#include "tools/tilevm/report/toml.h"

/* The reader comes to an end, and says the same again behind it. */
static void read_all(const char *text, size_t size)
{
    static toml_reader r;
    toml_event event;
    toml_open(&r, text, size);
    for (size_t things = 0; (event = toml_next(&r)) != TOML_END && event != TOML_ERROR; things++)
        FUZZ_CHECK(things < size && strlen(r.string) == r.length && r.at <= size);
    FUZZ_CHECK(toml_next(&r) == event && (event == TOML_ERROR) == (r.error[0] != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[512] = "";
    suppressions s;
    read_all((const char *)data, size);
    const tv_diag finding = {.rule = "X-RAC-01", .function = {"k", 1}, .file = {"a/b.py", 6}, .line = 1};
    if (!suppress_parse(&s, "f", (const char *)data, size, error, sizeof error)) {
        FUZZ_CHECK(error[0]);
    } else {
        for (size_t i = 0; i < s.count; i++) {
            char words[300];
            FUZZ_CHECK(s.entries[i].rule && s.entries[i].reason && (!s.entries[i].line || s.entries[i].file));
            suppress_describe(&s.entries[i], words, sizeof words);
        }
        suppress_find(&s, &finding);
    }
    suppress_release(&s);
    return 0;
}
