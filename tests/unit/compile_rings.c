/* Loops whose loads run ahead, compiled to PTX and run on the simulator beside the virtual machine: trip counts that
   only the launch tells, none among them, from where the loop stands to what stands around it. The elements are small
   whole numbers, so that sums are exact in any order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/ptxsim/harness.h"
#include "tests/common/spread.h"
#include "tests/unit/test.h"

enum { TILES = 2, MOST_TRIPS = 7, PARAMETERS = 6 };

/* ---- kernels ---- */

/* A kernel's text: a capital letter behind $ is a number, a small one a word. */
typedef struct words {
    uint32_t numbers[26];
    const char *const *texts; /* pairs of a letter and its text, which may have words, too; then NULL */
    const char *const *more;  /* and those of the elements */
} words;

static const char *const product_words[] = {
    "t", "tile<$Mx$Nx$s>",
    "l", "tile<$Mx$Kx$e>",
    "r", "tile<$Kx$Nx$e>",
    "i", "tile<i32>",
    "a", "partition_view<tile=($Mx$K), padding_value = zero, tensor_view<$Rx$Dx$e, strides=[$D,1]>>",
    "b", "partition_view<tile=($Kx$N), padding_value = zero, $z>",
    "c", "partition_view<tile=($Mx$N), tensor_view<$Rx$Cx$s, strides=[$C,1]>>",
    "u", "tensor_view<1x$Rx$Dx$e, strides=[$D,$D,1]>",
    "v", "tensor_view<1x$Dx$Cx$e, strides=[$C,$C,1]>",
    "d", "partition_view<tile=($Mx$K), padding_value = zero, tensor_view<?x$Dx$e, strides=[$D,1]>>",
    "f", "partition_view<tile=(1x$Mx$K), padding_value = zero, $u>",
    "g", "partition_view<tile=(1x$Kx$N), padding_value = zero, $v>",
    NULL};

/* What is multiplied: words for the elements in memory, of the sums, what a sum starts with, and the product. */
typedef struct element {
    const char *words[13];
    uint32_t bytes;
    uint32_t of[5]; /* -2 to 2 */
} element;

/* B as it lies in memory: rows, or columns. */
#define ROWS                                           \
    "z", "tensor_view<$Dx$Cx$e, strides=[$C,1]>", "y", \
        "shape = [$D, $C], strides = [$C, 1] : tensor_view<$Dx$Cx$e, strides=[$C,1]>"
#define COLUMNS                                                        \
    "z", "tensor_view<$Cx$Dx$e, strides=[$D,1]>, dim_map=[1, 0]", "y", \
        "shape = [$C, $D], strides = [$D, 1] : tensor_view<$Cx$Dx$e, strides=[$D,1]>"
#define ROUNDED                                                                            \
    "e", "f32", "s", "f32", "o", "1.0", "m",                                               \
        "%pt = ftof %p : $l -> tile<$Mx$Kxtf32>\n%qt = ftof %q : $r -> tile<$Kx$Nxtf32>\n" \
        "%d = mmaf %pt, %qt, %acc : tile<$Mx$Kxtf32>, tile<$Kx$Nxtf32>, $t\n"
static const element f16 = {{ROWS, "e", "f16", "s", "f32", "o", "1.0", "m", "%d = mmaf %p, %q, %acc : $l, $r, $t\n"},
                            2,
                            {0xC000, 0xBC00, 0, 0x3C00, 0x4000}};
static const element e4m3 = {{ROWS, "e", "f8E4M3FN", "s", "f32", "o", "1.0", "m",
                              "%d = mmaf %p, %q, %acc : $l, $r, $t\n"},
                             1,
                             {0xC0, 0xB8, 0, 0x38, 0x40}};
static const element e5m2 = {{ROWS, "e", "f8E5M2", "s", "f32", "o", "1.0", "m",
                              "%d = mmaf %p, %q, %acc : $l, $r, $t\n"},
                             1,
                             {0xC0, 0xBC, 0, 0x3C, 0x40}};
static const element s8 = {{ROWS, "e", "i8", "s", "i32", "o", "1", "m",
                            "%d = mmai %p, %q, %acc signed signed : $l, $r, $t\n"},
                           1,
                           {0xFE, 0xFF, 0, 1, 2}};
static const element u8 = {{ROWS, "e", "i8", "s", "i32", "o", "1", "m",
                            "%d = mmai %p, %q, %acc unsigned signed : $l, $r, $t\n"},
                           1,
                           {200, 255, 0, 1, 2}};
/* These are -2 to 2 only once they are rounded to nearest; cut off, they are less. */
static const element tf32 = {{ROWS, ROUNDED}, 4, {0xBFFFF800, 0xBF7FF800, 0, 0x3F7FF800, 0x3FFFF800}};
static const element turned_tf32 = {{COLUMNS, ROUNDED}, 4, {0xBFFFF800, 0xBF7FF800, 0, 0x3F7FF800, 0x3FFFF800}};

#define BEGIN                                                                                                          \
    "cuda_tile.module @m { entry @k(%a: tile<ptr<$e>>, %b: tile<ptr<$e>>, %c: tile<ptr<$s>>, %from: $i, %to: $i, "     \
    "%when: $i) {\n%0 = make_token : token\n%zero = constant <i32: 0> : $i\n%step = constant <i32: $S> : $i\n"         \
    "%tiles = constant <i32: 2> : $i\n%x, %y, %z = get_tile_block_id : $i\n%gx, %gy, %gz = get_num_tile_blocks : $i\n" \
    "%yes = cmpi not_equal %when, %zero, signed : $i -> tile<i1>\n"                                                    \
    "%a0 = assume div_by<16>, %a : tile<ptr<$e>>\n%b0 = assume div_by<16>, %b : tile<ptr<$e>>\n"                       \
    "%a1 = make_tensor_view %a0, shape = [$R, $D], strides = [$D, 1] : tensor_view<$Rx$Dx$e, strides=[$D,1]>\n"        \
    "%b1 = make_tensor_view %b0, $y\n"                                                                                 \
    "%c1 = make_tensor_view %c, shape = [$R, $C], strides = [$C, 1] : tensor_view<$Rx$Cx$s, strides=[$C,1]>\n"         \
    "%av = make_partition_view %a1 : $a\n%bv = make_partition_view %b1 : $b\n%cv = make_partition_view %c1 : $c\n"     \
    "%start = constant <$s: $o> : $t\n"
#define LOOP(result, first, row, next)                                                              \
    result " = for %i in (%from to %to, step %step) : $i iter_values(%acc = " first ") -> ($t) {\n" \
           "%p, %t1 = load_view_tko weak %av[" row ", %i] token = %0 : $a, $i -> $l, token\n"       \
           "%q, %t2 = load_view_tko weak %bv[%i, %zero] token = %0 : $b, $i -> $r, token\n"         \
           "$m" next "}\n"
#define PLAIN(result, first, row) LOOP(result, first, row, "continue %d : $t\n")
#define STORE(tile, row) "%w = store_view_tko weak " tile ", %cv[" row ", %zero] token = %0 : $t, $c, $i -> token\n"
#define BOUNDED                                       \
    "%lo = assume bounded<0, 7>, %from : tile<i32>\n" \
    "%hi = assume bounded<0, 7>, %to : tile<i32>\n"
#define END "return\n} }\n"
/* Persistent: `given` makes the first row, from which it goes on by as many as there are blocks. */
#define EACH_ROW(first) "for %row in (" first " to %tiles, step %gx) : $i {\n"
#define ALL_ROWS(given, first) \
    BEGIN given EACH_ROW(first) PLAIN("%s", "%start", "%row") STORE("%s", "%row") "continue\n}\n" END
#define SOME_ROWS(given, first)                                                             \
    BEGIN given EACH_ROW(first) "%mine = cmpi equal %row, %when, signed : $i -> tile<i1>\n" \
                                "if %mine {\n" PLAIN("%s", "%start", "%row")                \
                                    STORE("%s", "%row") "yield\n}\ncontinue\n}\n" END
