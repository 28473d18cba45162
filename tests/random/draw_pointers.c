/* Kernels that multiply tiles loaded through tiles of pointers, as Triton generates them: rows times a stride plus
   columns, carried through the loop and advanced, with masks for extents and for the rest of K, and rows modulo an
   extent. Similar forms that must not be changed are included: strides that are negative, unaligned or 0; offsets
   that wrap at 32 bits; masks for another extent; rows that wrap around and are stored. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/random/draw.h"

enum { WORDS = 40, WORD = 260 };

/* The texts that replace `$name$` in a text. */
typedef struct words {
    unsigned count;
    const char *names[WORDS];
    char texts[WORDS][WORD];
} words;

static void say(words *w, const char *name, const char *format, ...) TV_PRINTF(3, 4);

static void say(words *w, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->names[w->count] = name;
    vsnprintf(w->texts[w->count++], WORD, format, args);
    va_end(args);
}

/* Writes the text with all `$name$` replaced, also inside replacements. */
static void write_text(bc_text *out, const char *text, const words *w)
{
    while (*text) {
        const char *open = strchr(text, '$'), *close = open ? strchr(open + 1, '$') : NULL;
        size_t before = open ? (size_t)(open - text) : strlen(text);
        bc_text_printf(out, "%.*s", (int)before, text);
        if (!close)
            return;
        for (unsigned i = 0; i < w->count; i++)
            if (strlen(w->names[i]) == (size_t)(close - open - 1)
                && !strncmp(w->names[i], open + 1, strlen(w->names[i])))
                write_text(out, w->texts[i], w);
        text = close + 1;
    }
}

/* Scalars that are known only at launch: a number and 1, exclusive. */
static const char head[] = "cuda_tile.module @m {\n"
                           "entry @k(%a0: tile<ptr<f16>>, %b0: tile<ptr<f16>>, %c0: tile<ptr<f16>>, %lock: "
                           "tile<ptr<i32>>, %one: tile<i32>) {\n"
                           "%x, %y, %z = get_tile_block_id : tile<i32>\n"
                           "$base of a$"
                           "%b1 = assume div_by<16>, %b0 : tile<ptr<f16>>\n"
                           "%0 = constant <i32: 0> : tile<i32>\n"
                           "%1 = constant <i32: 1> : tile<i32>\n"
                           "%tm = constant <i32: $M$> : tile<i32>\n"
                           "%tk = constant <i32: $K$> : tile<i32>\n"
                           "%ldc = constant <i32: $N$> : tile<$M$x1xi32>\n"
                           "$offset of a$"
                           "%bat = constant <i32: $bat$> : tile<i32>\n"
                           "%cat = constant <i32: $cat$> : tile<i32>\n"
                           "%a2 = offset %a1, %aat : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>\n"
                           "%b2 = offset %b1, %bat : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>\n"
                           "%c2 = offset %c0, %cat : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>\n";
static const char number[] = "%$name$.x = constant <i32: $number$> : tile<i32>\n"
                             "%$name$ = xori %$name$.x, %one : tile<i32>\n";

/* A scalar broadcast to $to$, through the shape $ones$. */
#define SPREAD(from, to, kind, ones, shape)                                       \
    "%" to ".1 = reshape %" from " : tile<" kind "> -> tile<" ones "x" kind ">\n" \
    "%" to " = broadcast %" to ".1 : tile<" ones "x" kind "> -> tile<" shape "x" kind ">\n"
#define ROWS(from, to, kind, count, shape)                                                     \
    "%" to ".1 = reshape %" from " : tile<" count "x" kind "> -> tile<" count "x1x" kind ">\n" \
    "%" to " = broadcast %" to ".1 : tile<" count "x1x" kind "> -> tile<" shape "x" kind ">\n"
#define COLUMNS(from, to, kind, count, shape)                                                  \
    "%" to ".1 = reshape %" from " : tile<" count "x" kind "> -> tile<1x" count "x" kind ">\n" \
    "%" to " = broadcast %" to ".1 : tile<1x" count "x" kind "> -> tile<" shape "x" kind ">\n"
#define WIDE(from, to, shape) "%" to " = exti %" from " signed : tile<" shape "i32> -> tile<" shape "$i$>\n"

