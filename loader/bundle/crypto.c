/* Finding libcrypto. */
#include "loader/bundle/crypto.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifdef TV_LINKED_CRYPTO /* defined by programs that must run without libraries */
#define CRYPTO(name, result, parameters) result name parameters;
#include "loader/bundle/crypto_api.def"

static bool find_library(ld_crypto *out, char problem[LD_CRYPTO_PROBLEM])
{
    (void)problem;
    *out = (ld_crypto){
#define CRYPTO(name, result, parameters) .name = name,
#include "loader/bundle/crypto_api.def"
    };
    return true;
}
#else
/* Gives the name of a function that the library lacks, or NULL. */
static const char *find_functions(void *library, ld_crypto *out)
{
    const char *missing = NULL;
    void *symbol;
#define CRYPTO(name, result, parameters)        \
    symbol = dlsym(library, #name);             \
    memcpy(&out->name, &symbol, sizeof symbol); \
    missing = symbol ? missing : #name;
#include "loader/bundle/crypto_api.def"
    return missing;
}

static bool open_library(const char *name, ld_crypto *out, char *problem, size_t size)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *missing = library ? find_functions(library, out) : NULL;
    if (library && !missing)
        return true;
    const char *error = library ? NULL : dlerror();
    if (missing)
        snprintf(problem, size, "%s has no function %s", name, missing);
    else
        snprintf(problem, size, "%s", error ? error : name);
    if (library)
        dlclose(library);
    return false;
}

static bool find_library(ld_crypto *out, char problem[LD_CRYPTO_PROBLEM])
{
    char first[LD_CRYPTO_PROBLEM / 3], second[LD_CRYPTO_PROBLEM / 3];
    if (open_library("libcrypto.so.3", out, first, sizeof first)
        || open_library("libcrypto.so.1.1", out, second, sizeof second))
        return true;
    snprintf(problem, LD_CRYPTO_PROBLEM,
             "signatures need OpenSSL's libcrypto (Debian: libssl3), which cannot be loaded: %s; %s", first, second);
    return false;
}
#endif

const ld_crypto *ld_crypto_open(char problem[LD_CRYPTO_PROBLEM])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static ld_crypto library; /* does not change after it has been found */
    static bool found;
    pthread_mutex_lock(&lock);
    found = found || find_library(&library, problem);
    const ld_crypto *there = found ? &library : NULL;
    pthread_mutex_unlock(&lock);
    return there;
}
