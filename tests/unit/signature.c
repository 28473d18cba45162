/* Keys, signatures and who must have signed. The keys are those of RFC 8032, section 7.1, and made from them. */
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/bundle/trust.h"
#include "tests/unit/test.h"

static const char private_key[] = "-----BEGIN PRIVATE KEY-----\n"
                                  "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                                  "-----END PRIVATE KEY-----\n";
/* the same, by `openssl pkcs8 -topk8`; the passphrase is open-sesame */
static const char encrypted_key[] = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                                    "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiaIH/qBgnt6AICA+gw\n"
                                    "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHDSzn1qnSnhA0xzwRHlY3cEQHdX\n"
                                    "+QfTRLTp3GanbtV6KG+dPaFCF7s5mYXhtk2LVCQ5UtOAE7z9iRQ367Dyid0aq8dH\n"
                                    "dhziFV/OyefQgQ3rLr4=\n"
                                    "-----END ENCRYPTED PRIVATE KEY-----\n";
#define PUBLIC(bytes) "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA" bytes "\n-----END PUBLIC KEY-----\n"
static const char public_key[] = PUBLIC("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
static const char last_byte_differs[] = PUBLIC("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURs=");
static const char other_key[] = PUBLIC("PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=");

static char problem[LD_CRYPTO_PROBLEM];

static void put_file(const char *name, mode_t mode, const char *first, const char *second)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t one = strlen(first), two = strlen(second);
    CHECK(fd >= 0 && write(fd, first, one) == (ssize_t)one && write(fd, second, two) == (ssize_t)two);
    CHECK(fd >= 0 && fchmod(fd, mode) == 0 && close(fd) == 0);
}

static void put_files(void)
{
    put_file("private.pem", 0600, private_key, "");
    put_file("encrypted.pem", 0600, encrypted_key, "");
    put_file("public.pem", 0644, public_key, "");
    put_file("last.pem", 0644, last_byte_differs, "");
    put_file("other.pem", 0644, other_key, "");
    put_file("both.pem", 0644, other_key, public_key);
    put_file("others.pem", 0644, other_key, last_byte_differs);
    put_file("broken.pem", 0644, public_key, "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n");
    put_file("phrase", 0600, "open-sesame\n", "");
    put_file("group", 0640, "open-sesame", "\r\nmore");
    put_file("anybody", 0644, "open-sesame\n", "");
    put_file("wrong", 0600, "open-barley\n", "");
    put_file("empty", 0600, "\n", "open-sesame\n");
    CHECK(mkdir("folder", 0755) == 0 && mkdir("none", 0755) == 0);
    put_file("folder/a.pem", 0644, other_key, "");
    put_file("folder/b.pem", 0644, public_key, "");
    put_file("folder/note", 0644, "no key", "");
    CHECK(symlink("nowhere", "leads-nowhere") == 0);
}

#define CHECK_PROBLEM(words) CHECK_MSG(strstr(problem, words), "%s", problem)

/* ---- keys ---- */

static bool makes(const char *key, const char *passphrase, bc_text *line)
{
    bc_text_init(line, NULL);
    return ld_signature_make(bc_str("message"), key, passphrase, line, problem);
}

/* An encrypted key never asks at the terminal: the passphrase is in a file that nobody else may read. */
static void test_passphrases(void)
{
    static const struct {
        const char *key, *passphrase, *words; /* words: NULL if it signs */
    } cases[] = {
        {"private.pem", NULL, NULL},
        {"private.pem", "phrase", NULL},
        {"encrypted.pem", "phrase", NULL},
        {"encrypted.pem", "group", NULL},
        {"encrypted.pem", NULL, "it is encrypted; name the file with its passphrase with --passphrase-file"},
        {"encrypted.pem", "wrong", "it is encrypted, and the passphrase is not the right one"},
        {"encrypted.pem", "empty", "the passphrase file empty cannot be used: its first line is empty"},
        {"encrypted.pem", "anybody", "more than its owner and group may read it"},
        {"encrypted.pem", "nothere", "the passphrase file nothere cannot be used: No such file"},
        {"nothere.pem", NULL, "the key nothere.pem cannot be used: No such file"},
        {"public.pem", NULL, "it is a public key, and the private half is needed to sign"},
        {"phrase", NULL, "it is no PEM file"},
    };
    bc_text first, line;
    CHECK(makes("private.pem", NULL, &first));
    for (size_t i = 0; i < TV_COUNT(cases); i++) {
        bool made = makes(cases[i].key, cases[i].passphrase, &line);
        CHECK_MSG(made == !cases[i].words, "%zu: %s", i, problem);
        if (made)
            CHECK(bc_str_eq(bc_text_get(&line), bc_text_get(&first)));
        else
            CHECK_PROBLEM(cases[i].words);
        bc_text_release(&line);
    }
    bc_text_release(&first);
}

