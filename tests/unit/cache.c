/* The disk cache as files: what is taken, what is refused and why, what is removed. The loader around it is tested by
   tests/runners/loader_faults.c. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "bytecode/base/text.h"
#include "loader/cache_entry.h"
#include "loader/folder.h"
#include "loader/sha256.h"
#include "tests/common/files.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm_cuda.h"

enum { HEADER = 72, CHECKED = 40, RATIO = 1040, FORGED_PACKED = 2 << 20 };
#define LARGEST ((uint64_t)1 << 30)
#define FORGED "ab/00000000000000000000000000000000000000000000000000000000000000.tvk"

static char folder[] = "/tmp/tilevm-cache-XXXXXX";
static char message[2000]; /* the last one */
static time_t started;

static void hear(void *user, int severity, const char *text)
{
    (void)user;
    (void)severity;
    snprintf(message, sizeof message, "%s", text);
}

static ld_cache cache_of(uint64_t limit)
{
    static char path[] = "cache";
    return (ld_cache){.path = path, .limit = limit};
}

/* ---- looking ---- */

typedef struct seen {
    size_t files, sound;
    char problem[200], names[4000]; /* of the last one; of all, a blank behind each */
} seen;

static void see(void *user, const ld_cache_info *info)
{
    seen *s = user;
    size_t len = strlen(s->names);
    s->files++;
    s->sound += info->entry != NULL;
    snprintf(s->problem, sizeof s->problem, "%s", info->problem ? info->problem : "");
    snprintf(s->names + len, sizeof s->names - len, "%s ", info->name);
}

static seen look(bool contents)
{
    seen s = {0};
    ld_cache cache = cache_of(LARGEST);
    CHECK(ld_cache_visit(&cache, contents, see, &s) == NULL);
    return s;
}

static void clear(void)
{
    ld_cache_removed removed;
    ld_cache cache = cache_of(LARGEST);
    CHECK(ld_cache_prune(&cache, 0, &removed) == NULL);
    CHECK(look(false).files == 0);
}

static void path_of(const ld_cache_key *key, char *out, size_t size)
{
    char id[LD_CACHE_ID];
    ld_cache_key_id(key, id);
    snprintf(out, size, "cache/%.2s/%s.tvk", id, id + 2);
}

static uint64_t bytes_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

/* Sets when a file was used last, in seconds before the start: two of an age are equally old. */
static void age(const char *path, int64_t seconds)
{
    struct timespec then = {.tv_sec = started - seconds};
    CHECK(utimensat(AT_FDCWD, path, (struct timespec[]){then, then}, 0) == 0);
}

static int64_t age_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? time(NULL) - info.st_mtime : -1;
}

/* ---- files that nobody wrote ---- */

typedef struct forged {
    uint64_t head, records, bytecode, image; /* as the header has them */
} forged;

static void put(unsigned char *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (unsigned char)(value >> (8 * i));
}

/* A file with a header of those sizes, around packed bytes (file + HEADER), and the right checksum. */
static void write_forged(const char *path, unsigned char *file, uint64_t packed, const forged *f)
{
    ld_sha256 hash;
    memcpy(file, "TVKCACH\1", 8);
    put(file + 8, f->head, 4);
    put(file + 12, f->records, 4);
    put(file + 16, f->bytecode, 8);
    put(file + 24, f->image, 8);
    put(file + 32, packed, 8);
    ld_sha256_init(&hash);
    ld_sha256_add(&hash, file, CHECKED);
    ld_sha256_add(&hash, file + HEADER, (size_t)packed);
    ld_sha256_finish(&hash, file + CHECKED);
    mkdir("cache", 0700);
    mkdir("cache/ab", 0700);
    CHECK(files_write(path, file, HEADER + (size_t)packed));
}

/* What the cache says about a file of FORGED_PACKED zeros, or of `packed`, with that header. */
static void check_forged(uint64_t packed, forged f, const char *words)
{
    unsigned char *file = calloc(1, HEADER + FORGED_PACKED);
    write_forged("cache/" FORGED, file, packed, &f);
    seen s = look(true);
    CHECK_MSG(s.files == 1 && s.sound == 0 && strcmp(s.problem, words) == 0, "%llu %llu %llu %llu: %s",
              (unsigned long long)f.head, (unsigned long long)f.records, (unsigned long long)f.bytecode,
              (unsigned long long)f.image, s.problem);
    free(file);
}

