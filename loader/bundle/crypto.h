/* OpenSSL's libcrypto, which is looked for when it is first needed, as the driver is: who signs nothing needs none of
   it, and pays nothing at the start. */
#ifndef TILEVM_LOADER_BUNDLE_CRYPTO_H
#define TILEVM_LOADER_BUNDLE_CRYPTO_H

#include <stddef.h>

typedef struct ld_crypto {
#define CRYPTO(name, result, parameters) result(*name) parameters;
#include "loader/bundle/crypto_api.def"
} ld_crypto;

enum { LD_CRYPTO_PROBLEM = 1024 }; /* room for a message */

/* The library. Once found it is kept and never closed; what was not found is looked for again by the next call, since
   memory or file descriptors may only have been short. NULL: problem says what failed. Any thread may call it. */
const ld_crypto *ld_crypto_open(char problem[LD_CRYPTO_PROBLEM]);

#endif
