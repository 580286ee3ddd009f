/* dtype.c - names and sizes of element types, and the two 16-bit floats.
 *
 * The conversions are pure integer work: the result does not depend on the rounding mode, on
 * flush-to-zero, or on whether the CPU has instructions for it. */
#include <string.h>

#include "tensor/tensor.h"

static const struct {
    const char *name;
    size_t      bytes;
    bool        is_float;
} dtypes[AS_N_DTYPES] = {
    [AS_NONE] = {"none", 0, false},
    [AS_F64]  = {"f64", 8, true},
    [AS_F32]  = {"f32", 4, true},
    [AS_F16]  = {"f16", 2, true},
    [AS_BF16] = {"bf16", 2, true},
    [AS_I8]   = {"i8", 1, false},
    [AS_U8]   = {"u8", 1, false},
    [AS_I16]  = {"i16", 2, false},
    [AS_U16]  = {"u16", 2, false},
    [AS_I32]  = {"i32", 4, false},
    [AS_U32]  = {"u32", 4, false},
    [AS_I64]  = {"i64", 8, false},
    [AS_U64]  = {"u64", 8, false},
    [AS_BOOL] = {"bool", 1, false},
};

static bool is_known(as_dtype dtype)
{
    return (unsigned)dtype < AS_N_DTYPES;
}

const char *as_dtype_name(as_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].name : "unknown";
}

bool as_dtype_parse(const char *name, as_dtype *out)
{
    for (int i = AS_NONE + 1; i < AS_N_DTYPES; i++)
        if (!strcmp(name, dtypes[i].name)) {
            *out = (as_dtype)i;
            return true;
        }
    return false;
}

size_t as_dtype_bytes(as_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].bytes : 0;
}

bool as_dtype_is_float(as_dtype dtype)
{
    return is_known(dtype) && dtypes[dtype].is_float;
}

/* --- f16 and bf16 ------------------------------------------------------------------------- */

#define F32_INFINITY 0x7f800000u

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* bits >> shift, to nearest, ties to even.  shift is 1 to 31; a carry walks into the exponent, which
 * is just what rounding up to the next power of two (or to infinity) needs. */
static uint32_t shift_rounded(uint32_t bits, uint32_t shift)
{
    uint32_t half = 1u << (shift - 1), kept = bits >> shift, lost = bits & ((1u << shift) - 1);
    return kept + (lost > half || (lost == half && (kept & 1)));
}

uint16_t as_f16_from_f32(float x)
{
    uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu, half;
    if (size > F32_INFINITY) {
        /* The payload stays, so that f16 NaNs survive the round trip; only one that would vanish
         * (and turn the NaN into an infinity) is replaced. */
        uint32_t payload = size >> 13 & 0x3ffu;
        half = 0x7c00u | (payload ? payload : 0x200u);
    } else if (size >= 0x47800000u) { /* 65536 */
        half = 0x7c00u;
    } else if (size >= 0x38800000u) { /* 2^-14, the smallest normal f16; the bias moves from 127 to 15 */
        half = shift_rounded(size - (112u << 23), 13);
    } else if (size >= 0x33000000u) { /* 2^-25, half of the smallest subnormal f16 */
        half = shift_rounded((size & 0x7fffffu) | 0x800000u, 126 - (size >> 23));
    } else {
        half = 0;
    }
    return (uint16_t)(sign | half);
}

float as_f16_to_f32(uint16_t x)
{
    uint32_t sign = (x & 0x8000u) << 16, exponent = x >> 10 & 0x1fu, fraction = x & 0x3ffu;
    if (exponent == 31)
        return float_of(sign | F32_INFINITY | fraction << 13);
    if (exponent == 0) {
        if (!fraction)
            return float_of(sign);
        for (exponent = 1; !(fraction & 0x400u); exponent--) /* wraps below 0; the bias below brings it back */
            fraction <<= 1;
        fraction &= 0x3ffu;
    }
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t as_bf16_from_f32(float x)
{
    uint32_t bits = bits_of(x);
    if ((bits & 0x7fffffffu) > F32_INFINITY) /* rounding could carry a NaN into infinity or to the other sign */
        return (uint16_t)(bits >> 16 | (bits & 0x7f0000u ? 0u : 0x40u));
    return (uint16_t)shift_rounded(bits, 16);
}

float as_bf16_to_f32(uint16_t x)
{
    return float_of((uint32_t)x << 16);
}
