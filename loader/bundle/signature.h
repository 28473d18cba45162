/* Ed25519 signatures (RFC 8032) through OpenSSL's libcrypto, which is looked for when it is first needed, as the driver
   is: who signs nothing needs none of it, and pays nothing at the start. Keys are PEM files, as `openssl genpkey
   -algorithm ed25519` makes them.

   A signature file is lines "ed25519 <public key> <signature>", both in hexadecimal: one for each who signed. */
#ifndef TILEVM_LOADER_BUNDLE_SIGNATURE_H
#define TILEVM_LOADER_BUNDLE_SIGNATURE_H

#include "bytecode/base/text.h"

/* Is one of the lines a signature of the message by the owner of the public key? key_path: a PEM file. Gives what is
   wrong, or NULL; the text lives forever. */
const char *ld_signature_verify(tv_str lines, tv_str message, const char *key_path);
/* Are all lines signatures of the message by the keys that they name? What says nothing about who they belong to. */
const char *ld_signature_check(tv_str lines, tv_str message);
/* Appends the line of the private key's owner. */
const char *ld_signature_make(tv_str message, const char *key_path, bc_text *out_line);

#endif
