/* dtype_test.c - names, sizes, and every one of the 65536 values of the 16-bit floats. */
#include <stdlib.h>

#include "tensor/tensor.h"
#include "tests/runner/test.h"

Test(dtype, names_parse_back_to_themselves)
{
    for (int i = AS_NONE + 1; i < AS_N_DTYPES; i++) {
        as_dtype dtype = AS_NONE;
        expect(as_dtype_parse(as_dtype_name((as_dtype)i), &dtype));
        expect_eq(dtype, i);
    }
}

Test(dtype, parse_refuses_what_is_no_dtype_and_leaves_the_output)
{
    as_dtype dtype = AS_I8;
    expect(!as_dtype_parse("f31", &dtype));
    expect(!as_dtype_parse("", &dtype));
    expect(!as_dtype_parse("none", &dtype));
    expect(!as_dtype_parse("F32", &dtype));
    expect_eq(dtype, AS_I8);
}

Test(dtype, sizes_are_those_of_the_c_types)
{
    expect_eq(as_dtype_bytes(AS_NONE), 0);
    expect_eq(as_dtype_bytes(AS_F64), sizeof(double));
    expect_eq(as_dtype_bytes(AS_F32), sizeof(float));
    expect_eq(as_dtype_bytes(AS_F16), 2);
    expect_eq(as_dtype_bytes(AS_BF16), 2);
    expect_eq(as_dtype_bytes(AS_I8), 1);
    expect_eq(as_dtype_bytes(AS_U8), 1);
    expect_eq(as_dtype_bytes(AS_I16), 2);
    expect_eq(as_dtype_bytes(AS_U16), 2);
    expect_eq(as_dtype_bytes(AS_I32), 4);
    expect_eq(as_dtype_bytes(AS_U32), 4);
    expect_eq(as_dtype_bytes(AS_U64), 8);
    expect_eq(as_dtype_bytes(AS_I64), 8);
    expect_eq(as_dtype_bytes(AS_BOOL), 1);
}

Test(dtype, floats_are_the_four_large_ones_and_the_eight_small_ones)
{
    for (int i = 0; i < AS_N_DTYPES; i++) {
        bool is_large = i == AS_F64 || i == AS_F32 || i == AS_F16 || i == AS_BF16, is_small = i >= AS_F8E4M3FN && i <= AS_F4E2M1;
        expect_eq(as_dtype_is_float((as_dtype)i), is_large || is_small);
        expect_eq(as_dtype_is_small_float((as_dtype)i), is_small);
    }
}

Test(dtype, names_tell_the_bits_and_less_than_eight_take_a_byte)
{
    for (int i = AS_NONE + 1; i < AS_N_DTYPES; i++) {
        const char *digits = strpbrk(as_dtype_name((as_dtype)i), "12345678");
        int         bits = digits ? (int)strtol(digits, NULL, 10) : 8; /* bool */
        expect_eq(as_dtype_bits((as_dtype)i), bits);
        expect_eq(as_dtype_bytes((as_dtype)i), bits < 8 ? 1 : bits / 8);
    }
    expect_eq(as_dtype_bits(AS_NONE), 0);
}

Test(dtype, a_number_that_is_no_dtype_has_no_size_and_a_name_that_says_so)
{
    volatile int beyond = AS_N_DTYPES + 5;
    expect_eq(as_dtype_bytes((as_dtype)beyond), 0);
    expect(!as_dtype_is_float((as_dtype)beyond));
    expect_str(as_dtype_name((as_dtype)beyond), "unknown");
    expect_str(as_dtype_name(AS_NONE), "none");
}

/* The value of a finite f16 by the definition of the format, not by the code under test. */
static double f16_meaning(unsigned bits)
{
    int    exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
}

Test(f16, every_value_means_what_the_format_says)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        float x = as_f16_to_f32((uint16_t)bits);
        if ((bits & 0x7fff) > 0x7c00)
            expect(isnan(x));
        else if ((bits & 0x7fff) == 0x7c00)
            expect(x == (bits == 0x7c00 ? INFINITY : -INFINITY));
        else if ((double)x != f16_meaning(bits) || !signbit(x) != !(bits & 0x8000))
            fail("f16 0x%04x gave %g", bits, (double)x);
    }
}

