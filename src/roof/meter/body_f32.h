/* body_f32.h - body_fma.h for the floats of whichever simd_*.h came before. */
#define FMA_VECTOR      vf
#define FMA_ELEMENT     float
#define FMA_LANES       VW
#define FMA_LOAD(p)     v_load(p)
#define FMA_STORE(p, x) v_store(p, x)
#define FMA(a, b, c)    v_fma(a, b, c)
#include "roof/meter/body_fma.h"
