/* A port for editors that connect, on the loopback interface only; clients must know the token. */
#include "tools/tilevm/debug/dap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* The token: that of TILEVM_DEBUG_TOKEN, or a random one. */
static bool make_token(dap *d)
{
    const char *given = getenv("TILEVM_DEBUG_TOKEN");
    unsigned char bytes[16];
    if (given && *given) {
        if (strlen(given) >= sizeof d->token) {
            cli_error("TILEVM_DEBUG_TOKEN has more than %zu characters", sizeof d->token - 1);
            return false;
        }
        snprintf(d->token, sizeof d->token, "%s", given);
        return true;
    }
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        cli_error("no random numbers for a token: %s", cli_errno());
        return false;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(d->token + 2 * i, 3, "%02x", bytes[i]);
    cli_print(stderr, "token: %s\n", d->token);
    return true;
}

static int open_port(unsigned port, unsigned *out_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof address;
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 1) != 0
        || getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        close(fd);
        return -1;
    }
    *out_port = ntohs(address.sin_port);
    return fd;
}

bool dap_listen(dap *d, unsigned port)
{
    unsigned taken = port;
    if (!make_token(d))
        return false;
    int fd = open_port(port, &taken);
    if (fd < 0) {
        cli_error("port %u: %s", port, cli_errno());
        return false;
    }
    cli_print(stderr, "listening on 127.0.0.1:%u\n", taken);
    int connection = accept(fd, NULL, NULL);
    close(fd);
    if (connection < 0) {
        cli_error("port %u: %s", taken, cli_errno());
        return false;
    }
    d->wire.in = d->wire.out = connection;
    d->wire.waits = true;
    return true;
}