#define SIZED_ROWS(given, first)                                                                                   \
    BEGIN given "%rows1 = constant <i32: 24> : $i\n%rows2 = muli %when, %rows1 : $i\n"                             \
                "%rows = assume bounded<0, ?>, %rows2 : $i\n%a2 = make_tensor_view %a0, shape = [%rows, $D], "     \
                "strides = [$D, 1] : $i -> tensor_view<?x$Dx$e, strides=[$D,1]>\n"                                 \
                "%aw = make_partition_view %a2 : $d\n" EACH_ROW(                                                   \
                    first) "%s = for %i in (%from to %to, step %step) : $i iter_values(%acc = %start) -> ($t) {\n" \
                           "%p, %t1 = load_view_tko weak %aw[%row, %i] token = %0 : $d, $i -> $l, token\n"         \
                           "%q, %t2 = load_view_tko weak %bv[%i, %zero] token = %0 : $b, $i -> $r, token\n"        \
                           "$mcontinue %d : $t\n}\n" STORE("%s", "%row") "continue\n}\n" END
#define FAR_ROWS(given, first)                                     \
    BEGIN given "%far = constant <i32: 33554432> : $i\n" EACH_ROW( \
        first) "%out = muli %row, %far : $i\n" PLAIN("%s", "%start", "%out") STORE("%s", "%row") "continue\n}\n" END

typedef struct form {
    const char *name, *text;
} form;

static const form forms[] = {
    {"a loop", BEGIN PLAIN("%s", "%start", "%x") STORE("%s", "%x") END},
    {"a sum that is changed",
     BEGIN LOOP("%s", "%start", "%x", "%n = negf %d : $t\ncontinue %n : $t\n") STORE("%s", "%x") END},
    {"persistent", ALL_ROWS("", "%x")},
    {"in turn", BEGIN PLAIN("%s", "%start", "%x") PLAIN("%u", "%s", "%x") STORE("%u", "%x") END},
    {"one beside the other",
     BEGIN PLAIN("%s", "%start", "%x") PLAIN("%u", "%start", "%zero") "%e = subf %s, %u : $t\n" STORE("%e", "%x") END},
    {"under a condition", BEGIN "if %yes {\n" PLAIN("%s", "%start", "%x") STORE("%s", "%x") "yield\n}\n" END},
    {"value of a condition", BEGIN
     "%e = if %yes -> ($t) {\n" PLAIN("%s", "%start",
                                      "%x") "yield %s : $t\n} else {\nyield %start : $t\n}\n" STORE("%e", "%x") END},
    {"behind a return",
     BEGIN "if %yes {\nyield\n} else {\nreturn\n}\n" PLAIN("%s", "%start", "%x") STORE("%s", "%x") END},
    {"between tiles left out", SOME_ROWS("", "%x")},
    {"of a batch",
     BEGIN "%a3 = make_tensor_view %a0, shape = [1, $R, $D], strides = [$D, $D, 1] : $u\n"
           "%b3 = make_tensor_view %b0, shape = [1, $D, $C], strides = [$C, $C, 1] : $v\n"
           "%aw = make_partition_view %a3 : $f\n%bw = make_partition_view %b3 : $g\n"
           "%s = for %i in (%from to %to, step %step) : $i iter_values(%acc = %start) -> ($t) {\n"
           "%p3, %t1 = load_view_tko weak %aw[%zero, %x, %i] token = %0 : $f, $i -> tile<1x$Mx$Kx$e>, token\n"
           "%q3, %t2 = load_view_tko weak %bw[%zero, %i, %zero] token = %0 : $g, $i -> tile<1x$Kx$Nx$e>, token\n"
           "%p = reshape %p3 : tile<1x$Mx$Kx$e> -> $l\n%q = reshape %q3 : tile<1x$Kx$Nx$e> -> $r\n"
           "$m"
           "continue %d : $t\n}\n" STORE("%s", "%x") END},
    {"a nest", BEGIN "%s = for %row in (%x to %tiles, step %gx) : $i iter_values(%sum = %start) -> ($t) {\n" PLAIN(
                   "%u", "%sum", "%row") "continue %u : $t\n}\n" STORE("%s", "%x") END},
    {"a nest that counts on", BEGIN BOUNDED
     "%s = for %row in (%x to %tiles, step %gx) : $i iter_values(%sum = %start) -> ($t) {\n"
     "%u = for %i in (%lo to %hi, step %step) : $i iter_values(%acc = %sum) -> ($t) {\n%j = addi %row, %i : $i\n"
     "%p, %t1 = load_view_tko weak %av[%x, %j] token = %0 : $a, $i -> $l, token\n"
     "%q, %t2 = load_view_tko weak %bv[%j, %zero] token = %0 : $b, $i -> $r, token\n$m"
     "continue %d : $t\n}\ncontinue %u : $t\n}\n" STORE("%s", "%x") END},
    {"the right tile first",
     BEGIN "%s = for %i in (%from to %to, step %step) : $i iter_values(%acc = %start) -> ($t) {\n"
           "%q, %t2 = load_view_tko weak %bv[%i, %zero] token = %0 : $b, $i -> $r, token\n"
           "%p, %t1 = load_view_tko weak %av[%x, %i] token = %0 : $a, $i -> $l, token\n"
           "$m"
           "continue %d : $t\n}\n" STORE("%s", "%x") END},
    {"of a size that the launch tells, or none", SIZED_ROWS("", "%x")},
    {"far outside", FAR_ROWS("", "%x")},
    {"of a view made under a condition", /* not by tensor maps */
     BEGIN "if %yes {\n%a2 = make_tensor_view %a0, shape = [$R, $D], strides = [$D, 1] : tensor_view<$Rx$Dx$e, "
           "strides=[$D,1]>\n%aw = make_partition_view %a2 : $a\n"
           "%s = for %i in (%from to %to, step %step) : $i iter_values(%acc = %start) -> ($t) {\n"
           "%p, %t1 = load_view_tko weak %aw[%x, %i] token = %0 : $a, $i -> $l, token\n"
           "%q, %t2 = load_view_tko weak %bv[%i, %zero] token = %0 : $b, $i -> $r, token\n"
           "$mcontinue %d : $t\n}\n" STORE("%s", "%x") "yield\n}\n" END},
    {"behind another grid",
     BEGIN "%g = gdc_wait_tko token = %0 -> token\n%h = gdc_launch_dependents_tko token = %g -> "
           "token\nfor %row in (%x to %tiles, step %gx) : $i {\n"
           "%s = for %i in (%from to %to, step %step) : $i iter_values(%acc = %start) -> ($t) {\n"
           "%p, %t1 = load_view_tko weak %av[%row, %i] token = %h : $a, $i -> $l, token\n"
           "%q, %t2 = load_view_tko weak %bv[%i, %zero] token = %h : $b, $i -> $r, token\n"
           "$mcontinue %d : $t\n}\n" STORE("%s", "%row") "continue\n}\n" END},
    {"added by atomics",
     BEGIN PLAIN(
         "%s", "%start",
         "%x") "%r0 = iota : tile<$Mxi32>\n%c0 = iota : tile<$Nxi32>\n%mm = constant <i32: $M> : $i\n"
               "%rb = muli %x, %mm : $i\n%rb1 = reshape %rb : $i -> tile<1xi32>\n%rb2 = broadcast %rb1 : tile<1xi32> "
               "-> tile<$Mxi32>\n"
               "%r1 = addi %r0, %rb2 : tile<$Mxi32>\n%r2 = reshape %r1 : tile<$Mxi32> -> tile<$Mx1xi32>\n"
               "%r = broadcast %r2 : tile<$Mx1xi32> -> tile<$Mx$Nxi32>\n%c2 = reshape %c0 : tile<$Nxi32> -> "
               "tile<1x$Nxi32>\n"
               "%cc = broadcast %c2 : tile<1x$Nxi32> -> tile<$Mx$Nxi32>\n%rl = constant <i32: $R> : tile<$Mx$Nxi32>\n"
               "%cl = constant <i32: $C> : tile<$Mx$Nxi32>\n%in1 = cmpi less_than %r, %rl, signed : tile<$Mx$Nxi32> -> "
               "tile<$Mx$Nxi1>\n"
               "%in2 = cmpi less_than %cc, %cl, signed : tile<$Mx$Nxi32> -> tile<$Mx$Nxi1>\n%in = andi %in1, %in2 : "
               "tile<$Mx$Nxi1>\n"
               "%o1 = muli %r, %cl : tile<$Mx$Nxi32>\n%o = addi %o1, %cc : tile<$Mx$Nxi32>\n%ca = assume div_by<16>, "
               "%c : tile<ptr<$s>>\n"
               "%c3 = reshape %ca : tile<ptr<$s>> -> tile<1x1xptr<$s>>\n%c4 = broadcast %c3 : tile<1x1xptr<$s>> -> "
               "tile<$Mx$Nxptr<$s>>\n"
               "%p2 = offset %c4, %o : tile<$Mx$Nxptr<$s>>, tile<$Mx$Nxi32> -> tile<$Mx$Nxptr<$s>>\n"
               "%old, %t3 = atomic_rmw_tko relaxed device %p2, addf, %s, %in token = %0 : tile<$Mx$Nxptr<$s>>, $t, "
               "tile<$Mx$Nxi1> -> $t, "
               "token\n" END},
};

