/* Reads keys. This code reads the file, not libcrypto, so that messages can distinguish a missing file from a file
   without a key or with another kind of key. */
#include "loader/bundle/key.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 64 << 10, MOST_PASSPHRASE = 1024 /* PEM_BUFSIZE */, MOST_KEYS = 4096, MOST_PATH = 4096 };

static const char begin[] = "-----BEGIN ";
static const char no_memory[] = "out of memory";

/* ---- files ---- */

/* Reads a file or a pipe to its end, and adds a zero. Returns the problem, or NULL. */
static const char *read_bytes(int fd, char bytes[MOST_BYTES])
{
    size_t size = 0;
    for (ssize_t got; (got = read(fd, bytes + size, MOST_BYTES - size)) != 0;) {
        if (got < 0 && errno != EINTR)
            return strerror(errno);
        size += got > 0 ? (size_t)got : 0;
        if (size == MOST_BYTES)
            return "it is too large to be a key";
    }
    bytes[size] = 0;
    return NULL;
}

/* The text of a file, to be released with forget. NULL: problem says why. */
static char *read_text(const char *path, const char **out_problem)
{
    char *text = malloc(MOST_BYTES);
    int fd = text ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    *out_problem = !text ? no_memory : fd < 0 ? strerror(errno) : read_bytes(fd, text);
    if (fd >= 0)
        close(fd);
    if (!*out_problem)
        return text;
    free(text);
    return NULL;
}

static void forget(char *text)
{
    if (text)
        explicit_bzero(text, MOST_BYTES);
    free(text);
}

/* ---- passphrases ---- */

typedef struct passphrase {
    char text[MOST_PASSPHRASE];
    size_t len;
    bool given, asked;
} passphrase;

/* libcrypto calls this instead of asking on the terminal. */
static int give_passphrase(char *out, int size, int writing, void *user)
{
    passphrase *p = user;
    (void)writing;
    p->asked = true;
    if (!p->given || size < 0 || p->len > (size_t)size)
        return -1;
    memcpy(out, p->text, p->len);
    return (int)p->len;
}

static const char *read_first_line(int fd, passphrase *out)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return strerror(errno);
    if (info.st_mode & (S_IWGRP | S_IRWXO))
        return "more than its owner and group may read it, or more than its owner may write to it; take that away with "
               "chmod g-w,o-rwx";
    size_t size = 0;
    ssize_t got;
    while (size < sizeof out->text && (got = read(fd, out->text + size, sizeof out->text - size)) != 0) {
        if (got < 0 && errno != EINTR)
            return strerror(errno);
        size += got > 0 ? (size_t)got : 0;
    }
    while (out->len < size && !strchr("\r\n", out->text[out->len])) /* ends at a zero, too */
        out->len++;
    if (out->len == sizeof out->text)
        return "its first line is too long";
    out->given = out->len > 0;
    return out->given ? NULL : "its first line is empty";
}

static bool read_passphrase(const char *path, passphrase *out, char problem[LD_CRYPTO_PROBLEM])
{
    *out = (passphrase){.given = false};
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const char *why = !path ? NULL : fd < 0 ? strerror(errno) : read_first_line(fd, out);
    if (fd >= 0)
        close(fd);
    if (why)
        snprintf(problem, LD_CRYPTO_PROBLEM, "the passphrase file %.400s cannot be used: %s", path, why);
    return !why;
}

/* ---- keys ---- */

/* Why libcrypto has no key of that text. */
static const char *explain(const char *text, bool private_key, const passphrase *p)
{
    if (!strstr(text, begin))
        return "it is no PEM file";
    if (strstr(text, "-----BEGIN OPENSSH PRIVATE KEY-----"))
        return "it is a key of OpenSSH; 'openssl genpkey -algorithm ed25519' makes those that sign bundles";
    if (!private_key && strstr(text, "PRIVATE KEY-----"))
        return "it is a private key, and the public half is needed, as 'openssl pkey -pubout' makes it";
    if (private_key && strstr(text, "-----BEGIN PUBLIC KEY-----"))
        return "it is a public key, and the private half is needed to sign";
    if (p->asked)
        return p->given ? "it is encrypted, and the passphrase is not the right one"
                        : "it is encrypted; name the file with its passphrase with --passphrase-file";
    return private_key ? "it has no private key that libcrypto can read"
                       : "it has no public key that libcrypto can read";
}

/* Takes the public half; other keys than Ed25519's have no raw form, one of another size, or no signatures. */
static bool is_ed25519(const ld_crypto *c, void *key, unsigned char public_half[LD_KEY_SIZE])
{
    size_t size = LD_KEY_SIZE;
    void *context = c->EVP_MD_CTX_new();
    bool is = context && c->EVP_PKEY_get_raw_public_key(key, public_half, &size) == 1 && size == LD_KEY_SIZE
              && c->EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1;
    c->EVP_MD_CTX_free(context);
    return is;
}