Test(f16, every_value_makes_the_round_trip_bit_for_bit_nan_payloads_too)
{
    for (unsigned bits = 0; bits < 65536; bits++)
        expect_eq(as_f16_from_f32(as_f16_to_f32((uint16_t)bits)), bits);
}

Test(f16, between_all_neighbours_ties_go_to_even_and_the_rest_to_the_nearest)
{
    for (unsigned bits = 0; bits < 0x7bff; bits++) {
        float    middle = (float)((f16_meaning(bits) + f16_meaning(bits + 1)) / 2); /* exact in f32 */
        unsigned even = bits & 1 ? bits + 1 : bits;
        expect_eq(as_f16_from_f32(middle), even);
        expect_eq(as_f16_from_f32(-middle), even | 0x8000);
        expect_eq(as_f16_from_f32(nextafterf(middle, INFINITY)), bits + 1);
        expect_eq(as_f16_from_f32(nextafterf(middle, 0.0f)), bits);
    }
}

Test(f16, overflow_starts_half_a_step_above_the_largest)
{
    expect_eq(as_f16_from_f32(65504.0f), 0x7bff);
    expect_eq(as_f16_from_f32(nextafterf(65520.0f, 0.0f)), 0x7bff);
    expect_eq(as_f16_from_f32(65520.0f), 0x7c00);
    expect_eq(as_f16_from_f32(-65536.0f), 0xfc00);
    expect_eq(as_f16_from_f32(3.4e38f), 0x7c00);
    expect_eq(as_f16_from_f32(INFINITY), 0x7c00);
    expect_eq(as_f16_from_f32(-INFINITY), 0xfc00);
}

Test(f16, what_is_too_small_becomes_zero_of_its_sign)
{
    expect_eq(as_f16_from_f32(0x1p-25f), 0);
    expect_eq(as_f16_from_f32(nextafterf(0x1p-25f, 1.0f)), 1);
    expect_eq(as_f16_from_f32(-0x1p-26f), 0x8000);
    expect_eq(as_f16_from_f32(0x1p-149f), 0);
    expect_eq(as_f16_from_f32(-0.0f), 0x8000);
}

static float f32_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

Test(f16, a_nan_whose_payload_does_not_fit_stays_nan)
{
    expect_eq(as_f16_from_f32(f32_from_bits(0x7f800001)), 0x7e00);
    expect_eq(as_f16_from_f32(f32_from_bits(0xff800001)), 0xfe00);
}

Test(bf16, every_value_makes_the_round_trip_bit_for_bit_nan_payloads_too)
{
    for (unsigned bits = 0; bits < 65536; bits++)
        expect_eq(as_bf16_from_f32(as_bf16_to_f32((uint16_t)bits)), bits);
}

Test(bf16, every_value_is_the_upper_half_of_an_f32)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        float    x = as_bf16_to_f32((uint16_t)bits);
        uint32_t got;
        memcpy(&got, &x, sizeof got);
        expect_eq(got, (uint32_t)bits << 16);
    }
}

Test(bf16, between_all_neighbours_ties_go_to_even_and_the_rest_to_the_nearest)
{
    for (unsigned bits = 0; bits < 0x7f80; bits++) { /* from zero through the subnormals to infinity */
        uint32_t middle = (uint32_t)bits << 16 | 0x8000;
        unsigned even = bits & 1 ? bits + 1 : bits;
        expect_eq(as_bf16_from_f32(f32_from_bits(middle)), even);
        expect_eq(as_bf16_from_f32(f32_from_bits(middle | 0x80000000u)), even | 0x8000);
        expect_eq(as_bf16_from_f32(f32_from_bits(middle + 1)), bits + 1);
        expect_eq(as_bf16_from_f32(f32_from_bits(middle - 1)), bits);
    }
}

Test(bf16, a_nan_stays_nan_whatever_its_payload)
{
    expect_eq(as_bf16_from_f32(f32_from_bits(0x7f800001)), 0x7fc0);
    expect_eq(as_bf16_from_f32(f32_from_bits(0xff80ffff)), 0xffc0);
    expect_eq(as_bf16_from_f32(f32_from_bits(0x7fffffff)), 0x7fff);
    expect_eq(as_bf16_from_f32(f32_from_bits(0xffffffff)), 0xffff);
}