/* A through pointers, whose rows come by a detour; a mask leaves out the last columns. */
#define POINTERS(row)                                                                                               \
    "%rm = constant <i32: $M> : $i\n%km = constant <i32: $K> : $i\n%r0 = muli " row ", %rm : $i\n"                  \
    "%k0 = muli %i, %km : $i\n%ri = iota : tile<$Mxi32>\n%ci = iota : tile<$Kxi32>\n"                               \
    "%r1 = reshape %r0 : $i -> tile<1xi32>\n%r2 = broadcast %r1 : tile<1xi32> -> tile<$Mxi32>\n"                    \
    "%r3 = addi %r2, %ri : tile<$Mxi32>\n%far = constant <i32: 65535> : tile<$Mxi32>\n"                             \
    "%r4 = remi %r3, %far signed : tile<$Mxi32>\n%r5 = reshape %r4 : tile<$Mxi32> -> tile<$Mx1xi32>\n"              \
    "%r6 = broadcast %r5 : tile<$Mx1xi32> -> tile<$Mx$Kxi32>\n%u1 = reshape %k0 : $i -> tile<1xi32>\n"              \
    "%u2 = broadcast %u1 : tile<1xi32> -> tile<$Kxi32>\n%u3 = addi %u2, %ci : tile<$Kxi32>\n"                       \
    "%u4 = reshape %u3 : tile<$Kxi32> -> tile<1x$Kxi32>\n%u5 = broadcast %u4 : tile<1x$Kxi32> -> tile<$Mx$Kxi32>\n" \
    "%dm = constant <i32: $D> : tile<$Mx$Kxi32>\n%rr = constant <i32: $R> : tile<$Mx$Kxi32>\n"                      \
    "%em = constant <i32: $E> : tile<$Mx$Kxi32>\n%o0 = muli %r6, %dm : tile<$Mx$Kxi32>\n"                           \
    "%o1 = addi %o0, %u5 : tile<$Mx$Kxi32>\n%m0 = cmpi less_than %r6, %rr, signed : tile<$Mx$Kxi32> -> "            \
    "tile<$Mx$Kxi1>\n"                                                                                              \
    "%m1 = cmpi less_than %u5, %em, signed : tile<$Mx$Kxi32> -> tile<$Mx$Kxi1>\n%m2 = andi %m0, %m1 : "             \
    "tile<$Mx$Kxi1>\n"                                                                                              \
    "%pa = reshape %a0 : tile<ptr<$e>> -> tile<1x1xptr<$e>>\n%pb = broadcast %pa : tile<1x1xptr<$e>> -> "           \
    "tile<$Mx$Kxptr<$e>>\n"                                                                                         \
    "%pc = offset %pb, %o1 : tile<$Mx$Kxptr<$e>>, tile<$Mx$Kxi32> -> tile<$Mx$Kxptr<$e>>\n"                         \
    "%p, %t1 = load_ptr_tko weak %pc, %m2, %pad token = %0 : tile<$Mx$Kxptr<$e>>, tile<$Mx$Kxi1>, $l -> $l, token\n"
#define BY_POINTERS(row)                                                                                          \
    BOUNDED                                                                                                       \
    "%pad = constant <$e: 0.0> : $l\n%s = for %i in (%lo to %hi, step %step) : $i iter_values(%acc = %start) -> " \
    "($t) {\n" POINTERS(row) "%q, %t2 = load_view_tko weak %bv[%i, %zero] token = %0 : $b, $i -> $r, "            \
                             "token\n$mcontinue %d : $t\n}\n"

static const form by_pointers[] = {
    {"by pointers", BEGIN BY_POINTERS("%x") STORE("%s", "%x") END},
    {"by pointers, persistent",
     BEGIN "for %row in (%x to %tiles, step %gx) : $i {\n" BY_POINTERS("%row") STORE("%s", "%row") "continue\n}\n" END},
};

static const char *const attention_words[] = {
    "i", "tile<i32>",
    "q", "tile<$Mx$Dxf16>",
    "k", "tile<$Nx$Dxf16>",
    "s", "tile<$Mx$Nxf32>",
    "t", "tile<$Mx$Dxf32>",
    "l", "tile<$Mx1xf32>",
    "a", "partition_view<tile=($Mx$D), padding_value = zero, tensor_view<$Rx$Dxf16, strides=[$D,1]>>",
    "b", "partition_view<tile=($Nx$D), padding_value = zero, tensor_view<$Cx$Dxf16, strides=[$D,1]>>",
    "c", "partition_view<tile=($Mx$D), tensor_view<$Rx$Dxf32, strides=[$D,1]>>",
    NULL};

#define REDUCE(result, tile, first, op)                                                                         \
    result "0 = reduce " tile " dim=1 identities=[" first " : f32] : $s -> tile<$Mxf32>\n"                      \
           "(%e: tile<f32>, %f: tile<f32>) {\n%g = " op " %e, %f : tile<f32>\nyield %g : tile<f32>\n}\n" result \
           " = reshape " result "0 : tile<$Mxf32> -> $l\n"

#define ATTENTION_BEGIN                                                                                               \
    "cuda_tile.module @m { entry @k(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>, %from: $i, %to: $i, " \
    "%when: $i) {\n%0 = make_token : token\n%zero = constant <i32: 0> : $i\n%step = constant <i32: $S> : $i\n"        \
    "%five = constant <i32: 5> : $i\n%tiles = constant <i32: 2> : $i\n%x, %y, %z = get_tile_block_id : $i\n"          \
    "%gx, %gy, %gz = get_num_tile_blocks : $i\n%a0 = assume div_by<16>, %a : tile<ptr<f16>>\n"                        \
    "%b0 = assume div_by<16>, %b : tile<ptr<f16>>\n"                                                                  \
    "%a1 = make_tensor_view %a0, shape = [$R, $D], strides = [$D, 1] : tensor_view<$Rx$Dxf16, strides=[$D,1]>\n"      \
    "%b1 = make_tensor_view %b0, shape = [$C, $D], strides = [$D, 1] : tensor_view<$Cx$Dxf16, strides=[$D,1]>\n"      \
    "%c1 = make_tensor_view %c, shape = [$R, $D], strides = [$D, 1] : tensor_view<$Rx$Dxf32, strides=[$D,1]>\n"       \
    "%av = make_partition_view %a1 : $a\n%bv = make_partition_view %b1 : $b\n%cv = make_partition_view %c1 : $c\n"    \
    "%nones = constant <f32: 0.0> : $s\n%nonet = constant <f32: 0.0> : $t\n%low = constant <f32: 0xFF800000> : $l\n"  \
    "%nonel = constant <f32: 0.0> : $l\n%scale = constant <f32: 0.125> : $s\n"
