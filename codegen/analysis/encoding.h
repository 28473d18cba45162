/* Matrices in shared memory in the form that ldmatrix and wgmma require: rows of 16-byte chunks, swizzled so that the
   eight rows of an 8x8 matrix are in different banks. An encoding holds a tile; its rows and columns are dimensions of
   the tile's index, or several together. */
#ifndef TILEVM_CODEGEN_ANALYSIS_ENCODING_H
#define TILEVM_CODEGEN_ANALYSIS_ENCODING_H

#include "codegen/kernel/kernel.h"

/* How a product reads an encoding. */
typedef enum cg_feed {
    CG_NO_FEED,
    CG_FEED_ROWS,    /* eight rows that follow each other at a time */
    CG_FEED_PAIRS,   /* of bytes, which ldmatrix moves by twos: every other pair of rows */
    CG_FEED_MIXED,   /* the same, of the last four rows the other pairs */
    CG_FEED_WORDS,   /* of 4 bytes: four rows at a time, two or four neighbours of each by a lane */
    CG_FEED_SECONDS, /* every second row of sixteen at a time */
    CG_FEED_FOURTHS, /* every fourth row of 32 at a time */
    CG_FEED_DOUBLES, /* of 8 bytes: four neighbours in each of four rows by half of a warp */
    CG_FEED_VECTORS, /* eight rows at a time, of each four chunks that differ in two bits of their number */
    CG_FEED_ONE,     /* one row at a time, several chunks of it */
    CG_FEED_ACROSS   /* not as it lies in memory: threads transpose it on its way, and then by eight rows */
} cg_feed;

enum { CG_NO_ROW_BIT = 255, CG_PANEL_BIT = 254 /* as a row bit: the lowest of the panel's number */ };
enum { CG_ENCODING_ALIGN = 1024 }; /* bytes, of what wgmma reads: the swizzle's period */

typedef struct cg_encoding {
    uint32_t rows, columns, batch, bytes; /* bits of each; bytes of an element */
    uint32_t left_out;                    /* bits of the tile's index that say which part of it: the encoding has one */
    bool flipped;                         /* the rows are the tile's last dimension, the columns the one before it */
    uint32_t
        panel; /* log2 of the elements that a row has side by side, at most 128 bytes; the next lie behind all rows */
    uint32_t chunk;     /* log2 of the elements of a chunk */
    uint32_t swizzle;   /* low bits of the chunk's number that are XORed with bits of the row's number */
    uint8_t row_bit[3]; /* which; CG_NO_ROW_BIT: none; the lowest bit of the panel's number follows the rows' */
} cg_encoding;

/* rows x columns of elements of `bytes`, all but the last as bits. */
cg_encoding cg_encoding_new(uint32_t rows, uint32_t columns, uint32_t batch, uint32_t bytes, cg_feed feed);
/* For a tile of which dimension `fast`, one of the last two, lies in 16-byte chunks; without the bits of left_out. */
cg_encoding cg_encoding_for(const cg_shape *s, uint32_t fast, uint32_t bytes, cg_feed feed, uint32_t left_out);
uint32_t cg_encoding_bytes(const cg_encoding *s);
/* Converts a layout of the tile to a layout of positions in the encoding. */
cg_layout cg_encoding_layout(const cg_encoding *s, const cg_layout *l);

/* Does the op only reinterpret its operand: a reshape, a permute, bytes as two f4 each, or a rounding that the product
   does? And the operand's layout as a layout of the result, in which the halves of a byte come first. */
bool cg_is_seen(const ct_op *op);
cg_layout cg_seen_layout(const ct_op *op, const cg_layout *l);
/* The value that v reinterprets, through all such ops; v itself if there are none. */
const ct_value *cg_source_of(const ct_value *v);
/* A layout of v as a layout of the value that it reinterprets. */
cg_layout cg_source_layout(const ct_value *v, const cg_layout *l);

#endif