/* Sizes are believed up to a limit: of one part, and of what deflate can make of so many bytes. */
static void test_sizes(void)
{
    static const char senseless[] = "its sizes are inconsistent", packed[] = "it cannot be unpacked";
    check_forged(FORGED_PACKED, (forged){.head = LARGEST + 1}, senseless);
    check_forged(FORGED_PACKED, (forged){.records = LARGEST + 1}, senseless);
    check_forged(FORGED_PACKED, (forged){.bytecode = LARGEST + 1}, senseless);
    check_forged(FORGED_PACKED, (forged){.image = LARGEST + 1}, senseless);
    check_forged(FORGED_PACKED, (forged){.bytecode = UINT64_MAX, .image = 1}, senseless);
    check_forged(FORGED_PACKED, (forged){.head = LARGEST}, packed);
    check_forged(FORGED_PACKED, (forged){.records = LARGEST}, packed);
    check_forged(FORGED_PACKED, (forged){.bytecode = LARGEST}, packed);
    check_forged(FORGED_PACKED, (forged){.image = LARGEST}, packed);
    check_forged(100, (forged){.image = 100 * RATIO}, packed);
    check_forged(100, (forged){.image = 100 * RATIO + 1}, senseless);
    check_forged(100, (forged){.head = 1, .records = 1, .bytecode = 1, .image = 100 * RATIO - 2}, senseless);
}

/* What deflate makes least of is taken: 1,032 bytes of one. And the unpacked part has exactly the bytes that are said.
 */
static void test_ratio(void)
{
    enum { PLAIN = 10 << 20 };
    ld_cache cache = cache_of(LARGEST);
    ld_cache_key key = {.head = bc_str("h"), .bytecode = bc_str("")};
    char path[128];
    unsigned char *plain = calloc(1, PLAIN), *file = malloc(HEADER + PLAIN);
    plain[0] = 'h';
    uLongf packed = PLAIN;
    CHECK(compress2(file + HEADER, &packed, plain, PLAIN, 9) == Z_OK && PLAIN / packed > 1000);
    path_of(&key, path, sizeof path);
    char sub[9];
    snprintf(sub, sizeof sub, "%.8s", path);
    mkdir("cache", 0700);
    mkdir(sub, 0700);
    static const int wrong[] = {0, 1, -1};
    for (size_t i = 0; i < TV_COUNT(wrong); i++) {
        ld_cache_entry entry;
        write_forged(path, file, packed, &(forged){.head = 1, .image = (uint64_t)(PLAIN - 1 + wrong[i])});
        bool taken = ld_cache_get(&cache, &key, &entry);
        CHECK(taken == (wrong[i] == 0));
        if (taken) {
            CHECK(entry.image.len == PLAIN - 1 && entry.image.ptr[PLAIN - 2] == 0 && entry.bytecode.len == 0);
            free(entry.memory);
        } else {
            CHECK(strstr(message, "it cannot be unpacked"));
        }
    }
    free(plain);
    free(file);
    clear();
}

static void check_bytes(const char *bytes, size_t size, const char *words)
{
    CHECK(files_write("cache/" FORGED, bytes, size));
    seen s = look(true);
    CHECK_MSG(s.files == 1 && strcmp(s.problem, words) == 0, "%s, not %s", s.problem, words);
}

static void test_not_ours(void)
{
    char zeros[HEADER + 1] = "";
    mkdir("cache", 0700);
    mkdir("cache/ab", 0700);
    check_bytes(zeros, 0, "it is truncated");
    check_bytes(zeros, HEADER - 1, "it is truncated");
    check_bytes(zeros, HEADER, "it is no file of the cache");
    memcpy(zeros, "TVKCACH\2", 8);
    check_bytes(zeros, HEADER, "it is of another version of the format");
    zeros[7] = 1;
    check_bytes(zeros, HEADER, "its checksum is wrong");
    check_bytes(zeros, HEADER + 1, "it is truncated");
    zeros[32] = 1;
    check_bytes(zeros, HEADER, "it is truncated");
    check_bytes(zeros, HEADER + 1, "its checksum is wrong");
    CHECK(chmod("cache/" FORGED, 0620) == 0);
    CHECK(strcmp(look(true).problem, "others may write to it") == 0);
    CHECK(chmod("cache/" FORGED, 0602) == 0);
    CHECK(strcmp(look(true).problem, "others may write to it") == 0);
    CHECK(unlink("cache/" FORGED) == 0 && mkfifo("cache/" FORGED, 0600) == 0);
    CHECK(strcmp(look(true).problem, "it is no regular file") == 0);
    clear();
}

