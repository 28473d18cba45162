/* Device code in files: what is found in fat binaries, ELF files and archives; what damaged ones lead to. */
#include <stdlib.h>
#include <string.h>

#include "container/archive.h"
#include "container/elf.h"
#include "container/images.h"
#include "tests/common/programs.h"
#include "tests/unit/test.h"

/* The smallest bytecode there is to the walk over its sections: one of 3 bytes, the end. */
static const char module_bytes[] = "\177TileIR\0\15\1\0\0\1\3abc";
static const tv_str module = {module_bytes, sizeof module_bytes}; /* its zero is the end */

/* What was found, as text: "T90z17 " for Tile IR for sm_90 by zstd of 17 bytes, "!" for a problem. */
typedef struct finding {
    char text[400];
    size_t len;
    const char *problem;
    bool contents; /* unpack gives the module, where there is Tile IR */
} finding;

static bool note(void *user, const co_image *image)
{
    finding *f = user;
    const co_entry *e = &image->entry;
    if (image->problem) {
        f->problem = image->problem;
        f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len, "! ");
        return true;
    }
    char kind = e->kind == CO_TILE_IR ? 'T' : e->kind == CO_CUBIN ? 'C' : e->kind == CO_PTX ? 'P' : '?';
    f->len += (size_t)snprintf(f->text + f->len, sizeof f->text - f->len, "%.*s%s%c%u%s%c%llu ", (int)image->member.len,
                               image->member.len ? image->member.ptr : "", image->member.len ? ":" : "", kind, e->sm,
                               e->exact ? "a" : "", "pzl?"[e->packing], (unsigned long long)e -> size);
    char out[64];
    if (e->kind == CO_TILE_IR && !co_image_refusal(image))
        f->contents = e->size == module.len && !co_unpack(e->packing, e->packed, out, (size_t)e->size)
                      && memcmp(out, module.ptr, module.len) == 0;
    return true;
}

static finding find(tv_str file)
{
    finding f = {.contents = true};
    char *copy = malloc(file.len ? file.len : 1); /* so that a sanitizer sees its end */
    memcpy(copy, file.ptr ? file.ptr : "", file.len);
    co_images_each((tv_str){copy, file.len}, note, &f);
    free(copy);
    return f;
}

#define FINDS(file, what)                                                                        \
    do {                                                                                         \
        finding f_ = find(file);                                                                 \
        CHECK_MSG(strcmp(f_.text, what) == 0 && f_.contents, "'%s' for '%s', %s", f_.text, what, \
                  f_.problem ? f_.problem : "");                                                 \
    } while (0)

static void make_fatbin(bc_text *out)
{
    size_t begin = program_fatbin_begin(out);
    CHECK(program_fatbin_image(out, CO_CUBIN, 90, true, CO_PLAIN, bc_str("12345678")));
    CHECK(program_fatbin_image(out, CO_TILE_IR, 90, false, CO_PLAIN, module));
    program_fatbin_end(out, begin);
    begin = program_fatbin_begin(out);
    CHECK(program_fatbin_image(out, CO_PTX, 80, false, CO_PLAIN, bc_str("ptx")));
    program_fatbin_end(out, begin);
}

static void test_forms(void)
{
    static const char found[] = "C90ap8 T90p18 P80p8 ";
    bc_text fatbin, elf, archive;
    bc_text_init(&fatbin, NULL);
    bc_text_init(&elf, NULL);
    bc_text_init(&archive, NULL);
    make_fatbin(&fatbin);
    FINDS(module, "T0p18 ");
    FINDS(bc_text_get(&fatbin), found);
    program_elf(&elf, 62, ".nv_fatbin", bc_text_get(&fatbin), 1000);
    FINDS(bc_text_get(&elf), found);
    program_archive_begin(&archive, "a_name_of_more_than_15.o/\nb.o/\n");
    program_archive_member(&archive, "k.o/", bc_text_get(&elf));
    program_archive_member(&archive, "/0", bc_text_get(&fatbin));
    program_archive_member(&archive, "#1/4", bc_str("x.o\n"));
    FINDS(bc_text_get(&archive), "k.o:C90ap8 k.o:T90p18 k.o:P80p8 a_name_of_more_than_15.o:C90ap8 "
                                 "a_name_of_more_than_15.o:T90p18 a_name_of_more_than_15.o:P80p8 ");
    memset(elf.ptr + 40, 0, 8); /* no table of sections */
    FINDS(bc_text_get(&elf), found);
    bc_text_clear(&elf);
    program_elf(&elf, 62, "__nv_relfatbin", bc_text_get(&fatbin), 0);
    FINDS(bc_text_get(&elf), found);
    bc_text_clear(&elf);
    program_elf(&elf, 62, ".other", bc_text_get(&fatbin), 0); /* plain bytecode among data */
    FINDS(bc_text_get(&elf), "T0p18 ");
    bc_text_clear(&elf);
    program_elf(&elf, 62, ".rodata", (tv_str){"\177TileIR\0\0\0\0\0\0\0\0\0", 16}, 0); /* of who looks for it */
    FINDS(bc_text_get(&elf), "");
    bc_text_clear(&elf);
    program_elf(&elf, 190, ".text.k", bc_str("code"), 0);
    FINDS(bc_text_get(&elf), "C0p360 ");
    FINDS(bc_str("!<thin>\n"), "! ");
    FINDS(bc_str("text"), "");
    FINDS(bc_str(""), "");
    bc_text_release(&fatbin);
    bc_text_release(&elf);
    bc_text_release(&archive);
}

