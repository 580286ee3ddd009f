/* ltc.c - liquid time constants: the shape rule and the cost. ltc_run.c has the arithmetic. */
#include "op/cell/ltc.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_UNFOLDS = 1000 };

const as_attr_def as_ltc_attrs[] = {
    {.name = "epsilon", .kind = AS_ATTR_FLOAT},        /* 1e-8 */
    {.name = "implicit", .kind = AS_ATTR_INT},         /* 1 */
    {.name = "output_size", .kind = AS_ATTR_INT},      /* units that are read: as many as output_w has, else all */
    {.name = "return_sequences", .kind = AS_ATTR_INT}, /* 1 */
    {.name = "unfolds", .kind = AS_ATTR_INT},          /* 6 */
    {0},
};

static const char *const names[AS_LTC_N_GRAD_IN] = {
    "x",
    "gleak",
    "vleak",
    "cm",
    "sigma",
    "mu",
    "w",
    "erev",
    "sensory_sigma",
    "sensory_mu",
    "sensory_w",
    "sensory_erev",
    "sparsity_mask",
    "sensory_sparsity_mask",
    "input_w",
    "input_b",
    "output_w",
    "output_b",
    "lstm.input_map.weight",
    "lstm.input_map.bias",
    "lstm.recurrent_map.weight",
    "fc.weight",
    "fc.bias",
    "h0",
    "c0",
    "timespans",
    "dy",
    "dh_n",
    "dc_n",
};

/* --- The rule --- */

static assay_status dtypes_check(assay_env *env, const as_node_ctx *n)
{
    AS_TRY(as_rule_dtype(env, n, AS_LTC_X, 1, AS_SET_FLOAT));
    for (int i = 1; i < n->n_in; i++) {
        as_dtype dtype = n->in[i].dtype;
        if (!as_in_has(n, i))
            continue;
        if (as_ltc_is_mask(i) && dtype != AS_BOOL && dtype != AS_I8 && dtype != AS_U8)
            return as_refuse(env, n, "%s (input %d) is %s and must be bool, i8 or u8", names[i], i, as_dtype_name(dtype));
        if (!as_ltc_is_mask(i) && dtype != n->in[AS_LTC_X].dtype)
            return as_refuse(env, n, "x is %s and %s (input %d) is %s: they must be of one dtype",
                             as_dtype_name(n->in[AS_LTC_X].dtype), names[i], i, as_dtype_name(dtype));
    }
    return ASSAY_OK;
}

static assay_status together_check(assay_env *env, const as_node_ctx *n, int first, int second)
{
    if (as_in_has(n, second) && !as_in_has(n, first))
        return as_refuse(env, n, "%s (input %d) is given without %s (input %d)", names[second], second, names[first], first);
    return ASSAY_OK;
}

static assay_status flag_read(assay_env *env, const as_node_ctx *n, const char *name, bool *out)
{
    int64_t value = as_attr_int(n, name, 1);
    if (value != 0 && value != 1)
        return as_refuse(env, n, "%s is %" PRId64 " and must be 0 or 1", name, value);
    *out = value == 1;
    return ASSAY_OK;
}

static assay_status attrs_read(assay_env *env, const as_node_ctx *n, as_ltc *s)
{
    s->n_unfolds = as_attr_int(n, "unfolds", 6);
    s->epsilon = as_attr_float(n, "epsilon", 1e-8);
    if (s->n_unfolds < 1 || s->n_unfolds > MAX_UNFOLDS)
        return as_refuse(env, n, "unfolds is %" PRId64 " and must be 1 to %d", s->n_unfolds, MAX_UNFOLDS);
    if (!(s->epsilon >= 0.0) || isinf(s->epsilon))
        return as_refuse(env, n, "epsilon is %g and must be finite and not negative", s->epsilon);
    AS_TRY(flag_read(env, n, "implicit", &s->implicit));
    return flag_read(env, n, "return_sequences", &s->sequences);
}

