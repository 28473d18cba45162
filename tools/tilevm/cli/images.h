/* What a command is given to work on: a file of bytecode, or one that holds some: a program, a shared library, an
   object, a static archive, a fat binary, a bundle. `app#3` is the third image of app, unless there is a file of that
   name. */
#ifndef TILEVM_TOOLS_CLI_IMAGES_H
#define TILEVM_TOOLS_CLI_IMAGES_H

#include "bytecode/base/arena.h"
#include "container/images.h"
#include "tools/tilevm/cli/cli.h"

/* An image, of Tile IR unless every kind was wanted. */
typedef struct cli_image {
    const char *name; /* in messages: "app: image 3 (sm_90)"; the file's own where that is bytecode */
    unsigned number;  /* from 1, among the file's of its kind */
    co_image found;
} cli_image;

typedef struct cli_images {
    cli_file file;
    const char *path;
    bool inside; /* the file is not bytecode itself, and nothing that only bytecode could be meant by */
    bc_arena arena;
    cli_image *items; /* only those that were asked for */
    size_t count, capacity;
    bool every;     /* what else there is, is wanted, too */
    unsigned found; /* images of Tile IR in the file */
    bc_text other;  /* what else it holds, in words */
    unsigned only;  /* the number after '#'; 0: all */
} cli_images;

/* Reads the file and finds its images, at least one. False: as cli_read; nothing is left to release. */
bool cli_images_open(const char *path, cli_images *out, char **out_error);
/* The same with cubins, PTX and all else that is there: "app: cubin 2 (sm_90)". */
bool cli_images_open_every(const char *path, cli_images *out, char **out_error);
/* As the first, with the message on stderr. */
bool cli_images_open_or_say(const char *path, cli_images *out);
void cli_images_close(cli_images *images);

/* The image's bytes, which may be those of the images' file; released with cli_file_free. NULL, or why there are none;
   the text lives forever. Threads: any. */
const char *cli_image_read(const cli_image *image, cli_file *out);

/* Takes one image out, whose bytes and name no longer need images: the only one; of several the first with that entry,
   if one is named. False: out_error as cli_read gives it. */
bool cli_images_take(cli_images *images, const char *entry, cli_file *out, char **out_error);

/* Takes the only image of a file, saying on stderr why there is none. */
bool cli_read_image_or_say(const char *path, cli_file *out);

/* bundled.c: is the file an archive, as bundles are? */
bool cli_is_zip(tv_str file);
/* Calls visit for the bytecode of each module of a bundle, which lies in the arena; false from visit ends it. Gives
   what is wrong with the file, or NULL. */
const char *cli_bundle_each(tv_str file, bc_arena *arena, co_visit *visit, void *user);

typedef struct cli_module {
    tv_module *module;
    const char *name; /* in messages */
    cli_file file;
    const cli_images *images;
    const cli_image *image;
    tv_sink sink;
} cli_module;
typedef int cli_module_visit(void *user, cli_module *m);
/* Goes through the modules of images that are open. visit gives an exit code, and the worst of them is given; images
   that cannot be read are said on stderr. sink takes what the reader finds; NULL: it is printed. */
int cli_each_image(cli_args *args, const cli_images *images, const tv_sink *sink, cli_module_visit *visit, void *user);

#endif
