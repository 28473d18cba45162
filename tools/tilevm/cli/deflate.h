/* Raw deflate streams, as members of zip archives are. */
#ifndef TILEVM_TOOLS_CLI_DEFLATE_H
#define TILEVM_TOOLS_CLI_DEFLATE_H

#include "bytecode/base/text.h"

/* Appends what the bytes deflate to at a level from 1 to 9. False: it does not save a sixteenth, or memory ran out;
   what was appended is of no use then. */
bool deflate_bytes(tv_str from, int level, bc_text *out);
/* The checksum that archives keep. */
uint32_t deflate_crc(tv_str bytes);

#endif
