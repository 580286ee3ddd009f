/* feed.h - which part of a data set goes to which input of a network, and whether they fit.  Private to train/. */
#ifndef AS_TRAIN_FEED_H
#define AS_TRAIN_FEED_H

#include "data/data.h"
#include "plan/plan.h"

enum { AS_FEED_MOST = 16 };

typedef struct as_feed {
    int      n_inputs;            /* of the model */
    int      field[AS_FEED_MOST]; /* of the data, per input of the model; -1: a state, or absent */
    as_shape shape[AS_FEED_MOST]; /* of one example, as the model wants it */
    char     dims[4][64];         /* "seq=32": symbols of the model that the data decide */
    int      n_dims;
} as_feed;

/* Matches by name, else in order.  BAD_INPUT says what does not fit. */
assay_status as_feed_make(assay_env *env, const assay_model *model, const as_data *data, as_feed *out);
/* The views of a batch, one per input of the model. */
void as_feed_views(const as_feed *f, const as_batch *batch, as_view *inputs);

#endif
