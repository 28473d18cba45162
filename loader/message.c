/* The last error of each thread, and the handler of the process. */
#include "loader/message.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"
#include "loader/driver.h"

enum { MESSAGE_SIZE = 4096 };

static _Thread_local char last_error[MESSAGE_SIZE];
static _Thread_local ld_rule last_rule;
static _Thread_local bool host_ran_out; /* that was it */

static const struct {
    const char *id, *help;
} rules[LD_RULE_COUNT] = {
    [LD_RULE_NONE] = {"", ""},
#define RULE(name, id_, severity_, title_, text_, help_) [LD_RULE_##name] = {id_, help_},
#include "bytecode/base/loader_rules.def"
};

static pthread_mutex_t handler_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*handler)(void *user, int severity, const char *text);
static void *handler_user;

void tvSetMessageHandler(void (*new_handler)(void *user, int severity, const char *text), void *user)
{
    pthread_mutex_lock(&handler_lock);
    handler = new_handler;
    handler_user = user;
    pthread_mutex_unlock(&handler_lock);
}

const char *tvGetLastErrorMessage(void)
{
    return last_error;
}

int ld_loudest(int usual)
{
    static const char *const names[] = {"none", "error", "warning", "note"};
    const char *wanted = getenv("TILEVM_LOG");
    for (int i = 0; wanted && i < (int)TV_COUNT(names); i++)
        if (strcmp(wanted, names[i]) == 0)
            return i - 1;
    return usual;
}

void ld_print(int severity, const char *text)
{
    static const char *const names[] = {[TV_ERROR] = "error", [TV_WARNING] = "warning", [TV_NOTE] = "note"};
    bc_text shown;
    bc_text_init(&shown, NULL);
    bc_text_visible(&shown, bc_str(text), "\n\t");
    fprintf(stderr, "tilevm: %s: %s\n", names[severity], shown.ptr ? shown.ptr : "");
    bc_text_release(&shown);
}

static void tell(tv_severity severity, const char *text)
{
    pthread_mutex_lock(&handler_lock);
    if (handler)
        handler(handler_user, (int)severity, text);
    else if ((int)severity <= ld_loudest(-1))
        ld_print((int)severity, text);
    pthread_mutex_unlock(&handler_lock);
}

const char *ld_last_rule_id(void)
{
    return rules[last_rule].id;
}

bool ld_ran_out(void)
{
    return host_ran_out;
}

/* Makes the text of the last error, and passes it to the handler. */
static tvResult fail(ld_rule rule, tvResult code, const char *text, const char *help)
{
    char number[32];
    const char *name = ld_cuda_error_name(code);
    last_rule = rule;
    snprintf(number, sizeof number, "%d", (int)code);
    snprintf(last_error, sizeof last_error, "[%s] %s (%s%s)%s%s", rules[rule].id, text,
             name ? "CUDA_ERROR_" : "driver error ", name ? name : number, help[0] ? "\n   help: " : "", help);
    tell(TV_ERROR, last_error);
    return code;
}

tvResult ld_fail(ld_rule rule, tvResult code, const char *format, ...)
{
    char text[MESSAGE_SIZE / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *help = ld_cuda_error_help(code);
    ld_rule known = ld_cuda_error_rule(code);
    if (known != LD_RULE_NONE)
        rule = known;
    host_ran_out = false;
    return fail(rule, code, text, help[0] ? help : rules[rule].help);
}

tvResult ld_no_memory(void)
{
    host_ran_out = true;
    return fail(LD_RULE_L_MEM_01, LD_CUDA_OUT_OF_MEMORY, "out of memory", "the host has no memory left");
}

void ld_warn(ld_rule rule, const char *format, ...)
{
    char text[MESSAGE_SIZE / 2], whole[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(whole, sizeof whole, "[%s] %s", rules[rule].id, text);
    tell(TV_WARNING, whole);
}

void ld_note(const char *format, ...)
{
    char text[MESSAGE_SIZE / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tell(TV_NOTE, text);
}
