#!/bin/sh
# Fills the licence in debian/copyright: LICENSE_NAME of the environment (mk/owner.mk) with the text of the file LICENSE, or a note
# that none has been chosen.
#
#   debian_copyright.sh TEMPLATE
set -eu
if [ -n "${LICENSE_NAME:-}" ]; then
    name=$LICENSE_NAME
    text=$(cat LICENSE)
else
    name=none-yet
    text='The project has not chosen a licence: these packages are for the hosts of who
built them, and are not to be handed on.'
fi
sed "s/@LICENSE@/$name/" "$1"
printf '%s\n' "$text" | sed -e 's/^$/./' -e 's/^/ /'
