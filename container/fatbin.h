/* Fat binaries of CUDA: a container of 16 bytes and, after it, entries, each a header and an image. No public document
   describes them; this follows the output of nvcc 13.3 to 13.5 and published parsers of older containers. All input is
   untrusted. */
#ifndef TILEVM_CONTAINER_FATBIN_H
#define TILEVM_CONTAINER_FATBIN_H

#include "container/unpack.h"

enum { CO_FATBIN_ALIGNMENT = 8 };

typedef enum co_kind { /* as the entries have them */
                       CO_PTX = 1,
                       CO_CUBIN = 2,
                       CO_TILE_IR = 128,
                       CO_JOINED = 256 /* several images packed as one, nvcc --concat */
} co_kind;

/* An image, as its entry describes it. */
typedef struct co_entry {
    unsigned kind; /* a co_kind, or another */
    unsigned sm;   /* 90: sm_90 for a cubin, compute_90 for the others */
    bool exact;    /* sm_90a */
    size_t offset; /* of its header in the bytes that hold the container */
    tv_str source; /* the name of the source file, where it was built with line numbers; else empty */
    co_packing packing;
    tv_str packed;
    uint64_t size;    /* unpacked */
    bool has_tile_ir; /* CO_JOINED: one of them is Tile IR */
} co_entry;

typedef struct co_fatbin {
    tv_str bytes; /* that hold it */
    size_t begin, at, end;
} co_fatbin;

/* Is there a container at that place? */
bool co_fatbin_at(tv_str bytes, size_t at, co_fatbin *out);
/* The first container at or after a position, which is advanced past it. */
bool co_fatbin_scan(tv_str bytes, size_t *at, co_fatbin *out);
/* The next entry. False: there is none, or, with *out_problem set, the container is damaged. */
bool co_fatbin_next(co_fatbin *fatbin, co_entry *out, const char **out_problem);

#endif
