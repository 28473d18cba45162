/* Vectors of elements in memory; see the header. */
#include "codegen/ptx/access.h"

#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"

/* Source: memory reference, section 4. */
const char *cg_order_suffix(uint64_t order, uint64_t scope)
{
    static const char *const texts[][3] = {
        [BC_MemoryOrderingSemantics_weak] = {"", "", ""},
        [BC_MemoryOrderingSemantics_relaxed] = {".relaxed.cta", ".relaxed.gpu", ".relaxed.sys"},
        [BC_MemoryOrderingSemantics_acquire] = {".acquire.cta", ".acquire.gpu", ".acquire.sys"},
        [BC_MemoryOrderingSemantics_release] = {".release.cta", ".release.gpu", ".release.sys"},
        [BC_MemoryOrderingSemantics_acq_rel] = {".acq_rel.cta", ".acq_rel.gpu", ".acq_rel.sys"},
    };
    return order == BC_MemoryOrderingSemantics_weak ? "" : texts[order][scope];
}

/* How a vector travels: words of 8, 16, 32 or 64 bits, elements in each. */
typedef struct shape {
    uint32_t word_bits, words, per_word, element_bits;
} shape;

static shape shape_of(cg_func *c, const cg_access *a, uint32_t count)
{
    shape s = {.element_bits = a->packed && !bc_kind_memory_bytes(a->kind) ? 4 : 8 * cg_memory_bytes(a->kind)};
    uint32_t bits = s.element_bits * count;
    s.word_bits = s.element_bits == 64 ? 64 : bits < 32 ? bits : 32;
    s.words = bits / s.word_bits;
    s.per_word = s.word_bits / s.element_bits;
    if (bits > 128)
        cg_need_ptx(c, 88);
    return s;
}

static cg_class word_class(const shape *s)
{
    return s->word_bits == 64 ? CG_B64 : s->word_bits == 16 ? CG_B16 : CG_B32;
}

static void put_predicate(cg_func *c, cg_val predicate)
{
    cg_put(c, predicate.known ? "\t" : "\t@%v ", predicate);
}

static void put_words(cg_func *c, const cg_val *words, uint32_t count)
{
    if (count > 1)
        cg_put(c, "%V", words, count);
    else
        cg_put(c, "%v", words[0]);
}

void cg_put_address(cg_func *c, const cg_access *a)
{
    cg_put(c, a->offset ? "[%v+" : "[%v", a->address);
    if (a->offset)
        bc_text_signed(&c->emit->body, a->offset);
    cg_put(c, "]");
}

static const char *vector_suffix(uint32_t words)
{
    return words == 8 ? ".v8" : words == 4 ? ".v4" : words == 2 ? ".v2" : "";
}

/* ---- words ---- */

/* An element as the number that goes into a word of 8 or 32 bits. */
static cg_val widen(cg_func *c, cg_val x)
{
    if (x.cls == CG_B32)
        return cg_reg(c, x);
    cg_val wide = cg_new(c, CG_B32);
    if (x.cls == CG_PRED)
        cg_ins(c, "selp.u32 %v, 1, 0, %r", wide, x);
    else
        cg_ins(c, "cvt.u32.u16 %v, %r", wide, x);
    return wide;
}

/* Element i of a word of smaller elements. */
static cg_val take_out(cg_func *c, bc_kind kind, cg_val wide, uint32_t i, uint32_t bits)
{
    cg_val x = cg_new(c, CG_B32), p;
    cg_ins(c, "bfe.u32 %v, %v, %u, %u", x, wide, i * bits, bits);
    if (cg_class_of(kind) != CG_PRED)
        return x;
    p = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", p, x);
    return p;
}

void cg_split(cg_func *c, bc_kind kind, cg_val word, uint32_t count, uint32_t bits, cg_val *out)
{
    if (bits == 16) {
        out[0] = cg_new(c, CG_B16);
        out[1] = cg_new(c, CG_B16);
        cg_ins(c, "mov.b32 {%v, %v}, %v", out[0], out[1], word);
    } else {
        cg_val wide = widen(c, word);
        for (uint32_t i = 0; i < count; i++)
            out[i] = take_out(c, kind, wide, i, bits);
    }
    for (uint32_t i = 0; i < count && cg_class_of(kind) != CG_PRED; i++) {
        out[i].word_bits = (uint8_t)cg_class_bits((cg_class)word.cls);
        out[i].word = word.id;
        out[i].at = (uint8_t)(i * bits);
        out[i].half = bits == 4;
    }
}

/* Whether the elements lie side by side in one register. Elements of four bits do not lie there as bytes: what follows
   each of them is another element, not zeros. */
