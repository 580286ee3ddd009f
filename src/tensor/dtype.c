/* dtype.c - names and sizes of element types, and the two 16-bit floats; small_float.c has the smaller ones.
 *
 * The conversions use only integers: the result does not depend on the rounding mode, on flush-to-zero, or
 * on whether the CPU has instructions for it. */
#include <string.h>

#include "tensor/tensor.h"

static const struct {
    const char *name;
    size_t      bytes;
    int         bits;
    bool        is_float;
} dtypes[AS_N_DTYPES] = {
    [AS_NONE] = {"none", 0, 0, false},
    [AS_F64] = {"f64", 8, 64, true},
    [AS_F32] = {"f32", 4, 32, true},
    [AS_F16] = {"f16", 2, 16, true},
    [AS_BF16] = {"bf16", 2, 16, true},
    [AS_I8] = {"i8", 1, 8, false},
    [AS_U8] = {"u8", 1, 8, false},
    [AS_I16] = {"i16", 2, 16, false},
    [AS_U16] = {"u16", 2, 16, false},
    [AS_I32] = {"i32", 4, 32, false},
    [AS_U32] = {"u32", 4, 32, false},
    [AS_I64] = {"i64", 8, 64, false},
    [AS_U64] = {"u64", 8, 64, false},
    [AS_BOOL] = {"bool", 1, 8, false},
    [AS_F8E4M3FN] = {"f8e4m3fn", 1, 8, true},
    [AS_F8E4M3FNUZ] = {"f8e4m3fnuz", 1, 8, true},
    [AS_F8E5M2] = {"f8e5m2", 1, 8, true},
    [AS_F8E5M2FNUZ] = {"f8e5m2fnuz", 1, 8, true},
    [AS_F8E8M0] = {"f8e8m0", 1, 8, true},
    [AS_F6E2M3] = {"f6e2m3", 1, 6, true},
    [AS_F6E3M2] = {"f6e3m2", 1, 6, true},
    [AS_F4E2M1] = {"f4e2m1", 1, 4, true},
    [AS_I4] = {"i4", 1, 4, false},
    [AS_U4] = {"u4", 1, 4, false},
    [AS_I2] = {"i2", 1, 2, false},
    [AS_U2] = {"u2", 1, 2, false},
};

static bool is_known(as_dtype dtype) { return (unsigned)dtype < AS_N_DTYPES; }

const char *as_dtype_name(as_dtype dtype) { return is_known(dtype) ? dtypes[dtype].name : "unknown"; }

bool as_dtype_parse(const char *name, as_dtype *out)
{
    for (int i = AS_NONE + 1; i < AS_N_DTYPES; i++)
        if (!strcmp(name, dtypes[i].name)) {
            *out = (as_dtype)i;
            return true;
        }
    return false;
}

size_t as_dtype_bytes(as_dtype dtype) { return is_known(dtype) ? dtypes[dtype].bytes : 0; }

int as_dtype_bits(as_dtype dtype) { return is_known(dtype) ? dtypes[dtype].bits : 0; }

bool as_dtype_is_float(as_dtype dtype) { return is_known(dtype) && dtypes[dtype].is_float; }

bool as_dtype_is_small_float(as_dtype dtype) { return as_dtype_is_float(dtype) && dtypes[dtype].bits <= 8; }

/* --- Packed elements ---------------------------------------------------------------------- */

/* Counted in groups of eight elements, which are whole bytes for any element size: the number of bits could overflow. */
size_t as_packed_bytes(as_dtype dtype, size_t count)
{
    size_t bits = (size_t)as_dtype_bits(dtype);
    return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

uint8_t as_packed_get(as_dtype dtype, const uint8_t *packed, size_t i)
{
    unsigned       bits = (unsigned)as_dtype_bits(dtype), at = (unsigned)(i % 8) * bits, mask = (1u << bits) - 1;
    const uint8_t *byte = packed + i / 8 * bits + at / 8;
    unsigned       code = (unsigned)*byte >> at % 8;
    if (at % 8 + bits > 8)
        code |= (unsigned)byte[1] << (8 - at % 8);
    code &= mask;
    bool is_negative = (dtype == AS_I4 || dtype == AS_I2) && code >> (bits - 1);
    return (uint8_t)(is_negative ? code | ~mask : code);
}

void as_packed_put(as_dtype dtype, uint8_t *packed, size_t i, uint8_t element)
{
    unsigned bits = (unsigned)as_dtype_bits(dtype), at = (unsigned)(i % 8) * bits, code = element & ((1u << bits) - 1);
    uint8_t *byte = packed + i / 8 * bits + at / 8;
    *byte = (uint8_t)(*byte | code << at % 8);
    if (at % 8 + bits > 8)
        byte[1] = (uint8_t)(byte[1] | code >> (8 - at % 8));
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

/* bits >> shift, to nearest, ties to even. shift is 1 to 31; a carry moves into the exponent, which
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
        /* The payload stays, so that f16 NaNs survive the round trip; it is only replaced when
         * it would become 0, which would turn the NaN into an infinity. */
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
        for (exponent = 1; !(fraction & 0x400u); exponent--) /* wraps below 0; the bias below corrects it */
            fraction <<= 1;
        fraction &= 0x3ffu;
    }
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t as_bf16_from_f32(float x)
{
    uint32_t bits = bits_of(x);
    if ((bits & 0x7fffffffu) > F32_INFINITY) /* rounding could turn a NaN into infinity or change its sign */
        return (uint16_t)(bits >> 16 | (bits & 0x7f0000u ? 0u : 0x40u));
    return (uint16_t)shift_rounded(bits, 16);
}

float as_bf16_to_f32(uint16_t x) { return float_of((uint32_t)x << 16); }
