/* tilevm debug --json: an object on a line for each command. */
#ifndef TILEVM_TOOLS_DEBUG_ANSWER_H
#define TILEVM_TOOLS_DEBUG_ANSWER_H

#include "tools/tilevm/debug/debug.h"

/* Begins an answer, to which commands add; and prints it. problem: why the command failed, or NULL. text: what it said,
   which is empty afterwards. */
void debug_answer_begin(debug_session *s, json_doc *doc);
void debug_answer_end(debug_session *s, const char *problem, bc_text *text);

/* Members of the current answer; without one they do nothing. */
void debug_tell_place(debug_session *s);
void debug_tell_event(debug_session *s, const vm_debug_event *event);
void debug_tell_value(debug_session *s, const vm_debug_value *value, bool all);

/* Members of an object. */
void debug_add_block(json_doc *doc, cJSON *item, const uint32_t block[3]);
void debug_add_op(const debug_session *s, json_doc *doc, cJSON *item, uint32_t position);
void debug_add_value(const debug_session *s, json_doc *doc, cJSON *parent, const char *key, const vm_debug_value *value,
                     bool all);
void debug_add_figures(json_doc *doc, cJSON *item, const vm_debug_value *value);
void debug_add_stop(const debug_session *s, json_doc *doc, cJSON *item, const vm_debug_stop *stop);
void debug_add_finding(const debug_session *s, json_doc *doc, cJSON *item, const vm_debug_finding *finding);

/* What `info` lists, by its name; the name is that of the member. */
void debug_tell_info(debug_session *s, const char *name);

#endif