#define QUERIES(row) "%q, %t0 = load_view_tko weak %av[" row ", %zero] token = %0 : $a, $i -> $q, token\n"
/* %r of %q and %kt; of two tiles of keys, whose products are added up. */
#define ONE_PRODUCT "%r = mmaf %q, %kt, %nones : $q, tile<$Dx$Nxf16>, $s\n"
#define TWO_PRODUCTS                                                                                            \
    "%k2, %t3 = load_view_tko weak %bv[%j, %zero] token = %0 : $b, $i -> $k, token\n"                           \
    "%kt2 = permute %k2 [1, 0] : $k -> tile<$Dx$Nxf16>\n%r0 = mmaf %q, %kt, %nones : $q, tile<$Dx$Nxf16>, $s\n" \
    "%r = mmaf %q, %kt2, %r0 : $q, tile<$Dx$Nxf16>, $s\n"
#define VALUES "%v, %t2 = load_view_tko weak %bv[%j, %zero] token = %0 : $b, $i -> $k, token\n"
/* The sums, greatest and totals with that letter, from those with the other one. */
#define KEYS(to_letter, from_letter, from, to) KEYS_BY(ONE_PRODUCT, VALUES, "%v", to_letter, from_letter, from, to)
#define KEYS_BY(product, load, values, to_letter, from_letter, from, to)                                               \
    "%acc" to_letter ", %m" to_letter ", %l" to_letter " = for %i in (" from " to " to ", step %step) : $i "           \
    "iter_values(%acc0 = %acc" from_letter ", %m0 = %m" from_letter ", %l0 = %l" from_letter ") -> ($t, $l, $l) {\n"   \
    "%j = addi %i, %five : $i\n%k, %t1 = load_view_tko weak %bv[%i, %zero] token = %0 : $b, $i -> $k, token\n"         \
    "%kt = permute %k [1, 0] : $k -> tile<$Dx$Nxf16>\n" product "%s = mulf %r, %scale : $s\n" REDUCE(                  \
        "%h", "%s", "0xFF800000",                                                                                      \
        "maxf") "%m1 = maxf %m0, %h : $l\n%mb = broadcast %m1 : $l -> $s\n%d = subf %s, %mb : $s\n%p = exp2 %d : $s\n" \
                "%da = subf %m0, %m1 : $l\n%alpha = exp2 %da : $l\n" REDUCE(                                           \
                    "%n", "%p", "0.0",                                                                                 \
                    "addf") "%l1 = fma %l0, %alpha, %n : $l\n%ab = broadcast %alpha : $l -> $t\n%acc1 = mulf %acc0, "  \
                            "%ab : $t\n" load "%ph = ftof %p : $s -> tile<$Mx$Nxf16>\n%acc2 = mmaf %ph, " values       \
                            ", %acc1 : "                                                                               \
                            "tile<$Mx$Nxf16>, $k, $t\n"                                                                \
                            "continue %acc2, %m1, %l1 : $t, $l, $l\n}\n"
#define QUOTIENT(letter, row)                                                       \
    "%lb = broadcast %l" letter " : $l -> $t\n%o = divf %acc" letter ", %lb : $t\n" \
    "%w = store_view_tko weak %o, %cv[" row ", %zero] token = %0 : $t, $c, $i -> token\n"
#define NOTHING "%accx = mulf %nonet, %nonet : $t\n%mx = maxf %low, %low : $l\n%lx = mulf %nonel, %nonel : $l\n"

enum { SAME_TILE = 0 };
static const form attentions[] = {
    [SAME_TILE] = {"attention whose values are its keys",
                   ATTENTION_BEGIN NOTHING QUERIES("%x") KEYS_BY(ONE_PRODUCT, "", "%k", "y", "x", "%from", "%to")
                       QUOTIENT("y", "%x") END},
    {"attention", ATTENTION_BEGIN NOTHING QUERIES("%x") KEYS("y", "x", "%from", "%to") QUOTIENT("y", "%x") END},
    {"attention with keys in two parts",
     ATTENTION_BEGIN NOTHING QUERIES("%x") KEYS_BY(TWO_PRODUCTS, VALUES, "%v", "y", "x", "%from", "%to")
         QUOTIENT("y", "%x") END},
    {"attention in turn", ATTENTION_BEGIN NOTHING QUERIES("%x") KEYS("y", "x", "%from", "%when")
                              KEYS("z", "y", "%when", "%to") QUOTIENT("z", "%x") END},
    {"persistent attention", ATTENTION_BEGIN "for %row in (%x to %tiles, step %gx) : $i {\n" NOTHING QUERIES("%row")
                                 KEYS("y", "x", "%from", "%to") QUOTIENT("y", "%row") "continue\n}\n" END},
};

static const char *word_of(const char *const *pairs, char letter)
{
    while (*pairs && **pairs != letter)
        pairs += 2;
    return *pairs ? pairs[1] : NULL;
}

static const char *const stream_words[] = {
    "t", "tile<$Mx$Kxf32>",
    "l", "tile<$Mx$Kxf16>",
    "i", "tile<i32>",
    "n", "tile<$Kxi32>",
    "h", "tile<$Kxf16>",
    "f", "tile<$Kxf32>",
    "w", "tile<$Kxi1>",
    "p", "tile<$Kxptr<f16>>",
    "a", "partition_view<tile=($Mx$K), padding_value = zero, tensor_view<$Rx$Dxf16, strides=[$D,1]>>",
    "b", "partition_view<tile=($Mx$K), padding_value = pos_inf, tensor_view<$Dx$Cxf16, strides=[$C,1]>>",
    "c", "partition_view<tile=($Mx$K), tensor_view<$Rx$Cxf32, strides=[$C,1]>>",
    "d", "partition_view<tile=($K), tensor_view<$Cxf32, strides=[1]>>",
    NULL};

#define LOOP_OF(result, type, first, text)                                                                     \
    result " = for %i in (%from to %to, step %step) : $i iter_values(%acc = " first ") -> (" type ") {\n" text \
           "continue %n : " type "\n}\n"
#define LOAD_A(row) \
    "%p, %t1 = load_view_tko weak %av[" row ", %i] token = %0 : $a, $i -> $l, token\n%d = ftof %p : $l -> $t\n"
#define LOAD_B "%q, %t2 = load_view_tko weak %bv[%zero, %i] token = %0 : $b, $i -> $l, token\n%e = ftof %q : $l -> $t\n"
#define ADD(to, a, b) to " = addf " a ", " b " : $t\n"
/* A row of A through pointers, of which a mask takes those below %most. */
#define ROW(more)                                                                                            \
    "%at = iota : $n\n%width = constant <i32: $K> : $n\n%f0 = reshape %i : $i -> tile<1xi32>\n"              \
    "%f1 = broadcast %f0 : tile<1xi32> -> $n\n%f2 = muli %f1, %width : $n\n%f3 = addi %f2, %at : $n\n"       \
    "%most = constant <i32: $D> : $n\n%mask = cmpi less_than %f3, %most, signed : $n -> $w\n"                \
    "%p0 = reshape %a0 : tile<ptr<f16>> -> tile<1xptr<f16>>\n%p1 = broadcast %p0 : tile<1xptr<f16>> -> $p\n" \
    "%p2 = offset %p1, %f3 : $p, $n -> $p\n" more "%d = ftof %p : $h -> $f\n%n = addf %acc, %d : $f\n"
#define FLAT_BEGIN                                                                                      \
    BEGIN "%c2 = make_tensor_view %c, shape = [$C], strides = [1] : tensor_view<$Cxf32, strides=[1]>\n" \
          "%dv = make_partition_view %c2 : $d\n%first = constant <f32: 1.0> : $f\n"                     \
          "%padding = constant <f16: 2.0> : $h\n"
#define FLAT_STORE "%w = store_view_tko weak %s, %dv[%zero] token = %0 : $f, $d, $i -> token\n"

