/* A sink that keeps the last finding as text. Included by one file of a test each. */
#ifndef TILEVM_TESTS_UNIT_SAID_H
#define TILEVM_TESTS_UNIT_SAID_H

#include <stdio.h>

#include "tilevm/tilevm.h"

static char said[400];

static void note(void *user, const tv_diag *d)
{
    (void)user;
    snprintf(said, sizeof said, "%s %.*s", d->rule, (int)d->message.len, d->message.ptr);
}

static const tv_sink sink = {.report = note};

#endif
