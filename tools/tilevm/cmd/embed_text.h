/* embed.c.in as text: what stands before its line @DATA@, and what comes after it. The build makes its source. */
#ifndef TILEVM_TOOLS_CMD_EMBED_TEXT_H
#define TILEVM_TOOLS_CMD_EMBED_TEXT_H

extern const char embed_types[], embed_code[];

#endif
