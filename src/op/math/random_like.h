/* random_like.h - what the operators share that draw random numbers of their input's shape: Philox, keyed by the run's seed, the node and the
 * step, or by the attribute `seed`. */
#ifndef AS_OP_RANDOM_LIKE_H
#define AS_OP_RANDOM_LIKE_H

#include <math.h>

#include "base/random.h"
#include "op/composed.h"

static inline uint64_t as_random_seed(const as_node_ctx *n)
{
    double given = as_attr_float(n, "seed", 0.0);
    return as_attr_find(n, "seed") ? (uint64_t)(fabs(given) < 0x1p62 ? fabs(given) : 0.0) : n->seed;
}

/* The dtype that the attribute names, or the input's. */
static inline as_dtype as_random_dtype(const as_node_ctx *n)
{
    return as_attr_find(n, "dtype") ? as_dtype_of_code(as_attr_int(n, "dtype", 0)) : n->in[0].dtype;
}

static inline assay_status as_random_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_dtype dtype = as_random_dtype(n);
    if (dtype == AS_NONE || !(AS_SET_FLOAT & AS_DTYPE_BIT(dtype)))
        return as_refuse(env, n, "the input is %s, and dtype does not name a type of floats", as_dtype_name(n->in[0].dtype));
    out[0] = as_info(dtype, &n->in[0].shape);
    return ASSAY_OK;
}

#endif