/* Three loops that read the same row. */
#define READ_AGAIN(row)                                                                             \
    LOOP_OF("%s", "$t", "%start", LOAD_A(row) ADD("%n", "%acc", "%d"))                              \
    LOOP_OF("%u", "$t", "%s", LOAD_B LOAD_A(row) "%m = minf %d, %e : $t\n" ADD("%n", "%acc", "%m")) \
    LOOP_OF("%v", "$t", "%u", LOAD_A(row) ADD("%n", "%acc", "%d"))
/* Of each row of a tile, in 16 columns; added to 16 columns of C under a lock, which is C's last element, free as it
 * is. */
#define ROW_SUMS                                                                                                 \
    "%r = reduce %d dim=1 identities=[0.0 : f32] : $t -> tile<$Mxf32>\n(%g: tile<f32>, %h: tile<f32>) {\n"       \
    "%j = addf %g, %h : tile<f32>\nyield %j : tile<f32>\n}\n%r1 = reshape %r : tile<$Mxf32> -> tile<$Mx1xf32>\n" \
    "%r2 = broadcast %r1 : tile<$Mx1xf32> -> tile<$Mx16xf32>\n"
#define SIXTEEN "partition_view<tile=($Mx16), padding_value = zero, tensor_view<$Rx$Cxf32, strides=[$C,1]>>"
#define LOCK                                                                                                      \
    "%ci = ptr_to_ptr %c : tile<ptr<f32>> -> tile<ptr<i32>>\n%last = constant <i32: $L> : $i\n"                   \
    "%lock = offset %ci, %last : tile<ptr<i32>>, $i -> tile<ptr<i32>>\n%free = constant <i32: 1077952576> : $i\n" \
    "%taken = constant <i32: 1> : $i\n%cw = make_partition_view %c1 : " SIXTEEN "\n"
#define TAKE                                                                                                     \
    "%got = loop iter_values(%u = %t) : token -> token {\n"                                                      \
    "%old, %v = atomic_cas_tko acquire device %lock, %free, %taken token=%u : tile<ptr<i32>>, $i -> $i, token\n" \
    "%is = cmpi equal %old, %free, signed : $i -> tile<i1>\nif %is {\nbreak %v : token\n}\ncontinue %v : token\n}\n"
#define ADD_ONTO                                                                                             \
    "%o, %t3 = load_view_tko weak %cw[%zero, %i] token = %got : " SIXTEEN ", $i -> tile<$Mx16xf32>, token\n" \
    "%n = addf %o, %r2 : tile<$Mx16xf32>\n%t4 = store_view_tko weak %n, %cw[%zero, %i] token = %t3 : "       \
    "tile<$Mx16xf32>, " SIXTEEN ", $i -> token\n"
#define GIVE                                                                                                        \
    "%ta = join_tokens %t1, %t4 : token\n%was, %t5 = atomic_rmw_tko release device %lock, xchg, %free token=%ta : " \
    "tile<ptr<i32>>, $i -> $i, token\n"

static const form streams[] = {
    {"a sum", BEGIN LOOP_OF("%s", "$t", "%start", LOAD_A("%x") ADD("%n", "%acc", "%d")) STORE("%s", "%x") END},
    {"two loads, one padded",
     BEGIN LOOP_OF("%s", "$t", "%start", LOAD_A("%x") LOAD_B "%m = minf %d, %e : $t\n" ADD("%n", "%acc", "%m"))
         STORE("%s", "%x") END},
    {"a sum that others need",
     BEGIN LOOP_OF("%s", "$t", "%start",
                   LOAD_A(
                       "%x") "%r = reduce %d dim=0 identities=[0.0 : f32] : $t -> $f\n"
                             "(%g: tile<f32>, %h: tile<f32>) {\n%j = addf %g, %h : tile<f32>\nyield %j : tile<f32>\n}\n"
                             "%r1 = reshape %r : $f -> tile<1x$Kxf32>\n%r2 = broadcast %r1 : tile<1x$Kxf32> -> $t\n"
                             "%m = mulf %d, %r2 : $t\n" ADD("%n", "%acc", "%m")) STORE("%s", "%x") END},
    {"persistent", BEGIN "for %row in (%x to %tiles, step %gx) : $i {\n" LOOP_OF("%s", "$t", "%start",
                                                                                 LOAD_A("%row") ADD("%n", "%acc", "%d"))
                       STORE("%s", "%row") "continue\n}\n" END},
    {"in turn",
     BEGIN LOOP_OF("%s", "$t", "%start", LOAD_A("%x") ADD("%n", "%acc", "%d"))
         LOOP_OF("%u", "$t", "%start", LOAD_B LOAD_A("%zero") "%m = minf %d, %e : $t\n" ADD("%n", "%acc", "%m"))
             ADD("%v", "%s", "%u") STORE("%v", "%x") END},
    {"left early", BEGIN LOOP_OF("%s", "$t", "%start",
                                 LOAD_A("%x") "%two = cmpi equal %i, %when, signed : $i -> tile<i1>\nif %two {\n"
                                              "continue %acc : $t\n}\n" ADD("%n", "%acc", "%d")) STORE("%s", "%x") END},
    {"written meanwhile",
     BEGIN LOOP_OF("%s", "$t", "%start",
                   LOAD_A("%x") ADD("%n", "%acc",
                                    "%d") "%w = store_view_tko weak %n, %cv[%x, %i] token = %0 : $t, $c, $i -> token\n")
         END},
    {"read again", BEGIN READ_AGAIN("%x") STORE("%v", "%x") END},
    {"read again, persistent",
     BEGIN "for %row in (%x to %tiles, step %gx) : $i {\n" READ_AGAIN("%row") STORE("%v", "%row") "continue\n}\n" END},
    {"sums under a lock",
     BEGIN LOCK "%s = for %i in (%from to %to, step %step) : $i iter_values(%t = %0) -> (token) {\n" LOAD_A("%x")
         ROW_SUMS TAKE ADD_ONTO GIVE "continue %t5 : token\n}\n" END},
    {"pointers",
     FLAT_BEGIN LOOP_OF("%s", "$f", "%first",
                        ROW("%p, %t1 = load_ptr_tko weak %p2, %mask, %padding token = %0 : $p, $w, $h -> $h, token\n"))
         FLAT_STORE END},
};

static void put(bc_text *out, const char *text, const words *w)
{
    for (; *text; text++) {
        if (*text != '$') {
            bc_text_char(out, *text);
        } else if (*++text <= 'Z') {
            bc_text_printf(out, "%u", w->numbers[*text - 'A']);
        } else {
            const char *word = word_of(w->texts, *text);
            word = word ? word : word_of(w->more, *text);
            if (!word)
                abort();
            put(out, word, w);
        }
    }
}

/* ---- runs ---- */

typedef struct kernel {
    char name[128];
    tv_module *module;
    bc_text text;
    bool lacks_b;    /* nothing reads B, which may be as small as it likes */
    uint32_t blocks; /* of a cluster that computes a tile block; 0: one does */
    bool is_exact;
    const element *of;             /* A and B */
    uint32_t rows, depth, columns; /* A is at most rows x depth, B depth x columns, C rows x columns */
} kernel;

typedef struct launch {
    int32_t from, to, when;
    uint32_t grid;
} launch;

static void report(void *user, const tv_diag *d)
{
    fprintf(stderr, "%s: %s: %.*s\n", (const char *)user, d->rule, (int)d->message.len, d->message.ptr);
}

static void *small_numbers(const element *of, size_t count, uint32_t seed)
{
    unsigned char *x = malloc(count * of->bytes);
    if (!x)
        abort();
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        memcpy(x + i * of->bytes, &of->of[(seed >> 16) % 5], of->bytes);
    }
    return x;
}

