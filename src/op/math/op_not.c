/* op_not.c - y = whether x is false, element by element. */
#include "op/rules.h"

static uint64_t whole(uint64_t x) { return x == 0; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each_any(&in[0], &out[0], NULL, whole);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "both",
     .n_in = 1,
     .in = {AS_IN(BOOL, 2)},
     .given = (const double[]){0, 1},
     .want = (const double[]){1, 0},
     .n_want = 2,
     .no_grad = true},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_BOOL}}, .lo = 0, .hi = 100},
    {.name = "15x17", .n_in = 1, .in = {AS_IN(BOOL, 15, 17)}, .lo = -100, .hi = 100},
    {.name = "empty", .n_in = 1, .in = {AS_IN(BOOL, 0, 3)}},
};

const as_op as_op_not = {
    .name = "Not",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_logic,
    .cost = as_cost_each,
    .eval = eval, /* no gradient: the output is not a number */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
