/* SHA-256 as FIPS 180-4 describes it; the names are those of its section 6.2. */
#include "loader/sha256.h"

#include <string.h>

static const uint32_t k[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
                               0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
                               0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
                               0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
                               0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
                               0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
                               0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
                               0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
                               0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
                               0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Step t: a to h are places in v. */
#define ROUND(a, b, c, d, e, f, g, h, t)                                          \
    do {                                                                          \
        uint32_t s1 = rotate(v[e], 6) ^ rotate(v[e], 11) ^ rotate(v[e], 25);      \
        uint32_t s0 = rotate(v[a], 2) ^ rotate(v[a], 13) ^ rotate(v[a], 22);      \
        uint32_t t1 = v[h] + s1 + ((v[e] & v[f]) ^ (~v[e] & v[g])) + k[t] + w[t]; \
        v[d] += t1;                                                               \
        v[h] = t1 + s0 + ((v[a] & v[b]) ^ (v[a] & v[c]) ^ (v[b] & v[c]));         \
    } while (0)

static void add_block(ld_sha256 *hash, const unsigned char *block)
{
    uint32_t w[64], v[8];
    for (unsigned t = 0; t < 16; t++)
        w[t] = big_endian(block + 4 * t);
    for (unsigned t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    memcpy(v, hash->state, sizeof v);
    for (unsigned t = 0; t < 64; t += 8) { /* the letters go round, not the values */
        ROUND(0, 1, 2, 3, 4, 5, 6, 7, t);
        ROUND(7, 0, 1, 2, 3, 4, 5, 6, t + 1);
        ROUND(6, 7, 0, 1, 2, 3, 4, 5, t + 2);
        ROUND(5, 6, 7, 0, 1, 2, 3, 4, t + 3);
        ROUND(4, 5, 6, 7, 0, 1, 2, 3, t + 4);
        ROUND(3, 4, 5, 6, 7, 0, 1, 2, t + 5);
        ROUND(2, 3, 4, 5, 6, 7, 0, 1, t + 6);
        ROUND(1, 2, 3, 4, 5, 6, 7, 0, t + 7);
    }
    for (unsigned i = 0; i < 8; i++)
        hash->state[i] += v[i];
}

void ld_sha256_init(ld_sha256 *hash)
{
    *hash = (ld_sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void ld_sha256_add(ld_sha256 *hash, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    size_t held = hash->length % 64;
    hash->length += size;
    if (held) {
        size_t room = 64 - held, take = size < room ? size : room;
        memcpy(hash->block + held, p, take);
        p += take;
        size -= take;
        if (take < room)
            return;
        add_block(hash, hash->block);
    }
    for (; size >= 64; p += 64, size -= 64)
        add_block(hash, p);
    if (size)
        memcpy(hash->block, p, size);
}

void ld_sha256_finish(ld_sha256 *hash, unsigned char out_digest[LD_SHA256_SIZE])
{
    static const unsigned char padding[64] = {0x80};
    uint64_t bits = hash->length * 8;
    size_t held = hash->length % 64;
    ld_sha256_add(hash, padding, held < 56 ? 56 - held : 120 - held);
    unsigned char length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    ld_sha256_add(hash, length, sizeof length);
    for (unsigned i = 0; i < LD_SHA256_SIZE; i++)
        out_digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void ld_sha256_hex(const unsigned char digest[LD_SHA256_SIZE], char out_text[LD_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < LD_SHA256_SIZE; i++) {
        out_text[2 * i] = digits[digest[i] >> 4];
        out_text[2 * i + 1] = digits[digest[i] & 15];
    }
    out_text[LD_SHA256_HEX - 1] = 0;
}
