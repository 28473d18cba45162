/* Unified differences. */
#include "tools/tilevm/diff/unified.h"

#include <string.h>

#include "tests/unit/test.h"

static bool gives(const char *a, const char *b, const char *expected)
{
    bc_text out;
    bool same = false;
    bc_text_init(&out, NULL);
    bool ok = unified_diff(&out, "a", bc_str(a), "b", bc_str(b), false, &same);
    ok = ok && same == (strcmp(a, b) == 0) && bc_str_is(bc_text_get(&out), expected);
    if (!ok)
        fprintf(stderr, "%s", out.ptr ? out.ptr : "(nothing)\n");
    bc_text_release(&out);
    return ok;
}

int main(void)
{
    CHECK(gives("", "", ""));
    CHECK(gives("x\n", "x\n", ""));
    CHECK(gives("", "x\n", "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n"));
    CHECK(gives("x\ny\n", "", "--- a\n+++ b\n@@ -1,2 +0,0 @@\n-x\n-y\n"));
    CHECK(gives("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
                "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"));
    /* six lines between two changes: one hunk; seven: two */
    CHECK(gives("a\n1\n2\n3\n4\n5\n6\nb\n", "1\n2\n3\n4\n5\n6\n",
                "--- a\n+++ b\n@@ -1,8 +1,6 @@\n-a\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n"));
    CHECK(gives("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "1\n2\n3\n4\n5\n6\n7\n",
                "--- a\n+++ b\n@@ -1,4 +1,3 @@\n-a\n 1\n 2\n 3\n@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-b\n"));
    /* what is added inside a run of the other side */
    CHECK(gives("1\n2\n3\n4\n", "1\n2\nx\n3\n4\n", "--- a\n+++ b\n@@ -1,4 +1,5 @@\n 1\n 2\n+x\n 3\n 4\n"));
    return TEST_END("unified");
}
