/* Adding a signature: the members stay where they are, the signature comes after the last of them, and the directory is
   written anew. */
#include <string.h>

#include "bytecode/rules.h"
#include "loader/bundle/signature.h"
#include "tools/tilevm/bundle/bundle.h"
#include "tools/tilevm/cli/deflate.h"

/* The members of a bundle but its signature; where they end. */
static uint64_t members_of(const ld_bundle *bundle, bc_text *before, bc_text *after, uint64_t *out_count)
{
    const unsigned char *directory = bundle->bytes + bundle->directory.at;
    uint64_t end = bundle->directory.at;
    size_t at = 0;
    bc_zip_member m;
    *out_count = 0;
    while (bc_zip_next(directory, (size_t)bundle->directory.size, &at, &m)) {
        if (bc_str_is(m.name, LD_BUNDLE_SIGNATURE))
            end = m.local;
        else
            bc_zip_put_entry(++*out_count <= 3 ? before : after, &m);
    }
    return end;
}

/* The lines of all who signed before, but for the same key, and the new one. */
static void merge_lines(tv_str old, const bc_text *line, bc_text *out)
{
    enum { KEY_END = 8 + 64 }; /* "ed25519 " and the key */
    for (const char *p = old.ptr, *end = p + old.len; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t len = stop ? (size_t)(stop - p) + 1 : (size_t)(end - p);
        if (len < KEY_END || line->len < KEY_END || memcmp(p, line->ptr, KEY_END) != 0)
            bc_text_bytes(out, p, len);
        p += len;
    }
    bc_text_str(out, bc_text_get(line));
}

static bool put_signed(const ld_bundle *bundle, const bc_text *lines, bc_text *out)
{
    bc_text before, after;
    uint64_t count;
    bc_text_init(&before, NULL);
    bc_text_init(&after, NULL);
    uint64_t end = members_of(bundle, &before, &after, &count);
    bc_zip_member m = {.name = bc_str(LD_BUNDLE_SIGNATURE),
                       .method = BC_ZIP_STORED,
                       .crc = deflate_crc(bc_text_get(lines)),
                       .packed = lines->len,
                       .size = lines->len,
                       .local = end};
    bc_zip_put_entry(&before, &m);
    bc_text_bytes(out, bundle->bytes, (size_t)end);
    bc_zip_put_local(out, &m);
    bc_text_str(out, bc_text_get(lines));
    uint64_t at = out->len;
    bc_text_str(out, bc_text_get(&before));
    bc_text_str(out, bc_text_get(&after));
    bc_zip_put_end(out, count + 1, before.len + after.len, at);
    bool fine = !before.failed && !after.failed && !out->failed;
    bc_text_release(&before);
    bc_text_release(&after);
    return fine;
}

static int write_signed(const char *path, const ld_bundle *bundle, const bc_text *line)
{
    bc_text lines, bytes;
    cli_out out;
    bc_text_init(&lines, NULL);
    bc_text_init(&bytes, NULL);
    merge_lines(bundle->signature, line, &lines);
    int code = !lines.failed && put_signed(bundle, &lines, &bytes) ? CLI_OK : cli_error("out of memory");
    if (code == CLI_OK && cli_out_open(&out, path)) {
        cli_out_write(&out, bytes.ptr, bytes.len);
        code = cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
    } else {
        code = CLI_ERROR;
    }
    bc_text_release(&lines);
    bc_text_release(&bytes);
    return code;
}

static int sign(const bundle_request *request, const char *output, ld_bundle *bundle)
{
    char problem[LD_CRYPTO_PROBLEM];
    int code = bundle_check_opened(request->paths[0], bundle); /* what is damaged is not signed */
    if (code != CLI_OK)
        return code;
    bc_text line;
    bc_text_init(&line, NULL);
    if (ld_signature_make(bundle->seal_text, request->key, request->passphrase_file, &line, problem))
        code = write_signed(output, bundle, &line);
    else
        code = cli_error("[%s] %s", bc_rules[BC_RULE_L_BUNDLE_02].id, problem);
    bc_text_release(&line);
    return code;
}

/* The file is read once, so that what is signed is what was checked. */
int bundle_action_sign(const bundle_request *request)
{
    const char *path = request->paths[0], *output = request->output ? request->output : path;
    cli_file file = {0};
    ld_bundle bundle;
    if (!cli_read_or_say(path, &file))
        return CLI_ERROR;
    const char *problem = ld_bundle_open_bytes(file.bytes, file.size, &bundle);
    int code = problem ? bundle_say_damaged(path, "", problem) : sign(request, output, &bundle);
    ld_bundle_close(&bundle);
    cli_file_free(&file);
    if (code == CLI_OK)
        cli_print(stdout, "%s: signed\n", output);
    return code;
}