static void test_packing(void)
{
    for (co_packing p = CO_ZSTD; p <= CO_LZ4; p++) {
        bc_text fatbin;
        bc_text_init(&fatbin, NULL);
        size_t begin = program_fatbin_begin(&fatbin);
        bool packed = program_fatbin_image(&fatbin, CO_TILE_IR, 100, false, p, module);
        program_fatbin_end(&fatbin, begin);
        CHECK(packed == !co_packing_refusal(p));
        if (packed)
            FINDS(bc_text_get(&fatbin), p == CO_ZSTD ? "T100z18 " : "T100l18 ");
        else
            printf("container unit: skipped, built without the library for %s\n", co_packing_name(p));
        char out[64];
        CHECK(co_unpack(p, bc_str("not packed"), out, sizeof out) != NULL);
        bc_text_release(&fatbin);
    }
    char out[4];
    CHECK(co_packing_refusal(CO_PACKING_UNKNOWN) != NULL && !co_packing_refusal(CO_PLAIN));
    CHECK(co_unpack(CO_PLAIN, bc_str("abc"), out, 4) != NULL && !co_unpack(CO_PLAIN, bc_str("abc"), out, 3));
}

/* Where a field is changed, and to what; the last bytes of the file are left out. */
static finding with_change(const bc_text *file, size_t at, const char *bytes, size_t count, size_t cut)
{
    char *copy = malloc(file->len);
    memcpy(copy, file->ptr, file->len);
    memcpy(copy + at, bytes, count);
    finding f = find((tv_str){copy, file->len - cut});
    free(copy);
    return f;
}

static void test_damage(void)
{
    bc_text fatbin, elf;
    bc_text_init(&fatbin, NULL);
    bc_text_init(&elf, NULL);
    make_fatbin(&fatbin);
    CHECK(with_change(&fatbin, 16 + 4, "\77", 1, 0).problem);                              /* a header too small */
    CHECK(with_change(&fatbin, 16 + 8, "\377\377\377\377\377\377\377\177", 8, 0).problem); /* a payload too large */
    CHECK(with_change(&fatbin, 8, "\377\377\377\377\377\377\377\377", 8, 0).problem);      /* the next begins inside */
    CHECK(with_change(&fatbin, 0, "P", 1, 5).problem);                                     /* cut */
    co_image large = {.entry = {.kind = CO_TILE_IR, .packing = CO_ZSTD, .size = CO_MAX_IMAGE + 1}};
    CHECK(co_image_refusal(&large) != NULL);
    program_elf(&elf, 62, ".nv_fatbin", bc_text_get(&fatbin), 0);
    CHECK(with_change(&elf, 4, "\1", 1, 0).problem);        /* 32 bits */
    CHECK(with_change(&elf, 5, "\2", 1, 0).problem);        /* big-endian */
    CHECK(with_change(&elf, 58, "\50", 1, 0).problem);      /* sections of another size */
    CHECK(with_change(&elf, 60, "\377\176", 2, 0).problem); /* more of them than fit */
    CHECK(with_change(&elf, 40, "\377\377\377\377\377\377\377\377", 8, 0).problem);
    CHECK(find((tv_str){elf.ptr, 63}).problem);
    for (size_t size = 0; size < elf.len; size++) /* nothing is read behind the end */
        find((tv_str){elf.ptr, size});
    for (size_t at = 0; at < elf.len; at++)
        with_change(&elf, at, "\377", 1, 0);
    bc_text_release(&fatbin);
    bc_text_release(&elf);
}

/* Many sections in one place must not take for ever: all of a large table say that they are all of the file. */
static void test_overlap(void)
{
    enum { SECTIONS = 20000 };
    bc_text elf;
    bc_text_init(&elf, NULL);
    bc_text one;
    bc_text_init(&one, NULL);
    program_elf(&one, 62, ".nv_fatbin", bc_str("12345678"), 0);
    size_t table = one.len - 64; /* the section's header is the last */
    bc_text_str(&elf, bc_text_get(&one));
    for (unsigned i = 4; i < SECTIONS; i++)
        bc_text_bytes(&elf, one.ptr + table, 64);
    uint64_t size = elf.len;
    for (unsigned i = 3; i < SECTIONS; i++) {
        char *header = elf.ptr + table + (size_t)(i - 3) * 64;
        memset(header + 24, 0, 8);
        memcpy(header + 32, &size, 8);
    }
    elf.ptr[60] = (char)(SECTIONS & 0xff);
    elf.ptr[61] = (char)(SECTIONS >> 8);
    finding f = find(bc_text_get(&elf));
    CHECK(f.problem && strstr(f.problem, "overlap"));
    bc_text_release(&elf);
    bc_text_release(&one);
}

static void test_archives(void)
{
    bc_text archive;
    bc_text_init(&archive, NULL);
    program_archive_begin(&archive, NULL);
    program_archive_member(&archive, "__.SYMDEF", bc_str("table"));
    program_archive_member(&archive, "#1/20", bc_str("__.SYMDEF SORTED\0\0\0\0"));
    program_archive_member(&archive, "/7", bc_str("x")); /* there is no table of names */
    finding f = find(bc_text_get(&archive));
    CHECK(f.problem && strcmp(f.text, "! ") == 0);
    for (size_t size = 0; size < archive.len; size++)
        find((tv_str){archive.ptr, size});
    bc_text_release(&archive);
}

int main(void)
{
    test_forms();
    test_packing();
    test_damage();
    test_overlap();
    test_archives();
    return TEST_END("container unit");
}
