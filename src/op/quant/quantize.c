/* quantize.c - what the operators on quantised integers share. */
#include "op/quant/quantize.h"

#include <math.h>

#include "op/nn/taps.h"

double as_round_to(as_dtype dtype, double x)
{
    double  storage = 0.0;
    as_view view = as_view_of(&storage, dtype, &(as_shape){0});
    as_view_set(&view, 0, x);
    return as_view_get(&view, 0);
}

void as_quant_put(const as_view *y, int64_t i, double x, int64_t zero_point)
{
    as_view_set(y, i, rint(x) + (double)zero_point); /* an integer, which the setter saturates */
}

void as_quant_put_small(const as_view *y, int64_t i, double x, double zero_point, bool saturate)
{
    double sum = x + zero_point;
    if (saturate) { /* round to the format first: the setter then stores the value exactly */
        uint8_t code = as_small_from_f64(y->dtype, sum, true, AS_E8M0_UP);
        sum = as_small_to_f64(y->dtype, code);
    }
    as_view_set(y, i, sum);
}

assay_status as_quant_dtype(assay_env *env, const as_node_ctx *n, int i, const char *what, unsigned set)
{
    if (!as_in_has(n, i) || (set & AS_DTYPE_BIT(n->in[i].dtype)))
        return ASSAY_OK;
    return as_refuse(env, n, "%s (input %d) is %s, which it cannot be", what, i, as_dtype_name(n->in[i].dtype));
}

assay_status as_quant_one(assay_env *env, const as_node_ctx *n, int i, const char *what)
{
    if (as_shape_count(&n->in[i].shape) == 1 && n->in[i].shape.rank <= 1)
        return ASSAY_OK;
    return as_refuse(env, n, "%s (input %d) is %s and must hold one value", what, i, AS_SHOW(&n->in[i].shape));
}

assay_status as_quant_vector(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t count)
{
    if (!as_in_has(n, i))
        return ASSAY_OK;
    const as_shape *s = &n->in[i].shape;
    if (s->rank <= 1 && (as_shape_count(s) == 1 || s->dim[0] == count))
        return ASSAY_OK;
    return as_refuse(env, n, "%s (input %d) is %s and must hold one value or be [%lld]", what, i, AS_SHOW(s), (long long)count);
}

/* --- QuantizeLinear, DequantizeLinear --- */

assay_status as_quant_grid_read(assay_env *env, const as_node_ctx *n, as_quant_grid *out)
{
    const as_shape *x = &n->in[0].shape, *scale = &n->in[1].shape;
    as_quant_grid   g = {.block = as_attr_int(n, "block_size", 0)};
    if (g.block < 0)
        return as_refuse(env, n, "block_size is %lld and must not be negative", (long long)g.block);
    g.full_rank = g.block > 0;
    g.per_tensor = !g.full_rank && scale->rank <= 1 && as_shape_count(scale) == 1;
    as_shape want = {0};
    if (!g.per_tensor) {
        AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 1), x->rank, &g.axis));
        want = g.full_rank ? *x : AS_SHAPE(x->dim[g.axis]);
        if (g.full_rank)
            want.dim[g.axis] = x->dim[g.axis] / g.block + (x->dim[g.axis] % g.block != 0);
        if (!as_shape_same(scale, &want))
            return as_refuse(env, n, "the scale is %s; for x %s and axis %d it must hold one value or be %s", AS_SHOW(scale),
                             AS_SHOW(x), g.axis, AS_SHOW(&want));
    }
    if (as_in_has(n, 2)) {
        const as_shape *zero = &n->in[2].shape;
        bool            one = g.per_tensor && zero->rank <= 1 && as_shape_count(zero) == 1;
        if (!one && !as_shape_same(zero, scale))
            return as_refuse(env, n, "the zero point is %s and the scale is %s: they must be the same", AS_SHOW(zero),
                             AS_SHOW(scale));
    }
    if (!g.full_rank)
        g.block = 1;
    *out = g;
    return ASSAY_OK;
}

