/* loss.h - what the losses have in common, for their operators and kernels.
 *
 * Two kinds.  Means over elements: loss = mean of f(y, target) over all elements of y, or over its first `rows` rows (axis 0) when
 * that optional input, an i64 scalar, is given: the rows after them only fill up the batch.  And classes: scores or logarithms of
 * probabilities [N, C, d...] with integer labels [N, d...], as ONNX defines them. */
#ifndef AS_OP_TRAIN_LOSS_H
#define AS_OP_TRAIN_LOSS_H

#include "op/op.h"

/* --- Means over elements ---------------------------------------------------------------------------------------- */

typedef enum as_loss_kind { AS_LOSS_BCE, AS_LOSS_MSE, AS_LOSS_MAE, AS_LOSS_HUBER } as_loss_kind;

typedef struct as_loss {
    as_loss_kind kind;
    double       delta;     /* Huber */
    bool         of_target; /* a gradient's: of the target instead of y */
    int64_t      count;     /* elements in all */
    int64_t      counted;   /* of them in the mean: those of the first rows */
} as_loss;

/* By the name of the operator; `rows`: its optional input, NULL when absent.  False: rows is negative or more than there are. */
bool   as_loss_read(const as_node_ctx *n, const as_view *rows, as_loss *out);
double as_loss_value(const as_loss *l, double y, double t);
double as_loss_slope(const as_loss *l, double y, double t); /* of y, or of the target */

/* A loss: (y, target, rows) to a scalar.  Its gradient: (y, target, d_loss, rows) to y's shape. */
assay_status as_loss_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
as_cost      as_loss_cost(const as_node_ctx *n);
assay_status as_loss_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);
assay_status as_loss_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in);
assay_status as_loss_grad_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
as_cost      as_loss_grad_cost(const as_node_ctx *n);
assay_status as_loss_grad_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);

/* --- Classes --------------------------------------------------------------------------------------------------------- */

typedef enum as_reduction { AS_REDUCE_MEAN, AS_REDUCE_SUM, AS_REDUCE_NONE } as_reduction;

typedef struct as_classes {
    as_reduction reduction;
    bool         has_ignore;
    int64_t      ignore;
    int64_t      n, c, inner; /* examples, classes, positions per example: inner is the product of d... */
} as_classes;

/* The attributes, and the sizes of x = [N, C, d...]; its label input is labels = [N, d...]. */
assay_status as_classes_read(assay_env *env, const as_node_ctx *n, const as_shape *x, int labels, as_classes *out);
/* The class of position i in row-major order of the labels; -1: ignored; -2: not a class. */
int64_t as_class_at(const as_classes *k, const as_view *labels, int64_t i);
/* The sum of the weights over all that is not ignored: what a mean divides by.  weights NULL: each is 1. */
double as_classes_total(const as_classes *k, const as_view *labels, const as_view *weights);
/* Refuses a label that is neither a class nor ignored, with its place. */
assay_status as_classes_check(assay_env *env, const as_node_ctx *n, const as_classes *k, const as_view *labels);
/* The rules of labels and weights, and the shape of a loss. */
assay_status as_classes_infer(assay_env *env, const as_node_ctx *n, const as_shape *x, as_dtype dtype, int labels, int weights,
                              as_classes *k, as_shape *loss);

#define AS_CLASSES_ATTRS \
    {.name = "ignore_index", .kind = AS_ATTR_INT}, {.name = "reduction", .kind = AS_ATTR_TEXT}, { 0 }

#endif
