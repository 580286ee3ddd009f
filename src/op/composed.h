/* composed.h - operators that are defined as other operators.  Such a file has one rule, `expand`: shapes, cost and the reference
 * code follow from it, and a plan always writes the operator out, so that its parts run in the kernels that they have.
 *
 * A rule builds nodes from concrete shapes (b->info), never from n->out.  The first failure sticks: later calls give -1, and the
 * caller of the rule reports the failure, so a rule reads like a formula.  What depends on attributes and shapes is checked first. */
#ifndef AS_OP_COMPOSED_H
#define AS_OP_COMPOSED_H

#include "op/shape/move.h"

assay_status as_composed_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
as_cost      as_composed_cost(const as_node_ctx *n); /* the work of the parts; bytes of the operator's own tensors */
assay_status as_composed_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);

#define AS_COMPOSED .infer = as_composed_infer, .cost = as_composed_cost, .eval = as_composed_eval, .composed = true

/* --- Formulas ----------------------------------------------------------------------------------- */

/* A node with one output: AS_MAKE(b, "Add", x, y); with attributes: AS_MAKE_WITH(b, "Concat", AS_WITH(AS_ATTR_I("axis", 0)), x, y). */
#define AS_WITH(...) (const as_attr[]){__VA_ARGS__}, (int)(sizeof((const as_attr[]){__VA_ARGS__}) / sizeof(as_attr))
#define AS_MAKE(b, op_, ...) \
    as_b_node((b), (op_), (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), NULL, 0)
#define AS_MAKE_WITH(b, op_, with_, ...) \
    as_b_node((b), (op_), (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), with_)
int as_b_node(as_builder *b, const char *op, const int *in, int n_in, const as_attr *attrs, int n_attrs);

/* Dtype and shape of a value; of a failed one, AS_NONE and a scalar. */
as_tensor_info as_b_info(as_builder *b, int x);
/* The size of an axis, counted from the end when negative; 0 when there is no such axis. */
int64_t as_b_dim(as_builder *b, int x, int axis);

int as_b_cast(as_builder *b, int x, as_dtype to);                    /* itself when it has the dtype */
int as_b_like(as_builder *b, int like, double value);                /* a scalar of the dtype of `like` */
int as_b_shape(as_builder *b, int x, int rank, const int64_t *dims); /* Reshape to concrete sizes */
#define AS_TO_SHAPE(b, x, ...) \
    as_b_shape((b), (x), (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
#define AS_TURN(b, x, ...) \
    as_b_transpose((b), (x), (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
int as_b_cut(as_builder *b, int x, int axis, int64_t begin, int64_t end, int64_t step); /* Slice of one axis */
int as_b_join(as_builder *b, int axis, int x, int y);                                   /* Concat */
int as_b_wider(as_builder *b, int x, int axis);                                         /* Unsqueeze */
int as_b_reduce(as_builder *b, const char *op, int x, int axis, bool keep);
int as_b_softmax(as_builder *b, int x, int axis);

/* Arithmetic on a value and a number of its dtype. */
int as_b_with(as_builder *b, const char *op, int x, double k);
/* 0, 1, ... count - 1 as i64. */
int as_b_count(as_builder *b, int64_t count);
/* The last axis made longer by `count` copies of a value. */
int as_b_longer(as_builder *b, int x, int64_t count, double value);

/* ONNX's number of a dtype and back; AS_NONE and 0 when there is none. */
as_dtype as_dtype_of_code(int64_t code);
int64_t  as_code_of_dtype(as_dtype dtype);

#endif
