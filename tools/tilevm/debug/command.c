/* The table of commands; executes one line. */
#include <stdio.h>
#include <string.h>

#include "tools/tilevm/debug/commands.h"

const debug_command debug_commands[] = {
    {"continue", "c", "", "run to the next stop", "", debug_continue, true},
    {"step", "s", "[N]", "run to the next source line, into regions",
     "Without source lines, every op is a line. N: do it so many times.\n", debug_step, true},
    {"next", "n", "[N]", "run to the next source line, over the regions of loops and branches", "", debug_next, true},
    {"stepi", "si", "[N]", "run one op of this tile block", "", debug_stepi, true},
    {"iter", "it", "[N]", "run to the next iteration of the innermost loop, or out of it", "", debug_iter, true},
    {"finish", "fin", "", "run out of the region: behind its loop or branch",
     "At the top, to the end of the tile block.\n", debug_finish, true},
    {"reverse-continue", "rc", "", "go back to the stop before", "", debug_reverse_continue, true},
    {"reverse-step", "rs", "[N]", "go back to the start of a source line", "", debug_reverse_step, true},
    {"reverse-next", "rn", "[N]", "the same, but into no region", "", debug_reverse_next, true},
    {"reverse-stepi", "rsi", "[N]", "go back one op of this tile block", "", debug_reverse_stepi, true},
    {"reverse-iter", "rit", "[N]", "go back to the start of an iteration", "", debug_reverse_iter, true},
    {"reverse-finish", "rfin", "", "go back to the op whose region this is",
     "At the top, to the start of the tile block.\n", debug_reverse_finish, true},
    {"back", "", "[N]", "go back N ops, of whatever tile block",
     "'back 1000000' goes to the time that is a million ops earlier.\n", debug_back, true},
    {"goto", "", "TIME|end", "go to a time, earlier or later, without stopping", "", debug_goto, false},
    {"restart", "", "", "go to the beginning", "", debug_restart, false},
    {"block", "", "[X[,Y[,Z]]]", "show the values of another tile block that is under way, or run to it",
     "A block that has ended is not gone to: 'break block 3,0,0' and 'reverse-continue' do that.\n", debug_block,
     false},
    {"break", "b", "PLACE [if CONDITION]", "stop at a place",
     "PLACE: an op number (12), an op name (mmaf), a line of the source (add.py:14, or :14 in any file), or\n"
     "a tile block (block 3,0,0: before its first op). Conditions compare what 'print' shows:\n"
     "  break mmaf if %acc has nan\n"
     "  break add.py:14 if bid == (3, 0, 0) and %i > 10\n"
     "  break 12 if %acc[3, 4] < 0.5 or a[7] != 0\n",
     debug_break, false},
    {"tbreak", "tb", "PLACE [if CONDITION]", "stop at a place once", "", debug_tbreak, false},
    {"watch", "w", "ELEMENTS|ADDRESS,BYTES [if CONDITION]", "stop when memory changes",
     "  watch c[3, 4]\n"
     "  watch c[0:4, :] if bid.x > 0\n"
     "  watch 0x7f0012340000,64\n",
     debug_watch, false},
    {"catch", "", "nan|inf|CHECKS", "stop where a NaN or an infinity is made, or at findings",
     "CHECKS: races, bounds, uninit, tokens, assume, values, or all; several with commas. They run the kernel\n"
     "once with the checks of 'tilevm check', and stop before the op of each finding.\n",
     debug_catch, false},
    {"delete", "d", "[N...]", "delete stops; without numbers, all", "", debug_delete, false},
    {"enable", "", "N...", "let stops stop again", "", debug_enable, false},
    {"disable", "", "N...", "keep stops, but pass over them", "", debug_disable, false},
    {"ignore", "", "N TIMES", "pass over a stop so many times", "", debug_ignore, false},
    {"print", "p", "EXPRESSION [--all|--stats|--picture|--against FILE]", "show a value",
     "  print %acc            a value of the kernel; 'info locals' lists those there are\n"
     "  print %acc[0:4, 3]    a slice, as in Python\n"
     "  print c               an array, by the name of its argument\n"
     "  print max(%acc) - min(%acc), nans(%acc), bid, time\n"
     "--against compares with a .npy, .npz or .safetensors file, or what a generator makes: zeros(f32,8).\n",
     debug_print, true},
    {"stats", "", "EXPRESSION", "show the smallest, mean and largest element, NaNs and infinities", "", debug_stats,
     true},
    {"picture", "pic", "EXPRESSION", "show a value of one or two dimensions as a picture", "", debug_picture, true},
    {"display", "", "EXPRESSION", "show a value on a line at every stop; without one, show them now", "", debug_display,
     false},
    {"undisplay", "", "", "show no more values at stops", "", debug_undisplay, false},
    {"who", "", "ELEMENT", "show which op of which tile block wrote an element last",
     "  who c[3, 4]\n"
     "  who %p[7]             where a pointer of a tile points to\n",
     debug_who, false},
    {"list", "l", "[N|ops]", "show the source around the place, or the ops", "", debug_list, true},
    {"where", "bt", "", "show where the run is", "", debug_where, false},
    {"info", "i", "WHAT", "list breaks, locals, arrays, blocks, lines, findings or snapshots", "", debug_info_command,
     false},
    {"source", "", "FILE", "do the commands of a file", "", debug_source_command, false},
    {"help", "h", "[COMMAND]", "show the commands, or more about one", "", debug_help, false},
    {"quit", "q", "", "end", "", debug_quit, false},
};

