/* precision.h - results of the forward pass are stored in 16 bits until the backward pass reads them.  Private to train/. */
#ifndef AS_TRAIN_PRECISION_H
#define AS_TRAIN_PRECISION_H

#include "train/train.h"

/* n_skipped: so many of the first layers' results stay f32.  Theirs are often the largest, and when the backward pass reads one of them, its
 * cast lies beside its gradient, at the peak: as_train_plan_new() tries.
 *
 * Every large f32 result of the network that the backward pass reads is rounded to f16 or bf16 after it was made, and back right before it is
 * read.  The forward pass itself reads f32.  Small results (the statistics of a batch), what the loss reads, and outputs stay f32.  A result
 * too large for f16 becomes infinite: the gradient is not finite then, the update is left out and the loss scale is halved.
 *
 * model: that of a whole training step, concrete, nodes marked by pass; replaced by one that owns it. */
assay_status as_precision_apply(assay_env *env, as_train_precision precision, int n_skipped, assay_model **model,
                                as_precision *out);

/* How the plan stores weights of products, which it rounds from the f32 ones in every step: option weights-as. */
const char *as_precision_weights(as_train_precision precision);

#endif
