/* Plants single faults in C sources, for mutation testing (README.md).

     plant list SEED COUNT FILE...   draws COUNT of the faults that the files can have (0: all of them): lines of file,
                                     line, number of the fault, the line as it is and as it would be, with tabs between
     plant put NUMBER FILE           writes the file with one fault to standard output

   It reads tokens, not C: comments, strings and directives are left alone, and an operator is what has spaces on both
   sides, as clang-format leaves it. What does not compile is for the caller to find. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/common/files.h"

/* ---- sources ---- */

typedef struct fault {
    size_t file, at, len; /* what goes: len bytes at `at` */
    uint32_t number;      /* among those of the file */
    char *with;           /* what comes instead */
} fault;

typedef struct source {
    char *text, *code; /* code: the text, with spaces for comments and directives, and _ for what is quoted */
    size_t size;
} source;

typedef struct faults {
    fault *items;
    size_t count, capacity;
} faults;

static void *checked(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "plant: out of memory\n");
    exit(2);
}

static void blank(char *code, size_t from, size_t to, char with)
{
    for (size_t i = from; i < to; i++)
        if (code[i] != '\n')
            code[i] = with;
}

/* The end of the comment, literal or directive that starts at `at`, or `at`. */
static size_t skip(const char *text, size_t at, bool line_start)
{
    const char *s = text + at, *end;
    if (s[0] == '/' && s[1] == '*')
        return (end = strstr(s + 2, "*/")) ? (size_t)(end - text) + 2 : at + strlen(s);
    if ((s[0] == '/' && s[1] == '/') || (s[0] == '#' && line_start)) {
        while (*s && (*s != '\n' || s[-1] == '\\'))
            s++;
        return (size_t)(s - text);
    }
    if (s[0] != '"' && s[0] != '\'')
        return at;
    for (end = s + 1; *end && *end != *s; end++)
        end += end[0] == '\\' && end[1];
    return (size_t)(end - text) + (*end != 0);
}

static source read_source(const char *path)
{
    source s = {0};
    s.text = files_read(path, &s.size);
    if (!s.text) {
        fprintf(stderr, "plant: cannot read %s\n", path);
        exit(2);
    }
    s.code = checked(malloc(s.size + 1));
    memcpy(s.code, s.text, s.size);
    s.code[s.size] = 0;
    bool line_start = true;
    for (size_t at = 0; at < s.size;) {
        size_t end = skip(s.text, at, line_start);
        bool quoted = s.text[at] == '"' || s.text[at] == '\'';
        blank(s.code, at, end, quoted ? '_' : ' ');
        line_start = s.text[at] == '\n' || (line_start && isspace((unsigned char)s.text[at]));
        at = end > at ? end : at + 1;
    }
    return s;
}

/* ---- kinds of fault ---- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word_at(const char *code, size_t at)
{
    size_t len = 0;
    if (at && (in_word(code[at - 1]) || code[at - 1] == '.'))
        return 0;
    while (in_word(code[at + len]))
        len++;
    return len;
}

static bool is_word(const char *code, size_t at, const char *word)
{
    size_t len = word_at(code, at);
    return len == strlen(word) && strncmp(code + at, word, len) == 0;
}

/* The place of the bracket that closes the one at `at`, or of a comma before it if one is asked for; 0: there is none.
 */
static size_t closing(const char *code, size_t at, bool comma)
{
    unsigned depth = 0;
    for (size_t i = at; code[i]; i++) {
        if (code[i] == ',' && depth == 1 && comma)
            return i;
        depth += strchr("([{", code[i]) != NULL;
        if (strchr(")]}", code[i]) && --depth == 0)
            return i;
    }
    return 0;
}

static void add(faults *all, fault f)
{
    if (all->count == all->capacity) {
        all->capacity = all->capacity ? 2 * all->capacity : 1024;
        all->items = checked(realloc(all->items, all->capacity * sizeof *all->items));
    }
    bool first = all->count == 0 || all->items[all->count - 1].file != f.file;
    f.number = first ? 0 : all->items[all->count - 1].number + 1;
    all->items[all->count++] = f;
}

