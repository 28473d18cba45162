/* Reading whole files, and writing files that appear whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytecode/base/visible.h"
#include "tools/tilevm/cli/cli.h"

const char *cli_file_name(const cli_file *file, const char *path)
{
    return file->name ? file->name : path;
}

bool cli_is_bytecode(const void *bytes, size_t size)
{
    static const unsigned char magic[8] = {0x7f, 'T', 'i', 'l', 'e', 'I', 'R', 0};
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* ---- reading ---- */

bool cli_problem(const char *path, const char *what, char **out_error)
{
    if (!out_error)
        return false;
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_visible(&text, bc_str(cli_shown_path(path)), ""); /* a newline in a name begins no line of its own */
    bc_text_printf(&text, ": %s", what);
    if (text.failed)
        bc_text_release(&text);
    *out_error = text.ptr; /* the default allocator is malloc */
    return false;
}

/* Room to start with: the size of a regular file and one byte more, so that its end is seen without growing. */
static size_t first_capacity(int fd)
{
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 0 && (uint64_t)info.st_size < CLI_MAX_FILE)
        return (size_t)info.st_size + 2;
    return 65536;
}

/* Gives NULL or what went wrong. */
static const char *read_all(int fd, cli_file *out)
{
    size_t capacity = first_capacity(fd), size = 0;
    unsigned char *bytes = malloc(capacity);
    const char *problem = bytes ? NULL : "out of memory";
    while (!problem) {
        ssize_t count = read(fd, bytes + size, capacity - 1 - size);
        if (count == 0)
            break;
        if (count < 0) {
            if (errno != EINTR)
                problem = cli_errno();
            continue;
        }
        size += (size_t)count;
        if (size < capacity - 1)
            continue;
        if (capacity > CLI_MAX_FILE) {
            problem = "larger than 1 GiB";
        } else {
            capacity = capacity < CLI_MAX_FILE / 2 ? capacity * 2 : CLI_MAX_FILE + 2;
            unsigned char *larger = realloc(bytes, capacity);
            if (!larger)
                problem = "out of memory";
            else
                bytes = larger;
        }
    }
    if (problem) {
        free(bytes);
        return problem;
    }
    bytes[size] = 0;
    *out = (cli_file){.bytes = bytes, .size = size};
    return NULL;
}

bool cli_read(const char *path, cli_file *out, char **out_error)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cli_problem(path, cli_errno(), out_error);
    const char *problem = read_all(fd, out);
    if (!standard)
        close(fd);
    return problem ? cli_problem(path, problem, out_error) : true;
}

bool cli_say_problem(char *problem)
{
    cli_error("%s", problem ? problem : "out of memory");
    free(problem);
    return false;
}

bool cli_read_or_say(const char *path, cli_file *out)
{
    char *error = NULL;
    return cli_read(path, out, &error) || cli_say_problem(error);
}

void cli_file_free(cli_file *file)
{
    if (!file->borrowed)
        free(file->bytes);
    free(file->name);
    *file = (cli_file){0};
}

/* ---- writing ---- */

/* What mkstemp, which makes files private, does not give: the permissions of the file that is replaced, or those that
   open would have given a new one. */
static mode_t new_mode(const struct stat *replaced)
{
    if (replaced)
        return replaced->st_mode & 0777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* A name beside the final one, so that the rename stays on one file system. */
static bool open_temporary(cli_out *out, mode_t mode)
{
    bc_text name;
    bc_text_init(&name, NULL);
    bc_text_printf(&name, "%s.XXXXXX", out->path);
    out->temporary = name.ptr;
    int fd = name.failed ? -1 : mkstemp(out->temporary);
    if (fd < 0) {
        errno = name.failed ? ENOMEM : errno;
        free(out->temporary);
        out->temporary = NULL;
        return false;
    }
    fchmod(fd, mode);
    out->file = fdopen(fd, "wb");
    if (!out->file)
        close(fd);
    return out->file != NULL;
}

/* Even root is refused what has no permission to be written: somebody meant it to stay. */
const char *cli_out_refusal(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return lstat(path, &info) == 0 && S_ISLNK(info.st_mode) ? "it is a link to a missing file" : NULL;
    bool writable = !S_ISREG(info.st_mode) || ((info.st_mode & 0222) && access(path, W_OK) == 0);
    return writable ? NULL : "it is read-only";
}

/* Links stay; the file that they lead to is replaced. Owned by the caller; NULL with errno. */
static char *real_name(const char *path)
{
    struct stat info;
    bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    return is_link ? realpath(path, NULL) : strdup(path);
}

bool cli_out_open(cli_out *out, const char *path)
{
    *out = (cli_out){0};
    if (!path || strcmp(path, "-") == 0) {
        out->file = stdout;
        return true;
    }
    const char *refusal = cli_out_refusal(path);
    struct stat info;
    bool exists = stat(path, &info) == 0;
    out->path = refusal ? NULL : real_name(path);
    if (out->path && (!exists || S_ISREG(info.st_mode)))
        open_temporary(out, new_mode(exists ? &info : NULL));
    else if (out->path)
        out->file = fopen(path, "wb");
    if (out->file)
        return true;
    cli_error("%s: cannot write: %s", path, refusal ? refusal : cli_errno());
    cli_out_abort(out);
    return false;
}

void cli_out_text(cli_out *out, bc_text *text, bool color)
{
    if (text->failed)
        cli_out_fail(out, ENOMEM);
    else
        cli_out_show(out, bc_text_get(text), color);
    bc_text_release(text);
}

static bool write_callback(void *user, const void *bytes, size_t size)
{
    cli_out *out = user;
    cli_out_write(out, bytes, size);
    return !out->failed;
}

tv_writer cli_out_writer(cli_out *out)
{
    return (tv_writer){.user = out, .write = write_callback};
}

bool cli_out_commit(cli_out *out)
{
    if (fflush(out->file) != 0)
        cli_out_fail(out, errno);
    if (out->path && fclose(out->file) != 0)
        cli_out_fail(out, errno);
    if (out->path)
        out->file = NULL;
    if (!out->failed && out->temporary && rename(out->temporary, out->path) != 0)
        cli_out_fail(out, errno);
    if (out->failed) {
        errno = out->error;
        cli_error("%s: cannot write: %s",
                  out->path             ? out->path
                  : out->file == stderr ? "<stderr>"
                                        : "<stdout>",
                  cli_errno());
        cli_out_abort(out);
        return false;
    }
    free(out->path);
    free(out->temporary);
    *out = (cli_out){0};
    return true;
}

void cli_out_abort(cli_out *out)
{
    if (out->file && out->path)
        fclose(out->file);
    if (out->temporary)
        unlink(out->temporary);
    free(out->path);
    free(out->temporary);
    *out = (cli_out){0};
}
