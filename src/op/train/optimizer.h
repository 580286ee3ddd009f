/* optimizer.h - what the operators that update a block of parameters have in common, for them and for their kernels.
 *
 * All take (w, g, rates, decays, step, norm, scale, state...) and give (w', used, skipped, state'...):
 *
 *   w, g     f32[P]: the parameters and the gradient of the loss times `scale`
 *   rates    f32[G]: the learning rate of each group; decays f32[G]: its weight decay
 *   step     i64 scalar: t, the number of this update, from 1; updates that were skipped do not count.  0: skip this one
 *   norm     f32 scalar or absent: the 2-norm of g / scale.  If it is not finite, nothing changes and `skipped` is 1
 *   scale    f32 scalar or absent: the factor of the loss; g is divided by it
 *   state    f32[P] each, and f64[1] for Nadam's running product
 *   used     f32[G]: the rate that was really applied to each group; 0 when the update was skipped
 *   skipped  i64 scalar: 0 or 1
 *
 * The attribute `starts` says where each group begins in the block; without it there is one group.  g is divided by the scale, then
 * multiplied by min(1, clip_norm / (norm + 1e-6)), then limited to [-clip_value, clip_value]; 0 means no limit. */
#ifndef AS_OP_TRAIN_OPTIMIZER_H
#define AS_OP_TRAIN_OPTIMIZER_H

#include "op/op.h"

enum { AS_OPT_W, AS_OPT_G, AS_OPT_RATES, AS_OPT_DECAYS, AS_OPT_STEP, AS_OPT_NORM, AS_OPT_SCALE, AS_OPT_STATE }; /* inputs */
enum { AS_OPT_NEW_W, AS_OPT_USED, AS_OPT_SKIPPED, AS_OPT_NEW_STATE };                                           /* outputs */
enum { AS_OPT_MAX_STATES = 3 };

typedef enum as_opt_kind { AS_OPT_SGD, AS_OPT_ADAM, AS_OPT_RMSPROP, AS_OPT_ADAGRAD, AS_OPT_ADADELTA, AS_OPT_NADAM } as_opt_kind;

/* The attributes of a node, with the defaults of PyTorch where they are absent. */
typedef struct as_opt {
    as_opt_kind    kind;
    double         beta1, beta2, epsilon; /* beta2 is RmsProp's alpha and AdaDelta's rho */
    double         momentum, dampening;
    double         momentum_decay; /* Nadam */
    double         rate_decay;     /* AdaGrad */
    bool           nesterov, centered, decoupled;
    double         clip_norm, clip_value; /* 0: none */
    int64_t        n;                     /* parameters */
    const int64_t *starts;                /* NULL: one group */
    int            n_groups;
    int            n_states;    /* of this form of the formula, the product included */
    bool           has_product; /* the last state is the f64[1] product */
} as_opt;

/* Of the forms of a formula, which states it has, in order.  Sgd: the momentum, if there is one.  Adam: first and second moment.
 * RmsProp: the mean square; centred, the mean; with momentum, its buffer.  AdaGrad: the sum of squares.  AdaDelta: the mean square of
 * g and that of the change.  Nadam: the moments and the product. */
assay_status as_opt_read(assay_env *env, const as_node_ctx *n, as_opt *out);

/* What one step needs besides the arrays, in double. */
typedef struct as_opt_step {
    bool   skip;
    bool   is_first;     /* t is 1 */
    double factor;       /* of g: the scale and the clipping by norm */
    double clip_value;   /* infinite: none */
    double bias1, bias2; /* Adam, Nadam: 1 - beta^t */
    double mu, mu_next;  /* Nadam */
    double product;      /* Nadam: the new one */
    double rate_factor;  /* of each rate: AdaGrad's decay */
} as_opt_step;
as_opt_step as_opt_begin(const as_opt *o, const as_node_ctx *n, const as_view *in);

/* The end of group k, which begins at starts[k]. */
static inline int64_t as_opt_group_end(const as_opt *o, int k) { return k + 1 < o->n_groups ? o->starts[k + 1] : o->n; }

/* Shared by the operator files. */
assay_status as_opt_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
as_cost      as_opt_cost(const as_node_ctx *n);
assay_status as_opt_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);

#define AS_OPT_ATTRS                                                                             \
    {.name = "clip_norm", .kind = AS_ATTR_FLOAT}, {.name = "clip_value", .kind = AS_ATTR_FLOAT}, \
        {.name = "starts", .kind = AS_ATTR_INTS},                                                \
    {                                                                                            \
        0                                                                                        \
    }

#endif
