/* Messages on a stream: a header with the length, then JSON; or a message a line. */
#include "tools/tilevm/debug/dap.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool fill(dap_wire *w)
{
    if (w->len == w->size) {
        size_t larger = w->size ? 2 * w->size : 8192;
        char *bytes = larger <= 2 * (size_t)DAP_MOST_BODY ? realloc(w->bytes, larger) : NULL;
        if (!bytes)
            return false;
        w->bytes = bytes;
        w->size = larger;
    }
    ssize_t n;
    do
        n = read(w->in, w->bytes + w->len, w->size - w->len);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    w->len += (size_t)n;
    return true;
}

static void drop(dap_wire *w, size_t n)
{
    memmove(w->bytes, w->bytes + n, w->len - n);
    w->len -= n;
}

static char *take(dap_wire *w, size_t from, size_t n, size_t used)
{
    char *text = malloc(n + 1);
    if (text) {
        memcpy(text, w->bytes + from, n);
        text[n] = 0;
    }
    drop(w, used);
    return text;
}

/* The end of the line that begins at `from`: the position after its newline; 0: it has none yet. */
static size_t line_end(const dap_wire *w, size_t from)
{
    const char *newline = w->len > from ? memchr(w->bytes + from, '\n', w->len - from) : NULL;
    return newline ? (size_t)(newline - w->bytes) + 1 : 0;
}

static char *read_line(dap_wire *w, size_t *out_len)
{
    size_t end;
    while (!(end = line_end(w, 0)))
        if (w->len > DAP_MOST_BODY || !fill(w)) {
            w->ended = true;
            *out_len = w->len;
            return w->len && w->len <= DAP_MOST_BODY ? take(w, 0, w->len, w->len) : NULL;
        }
    *out_len = end - 1;
    return take(w, 0, end - 1, end);
}

/* The number after "Content-Length:", among other fields. False: this is no header. */
static bool length_of(const char *line, size_t n, size_t *out)
{
    static const char name[] = "Content-Length:";
    size_t i = sizeof name - 1, value = 0;
    if (n < i || strncasecmp(line, name, i) != 0)
        return true;
    while (i < n && line[i] == ' ')
        i++;
    if (i == n)
        return false;
    for (; i < n && line[i] != '\r' && line[i] != '\n'; i++) {
        if (line[i] < '0' || line[i] > '9' || value > DAP_MOST_BODY)
            return false;
        value = value * 10 + (size_t)(line[i] - '0');
    }
    *out = value;
    return value > 0 && value <= DAP_MOST_BODY;
}

char *dap_read(dap_wire *w, size_t *out_len)
{
    size_t at = 0, end, length = 0;
    if (w->ended || w->failed)
        return NULL;
    if (w->lines)
        return read_line(w, out_len);
    for (;;) {
        while (!(end = line_end(w, at)))
            if (w->len > at + DAP_MOST_HEADER || !fill(w)) {
                w->ended = true;
                w->failed = w->len > 0;
                return NULL;
            }
        if (end > DAP_MOST_HEADER || !length_of(w->bytes + at, end - at, &length)) {
            w->failed = true;
            return NULL;
        }
        bool empty = end - at == 1 || (end - at == 2 && w->bytes[at] == '\r');
        at = end;
        if (empty)
            break;
    }
    if (!length) {
        w->failed = true;
        return NULL;
    }
    while (w->len - at < length)
        if (!fill(w)) {
            w->ended = w->failed = true;
            return NULL;
        }
    *out_len = length;
    return take(w, at, length, at + length);
}

bool dap_is_waiting_for(void *wire)
{
    return dap_is_waiting(wire);
}

bool dap_is_waiting(const dap_wire *w)
{
    struct pollfd watched = {.fd = w->in, .events = POLLIN};
    return w->waits && !w->ended && (w->len > 0 || poll(&watched, 1, 0) > 0);
}

static void write_all(dap_wire *w, const char *bytes, size_t n)
{
    while (n && !w->failed) {
        ssize_t done = write(w->out, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            w->failed = true;
            return;
        }
        bytes += done;
        n -= (size_t)done;
    }
}

void dap_write(dap_wire *w, const char *text)
{
    char header[64];
    size_t n = strlen(text);
    if (w->out < 0)
        return;
    if (!w->lines) {
        int len = snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", n);
        write_all(w, header, (size_t)len);
    }
    write_all(w, text, n);
    if (w->lines)
        write_all(w, "\n", 1);
}

void dap_wire_release(dap_wire *w)
{
    free(w->bytes);
    w->bytes = NULL;
}
