/* op_xor.c - true where exactly one of A and B is true: element by element, with broadcasting. */
#include "op/rules.h"

static const as_case cases[] = {AS_CASES_LOGIC(0, 1, 1, 0)};

const as_op as_op_xor = {
    .name = "Xor",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_logic,
    .cost = as_cost_each,
    .eval = as_eval_xor, /* no gradient: the output is not a number */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
