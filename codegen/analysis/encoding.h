/* Matrices in shared memory in the form that ldmatrix and asynchronous products require: rows of 16-byte chunks,
   swizzled so that the eight rows of an 8x8 matrix are in different banks. An encoding holds a tile; its rows and
   columns each are one or several dimensions of the tile's index. */
#ifndef TILEVM_CODEGEN_ANALYSIS_ENCODING_H
#define TILEVM_CODEGEN_ANALYSIS_ENCODING_H

#include "codegen/kernel/kernel.h"

/* How a product reads an encoding. */
typedef enum cg_feed {
    CG_NO_FEED,
    CG_FEED_ROWS,         /* eight consecutive rows at a time */
    CG_FEED_PAIRS,        /* bytes, which ldmatrix moves by twos: every other pair of rows */
    CG_FEED_MIXED,        /* the same, with the pairs of the last four rows exchanged */
    CG_FEED_WORDS,        /* 4-byte elements: four rows at a time, a lane reads two or four neighbours of each */
    CG_FEED_SECONDS,      /* every second of 16 rows at a time */
    CG_FEED_FOURTHS,      /* every fourth of 32 rows at a time */
    CG_FEED_ELEMENTS,     /* element by element: of 8 bytes, half a warp reads four neighbours in each of four rows; of
                             4 bytes, a warp reads eight */
    CG_FEED_VECTORS,      /* eight rows at a time, of each four chunks whose numbers differ in two bits */
    CG_FEED_ONE,          /* one row at a time, several chunks of it */
    CG_FEED_ACROSS,       /* threads transpose the tile on its way to shared memory; then eight rows at a time */
    CG_FEED_SCALES,       /* scales for tcgen05, in the order in which a copy puts those of 128 rows to tensor memory */
    CG_FEED_WIDE_SCALES,  /* the same for 256 rows, */
    CG_FEED_SCALES_OF_64, /* and for 64 or 32 rows that are spread over 128 (codegen/analysis/tcgen05.h) */
    CG_FEED_SCALES_OF_32,
    CG_FEED_THREADS /* no product reads it: threads read it to registers, in any layout */
} cg_feed;

enum { CG_NO_ROW_BIT = 255, CG_PANEL_BIT = 254 /* as row bits: none; the lowest bit of the panel's number */ };

typedef struct cg_encoding {
    uint32_t rows, columns, batch, bytes; /* log2; bytes is that of an element */
    uint32_t left_out; /* bits of the tile's index that select the part of the tile that the encoding holds */
    bool flipped;      /* rows are the tile's last dimension, columns the one before it */
    uint32_t
        panel; /* log2 of the elements that a row has side by side, at most 128 bytes; the next lie behind all rows */
    uint32_t chunk;       /* log2 of the elements of a chunk */
    uint32_t swizzle;     /* low bits of the chunk's number that are XORed with bits of the row's number */
    uint8_t row_bit[3];   /* the row bit of each, or CG_NO_ROW_BIT; CG_PANEL_BIT follows those of the rows */
    uint8_t scaled_rows;  /* for scales: log2 of the rows whose scales are together, */
    uint8_t scaled_lanes; /* and of the lanes in which they lie side by side; otherwise 0 */
} cg_encoding;

/* An encoding of rows x columns elements of `bytes` bytes (the other sizes are log2). */
cg_encoding cg_encoding_new(uint32_t rows, uint32_t columns, uint32_t batch, uint32_t bytes, cg_feed feed);
/* Is it one of scales for tcgen05? */
static inline bool cg_is_scale_feed(cg_feed feed)
{
    return feed >= CG_FEED_SCALES && feed <= CG_FEED_SCALES_OF_32;
}
/* The encoding of a tile, without the index bits left_out. Dimension `fast`, one of the last two, lies in 16-byte
   chunks. */
cg_encoding cg_encoding_for(const cg_shape *s, uint32_t fast, uint32_t bytes, cg_feed feed, uint32_t left_out);
uint32_t cg_encoding_bytes(const cg_encoding *s);
/* Has each of its bytes an element? Some of few scales have none. */
bool cg_encoding_is_full(const cg_encoding *s);
/* The bytes that a row, or a lane of scales, has side by side. */
uint32_t cg_encoding_row_bytes(const cg_encoding *s);
/* Converts a layout of the tile to a layout of positions in the encoding. */
cg_layout cg_encoding_layout(const cg_encoding *s, const cg_layout *l);

/* Does the op only reinterpret its operand (a reshape, a permute, bytes as two f4 each, or a rounding that the
   product does)? *out is the operand's layout as a layout of the result, in which the halves of a byte come first. */
bool cg_is_seen(const ct_op *op);
cg_layout cg_seen_layout(const ct_op *op, const cg_layout *l);
/* The value that v reinterprets, through all such ops; v itself if there are none. */
const ct_value *cg_source_of(const ct_value *v);
/* Converts a layout of v to a layout of the value that v reinterprets. */
cg_layout cg_source_layout(const ct_value *v, const cg_layout *l);

#endif
