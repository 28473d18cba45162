/* How long blocks of a multiprocessor queue for a resource (codegen/cost/waits.h): the limits between which they must
   lie, and values of mean value analysis that were computed by hand. */
#include "codegen/cost/waits.h"

#include <math.h>

#include "tests/unit/test.h"

static bool is_near(double found, double expected)
{
    return fabs(found - expected) < 1e-9 * expected;
}

int main(void)
{
    /* alone 3, of which the resource takes 1: the second block finds a third of the first one there, and so on */
    const double taken[] = {3, 3 + 1.0 / 3, 3.8};
    for (uint32_t i = 0; i < TV_COUNT(taken); i++)
        CHECK(is_near(cg_time_in_queue(3, 1, i + 1), taken[i]));
    for (double blocks = 1; blocks <= 32; blocks++) {
        double found = cg_time_in_queue(10, 2, blocks);
        CHECK_MSG(found >= 10 && found >= 2 * blocks, "%g blocks take %g", blocks, found);
        CHECK(found <= 8 + 2 * blocks);
        CHECK(blocks < 2 || found > cg_time_in_queue(10, 2, blocks - 1));
        CHECK(is_near(cg_time_in_queue(5, 5, blocks), 5 * blocks)); /* nothing else is done meanwhile */
        CHECK(is_near(cg_time_in_queue(2, 5, blocks), 5 * blocks));
        CHECK(is_near(cg_time_in_queue(10, 0, blocks), 10));
        CHECK(cg_time_in_queue(0, 0, blocks) == 0);
    }
    CHECK(is_near(cg_time_in_queue(10, 2, 1e5), 2e5)); /* the resource is always busy */
    return TEST_END("queue");
}
