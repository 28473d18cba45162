/* Makes files that hold device code, as nvcc, ld and ar do: fat binaries, ELF files, static archives. */
#ifndef TILEVM_TESTS_COMMON_PROGRAMS_H
#define TILEVM_TESTS_COMMON_PROGRAMS_H

#include "bytecode/base/text.h"
#include "container/fatbin.h"

/* A container; images are appended to it, then it is ended. Gives where it begins. */
size_t program_fatbin_begin(bc_text *out);
/* sm: 90; exact: sm_90a. Packing needs its library; false: there is none. */
bool program_fatbin_image(bc_text *out, co_kind kind, unsigned sm, bool exact, co_packing packing, tv_str bytes);
void program_fatbin_end(bc_text *out, size_t begin);

/* An ELF file of machine with one section (beside that of names); name: ".nv_fatbin". filler: bytes of code before. */
void program_elf(bc_text *out, unsigned machine, const char *name, tv_str section, size_t filler);

/* A cubin for sm_90 with one kernel, whose block must have that many threads. filler: bytes of other code. */
void program_cubin(bc_text *out, const char *kernel, unsigned threads, size_t filler);

/* An archive: begin, then members, whose names of more than 15 characters come from the table. */
void program_archive_begin(bc_text *out, const char *long_names);
/* name: as in the header: "k.o/", "/0", "#1/12" (with the name before the bytes). */
void program_archive_member(bc_text *out, const char *name, tv_str bytes);

#endif
