/* labels.h - integer labels in a kernel: contiguous, i32 or i64. */
#ifndef AS_BACKEND_CPU_TRAIN_LABELS_H
#define AS_BACKEND_CPU_TRAIN_LABELS_H

#include "op/train/loss.h"

/* The class at position i; -1: ignored; -2: not a class. */
static inline int64_t label_at(const as_classes *k, const as_view *labels, int64_t i)
{
    int64_t label = labels->dtype == AS_I64 ? ((const int64_t *)labels->data)[i] : ((const int32_t *)labels->data)[i];
    if (k->has_ignore && label == k->ignore)
        return -1;
    return label >= 0 && label < k->c ? label : -2;
}

/* False when one is not a class.  total: the sum of the weights of those that are not ignored, in order. */
static inline bool labels_read(const as_classes *k, const as_view *labels, const float *weights, double *total)
{
    double  sum = 0.0;
    int64_t n_counted = 0;
    for (int64_t i = 0; i < k->n * k->inner; i++) {
        int64_t label = label_at(k, labels, i);
        if (label == -2)
            return false;
        if (label < 0)
            continue;
        n_counted++;
        if (weights)
            sum += (double)weights[label];
    }
    *total = weights ? sum : (double)n_counted;
    return true;
}

#endif
