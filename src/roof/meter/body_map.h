/* body_map.h - y = MAP(x) over floats in L1.  Our functions have no branches, so the value of x does not matter. */
#include "roof/meter/body.h"

_Static_assert(AS_METER_GRAIN % (4 * VW * sizeof(float)) == 0, "a buffer is whole steps");

static double per_pass(size_t bytes) { return (double)bytes / sizeof(float); }

static void run(const as_meter_args *args, uint64_t n_passes)
{
    const float *x = (const float *)(const void *)args->stream[0];
    float       *y = (float *)(void *)args->stream[1];
    size_t       n = args->bytes / sizeof *x;
    for (uint64_t k = n_passes; k; k--) {
        for (size_t i = 0; i < n; i += 4 * VW) {
            vf y0 = MAP(v_load(x + i)), y1 = MAP(v_load(x + i + VW)), y2 = MAP(v_load(x + i + 2 * VW)),
               y3 = MAP(v_load(x + i + 3 * VW));
            v_store(y + i, y0);
            v_store(y + i + VW, y1);
            v_store(y + i + 2 * VW, y2);
            v_store(y + i + 3 * VW, y3);
        }
        AS_PASS_END();
    }
}
