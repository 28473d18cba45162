/* What an attacker does after changing a bundle: makes the hashes right again, so that what comes behind them is put to
   the test as well. */
#ifndef TILEVM_TESTS_COMMON_RESEAL_H
#define TILEVM_TESTS_COMMON_RESEAL_H

#include <stddef.h>

/* Writes new hashes of records into the index, and of its head and the manifest into the seal. Does what it can: bytes
   that are no bundle stay as they are. */
void reseal(unsigned char *bytes, size_t size);

#endif
