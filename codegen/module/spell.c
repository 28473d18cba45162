/* Spells strings for PTX; see the header. Sources: PTX ISA, "Identifiers"; what ptxas 13.0 takes. */
#include "codegen/module/spell.h"

#include <string.h>

#include "bytecode/base/compiler.h"

/* ---- names ---- */

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static bool is_letter(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

static bool begins_with(tv_str name, const char *text)
{
    size_t len = strlen(text);
    return name.len >= len && memcmp(name.ptr, text, len) == 0;
}

/* PTX also has identifiers that begin with '%', among them registers, ours and its own. */
static bool is_identifier(tv_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char ch = name.ptr[i];
        if (!is_letter(ch) && ch != '_' && ch != '$' && (i == 0 || !is_digit(ch)))
            return false;
    }
    return name.len > 1 || (name.len == 1 && is_letter(name.ptr[0]));
}

/* Does PTX, or the device's runtime, or any generated code (labels) have something of that name? */
static bool is_taken(tv_str name)
{
    static const char *const names[] = {"WARP_SZ", "vprintf", "malloc", "free"};
    for (size_t i = 0; i < TV_COUNT(names); i++)
        if (bc_str_is(name, names[i]))
            return true;
    return begins_with(name, "$L") && (name.len == 2 || is_digit(name.ptr[2]));
}

bool cg_is_kernel_name(tv_str name)
{
    static const char *const ours[] = {
        "tv_constant_", "tv_global_", "tv_maps_", "tv_print_lock", "tv_text_", "tv_two_over_pi",
#define FUNCTION(op, f32, f64, operands, form) "tv_" #op "_f32", "tv_" #op "_f64",
#include "codegen/math/math.def"
    };
    bool fine = is_identifier(name) && !is_taken(name);
    for (size_t i = 0; fine && i < TV_COUNT(ours); i++)
        fine = !begins_with(name, ours[i]);
    return fine;
}

void cg_put_kernel_name(bc_text *out, tv_str name)
{
    bc_text_str(out, name);
}

/* A variable of a kernel, such as tv_scratch, would hide a global of its name. */
void cg_put_global_name(bc_text *out, const bc_module *m, const bc_global *g)
{
    if (is_identifier(g->name->s) && !is_taken(g->name->s) && !begins_with(g->name->s, "tv_"))
        bc_text_str(out, g->name->s);
    else
        bc_text_printf(out, "tv_global_%zu", (size_t)(g - m->globals));
}

/* ---- other strings ---- */

static bool is_plain(char ch)
{
    return ch >= ' ' && ch <= '~' && ch != '"' && ch != '\\';
}

/* Printable ASCII stays; '?' stands for what ptxas does not read, or what could end the line or the string. */
static void put_plain(bc_text *out, tv_str text, size_t most)
{
    const size_t end = text.len < most ? text.len : most;
    for (size_t i = 0; i < end; i++) {
        const size_t first = i;
        while (i < end && is_plain(text.ptr[i]))
            i++;
        bc_text_bytes(out, text.ptr + first, i - first);
        if (i < end)
            bc_text_char(out, '?');
    }
}

void cg_put_file_name(bc_text *out, tv_str name)
{
    enum { MOST = 4096 }; /* as in paths; ptxas takes lines of 16 KB */
    put_plain(out, name, MOST);
}

void cg_put_comment(bc_text *out, tv_str text)
{
    enum { MOST = 200 };
    put_plain(out, text, MOST);
}

void cg_put_bytes(bc_text *out, tv_str s)
{
    for (size_t i = 0; i < s.len; i++)
        bc_text_printf(out, "%u, ", (unsigned)(uint8_t)s.ptr[i]);
    bc_text_char(out, '0');
}
