/* Whose signatures a process requires of bundles. The program may require a key, and so may those who run it: by the
   environment, and by a file of the machine, which neither the program nor the environment overrides. */
#ifndef TILEVM_LOADER_BUNDLE_TRUST_H
#define TILEVM_LOADER_BUNDLE_TRUST_H

#include "loader/bundle/signature.h"

/* A file or a folder of public keys, as ld_public_keys_read takes it. */
#define LD_TRUST_POLICY "/etc/tilevm/bundle-keys"

/* Files or folders of public keys: a bundle must be signed by a key of each of them. */
typedef struct ld_trust {
    const char *key;    /* of the program, else of TILEVM_BUNDLE_KEY; NULL or "": no requirement, as for the next */
    const char *trust;  /* of TILEVM_BUNDLE_TRUST */
    const char *policy; /* no requirement if the file does not exist */
} ld_trust;

/* The requirements of the program, the environment and the machine. key: the program's, or NULL. */
ld_trust ld_trust_of(const char *key);
/* May a bundle with these lines of signatures of this message be loaded? A key file that cannot be read is a
   requirement that is not met. If nobody requires a signature, a bundle need not have one, but those that it has must
   be valid. False: problem says why. */
bool ld_trust_check(const ld_trust *trust, tv_str lines, tv_str message, char problem[LD_CRYPTO_PROBLEM]);

#endif
