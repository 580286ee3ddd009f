/* rf_fma_f64_neon.c - fused multiply-adds of two doubles. */
#include <arm_neon.h>

#define FMA_VECTOR      float64x2_t
#define FMA_ELEMENT     double
#define FMA_LANES       2
#define FMA_LOAD(p)     vld1q_f64(p)
#define FMA_STORE(p, x) vst1q_f64(p, x)
#define FMA(a, b, c)    vfmaq_f64(c, a, b)
#include "roof/meter/body_fma.h"

const as_meter as_rf_fma_f64_neon = {
    .name = "fma.f64.neon",
    .unit = "flop/s",
    .what = "24 chains of fused multiply-adds in registers",
    .kind = AS_METER_REGISTERS,
    .isa = AS_ISA_NEON,
    .rank = 20,
    .order = 12,
    .n_streams = 1,
    .lanes = FMA_LANES,
    .per_pass = per_pass,
    .run = run,
};