static const char places[] =
    "%pm = iota : tile<$M$xi32>\n%pn = iota : tile<$N$xi32>\n%pk = iota : tile<$K$xi32>\n"
    "%first = muli %x, %tm : tile<i32>\n" SPREAD("first", "firsts", "i32", "1",
                                                 "$M$") "%rows = addi %firsts, %pm : tile<$M$xi32>\n" SPREAD("m", "ms",
                                                                                                             "i32", "1",
                                                                                                             "$M$")
        SPREAD("n", "ns", "i32", "1", "$N$") "%over = remi %rows, %ms signed : tile<$M$xi32>\n" ROWS(
            "$rows of a$", "ra", "i32", "$M$", "$A$") COLUMNS("pk", "ca", "i32", "$K$", "$A$") ROWS("pk", "rb", "i32",
                                                                                                    "$K$", "$B$")
            COLUMNS("pn", "cb", "i32", "$N$", "$B$") "$widen$" SPREAD("sa$w$", "sas", "$i$", "1x1", "$A$") SPREAD(
                "sb$w$", "sbs", "$i$", "1x1",
                "$B$") "%oa = muli %ra$w$, %sas : tile<$A$x$i$>\n%oa1 = addi %oa, %ca$w$ : tile<$A$x$i$>\n"
                       "%ob = muli %rb$w$, %sbs : tile<$B$x$i$>\n%ob1 = addi %ob, %cb$w$ : tile<$B$x$i$>\n"
                       "$more$" SPREAD("a2", "as", "ptr<f16>", "1x1", "$A$") SPREAD(
                           "b2", "bs", "ptr<f16>", "1x1",
                           "$B$") "%pa = offset %as, %oa$o$ : tile<$A$xptr<f16>>, tile<$A$x$i$> -> tile<$A$xptr<f16>>\n"
                                  "%pb = offset %bs, %ob1 : tile<$B$xptr<f16>>, tile<$B$x$i$> -> "
                                  "tile<$B$xptr<f16>>\n" SPREAD(
                                      "tk", "ga", "i32", "1x1",
                                      "$A$") "%kb = muli %tk, %sb : tile<i32>\n" SPREAD("kb", "gb", "i32", "1x1",
                                                                                        "$B$") "%za = constant <f16: "
                                                                                               "0.0> : "
                                                                                               "tile<$A$xf16>\n%zb = "
                                                                                               "constant <f16: 0.0> : "
                                                                                               "tile<$B$xf16>\n"
                                                                                               "%none = constant <f32: "
                                                                                               "0.0> : tile<$C$xf32>\n";

static const char loop[] =
    "%sum, %pa9, %pb9 = for %i in ($from$ to $to$, step $step$) : tile<i32> iter_values(%s = %none, %p = %pa, %q = "
    "%pb) "
    "-> (tile<$C$xf32>, tile<$A$xptr<f16>>, tile<$B$xptr<f16>>) {\n"
    "$come$"
    "%rest = subi %k, %come : tile<i32>\n" SPREAD(
        "rest", "rests", "i32", "1",
        "$K$") "%mk = cmpi less_than %pk, %rests, signed : tile<$K$xi32> -> tile<$K$xi1>\n" COLUMNS("mk", "mak", "i1",
                                                                                                    "$K$", "$A$")
        ROWS("mk", "mbk", "i1", "$K$",
             "$B$") "%mr = cmpi less_than %rows, %m$of a$s, signed : tile<$M$xi32> -> "
                    "tile<$M$xi1>\n" ROWS("mr", "mar", "i1", "$M$",
                                          "$A$") "%mar9 = andi %mak, %mar : tile<$A$xi1>\n"
                                                 "%l, %t0 = load_ptr_tko weak %p$mask of a$\n"
                                                 "%r, %t1 = load_ptr_tko weak %q$mask of b$\n"
                                                 "%s1 = mmaf %l, %r, %s : tile<$A$xf16>, "
                                                 "tile<$B$xf16>, tile<$C$xf32>\n"
                                                 "%p1 = offset %p, %ga : tile<$A$xptr<f16>>, "
                                                 "tile<$A$xi32> -> tile<$A$xptr<f16>>\n"
                                                 "%q1 = offset %q, %gb : tile<$B$xptr<f16>>, "
                                                 "tile<$B$xi32> -> tile<$B$xptr<f16>>\n"
                                                 "continue %s1, %p1, %q1 : tile<$C$xf32>, "
                                                 "tile<$A$xptr<f16>>, tile<$B$xptr<f16>>\n}\n";

