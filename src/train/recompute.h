/* recompute.h - parts of the forward pass are computed again in the backward pass, so that their results need not be kept.  Private to
 * train/. */
#ifndef AS_TRAIN_RECOMPUTE_H
#define AS_TRAIN_RECOMPUTE_H

#include "train/train.h"

enum { AS_RECOMPUTE_AUTO = -1 }; /* as many segments as take the least memory; with equal memory the least work */

/* Cuts the forward pass into segments, at places where few values are alive.  Values that cross a cut are kept.  The others that the backward
 * pass reads are computed again from these, right before it reads them, by the same nodes with the same random numbers: the same bits.  The
 * last segment is never computed again: the backward pass starts with it.
 *
 * model: that of a whole training step, concrete, nodes marked by pass.  It is replaced by one that owns it, unless there is nothing to gain
 * (n_segments 1).  On failure it stays. */
assay_status as_recompute_apply(assay_env *env, int segments, assay_model **model, as_recompute *out);

#endif