/* Whose a file is, and who may write to it. Users 7 and 8 need not exist. */
static void check_owner(uid_t owner, mode_t mode, ld_cache_use use, const char *words)
{
    const struct stat info = {.st_uid = owner, .st_mode = S_IFREG | mode, .st_size = HEADER};
    const char *problem = ld_cache_file_problem(&info, 7, use);
    CHECK_MSG(problem ? words && strcmp(problem, words) == 0 : !words, "owner %u, mode %o, use %d: %s", (unsigned)owner,
              (unsigned)mode, (int)use, problem ? problem : "taken");
}

static void test_owners(void)
{
    static const char other[] = "it belongs to another user", shared[] = "others may write to it";
    static const ld_cache_use uses[] = {LD_CACHE_LOOK, LD_CACHE_USE, LD_CACHE_LOWER};
    for (size_t i = 0; i < TV_COUNT(uses); i++) {
        check_owner(7, 0600, uses[i], NULL);
        check_owner(7, 0644, uses[i], NULL);
        check_owner(8, 0600, uses[i], other);
        check_owner(8, 0666, uses[i], other);
        check_owner(7, 0620, uses[i], shared);
        check_owner(7, 0602, uses[i], shared);
        check_owner(0, 0644, uses[i], uses[i] == LD_CACHE_LOWER ? NULL : other);
    }
    const struct stat mine = {.st_uid = 7}, other_users = {.st_uid = 8}, root = {.st_uid = 0};
    CHECK(ld_is_own(&mine, 7, false) && ld_is_own(&mine, 7, true) && ld_is_own(&root, 7, true));
    CHECK(!ld_is_own(&other_users, 7, false) && !ld_is_own(&other_users, 7, true) && !ld_is_own(&root, 7, false));
}

/* ---- in and out ---- */

static void put_entry(const ld_cache *cache, const char *head, const char *bytecode, const char *records,
                      const char *image)
{
    ld_cache_put(cache, &(ld_cache_key){.head = bc_str(head), .bytecode = bc_str(bytecode)}, bc_str(records),
                 bc_str(image));
}

static void check_entry(const ld_cache *cache, const char *head, const char *bytecode, const char *records,
                        const char *image)
{
    ld_cache_entry entry;
    bool found = ld_cache_get(cache, &(ld_cache_key){.head = bc_str(head), .bytecode = bc_str(bytecode)}, &entry);
    CHECK_MSG(found, "%s %s: %s", head, bytecode, message);
    if (!found)
        return;
    CHECK(bc_str_is(entry.head, head) && bc_str_is(entry.bytecode, bytecode) && bc_str_is(entry.records, records)
          && bc_str_is(entry.image, image));
    CHECK(entry.image.ptr[entry.image.len] == 0);
    free(entry.memory);
}

/* The file as cache.c describes it, made again from its parts. */
static void check_format(const char *path)
{
    size_t size;
    unsigned char *file = (unsigned char *)files_read(path, &size), header[HEADER];
    CHECK(file && size > HEADER);
    if (!file)
        return;
    memcpy(header, file, sizeof header);
    unsigned char *again = malloc(size);
    memcpy(again, file, size);
    write_forged("again", again, size - HEADER, &(forged){.head = 4, .records = 7, .bytecode = 4, .image = 5});
    CHECK(memcmp(again, file, HEADER) == 0);
    free(again);
    free(file);
}