static assay_status motor_read(assay_env *env, const as_node_ctx *n, as_ltc *s)
{
    const as_shape *w = as_in_has(n, AS_LTC_OUTPUT_W) ? &n->in[AS_LTC_OUTPUT_W].shape : NULL;
    if (w && w->rank != 1)
        return as_refuse(env, n, "output_w is %s and must be a vector", AS_SHOW(w));
    s->n_motor = as_attr_int(n, "output_size", w ? w->dim[0] : s->n_units);
    if (s->n_motor < 1 || s->n_motor > s->n_units)
        return as_refuse(env, n, "%" PRId64 " units are to be read and there are %" PRId64, s->n_motor, s->n_units);
    s->n_out = s->n_motor;
    if (as_in_has(n, AS_LTC_FC_W)) {
        const as_shape *fc = &n->in[AS_LTC_FC_W].shape;
        if (fc->rank != 2 || fc->dim[1] != s->n_motor)
            return as_refuse(env, n, "fc.weight is %s and must be [outputs,%" PRId64 "]", AS_SHOW(fc), s->n_motor);
        s->n_out = fc->dim[0];
    }
    return ASSAY_OK;
}

static assay_status shapes_check(assay_env *env, const as_node_ctx *n, const as_ltc *s)
{
    int64_t  u = s->n_units, i = s->n_in, b = s->n_batch;
    as_shape unit = AS_SHAPE(u), inner = AS_SHAPE(u, u), sensory = AS_SHAPE(i, u), input = AS_SHAPE(i),
             motor = AS_SHAPE(s->n_motor), state = AS_SHAPE(b, u), gates = AS_SHAPE(4 * u);
    const as_shape wants[AS_LTC_N_GRAD_IN] = {
        n->in[AS_LTC_X].shape,
        unit,
        unit,
        unit,
        inner,
        inner,
        inner,
        inner,
        sensory,
        sensory,
        sensory,
        sensory,
        inner,
        sensory,
        input,
        input,
        motor,
        motor,
        AS_SHAPE(4 * u, i),
        gates,
        AS_SHAPE(4 * u, u),
        AS_SHAPE(s->n_out, s->n_motor),
        AS_SHAPE(s->n_out),
        state,
        state,
        AS_SHAPE(b, s->n_steps),
        as_ltc_y(s),
        state,
        state,
    };
    for (int k = 0; k < n->n_in; k++)
        if (as_in_has(n, k) && !as_shape_same(&n->in[k].shape, &wants[k]))
            return as_refuse(env, n, "%s (input %d) is %s and must be %s: x is %s and gleak has %" PRId64 " units", names[k], k,
                             AS_SHOW(&n->in[k].shape), AS_SHOW(&wants[k]), AS_SHOW(&n->in[AS_LTC_X].shape), u);
    return ASSAY_OK;
}

assay_status as_ltc_read(assay_env *env, const as_node_ctx *n, as_ltc *out)
{
    const as_shape *x = &n->in[AS_LTC_X].shape, *g = &n->in[AS_LTC_GLEAK].shape;
    as_ltc          s = {0};
    AS_TRY(dtypes_check(env, n));
    AS_TRY(attrs_read(env, n, &s));
    if (x->rank != 3 || g->rank != 1)
        return as_refuse(env, n, "x is %s and gleak is %s: they must be [batch,steps,inputs] and [units]", AS_SHOW(x), AS_SHOW(g));
    s.n_batch = x->dim[0];
    s.n_steps = x->dim[1];
    s.n_in = x->dim[2];
    s.n_units = g->dim[0];
    s.memory = as_in_has(n, AS_LTC_MEMORY_W);
    if (s.n_in < 1 || s.n_units < 1)
        return as_refuse(env, n, "there are %" PRId64 " inputs and %" PRId64 " units: it needs one of each at least", s.n_in,
                         s.n_units);
    if (s.n_units > INT64_C(1) << 28)
        return as_refuse(env, n, "%" PRId64 " units are too many", s.n_units);
    if (!s.sequences && s.n_steps < 1)
        return as_refuse(env, n, "x is %s: a sequence without steps has no last one", AS_SHOW(x));
    AS_TRY(motor_read(env, n, &s));
    AS_TRY(shapes_check(env, n, &s));
    AS_TRY(together_check(env, n, AS_LTC_INPUT_W, AS_LTC_INPUT_B));
    AS_TRY(together_check(env, n, AS_LTC_OUTPUT_W, AS_LTC_OUTPUT_B));
    AS_TRY(together_check(env, n, AS_LTC_FC_W, AS_LTC_FC_B));
    for (int i = AS_LTC_MEMORY_W; i < AS_LTC_MEMORY_R; i++) {
        AS_TRY(together_check(env, n, i, i + 1));
        AS_TRY(together_check(env, n, i + 1, i));
    }
    AS_TRY(together_check(env, n, AS_LTC_MEMORY_W, AS_LTC_C0));
    AS_TRY(together_check(env, n, AS_LTC_MEMORY_W, AS_LTC_DC));
    *out = s;
    return ASSAY_OK;
}

