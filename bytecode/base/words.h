/* How far apart two words are, for the "did you mean" of messages. */
#ifndef TILEVM_BYTECODE_BASE_WORDS_H
#define TILEVM_BYTECODE_BASE_WORDS_H

#include "tilevm/tilevm.h"

enum { BC_WORD_LIMIT = 40 };

/* Edit distance in any case, in which swapping two neighbours counts once; words longer than BC_WORD_LIMIT are far from
   everything. */
unsigned bc_word_distance(tv_str a, tv_str b);
/* The distance from which on another word is none that can be meant: two, three or four edits. */
unsigned bc_word_reach(size_t len);

#endif
