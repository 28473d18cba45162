#!/bin/sh
# Prolog of slurmd, run as root on every node before a job: the kernels of the bundles in a shared folder are compiled once a
# node. Jobs find them with TILEVM_CACHE_LOWER=/var/cache/tilevm-node. A bundle whose kernels are there takes milliseconds;
# one that cannot be loaded keeps no job from running, since nodes whose prolog fails are drained.
BUNDLES=${BUNDLES:-/shared/bundles}
export TILEVM_CACHE_DIR="${TILEVM_CACHE_DIR:-/var/cache/tilevm-node}" TILEVM_IMAGE=cubin
for bundle in "$BUNDLES"/*.tvb; do
    [ -e "$bundle" ] || continue
    tilevm cache warm "$bundle" --device all || logger -t tilevm "$bundle was not loaded on $(uname -n)" || true
done
chmod -R go+rX "$TILEVM_CACHE_DIR" 2> /dev/null
exit 0
