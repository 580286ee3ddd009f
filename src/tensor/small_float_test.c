/* small_float_test.c - every code of the floats of 8 bits and less, and how numbers between the codes are rounded. */
#include <stdlib.h>
#include "tensor/tensor.h"
#include "tests/runner/test.h"

static const double given[] = {
    0.0,  -0.0, 0.3,      -0.3,      1.0,     1.0625,    1.1875,  -2.5,     5.0,       6.5,     7.75,
    29.9, 30.0, 240.0,    248.0,     -247.9,  448.0,     464.0,   464.5,    57344.0,   61440.0, -61439.0,
    1e6,  -1e6, INFINITY, -INFINITY, 0x1p-10, 0x1.8p-10, 0x1p-17, -0x1p-18, 0x1.8p-18, 0x1p-9,  1e-30,
};

/* From Python's ml_dtypes: the ends of the format, and the codes of `given`, first by its conversion, then after clipping
 * to the largest number, which ONNX calls saturating. */
static const struct golden {
    as_dtype dtype;
    double   largest, normal, least;
    uint8_t  plain[33], saturated[33];
} goldens[] = {
    {AS_F8E4M3FN,
     448.0,
     0x1p-6,
     0x1p-9,
     {0x00, 0x80, 0x2a, 0xaa, 0x38, 0x38, 0x3a, 0xc2, 0x4a, 0x4d, 0x50, 0x5f, 0x5f, 0x77, 0x78, 0xf7, 0x7e,
      0x7e, 0x7f, 0x7f, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0x00, 0x01, 0x00, 0x80, 0x00, 0x01, 0x00},
     {0x00, 0x80, 0x2a, 0xaa, 0x38, 0x38, 0x3a, 0xc2, 0x4a, 0x4d, 0x50, 0x5f, 0x5f, 0x77, 0x78, 0xf7, 0x7e,
      0x7e, 0x7e, 0x7e, 0x7e, 0xfe, 0x7e, 0xfe, 0x7e, 0xfe, 0x00, 0x01, 0x00, 0x80, 0x00, 0x01, 0x00}},
    {AS_F8E4M3FNUZ,
     240.0,
     0x1p-7,
     0x1p-10,
     {0x00, 0x00, 0x32, 0xb2, 0x40, 0x40, 0x42, 0xca, 0x52, 0x55, 0x58, 0x67, 0x67, 0x7f, 0x80, 0xff, 0x80,
      0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x02, 0x00, 0x00, 0x00, 0x02, 0x00},
     {0x00, 0x00, 0x32, 0xb2, 0x40, 0x40, 0x42, 0xca, 0x52, 0x55, 0x58, 0x67, 0x67, 0x7f, 0x7f, 0xff, 0x7f,
      0x7f, 0x7f, 0x7f, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0x01, 0x02, 0x00, 0x00, 0x00, 0x02, 0x00}},
    {AS_F8E5M2,
     57344.0,
     0x1p-14,
     0x1p-16,
     {0x00, 0x80, 0x35, 0xb5, 0x3c, 0x3c, 0x3d, 0xc1, 0x45, 0x46, 0x48, 0x4f, 0x50, 0x5c, 0x5c, 0xdc, 0x5f,
      0x5f, 0x5f, 0x7b, 0x7c, 0xfb, 0x7c, 0xfc, 0x7c, 0xfc, 0x14, 0x16, 0x00, 0x80, 0x00, 0x18, 0x00},
     {0x00, 0x80, 0x35, 0xb5, 0x3c, 0x3c, 0x3d, 0xc1, 0x45, 0x46, 0x48, 0x4f, 0x50, 0x5c, 0x5c, 0xdc, 0x5f,
      0x5f, 0x5f, 0x7b, 0x7b, 0xfb, 0x7b, 0xfb, 0x7b, 0xfb, 0x14, 0x16, 0x00, 0x80, 0x00, 0x18, 0x00}},
    {AS_F8E5M2FNUZ,
     57344.0,
     0x1p-15,
     0x1p-17,
     {0x00, 0x00, 0x39, 0xb9, 0x40, 0x40, 0x41, 0xc5, 0x49, 0x4a, 0x4c, 0x53, 0x54, 0x60, 0x60, 0xe0, 0x63,
      0x63, 0x63, 0x7f, 0x80, 0xff, 0x80, 0x80, 0x80, 0x80, 0x18, 0x1a, 0x01, 0x00, 0x01, 0x1c, 0x00},
     {0x00, 0x00, 0x39, 0xb9, 0x40, 0x40, 0x41, 0xc5, 0x49, 0x4a, 0x4c, 0x53, 0x54, 0x60, 0x60, 0xe0, 0x63,
      0x63, 0x63, 0x7f, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0x18, 0x1a, 0x01, 0x00, 0x01, 0x1c, 0x00}},
    {AS_F6E2M3,
     7.5,
     0x1p+0,
     0x1p-3,
     {0x00, 0x20, 0x02, 0x22, 0x08, 0x08, 0x0a, 0x32, 0x1a, 0x1d, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x3f, 0x1f,
      0x1f, 0x1f, 0x1f, 0x1f, 0x3f, 0x1f, 0x3f, 0x1f, 0x3f, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00},
     {0x00, 0x20, 0x02, 0x22, 0x08, 0x08, 0x0a, 0x32, 0x1a, 0x1d, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x3f, 0x1f,
      0x1f, 0x1f, 0x1f, 0x1f, 0x3f, 0x1f, 0x3f, 0x1f, 0x3f, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00}},
    {AS_F6E3M2,
     28.0,
     0x1p-2,
     0x1p-4,
     {0x00, 0x20, 0x05, 0x25, 0x0c, 0x0c, 0x0d, 0x31, 0x15, 0x16, 0x18, 0x1f, 0x1f, 0x1f, 0x1f, 0x3f, 0x1f,
      0x1f, 0x1f, 0x1f, 0x1f, 0x3f, 0x1f, 0x3f, 0x1f, 0x3f, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00},
     {0x00, 0x20, 0x05, 0x25, 0x0c, 0x0c, 0x0d, 0x31, 0x15, 0x16, 0x18, 0x1f, 0x1f, 0x1f, 0x1f, 0x3f, 0x1f,
      0x1f, 0x1f, 0x1f, 0x1f, 0x3f, 0x1f, 0x3f, 0x1f, 0x3f, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00}},
    {AS_F4E2M1,
     6.0,
     0x1p+0,
     0x1p-1,
     {0x00, 0x08, 0x01, 0x09, 0x02, 0x02, 0x02, 0x0c, 0x06, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x0f, 0x07,
      0x07, 0x07, 0x07, 0x07, 0x0f, 0x07, 0x0f, 0x07, 0x0f, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00},
     {0x00, 0x08, 0x01, 0x09, 0x02, 0x02, 0x02, 0x0c, 0x06, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x0f, 0x07,
      0x07, 0x07, 0x07, 0x07, 0x0f, 0x07, 0x0f, 0x07, 0x0f, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00}},
};