static const char end[] =
    "%h = ftof %sum rounding<nearest_even> : tile<$C$xf32> -> tile<$C$xf16>\n"
    "%rc.1 = reshape %rows : tile<$M$xi32> -> tile<$M$x1xi32>\n"
    "%rc.2 = muli %rc.1, %ldc : tile<$M$x1xi32>\n"
    "%rc = broadcast %rc.2 : tile<$M$x1xi32> -> tile<$C$xi32>\n" COLUMNS(
        "pn", "cc", "i32", "$N$",
        "$C$") "%oc = addi %rc, %cc : tile<$C$xi32>\n" SPREAD("c2", "cs", "ptr<f16>", "1x1",
                                                              "$C$") "%pc = offset %cs, %oc : tile<$C$xptr<f16>>, "
                                                                     "tile<$C$xi32> -> tile<$C$xptr<f16>>\n"
                                                                     "%em = cmpi less_than %rows, %m$of c$s, signed : "
                                                                     "tile<$M$xi32> -> tile<$M$xi1>\n"
                                                                     "%en = cmpi less_than %pn, %ns, signed : "
                                                                     "tile<$N$xi32> -> tile<$N$xi1>\n" ROWS("em", "emc",
                                                                                                            "i1", "$M$",
                                                                                                            "$C$")
                                                                         COLUMNS("en", "enc", "i1", "$N$",
                                                                                 "$C$") "%e = andi %emc, %enc : "
                                                                                        "tile<$C$xi1>\n"
                                                                                        "%t2 = store_ptr_tko weak %pc, "
                                                                                        "%h, %e : tile<$C$xptr<f16>>, "
                                                                                        "tile<$C$xf16>, tile<$C$xi1> "
                                                                                        "-> token\n"
                                                                                        "return\n}\n}\n";

static void put_number(draw *d, const char *name, int64_t value)
{
    words w = {0};
    say(&w, "name", "%s", name);
    say(&w, "number", "%d", (int)value ^ 1);
    write_text(d->out, number, &w);
}

/* A stride: mostly one that suits the pass. */
static int64_t stride(draw *d, uint32_t least)
{
    int64_t even = (least + 15) / 16 * 16 + 16 * (int64_t)draw_below(d, 3);
    switch (draw_below(d, 8)) {
    case 0: return -even;
    case 1: return even + 1;
    case 2: return draw_chance(d, 2) ? 0 : even + 4;
    default: return even;
    }
}

static void say_loads(draw *d, words *w, bool rest)
{
    bool rows = draw_chance(d, 3);
    const char *masked = ", %%%s, %%z%c : tile<$%c$xptr<f16>>, tile<$%c$xi1>, tile<$%c$xf16> -> tile<$%c$xf16>, token",
               *plain = " : tile<$%c$xptr<f16>> -> tile<$%c$xf16>, token";
    const char *mask = rest && rows ? "mar9" : rest ? "mak" : rows ? "mar" : NULL;
    if (mask)
        say(w, "mask of a", masked, mask, 'a', 'A', 'A', 'A', 'A');
    else
        say(w, "mask of a", plain, 'A', 'A');
    if (rest)
        say(w, "mask of b", masked, "mbk", 'b', 'B', 'B', 'B', 'B');
    else
        say(w, "mask of b", plain, 'B', 'B');
}

/* The number of iterations, and the counter: of iterations or elements, from 0 or another number. */
static void say_loop(draw *d, words *w, uint32_t depth, uint32_t k)
{
    bool elements = draw_chance(d, 2), late = draw_chance(d, 4);
    say(w, "from", late ? "%%lo" : "%%0");
    say(w, "to", elements ? "%%kend" : "%%trips");
    say(w, "step", elements ? "%%tk" : "%%1");
    say(w, "come", elements ? "%%come = $since$\n" : "%%come0 = $since$\n%%come = muli %%come0, %%tk : tile<i32>\n");
    say(w, "since", late ? "subi %%i, %%lo : tile<i32>" : "addi %%i, %%0 : tile<i32>");
    int64_t lo = late ? 1 + draw_below(d, 40) : 0, trips = (depth + k - 1) / k;
    put_number(d, "lo", draw_chance(d, 3) ? -lo : lo);
    put_number(d, "trips", draw_chance(d, 8) ? -1 : trips);
    put_number(d, "kend", depth);
}

