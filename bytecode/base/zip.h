/* The records of zip archives (PKWARE's APPNOTE): finding members through the central directory, and the bytes that
   stand around them when one is written. Reads and writes no file, packs and unpacks nothing. Everything read is
   hostile; zip64 records are understood and, where a number needs them, written. */
#ifndef TILEVM_BYTECODE_BASE_ZIP_H
#define TILEVM_BYTECODE_BASE_ZIP_H

#include "bytecode/base/text.h"

enum {
    BC_ZIP_STORED = 0,
    BC_ZIP_DEFLATED = 8, /* methods */
    BC_ZIP_ENCRYPTED = 1 /* bit of flags */
};

/* A member as the central directory tells it. */
typedef struct bc_zip_member {
    tv_str name;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size; /* bytes in the archive; and unpacked */
    uint64_t local;        /* where its own header stands in the file */
} bc_zip_member;

/* ---- reading ---- */

/* A file that can be read at any place; read gives exactly size bytes or false. */
typedef struct bc_zip_source {
    void *user;
    uint64_t size;
    bool (*read)(void *user, uint64_t at, void *out, size_t size);
} bc_zip_source;

typedef struct bc_zip_directory {
    uint64_t at, size; /* lies inside the file */
    uint64_t count;    /* of members; no more than fit the size */
} bc_zip_directory;

/* Finds the directory. Gives what is wrong, NULL if nothing is, "" if read failed. */
const char *bc_zip_find_directory(const bc_zip_source *source, bc_zip_directory *out);
/* The member at *at of the size bytes of a directory; moves *at on. The name points into the directory. */
bool bc_zip_next(const unsigned char *directory, size_t size, size_t *at, bc_zip_member *out);
/* Where the member's bytes begin: its header has lengths of its own. Gives what is wrong, as above. */
const char *bc_zip_find_data(const bc_zip_source *source, const bc_zip_member *member, uint64_t *out_at);

/* ---- writing ---- */

/* Appends what stands before the member's bytes; its entry in the directory; what ends the archive, whose directory of
   that size stands at that place. Times are fixed: the same members give the same bytes. */
uint64_t bc_zip_local_size(const bc_zip_member *member); /* how many bytes the first of them are */
void bc_zip_put_local(bc_text *out, const bc_zip_member *member);
void bc_zip_put_entry(bc_text *out, const bc_zip_member *member);
void bc_zip_put_end(bc_text *out, uint64_t count, uint64_t size, uint64_t at);

#endif
