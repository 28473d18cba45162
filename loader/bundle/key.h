/* Ed25519 keys in PEM files, as `openssl genpkey -algorithm ed25519` makes them, and `openssl pkey -pubout` their
   public halves. Functions return false with a problem that names the file and says what is wrong with it. Passphrases
   are never asked for: a named file has the passphrase, or the key is refused. */
#ifndef TILEVM_LOADER_BUNDLE_KEY_H
#define TILEVM_LOADER_BUNDLE_KEY_H

#include <stdbool.h>

#include "loader/bundle/crypto.h"

enum { LD_KEY_SIZE = 32 };

typedef struct ld_private_key {
    void *handle; /* of the library: the caller frees it with EVP_PKEY_free */
    unsigned char public_half[LD_KEY_SIZE];
} ld_private_key;

/* passphrase_path: a file whose first line is the passphrase of an encrypted key, and which only its owner and
   group may read; NULL: there is none. */
bool ld_private_key_read(const ld_crypto *c, const char *path, const char *passphrase_path, ld_private_key *out,
                         char problem[LD_CRYPTO_PROBLEM]);

typedef struct ld_public_keys {
    unsigned char (*keys)[LD_KEY_SIZE];
    size_t count, room;
} ld_public_keys;

/* The public keys of a file, which has one or more, or of the files of a folder whose names end in ".pem". There is at
   least one, and each is read, or none. The caller releases them in any case. */
bool ld_public_keys_read(const ld_crypto *c, const char *path, ld_public_keys *out, char problem[LD_CRYPTO_PROBLEM]);
bool ld_public_keys_have(const ld_public_keys *keys, const unsigned char key[LD_KEY_SIZE]);
void ld_public_keys_release(ld_public_keys *keys);

#endif
