/* The page around a document. The document stands in the page as JSON: there it must not end its element or begin a
   comment, so that each '<' in its strings, which are the only place for one, is written as \u003c; and each U+2028 and
   U+2029, which old scripts take for the end of a line, is written so as well. */
#include <string.h>

#include "tools/tilevm/page/page.h"

/* The replacement of the bytes at this place of the document; NULL: they stay. *out_len: how many bytes it replaces. */
static const char *escape_at(const char *p, size_t left, size_t *out_len)
{
    *out_len = 1;
    if (*p == '<')
        return "\\u003c";
    if (left < 3 || memcmp(p, "\xe2\x80", 2) != 0)
        return NULL;
    *out_len = 3;
    return p[2] == '\xa8' ? "\\u2028" : p[2] == '\xa9' ? "\\u2029" : NULL;
}

static void put_document(bc_text *out, tv_str document)
{
    size_t from = 0, len;
    for (size_t i = 0; i < document.len;) {
        const char *escape = escape_at(document.ptr + i, document.len - i, &len);
        if (escape) {
            bc_text_bytes(out, document.ptr + from, i - from);
            bc_text_puts(out, escape);
            from = i + len;
        }
        i += escape ? len : 1;
    }
    bc_text_bytes(out, document.ptr + from, document.len - from);
}

/* The placeholders of the parts in page.html. */
static const char *const places[] = {"@STYLE@\n", "@DOCUMENT@\n", "@SCRIPT@\n"};

static void put_page(bc_text *out, tv_str document)
{
    const char *rest = page_html;
    for (size_t i = 0; i < TV_COUNT(places); i++) {
        const char *place = strstr(rest, places[i]);
        if (!place)
            continue;
        bc_text_bytes(out, rest, (size_t)(place - rest));
        if (i == 1)
            put_document(out, document);
        else
            bc_text_puts(out, i ? page_script : page_style);
        rest = place + strlen(places[i]);
    }
    bc_text_puts(out, rest);
}

/* "k.html" for "dir/k.tbc", in this folder. */
static void put_name(bc_text *out, const char *path)
{
    if (strcmp(path, "-") == 0)
        path = "kernel";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    bc_text_bytes(out, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    bc_text_puts(out, ".html");
}

bool page_print(json_doc *doc, bc_text *out)
{
    bc_text document;
    bc_text_init(&document, NULL);
    bool good = json_finish_line(doc, &document);
    if (good)
        put_page(out, bc_text_get(&document));
    bc_text_release(&document);
    return good && !out->failed;
}

int page_write_file(json_doc *doc, const char *output, const char *path)
{
    bc_text page, name;
    cli_out out;
    bc_text_init(&page, NULL);
    bc_text_init(&name, NULL);
    put_name(&name, path);
    bool fine = page_print(doc, &page) && !name.failed;
    int code = fine ? CLI_OK : cli_error("out of memory");
    if (fine && !cli_out_open(&out, output ? output : name.ptr))
        code = CLI_ERROR;
    if (code == CLI_OK) {
        cli_out_write(&out, page.ptr, page.len);
        code = cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
    }
    bc_text_release(&page);
    bc_text_release(&name);
    return code;
}
