/* svm.h - what the two support vector machines share. */
#ifndef AS_OP_SVM_H
#define AS_OP_SVM_H

#include "op/ml/ml.h"

/* The kernel of every row of x [N, features] with every support vector [supports, features], or with `linear` the plain product, in f32. */
assay_status as_b_svm_kernel(as_builder *b, const as_node_ctx *n, int x, int vectors, bool linear, int *out);

#endif
