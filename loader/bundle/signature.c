/* Signatures. The library is found once and never closed. */
#include "loader/bundle/signature.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

enum { KEY_SIZE = 32, SIGNATURE_SIZE = 64, ED25519 = 1087 /* NID_ED25519 */, MOST_LINES = 16 };

static const char no_library[] =
    "signatures need OpenSSL's libcrypto.so.3 (or .so.1.1), which is not there: install it "
    "(Debian: libssl3)";
static const char no_key[] = "the key cannot be read: it must be an Ed25519 key in a PEM file, as 'openssl genpkey "
                             "-algorithm ed25519' makes it, and 'openssl pkey -pubout' its public half";
static const char no_memory[] = "out of memory";

typedef struct crypto {
    bool there;
#define CRYPTO(name, result, parameters) result(*name) parameters;
#include "loader/bundle/crypto_api.def"
} crypto;

/* A line of a signature file. */
typedef struct signed_line {
    unsigned char key[KEY_SIZE], signature[SIGNATURE_SIZE];
} signed_line;

/* ---- the library ---- */

static crypto found;

#ifdef TV_LINKED_CRYPTO /* by programs that are to run where there are no libraries */
#define CRYPTO(name, result, parameters) result name parameters;
#include "loader/bundle/crypto_api.def"

static void find_library(void)
{
    found = (crypto){
        .there = true,
#define CRYPTO(name, result, parameters) .name = name,
#include "loader/bundle/crypto_api.def"
    };
}
#else
static void find_library(void)
{
    static const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1"};
    for (size_t i = 0; !found.there && i < TV_COUNT(names); i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL), *symbol;
        if (!library)
            continue;
        found.there = true;
#define CRYPTO(name, result, parameters)             \
    symbol = dlsym(library, #name);                  \
    memcpy(&found.name, &symbol, sizeof found.name); \
    found.there &= symbol != NULL;
#include "loader/bundle/crypto_api.def"
        if (!found.there)
            dlclose(library);
    }
}
#endif

/* NULL: there is none. */
static const crypto *library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_library);
    return found.there ? &found : NULL;
}

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
    return take_bytes(p, end, out->key, KEY_SIZE, ' ') && take_bytes(p, end, out->signature, SIGNATURE_SIZE, '\n');
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

/* ---- keys ---- */

/* A key of a PEM file, NULL if it has none; its public half too. */
static void *read_key(const crypto *c, const char *path, bool private_key, unsigned char public_half[KEY_SIZE])
{
    void *bio = c->BIO_new_file(path, "r"), *key = NULL;
    if (bio && private_key)
        key = c->PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    else if (bio)
        key = c->PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
    if (bio)
        c->BIO_free(bio);
    size_t size = KEY_SIZE;
    if (key && (c->EVP_PKEY_get_raw_public_key(key, public_half, &size) != 1 || size != KEY_SIZE)) {
        c->EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

static bool is_signature(const crypto *c, const signed_line *line, tv_str message)
{
    void *key = c->EVP_PKEY_new_raw_public_key(ED25519, NULL, line->key, KEY_SIZE);
    void *context = c->EVP_MD_CTX_new();
    bool right = key && context && c->EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1
                 && c->EVP_DigestVerify(context, line->signature, SIGNATURE_SIZE, (const unsigned char *)message.ptr,
                                        message.len)
                        == 1;
    c->EVP_MD_CTX_free(context);
    c->EVP_PKEY_free(key);
    return right;
}

/* Checks every line; key NULL: or is content when one is by that key. */
static const char *check_lines(const crypto *c, tv_str lines, tv_str message, const unsigned char *key)
{
    const char *p = lines.ptr, *end = p + lines.len;
    bool by_key = false;
    signed_line line;
    for (unsigned i = 0; p < end; i++) {
        if (i == MOST_LINES || !next_line(&p, end, &line))
            return "the signature is damaged";
        if (!is_signature(c, &line, message))
            return "the signature is wrong";
        by_key |= key && memcmp(line.key, key, KEY_SIZE) == 0;
    }
    return !key || by_key ? NULL : "it is signed, but not with this key";
}

/* ---- the functions ---- */

const char *ld_signature_check(tv_str lines, tv_str message)
{
    const crypto *c = library();
    return c ? check_lines(c, lines, message, NULL) : no_library;
}

const char *ld_signature_verify(tv_str lines, tv_str message, const char *key_path)
{
    const crypto *c = library();
    unsigned char wanted[KEY_SIZE];
    if (!c)
        return no_library;
    void *key = read_key(c, key_path, false, wanted);
    if (!key)
        return no_key;
    c->EVP_PKEY_free(key);
    return lines.len ? check_lines(c, lines, message, wanted) : "it is not signed";
}

const char *ld_signature_make(tv_str message, const char *key_path, bc_text *out_line)
{
    const crypto *c = library();
    if (!c)
        return no_library;
    signed_line line;
    void *key = read_key(c, key_path, true, line.key);
    if (!key)
        return no_key;
    void *context = c->EVP_MD_CTX_new();
    size_t size = SIGNATURE_SIZE;
    bool made = context && c->EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1
                && c->EVP_DigestSign(context, line.signature, &size, (const unsigned char *)message.ptr, message.len)
                       == 1
                && size == SIGNATURE_SIZE;
    c->EVP_MD_CTX_free(context);
    c->EVP_PKEY_free(key);
    if (!made)
        return no_key;
    bc_text_puts(out_line, "ed25519 ");
    put_bytes(line.key, KEY_SIZE, ' ', out_line);
    put_bytes(line.signature, SIGNATURE_SIZE, '\n', out_line);
    return out_line->failed ? no_memory : NULL;
}
