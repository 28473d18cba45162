/* Ed25519 signatures (RFC 8032) through OpenSSL's libcrypto.

   A signature file is lines "ed25519 <public key> <signature>", both in hexadecimal: one for each signer. Functions
   return false with a problem. */
#ifndef TILEVM_LOADER_BUNDLE_SIGNATURE_H
#define TILEVM_LOADER_BUNDLE_SIGNATURE_H

#include "bytecode/base/text.h"
#include "loader/bundle/key.h"

/* Are all lines signatures of the message by the keys that they name? This says nothing about the owners of the
   keys. */
bool ld_signature_check(tv_str lines, tv_str message, char problem[LD_CRYPTO_PROBLEM]);
/* The same; in addition, at least one of them must be by one of the given keys. keys_path: as ld_public_keys_read takes
   it. */
bool ld_signature_verify(tv_str lines, tv_str message, const char *keys_path, char problem[LD_CRYPTO_PROBLEM]);
/* Appends the line of the private key's owner. passphrase_path: as ld_private_key_read takes it. */
bool ld_signature_make(tv_str message, const char *key_path, const char *passphrase_path, bc_text *out_line,
                       char problem[LD_CRYPTO_PROBLEM]);

#endif
