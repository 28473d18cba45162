/* ar archives: a header of 60 characters before each member, which begins at an even place. */
#include "container/archive.h"

#include <string.h>

#include "container/bytes.h"

enum { MAGIC_SIZE = 8, HEADER_SIZE = 60, NAME_SIZE = 16, SIZE_AT = 48, SIZE_SIZE = 10, END_AT = 58 };

static bool begins(tv_str text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.ptr, with, len) == 0;
}

bool co_is_archive(tv_str file)
{
    return begins(file, "!<arch>\n");
}

bool co_is_thin_archive(tv_str file)
{
    return begins(file, "!<thin>\n");
}

void co_archive_open(tv_str file, co_archive *out)
{
    *out = (co_archive){.file = file, .at = MAGIC_SIZE};
}

/* Digits up to a blank; nothing else. */
static bool decimal(tv_str text, uint64_t *out)
{
    size_t i = 0;
    *out = 0;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
        *out = *out * 10 + (uint64_t)(text.ptr[i] - '0'); /* 15 digits at most */
    return i > 0 && (i == text.len || text.ptr[i] == ' ');
}

static tv_str up_to(tv_str text, char end)
{
    const char *found = text.len ? memchr(text.ptr, end, text.len) : NULL;
    return found ? (tv_str){text.ptr, (size_t)(found - text.ptr)} : text;
}

/* "name/" of System V, "name   " of BSD, "/123": in the table of names, "#1/12": the first 12 bytes of the member. */
static bool name_member(const co_archive *archive, tv_str field, co_member *out)
{
    uint64_t number;
    if (begins(field, "#1/")) {
        if (!decimal((tv_str){field.ptr + 3, field.len - 3}, &number) || number > out->bytes.len)
            return false;
        out->name = up_to((tv_str){out->bytes.ptr, (size_t)number}, 0);
        out->bytes = (tv_str){out->bytes.ptr + number, out->bytes.len - (size_t)number};
        return true;
    }
    if (field.ptr[0] == '/') {
        if (!decimal((tv_str){field.ptr + 1, field.len - 1}, &number) || number >= archive->long_names.len)
            return false;
        field = up_to((tv_str){archive->long_names.ptr + number, archive->long_names.len - (size_t)number}, '\n');
    }
    field = up_to(field, '/');
    while (field.len && field.ptr[field.len - 1] == ' ')
        field.len--;
    out->name = field;
    return true;
}

/* Tables: "/" and "/SYM64/" of symbols, "__.SYMDEF" and its like of symbols, "//" of names. */
static bool is_symbols(tv_str field)
{
    return begins(field, "/ ") || begins(field, "/SYM64/") || begins(field, "__.SYMDEF");
}

bool co_archive_next(co_archive *archive, co_member *out, const char **out_problem)
{
    *out_problem = NULL;
    for (uint64_t size; archive->at < archive->file.len;) {
        const char *h = archive->file.ptr + archive->at;
        *out_problem = "the archive is damaged: the header of a member is malformed";
        if (!co_inside(archive->file, archive->at, HEADER_SIZE) || memcmp(h + END_AT, "`\n", 2) != 0
            || !decimal((tv_str){h + SIZE_AT, SIZE_SIZE}, &size))
            return false;
        archive->at += HEADER_SIZE;
        *out_problem = "the archive is damaged: a member extends past its end";
        if (!co_inside(archive->file, archive->at, size))
            return false;
        tv_str field = {h, NAME_SIZE};
        out->bytes = (tv_str){archive->file.ptr + archive->at, (size_t)size};
        archive->at += (size_t)size;
        archive->at += archive->at & 1 & (archive->at < archive->file.len);
        *out_problem = NULL;
        if (begins(field, "// ")) {
            archive->long_names = out->bytes;
            continue;
        }
        if (is_symbols(field))
            continue;
        if (!name_member(archive, field, out)) {
            *out_problem = "the archive is damaged: the name of a member is missing";
            return false;
        }
        if (!is_symbols(out->name))
            return true;
    }
    return false;
}