static void test_entries(void)
{
    ld_cache cache = cache_of(LARGEST);
    char path[128];
    put_entry(&cache, "head", "code", "records", "image");
    put_entry(&cache, "hea", "dcode", "", "");
    put_entry(&cache, "", "", "", "");
    check_entry(&cache, "head", "code", "records", "image");
    check_entry(&cache, "hea", "dcode", "", ""); /* the length of the head is part of the key */
    check_entry(&cache, "", "", "", "");
    ld_cache_entry entry;
    CHECK(!ld_cache_get(&cache, &(ld_cache_key){.head = bc_str("head"), .bytecode = bc_str("cod")}, &entry));
    path_of(&(ld_cache_key){.head = bc_str("head"), .bytecode = bc_str("code")}, path, sizeof path);
    check_format(path);
    struct stat info;
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600);
    path[8] = 0;
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0700);
    CHECK(look(true).files == 3 && look(true).sound == 3 && look(false).sound == 0);
    clear();
    CHECK(access(path, F_OK) != 0); /* empty folders go, too */
}

/* An entry of another user is not taken, and goes. Only root can make one. */
static void test_other_user(void)
{
    enum { SOMEBODY = 12345 };
    ld_cache cache = cache_of(LARGEST);
    const ld_cache_key key = {.head = bc_str("head"), .bytecode = bc_str("code")};
    ld_cache_entry entry;
    char path[128];
    if (geteuid() != 0)
        return;
    put_entry(&cache, "head", "code", "records", "image");
    path_of(&key, path, sizeof path);
    CHECK(chown(path, SOMEBODY, SOMEBODY) == 0);
    CHECK(strcmp(look(true).problem, "it belongs to another user") == 0);
    CHECK(!ld_cache_get(&cache, &key, &entry) && strstr(message, "it belongs to another user"));
    CHECK(access(path, F_OK) != 0);
    put_entry(&cache, "head", "code", "records", "image");
    CHECK(chown("cache", SOMEBODY, SOMEBODY) == 0 && !ld_cache_get(&cache, &key, &entry));
    CHECK(chown("cache", 0, 0) == 0);
    check_entry(&cache, "head", "code", "records", "image");
    clear();
}

/* A key: SHA-256 of the length of the head in eight bytes, the head and the bytecode. */
static void test_key(void)
{
    char id[LD_CACHE_ID], expected[LD_SHA256_HEX];
    unsigned char digest[LD_SHA256_SIZE];
    ld_sha256 hash;
    ld_sha256_init(&hash);
    ld_sha256_add(&hash, "\4\0\0\0\0\0\0\0headcode", 16);
    ld_sha256_finish(&hash, digest);
    ld_sha256_hex(digest, expected);
    ld_cache_key_id(&(ld_cache_key){.head = bc_str("head"), .bytecode = bc_str("code")}, id);
    CHECK(strcmp(id, expected) == 0);
}

/* A file of another key under that name is not an answer, and goes; looking says so, too. */
static void test_wrong_name(void)
{
    ld_cache cache = cache_of(LARGEST);
    static const char *const others[][2] = {{"head", "codE"}, {"heaD", "code"}, {"head", "code "}};
    char path[128], other[128];
    ld_cache_entry entry;
    ld_cache_key key = {.head = bc_str("head"), .bytecode = bc_str("code")};
    path_of(&key, path, sizeof path);
    for (size_t i = 0; i < TV_COUNT(others); i++) {
        put_entry(&cache, "head", "code", "records", "image"); /* makes the folder */
        put_entry(&cache, others[i][0], others[i][1], "records", "image");
        path_of(&(ld_cache_key){.head = bc_str(others[i][0]), .bytecode = bc_str(others[i][1])}, other, sizeof other);
        CHECK(rename(other, path) == 0);
        CHECK(strcmp(look(true).problem, "its name does not match its key") == 0);
        CHECK(!ld_cache_get(&cache, &key, &entry) && strstr(message, "it was made for another key"));
        CHECK(access(path, F_OK) != 0);
    }
    clear();
}

/* When an entry was used is written no more than once a minute, and by use alone. */
static void test_used(void)
{
    ld_cache cache = cache_of(LARGEST);
    char path[128];
    path_of(&(ld_cache_key){.head = bc_str("head"), .bytecode = bc_str("code")}, path, sizeof path);
    put_entry(&cache, "head", "code", "records", "image");
    age(path, 1000);
    CHECK(look(true).sound == 1 && age_of(path) >= 1000);
    check_entry(&cache, "head", "code", "records", "image");
    CHECK(age_of(path) < 30);
    age(path, 40);
    check_entry(&cache, "head", "code", "records", "image");
    CHECK(age_of(path) >= 40);
    age(path, 70);
    check_entry(&cache, "head", "code", "records", "image");
    CHECK(age_of(path) < 30);
    clear();
}