/* ---- who must have signed ---- */

/* A key is taken for the one that signed only if all of its bytes are. */
static void test_keys(tv_str line)
{
    static const struct {
        const char *keys, *words; /* words: NULL if one of them has signed */
    } cases[] = {
        {"public.pem", NULL},
        {"both.pem", NULL},
        {"folder", NULL},
        {"last.pem", "it is signed, but not with this key: last.pem"},
        {"others.pem", "it is signed, but with none of these keys: others.pem"},
        {"broken.pem", "it has no public key that libcrypto can read"},
        {"private.pem", "it is a private key, and the public half is needed"},
        {"none", "it is a folder without a file *.pem"},
        {"nothere", "the key nothere cannot be used: No such file"},
    };
    for (size_t i = 0; i < TV_COUNT(cases); i++) {
        bool right = ld_signature_verify(line, bc_str("message"), cases[i].keys, problem);
        CHECK_MSG(right == !cases[i].words, "%s: %s", cases[i].keys, problem);
        if (!right && cases[i].words)
            CHECK_PROBLEM(cases[i].words);
    }
    CHECK(!ld_signature_verify(line, bc_str("messagf"), "public.pem", problem));
    CHECK_PROBLEM("the signature is wrong");
    CHECK(!ld_signature_verify(bc_str(""), bc_str("message"), "public.pem", problem));
    CHECK_PROBLEM("it is not signed: public.pem");
}

/* The program, the environment and the machine may each ask for a key, and none overrules another. */
static void test_trust(tv_str line)
{
    static const struct {
        ld_trust trust;
        bool is_signed, without; /* is a bundle loaded that is signed by public.pem; that is not signed? */
    } cases[] = {
        {{NULL, NULL, "nothere"}, true, true},
        {{"", "", "nothere"}, true, true},
        {{"public.pem", NULL, "nothere"}, true, false},
        {{"other.pem", NULL, "nothere"}, false, false},
        {{NULL, "public.pem", "nothere"}, true, false},
        {{NULL, "other.pem", "nothere"}, false, false},
        {{NULL, NULL, "folder"}, true, false},
        {{NULL, NULL, "other.pem"}, false, false},
        {{"public.pem", "folder", "both.pem"}, true, false},
        {{"public.pem", NULL, "other.pem"}, false, false},
        {{"public.pem", "other.pem", "public.pem"}, false, false},
        {{NULL, NULL, "leads-nowhere"}, false, false},
        {{NULL, NULL, "none"}, false, false},
        {{NULL, NULL, "broken.pem"}, false, false},
    };
    for (size_t i = 0; i < TV_COUNT(cases); i++) {
        bool with = ld_trust_check(&cases[i].trust, line, bc_str("message"), problem);
        CHECK_MSG(with == cases[i].is_signed, "%zu: %s", i, problem);
        bool without = ld_trust_check(&cases[i].trust, bc_str(""), bc_str("message"), problem);
        CHECK_MSG(without == cases[i].without, "%zu, not signed: %s", i, problem);
    }
    CHECK(!ld_trust_check(&cases[0].trust, line, bc_str("another message"), problem));
    setenv("TILEVM_BUNDLE_KEY", "a", 1);
    setenv("TILEVM_BUNDLE_TRUST", "b", 1);
    ld_trust asked = ld_trust_of("c");
    CHECK(strcmp(asked.key, "c") == 0 && strcmp(asked.trust, "b") == 0 && asked.policy[0] == '/');
    CHECK(strcmp(ld_trust_of(NULL).key, "a") == 0);
}

/* ---- libcrypto ---- */

/* While there are no file descriptors to open it with, libcrypto is not found; it is as soon as there are. Where it is
   linked, it is there in any case. */
static bool test_shortage(void)
{
    struct rlimit before, short_of;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    short_of = before;
    short_of.rlim_cur = 3;
    CHECK(setrlimit(RLIMIT_NOFILE, &short_of) == 0);
    const ld_crypto *found = ld_crypto_open(problem);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    if (!found) {
        CHECK_PROBLEM("which cannot be loaded: ");
        CHECK_PROBLEM("Too many open files");
    }
    return ld_crypto_open(problem) != NULL;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

int main(void)
{
    char folder[] = "/tmp/tilevm-signature-XXXXXX";
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    put_files();
    if (test_shortage()) {
        bc_text line;
        test_passphrases();
        CHECK(makes("private.pem", NULL, &line));
        test_keys(bc_text_get(&line));
        test_trust(bc_text_get(&line));
        bc_text_release(&line);
    } else {
        printf("signatures: skipped, libcrypto cannot be loaded\n");
    }
    CHECK(chdir("/") == 0 && nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
    return TEST_END("signature unit");
}
