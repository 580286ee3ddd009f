/* op_stft.c - the Fourier transform of frames of a signal, each weighted by a window. */
#include "op/signal/signal.h"

enum { SIGNAL, STEP, WINDOW, LENGTH };

static const as_attr_def attrs[] = {{.name = "onesided", .kind = AS_ATTR_INT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    const as_shape *x = &n->in[SIGNAL].shape;
    int64_t         step, length;
    AS_TRY(as_rule_dtype(b->env, n, SIGNAL, 1, AS_SET_FLOAT));
    AS_TRY(as_known_int(b->env, n, STEP, "frame_step", &step));
    if ((x->rank != 2 && x->rank != 3) || (x->rank == 3 && x->dim[2] != 1 && x->dim[2] != 2))
        return as_refuse(b->env, n, "signal is %s and must be [batch, length], [batch, length, 1] or [batch, length, 2]",
                         AS_SHOW(x));
    length = x->dim[1];
    if (as_in_has(n, LENGTH))
        AS_TRY(as_known_int(b->env, n, LENGTH, "frame_length", &length));
    else if (as_in_has(n, WINDOW) && n->in[WINDOW].shape.rank == 1)
        length = n->in[WINDOW].shape.dim[0];
    if (length < 1 || length > AS_MAX_DFT || length > x->dim[1] || step < 1 || step > INT32_MAX)
        return as_refuse(b->env, n, "a frame of %lld of a signal of %lld, every %lld, is not possible; frames are at most %d long",
                         (long long)length, (long long)x->dim[1], (long long)step, AS_MAX_DFT);
    if (as_in_has(n, WINDOW) && !as_shape_same(&n->in[WINDOW].shape, &AS_SHAPE(length)))
        return as_refuse(b->env, n, "window is %s and must be [%lld]", AS_SHOW(&n->in[WINDOW].shape), (long long)length);
    as_dft  d = {.length = length, .onesided = as_attr_int(n, "onesided", 1) != 0};
    int64_t n_frames = (x->dim[1] - length) / step + 1, batch = x->dim[0];
    int     first = AS_TO_SHAPE(b, as_b_with(b, "Mul", as_b_count(b, n_frames), (double)step), n_frames, 1),
        at = AS_MAKE(b, "Add", first, as_b_count(b, length));
    int     parts[2] = {-1, -1};
    int64_t n_parts = x->rank == 3 && x->dim[2] == 2 ? 2 : 1;
    if (n_parts == 2 && d.onesided)
        return as_refuse(b->env, n, "a complex signal has no one-sided transform");
    for (int64_t k = 0; k < n_parts; k++) {
        int one = AS_TO_SHAPE(b, n_parts == 2 ? as_b_cut(b, in[SIGNAL], 2, k, k + 1, 1) : in[SIGNAL], batch, x->dim[1]);
        parts[k] = AS_MAKE_WITH(b, "Gather", AS_WITH(AS_ATTR_I("axis", 1)), one, at);
        parts[k] = as_in_has(n, WINDOW) ? AS_MAKE(b, "Mul", parts[k], in[WINDOW]) : parts[k];
    }
    out[0] = as_b_dft(b, parts[0], parts[1], &d);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By numpy. */
    {.name = "window, one side",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 8, 1), AS_IN_INT(2), AS_IN(F32, 4)},
     AS_GIVEN(-0.25999999, -0.0799999982, 0.439999998, -0.170000002, 0.810000002, -0.639999986, 0.479999989, -0.159999996, 0.5, 1,
              1, 0.5),
     AS_WANT(0.145000011, 0, -0.569999993, -0.00500000268, 0.474999994, 0, 0.540000021, 0, -0.590000033, -0.149999991, 1.51999998,
             0, 0.165000007, 0, -0.0749999881, 0.560000002, 1.60500002, 0)},
    /* By numpy. */
    {.name = "both sides",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 8, 1), AS_IN_INT(3), AS_IN(F32, 4), AS_IN_INT(4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("onesided", 0)},
     AS_GIVEN(-0.25999999, -0.0799999982, 0.439999998, -0.170000002, 0.810000002, -0.639999986, 0.479999989, -0.159999996, 0.5, 1,
              1, 0.5),
     AS_WANT(0.145000011, 0, -0.569999993, -0.00500000268, 0.474999994, 0, -0.569999993, 0.00500000268, 0.325000018, 0, 0.555000007,
             -0.569999993, -1.77499998, 0, 0.555000007, 0.569999993)},
};

const as_op as_op_stft = {
    .name = "STFT",
    .min_in = 2,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(STEP) | AS_INPUT_BIT(LENGTH),
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
