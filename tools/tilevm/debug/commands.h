/* The functions of the commands, for the table. */
#ifndef TILEVM_TOOLS_DEBUG_COMMANDS_H
#define TILEVM_TOOLS_DEBUG_COMMANDS_H

#include "tools/tilevm/debug/debug.h"

/* control.c */
DEBUG_COMMAND(continue);
DEBUG_COMMAND(step);
DEBUG_COMMAND(next);
DEBUG_COMMAND(stepi);
DEBUG_COMMAND(iter);
DEBUG_COMMAND(finish);
DEBUG_COMMAND(reverse_continue);
DEBUG_COMMAND(reverse_step);
DEBUG_COMMAND(reverse_next);
DEBUG_COMMAND(reverse_stepi);
DEBUG_COMMAND(reverse_iter);
DEBUG_COMMAND(reverse_finish);
DEBUG_COMMAND(back);
DEBUG_COMMAND(goto);
DEBUG_COMMAND(restart);
DEBUG_COMMAND(block);
/* stops.c */
DEBUG_COMMAND(break);
DEBUG_COMMAND(tbreak);
DEBUG_COMMAND(watch);
DEBUG_COMMAND(catch);
DEBUG_COMMAND(delete);
DEBUG_COMMAND(enable);
DEBUG_COMMAND(disable);
DEBUG_COMMAND(ignore);
/* data.c */
DEBUG_COMMAND(print);
DEBUG_COMMAND(stats);
DEBUG_COMMAND(picture);
DEBUG_COMMAND(display);
DEBUG_COMMAND(undisplay);
DEBUG_COMMAND(who);
DEBUG_COMMAND(list);
DEBUG_COMMAND(where);
DEBUG_COMMAND(info_command);
/* command.c */
DEBUG_COMMAND(source_command);
DEBUG_COMMAND(help);
DEBUG_COMMAND(quit);

#endif
