/* Sections of ELF files, as the System V ABI lays them out: programs, libraries, objects, and cubins, which are ELF
   files for a machine of their own. 64-bit and little-endian, which is all that CUDA is built for. Everything read is
   hostile; what is given lies inside the file. */
#ifndef TILEVM_CONTAINER_ELF_H
#define TILEVM_CONTAINER_ELF_H

#include "tilevm/tilevm.h"

enum { CO_ELF_CUDA = 190 }; /* e_machine of a cubin */

enum { CO_SECTION_SYMBOLS = 2, CO_SECTION_NOTHING = 8 }; /* types: a table of symbols; no bytes in the file */

typedef struct co_elf {
    tv_str file;
    unsigned machine;
    uint32_t flags;
    uint64_t sections; /* where their headers stand */
    size_t section_count;
    tv_str names;
} co_elf;

typedef struct co_section {
    tv_str name; /* empty where its place is not inside the names */
    uint32_t type;
    bool compressed; /* its bytes are not what the program sees */
    bool data;       /* the program has it in memory, and not as code */
    uint64_t offset, alignment;
    uint32_t link, info;
    tv_str bytes; /* empty for CO_SECTION_NOTHING */
} co_section;

bool co_is_elf(tv_str file);
/* NULL: out is filled in. Else what is wrong. */
const char *co_elf_open(tv_str file, co_elf *out);
/* The index-th section. False: there is none, or it is not inside the file. */
bool co_elf_section(const co_elf *elf, size_t index, co_section *out);
/* The first section of that name. */
bool co_elf_find(const co_elf *elf, const char *name, co_section *out);

#endif
