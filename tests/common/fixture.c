/* Fixture files: parsing, and writing them back with other expectations. */
#include "tests/common/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/files.h"

static bool fail(fixture *f, const char *what, const char *detail, size_t detail_len)
{
    snprintf(f->error, sizeof f->error, "%s%.*s", what, (int)(detail_len < 80 ? detail_len : 80), detail);
    return false;
}

static bool starts(const char *line, size_t len, const char *prefix)
{
    size_t n = strlen(prefix);
    return len >= n && memcmp(line, prefix, n) == 0;
}

/* The next word of a line in [*p, end); spaces inside quotes stay, quotes go. False at the end of the line. */
static bool next_word(const char **p, const char *end, char *out, size_t out_size)
{
    while (*p < end && **p == ' ')
        ++*p;
    if (*p == end)
        return false;
    size_t len = 0;
    char quote = 0;
    for (; *p < end && (quote || **p != ' '); ++*p) {
        char c = **p;
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
        else if (len + 1 < out_size)
            out[len++] = c;
    }
    out[len] = 0;
    return true;
}

bool fixture_split(const char *line, size_t len, fixture_run *run)
{
    char word[512];
    const char *p = line, *end = line + len;
    run->exit_code = -1;
    while (next_word(&p, end, word, sizeof word)) {
        if (strcmp(word, "EXPECT") == 0) {
            if (!next_word(&p, end, word, sizeof word))
                return false;
            run->exit_code = atoi(word);
            break;
        }
        if (run->arg_count == FIXTURE_MAX_ARGS - 1)
            return false;
        if (!(run->args[run->arg_count] = strdup(word)))
            return false;
        run->arg_count++;
    }
    return !next_word(&p, end, word, sizeof word);
}

static bool parse_head_line(fixture *f, const char *line, size_t len)
{
    if (starts(line, len, "# WHY ")) {
        f->has_why = true;
    } else if (starts(line, len, "# RUN ")) {
        if (f->run_count == FIXTURE_MAX_RUNS)
            return fail(f, "too many RUN lines", "", 0);
        fixture_run *run = &f->runs[f->run_count++];
        if (!fixture_split(line + 6, len - 6, run))
            return fail(f, "cannot understand ", line, len);
    } else if (len && line[0] != '#') {
        return fail(f, "expected a line with # or ---, found: ", line, len);
    }
    return true;
}

static bool is_kind(const char *word)
{
    static const char *const kinds[] = {"input",  "bytes", "stdin", "output", "stdout",
                                        "stderr", "bad",   "good",  "report"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(word, kinds[i]) == 0)
            return true;
    return false;
}

static bool parse_section_line(fixture *f, const char *line, size_t len)
{
    if (f->section_count == FIXTURE_MAX_SECTIONS)
        return fail(f, "too many sections", "", 0);
    fixture_section *s = &f->sections[f->section_count++];
    const char *p = line + 4, *end = line + len;
    s->exit_code = -1;
    if (!next_word(&p, end, s->kind, sizeof s->kind) || !is_kind(s->kind))
        return fail(f, "unknown section: ", line, len);
    s->is_bytes = strcmp(s->kind, "bytes") == 0;
    char word[256];
    while (next_word(&p, end, word, sizeof word)) {
        if (strcmp(word, "bytes") == 0)
            s->is_bytes = true;
        else if (strncmp(word, "to=", 3) == 0)
            snprintf(s->to, sizeof s->to, "%.15s", word + 3);
        else if (strncmp(word, "flags=", 6) == 0)
            snprintf(s->flags, sizeof s->flags, "%s", word + 6);
        else if (strncmp(word, "exit=", 5) == 0)
            s->exit_code = atoi(word + 5);
        else if (!s->name[0] && !strchr(word, '='))
            snprintf(s->name, sizeof s->name, "%.63s", word);
        else
            return fail(f, "unknown word in: ", line, len);
    }
    return true;
}

bool fixture_open(const char *path, fixture *f)
{
    memset(f, 0, sizeof *f);
    f->text = files_read(path, &f->size);
    if (!f->text)
        return fail(f, "cannot be read", "", 0);
    const char *end = f->text + f->size;
    for (const char *line = f->text, *next; line < end; line = next) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((newline ? newline : end) - line);
        next = newline ? newline + 1 : end;
        if (starts(line, len, "--- ")) {
            if (!parse_section_line(f, line, len))
                return false;
            f->sections[f->section_count - 1].text = next;
        } else if (f->section_count) {
            fixture_section *s = &f->sections[f->section_count - 1];
            s->len = (size_t)(next - s->text);
        } else if (!parse_head_line(f, line, len)) {
            return false;
        } else {
            f->head_len = (size_t)(next - f->text);
        }
    }
    if (!f->has_why)
        return fail(f, "no line '# WHY ...' that says what it is for", "", 0);
    return true;
}

void fixture_release(fixture *f)
{
    for (int i = 0; i < f->run_count; i++)
        for (int k = 0; k < f->runs[i].arg_count; k++)
            free(f->runs[i].args[k]);
    for (int i = 0; i < f->section_count; i++)
        free(f->sections[i].replacement);
    free(f->text);
    memset(f, 0, sizeof *f);
}

int fixture_find(const fixture *f, const char *kind, int from)
{
    for (int i = from; i < f->section_count; i++)
        if (strcmp(f->sections[i].kind, kind) == 0)
            return i;
    return -1;
}

bool fixture_replace(fixture *f, int section, const char *kind, int at, const char *text)
{
    if (section < 0) {
        if (f->section_count == FIXTURE_MAX_SECTIONS)
            return false;
        memmove(&f->sections[at + 1], &f->sections[at], (size_t)(f->section_count - at) * sizeof f->sections[0]);
        f->section_count++;
        section = at;
        f->sections[at] = (fixture_section){.exit_code = -1, .text = ""};
        snprintf(f->sections[at].kind, sizeof f->sections[at].kind, "%s", kind);
    }
    free(f->sections[section].replacement);
    f->sections[section].replacement = strdup(text);
    return f->sections[section].replacement != NULL;
}

bool fixture_save(const fixture *f, const char *path)
{
    FILE *out = fopen(path, "wbe");
    if (!out)
        return false;
    fwrite(f->text, 1, f->head_len, out);
    for (int i = 0; i < f->section_count; i++) {
        const fixture_section *s = &f->sections[i];
        fprintf(out, "--- %s", s->kind);
        if (s->is_bytes && strcmp(s->kind, "bytes") != 0)
            fputs(" bytes", out);
        if (s->name[0])
            fprintf(out, " %s", s->name);
        if (s->to[0])
            fprintf(out, " to=%s", s->to);
        if (s->flags[0])
            fprintf(out, strchr(s->flags, ' ') ? " flags=\"%s\"" : " flags=%s", s->flags);
        if (s->exit_code >= 0)
            fprintf(out, " exit=%d", s->exit_code);
        fputc('\n', out);
        fwrite(s->replacement ? s->replacement : s->text, 1, s->replacement ? strlen(s->replacement) : s->len, out);
    }
    return fclose(out) == 0;
}