_Static_assert(AS_COUNT(given) == AS_COUNT(goldens[0].plain), "one code for each number");

static int bits_of_fraction(as_dtype dtype)
{
    return dtype == AS_F8E4M3FN || dtype == AS_F8E4M3FNUZ || dtype == AS_F6E2M3 ? 3 : dtype == AS_F4E2M1 ? 1 : 2;
}

static int n_codes(as_dtype dtype) { return 1 << as_dtype_bits(dtype); }

Test(small_float, the_ends_of_each_format_are_those_of_ml_dtypes)
{
    for (size_t k = 0; k < AS_COUNT(goldens); k++) {
        as_dtype d = goldens[k].dtype;
        double   largest = 0.0;
        for (int code = 0; code < n_codes(d); code++) {
            double x = as_small_to_f64(d, (uint8_t)code);
            if (isfinite(x) && x > largest)
                largest = x;
        }
        expect(largest == goldens[k].largest);
        expect(as_small_to_f64(d, 1) == goldens[k].least);
        expect(as_small_to_f64(d, (uint8_t)(1 << bits_of_fraction(d))) == goldens[k].normal);
    }
}

/* The bits of a code, moved to their places in an f32, give an f32 that is off by the difference of the biases: a power of two. */
static double meaning(const struct golden *g, int code)
{
    int      sign = n_codes(g->dtype) / 2;
    uint32_t bits = (uint32_t)(code & (sign - 1)) << (23 - bits_of_fraction(g->dtype));
    float    x;
    memcpy(&x, &bits, sizeof x);
    int bias = 1 - ilogb(g->normal);
    return (code & sign ? -1.0 : 1.0) * ldexp((double)x, 127 - bias);
}

