/* Line tables of compiled kernels, and that the same input gives the same bytes. */
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

static const char source[] =
    "#file = #cuda_tile.di_file<\"a\\22b.py\" in \"/src\">\n"
    "#unit = #cuda_tile.di_compile_unit<file = #file>\n"
    "#k = #cuda_tile.di_subprogram<file = #file, line = 3, name = \"k\", linkageName = \"k\", compileUnit = #unit, "
    "scopeLine = 4>\n"
    "entry @k(%p: tile<ptr<i32>>, %a: tile<i32>) {\n"
    "  %0 = addi %a, %a : tile<i32> loc(#add)\n"
    "  %t = store_ptr_tko weak %p, %0 : tile<ptr<i32>>, tile<i32> -> token loc(#add)\n"
    "  %1 = muli %0, %a : tile<i32> loc(#inlined)\n"
    "  %u = store_ptr_tko weak %p, %1 token = %t : tile<ptr<i32>>, tile<i32> -> token loc(#inlined)\n"
    "  return loc(#entry)\n"
    "} loc(#entry)\n"
    "#h = #cuda_tile.di_subprogram<file = #file, line = 30, name = \"h\", linkageName = \"h\", compileUnit = #unit, "
    "scopeLine = 31>\n"
    "#helper = #cuda_tile.di_loc<loc(\"helper.py\":31:9) in #h>\n"
    "#inlined = loc(callsite(#helper at #add))\n"
    "#entry = #cuda_tile.di_loc<loc(\"a\\22b.py\":3:1) in #k>\n"
    "#add = #cuda_tile.di_loc<loc(\"a\\22b.py\":14:5) in #k>\n";

static void compile(const tv_module *m, bool line_info, bc_text *out)
{
    bc_text_init(out, NULL);
    CHECK(tv_compile_ptx(m, &(tv_compile_options){.target = "sm_90", .line_info = line_info}, (tv_sink){0},
                         (tv_writer){out, bc_text_append})
          == TV_OK);
}

int main(void)
{
    tv_module *m = NULL;
    bc_text lines, again, plain;
    CHECK(tv_module_parse(source, sizeof source - 1, 0, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    compile(m, true, &lines);
    compile(m, true, &again);
    compile(m, false, &plain);
    CHECK(lines.ptr && strstr(lines.ptr, "\t.loc 1 14 5\n"));
    CHECK(lines.ptr
          && strstr(lines.ptr, "\t.loc 1 14 5\n\t.loc 2 31 9, function_name tv_inlined_1, inlined_at 1 14 5\n"));
    CHECK(lines.ptr && strstr(lines.ptr, "\n.file 2 \"helper.py\"\n"));
    CHECK(lines.ptr && strstr(lines.ptr, "\n.file 1 \"a?b.py\"\n")); /* no name ends the directive's string */
    CHECK(lines.len == again.len && memcmp(lines.ptr, again.ptr, lines.len) == 0);
    CHECK(plain.ptr && !strstr(plain.ptr, ".loc") && !strstr(plain.ptr, ".file"));
    tv_module_close(m);
    bc_text_release(&lines);
    bc_text_release(&again);
    bc_text_release(&plain);
    return TEST_END("compile_lines");
}
