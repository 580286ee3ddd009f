/* small_float.c - the floats of 8, 6 and 4 bits, which few machines compute with, but many files
 * contain.
 *
 * One table and one rule for all that have a fraction; f8e8m0, a bare exponent, has its own
 * rule. */
#include <assert.h>
#include <math.h>

#include "tensor/tensor.h"

enum { NEVER = -1, E8M0_NAN = 255, E8M0_BIAS = 127 };

typedef struct format {
    int  n_exponent, n_fraction, bias;
    int  largest;  /* the code of the largest number; codes above it are not numbers */
    int  infinity; /* NEVER: it has none */
    int  nan;      /* the code that is written */
    bool one_zero; /* "uz": the code of -0 is the only NaN */
} format;

static const format formats[AS_N_DTYPES] = {
    [AS_F8E4M3FN] = {4, 3, 7, 0x7e, NEVER, 0x7f, false}, [AS_F8E4M3FNUZ] = {4, 3, 8, 0x7f, NEVER, 0x80, true},
    [AS_F8E5M2] = {5, 2, 15, 0x7b, 0x7c, 0x7e, false},   [AS_F8E5M2FNUZ] = {5, 2, 16, 0x7f, NEVER, 0x80, true},
    [AS_F6E2M3] = {2, 3, 1, 0x1f, NEVER, NEVER, false},  [AS_F6E3M2] = {3, 2, 3, 0x1f, NEVER, NEVER, false},
    [AS_F4E2M1] = {2, 1, 1, 0x07, NEVER, NEVER, false},
};

static double e8m0_to_f64(uint8_t code) { return code == E8M0_NAN ? (double)NAN : ldexp(1.0, code - E8M0_BIAS); }

static uint8_t e8m0_from_f64(double x, bool saturate, as_e8m0_round round)
{
    if (isnan(x) || x < 0.0)
        return E8M0_NAN;
    if (x < 0x1p-127)
        return saturate ? 0 : E8M0_NAN;
    if (x > 0x1p127)
        return saturate ? E8M0_NAN - 1 : E8M0_NAN;
    int    exponent;
    double fraction = frexp(x, &exponent); /* 0.5 is a power of two; 0.75 lies between this one and the next */
    bool   is_up = fraction > 0.5 && (round == AS_E8M0_UP || (round == AS_E8M0_NEAREST && fraction >= 0.75));
    return (uint8_t)(exponent - 1 + is_up + E8M0_BIAS);
}

double as_small_to_f64(as_dtype dtype, uint8_t code)
{
    assert(as_dtype_is_small_float(dtype));
    if (dtype == AS_F8E8M0)
        return e8m0_to_f64(code);
    const format *f = &formats[dtype];
    int           sign = 1 << (f->n_exponent + f->n_fraction), size = code & (sign - 1);
    if (size > f->largest || (f->one_zero && code == f->nan))
        return size == f->infinity ? (code & sign ? -(double)INFINITY : (double)INFINITY) : (double)NAN;
    int    exponent = size >> f->n_fraction, fraction = size & ((1 << f->n_fraction) - 1);
    double value = exponent ? ldexp((1 << f->n_fraction) + fraction, exponent - f->bias - f->n_fraction)
                            : ldexp(fraction, 1 - f->bias - f->n_fraction);
    return code & sign ? -value : value;
}

/* The code of a finite |x|, which may be beyond the largest. */
static int size_of(const format *f, double x)
{
    int exponent, least = 1 - f->bias; /* exponent of the smallest normal number; subnormal ones share it */
    frexp(x, &exponent);
    exponent = x == 0.0 || exponent - 1 < least ? least : exponent - 1;
    /* In units of the last bit, which is exact: at most 2^(n_fraction + 1).  A carry moves into the exponent, which is
     * just what rounding up to the next power of two needs. */
    double units = ldexp(x, f->n_fraction - exponent);
    int    kept = (int)units;
    double lost = units - kept;
    kept += lost > 0.5 || (lost == 0.5 && (kept & 1));
    return ((exponent + f->bias - 1) << f->n_fraction) + kept;
}

uint8_t as_small_from_f64(as_dtype dtype, double x, bool saturate, as_e8m0_round round)
{
    assert(as_dtype_is_small_float(dtype));
    if (dtype == AS_F8E8M0)
        return e8m0_from_f64(x, saturate, round);
    const format *f = &formats[dtype];
    int           sign = signbit(x) ? 1 << (f->n_exponent + f->n_fraction) : 0;
    if (isnan(x))
        return f->nan == NEVER ? 0 : (uint8_t)(f->nan | sign);
    int size = isinf(x) ? f->largest + 1 : size_of(f, fabs(x));
    if (size > f->largest) {
        bool stays = saturate || f->nan == NEVER;
        size = stays ? f->largest : f->infinity != NEVER ? f->infinity : f->nan;
    }
    if (size == 0 && f->one_zero)
        sign = 0;
    return (uint8_t)(size | sign);
}