static bool is_number(const struct golden *g, int code)
{
    switch (g->dtype) {
    case AS_F8E4M3FN: return (code & 0x7f) != 0x7f;
    case AS_F8E5M2: return (code & 0x7f) < 0x7c;
    case AS_F8E4M3FNUZ:
    case AS_F8E5M2FNUZ: return code != 0x80;
    default: return true;
    }
}

Test(small_float, every_code_means_what_its_bits_say_and_comes_back)
{
    int n_nan = 0, n_infinite = 0;
    for (size_t k = 0; k < AS_COUNT(goldens); k++)
        for (int code = 0; code < n_codes(goldens[k].dtype); code++) {
            double x = as_small_to_f64(goldens[k].dtype, (uint8_t)code);
            if (is_number(&goldens[k], code)) {
                double want = meaning(&goldens[k], code);
                if (x != want || !signbit(x) != !signbit(want))
                    fail("%s 0x%02x gave %g, not %g", as_dtype_name(goldens[k].dtype), (unsigned)code, x, want);
                for (int saturate = 0; saturate < 2; saturate++)
                    expect_eq(as_small_from_f64(goldens[k].dtype, x, saturate, AS_E8M0_UP), code);
            } else if (isinf(x)) {
                n_infinite++;
                expect_eq(as_small_from_f64(goldens[k].dtype, x, false, AS_E8M0_UP), code);
            } else {
                n_nan++;
                expect(isnan(x));
                expect(isnan(as_small_to_f64(goldens[k].dtype, as_small_from_f64(goldens[k].dtype, x, true, AS_E8M0_UP))));
            }
        }
    expect_eq(n_infinite, 2); /* e5m2's */
    expect_eq(n_nan, 2 + 1 + 2 * 3 + 1);
}

Test(small_float, numbers_become_what_they_become_in_ml_dtypes)
{
    for (size_t k = 0; k < AS_COUNT(goldens); k++)
        for (size_t i = 0; i < AS_COUNT(given); i++) {
            unsigned plain = as_small_from_f64(goldens[k].dtype, given[i], false, AS_E8M0_UP);
            unsigned saturated = as_small_from_f64(goldens[k].dtype, given[i], true, AS_E8M0_UP);
            if (plain != goldens[k].plain[i] || saturated != goldens[k].saturated[i])
                fail("%g became %s 0x%02x and, saturating, 0x%02x; it is 0x%02x and 0x%02x", given[i],
                     as_dtype_name(goldens[k].dtype), plain, saturated, goldens[k].plain[i], goldens[k].saturated[i]);
        }
}