/* The key of a PEM text. NULL: why is set. */
static void *parse_key(const ld_crypto *c, const char *text, size_t len, bool private_key, passphrase *p,
                       unsigned char public_half[LD_KEY_SIZE], const char **why)
{
    void *bio = c->BIO_new_mem_buf(text, (int)len), *key = NULL;
    if (bio && private_key)
        key = c->PEM_read_bio_PrivateKey(bio, NULL, give_passphrase, p);
    else if (bio)
        key = c->PEM_read_bio_PUBKEY(bio, NULL, give_passphrase, p);
    *why = !bio ? no_memory : !key ? explain(text, private_key, p) : NULL;
    c->BIO_free(bio);
    if (key && !is_ed25519(c, key, public_half)) {
        *why = "it is no Ed25519 key, as 'openssl genpkey -algorithm ed25519' makes it";
        c->EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

static void say(const char *path, const char *why, char problem[LD_CRYPTO_PROBLEM])
{
    snprintf(problem, LD_CRYPTO_PROBLEM, "the key %.600s cannot be used: %s", path, why);
}

bool ld_private_key_read(const ld_crypto *c, const char *path, const char *passphrase_path, ld_private_key *out,
                         char problem[LD_CRYPTO_PROBLEM])
{
    passphrase p;
    const char *why;
    bool ready = read_passphrase(passphrase_path, &p, problem);
    char *text = ready ? read_text(path, &why) : NULL;
    out->handle = text ? parse_key(c, text, strlen(text), true, &p, out->public_half, &why) : NULL;
    if (ready && !out->handle)
        say(path, why, problem);
    forget(text);
    explicit_bzero(&p, sizeof p);
    return out->handle != NULL;
}

/* ---- public keys ---- */

static const char *add_key(ld_public_keys *keys, const unsigned char key[LD_KEY_SIZE])
{
    if (keys->count == MOST_KEYS)
        return "there are too many keys";
    if (keys->count == keys->room) {
        size_t room = keys->room ? 2 * keys->room : 16;
        void *larger = realloc(keys->keys, room * sizeof *keys->keys);
        if (!larger)
            return no_memory;
        keys->keys = larger;
        keys->room = room;
    }
    memcpy(keys->keys[keys->count++], key, LD_KEY_SIZE);
    return NULL;
}

/* Each block of a PEM text must be a key. */
static const char *add_blocks(const ld_crypto *c, const char *text, ld_public_keys *keys)
{
    passphrase none = {.given = false};
    const char *why = NULL, *block = strstr(text, begin);
    for (const char *p = block ? block : text, *next; !why && p; p = next) {
        unsigned char half[LD_KEY_SIZE];
        next = *p ? strstr(p + 1, begin) : NULL;
        void *key = parse_key(c, p, next ? (size_t)(next - p) : strlen(p), false, &none, half, &why);
        if (key)
            why = add_key(keys, half);
        c->EVP_PKEY_free(key);
    }
    return why;
}

static bool add_file(const ld_crypto *c, const char *path, ld_public_keys *keys, char problem[LD_CRYPTO_PROBLEM])
{
    const char *why;
    char *text = read_text(path, &why);
    if (text)
        why = add_blocks(c, text, keys);
    if (why)
        say(path, why, problem);
    forget(text);
    return !why;
}

static bool is_key_name(const char *name)
{
    size_t len = strlen(name);
    return name[0] != '.' && len > 4 && strcmp(name + len - 4, ".pem") == 0;
}

/* The next of a folder's keys, NULL at its end or with errno. */
static const struct dirent *next_key(DIR *folder)
{
    const struct dirent *entry;
    do {
        errno = 0;
        entry = readdir(folder);
    } while (entry && !is_key_name(entry->d_name));
    return entry;
}

static bool add_folder(const ld_crypto *c, const char *path, DIR *folder, ld_public_keys *keys,
                       char problem[LD_CRYPTO_PROBLEM])
{
    char file[MOST_PATH];
    const struct dirent *entry;
    while ((entry = next_key(folder)) != NULL) {
        int len = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (len < 0 || (size_t)len >= sizeof file) {
            say(path, strerror(ENAMETOOLONG), problem);
            return false;
        }
        if (!add_file(c, file, keys, problem))
            return false;
    }
    if (errno || !keys->count)
        say(path, errno ? strerror(errno) : "it is a folder without a file *.pem", problem);
    return !errno && keys->count;
}

bool ld_public_keys_read(const ld_crypto *c, const char *path, ld_public_keys *out, char problem[LD_CRYPTO_PROBLEM])
{
    *out = (ld_public_keys){.count = 0};
    DIR *folder = opendir(path);
    if (!folder && errno != ENOTDIR) {
        say(path, strerror(errno), problem);
        return false;
    }
    bool read = folder ? add_folder(c, path, folder, out, problem) : add_file(c, path, out, problem);
    if (folder)
        closedir(folder);
    return read;
}

bool ld_public_keys_have(const ld_public_keys *keys, const unsigned char key[LD_KEY_SIZE])
{
    for (size_t i = 0; i < keys->count; i++)
        if (memcmp(keys->keys[i], key, LD_KEY_SIZE) == 0)
            return true;
    return false;
}

void ld_public_keys_release(ld_public_keys *keys)
{
    free(keys->keys);
    *keys = (ld_public_keys){.count = 0};
}
