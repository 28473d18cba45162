/* A code generator for tests: kernels with the entries of the module, their parameters and no code. Linked in place of
   the real one where a test is about what happens to compiled code. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bytecode/base/text.h"
#include "tests/fakecuda/compile.h"

static atomic_uint count;

unsigned fake_compile_count(void)
{
    return count;
}

static void put_entry(const tv_module *module, size_t entry, bc_text *out)
{
    tv_str name = tv_module_entry_name(module, entry);
    bc_text_printf(out, "// launch %.*s shared 65536\n.visible .entry %.*s(", (int)name.len, name.ptr, (int)name.len,
                   name.ptr);
    for (size_t i = 0; i < tv_module_entry_param_count(module, entry); i++) {
        tv_entry_param param = tv_module_entry_param(module, entry, i);
        bc_text_printf(out, "%s\n    .param .%s%u %.*s_%zu", i ? "," : "", param.pointer ? "u" : "b", param.size * 8,
                       (int)name.len, name.ptr, i);
    }
    bc_text_printf(out, "\n)\n.reqntid 128, 1, 1\n{\n    // op 0 return kernel.py:3:5\n%s    ret;\n}\n",
                   getenv("FAKE_COMPILE_BREAKS") ? "    bogus.s32 %r1;\n" : "");
}

tv_status tv_compile_ptx(const tv_module *module, const tv_compile_options *options, tv_sink sink, tv_writer out)
{
    count++;
    if (getenv("FAKE_COMPILE_SLOWLY"))
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (getenv("FAKE_COMPILE_REFUSES")) {
        tv_diag diag = {.rule = "G-GEN-01",
                        .message = bc_str("there is no code for this"),
                        .function = bc_str("first"),
                        .op = bc_str("addi"),
                        .op_text = bc_str("addi %0, %1"),
                        .offset = 0x80,
                        .file = bc_str("kernel.py"),
                        .line = 7,
                        .column = 3,
                        .help = bc_str("try something else")};
        sink.report(sink.user, &diag);
        return TV_UNSUPPORTED;
    }
    if (options->remarks.report) {
        tv_remark_arg args[] = {{bc_str("Bytes"), bc_str("16")}, {{0}, bc_str(" bytes it's")}};
        tv_remark remark = {.kind = TV_REMARK_MISSED,
                            .category = "memory",
                            .name = "VectorAccess",
                            .function = bc_str("first"),
                            .op = bc_str("load_view_tko"),
                            .offset = 0x80,
                            .file = bc_str("kernel.py"),
                            .line = 7,
                            .column = 3,
                            .message = bc_str("16 bytes it's"),
                            .args = args,
                            .arg_count = TV_COUNT(args)};
        options->remarks.report(options->remarks.user, &remark);
    }
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_printf(&text, ".version 8.0\n.target %s\n.address_size 64\n", options->target ? options->target : "sm_80");
    if (getenv("FAKE_COMPILE_SHARED"))
        bc_text_printf(&text, ".shared .align 16 .b8 tv_scratch[%s];\n", getenv("FAKE_COMPILE_SHARED"));
    for (size_t i = 0; i < tv_module_entry_count(module); i++)
        put_entry(module, i, &text);
    bool fine = !text.failed && out.write(out.user, text.ptr, text.len);
    bc_text_release(&text);
    return fine ? TV_OK : TV_IO;
}