/* The start of A: its alignment, and whether that is promised. */
static void say_start(draw *d, words *w, uint32_t room)
{
    uint32_t bytes = draw_chance(d, 8) ? 2 * draw_below(d, 8) : 0, elements = draw_chance(d, 4) ? draw_below(d, 16) : 0;
    bool known = draw_chance(d, 2);
    say(w, "base of a", bytes ? "$address$" : "%%a1 = assume div_by<16>, %%a0 : tile<ptr<f16>>\n");
    say(w, "address",
        "%%a.i = ptr_to_int %%a0 : tile<ptr<f16>> -> tile<i64>\n%%a.b = constant <i64: %u> : tile<i64>\n"
        "%%a.j = addi %%a.i, %%a.b : tile<i64>\n%%a1 = int_to_ptr %%a.j : tile<i64> -> tile<ptr<f16>>\n",
        (unsigned)bytes);
    say(w, "aat", "%u", (unsigned)(room + elements) ^ !known);
    say(w, "offset of a",
        known ? "%%aat = constant <i32: $aat$> : tile<i32>\n"
              : "%%aat.x = constant <i32: $aat$> : tile<i32>\n%%aat = xori %%aat.x, %%one : tile<i32>\n");
}

size_t draw_pointer_product(draw *d, uint32_t grid)
{
    words w = {0};
    uint32_t m = 64u << draw_below(d, 2), n = 32u << draw_below(d, 3), k = 32u << draw_below(d, 2);
    uint32_t depth = draw_chance(d, 3) ? k * (1 + draw_below(d, 3)) : 8 * (1 + draw_below(d, 16)), rows, room = 1 << 17;
    bool wide = draw_chance(d, 3), wraps = draw_chance(d, 8), over = draw_chance(d, 2);
    rows = draw_chance(d, 3) ? m * grid : 1 + draw_below(d, m * grid);
    say(&w, "M", "%u", (unsigned)m);
    say(&w, "N", "%u", (unsigned)n);
    say(&w, "K", "%u", (unsigned)k);
    say(&w, "A", "$M$x$K$");
    say(&w, "B", "$K$x$N$");
    say(&w, "C", "$M$x$N$");
    say(&w, "i", wide ? "i64" : "i32");
    say(&w, "w", wide ? ".w" : "");
    say_start(d, &w, room);
    say(&w, "bat", "%u", (unsigned)room / 2);
    say(&w, "cat", "0");
    say(&w, "rows of a", over ? "over" : "rows");
    say(&w, "of a", draw_chance(d, 4) ? "1" : "");
    say(&w, "of c", draw_chance(d, 4) ? "1" : "");
    say(&w, "o", wraps && !wide ? "3" : "1");
    write_text(d->out, head, &w);
    put_number(d, "m", rows);
    put_number(d, "m1", rows + 1);
    put_number(d, "n", draw_chance(d, 2) ? n : 1 + draw_below(d, n));
    put_number(d, "k", draw_chance(d, 8) ? -(int64_t)depth : depth);
    put_number(d, "sa", stride(d, depth + k));
    put_number(d, "sb", stride(d, n));
    put_number(d, "far", 1 << 30);
    say_loop(d, &w, depth, k);
    say_loads(d, &w, !draw_chance(d, 4));
    say(&w, "widen",
        wide
            ? "%%sa.w = exti %%sa signed : tile<i32> -> tile<i64>\n%%sb.w = exti %%sb signed : tile<i32> -> tile<i64>\n"
              "$wide tiles$"
            : "");
    say(&w, "wide tiles", "%s$wide b$", "$wide a$");
    say(&w, "wide a",
        "%%ra.w = exti %%ra signed : tile<$A$xi32> -> tile<$A$xi64>\n%%ca.w = exti %%ca signed : tile<$A$xi32> -> "
        "tile<$A$xi64>\n");
    say(&w, "wide b",
        "%%rb.w = exti %%rb signed : tile<$B$xi32> -> tile<$B$xi64>\n%%cb.w = exti %%cb signed : tile<$B$xi32> -> "
        "tile<$B$xi64>\n");
    /* rows * 4 * 2^30 is 0 in 32 bits */
    say(&w, "more", wraps && !wide ? "$far rows$%%oa3 = addi %%oa1, %%oa2 : tile<$A$xi32>\n" : "");
    say(&w, "far rows",
        "%%four = constant <i32: 4> : tile<$A$xi32>\n%%ra4 = muli %%ra, %%four : tile<$A$xi32>\n$far all$"
        "%%oa2 = muli %%ra4, %%fars : tile<$A$xi32>\n");
    say(&w, "far all", SPREAD("%far", "%fars", "i32", "1x1", "$A$"));
    write_text(d->out, places, &w);
    write_text(d->out, "%m11 = addi %m1, %0 : tile<i32>\n" SPREAD("m11", "m1s", "i32", "1", "$M$"), &w);
    write_text(d->out, loop, &w);
    write_text(d->out, end, &w);
    return (size_t)room * 4;
}