/* ---- folders ---- */

static void test_folders(void)
{
    ld_cache cache = {.path = (char[]){"deep/er/cache"}, .limit = LARGEST}, none = {.limit = LARGEST};
    struct stat info;
    ld_cache_removed removed;
    seen s = {0};
    CHECK(ld_cache_visit(&cache, true, see, &s) == NULL && s.files == 0 && access("deep", F_OK) != 0);
    CHECK(ld_cache_visit(&none, true, see, &s) == NULL && ld_cache_prune(&none, 0, &removed) == NULL);
    put_entry(&cache, "head", "code", "records", "image");
    check_entry(&cache, "head", "code", "records", "image");
    CHECK(stat("deep/er", &info) == 0 && (info.st_mode & 0777) == 0700);
    CHECK(chmod("deep/er/cache", 0720) == 0);
    const char *words = "others may write to the folder; take that away with chmod go-w";
    const char *problem = ld_cache_visit(&cache, true, see, &s);
    CHECK(problem && strcmp(problem, words) == 0);
    problem = ld_cache_prune(&cache, 0, &removed);
    CHECK(problem && strcmp(problem, words) == 0);
    problem = ld_cache_prune_damaged(&cache, &removed);
    CHECK(problem && strcmp(problem, words) == 0);
    CHECK(chmod("deep/er/cache", 0700) == 0);
    check_entry(&cache, "head", "code", "records", "image");
    ld_cache shortest = {.path = (char[]){"c"}, .limit = LARGEST};
    put_entry(&shortest, "head", "code", "records", "image");
    check_entry(&shortest, "head", "code", "records", "image");
}

/* A folder inside that others may write to, or that is a link, is not looked into. */
static void test_inner_folders(void)
{
    ld_cache cache = cache_of(LARGEST);
    char path[128], inner[9];
    ld_cache_entry entry;
    ld_cache_key key = {.head = bc_str("head"), .bytecode = bc_str("code")};
    put_entry(&cache, "head", "code", "records", "image");
    path_of(&key, path, sizeof path);
    snprintf(inner, sizeof inner, "%.8s", path);
    static const mode_t open_to_all[] = {0720, 0702};
    for (size_t i = 0; i < TV_COUNT(open_to_all); i++) {
        CHECK(chmod(inner, open_to_all[i]) == 0);
        CHECK(!ld_cache_get(&cache, &key, &entry) && look(true).files == 0);
    }
    CHECK(chmod(inner, 0700) == 0 && look(true).files == 1);
    CHECK(rename(inner, "elsewhere") == 0 && symlink("../elsewhere", inner) == 0);
    CHECK(!ld_cache_get(&cache, &key, &entry) && look(true).files == 0);
    CHECK(unlink(inner) == 0 && rename("elsewhere", inner) == 0);
    check_entry(&cache, "head", "code", "records", "image");
    clear();
}

/* ---- what is removed ---- */

enum { FILES = 10, FILE_BYTES = 1000 };

/* Files of FILE_BYTES, the one with number 0 used last. */
static void write_aged(const char *suffix)
{
    static const char zeros[FILE_BYTES];
    mkdir("cache", 0700);
    mkdir("cache/cd", 0700);
    for (int i = 0; i < FILES; i++) {
        char path[128];
        snprintf(path, sizeof path, "cache/cd/%062d%s", i, suffix);
        CHECK(files_write(path, zeros, sizeof zeros));
        age(path, 100 * (i / 2) + 100); /* two at a time: then the name decides */
    }
}

static void check_prune(uint64_t limit, size_t removed_files)
{
    ld_cache cache = cache_of(LARGEST);
    ld_cache_removed removed;
    write_aged(".tvk");
    CHECK(ld_cache_prune(&cache, limit, &removed) == NULL);
    CHECK_MSG(removed.files == removed_files && removed.bytes == removed_files * FILE_BYTES, "%llu: %zu files",
              (unsigned long long)limit, removed.files);
    /* Gone are those with the highest numbers; of a pair the lower one first. */
    for (size_t i = 0; i < FILES; i++) {
        char path[128];
        snprintf(path, sizeof path, "cache/cd/%062zu.tvk", i);
        size_t rank = FILES - 1 - (i ^ 1);
        CHECK_MSG((access(path, F_OK) != 0) == (rank < removed_files), "limit %llu, file %zu",
                  (unsigned long long)limit, i);
    }
    clear();
}

