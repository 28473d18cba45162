/* Peak rates of a device: the vendor's rates per cycle, by compute capability, times the clocks that the driver
   reports. */
#include "tools/tilevm/bench/bench.h"

#include <string.h>

/* Multiply-adds per cycle of a multiprocessor's tensor cores. The table has two GPUs; the rates of later ones are not
   known. */
static const struct {
    bc_kind kind;
    double sm_80, sm_90;
} tensors[] = {
#define TENSOR(kind, sm_80, sm_90, sm_90_mma) {BC_##kind, sm_80, sm_90},
#include "codegen/cost/cost.def"
};

/* The same for other arithmetic. Source: CUDA C++ programming guide, throughput of native arithmetic instructions:
   32-bit and 64-bit floating-point add, multiply, multiply-add. */
static const struct {
    unsigned sm;
    double f32, f64;
} plain[] = {{80, 64, 32}, {86, 128, 2}, {87, 128, 2}, {89, 128, 2}, {90, 128, 64}, {100, 128, 64}, {120, 128, 2}};

void bench_limits_read(const ld_device *device, bench_limits *out)
{
    static const double kilo = 1e3;
    int processors = 0, clock = 0, memory = 0, bits = 0, l2 = 0;
    ld_device_figure(device, LD_ATTRIBUTE_MULTIPROCESSORS, &processors);
    ld_device_figure(device, LD_ATTRIBUTE_CLOCK_KHZ, &clock);
    ld_device_figure(device, LD_ATTRIBUTE_MEMORY_CLOCK_KHZ, &memory);
    ld_device_figure(device, LD_ATTRIBUTE_MEMORY_BUS_BITS, &bits);
    ld_device_figure(device, LD_ATTRIBUTE_L2_BYTES, &l2);
    *out = (bench_limits){.multiprocessors = processors,
                          .clock_hz = clock * kilo,
                          .memory_hz = memory * kilo,
                          .dram_bytes = 2 * memory * kilo * bits / 8, /* twice in a cycle */
                          .l2_bytes = l2,
                          .sm = device->target};
}

double bench_limit_products(const bench_limits *limits, bc_kind kind)
{
    for (size_t i = 0; i < TV_COUNT(tensors); i++)
        if (tensors[i].kind == kind)
            return 2 * limits->multiprocessors * limits->clock_hz
                   * (limits->sm == 80   ? tensors[i].sm_80
                      : limits->sm == 90 ? tensors[i].sm_90
                                         : 0);
    return 0;
}

double bench_limit_plain(const bench_limits *limits, bc_kind kind)
{
    for (size_t i = 0; i < TV_COUNT(plain); i++)
        if (plain[i].sm == limits->sm)
            return 2 * limits->multiprocessors * limits->clock_hz
                   * (kind == BC_F32   ? plain[i].f32
                      : kind == BC_F64 ? plain[i].f64
                                       : 0);
    return 0;
}

size_t bench_parts(const bench_work *work, const bench_limits *limits, double us, bench_part parts[BENCH_MOST_PARTS])
{
    size_t count = 0, most = 0;
    double seconds = us * 1e-6;
    for (size_t kind = 0; kind < BC_KIND_COUNT; kind++) {
        const char *name = bc_kinds[kind].text;
        if (work->products[kind] > 0)
            parts[count++] =
                (bench_part){name, work->products[kind], 0, bench_limit_products(limits, (bc_kind)kind), BENCH_PRODUCTS,
                             false};
        if (work->plain[kind] > 0)
            parts[count++] =
                (bench_part){name, work->plain[kind], 0, bench_limit_plain(limits, (bc_kind)kind), BENCH_ARITHMETIC,
                             false};
    }
    parts[count++] = (bench_part){"DRAM", work->read + work->written, 0, limits->dram_bytes, BENCH_MEMORY, false};
    for (size_t i = 0; i < count; i++) {
        parts[i].rate = seconds > 0 ? parts[i].amount / seconds : 0;
        if (bench_part_share(&parts[i]) > bench_part_share(&parts[most]))
            most = i;
    }
    parts[most].binds = bench_part_share(&parts[most]) > 0;
    return count;
}

double bench_part_share(const bench_part *part)
{
    return part->limit > 0 ? part->rate / part->limit : 0;
}
