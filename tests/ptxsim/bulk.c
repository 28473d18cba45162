#include "tests/ptxsim/sim.h"
bool ps_transfers_progress(ps_cluster *c, bool surely)
{
    (void)c; (void)surely;
    return false;
}
