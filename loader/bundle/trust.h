/* Who must have signed the bundles that a process loads. The program may ask for a key, and so may those who run it: by
   the environment, and by a file of the machine's, which neither the program nor the environment overrules. */
#ifndef TILEVM_LOADER_BUNDLE_TRUST_H
#define TILEVM_LOADER_BUNDLE_TRUST_H

#include "loader/bundle/signature.h"

/* A file or a folder of public keys, as ld_public_keys_read takes it. */
#define LD_TRUST_POLICY "/etc/tilevm/bundle-keys"

/* Files or folders of public keys: a bundle must be signed by a key of each that asks. */
typedef struct ld_trust {
    const char *key;    /* of the program, else of TILEVM_BUNDLE_KEY; NULL or "": asks for nothing, as the next */
    const char *trust;  /* of TILEVM_BUNDLE_TRUST */
    const char *policy; /* asks for nothing if there is no such file */
} ld_trust;

/* What the program, the environment and the machine ask for. key: the program's, or NULL. */
ld_trust ld_trust_of(const char *key);
/* Is a bundle with these lines of signatures, of this message, to be loaded? What cannot be read is not satisfied. A
   bundle of which nobody asks a signature need have none, but one that it has must be right. False: problem says
   why. */
bool ld_trust_check(const ld_trust *trust, tv_str lines, tv_str message, char problem[LD_CRYPTO_PROBLEM]);

#endif