int64_t as_quant_grid_at(const as_quant_grid *g, const as_shape *param, const int64_t *index, int rank)
{
    if (g->per_tensor)
        return 0;
    if (!g->full_rank)
        return index[g->axis];
    int64_t at = 0;
    for (int i = 0; i < rank; i++)
        at = at * param->dim[i] + (i == g->axis ? index[i] / g->block : index[i]);
    return at;
}

/* TensorProto.DataType, those that the quantised operators name. */
static const struct {
    int64_t  code;
    as_dtype dtype;
} codes[] = {
    {1, AS_F32},  {2, AS_U8},      {3, AS_I8},        {4, AS_U16},         {5, AS_I16},     {6, AS_I32},         {10, AS_F16},
    {11, AS_F64}, {16, AS_BF16},   {17, AS_F8E4M3FN}, {18, AS_F8E4M3FNUZ}, {19, AS_F8E5M2}, {20, AS_F8E5M2FNUZ}, {21, AS_U4},
    {22, AS_I4},  {23, AS_F4E2M1}, {25, AS_U2},       {26, AS_I2},         {27, AS_F6E2M3}, {28, AS_F6E3M2},
};

assay_status as_quant_code(assay_env *env, const as_node_ctx *n, const char *attr, as_dtype otherwise, unsigned set, as_dtype *out)
{
    int64_t code = as_attr_int(n, attr, 0);
    if (code == 0) {
        *out = otherwise;
        return ASSAY_OK;
    }
    for (size_t i = 0; i < AS_COUNT(codes); i++)
        if (codes[i].code == code && (set & AS_DTYPE_BIT(codes[i].dtype))) {
            *out = codes[i].dtype;
            return ASSAY_OK;
        }
    return as_refuse(env, n, "%s is ONNX's data type %lld, which is not possible here", attr, (long long)code);
}

/* --- MatMulInteger, QLinearMatMul --- */

assay_status as_qmatmul_read(assay_env *env, const as_node_ctx *n, int at_a, int at_b, as_qmatmul *out)
{
    const as_shape *a = &n->in[at_a].shape, *b = &n->in[at_b].shape;
    if (a->rank < 1 || b->rank < 1)
        return as_refuse(env, n, "A is %s and B is %s: neither may be a scalar", AS_SHOW(a), AS_SHOW(b));
    as_shape wide_a = a->rank == 1 ? AS_SHAPE(1, a->dim[0]) : *a, wide_b = b->rank == 1 ? AS_SHAPE(b->dim[0], 1) : *b, batch;
    int64_t  rows = wide_a.dim[wide_a.rank - 2], columns = wide_b.dim[wide_b.rank - 1], k = wide_a.dim[wide_a.rank - 1];
    if (k != wide_b.dim[wide_b.rank - 2])
        return as_refuse(env, n, "A is %s and B is %s: the inner sizes %lld and %lld differ", AS_SHOW(a), AS_SHOW(b), (long long)k,
                         (long long)wide_b.dim[wide_b.rank - 2]);
    wide_a.rank -= 2;
    wide_b.rank -= 2;
    if (!as_shape_broadcast(&wide_a, &wide_b, &batch))
        return as_refuse(env, n, "A is %s and B is %s: the batch sizes do not broadcast to one shape in range", AS_SHOW(a),
                         AS_SHOW(b));
    as_qmatmul p = {.a = batch, .b = batch, .y = batch, .result = batch, .k = k};
    p.a.dim[p.a.rank++] = p.y.dim[p.y.rank++] = rows;
    p.a.dim[p.a.rank++] = k;
    p.b.dim[p.b.rank++] = k;
    p.b.dim[p.b.rank++] = p.y.dim[p.y.rank++] = columns;
    if (a->rank > 1)
        p.result.dim[p.result.rank++] = rows;
    if (b->rank > 1)
        p.result.dim[p.result.rank++] = columns;
    *out = p;
    return ASSAY_OK;
}

