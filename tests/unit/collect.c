/* Finding bytecode in folders. */
#include "tools/tilevm/cli/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"

static char root[] = "/tmp/tilevm-collect-XXXXXX";

static const char *at(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s%s%s", root, name[0] ? "/" : "", name);
    return path;
}

static void put(const char *name, const char *bytes, size_t size)
{
    FILE *f = fopen(at(name), "wb");
    CHECK(f != NULL);
    if (f) {
        CHECK(fwrite(bytes, 1, size, f) == size);
        fclose(f);
    }
}

/* What is found below `name`, without the root and with spaces between. */
static const char *found(const char *name, bool *out_failed)
{
    static char text[1024];
    cli_paths paths;
    cli_paths_init(&paths);
    cli_paths_add(&paths, at(name));
    text[0] = 0;
    for (size_t i = 0; i < paths.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                 paths.items[i] + (strncmp(paths.items[i], root, strlen(root)) == 0 ? strlen(root) + 1 : 0));
    *out_failed = paths.failed;
    cli_paths_release(&paths);
    return text;
}

static void make_tree(void)
{
    static const char magic[] = "\x7fTileIR\0rest";
    CHECK(mkdtemp(root) != NULL);
    CHECK(mkdir(at("sub"), 0777) == 0);
    CHECK(mkdir(at("sub/deep"), 0777) == 0);
    CHECK(mkdir(at("empty"), 0777) == 0);
    put("b.tbc", "x", 1);
    put("a.tileirbc", "", 0);
    put("kernel", magic, sizeof magic);
    put("short", magic, 7);
    put("text.txt", "some text", 9);
    put("llvm.bc", "BC\xc0\xde....", 8);
    put(".tbc", "x", 1); /* a name, not an ending */
    put("sub/z.cutile", "x", 1);
    put("sub/deep/k.tilebc", "x", 1);
    CHECK(symlink("../sub", at("sub/loop")) == 0);
    CHECK(symlink("../b.tbc", at("sub/link.tbc")) == 0);
    CHECK(symlink("nowhere", at("sub/dangling.tbc")) == 0);
}

static void remove_tree(void)
{
    static const char *const names[] = {"sub/dangling.tbc",
                                        "sub/link.tbc",
                                        "sub/loop",
                                        "sub/deep/k.tilebc",
                                        "sub/z.cutile",
                                        ".tbc",
                                        "llvm.bc",
                                        "text.txt",
                                        "short",
                                        "kernel",
                                        "a.tileirbc",
                                        "b.tbc",
                                        "sub/deep",
                                        "sub",
                                        "empty",
                                        ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK_MSG(remove(at(names[i])) == 0, "%s", names[i]);
}

int main(void)
{
    bool failed;
    make_tree();
    const char *all = found("", &failed);
    CHECK_MSG(strcmp(all, "a.tileirbc b.tbc kernel sub/deep/k.tilebc sub/link.tbc sub/z.cutile") == 0 && !failed, "%s",
              all);
    CHECK(strcmp(found("sub/deep", &failed), "sub/deep/k.tilebc") == 0 && !failed);
    CHECK(strcmp(found("sub/loop", &failed), "sub/loop/deep/k.tilebc sub/loop/link.tbc sub/loop/z.cutile") == 0
          && !failed);
    CHECK(strcmp(found("empty", &failed), "") == 0 && failed);
    CHECK(strcmp(found("text.txt", &failed), "text.txt") == 0 && !failed); /* a file is taken as it is */
    CHECK(strcmp(found("missing", &failed), "missing") == 0 && !failed);   /* and reported when it is read */
    remove_tree();
    return TEST_END("collect");
}