Test(small_float, between_all_neighbours_ties_go_to_even_and_the_rest_to_the_nearest)
{
    for (size_t k = 0; k < AS_COUNT(goldens); k++) {
        as_dtype d = goldens[k].dtype;
        int      sign = n_codes(d) / 2;
        for (int code = 0; as_small_to_f64(d, (uint8_t)code) < goldens[k].largest; code++) {
            double middle = (as_small_to_f64(d, (uint8_t)code) + as_small_to_f64(d, (uint8_t)(code + 1))) / 2;
            int    even = code & 1 ? code + 1 : code;
            expect_eq(as_small_from_f64(d, middle, true, AS_E8M0_UP), even);
            expect_eq(as_small_from_f64(d, nextafter(middle, INFINITY), true, AS_E8M0_UP), code + 1);
            expect_eq(as_small_from_f64(d, nextafter(middle, 0.0), true, AS_E8M0_UP), code);
            if (even) /* else the format decides the sign of zero */
                expect_eq(as_small_from_f64(d, -middle, true, AS_E8M0_UP), even | sign);
        }
    }
}

Test(small_float, a_nan_keeps_its_sign_where_there_are_two_and_is_zero_where_there_is_none)
{
    double nan = fabs(strtod("nan", NULL));
    expect_eq(as_small_from_f64(AS_F8E4M3FN, nan, true, AS_E8M0_UP), 0x7f);
    expect_eq(as_small_from_f64(AS_F8E4M3FN, -nan, true, AS_E8M0_UP), 0xff);
    expect_eq(as_small_from_f64(AS_F8E4M3FNUZ, -nan, true, AS_E8M0_UP), 0x80);
    expect_eq(as_small_from_f64(AS_F8E5M2, nan, true, AS_E8M0_UP), 0x7e);
    expect_eq(as_small_from_f64(AS_F8E5M2, -nan, true, AS_E8M0_UP), 0xfe);
    expect_eq(as_small_from_f64(AS_F8E5M2FNUZ, nan, true, AS_E8M0_UP), 0x80);
    expect_eq(as_small_from_f64(AS_F6E2M3, nan, true, AS_E8M0_UP), 0);
    expect_eq(as_small_from_f64(AS_F6E3M2, -nan, false, AS_E8M0_UP), 0);
    expect_eq(as_small_from_f64(AS_F4E2M1, nan, false, AS_E8M0_UP), 0);
    expect_eq(as_small_from_f64(AS_F8E8M0, nan, true, AS_E8M0_UP), 0xff);
}

Test(small_float, e8m0_is_all_powers_of_two_and_each_comes_back_in_every_mode)
{
    double want = 0x1p-127;
    for (int code = 0; code < 255; code++, want *= 2) {
        expect(as_small_to_f64(AS_F8E8M0, (uint8_t)code) == want);
        for (int round = AS_E8M0_NEAREST; round <= AS_E8M0_DOWN; round++) {
            expect_eq(as_small_from_f64(AS_F8E8M0, want, true, (as_e8m0_round)round), code);
            expect_eq(as_small_from_f64(AS_F8E8M0, want, false, (as_e8m0_round)round), code);
        }
    }
    expect(isnan(as_small_to_f64(AS_F8E8M0, 255)));
}

Test(small_float, e8m0_rounds_up_down_or_to_the_nearest_with_ties_up)
{
    static const struct {
        double x;
        int    up, down, nearest;
    } cases[] = {
        {1.1, 128, 127, 127},
        {1.5, 128, 127, 128},
        {1.4999, 128, 127, 127},
        {3.5, 129, 128, 129},
        {0.124, 124, 123, 124},
        {0x1.0000000000001p-127, 1, 0, 0},
        {0x1.fffffffffffffp126, 254, 253, 254},
    };
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        expect_eq(as_small_from_f64(AS_F8E8M0, cases[i].x, true, AS_E8M0_UP), cases[i].up);
        expect_eq(as_small_from_f64(AS_F8E8M0, cases[i].x, true, AS_E8M0_DOWN), cases[i].down);
        expect_eq(as_small_from_f64(AS_F8E8M0, cases[i].x, false, AS_E8M0_NEAREST), cases[i].nearest);
    }
}