as_view as_qmatmul_operand(const as_qmatmul *p, const as_view *v, int which)
{
    as_view wide = *v;
    if (v->shape.rank == 1) {
        int at = which == 0 ? 1 : 0; /* the axis that is present */
        wide.shape.rank = 2;
        wide.shape.dim[at] = v->shape.dim[0];
        wide.stride[at] = v->stride[0];
        wide.shape.dim[1 - at] = 1;
        wide.stride[1 - at] = 0;
    }
    return as_view_broadcast(&wide, which == 0 ? &p->a : &p->b);
}

assay_status as_qmatmul_param_check(assay_env *env, const as_node_ctx *n, int i, const char *what, const as_shape *of, int which)
{
    if (!as_in_has(n, i))
        return ASSAY_OK;
    const as_shape *s = &n->in[i].shape;
    int             axis = of->rank - (which == 0 ? 2 : 1);
    bool            fits = s->rank <= 1 && (as_shape_count(s) == 1 || s->dim[0] == of->dim[axis]);
    if (s->rank > 1 && s->rank == of->rank) {
        fits = true;
        for (int d = 0; d < s->rank; d++)
            fits &= s->dim[d] == 1 || (s->dim[d] == of->dim[d] && (d < of->rank - 2 || d == axis));
    }
    if (fits)
        return ASSAY_OK;
    return as_refuse(env, n, "%s (input %d) is %s; for %s it must hold one value or one for every %s", what, i, AS_SHOW(s),
                     AS_SHOW(of), which == 0 ? "row" : "column");
}

as_view as_qmatmul_param(const as_view *v, const as_shape *of, int which)
{
    if (v->shape.rank > 1)
        return as_view_broadcast(v, of);
    as_view wide = {.data = v->data, .dtype = v->dtype, .shape = *of};
    if (v->shape.rank == 1 && v->shape.dim[0] > 1)
        wide.stride[of->rank - (which == 0 ? 2 : 1)] = v->stride[0];
    return wide;
}

static int64_t at_whole(const as_view *v, const int64_t *index, int rank)
{
    return as_view_get_i64(&(as_view){.data = as_view_fix(v, index, rank).data, .dtype = v->dtype}, 0);
}

int64_t as_qmatmul_sum(const as_qmatmul *p, const as_view *a, const as_view *a_zero, const as_view *b, const as_view *b_zero,
                       const int64_t *index)
{
    int64_t  at_a[AS_MAX_RANK], at_b[AS_MAX_RANK];
    int      rank = p->y.rank;
    uint64_t sum = 0;
    for (int i = 0; i < rank; i++)
        at_a[i] = at_b[i] = index[i];
    for (int64_t k = 0; k < p->k; k++) {
        at_a[rank - 1] = k;
        at_b[rank - 2] = k;
        int64_t x = at_whole(a, at_a, rank) - (a_zero->data ? at_whole(a_zero, at_a, rank) : 0);
        int64_t w = at_whole(b, at_b, rank) - (b_zero->data ? at_whole(b_zero, at_b, rank) : 0);
        sum += (uint64_t)(x * w); /* nine bits each */
    }
    return (int64_t)sum;
}

/* --- ConvInteger, QLinearConv --- */

int64_t as_qconv_sum(const as_conv_shapes *s, const as_view *x, int64_t x_zero, const as_view *w, int64_t w_zero, int64_t image,
                     int64_t m, const int64_t *o)
{
    const as_window *win = &s->window;
    int64_t          first = m / (s->w.dim[0] / win->group) * s->w.dim[1], k[3], p[3];
    uint64_t         sum = 0;
    for (int64_t c = 0; c < s->w.dim[1]; c++) {
        as_view plane = as_view_fix(x, (int64_t[]){image, first + c}, 2), kernel = as_view_fix(w, (int64_t[]){m, c}, 2);
        AS_EACH3(k, win->kernel)
        if (as_tap_at(win, o, k, p))
            sum += (uint64_t)((at_whole(&plane, p, win->n_axes) - x_zero) * (at_whole(&kernel, k, win->n_axes) - w_zero));
    }
    return (int64_t)sum;
}
