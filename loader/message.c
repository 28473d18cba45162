/* The last error of each thread, and the handler of the process. */
#include "loader/message.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "loader/driver.h"

enum { MESSAGE_SIZE = 4096 };

static _Thread_local char last_error[MESSAGE_SIZE];

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

static void tell(tv_severity severity, const char *text)
{
    pthread_mutex_lock(&handler_lock);
    if (handler)
        handler(handler_user, (int)severity, text);
    pthread_mutex_unlock(&handler_lock);
}

tvResult ld_fail_plain(tvResult code, const char *text)
{
    snprintf(last_error, sizeof last_error, "%s", text);
    tell(TV_ERROR, last_error);
    return code;
}

tvResult ld_fail(tvResult code, const char *format, ...)
{
    char text[MESSAGE_SIZE / 2], whole[MESSAGE_SIZE], number[32];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *name = ld_cuda_error_name(code), *help = ld_cuda_error_help(code);
    snprintf(number, sizeof number, "%d", (int)code);
    snprintf(whole, sizeof whole, "%s (%s%s)%s%s", text, name ? "CUDA_ERROR_" : "driver error ", name ? name : number,
             help[0] ? "\n   help: " : "", help);
    return ld_fail_plain(code, whole);
}

void ld_say(tv_severity severity, const char *format, ...)
{
    char text[MESSAGE_SIZE / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tell(severity, text);
}
