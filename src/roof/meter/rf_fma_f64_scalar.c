/* rf_fma_f64_scalar.c - a multiplication and an addition of two doubles, in the compiler's own terms. */
#include <string.h>

typedef double pair_f64 __attribute__((vector_size(16)));

static inline pair_f64 pair_load(const double *p)
{
    pair_f64 x;
    memcpy(&x, p, sizeof x);
    return x;
}
static inline void pair_store(double *p, pair_f64 x) { memcpy(p, &x, sizeof x); }

#define FMA_VECTOR      pair_f64
#define FMA_ELEMENT     double
#define FMA_LANES       2
#define FMA_LOAD(p)     pair_load(p)
#define FMA_STORE(p, x) pair_store(p, x)
#define FMA(a, b, c)    ((a) * (b) + (c))
#include "roof/meter/body_fma.h"

const as_meter as_rf_fma_f64_scalar = {
    .name = "fma.f64.scalar",
    .unit = "flop/s",
    .what = "chains of x * m + c in registers, two roundings",
    .kind = AS_METER_REGISTERS,
    .isa = AS_ISA_SCALAR,
    .rank = 0,
    .order = 12,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};
