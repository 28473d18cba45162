#include "tests/random/sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

bool sums_read(sums *s, const char *path, uint64_t first, uint64_t count)
{
    uint64_t seed, sum;
    s->first = first;
    s->count = count;
    s->known = calloc(count ? count : 1, sizeof *s->known);
    if (!s->known || !path)
        return s->known != NULL;
    FILE *in = fopen(path, "r");
    while (in && fscanf(in, "%" SCNu64 " %" SCNx64 "\n", &seed, &sum) == 2)
        if (seed >= first && seed - first < count)
            s->known[seed - first] = sum;
    bool fine = in && feof(in);
    if (in)
        fclose(in);
    return fine;
}

uint64_t sums_known(const sums *s, uint64_t seed)
{
    return seed >= s->first && seed - s->first < s->count ? s->known[seed - s->first] : 0;
}

uint64_t sums_of(const bc_text *ptx)
{
    return 1 + (uint64_t)crc32(0, (const unsigned char *)ptx->ptr, (unsigned)ptx->len);
}

void sums_write(const sums *s, uint64_t seed, uint64_t sum)
{
    if (s->out)
        fprintf(s->out, "%" PRIu64 " %" PRIx64 "\n", seed, sum);
}

void sums_close(sums *s)
{
    free(s->known);
    if (s->out)
        fclose(s->out);
}
