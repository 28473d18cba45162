/* mkbc: annotated bytes to bytecode on the command line, for developers. The language is described in mkbc.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/files.h"
#include "tests/common/mkbc.h"

int main(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[2], "-o") != 0) {
        fputs("usage: mkbc FILE -o OUT      assembles annotated bytes (described in tests/common/mkbc.h)\n", stderr);
        return 2;
    }
    size_t size;
    char *text = files_read(argv[1], &size);
    if (!text) {
        perror(argv[1]);
        return 2;
    }
    mkbc_result result;
    if (!mkbc_assemble(text, size, &result)) {
        fprintf(stderr, "%s:%u: %s\n", argv[1], result.line, result.error);
        free(text);
        return 1;
    }
    bool ok = files_write(argv[3], result.bytes, result.size);
    if (!ok)
        perror(argv[3]);
    free(result.bytes);
    free(text);
    return ok ? 0 : 2;
}
