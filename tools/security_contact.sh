#!/bin/sh
# Prints SECURITY.md with the paragraph behind its SECURITY_CONTACT comment as the address (mk/owner.mk) wants it.
#
#   security_contact.sh FILE ADDRESS      ADDRESS: empty, a mail address or a URL
set -eu
case $2 in
'') text='The owner has not named an address yet. Use the private vulnerability report of the site that hosts this repository, or
ask the owner for an address without describing the problem in public.' ;;
*) text="Write to <$2>." ;;
esac
TEXT=$text awk '
    /^<!-- SECURITY_CONTACT/ { print; print ENVIRON["TEXT"]; inside = 1; next }
    /^$/ { inside = 0 }
    !inside' "$1"
