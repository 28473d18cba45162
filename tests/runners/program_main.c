/* program FORM PACKING KIB FILE... > OUT: a file with the images in it; each FILE is one, for sm_90, and .cubin and
   .ptx say what they are. FORM     elf, object (of an archive: two members), fatbin, bare (an ELF file without its
   sections' headers), data PACKING  plain, zstd, lz4 KIB      of machine code around them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/files.h"
#include "tests/common/programs.h"

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);
    return len >= n && strcmp(text + len - n, end) == 0;
}

static bool add_file(bc_text *out, const char *path, const char *packing, unsigned index)
{
    size_t size;
    char *bytes = files_read(path, &size);
    co_kind kind = ends_in(path, ".cubin") ? CO_CUBIN : ends_in(path, ".ptx") ? CO_PTX : CO_TILE_IR;
    co_packing how = strcmp(packing, "zstd") == 0 ? CO_ZSTD : strcmp(packing, "lz4") == 0 ? CO_LZ4 : CO_PLAIN;
    bool added = bytes
                 && program_fatbin_image(out, kind, index % 2 ? 100 : 90, index % 4 == 2, how, (tv_str){bytes, size});
    free(bytes);
    if (!added)
        fprintf(stderr, "program: %s cannot be read or packed\n", path);
    return added;
}

static void put_form(bc_text *out, const char *form, tv_str fatbin, size_t filler)
{
    bc_text elf;
    bc_text_init(&elf, NULL);
    program_elf(&elf, 62, strcmp(form, "data") == 0 ? ".rodata" : ".nv_fatbin", fatbin, filler);
    if (strcmp(form, "fatbin") == 0) {
        bc_text_str(out, fatbin);
    } else if (strcmp(form, "object") == 0) {
        program_archive_begin(out, "kernels_of_a_long_name.o/\n");
        program_archive_member(out, "empty.o/", (tv_str){"", 0});
        program_archive_member(out, "/0", bc_text_get(&elf));
    } else {
        if (strcmp(form, "bare") == 0)
            memset(elf.ptr + 40, 0, 8);
        bc_text_str(out, bc_text_get(&elf));
    }
    bc_text_release(&elf);
}

static int write_out(bc_text *out, bool fine)
{
    fine = fine && !out->failed && fwrite(out->ptr, 1, out->len, stdout) == out->len && fflush(stdout) == 0;
    bc_text_release(out);
    return fine ? 0 : 1;
}

int main(int argc, char **argv)
{
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "cubin") == 0) { /* cubin KERNEL THREADS [KIB] */
        bc_text cubin;
        bc_text_init(&cubin, NULL);
        program_cubin(&cubin, argv[2], (unsigned)strtoul(argv[3], NULL, 10),
                      argc == 5 ? (size_t)strtoul(argv[4], NULL, 10) * 1024 : 16);
        return write_out(&cubin, true);
    }
    if (argc < 5) {
        fprintf(stderr, "usage: program FORM PACKING KIB FILE... > OUT\n");
        return 2;
    }
    bc_text fatbin, out;
    bc_text_init(&fatbin, NULL);
    bc_text_init(&out, NULL);
    bool fine = true;
    size_t begin = program_fatbin_begin(&fatbin);
    for (int i = 4; i < argc && fine; i++)
        fine = add_file(&fatbin, argv[i], argv[2], (unsigned)i - 4);
    program_fatbin_end(&fatbin, begin);
    put_form(&out, argv[1], bc_text_get(&fatbin), (size_t)strtoul(argv[3], NULL, 10) * 1024);
    bc_text_release(&fatbin);
    return write_out(&out, fine);
}
