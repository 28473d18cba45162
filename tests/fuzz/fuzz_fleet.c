/* Fleets: whatever the text is, it is refused with a reason, or gives hosts that are within the limits and known. */
#include "tests/fuzz/fuzz.h"
#include "tools/tilevm/fleet/fleet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bc_arena arena;
    bc_text problem;
    fleet hosts;
    char *text = malloc(size + 1);
    FUZZ_CHECK(text);
    memcpy(text, data, size);
    text[size] = 0;
    bc_arena_init(&arena, NULL, (size_t)16 << 20);
    bc_text_init(&problem, NULL);
    if (!fleet_parse("fleet.json", text, size, &arena, &hosts, &problem)) {
        FUZZ_CHECK(problem.len);
    } else {
        FUZZ_CHECK(hosts.count >= 1 && hosts.count <= 2000);
        for (size_t i = 0; i < hosts.count; i++)
            FUZZ_CHECK(hosts.hosts[i].name[0] && hosts.hosts[i].gpu.sm && hosts.hosts[i].cuda);
    }
    bc_text_release(&problem);
    bc_arena_release(&arena);
    free(text);
    return 0;
}