static void replace(faults *all, size_t file, size_t at, size_t len, const char *format, ...) TV_PRINTF(5, 6);

static void replace(faults *all, size_t file, size_t at, size_t len, const char *format, ...)
{
    bc_text with;
    va_list args;
    va_start(args, format);
    bc_text_init(&with, NULL);
    bc_text_vprintf(&with, format, args);
    va_end(args);
    add(all, (fault){.file = file, .at = at, .len = len, .with = checked(strdup(with.ptr ? with.ptr : ""))});
    bc_text_release(&with);
}

static const struct {
    const char *from, *to;
} operators[] = {{"<", "<="},  {"<=", "<"},  {">", ">="},    {">=", ">"},   {"==", "!="}, {"!=", "=="}, {"+", "-"},
                 {"-", "+"},   {"*", "/"},   {"/", "*"},     {"%", "/"},    {"<<", ">>"}, {">>", "<<"}, {"&", "|"},
                 {"|", "&"},   {"^", "|"},   {"&&", "||"},   {"||", "&&"},  {"+=", "-="}, {"-=", "+="}, {"*=", "/="},
                 {"|=", "&="}, {"&=", "|="}, {"<<=", ">>="}, {">>=", "<<="}};

static void plant_operator(faults *all, size_t file, const source *s, size_t at)
{
    if (at == 0 || !isspace((unsigned char)s->code[at - 1]))
        return;
    size_t len = strcspn(s->code + at, " \n");
    for (size_t i = 0; i < TV_COUNT(operators); i++)
        if (len == strlen(operators[i].from) && strncmp(s->code + at, operators[i].from, len) == 0)
            replace(all, file, at, len, "%s", operators[i].to);
}

/* 0 becomes 1, 1 becomes 0, others one more; truth becomes falsehood. */
static void plant_constant(faults *all, size_t file, const source *s, size_t at)
{
    size_t len = word_at(s->code, at);
    const char *word = s->code + at;
    char *end;
    if (is_word(s->code, at, "true") || is_word(s->code, at, "false"))
        replace(all, file, at, len, "%s", *word == 't' ? "false" : "true");
    if (!len || !isdigit((unsigned char)*word) || word[len] == '.')
        return;
    unsigned long long value = strtoull(word, &end, 0);
    while (*end && strchr("uUlL", *end))
        end++;
    if (end == word + len && value < 2)
        replace(all, file, at, len, "%llu", 1 - value);
    else if (end == word + len)
        replace(all, file, at, len, "(%.*s + 1)", (int)len, word);
}

static void plant_negation(faults *all, size_t file, const source *s, size_t at)
{
    size_t end = is_word(s->code, at, "if") && s->code[at + 3] == '(' ? closing(s->code, at + 3, false) : 0;
    if (end)
        replace(all, file, at + 4, end - at - 4, "!(%.*s)", (int)(end - at - 4), s->text + at + 4);
}

/* A call that is a statement of its own goes. */
static void plant_dropped_call(faults *all, size_t file, const source *s, size_t at)
{
    size_t len = word_at(s->code, at), before = at;
    size_t end = len && s->code[at + len] == '(' ? closing(s->code, at + len, false) : 0;
    while (before && isspace((unsigned char)s->code[before - 1]))
        before--;
    bool starts = before && before < at
                  && (strchr(";{})", s->code[before - 1]) || (before >= 4 && is_word(s->code, before - 4, "else")));
    if (end && starts && s->code[end + 1] == ';' && s->code[at - 1] == ' ')
        replace(all, file, at, end + 1 - at, "(void)0");
}

