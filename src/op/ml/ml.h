/* ml.h - what the operators of ai.onnx.ml share: what follows the scores, labels, lists of attributes.  Text is refused: there are no
 * tensors of text.  Only the operators of this folder include it. */
#ifndef AS_OP_ML_H
#define AS_OP_ML_H

#include "op/composed.h"

/* NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT, in this order: their number is the attribute of TreeEnsemble. */
typedef enum as_post { AS_POST_NONE, AS_POST_SOFTMAX, AS_POST_LOGISTIC, AS_POST_SOFTMAX_ZERO, AS_POST_PROBIT, AS_N_POSTS } as_post;
assay_status as_post_read(assay_env *env, const as_node_ctx *n, as_post *out); /* the attribute post_transform, a word */
/* Scores [N, classes] after the transform. */
int as_b_post(as_builder *b, int x, as_post post);

/* The inputs' X as [N, features] in f32, in f64 for f64; a vector is one row. */
assay_status as_ml_rows(assay_env *env, const as_node_ctx *n, as_shape *out);
int          as_b_rows(as_builder *b, const as_node_ctx *n, int x);

/* Refuses an attribute that is given and holds text. */
assay_status as_ml_no_text(assay_env *env, const as_node_ctx *n, const char *attr);
/* The numbers of a FLOATS attribute, as an f32 or f64 constant of a shape; the list must have as many. */
assay_status as_ml_floats(as_builder *b, const as_node_ctx *n, const char *attr, as_dtype dtype, const as_shape *shape, int *out);
size_t       as_ml_count(const as_node_ctx *n, const char *attr); /* elements of a list; 0: not given */

/* Labels and scores of a classifier from the scores [N, columns] of its model.  With two labels and one column, the second class is the
 * model's: its score s stands beside 1 - s when the model's numbers are all positive (`is_share`), else beside -s. */
typedef struct as_classes {
    const int64_t *labels;
    size_t         n_labels;
    as_post        post;
    bool           is_share;
} as_classes;
void as_b_classes(as_builder *b, int scores, const as_classes *c, int n_out, int *out);

#endif
