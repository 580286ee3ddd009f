/* view_test.c - elements through strides, rounding and saturation on the way in, copies and errors. */
#include <float.h>

#include "tensor/tensor.h"
#include "tests/runner/test.h"

static const as_shape scalar = {0};

Test(view, of_a_shape_is_row_major)
{
    as_view v = as_view_of(NULL, AS_F32, &AS_SHAPE(2, 3, 4));
    expect_eq(v.stride[0], 12);
    expect_eq(v.stride[1], 4);
    expect_eq(v.stride[2], 1);
    expect(as_view_contiguous(&v));
    expect_eq(as_view_bytes(&v), 96);
}

Test(view, of_nothing_and_of_one_element_is_contiguous_whatever_the_strides)
{
    as_view none = as_view_of(NULL, AS_F32, &AS_SHAPE(3, 0, 2));
    none.stride[0] = 99;
    expect(as_view_contiguous(&none));
    expect_eq(as_view_bytes(&none), 0);
    as_view one = as_view_of(NULL, AS_F32, &AS_SHAPE(1, 1));
    one.stride[0] = -7;
    expect(as_view_contiguous(&one));
    as_view point = as_view_of(NULL, AS_I8, &scalar);
    expect(as_view_contiguous(&point));
    expect_eq(as_view_bytes(&point), 1);
}

Test(view, that_is_transposed_reversed_or_repeated_is_not_contiguous)
{
    as_view v = as_view_of(NULL, AS_F32, &AS_SHAPE(2, 3));
    as_view t = v, r = v, z = v;
    t.stride[0] = 1, t.stride[1] = 2;
    r.stride[1] = -1;
    z.stride[0] = 0;
    expect(!as_view_contiguous(&t));
    expect(!as_view_contiguous(&r));
    expect(!as_view_contiguous(&z));
}

Test(view, get_follows_any_strides)
{
    float               data[6] = {0, 1, 2, 3, 4, 5};
    as_view             v = as_view_of(data, AS_F32, &AS_SHAPE(2, 3));
    as_view             t = {.data = data, .dtype = AS_F32, .shape = AS_SHAPE(3, 2), .stride = {1, 3}};
    as_view             back = {.data = data + 5, .dtype = AS_F32, .shape = AS_SHAPE(2, 3), .stride = {-3, -1}};
    static const double transposed[6] = {0, 3, 1, 4, 2, 5};
    for (int i = 0; i < 6; i++) {
        expect_eq(as_view_get(&v, i), i);
        expect_eq(as_view_get(&t, i), transposed[i]);
        expect_eq(as_view_get(&back, i), 5 - i);
    }
}

Test(view, set_follows_any_strides)
{
    int32_t data[6] = {0};
    as_view t = {.data = data, .dtype = AS_I32, .shape = AS_SHAPE(3, 2), .stride = {1, 3}};
    for (int i = 0; i < 6; i++)
        as_view_set(&t, i, i);
    static const int32_t want[6] = {0, 2, 4, 1, 3, 5};
    expect(!memcmp(data, want, sizeof want));
}

Test(view, at_and_put_take_an_index_vector)
{
    int8_t  data[12] = {0};
    as_view t = {.data = data + 3, .dtype = AS_I8, .shape = AS_SHAPE(3, 4), .stride = {4, -1}};
    as_view_put(&t, (const int64_t[]){2, 1}, -5);
    expect_eq(data[10], -5);
    expect_eq(as_view_at(&t, (const int64_t[]){2, 1}), -5);
    expect_eq(as_view_get(&t, 9), -5);
}

Test(view, of_a_scalar_has_one_element)
{
    double  x = 2.5;
    as_view v = as_view_of(&x, AS_F64, &scalar);
    expect_eq(as_view_get(&v, 0) * 2, 5);
    as_view_put(&v, NULL, 7.0);
    expect_eq(as_view_at(&v, NULL), 7);
}

Test(view, stands_on_memory_of_any_alignment)
{
    unsigned char bytes[17] = {0};
    as_view       v = as_view_of(bytes + 1, AS_F64, &AS_SHAPE(2));
    as_view_set(&v, 1, 0.1);
    expect(as_view_get(&v, 1) == 0.1);
    as_view w = as_view_of(bytes + 1, AS_I64, &AS_SHAPE(2));
    as_view_set_i64(&w, 0, INT64_MIN);
    expect_eq(as_view_get_i64(&w, 0), INT64_MIN);
}

