/* Lines of signatures: checking and making them. */
#include "loader/bundle/signature.h"

#include <stdio.h>
#include <string.h>

enum { SIGNATURE_SIZE = 64, ED25519 = 1087 /* NID_ED25519 */, MOST_LINES = 16 };

/* A line of a signature file. */
typedef struct signed_line {
    unsigned char key[LD_KEY_SIZE], signature[SIGNATURE_SIZE];
} signed_line;

/* ---- lines ---- */

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes the digits of size bytes and what must come after them. */
static bool take_bytes(const char **p, const char *end, unsigned char *out, size_t size, char after)
{
    if ((size_t)(end - *p) < 2 * size + 1)
        return false;
    for (size_t i = 0; i < size; i++, *p += 2) {
        int high = digit((*p)[0]), low = digit((*p)[1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return *(*p)++ == after;
}

/* The line at *p, which is moved on. */
static bool next_line(const char **p, const char *end, signed_line *out)
{
    static const char word[] = "ed25519 ";
    size_t len = sizeof word - 1;
    if ((size_t)(end - *p) < len || memcmp(*p, word, len) != 0)
        return false;
    *p += len;
    return take_bytes(p, end, out->key, LD_KEY_SIZE, ' ') && take_bytes(p, end, out->signature, SIGNATURE_SIZE, '\n');
}

static void put_bytes(const unsigned char *bytes, size_t size, char after, bc_text *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        bc_text_char(out, digits[bytes[i] >> 4]);
        bc_text_char(out, digits[bytes[i] & 15]);
    }
    bc_text_char(out, after);
}

/* ---- signatures ---- */

static bool is_signature(const ld_crypto *c, const signed_line *line, tv_str message)
{
    void *key = c->EVP_PKEY_new_raw_public_key(ED25519, NULL, line->key, LD_KEY_SIZE);
    void *context = c->EVP_MD_CTX_new();
    bool right = key && context && c->EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1
                 && c->EVP_DigestVerify(context, line->signature, SIGNATURE_SIZE, (const unsigned char *)message.ptr,
                                        message.len)
                        == 1;
    c->EVP_MD_CTX_free(context);
    c->EVP_PKEY_free(key);
    return right;
}

static bool fail(char problem[LD_CRYPTO_PROBLEM], const char *text)
{
    snprintf(problem, LD_CRYPTO_PROBLEM, "%s", text);
    return false;
}

/* Checks every line. out_trusted: is one of them by one of the keys, if there are any? */
static bool check_lines(const ld_crypto *c, tv_str lines, tv_str message, const ld_public_keys *keys, bool *out_trusted,
                        char problem[LD_CRYPTO_PROBLEM])
{
    const char *p = lines.ptr, *end = p + lines.len;
    signed_line line;
    *out_trusted = false;
    for (unsigned i = 0; p < end; i++) {
        if (i == MOST_LINES || !next_line(&p, end, &line))
            return fail(problem, "the signature is damaged");
        if (!is_signature(c, &line, message))
            return fail(problem, "the signature is wrong");
        *out_trusted |= keys && ld_public_keys_have(keys, line.key);
    }
    return true;
}

static bool verify(const ld_crypto *c, tv_str lines, tv_str message, const char *keys_path,
                   char problem[LD_CRYPTO_PROBLEM])
{
    ld_public_keys keys;
    bool trusted = false;
    bool right = ld_public_keys_read(c, keys_path, &keys, problem)
                 && check_lines(c, lines, message, &keys, &trusted, problem);
    if (right && !trusted)
        snprintf(problem, LD_CRYPTO_PROBLEM, "%s: %.600s",
                 !lines.len        ? "it is not signed"
                 : keys.count == 1 ? "it is signed, but not with this key"
                                   : "it is signed, but with none of these keys",
                 keys_path);
    ld_public_keys_release(&keys);
    return right && trusted;
}

static bool sign(const ld_crypto *c, void *key, tv_str message, unsigned char out[SIGNATURE_SIZE])
{
    void *context = c->EVP_MD_CTX_new();
    size_t size = SIGNATURE_SIZE;
    bool made = context && c->EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1
                && c->EVP_DigestSign(context, out, &size, (const unsigned char *)message.ptr, message.len) == 1
                && size == SIGNATURE_SIZE;
    c->EVP_MD_CTX_free(context);
    return made;
}

static bool make(const ld_crypto *c, tv_str message, const char *key_path, const char *passphrase_path,
                 bc_text *out_line, char problem[LD_CRYPTO_PROBLEM])
{
    ld_private_key key;
    signed_line line;
    if (!ld_private_key_read(c, key_path, passphrase_path, &key, problem))
        return false;
    bool made = sign(c, key.handle, message, line.signature);
    c->EVP_PKEY_free(key.handle);
    if (!made)
        return fail(problem, "libcrypto cannot make the signature");
    bc_text_puts(out_line, "ed25519 ");
    put_bytes(key.public_half, LD_KEY_SIZE, ' ', out_line);
    put_bytes(line.signature, SIGNATURE_SIZE, '\n', out_line);
    return !out_line->failed || fail(problem, "out of memory");
}

/* ---- the functions: what libcrypto has put into the thread's queue of errors is taken away again, since the program
   may look there for errors of its own ---- */

bool ld_signature_check(tv_str lines, tv_str message, char problem[LD_CRYPTO_PROBLEM])
{
    const ld_crypto *c = ld_crypto_open(problem);
    bool trusted;
    if (!c)
        return false;
    c->ERR_set_mark();
    bool right = check_lines(c, lines, message, NULL, &trusted, problem);
    c->ERR_pop_to_mark();
    return right;
}

bool ld_signature_verify(tv_str lines, tv_str message, const char *keys_path, char problem[LD_CRYPTO_PROBLEM])
{
    const ld_crypto *c = ld_crypto_open(problem);
    if (!c)
        return false;
    c->ERR_set_mark();
    bool right = verify(c, lines, message, keys_path, problem);
    c->ERR_pop_to_mark();
    return right;
}

bool ld_signature_make(tv_str message, const char *key_path, const char *passphrase_path, bc_text *out_line,
                       char problem[LD_CRYPTO_PROBLEM])
{
    const ld_crypto *c = ld_crypto_open(problem);
    if (!c)
        return false;
    c->ERR_set_mark();
    bool made = make(c, message, key_path, passphrase_path, out_line, problem);
    c->ERR_pop_to_mark();
    return made;
}
