# What only the owner of the project decides. Everything that names one of these reads it from this file.

# The licence, as an SPDX expression ("Apache-2.0"), with its text in LICENSE. Empty: none has been chosen.
LICENSE_NAME ?=
# Where vulnerabilities are reported: a mail address, or the URL of a form. Empty: none has been named.
SECURITY_CONTACT ?=