static bool in_one_word(const cg_val *elements, uint32_t count, uint32_t bits)
{
    for (uint32_t i = 0; i < count; i++)
        if (!elements[i].word_bits || elements[i].half != (bits == 4) || elements[i].word != elements[0].word
            || elements[i].word_bits != elements[0].word_bits || elements[i].at != elements[0].at + i * bits)
            return false;
    return true;
}

/* The register in which the elements already are, on its own; id 0: there is none. */
static cg_val found_word(cg_func *c, const cg_val *elements, uint32_t count, uint32_t bits)
{
    uint32_t size = count * bits;
    cg_class cls = size == 16 ? CG_B16 : CG_B32;
    if (!in_one_word(elements, count, bits))
        return (cg_val){.cls = (uint8_t)cls};
    cg_val word = {.cls = elements[0].word_bits == 16 ? CG_B16 : CG_B32, .id = elements[0].word};
    if (elements[0].word_bits == size)
        return word;
    if (size == 8) { /* two halves: the byte remembers where it is, too */
        cg_val byte = cg_new(c, CG_B32), wide = widen(c, word);
        cg_ins(c, "bfe.u32 %v, %v, %u, 8", byte, wide, elements[0].at);
        byte.word_bits = elements[0].word_bits;
        byte.word = elements[0].word;
        byte.at = elements[0].at;
        return byte;
    }
    if (size != 16 || elements[0].at % 16)
        return (cg_val){.cls = (uint8_t)cls};
    cg_val halves[2];
    cg_split(c, BC_I16, word, 2, 16, halves);
    return halves[elements[0].at / 16];
}

bool cg_whole_word(const cg_val *elements, uint32_t count, uint32_t bits, cg_val *out)
{
    *out = (cg_val){.cls = CG_B32, .id = elements[0].word};
    return count * bits == 32 && elements[0].word_bits == 32 && !elements[0].at && in_one_word(elements, count, bits);
}

cg_val cg_join(cg_func *c, const cg_val *elements, uint32_t count, uint32_t bits)
{
    uint32_t size = count * bits, half = count / 2;
    cg_val word = found_word(c, elements, count, bits);
    if (word.id)
        return word;
    uint64_t value = 0;
    uint32_t known = 0;
    for (; known < count && elements[known].known; known++)
        value |= (elements[known].bits & (((uint64_t)1 << bits) - 1)) << known * bits;
    if (known == count)
        return cg_reg(c, cg_const((cg_class)word.cls, value));
    word = cg_new(c, CG_B32);
    if (bits == 16) {
        cg_ins(c, "mov.b32 %v, {%r, %r}", word, elements[0], elements[1]);
        return word;
    }
    if (size == 32 && in_one_word(elements, half, bits) && in_one_word(elements + half, half, bits)) {
        cg_val low = found_word(c, elements, half, bits), high = found_word(c, elements + half, half, bits);
        if (low.id && high.id) {
            cg_ins(c, "mov.b32 %v, {%v, %v}", word, low, high);
            return word;
        }
    }
    cg_val sum = widen(c, elements[0]);
    for (uint32_t i = 1; i < count; i++) {
        word = i == 1 ? word : cg_new(c, CG_B32);
        cg_ins(c, "bfi.b32 %v, %v, %v, %u, %u", word, widen(c, elements[i]), sum, i * bits, bits);
        sum = word;
    }
    if (size != 16)
        return sum;
    cg_val narrow = cg_new(c, CG_B16);
    cg_ins(c, "cvt.u16.u32 %v, %v", narrow, sum);
    return narrow;
}

cg_val cg_join_f8(cg_func *c, const cg_val *two)
{
    enum { HALF = 16 };
    if (two[0].loaded || two[0].at != HALF || !in_one_word(two, 2, HALF / 2))
        return cg_join(c, two, 2, HALF / 2);
    cg_val shifted = cg_new(c, CG_B32), half = cg_new(c, CG_B16);
    cg_ins(c, "shr.u32 %v, %v, 16", shifted, (cg_val){.cls = CG_B32, .id = two[0].word});
    cg_ins(c, "cvt.u16.u32 %v, %v", half, shifted);
    return half;
}

/* ---- branches ---- */

void cg_settle(cg_func *c, const cg_settled *s, const cg_val *regs)
{
    for (uint32_t r = 0; r < s->count >> s->in_word; r++) {
        const cg_val x = s->in_word ? cg_join(c, regs + (r << s->in_word), 1u << s->in_word, bc_kind_bits(s->kind))
                                    : regs[r];
        if (!s->both[r].id)
            s->both[r] = cg_new(c, (cg_class)x.cls);
        if (x.cls == CG_PRED)
            cg_ins(c, "mov.pred %v, %r", s->both[r], x);
        else
            cg_ins(c, "mov.b%u %v, %v", cg_class_bits((cg_class)x.cls), s->both[r], x);
    }
}

