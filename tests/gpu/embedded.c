/* Adds two arrays on each device with an embedded kernel (`tilevm embed`, of vadd): C that links with nothing but what
   was written. Prints `vadd gives STATUS on device N, COUNT elements are wrong`. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels.h"

enum { N = 1000, SIZE = N * sizeof(float) };

static struct {
    int (*init)(unsigned), (*count)(int *), (*retain)(void **, int), (*release)(int), (*push)(void *), (*pop)(void **);
    int (*alloc)(unsigned long long *, size_t), (*drop)(unsigned long long);
    int (*to_device)(unsigned long long, const void *, size_t), (*to_host)(void *, unsigned long long, size_t);
} cu;

static int find_all(void)
{
    static const char *const names[] = {"cuInit",
                                        "cuDeviceGetCount",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuDevicePrimaryCtxRelease_v2",
                                        "cuCtxPushCurrent_v2",
                                        "cuCtxPopCurrent_v2",
                                        "cuMemAlloc_v2",
                                        "cuMemFree_v2",
                                        "cuMemcpyHtoD_v2",
                                        "cuMemcpyDtoH_v2"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found[sizeof names / sizeof *names] = {0};
    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++)
        if (!(found[i] = dlsym(library, names[i])))
            return 0;
    memcpy(&cu, found, sizeof cu);
    return library != NULL;
}

/* In the current context; the status, and how many elements are wrong. */
static int add(int *out_wrong)
{
    static float x[N], y[N], z[N];
    unsigned long long a = 0, b = 0, c = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 0.5f;
        z[i] = 0;
    }
    int status = cu.alloc(&a, SIZE) | cu.alloc(&b, SIZE) | cu.alloc(&c, SIZE);
    if (!status)
        status = cu.to_device(a, x, SIZE) | cu.to_device(b, y, SIZE);
    if (!status)
        status = kernels_vadd(NULL, 4, 1, 1, a, N, 1, b, N, 1, c, N, 1);
    if (!status)
        status = cu.to_host(z, c, SIZE);
    for (int i = 0; i < N && !status; i++)
        *out_wrong += z[i] != x[i] + y[i];
    cu.drop(a);
    cu.drop(b);
    cu.drop(c);
    return status;
}

int main(void)
{
    int devices = 0, worst = 0;
    if (!find_all() || cu.init(0) || cu.count(&devices) || !devices) {
        puts("there is no device");
        return 2;
    }
    for (int i = 0; i < devices; i++) {
        void *context = NULL;
        int wrong = 0, status = cu.retain(&context, i) | cu.push(context);
        if (!status) {
            status = add(&wrong);
            cu.pop(&context);
        }
        printf("vadd gives %d on device %d, %d elements are wrong\n", status, i, wrong);
        worst |= status != 0 || wrong;
    }
    worst |= kernels_unload() != 0;
    for (int i = 0; i < devices; i++)
        worst |= cu.release(i) != 0;
    return worst;
}
