/* growth.h - the batch size over the epochs: what --grow-batch says.  Private to train/. */
#ifndef AS_TRAIN_GROWTH_H
#define AS_TRAIN_GROWTH_H

#include "base/env.h"

enum { AS_GROWTH_MOST = 32 };
typedef enum as_growth_rate { AS_GROWTH_NONE, AS_GROWTH_SQRT, AS_GROWTH_LINEAR } as_growth_rate;

typedef struct as_growth {
    struct {
        uint64_t epoch; /* from the beginning of this one on, counted from 1 */
        int64_t  batch;
    } at[AS_GROWTH_MOST];
    int            n;
    as_growth_rate rate; /* what a larger batch does to the learning rate */
} as_growth;

/* "epoch 3: 128, epoch 6: 256 rate linear"; NULL: the batch size stays. */
assay_status as_growth_parse(assay_env *env, const char *text, as_growth *out);
/* In this epoch, counted from 1, of a run that begins with `batch`. */
int64_t as_growth_batch(const as_growth *g, int64_t batch, uint64_t epoch);
/* The factor of the learning rate there. */
double as_growth_factor(const as_growth *g, int64_t batch, uint64_t epoch);

#endif