static void test_prune(void)
{
    check_prune(FILES * FILE_BYTES, 0);
    check_prune(FILES * FILE_BYTES - 1, 1); /* a tenth below the limit is wanted: 9000 */
    check_prune(5000, 6);                   /* 4500 */
    check_prune(4445, 6);                   /* 4001 */
    check_prune(4444, 6);                   /* 4000 */
    check_prune(4443, 7);                   /* 3999 */
    check_prune(1, 10);
    check_prune(0, 10);
}

/* A half written file goes after an hour. Until then it takes room. */
static void test_temporary(void)
{
    ld_cache cache = cache_of(LARGEST);
    ld_cache_removed removed;
    static const char zeros[FILE_BYTES];
    write_aged(".tvk");
    CHECK(files_write("cache/cd/.tmp-1", zeros, FILE_BYTES) && files_write("cache/cd/.tmp-2", zeros, FILE_BYTES));
    age("cache/cd/.tmp-1", 3500);
    age("cache/cd/.tmp-2", 3600);
    seen s = look(true); /* what is being written is not there yet */
    CHECK(s.files == FILES + 1 && strstr(s.names, ".tmp-2"));
    CHECK(ld_cache_prune(&cache, 100 * FILE_BYTES, &removed) == NULL && removed.files == 1);
    CHECK(access("cache/cd/.tmp-1", F_OK) == 0 && access("cache/cd/.tmp-2", F_OK) != 0);
    CHECK(look(true).files == FILES);
    CHECK(ld_cache_prune(&cache, (FILES + 1) * FILE_BYTES - 1, &removed) == NULL && removed.files == 2);
    CHECK(access("cache/cd/.tmp-1", F_OK) == 0);
    clear();
}

/* Files with other names are nobody's business. */
static void test_other_names(void)
{
    static const char *const others[] = {
        "cache/cd/.tvk",
        "cache/cd/0000000000000000000000000000000000000000000000000000000000000.tvk",
        "cache/cd/000000000000000000000000000000000000000000000000000000000000000.tvk",
        "cache/cd/0000000000000000000000000000000000000000000000000000000000000A.tvk",
        "cache/cd/00000000000000000000000000000000000000000000000000000000000000.tvl",
        "cache/cd/.tmp-00000000000000000000000000000000000000000000000000000000000000",
        "cache/cd/.tm",
        "cache/00000000000000000000000000000000000000000000000000000000000000.tvk",
    };
    mkdir("cache", 0700);
    mkdir("cache/cd", 0700);
    for (size_t i = 0; i < TV_COUNT(others); i++)
        CHECK(files_write(others[i], "mine", 4));
    clear();
    for (size_t i = 0; i < TV_COUNT(others); i++)
        CHECK_MSG(unlink(others[i]) == 0, "%s", others[i]);
}

static void test_prune_damaged(void)
{
    ld_cache cache = cache_of(LARGEST);
    ld_cache_removed removed;
    put_entry(&cache, "head", "code", "records", "image");
    write_aged(".tvk");
    CHECK(files_write("cache/cd/.tmp-1", "half", 4));
    CHECK(ld_cache_prune_damaged(&cache, &removed) == NULL);
    CHECK(removed.files == FILES && removed.bytes == FILES * FILE_BYTES);
    seen s = look(true);
    CHECK(s.files == 1 && s.sound == 1 && access("cache/cd/.tmp-1", F_OK) == 0);
    clear();
}