static bool run_vm(const kernel *k, const launch *l, void *const *arrays, const size_t *bytes)
{
    tv_sink sink = {(void *)(uintptr_t)k->name, report};
    tv_vm *vm = NULL;
    const void *params[PARAMETERS] = {&arrays[0], &arrays[1], &arrays[2], &l->from, &l->to, &l->when};
    bool ok = tv_vm_new(k->module, NULL, sink, &vm) == TV_OK;
    for (int i = 0; ok && i < 3; i++)
        ok = tv_vm_add_buffer(vm, arrays[i], bytes[i], NULL, true, sink) == TV_OK;
    ok = ok && tv_vm_run(vm, "k", (uint32_t[]){l->grid, 1, 1}, params, PARAMETERS, sink) == TV_OK;
    tv_vm_free(vm);
    CHECK_MSG(ok, "%s: the virtual machine fails", k->name);
    return ok;
}

static bool run_ptx(const kernel *k, const launch *l, void *const *arrays, const size_t *bytes)
{
    char error[256] = "";
    uint64_t address[3];
    ptxsim *sim = ptxsim_load(k->text.ptr, k->text.len, error, sizeof error);
    CHECK_MSG(sim, "%s: %s", k->name, error);
    if (!sim)
        return false;
    for (int i = 0; i < 3; i++)
        address[i] = ptxsim_buffer_add(sim, arrays[i], bytes[i], "array");
    const void *params[PARAMETERS] = {&address[0], &address[1], &address[2], &l->from, &l->to, &l->when};
    bool ok = ptxsim_run(sim, &(ptxsim_launch){.grid = {l->grid, 1, 1},
                                               .params = params,
                                               .seed = (uint64_t)l->to + 1,
                                               .step_limit = 1 << 23});
    CHECK_MSG(ok, "%s, %d to %d, %d: %s", k->name, l->from, l->to, l->when, ptxsim_report_text(sim));
    ptxsim_free(sim);
    return ok;
}

static bool is_near(const kernel *k, float is, float should)
{
    return k->is_exact ? memcmp(&is, &should, sizeof is) == 0
                       : (isnan(is) && isnan(should)) || fabsf(is - should) <= 0.004F;
}

static void compare(const kernel *k, const launch *l)
{
    if (!test_turn())
        return;
    size_t count = (size_t)k->rows * k->columns, wrong = 0;
    size_t a = (size_t)k->rows * k->depth, b = k->lacks_b ? 1 : (size_t)k->depth * k->columns;
    size_t bytes[] = {k->of->bytes * a, k->of->bytes * b, 4 * count};
    float *want = malloc(bytes[2]), *have = malloc(bytes[2]);
    void *arrays[] = {small_numbers(k->of, a, 1), small_numbers(k->of, b, 2), want};
    if (!want || !have)
        abort();
    memset(want, 0x40, bytes[2]);
    memset(have, 0x40, bytes[2]);
    bool ok = run_vm(k, l, arrays, bytes);
    arrays[2] = have;
    ok = ok && run_ptx(k, l, arrays, bytes);
    for (size_t i = 0; ok && i < count; i++)
        wrong += !is_near(k, have[i], want[i]);
    CHECK_MSG(!wrong, "%s, %d to %d, %d, %u blocks: %zu elements are wrong", k->name, l->from, l->to, l->when, l->grid,
              wrong);
    free(arrays[0]);
    free(arrays[1]);
    free(want);
    free(have);
}

static bool compile(kernel *k, const char *target, const char *text, const words *w, const char *has)
{
    tv_sink sink = {k->name, report};
    bc_text source;
    bc_text_init(&source, NULL);
    bc_text_init(&k->text, NULL);
    put(&source, text, w);
    bool ok = tv_module_parse(source.ptr, source.len, 0, NULL, sink, &k->module) == TV_OK
              && (!k->blocks || spread_kernels(k->module, k->blocks))
              && tv_module_verify(k->module, NULL, sink) == TV_OK
              && tv_compile_ptx(k->module, &(tv_compile_options){.target = target}, sink,
                                (tv_writer){&k->text, bc_text_append})
                     == TV_OK;
    bc_text_release(&source);
    CHECK_MSG(ok, "%s: is not compiled", k->name);
    bc_text_char(&k->text, '\0');
    k->text.len -= ok;
    CHECK_MSG(!ok || strstr(k->text.ptr, has), "%s: no '%s'", k->name, has);
    CHECK_MSG(!ok || !test_turn() || harness_ptxas(k->text.ptr, k->text.len, target), "%s: ptxas refuses it", k->name);
    return ok;
}

static void release(kernel *k)
{
    tv_module_close(k->module);
    bc_text_release(&k->text);
}

/* ---- products ---- */

typedef struct size {
    const char *target, *has;
    uint32_t m, n, k;
    uint32_t forms; /* a bit for each */
    const element *of;
} size;

#define ALL 0xFFFF
#define INTEGERS (ALL & ~(1 << 1 | 1 << 4)) /* the forms without arithmetic of floats */

static const size sizes[] = {
    {"sm_80", "cp.async", 32, 32, 64, ALL, &f16},
    {"sm_90", "cp.async", 32, 64, 32, ALL, &f16},
    {"sm_90a", "wgmma", 64, 64, 32, ALL, &f16},
    {"sm_90a", "wgmma", 128, 128, 64, 1 << 2 | 1 << 3 | 1 << 10 | 1 << 11, &f16},
    {"sm_90a", "mbarrier.try_wait", 128, 256, 64, 1 << 3 | 1 << 10, &f16},
    {"sm_90a", "cp.async.bulk.tensor", 128, 256, 64, 1 << 2 | 1 << 8 | 1 << 11 | 1 << 13 | 1 << 14 | 1 << 16, &f16},
    {"sm_90a", "red.relaxed.gpu.global.add.v4.f32", 128, 128, 64, 1 << 17, &f16},
    {"sm_90a", "m64n32k16.f32.f16.f16", 32, 64, 64, 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 9 | 1 << 13,
     &f16}, /* flipped */
    {"sm_90a", "m64n32k16.f32.f16.f16", 32, 128, 64, 1 << 0 | 1 << 4 | 1 << 6 | 1 << 12 | 1 << 14 | 1 << 17, &f16},
    {"sm_90a", "cp.async.bulk.tensor", 128, 128, 128, 1 << 0 | 1 << 2, &f16}, /* in parts of K */
    {"sm_90a", "cp.async.bulk.tensor", 256, 256, 64, 1 << 0, &f16},           /* in turn */
    {"sm_80", "cp.async", 256, 256, 16, 1 << 0, &f16},
    {"sm_90a", "m64n64k8.f32.tf32.tf32", 64, 64, 32, ALL, &tf32},
    {"sm_90a", "m64n128k8.f32.tf32.tf32", 128, 256, 32, 1 << 0 | 1 << 2, &tf32},
    {"sm_90a", "tensormap.replace.tile.elemtype", 128, 128, 32, 1 << 0 | 1 << 5 | 1 << 12, &tf32},
    {"sm_90a", "m64n128k8.f32.tf32.tf32", 128, 128, 64, 1 << 0 | 1 << 2 | 1 << 10, &tf32}, /* in longer pieces */
    {"sm_90a", "setmaxnreg.inc.sync.aligned.u32 192", 128, 128, 32, 1 << 15, &tf32},
    {"sm_90a", "setmaxnreg.inc.sync.aligned.u32 200", 128, 256, 32, 1 << 15, &tf32},
    {"sm_90a", "setmaxnreg.inc.sync.aligned.u32 200", 128, 256, 32, 1 << 15, &turned_tf32},
    {"sm_90a", "m64n256k8.f32.tf32.tf32", 256, 128, 16, 1 << 5 | 1 << 9, &tf32},
    {"sm_90a", "m64n256k8.f32.tf32.tf32", 512, 64, 16, 1 << 0, &tf32},
    {"sm_90a", "m64n32k8.f32.tf32.tf32", 32, 256, 32, 1 << 1 | 1 << 2, &tf32},
    {"sm_90a", "m64n32k8.f32.tf32.tf32", 32, 64, 256, 1 << 0 | 1 << 2, &tf32},         /* in parts of K */
    {"sm_90a", "m64n128k8.f32.tf32.tf32", 64, 128, 64, 1 << 0 | 1 << 2, &turned_tf32}, /* as it is, by tensor maps */
    {"sm_90a", "m64n256k8.f32.tf32.tf32", 128, 256, 32, 1 << 1 | 1 << 2, &turned_tf32},
    {"sm_90a", "m64n64k8.f32.tf32.tf32", 64, 128, 64, 1 << 15, &turned_tf32},
    {"sm_90a", "k32.f32.e4m3.e4m3", 64, 64, 64, ALL, &e4m3},
    {"sm_90a", "m64n128k32.f32.e4m3.e4m3", 256, 128, 128, 1 << 2 | 1 << 9, &e4m3},
    {"sm_90a", "m64n128k32.f32.e5m2.e5m2", 128, 128, 128, 1 << 1 | 1 << 2, &e5m2},
    {"sm_90a", "m64n128k32.s32.s8.s8", 128, 128, 64, INTEGERS, &s8},
    {"sm_90a", "m64n64k32.s32.s8.u8", 64, 128, 256, 1 << 0 | 1 << 2, &u8},
};