Test(small_float, e8m0_has_neither_zero_nor_sign)
{
    static const double low[] = {0.0, -0.0, 0x1p-128, 1e-300}, high[] = {0x1.8p127, 1e300, INFINITY};
    for (size_t i = 0; i < AS_COUNT(low); i++) {
        expect_eq(as_small_from_f64(AS_F8E8M0, low[i], true, AS_E8M0_UP), 0);
        expect_eq(as_small_from_f64(AS_F8E8M0, low[i], false, AS_E8M0_NEAREST), 255);
    }
    for (size_t i = 0; i < AS_COUNT(high); i++) {
        expect_eq(as_small_from_f64(AS_F8E8M0, high[i], true, AS_E8M0_UP), 254);
        expect_eq(as_small_from_f64(AS_F8E8M0, high[i], false, AS_E8M0_NEAREST), 255);
    }
    expect_eq(as_small_from_f64(AS_F8E8M0, -1.0, true, AS_E8M0_UP), 255);
}

/* --- Packing -------------------------------------------------------------------------------------- */

Test(packed, the_first_element_is_in_the_low_bits)
{
    uint8_t out[4] = {0};
    as_packed_put(AS_U4, out, 0, 1);
    as_packed_put(AS_U4, out, 1, 2);
    as_packed_put(AS_U4, out, 2, 15);
    expect_eq(out[0], 0x21);
    expect_eq(out[1], 0x0f);
    memset(out, 0, sizeof out);
    for (size_t i = 0; i < 5; i++)
        as_packed_put(AS_I2, out, i, (uint8_t)(int8_t)((int)(i % 4) - 2)); /* -2 -1 0 1 -2 */
    expect_eq(out[0], 0x4e);
    expect_eq(out[1], 0x02);
    memset(out, 0, sizeof out);
    for (size_t i = 0; i < 4; i++)
        as_packed_put(AS_F6E2M3, out, i, (uint8_t)(0x21 + i)); /* 100001 100010 100011 100100 from right to left */
    expect_eq(out[0], 0xa1);
    expect_eq(out[1], 0x38);
    expect_eq(out[2], 0x92);
}

Test(packed, what_is_put_is_got_and_signs_are_extended)
{
    static const as_dtype dtypes[] = {AS_I4, AS_U4, AS_I2, AS_U2, AS_F6E2M3, AS_F6E3M2, AS_F4E2M1};
    for (size_t k = 0; k < AS_COUNT(dtypes); k++) {
        uint8_t  out[96] = {0}, element[128];
        unsigned bits = (unsigned)as_dtype_bits(dtypes[k]);
        bool     is_signed = dtypes[k] == AS_I4 || dtypes[k] == AS_I2;
        for (size_t i = 0; i < 128; i++) {
            int code = (int)(i * 7 + i / 9) & ((1 << bits) - 1), half = 1 << (bits - 1);
            element[i] = (uint8_t)(is_signed && code >= half ? code - 2 * half : code);
            as_packed_put(dtypes[k], out, i, element[i]);
        }
        for (size_t i = 0; i < 128; i++)
            expect_eq(as_packed_get(dtypes[k], out, i), element[i]);
        for (size_t i = as_packed_bytes(dtypes[k], 128); i < sizeof out; i++)
            expect_eq(out[i], 0);
    }
}

Test(packed, bytes_round_up_and_do_not_overflow)
{
    expect_eq(as_packed_bytes(AS_I4, 0), 0);
    expect_eq(as_packed_bytes(AS_I4, 1), 1);
    expect_eq(as_packed_bytes(AS_I4, 3), 2);
    expect_eq(as_packed_bytes(AS_U2, 4), 1);
    expect_eq(as_packed_bytes(AS_U2, 5), 2);
    expect_eq(as_packed_bytes(AS_F6E3M2, 1), 1);
    expect_eq(as_packed_bytes(AS_F6E3M2, 3), 3);
    expect_eq(as_packed_bytes(AS_F6E3M2, 9), 7);
    expect_eq(as_packed_bytes(AS_F4E2M1, SIZE_MAX / 2), SIZE_MAX / 4 + 1);
}
