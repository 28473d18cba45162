/* OpenSSL's libcrypto, which is loaded when it is first needed, like the driver: programs without signatures do not
   need it, and pay nothing at start. */
#ifndef TILEVM_LOADER_BUNDLE_CRYPTO_H
#define TILEVM_LOADER_BUNDLE_CRYPTO_H

#include <stddef.h>

typedef struct ld_crypto {
#define CRYPTO(name, result, parameters) result(*name) parameters;
#include "loader/bundle/crypto_api.def"
} ld_crypto;

enum { LD_CRYPTO_PROBLEM = 1024 }; /* room for a message */

/* The library. Once found, it is kept and never closed; if it was not found, the next call searches again, since only
   memory or file descriptors may have been short. NULL: problem says what failed. Any thread may call it. */
const ld_crypto *ld_crypto_open(char problem[LD_CRYPTO_PROBLEM]);

#endif