void cg_take_settled(cg_func *c, const cg_settled *s, cg_val *out_regs)
{
    for (uint32_t r = 0; r < s->count >> s->in_word; r++) {
        if (s->in_word)
            cg_split(c, s->kind, s->both[r], 1u << s->in_word, bc_kind_bits(s->kind), out_regs + (r << s->in_word));
        else
            out_regs[r] = s->both[r];
    }
}

/* ---- vectors ---- */

/* The numbers that the elements of a word have if nothing is loaded; NULL: zeros. */
static uint64_t word_otherwise(const shape *s, const cg_val *otherwise)
{
    uint64_t mask = UINT64_MAX >> (64 - s->element_bits), word = 0;
    for (uint32_t i = 0; otherwise && i < s->per_word; i++)
        word |= (otherwise[i].bits & mask) << (i * s->element_bits);
    return word;
}

static void put_load(cg_func *c, const cg_access *a, const shape *s, const cg_val *words)
{
    put_predicate(c, a->predicate);
    cg_put(c, "ld%s.%s%s.%s%u ", a->order, a->space, vector_suffix(s->words), s->word_bits == 8 ? "u" : "b",
           s->word_bits);
    put_words(c, words, s->words);
    cg_put(c, ", ");
    cg_put_address(c, a);
    cg_put(c, ";\n");
}

/* The registers have the numbers of `otherwise` before a load that may not happen, if all are known: then nothing
   remains to be selected. */
void cg_load_vector(cg_func *c, const cg_access *a, uint32_t count, const cg_val *otherwise, cg_val *out_regs)
{
    shape s = shape_of(c, a, count);
    cg_val words[CG_MAX_VECTOR];
    bool always = a->predicate.known && a->predicate.bits, never = a->predicate.known && !a->predicate.bits;
    bool known = true;
    for (uint32_t i = 0; otherwise && i < count; i++)
        known = known && otherwise[i].known;
    for (uint32_t w = 0; w < s.words; w++) {
        words[w] = cg_new(c, a->wide ? CG_B32 : word_class(&s));
        uint64_t number = word_otherwise(&s, otherwise && known ? otherwise + w * s.per_word : NULL);
        if (!always)
            cg_ins(c, number ? "mov.b%u %v, %q" : "mov.b%u %v, 0", cg_class_bits((cg_class)words[w].cls), words[w],
                   number);
    }
    if (!never)
        put_load(c, a, &s, words);
    for (uint32_t w = 0; w < s.words; w++) {
        cg_val *out = out_regs + w * s.per_word;
        if (s.per_word > 1) {
            cg_split(c, a->kind, words[w], s.per_word, s.element_bits, out);
            for (uint32_t i = 0; i < s.per_word; i++)
                out[i].loaded = always;
        } else if (cg_class_of(a->kind) == CG_PRED) {
            *out = cg_new(c, CG_PRED);
            cg_ins(c, "setp.ne.u32 %v, %v, 0", *out, words[w]);
        } else {
            *out = words[w];
        }
    }
    for (uint32_t i = 0; otherwise && !known && !always && i < count; i++)
        out_regs[i] = cg_select(c, a->predicate, out_regs[i], otherwise[i]);
}

static cg_val pack(cg_func *c, const shape *s, const cg_val *elements)
{
    if (s->per_word > 1)
        return cg_join(c, elements, s->per_word, s->element_bits);
    return elements[0].cls == CG_PRED ? widen(c, elements[0]) : cg_reg(c, elements[0]);
}

void cg_store_vector(cg_func *c, const cg_access *a, uint32_t count, const cg_val *regs)
{
    if (a->predicate.known && !a->predicate.bits)
        return;
    shape s = shape_of(c, a, count);
    cg_val words[CG_MAX_VECTOR];
    for (uint32_t w = 0; w < s.words; w++)
        words[w] = pack(c, &s, regs + w * s.per_word);
    put_predicate(c, a->predicate);
    cg_put(c, "st%s.%s%s%s.%s%u ", a->order, a->space, a->passes && !*a->order ? ".cs" : "", vector_suffix(s.words),
           s.word_bits == 8 ? "u" : "b", s.word_bits);
    cg_put_address(c, a);
    cg_put(c, ", ");
    put_words(c, words, s.words);
    cg_put(c, ";\n");
}