Test(view, of_every_dtype_gives_back_small_integers)
{
    for (int d = AS_NONE + 1; d < AS_N_DTYPES; d++) {
        uint64_t memory[4] = {0};
        as_view  v = as_view_of(memory, (as_dtype)d, &AS_SHAPE(4));
        as_view_set(&v, 2, 1.0);
        as_view_set_i64(&v, 3, 1);
        expect_eq(as_view_get(&v, 2), 1);
        expect_eq(as_view_get_i64(&v, 2), 1);
        expect_eq(as_view_get_i64(&v, 3), 1);
        expect(as_view_get(&v, 1) == (d == AS_F8E8M0 ? 0x1p-127 : 0.0)); /* which has no zero */
    }
}

static double stored(as_dtype dtype, double x)
{
    uint64_t memory = 0;
    as_view  v = as_view_of(&memory, dtype, &scalar);
    as_view_set(&v, 0, x);
    return as_view_get(&v, 0);
}

Test(view, set_saturates_integers_and_cuts_towards_zero)
{
    static const struct {
        as_dtype dtype;
        double   in, out;
    } rows[] = {
        {AS_I8, 1e9, 127},
        {AS_I8, -1e9, -128},
        {AS_I8, -1.9, -1},
        {AS_I8, NAN, 0},
        {AS_U8, 300, 255},
        {AS_U8, -1, 0},
        {AS_U8, 254.9, 254},
        {AS_U8, NAN, 0},
        {AS_I16, 40000, 32767},
        {AS_I16, -40000, -32768},
        {AS_U16, 1e6, 65535},
        {AS_U16, -1, 0},
        {AS_U32, 1e10, 4294967295.0},
        {AS_U32, -1, 0},
        {AS_U64, -1, 0},
        {AS_U64, NAN, 0},
        {AS_U64, 0x1p63, 0x1p63},
        {AS_U64, 1e30, 0x1p64},
        {AS_I32, 1e10, 2147483647.0},
        {AS_I32, -INFINITY, -2147483648.0},
        {AS_I32, -0.5, 0},
        {AS_I64, 0x1p63, 0x1p63},
        {AS_I64, INFINITY, 0x1p63},
        {AS_I64, -0x1p63, -0x1p63},
        {AS_I64, -1e300, -0x1p63},
        {AS_I64, NAN, 0},
        {AS_I64, -3.7, -3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (stored(rows[i].dtype, rows[i].in) != rows[i].out)
            fail("%s of %g is %g, expected %g", as_dtype_name(rows[i].dtype), rows[i].in, stored(rows[i].dtype, rows[i].in),
                 rows[i].out);
}

Test(view, of_u64_passes_its_bits_through_i64_and_its_value_through_double)
{
    uint64_t x = UINT64_MAX;
    as_view  v = as_view_of(&x, AS_U64, &scalar);
    expect_eq(as_view_get_i64(&v, 0), -1);
    expect(as_view_get(&v, 0) == 0x1p64);
    as_view_set_i64(&v, 0, INT64_MIN);
    expect(x == UINT64_C(1) << 63);
}

Test(view, copy_converts_u64_by_value)
{
    uint64_t big = UINT64_MAX - 1, u = 7;
    int64_t  i = -5;
    float    f = 0;
    as_view  vb = as_view_of(&big, AS_U64, &scalar), vu = as_view_of(&u, AS_U64, &scalar);
    as_view  vi = as_view_of(&i, AS_I64, &scalar), vf = as_view_of(&f, AS_F32, &scalar);
    as_view_copy(&vu, &vi);
    expect(u == 0);
    as_view_copy(&vf, &vb);
    expect(f == 0x1p64f);
    expect(as_view_error(&vb, &vi) > 1e18);
    as_view_copy(&vi, &vb);
    expect_eq(i, INT64_MAX);
    u = UINT64_MAX;
    expect(as_view_error(&vu, &vb) > 0.0 && as_view_error(&vu, &vb) < 1e-19);
}

Test(view, set_stores_x_unequal_zero_for_bool)
{
    expect_eq(stored(AS_BOOL, 0.25), 1);
    expect_eq(stored(AS_BOOL, -3), 1);
    expect_eq(stored(AS_BOOL, NAN), 1);
    expect_eq(stored(AS_BOOL, -0.0), 0);
}

Test(view, get_of_a_bool_is_one_for_any_byte_but_zero)
{
    uint8_t bytes[3] = {0, 1, 200};
    as_view v = as_view_of(bytes, AS_BOOL, &AS_SHAPE(3));
    expect_eq(as_view_get(&v, 0), 0);
    expect_eq(as_view_get(&v, 2), 1);
    expect_eq(as_view_get_i64(&v, 2), 1);
}

Test(view, set_rounds_floats_once)
{
    expect(stored(AS_F32, 1.0 + 0x1p-24) == 1.0);
    expect(stored(AS_F32, 1.0 + 0x1p-24 + 0x1p-40) == 1.0 + 0x1p-23);
    /* The nearest f32 of these is a tie in f16 or bf16, and rounding again would go the wrong way. */
    expect(stored(AS_F16, 1.0 + 0x1p-11 + 0x1p-40) == 1.0 + 0x1p-10);
    expect(stored(AS_F16, 1.0 + 0x1p-11) == 1.0);
    expect(stored(AS_F16, 1.0 + 0x3p-11 - 0x1p-40) == 1.0 + 0x1p-10);
    expect(stored(AS_F16, -(1.0 + 0x1p-11 + 0x1p-40)) == -(1.0 + 0x1p-10));
    expect(stored(AS_F16, 0x1p-25 + 0x1p-70) == 0x1p-24);
    expect(stored(AS_F16, 65520.0 - 0x1p-30) == 65504.0);
    expect(stored(AS_BF16, 1.0 + 0x1p-8 + 0x1p-40) == 1.0 + 0x1p-7);
    expect(stored(AS_BF16, 1.0 + 0x1p-8) == 1.0);
}

Test(view, set_overflows_floats_to_infinity_and_keeps_nan_and_signed_zero)
{
    expect(isinf(stored(AS_F32, DBL_MAX)));
    expect(isinf(stored(AS_F16, DBL_MAX)));
    expect(isinf(stored(AS_BF16, -DBL_MAX)));
    expect(isnan(stored(AS_F16, NAN)) && isnan(stored(AS_BF16, NAN)) && isnan(stored(AS_F32, NAN)));
    expect(stored(AS_F16, -1e-300) == 0.0 && signbit(stored(AS_F16, -1e-300)));
    expect(signbit(stored(AS_BF16, -0.0)));
}

Test(view, i64_accessors_are_exact_beyond_2_to_the_53)
{
    int64_t data[2];
    as_view v = as_view_of(data, AS_I64, &AS_SHAPE(2));
    as_view_set_i64(&v, 1, INT64_MAX - 1);
    expect_eq(as_view_get_i64(&v, 1), INT64_MAX - 1);
    as_view_set_i64(&v, 0, INT64_MIN);
    expect_eq(as_view_get_i64(&v, 0), INT64_MIN);
}

Test(view, set_i64_saturates_narrow_integers)
{
    int8_t  i8;
    uint8_t u8;
    int32_t i32;
    as_view v8 = as_view_of(&i8, AS_I8, &scalar), vu = as_view_of(&u8, AS_U8, &scalar);
    as_view v32 = as_view_of(&i32, AS_I32, &scalar);
    as_view_set_i64(&v8, 0, 1000);
    as_view_set_i64(&vu, 0, -1);
    as_view_set_i64(&v32, 0, INT64_MIN);
    expect_eq(i8, 127);
    expect_eq(u8, 0);
    expect_eq(i32, INT32_MIN);
}

Test(view, set_i64_rounds_to_a_float_once)
{
    float    f32;
    uint16_t bf16;
    as_view  v32 = as_view_of(&f32, AS_F32, &scalar), v16 = as_view_of(&bf16, AS_BF16, &scalar);
    int64_t  above_tie = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1; /* f64 loses the 1, and the tie goes down */
    as_view_set_i64(&v32, 0, above_tie);
    expect(f32 == 0x1p62f + 0x1p39f);
    as_view_set_i64(&v32, 0, -above_tie);
    expect(f32 == -(0x1p62f + 0x1p39f));
    as_view_set_i64(&v16, 0, (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1);
    expect(as_bf16_to_f32(bf16) == 0x1p62f + 0x1p55f);
    as_view_set_i64(&v32, 0, INT64_MAX);
    expect(f32 == 0x1p63f);
    as_view_set_i64(&v32, 0, INT64_MIN);
    expect(f32 == -0x1p63f);
}

Test(view, get_i64_of_floats_cuts_saturates_and_gives_zero_for_nan)
{
    double  data[4] = {-2.9, 1e300, -INFINITY, NAN};
    as_view v = as_view_of(data, AS_F64, &AS_SHAPE(4));
    expect_eq(as_view_get_i64(&v, 0), -2);
    expect_eq(as_view_get_i64(&v, 1), INT64_MAX);
    expect_eq(as_view_get_i64(&v, 2), INT64_MIN);
    expect_eq(as_view_get_i64(&v, 3), 0);
}

Test(view, broadcast_repeats_with_stride_zero)
{
    float               data[3] = {1, 2, 3};
    as_view             column = as_view_of(data, AS_F32, &AS_SHAPE(3, 1));
    as_view             wide = as_view_broadcast(&column, &AS_SHAPE(2, 3, 2));
    static const double want[12] = {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3};
    for (int i = 0; i < 12; i++)
        expect_eq(as_view_get(&wide, i), want[i]);
    expect_eq(wide.stride[0], 0);
    expect_eq(wide.stride[1], 1);
    expect_eq(wide.stride[2], 0);
    as_view point = as_view_of(data + 1, AS_F32, &scalar);
    as_view all = as_view_broadcast(&point, &AS_SHAPE(4));
    expect_eq(as_view_get(&all, 3), 2);
}

Test(view, copy_brings_a_transposed_view_into_order)
{
    int64_t data[6] = {0, 1, 2, 3, 4, INT64_MAX}, out[6];
    as_view t = {.data = data, .dtype = AS_I64, .shape = AS_SHAPE(3, 2), .stride = {1, 3}};
    as_view o = as_view_of(out, AS_I64, &AS_SHAPE(6)); /* another shape of the same count */
    as_view_copy(&o, &t);
    static const int64_t want[6] = {0, 3, 1, 4, 2, INT64_MAX};
    expect(!memcmp(out, want, sizeof want));
}

Test(view, copy_keeps_the_bits_of_a_nan)
{
    uint32_t in[2] = {0x7f812345, 0xffc00001}, out[2] = {0};
    as_view  from = as_view_of(in, AS_F32, &AS_SHAPE(2)), to = as_view_of(out, AS_F32, &AS_SHAPE(2));
    as_view_copy(&to, &from);
    expect(!memcmp(in, out, sizeof in));
    from.data = in + 1, from.stride[0] = -1;
    as_view_copy(&to, &from);
    expect_eq(out[0], in[1]);
    expect_eq(out[1], in[0]);
}

Test(view, copy_converts_and_writes_bools_as_one)
{
    float   f[3] = {-1.5f, 300.0f, 0.25f};
    uint8_t u[3] = {9, 9, 9}, b[3] = {0, 77, 1}, c[3] = {9, 9, 9};
    as_view vf = as_view_of(f, AS_F32, &AS_SHAPE(3)), vu = as_view_of(u, AS_U8, &AS_SHAPE(3));
    as_view vb = as_view_of(b, AS_BOOL, &AS_SHAPE(3)), vc = as_view_of(c, AS_BOOL, &AS_SHAPE(3));
    as_view_copy(&vu, &vf);
    expect(!memcmp(u, (const uint8_t[]){0, 255, 0}, 3));
    as_view_copy(&vc, &vb);
    expect(!memcmp(c, (const uint8_t[]){0, 1, 1}, 3));
    as_view_copy(&vf, &vb);
    expect(f[0] == 0.0f && f[1] == 1.0f && f[2] == 1.0f);
}

Test(view, copy_of_nothing_touches_nothing)
{
    as_view none = as_view_of(NULL, AS_F32, &AS_SHAPE(0, 3));
    as_view_copy(&none, &none);
    expect_eq(as_view_bytes(&none), 0);
}

Test(view, error_is_the_largest_and_relative_to_one_plus_b)
{
    float   a[3] = {1, 2, 10}, b[3] = {1, 2.5f, 9};
    as_view va = as_view_of(a, AS_F32, &AS_SHAPE(3)), vb = as_view_of(b, AS_F32, &AS_SHAPE(3));
    expect_near(as_view_error(&va, &vb), 0.5 / 3.5, 1e-15);
    expect_eq(as_view_error(&va, &va), 0);
}

Test(view, error_follows_strides_and_dtypes)
{
    double  a[4] = {1, 2, 3, 4};
    int8_t  b[4] = {1, 3, 2, 4};
    as_view va = as_view_of(a, AS_F64, &AS_SHAPE(2, 2));
    as_view vb = {.data = b, .dtype = AS_I8, .shape = AS_SHAPE(2, 2), .stride = {1, 2}};
    expect_eq(as_view_error(&va, &vb), 0);
}

Test(view, error_is_infinite_when_only_one_is_nan_or_infinities_differ_or_shapes_do)
{
    double  a[2] = {NAN, INFINITY}, b[2] = {NAN, INFINITY}, c[2] = {0, INFINITY}, d[2] = {NAN, -INFINITY};
    as_view va = as_view_of(a, AS_F64, &AS_SHAPE(2)), vb = as_view_of(b, AS_F64, &AS_SHAPE(2));
    as_view vc = as_view_of(c, AS_F64, &AS_SHAPE(2)), vd = as_view_of(d, AS_F64, &AS_SHAPE(2));
    as_view row = as_view_of(b, AS_F64, &AS_SHAPE(1, 2));
    expect_eq(as_view_error(&va, &vb), 0);
    expect(isinf(as_view_error(&va, &vc)));
    expect(isinf(as_view_error(&vc, &va)));
    expect(isinf(as_view_error(&va, &vd)));
    expect(isinf(as_view_error(&va, &row)));
}

Test(view, error_sees_a_difference_of_one_between_huge_integers)
{
    int64_t a = INT64_MAX, b = INT64_MAX - 1, c = INT64_MIN;
    as_view va = as_view_of(&a, AS_I64, &scalar), vb = as_view_of(&b, AS_I64, &scalar);
    as_view vc = as_view_of(&c, AS_I64, &scalar);
    expect(as_view_error(&va, &vb) > 0);
    expect_near(as_view_error(&va, &vc), 2.0, 1e-9);
}

Test(view, error_of_finite_doubles_is_finite)
{
    double  a = DBL_MAX, b = -DBL_MAX;
    as_view va = as_view_of(&a, AS_F64, &scalar), vb = as_view_of(&b, AS_F64, &scalar);
    expect_near(as_view_error(&va, &vb), 2.0, 1e-12);
}

Test(view, integers_of_less_than_eight_bits_saturate_at_their_ends)
{
    expect(stored(AS_I4, 9.7) == 7 && stored(AS_I4, -9) == -8 && stored(AS_I4, -7.9) == -7);
    expect(stored(AS_U4, 16) == 15 && stored(AS_U4, -1) == 0);
    expect(stored(AS_I2, 3) == 1 && stored(AS_I2, -INFINITY) == -2);
    expect(stored(AS_U2, 4) == 3 && stored(AS_U2, NAN) == 0);
}

Test(view, small_floats_round_and_what_is_too_large_is_no_number)
{
    expect(stored(AS_F8E4M3FN, 0.3) == 0.3125);
    expect(isnan(stored(AS_F8E4M3FN, 1e6)));
    expect(isinf(stored(AS_F8E5M2, 1e6)));
    expect(stored(AS_F4E2M1, 1e6) == 6.0);
    expect(isnan(stored(AS_F8E8M0, 0.0)));
    expect(stored(AS_F8E8M0, 3.0) == 4.0);
}

Test(view, copies_between_small_dtypes_by_value)
{
    uint8_t from[4] = {0x38, 0xc0, 0x7e, 0x7f}, to[4]; /* 1, -2, 448 and NaN as f8e4m3fn */
    as_view src = as_view_of(from, AS_F8E4M3FN, &AS_SHAPE(4)), dst = as_view_of(to, AS_I4, &AS_SHAPE(4));
    as_view_copy(&dst, &src);
    expect_eq(as_view_get_i64(&dst, 0), 1);
    expect_eq(as_view_get_i64(&dst, 1), -2);
    expect_eq(as_view_get_i64(&dst, 2), 7);
    expect_eq(as_view_get_i64(&dst, 3), 0);
    as_view back = as_view_of(from, AS_F8E5M2FNUZ, &AS_SHAPE(4));
    as_view_copy(&back, &dst);
    expect(as_view_get(&back, 1) == -2.0 && as_view_get(&back, 2) == 7.0);
}

Test(view, whole_numbers_fit_where_every_one_of_them_is_known)
{
    int64_t  wide[3] = {-1, 2, 127}, far[1] = {INT64_C(1) << 40};
    uint64_t huge[1] = {UINT64_MAX};
    float    real[1] = {1};
    as_view  w = as_view_of(wide, AS_I64, &AS_SHAPE(3)), f = as_view_of(far, AS_I64, &AS_SHAPE(1)),
            h = as_view_of(huge, AS_U64, &AS_SHAPE(1)), r = as_view_of(real, AS_F32, &AS_SHAPE(1));
    expect(as_view_fits(&w, AS_I32) && as_view_fits(&w, AS_I8));
    expect(!as_view_fits(&w, AS_U8) && !as_view_fits(&w, AS_U64)); /* -1 */
    expect(!as_view_fits(&w, AS_I4));
    expect(as_view_fits(&f, AS_U64) && !as_view_fits(&f, AS_I32));
    expect(as_view_fits(&h, AS_U64) && !as_view_fits(&h, AS_I64));
    expect(as_view_fits(&r, AS_F16) && !as_view_fits(&r, AS_I64) && !as_view_fits(&w, AS_F32) && !as_view_fits(&w, AS_BOOL));
}
