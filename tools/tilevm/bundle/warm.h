/* Loading a bundle ahead of those who need it. */
#ifndef TILEVM_TOOLS_BUNDLE_WARM_H
#define TILEVM_TOOLS_BUNDLE_WARM_H

#include "tools/tilevm/cli/cli.h"

/* Loads every kernel on a device, all of them for ordinal -1; prints a line for each, or one document. key: as
   tvBundleOpen takes it. CLI_FAILED: not all could be loaded. */
int bundle_warm(const char *path, const char *key, int ordinal, bool json);

#endif
