/* ltc_kernel_test.c - what the cases of assay.LTC do not show about its kernels: bad time spans, padding, and memory. */
#include <math.h>
#include <stdlib.h>

#include "backend/cpu/kernel.h"
#include "op/cell/ltc.h"
#include "tests/runner/test.h"

enum { BATCH = 9, STEPS = 2, N_IN = 2, UNITS = 5 };

typedef struct fixture {
    assay_env     *env;
    as_tensor_info in[AS_LTC_N_IN], out[1];
    as_view        views[AS_LTC_N_IN], y;
    float          values[AS_LTC_N_IN][BATCH * STEPS * UNITS], y_values[BATCH * STEPS * UNITS];
    int8_t         mask[UNITS * UNITS];
    as_node_ctx    ctx;
} fixture;

static void input_set(fixture *f, int i, as_dtype dtype, as_shape shape, void *data)
{
    f->in[i] = as_info(dtype, &shape);
    f->views[i] = as_view_of(data, dtype, &shape);
}

/* Numbers that are not round; the mask is that of a chain. */
static void fixture_make(fixture *f)
{
    static const as_shape unit = AS_SHAPE(UNITS), inner = AS_SHAPE(UNITS, UNITS), sensory = AS_SHAPE(N_IN, UNITS);
    memset(f, 0, sizeof *f);
    expect_ok(NULL, assay_env_new(&f->env));
    for (int i = 0; i < AS_LTC_N_IN; i++)
        for (int k = 0; k < BATCH * STEPS * UNITS; k++)
            f->values[i][k] = 0.1f + 0.8f * (float)((i * 31 + k * 17) % 29) / 29.0f;
    for (int j = 0; j + 1 < UNITS; j++)
        f->mask[j * UNITS + j + 1] = 1;
    for (int i = 0; i < AS_LTC_N_NEEDED; i++)
        input_set(f, i, AS_F32,
                  i == AS_LTC_X              ? AS_SHAPE(BATCH, STEPS, N_IN)
                  : i <= AS_LTC_CM           ? unit
                  : i < AS_LTC_SENSORY_SIGMA ? inner
                                             : sensory,
                  f->values[i]);
    input_set(f, AS_LTC_MASK, AS_I8, inner, f->mask);
    f->in[AS_LTC_MASK].constant = f->mask;
    input_set(f, AS_LTC_TIMESPANS, AS_F32, AS_SHAPE(BATCH, STEPS), f->values[AS_LTC_TIMESPANS]);
    f->ctx = (as_node_ctx){.op = as_op_find("assay.LTC"), .name = "l", .in = f->in, .n_in = AS_LTC_N_IN, .out = f->out, .n_out = 1};
    expect_ok(f->env, f->ctx.op->infer(f->env, &f->ctx, f->out));
    f->y = as_view_of(f->y_values, AS_F32, &f->out[0].shape);
}

static assay_status parts_run(fixture *f, const as_kernel *k, int n_parts)
{
    const void    *packed[AS_MAX_IN] = {0};
    assay_status   status = ASSAY_OK;
    size_t         bytes = k->scratch_bytes(&f->ctx, n_parts);
    void          *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    as_kernel_args args = {.ctx = &f->ctx, .in = f->views, .out = &f->y, .packed = packed, .env = f->env, .status = &status};
    expect(scratch != NULL);
    for (int part = 0; scratch && part < n_parts; part++)
        k->run(&args, part, n_parts, scratch);
    free(scratch);
    return status;
}

static bool is_here(const as_kernel *k)
{
    return as_kernel_is_for(k, "assay.LTC") && strcmp(k->op, "*") && !(k->isa & ~as_isa_cpu());
}

Test(ltc_kernel, a_time_that_is_none_is_refused_by_name_and_nothing_is_written)
{
    static const float bad[] = {-1.0f, NAN, INFINITY};
    fixture            f;
    fixture_make(&f);
    for (int i = 0; as_k_table[i]; i++)
        for (size_t v = 0; v < AS_COUNT(bad) && is_here(as_k_table[i]); v++) {
            f.values[AS_LTC_TIMESPANS][8 * STEPS + 1] = bad[v];
            f.y_values[0] = 77.0f;
            expect_eq(parts_run(&f, as_k_table[i], 2), ASSAY_BAD_INPUT);
            expect_has(assay_message(f.env), "timespans[8][1] (sample, step) is");
            expect_has(assay_message(f.env), "must be finite and not negative");
            expect(f.y_values[0] == 77.0f);
        }
    assay_env_free(f.env);
}

/* Padding must not carry a NaN of one unit into units without a synapse from it. */
Test(ltc_kernel, a_nan_goes_only_where_synapses_lead)
{
    fixture f;
    fixture_make(&f);
    f.values[AS_LTC_VLEAK][3] = NAN; /* in the chain, unit 3 only leads to unit 4 */
    for (int i = 0; as_k_table[i]; i++) {
        if (!is_here(as_k_table[i]))
            continue;
        expect_ok(f.env, parts_run(&f, as_k_table[i], 1));
        for (int k = 0; k < BATCH * STEPS * UNITS; k++)
            if (isnan(f.y_values[k]) != (k % UNITS >= 3))
                fail("%s: y[%d] is %g", as_k_table[i]->name, k, (double)f.y_values[k]);
    }
    assay_env_free(f.env);
}

Test(ltc_kernel, the_table_grows_with_the_synapses_that_a_known_mask_leaves)
{
    enum { MANY = 256 };
    static int8_t mask[MANY * MANY];
    fixture       f;
    fixture_make(&f);
    for (int i = 0; i < AS_LTC_N_IN; i++) /* only shapes are read */
        for (int k = 0; k < f.in[i].shape.rank; k++)
            if (f.in[i].shape.dim[k] == UNITS)
                f.in[i].shape.dim[k] = MANY;
    for (int i = 0; as_k_table[i]; i++) {
        const as_kernel *k = as_k_table[i];
        if (!is_here(k))
            continue;
        memset(mask, 1, sizeof mask);
        f.in[AS_LTC_MASK].constant = mask;
        size_t dense = k->packed_bytes(&f.ctx, AS_LTC_CM);
        for (int j = 0; j < MANY * MANY; j++)
            mask[j] = j % 10 == 0;
        size_t tenth = k->packed_bytes(&f.ctx, AS_LTC_CM);
        f.in[AS_LTC_MASK].constant = NULL;
        expect_eq(k->packed_bytes(&f.ctx, AS_LTC_CM), dense);
        expect(tenth < dense / 4);
        expect(dense >= (size_t)MANY * MANY * 5 * sizeof(float));
    }
    assay_env_free(f.env);
}