/* lacks: what the PTX has not got; NULL: nothing. blocks: of a cluster that computes a tile block; 0: one does. */
static void check_product(const size *s, const form *f, uint32_t step, const char *lacks, uint32_t blocks)
{
    static const launch launches[] = {{0, 0, 1, 2}, {0, 1, 1, 1}, {1, 3, 0, 2}, {3, 6, 1, 1}, {0, 7, 1, 2}};
    uint32_t less = s->of->bytes == 1 ? 16 : 8; /* rows are whole pieces of 16 bytes */
    kernel k = {.is_exact = true,
                .blocks = blocks,
                .of = s->of,
                .rows = TILES * s->m - 24,
                .depth = MOST_TRIPS * s->k - less,
                .columns = s->n - less};
    words w = {.texts = product_words, .more = s->of->words};
    w.numbers['M' - 'A'] = s->m;
    w.numbers['N' - 'A'] = s->n;
    w.numbers['K' - 'A'] = s->k;
    w.numbers['R' - 'A'] = k.rows;
    w.numbers['D' - 'A'] = k.depth;
    w.numbers['C' - 'A'] = k.columns;
    w.numbers['S' - 'A'] = step;
    snprintf(k.name, sizeof k.name, "%s, %s, %ux%ux%u, step %u, %s, %u blocks", f->name, s->of->words[5], s->m, s->n,
             s->k, step, s->target, blocks);
    w.numbers['E' - 'A'] = k.depth - 8;
    bool ok = compile(&k, s->target, f->text, &w, s->has);
    CHECK_MSG(!ok || !lacks || !strstr(k.text.ptr, lacks), "%s: has '%s'", k.name, lacks);
    for (size_t i = 0; ok && i < sizeof launches / sizeof *launches; i++)
        compare(&k, &launches[i]);
    release(&k);
}

/* ---- attention ---- */

typedef struct attention_size {
    const char *target, *has;
    uint32_t rows, width, keys;
} attention_size;

static const attention_size attention_sizes[] = {
    {"sm_80", "cp.async", 64, 64, 32},
    {"sm_80", "cp.async", 1, 64, 32}, /* fewer rows than an instruction's */
    {"sm_90a", "mma.sync", 4, 128, 64},
    {"sm_90a", "wgmma", 64, 64, 64},
    {"sm_90a", "wgmma", 128, 64, 64},
    {"sm_90a", "cp.async.bulk.tensor", 64, 128, 128},
    {"sm_90a", "cp.async.bulk.tensor", 128, 128, 64},
    {"sm_90a", "cp.async.bulk.tensor", 128, 128, 128}, /* the left operand lies in a slot of its own */
};

/* Rows that are too long for a warp: two groups of consumers share the columns. */
static const attention_size long_rows = {"sm_90a", "m64n256k16", 64, 512, 64};

static void check_attention(const attention_size *s, const form *f, uint32_t blocks)
{
    static const launch launches[] = {{0, 0, 0, 1}, {1, 2, 1, 2}, {0, 2, 1, 1}, {0, 5, 3, 1}};
    enum { MOST = 5 };
    uint32_t all_keys = 2 * MOST * s->keys; /* then values */
    kernel k = {
        .blocks = blocks, .of = &f16, .rows = TILES * s->rows - s->rows / 3, .depth = all_keys, .columns = s->width};
    words w = {.texts = attention_words, .more = f16.words};
    w.numbers['M' - 'A'] = s->rows;
    w.numbers['N' - 'A'] = s->keys;
    w.numbers['R' - 'A'] = k.rows;
    w.numbers['D' - 'A'] = s->width;
    w.numbers['C' - 'A'] = all_keys;
    w.numbers['S' - 'A'] = 1;
    snprintf(k.name, sizeof k.name, "%s, %u rows of %u, %u keys, %s", f->name, s->rows, s->width, s->keys, s->target);
    bool ok = compile(&k, s->target, f->text, &w, s->has);
    for (size_t i = 0; ok && i < sizeof launches / sizeof *launches; i++)
        compare(&k, &launches[i]);
    release(&k);
}

/* ---- loops without products ---- */

static void check_stream(const char *target, const form *f, uint32_t step, uint32_t height, uint32_t width)
{
    /* the last one has more iterations than there are slots, and most of them outside of A */
    static const launch launches[] = {{0, 0, 1, 2}, {0, 1, 0, 1}, {1, 3, 2, 2}, {2, 5, 3, 1},
                                      {3, 6, 4, 1}, {0, 7, 1, 2}, {0, 25, 9, 2}};
    kernel k = {.is_exact = true,
                .of = &f16,
                .lacks_b = height == 1,
                .rows = TILES * height - height / 4,
                .depth = MOST_TRIPS * width - 8,
                .columns = width - 8};
    words w = {.texts = stream_words, .more = f16.words};
    w.numbers['M' - 'A'] = height;
    w.numbers['K' - 'A'] = width;
    w.numbers['R' - 'A'] = k.rows;
    w.numbers['D' - 'A'] = k.depth;
    w.numbers['C' - 'A'] = k.columns;
    w.numbers['S' - 'A'] = step;
    w.numbers['L' - 'A'] = k.rows * k.columns - 1;
    snprintf(k.name, sizeof k.name, "%s, step %u, %ux%u, %s", f->name, step, height, width, target);
    bool ok = compile(&k, target, f->text, &w, "cp.async");
    size_t step_of_launches = height * width > 1 << 15 ? 4 : 1; /* large ones take long: none, 3 to 6 */
    for (size_t i = 0; ok && i < sizeof launches / sizeof *launches; i += step_of_launches)
        compare(&k, &launches[i]);
    release(&k);
}

/* ---- over the thread blocks of a cluster ---- */

#define NUMBERS(at, size, dim)                                                                         \
    at "0 = iota : tile<" size "xi32>\n" at "1 = reshape " at "0 : tile<" size "xi32> -> " dim "\n" at \
       "2 = broadcast " at "1 : " dim " -> tile<$Mx$Nxi32>\n"
#define FOLDED(op, dim, more) op " %s dim=" dim more " identities=[0.0 : f32] : $t -> "
#define BY(op) "(%g: tile<f32>, %h: tile<f32>) {\n%j = " op " %g, %h : tile<f32>\nyield %j : tile<f32>\n}\n"

/* Not dealt to the blocks of a cluster: they begin with another number than that of their block. */
#define FIRST "%first = mini %x, %tiles signed : $i\n"
static const form persistent_in_parts[] = {
    {"persistent, in parts", ALL_ROWS(FIRST, "%first")},
    {"between tiles left out, in parts", SOME_ROWS(FIRST, "%first")},
    {"of a size that the launch tells, in parts", SIZED_ROWS(FIRST, "%first")},
    {"far outside, in parts", FAR_ROWS(FIRST, "%first")},
};

