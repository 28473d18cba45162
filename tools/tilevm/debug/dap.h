/* The Debug Adapter Protocol: editors start the command, or connect to it, and drive the debugger by messages.

     dap.c         requests: finding the function for one
     dap_message.c members of messages; sending
     dap_wire.c    messages on a stream, in and out
     dap_port.c    a port on the loopback interface
     dap_launch.c  opening the kernel
     dap_run.c     requests that run it
     dap_stops.c   breakpoints
     dap_show.c    threads, frames, variables
   Messages are hostile: lengths and depths are bounded, and every member is looked at before it is used. */
#ifndef TILEVM_TOOLS_DEBUG_DAP_H
#define TILEVM_TOOLS_DEBUG_DAP_H

#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/debug/debug.h"

enum { DAP_MOST_HEADER = 4096, DAP_MOST_BODY = 4 << 20, DAP_MOST_REFS = 20000, DAP_TOKEN = 64 };

/* Where messages come from and go to. */
typedef struct dap_wire {
    int in, out;
    bool lines;  /* one message per line, without headers */
    bool waits;  /* more may come while a kernel runs, because it is no file */
    char *bytes; /* read and not used */
    size_t len, size;
    bool ended, failed;
} dap_wire;

/* What a variablesReference stands for, until the kernel runs again. */
typedef enum dap_ref_kind { DAP_REF_LOCALS, DAP_REF_ARRAYS, DAP_REF_VALUE } dap_ref_kind;
typedef struct dap_ref {
    dap_ref_kind kind;
    int64_t thread; /* LOCALS: of the tile block */
    vm_debug_value value;
    char *name; /* VALUE: as an expression */
} dap_ref;

typedef struct dap dap;

struct dap {
    dap_wire wire;
    debug_session s;
    run_job *job;
    cli_args *args;
    char token[DAP_TOKEN];                                /* that launch or attach must send; empty: none */
    int64_t sequence;                                     /* of messages sent */
    void (*handle)(dap *d, const char *text, size_t len); /* dap_handle, for what comes while the kernel runs */
    bool running, pause;                                  /* the kernel runs; it is to stop */
    bool given;                                           /* the kernel is on the command line */
    bool authorised, opened, configured, done;
    bool stop_on_entry;
    bc_text told;   /* what the sink got while the kernel was opened */
    bc_arena texts; /* strings of launch */
    dap_ref *refs;
    size_t ref_count, ref_capacity;
    /* numbers of stops, by the request that set them */
    struct dap_stop {
        unsigned number;
        uint32_t group; /* 0 functions, 1 exceptions, 2 data; else hash of the source */
    } * stops;
    size_t stop_count;
};

/* ---- dap_wire.c ---- */

/* The next message's text, owned by the caller. NULL: the stream has ended, or holds no message. */
char *dap_read(dap_wire *wire, size_t *out_len);
/* Whether there is something to read now. */
bool dap_is_waiting(const dap_wire *wire);
/* The same, as a callback that a session calls while its kernel runs. */
bool dap_is_waiting_for(void *wire);
void dap_write(dap_wire *wire, const char *text);
void dap_wire_release(dap_wire *wire);

/* ---- dap_port.c ---- */

/* Listens on 127.0.0.1, prints the port and the token on standard error, and accepts one connection. False after a
   message. */
bool dap_listen(dap *d, unsigned port);

/* ---- dap.c ---- */

/* Serves until the end; gives the exit code. */
int dap_serve(dap *d);
/* Does one message. */
void dap_handle(dap *d, const char *text, size_t len);
void dap_release(dap *d);

/* ---- for the requests ---- */

typedef struct dap_request {
    const cJSON *arguments; /* an object, or NULL */
    const char *command;
    int64_t sequence;
    json_doc doc; /* the response */
    cJSON *body;
    char error[VM_DEBUG_TEXT + 40]; /* not empty: it failed */
} dap_request;

typedef void dap_function(dap *d, dap_request *r);

void dap_fail(dap_request *r, const char *format, ...) TV_PRINTF(2, 3);
/* Members of the arguments; NULL, or `missing`, if there is none of that type. */
const char *dap_text(const cJSON *object, const char *name);
int64_t dap_integer(const cJSON *object, const char *name, int64_t missing);
bool dap_flag(const cJSON *object, const char *name, bool missing);
const cJSON *dap_member(const cJSON *object, const char *name);
/* Begin and end an event; its body is filled in between. */
cJSON *dap_event(json_doc *doc, const char *name);
void dap_send(dap *d, json_doc *doc);
void dap_output(dap *d, const char *category, tv_str text);

/* Tile blocks are threads: their number in the grid, from 1. */
int64_t dap_thread_of(const dap *d, const uint32_t block[3]);

/* dap_launch.c */
dap_function dap_launch;
/* dap_run.c */
dap_function dap_continue;
/* Runs what the request asked for, once the request has been answered. */
void dap_run_pending(dap *d, const char *command, const cJSON *arguments);
/* dap_stops.c */
dap_function dap_set_breakpoints, dap_set_functions, dap_set_exceptions, dap_data_info, dap_set_data;
/* dap_show.c */
dap_function dap_threads, dap_stack, dap_scopes, dap_variables, dap_evaluate, dap_source;
void dap_forget_refs(dap *d);

#endif