/* An entry may be as large as the cache, and the others make room for it. */
static void test_limit(void)
{
    ld_cache cache = cache_of(LARGEST);
    char path[128];
    path_of(&(ld_cache_key){.head = bc_str("head"), .bytecode = bc_str("code")}, path, sizeof path);
    put_entry(&cache, "head", "code", "records", "image");
    uint64_t size = bytes_of(path);
    clear();
    cache.limit = size - 1;
    put_entry(&cache, "head", "code", "records", "image");
    CHECK(access(path, F_OK) != 0);
    cache.limit = size;
    put_entry(&cache, "head", "code", "records", "image");
    check_entry(&cache, "head", "code", "records", "image");
    clear();
    cache.limit = 32 * 200; /* files of some 100 bytes: every second or third of them looks at the size */
    write_aged(".tvk");
    for (char name[] = "0"; name[0] < '5'; name[0]++)
        put_entry(&cache, name, "code", "records", "image");
    seen s = look(true);
    CHECK_MSG(s.files < 5 + FILES && s.sound == 5, "%zu files, %zu sound", s.files, s.sound);
    clear();
}

static unsigned open_files(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

/* A layer below that is only read: what is in it is found, nothing of it is changed, and what others may write to is
   not taken. */
static void test_lower(void)
{
    const ld_cache_key key = {.head = bc_str("head"), .bytecode = bc_str("code")};
    ld_cache below = cache_of(LARGEST), cache = cache_of(LARGEST);
    ld_cache_entry entry;
    char path[128];
    struct stat before, after;
    below.path = (char[]){"below"};
    put_entry(&below, "head", "code", "records", "image");
    CHECK(!ld_cache_get(&cache, &key, &entry));
    cache.lower = (char[]){"below"};
    check_entry(&cache, "head", "code", "records", "image");
    CHECK(access("cache", F_OK) != 0 || look(true).files == 0); /* found where it is, not copied */
    cache.path = NULL;
    cache.problem = "there is no home";
    check_entry(&cache, "head", "code", "records", "image");
    cache.problem = NULL; /* switched off */
    CHECK(!ld_cache_get(&cache, &key, &entry));
    cache.path = (char[]){"cache"};
    path_of(&key, path, sizeof path);
    char *name = strchr(path, '/') + 1, lower[160];
    snprintf(lower, sizeof lower, "below/%s", name);
    CHECK(utimensat(AT_FDCWD, lower, (struct timespec[]){{.tv_sec = 1000}, {.tv_sec = 1000}}, 0) == 0);
    check_entry(&cache, "head", "code", "records", "image");
    CHECK(stat(lower, &before) == 0 && before.st_mtime == 1000);
    if (geteuid() == 0) {
        CHECK(chown(lower, 12345, 12345) == 0 && !ld_cache_get(&cache, &key, &entry));
        CHECK(strstr(message, "it belongs to another user") != NULL && stat(lower, &after) == 0);
        CHECK(chown(lower, 0, 0) == 0 && chown("below", 12345, 12345) == 0 && !ld_cache_get(&cache, &key, &entry));
        CHECK(chown("below", 0, 0) == 0);
        check_entry(&cache, "head", "code", "records", "image");
    }
    CHECK(chmod(lower, 0666) == 0 && !ld_cache_get(&cache, &key, &entry));
    CHECK(strstr(message, "others may write to it") != NULL);
    CHECK(chmod(lower, 0644) == 0 && truncate(lower, 80) == 0 && !ld_cache_get(&cache, &key, &entry));
    CHECK(strstr(message, "it is truncated") != NULL && stat(lower, &after) == 0); /* it stays */
    put_entry(&cache, "head", "code", "records", "image");
    check_entry(&cache, "head", "code", "records", "image"); /* the upper one comes first */
    clear();
    CHECK(system("rm -rf below") == 0);
}

int main(void)
{
    unsigned files = open_files();
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 2;
    started = time(NULL);
    tvSetMessageHandler(hear, NULL);
    test_sizes();
    clear();
    test_ratio();
    test_not_ours();
    test_owners();
    test_entries();
    test_other_user();
    test_key();
    test_wrong_name();
    test_used();
    test_folders();
    test_inner_folders();
    test_prune();
    test_temporary();
    test_other_names();
    test_prune_damaged();
    test_limit();
    test_lower();
    CHECK(open_files() == files);
    close(STDIN_FILENO); /* 0 is a file like others */
    test_entries();
    test_used();
    test_prune();
    test_prune_damaged();
    CHECK(open_files() == files - 1);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(chdir("/") == 0 && system(command) == 0);
    return TEST_END("cache");
}