/* What becomes of a product, and of what parts of it come. */
static const form in_parts[] = {
    {"less its rows' greatest", BEGIN PLAIN("%s", "%start", "%x") "%r = " FOLDED("reduce", "1", "") "tile<$Mxf32>\n" BY(
                                    "maxf") "%r1 = reshape %r : tile<$Mxf32> -> tile<$Mx1xf32>\n"
                                            "%r2 = broadcast %r1 : tile<$Mx1xf32> -> $t\n"
                                            "%u = subf %s, %r2 : $t\n" STORE("%u", "%x") END},
    {"sums of its columns", BEGIN PLAIN("%s", "%start", "%x") "%u = " FOLDED("scan", "0", " reverse=false") "$t\n" BY(
                                "addf") STORE("%u", "%x") END},
    {"added to what is there",
     BEGIN PLAIN(
         "%s", "%start",
         "%x") "%o, %t3 = load_view_tko weak %cv[%x, %zero] token = %0 : $c, $i -> $t, token\n%p = absf %o : $t\n"
               "%three = constant <f32: 3.0> : $t\n%h = minf %p, %three : $t\n%u = addf %s, %h : $t\n"
               "%w = store_view_tko weak %u, %cv[%x, %zero] token = %t3 : $t, $c, $i -> token\n" END},
    {"numbered",
     BEGIN PLAIN("%s", "%start", "%x") NUMBERS("%m", "$M", "tile<$Mx1xi32>")
         NUMBERS("%n", "$N", "tile<1x$Nxi32>") "%o = addi %m2, %n2 : tile<$Mx$Nxi32>\n"
                                               "%of = itof %o signed : tile<$Mx$Nxi32> -> $t\n"
                                               "%less = cmpi less_than %m2, %n2, signed : tile<$Mx$Nxi32> -> "
                                               "tile<$Mx$Nxi1>\n%none = constant <i1: true> : tile<$Mx$Nxi1>\n"
                                               "%which = xori %less, %none : tile<$Mx$Nxi1>\n"
                                               "%u = select %which, %of, %s : tile<$Mx$Nxi1>, $t\n" STORE("%u", "%x")
                                                   END},
    {"turned",
     BEGIN "%c2 = make_tensor_view %c, shape = [$C, $R], strides = [$R, 1] : tensor_view<$Cx$Rx$s, "
           "strides=[$R,1]>\n%cw = make_partition_view %c2 : partition_view<tile=($Nx$M), "
           "tensor_view<$Cx$Rx$s, strides=[$R,1]>>\n" PLAIN(
               "%s", "%start",
               "%x") "%u = permute %s [1, 0] : "
                     "$t -> tile<$Nx$Mxf32>\n%w = store_view_tko weak %u, %cw[%zero, %x] token = %0 : tile<$Nx$Mxf32>, "
                     "partition_view<tile=($Nx$M), tensor_view<$Cx$Rx$s, strides=[$R,1]>>, $i -> token\n" END},
    {"until it breaks",
     BEGIN "%u = loop iter_values(%i = %from, %acc = %start) : $i, $t -> $t {\n"
           "%done = cmpi greater_than_or_equal %i, %to, signed : $i -> tile<i1>\nif %done {\nbreak %acc : $t\n}\n"
           "%p, %t1 = load_view_tko weak %av[%x, %i] token = %0 : $a, $i -> $l, token\n"
           "%q, %t2 = load_view_tko weak %bv[%i, %zero] token = %0 : $b, $i -> $r, token\n"
           "$m%next = addi %i, %step : $i\ncontinue %next, %d : $i, $t\n}\n" STORE("%u", "%x") END},
    {"by its own transpose",
     BEGIN "%s = for %i in (%from to %to, step %step) : $i iter_values(%acc = %start) -> ($t) {\n"
           "%p, %t1 = load_view_tko weak %av[%x, %i] token = %0 : $a, $i -> $l, token\n"
           "%q = permute %p [1, 0] : $l -> $r\n$mcontinue %d : $t\n}\n" STORE("%s", "%x") END},
};

static void check_clusters(void)
{
    static const char clusters[] = ".blocksareclusters";
    static const size rows[] = {{"sm_90a", clusters, 256, 128, 64, 1 << 2 | 1 << 13, &f16},
                                {"sm_90a", clusters, 128, 64, 32, ALL & ~(1 << 15), &f16},
                                {"sm_90", clusters, 32, 32, 32, 1 << 6 | 1 << 9, &f16},
                                {"sm_90a", clusters, 256, 128, 128, 1 << 2 | 1 << 9, &e4m3}},
                      columns[] = {{"sm_90a", clusters, 128, 256, 64, 1 << 0 | 1 << 2 | 1 << 8, &f16},
                                   {"sm_90a", clusters, 128, 256, 64, 1 << 2 | 1 << 8 | 1 << 14, &f16},
                                   {"sm_90a", clusters, 64, 128, 64, 1 << 0 | 1 << 2, &turned_tf32},
                                   {"sm_120", clusters, 64, 128, 64, 1 << 5 | 1 << 7, &s8}};
    static const attention_size attention = {"sm_90a", clusters, 128, 64, 64};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (rows[i].forms >> k & 1)
                check_product(&rows[i], &forms[k], 1, NULL, 2);
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            if (columns[i].forms >> k & 1)
                check_product(&columns[i], &forms[k], 1, NULL, 4);
    }
    static const size shared[] = {{"sm_90a", "multicast::cluster", 256, 128, 64, ALL, &f16},
                                  {"sm_90a", "multicast::cluster", 128, 256, 64, ALL, &f16}};
    for (size_t k = 0; k < sizeof persistent_in_parts / sizeof *persistent_in_parts; k++) {
        check_product(&shared[0], &persistent_in_parts[k], 1, NULL, 2);
        check_product(&shared[1], &persistent_in_parts[k], 1, NULL, 4);
    }
    static const size square = {"sm_90a", clusters, 128, 128, 32, ALL, &f16};
    for (size_t k = 0; k < sizeof in_parts / sizeof *in_parts; k++)
        check_product(&square, &in_parts[k], 1, NULL, 2);
    for (size_t k = 0; k < sizeof by_pointers / sizeof *by_pointers; k++) {
        check_product(&rows[1], &by_pointers[k], 1, NULL, 2);
        check_product(&columns[0], &by_pointers[k], 1, NULL, 2);
    }
    for (size_t k = 0; k < sizeof attentions / sizeof *attentions; k++)
        check_attention(&attention, &attentions[k], 2);
}

int main(void)
{
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++) {
        check_stream("sm_80", &streams[k], 1 + k % 2, 16, 128);
        check_stream("sm_90a", &streams[k], 2 - k % 2, 16, 128);
        if (k + 1 < sizeof streams / sizeof *streams)
            check_stream("sm_90a", &streams[k], 1, 256, 256); /* in strips */
    }
    check_stream("sm_90a", &streams[sizeof streams / sizeof *streams - 1], 1, 1, 1 << 16); /* by pointers */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
            if (sizes[i].forms >> k & 1)
                check_product(&sizes[i], &forms[k], 2 - (i + k) % 2, NULL, 0);
    static const size f16_sizes[] = {{"sm_80", "cp.async", 32, 32, 64, ALL, &f16},
                                     {"sm_90a", "wgmma", 64, 64, 32, ALL, &f16},
                                     {"sm_90a", "wgmma", 128, 128, 64, ALL, &f16},
                                     {"sm_90a", "mbarrier.try_wait", 128, 256, 64, ALL, &f16}};
    for (size_t i = 0; i < sizeof f16_sizes / sizeof *f16_sizes; i++)
        for (size_t k = 0; k < sizeof by_pointers / sizeof *by_pointers; k++)
            check_product(&f16_sizes[i], &by_pointers[k], 1 + (uint32_t)k, "ld.global", 0);
    for (size_t i = 0; i < sizeof attention_sizes / sizeof *attention_sizes; i++)
        for (size_t k = 0; k < sizeof attentions / sizeof *attentions; k++)
            check_attention(&attention_sizes[i], &attentions[k], 0);
    check_attention(&long_rows, &attentions[SAME_TILE], 0);
    check_clusters();
    return TEST_END("compile_rings");
}