/* The first two arguments of a call change places. Functions are defined at the start of a line. */
static void plant_swap(faults *all, size_t file, const source *s, size_t at)
{
    static const char *const others[] = {"if", "for", "while", "switch", "return", "sizeof"};
    size_t len = word_at(s->code, at), line = at;
    for (size_t i = 0; i < TV_COUNT(others); i++)
        if (is_word(s->code, at, others[i]))
            return;
    while (line && s->code[line - 1] != '\n')
        line--;
    size_t open = at + len,
           comma = len && s->code[open] == '(' && s->code[line] == ' ' ? closing(s->code, open, true) : 0;
    if (!comma || s->code[comma] != ',')
        return;
    /* What is between the comma and its successor counts as if a bracket opened there. */
    size_t second = comma + 1, end = second;
    for (unsigned depth = 0; s->code[end] && (depth || !strchr(",)", s->code[end])); end++)
        depth += (unsigned)(strchr("([{", s->code[end]) != NULL) - (unsigned)(strchr(")]}", s->code[end]) != NULL);
    second += strspn(s->code + second, " \n");
    size_t first = open + 1, size = comma - first;
    if (size != end - second || strncmp(s->text + first, s->text + second, size) != 0)
        replace(all, file, first, end - first, "%.*s, %.*s", (int)(end - second), s->text + second, (int)size,
                s->text + first);
}

static void find_faults(faults *all, size_t file, const source *s)
{
    for (size_t at = 0; at < s->size; at++) {
        plant_operator(all, file, s, at);
        plant_constant(all, file, s, at);
        plant_negation(all, file, s, at);
        plant_dropped_call(all, file, s, at);
        plant_swap(all, file, s, at);
    }
}

/* ---- output ---- */

/* Prints from there to the end of the line, and the start of it not. */
static void print_rest(const char *text)
{
    printf("%.*s", (int)strcspn(text, "\n"), text);
}

static void print_fault(const fault *f, const char *path, const source *s)
{
    size_t start = f->at, line = 1;
    while (start && s->text[start - 1] != '\n')
        start--;
    for (size_t i = 0; i < start; i++)
        line += s->text[i] == '\n';
    start += strspn(s->text + start, " ");
    printf("%s\t%zu\t%u\t", path, line, f->number);
    print_rest(s->text + start);
    printf("\t%.*s", (int)(f->at - start), s->text + start);
    for (const char *c = f->with; *c; c++) /* of several lines one */
        if (*c != '\n' || c[1] != ' ')
            putchar(*c == '\n' ? ' ' : *c);
    print_rest(s->text + f->at + f->len);
    putchar('\n');
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (x ^ x >> 31) % below;
}

static void shuffle(faults *all, uint64_t seed)
{
    for (size_t i = all->count; i > 1; i--) {
        size_t other = (size_t)draw(&seed, i);
        fault kept = all->items[i - 1];
        all->items[i - 1] = all->items[other];
        all->items[other] = kept;
    }
}

static int list(uint64_t seed, size_t count, size_t file_count, char **paths)
{
    faults all = {0};
    source *sources = checked(calloc(file_count + 1, sizeof *sources));
    for (size_t i = 0; i < file_count; i++) {
        sources[i] = read_source(paths[i]);
        find_faults(&all, i, &sources[i]);
    }
    size_t shown = count && count < all.count ? count : all.count;
    if (count)
        shuffle(&all, seed);
    for (size_t i = 0; i < shown; i++)
        print_fault(&all.items[i], paths[all.items[i].file], &sources[all.items[i].file]);
    fprintf(stderr, "%zu of %zu faults in %zu files\n", shown, all.count, file_count);
    return 0;
}

static int put(size_t number, const char *path)
{
    faults all = {0};
    source s = read_source(path);
    find_faults(&all, 0, &s);
    if (number >= all.count)
        return 2;
    const fault *f = &all.items[number];
    fwrite(s.text, 1, f->at, stdout);
    fputs(f->with, stdout);
    fwrite(s.text + f->at + f->len, 1, s.size - f->at - f->len, stdout);
    return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    if (argc > 4 && strcmp(argv[1], "list") == 0)
        return list(strtoull(argv[2], NULL, 0), strtoul(argv[3], NULL, 0), (size_t)argc - 4, argv + 4);
    if (argc == 4 && strcmp(argv[1], "put") == 0)
        return put(strtoul(argv[2], NULL, 0), argv[3]);
    fprintf(stderr, "usage: plant list SEED COUNT FILE... | plant put NUMBER FILE\n");
    return 2;
}