as_shape as_ltc_y(const as_ltc *s)
{
    return s->sequences ? AS_SHAPE(s->n_batch, s->n_steps, s->n_out) : AS_SHAPE(s->n_batch, s->n_out);
}

/* --- The work --- */

uint64_t as_ltc_synapses(const as_node_ctx *n, int mask, int64_t n_sources, int64_t n_targets)
{
    uint64_t all = as_sat_mul((uint64_t)n_sources, (uint64_t)n_targets), count = 0;
    if (!as_in_has(n, mask) || !n->in[mask].constant)
        return all;
    for (uint64_t i = 0; i < all; i++) /* bool, i8 and u8 take one byte each */
        count += ((const uint8_t *)n->in[mask].constant)[i] != 0;
    return count;
}

/* Bytes that a run need not read when the mask is known: the mask itself, and four numbers per absent synapse. */
static uint64_t bytes_spared(const as_node_ctx *n, int mask, uint64_t there)
{
    if (!as_in_has(n, mask) || !n->in[mask].constant)
        return 0;
    uint64_t all = as_sat_count(&n->in[mask].shape);
    return all + (all - there) * 4 * as_dtype_bytes(n->in[AS_LTC_X].dtype);
}

as_cost as_ltc_cost(const as_node_ctx *n, const as_ltc *s)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t inner = as_ltc_synapses(n, AS_LTC_MASK, s->n_units, s->n_units), units = (uint64_t)s->n_units;
    uint64_t sensory = as_ltc_synapses(n, AS_LTC_SENSORY_MASK, s->n_in, s->n_units), unfolds = (uint64_t)s->n_unfolds;
    uint64_t sigmoids = as_sat_add(sensory, as_sat_mul(unfolds, inner));
    /* Per synapse: a difference, three products, two sums.  Per unit: a product and six sums; its one division counts as a flop, so
     * that `special` is the number of activations, as for LSTM. */
    uint64_t flops = as_sat_add(as_sat_mul(6, sigmoids), as_sat_mul(unfolds, 8 * units));
    for (int i = AS_LTC_INPUT_W; i <= AS_LTC_OUTPUT_B; i++)
        if (as_in_has(n, i))
            flops = as_sat_add(flops, as_sat_count(&n->in[i].shape));
    if (as_in_has(n, AS_LTC_FC_W))
        flops = as_sat_add(flops, as_sat_mul(2, as_sat_count(&n->in[AS_LTC_FC_W].shape)));
    if (as_in_has(n, AS_LTC_FC_B))
        flops = as_sat_add(flops, (uint64_t)s->n_out);
    if (s->memory) {
        flops = as_sat_add(flops, as_memory_flops(s->n_in, s->n_units));
        sigmoids = as_sat_add(sigmoids, as_memory_special(s->n_units));
    }
    uint64_t times = as_sat_mul((uint64_t)s->n_batch, (uint64_t)s->n_steps);
    cost.flops = as_sat_mul(times, flops);
    cost.special = as_sat_mul(times, sigmoids);
    cost.bytes_read -= bytes_spared(n, AS_LTC_MASK, inner) + bytes_spared(n, AS_LTC_SENSORY_MASK, sensory);
    return cost;
}