const size_t debug_command_count = TV_COUNT(debug_commands);

/* ---- finding ---- */

static const char *name_at(const void *user, size_t index)
{
    (void)user;
    return index < debug_command_count ? debug_commands[index].name : NULL;
}

const debug_command *debug_find_command(tv_str word, vm_debug_error *error)
{
    const debug_command *found = NULL;
    char name[40];
    for (size_t i = 0; i < debug_command_count; i++) {
        const debug_command *c = &debug_commands[i];
        if (bc_str_is(word, c->name) || (c->letters[0] && bc_str_is(word, c->letters)))
            return c;
    }
    for (size_t i = 0; i < debug_command_count; i++) {
        const debug_command *c = &debug_commands[i];
        if (word.len > strlen(c->name) || memcmp(word.ptr, c->name, word.len) != 0)
            continue;
        if (found) {
            debug_fail(error, "'%.*s' may be '%s' or '%s'", (int)word.len, word.ptr, found->name, c->name);
            return NULL;
        }
        found = c;
    }
    if (found)
        return found;
    snprintf(name, sizeof name, "%.*s", word.len < 39 ? (int)word.len : 39, word.ptr);
    const char *closest = cli_closest(name, name_at, NULL);
    if (closest)
        debug_fail(error, "unknown command '%s'; did you mean '%s'?", name, closest);
    else
        debug_fail(error, "unknown command '%s'; 'help' lists them", name);
    return NULL;
}

bool debug_is_blank(tv_str line)
{
    return !line.len || line.ptr[0] == '#';
}

bool debug_do(debug_session *s, tv_str line, bc_text *out, vm_debug_error *error)
{
    tv_str rest = debug_trim(line);
    error->text[0] = 0;
    if (!rest.len && s->interactive)
        rest = debug_trim(bc_str(s->last));
    if (debug_is_blank(rest))
        return true;
    tv_str whole = rest, word = debug_word(&rest);
    const debug_command *command = debug_find_command(word, error);
    if (!command)
        return false;
    s->last[0] = 0;
    if (command->repeats && whole.len < sizeof s->last)
        snprintf(s->last, sizeof s->last, "%.*s", (int)whole.len, whole.ptr);
    return command->run(s, rest, out, error);
}

/* ---- help ---- */

static void put_usage(const debug_command *c, bc_text *out)
{
    bc_text_printf(out, "%s %s\n", c->name, c->operands);
    if (c->letters[0])
        bc_text_printf(out, "short: %s\n", c->letters);
    bc_text_printf(out, "%c%s\n%s", c->summary[0] - 'a' + 'A', c->summary + 1, c->text);
    if (c->repeats)
        bc_text_puts(out, "An empty line repeats it.\n");
}

DEBUG_COMMAND(help)
{
    (void)s;
    if (rest.len) {
        const debug_command *c = debug_find_command(rest, error);
        if (c)
            put_usage(c, out);
        return c != NULL;
    }
    for (size_t i = 0; i < debug_command_count; i++) {
        const debug_command *c = &debug_commands[i];
        bc_text_printf(out, "  %-17s%-5s%s\n", c->name, c->letters, c->summary);
    }
    bc_text_puts(out, "A beginning that only one command has will do. 'help COMMAND' shows more.\n");
    return true;
}

DEBUG_COMMAND(quit)
{
    (void)rest;
    (void)out;
    (void)error;
    s->quit = true;
    return true;
}

DEBUG_COMMAND(source_command)
{
    char path[DEBUG_LINE];
    (void)out;
    if (!rest.len || rest.len >= sizeof path)
        return debug_fail(error, "which file?");
    snprintf(path, sizeof path, "%.*s", (int)rest.len, rest.ptr);
    return s->source(s, path, error);
}
