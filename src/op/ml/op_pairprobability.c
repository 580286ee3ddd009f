/* op_pairprobability.c - class probabilities from the scores of all pairs of classes, as support vector machines have them: each score gives
 * the probability of the first of the two through a fitted sigmoid, and an iteration finds the class probabilities that agree with all pairs
 * best (Wu, Lin and Weng's second method; the stopping rule is that of libsvm). */
#include <math.h>
#include <stdlib.h>

#include "op/rules.h"
#include "op/shape/move.h"

static const as_attr_def attrs[] = {
    {.name = "classes", .kind = AS_ATTR_INT, .required = true},
    {.name = "prob_a", .kind = AS_ATTR_FLOATS, .required = true},
    {.name = "prob_b", .kind = AS_ATTR_FLOATS, .required = true},
    {0},
};

enum { MAX_CLASSES = 1000 };

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int64_t         classes = as_attr_int(n, "classes", 0);
    const as_shape *x = &n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    int64_t pairs = classes > 1 && classes <= MAX_CLASSES ? classes * (classes - 1) / 2 : -1;
    if (pairs < 0 || x->rank != 2 || x->dim[1] != pairs || as_attr_find(n, "prob_a")->n != (size_t)pairs ||
        as_attr_find(n, "prob_b")->n != (size_t)pairs)
        return as_refuse(
            env, n,
            "the scores are %s of %lld classes: they, prob_a and prob_b must have a number for each pair of 2 to %d classes",
            AS_SHOW(x), (long long)classes, MAX_CLASSES);
    out[0] = as_info(n->in[0].dtype, &AS_SHAPE(x->dim[0], classes));
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t classes = (uint64_t)as_attr_int(n, "classes", 0);
    cost.special = as_sat_count(&n->in[0].shape);
    cost.flops = as_sat_mul((uint64_t)n->in[0].shape.dim[0], 4 * classes * classes); /* about one round */
    return cost;
}

static double clamp(double p) { return p < 1e-7 ? 1e-7 : p > 1.0 - 1e-7 ? 1.0 - 1e-7 : p; }

/* r[i][j]: the probability of i against j. */
static void couple(int64_t k, const double *r, double *q, double *qp, double *p)
{
    double eps = 0.005 / (double)k;
    for (int64_t t = 0; t < k; t++) {
        p[t] = 1.0 / (double)k;
        q[t * k + t] = 0.0;
        for (int64_t j = 0; j < k; j++)
            if (j != t) {
                q[t * k + t] += r[j * k + t] * r[j * k + t];
                q[t * k + j] = -r[j * k + t] * r[t * k + j];
            }
    }
    for (int round = 0; round < (k > 100 ? (int)k : 100); round++) {
        double pqp = 0.0, worst = 0.0;
        for (int64_t t = 0; t < k; t++) {
            qp[t] = 0.0;
            for (int64_t j = 0; j < k; j++)
                qp[t] += q[t * k + j] * p[j];
            pqp += p[t] * qp[t];
        }
        for (int64_t t = 0; t < k; t++)
            worst = fmax(worst, fabs(qp[t] - pqp));
        if (worst < eps)
            break;
        for (int64_t t = 0; t < k; t++) {
            double diff = (pqp - qp[t]) / q[t * k + t];
            p[t] += diff;
            pqp = (pqp + diff * (diff * q[t * k + t] + 2.0 * qp[t])) / ((1.0 + diff) * (1.0 + diff));
            for (int64_t j = 0; j < k; j++) {
                qp[j] = (qp[j] + diff * q[t * k + j]) / (1.0 + diff);
                p[j] /= 1.0 + diff;
            }
        }
    }
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t       k = as_attr_int(n, "classes", 0), rows = in[0].shape.dim[0], pairs = in[0].shape.dim[1];
    const double *a = as_attr_find(n, "prob_a")->floats, *b = as_attr_find(n, "prob_b")->floats;
    double       *room = malloc((size_t)(2 * k * k + 2 * k) * sizeof *room), *r = room;
    if (!room)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %lld classes", n->op->name, n->name ? n->name : "",
                       (long long)k);
    double *q = r + k * k, *qp = q + k * k, *p = qp + k;
    for (int64_t row = 0; row < rows; row++) {
        int64_t at = 0;
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = i + 1; j < k; j++, at++) {
                double x = as_view_get(&in[0], row * pairs + at) * a[at] + b[at];
                r[i * k + j] = clamp(1.0 - 1.0 / (1.0 + exp(-x)));
                r[j * k + i] = 1.0 - r[i * k + j];
            }
        couple(k, r, q, qp, p);
        for (int64_t i = 0; i < k; i++)
            as_view_set(&out[0], row * k + i, p[i]);
    }
    free(room);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By numpy, with libsvm's formula. */
    {.name = "three classes",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("classes", 3), AS_ATTR_FLOAT_LIST("prob_a", -1, -2, -0.5), AS_ATTR_FLOAT_LIST("prob_b", 0.1, 0.2, -0.1)},
     AS_GIVEN(-0.980000019, -0.280000001, -0.870000005, -0.699999988, -0.949999988, 0.0500000007),
     AS_WANT(0.169435808, 0.365256415, 0.465307777, 0.114440674, 0.446093117, 0.439466209)},
    /* By numpy, with libsvm's formula. */
    {.name = "two classes",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 1)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("classes", 2), AS_ATTR_FLOAT_LIST("prob_a", -1.5), AS_ATTR_FLOAT_LIST("prob_b", 0.25)},
     AS_GIVEN(0.389999986, -0.150000006, -0.730000019),
     AS_WANT(0.582677629, 0.417322371, 0.381786089, 0.618213911, 0.206661455, 0.793338545)},
};

const as_op as_op_pairprobability = {
    .name = "assay.PairProbability",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
