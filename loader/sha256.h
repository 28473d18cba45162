/* SHA-256 (FIPS 180-4). Our own, because the build asks for no library that has it: a cache key needs one function of a
   page, tested against published vectors, and libcrypto would cost every start more than the hashing. */
#ifndef TILEVM_LOADER_SHA256_H
#define TILEVM_LOADER_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { LD_SHA256_SIZE = 32, LD_SHA256_HEX = 65 };

typedef struct ld_sha256 {
    uint32_t state[8];
    uint64_t length;         /* bytes so far */
    unsigned char block[64]; /* the last length % 64 of them */
} ld_sha256;

void ld_sha256_init(ld_sha256 *hash);
void ld_sha256_add(ld_sha256 *hash, const void *bytes, size_t size);
void ld_sha256_finish(ld_sha256 *hash, unsigned char out_digest[LD_SHA256_SIZE]);
void ld_sha256_hex(const unsigned char digest[LD_SHA256_SIZE], char out_text[LD_SHA256_HEX]);

#endif
