/* compare_body.h - the body of k_compare_any_<machine>.c: Greater, Less, Equal and the like of every number that C has, to bool,
 * with broadcasting; and IsNaN and IsInf.
 *
 * a > b is b < a, so there are three relations; of integers, Equal needs the width alone. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/rows.h"

#define ORDER(name, type)                      \
    AS_ROW2(name##_less, uint8_t, type, p < q) \
    AS_ROW2(name##_less_or_equal, uint8_t, type, p <= q)
ORDER(i8, int8_t)
ORDER(u8, uint8_t)
ORDER(i16, int16_t)
ORDER(u16, uint16_t)
ORDER(i32, int32_t)
ORDER(u32, uint32_t)
ORDER(i64, int64_t)
ORDER(u64, uint64_t)
ORDER(f32, float)
ORDER(f64, double)
AS_ROW2(u8_equal, uint8_t, uint8_t, p == q)
AS_ROW2(u16_equal, uint8_t, uint16_t, p == q)
AS_ROW2(u32_equal, uint8_t, uint32_t, p == q)
AS_ROW2(u64_equal, uint8_t, uint64_t, p == q)
AS_ROW2(f32_equal, uint8_t, float, p == q)
AS_ROW2(f64_equal, uint8_t, double, p == q)
AS_ROW2(bool_equal, uint8_t, uint8_t, (p != 0) == (q != 0)) /* all but 0 are true */

typedef struct relations {
    as_flat_row less, less_or_equal, equal;
} relations;

static const relations known[AS_N_DTYPES] = {
    [AS_I8] = {i8_less, i8_less_or_equal, u8_equal},
    [AS_U8] = {u8_less, u8_less_or_equal, u8_equal},
    [AS_I16] = {i16_less, i16_less_or_equal, u16_equal},
    [AS_U16] = {u16_less, u16_less_or_equal, u16_equal},
    [AS_I32] = {i32_less, i32_less_or_equal, u32_equal},
    [AS_U32] = {u32_less, u32_less_or_equal, u32_equal},
    [AS_I64] = {i64_less, i64_less_or_equal, u64_equal},
    [AS_U64] = {u64_less, u64_less_or_equal, u64_equal},
    [AS_F32] = {f32_less, f32_less_or_equal, f32_equal},
    [AS_F64] = {f64_less, f64_less_or_equal, f64_equal},
    [AS_BOOL] = {NULL, NULL, bool_equal}, /* the operators refuse to order bools */
};

/* --- NaN and infinity -------------------------------------------------------------------------------- */

/* The bits without the sign: above those of infinity they are a NaN. */
#define SPECIAL(name, type, top, inf)                               \
    AS_ROW1(name##_nan, uint8_t, type, (type)(x & ~(top)) > (inf))  \
    AS_ROW1(name##_inf, uint8_t, type, (type)(x & ~(top)) == (inf)) \
    AS_ROW1(name##_plus, uint8_t, type, x == (inf))                 \
    AS_ROW1(name##_minus, uint8_t, type, x == ((inf) | (top)))
SPECIAL(half, uint16_t, UINT16_C(0x8000), UINT16_C(0x7c00))
SPECIAL(brain, uint16_t, UINT16_C(0x8000), UINT16_C(0x7f80))
SPECIAL(single, uint32_t, UINT32_C(0x80000000), UINT32_C(0x7f800000))
SPECIAL(whole, uint64_t, UINT64_C(1) << 63, UINT64_C(0x7ff) << 52)
AS_ROW1(never, uint8_t, uint8_t, x & 0)

static as_flat_row special_of(const as_node_ctx *n)
{
    static const as_flat_row rows[][4] = {{half_nan, half_inf, half_plus, half_minus},
                                          {brain_nan, brain_inf, brain_plus, brain_minus},
                                          {single_nan, single_inf, single_plus, single_minus},
                                          {whole_nan, whole_inf, whole_plus, whole_minus}};
    as_dtype                 d = n->in[0].dtype;
    const as_flat_row *row = d == AS_F16 ? rows[0] : d == AS_BF16 ? rows[1] : d == AS_F32 ? rows[2] : d == AS_F64 ? rows[3] : NULL;
    bool               minus = as_attr_int(n, "detect_negative", 1) != 0, plus = as_attr_int(n, "detect_positive", 1) != 0;
    if (!row)
        return NULL;
    if (!strcmp(n->op->name, "IsNaN"))
        return row[0];
    return minus && plus ? row[1] : plus ? row[2] : minus ? row[3] : never;
}

/* --- Which row a node takes ---------------------------------------------------------------------------- */

static bool is_test(const as_node_ctx *n) { return n->op->name[0] == 'I'; }

static as_flat_row row_of(const as_node_ctx *n)
{
    const relations *r = &known[n->in[0].dtype];
    if (is_test(n))
        return special_of(n);
    return n->op->name[0] == 'E' ? r->equal : strstr(n->op->name, "OrEqual") ? r->less_or_equal : r->less;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!row_of(n)) {
        snprintf(why, why_size, "it has no %s of %s", n->op->name, as_dtype_name(n->in[0].dtype));
        return false;
    }
    return as_flat_rows_accept(n, is_test(n) ? 1 : 2, why, why_size);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_flat flat;
    if (is_test(args->ctx)) {
        as_flat_of(args->ctx, 1, &flat);
        as_flat_rows(&flat, 1, args, part, n_parts, row_of(args->ctx));
        return;
    }
    bool           swaps = args->ctx->op->name[0] == 'G';
    as_node_ctx    n = *args->ctx;
    as_kernel_args turned = *args;
    as_tensor_info info[2] = {n.in[swaps], n.in[!swaps]};
    as_view        in[2] = {args->in[swaps], args->in[!swaps]};
    n.in = info;
    turned.ctx = &n;
    turned.in = in;
    as_flat_of(&n, 2, &flat);
    as_flat_rows(&flat, 2, &turned, part, n_parts, row_of(&n));
}

static const char *const also[] = {"Less", "GreaterOrEqual", "LessOrEqual", "Equal", "IsNaN", "IsInf", NULL};
