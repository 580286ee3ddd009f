/* keeper.h - checkpoints that are written beside the training: a copy of the state, and a thread that writes it.
 *
 * One copy and one write under way at a time: as_keeper_give() takes the next state when the one before was taken with as_keeper_take().  All
 * memory is allocated when it is opened; only a state that has grown allocates again. */
#ifndef AS_TRAIN_KEEPER_H
#define AS_TRAIN_KEEPER_H

#include "train/checkpoint.h"

typedef struct as_keeper as_keeper;

/* What became of a checkpoint. */
typedef struct as_kept {
    uint64_t     updates; /* of which it is */
    assay_status status;
    char         why[512];               /* it could not be written: the sentence */
    uint64_t     begin_ticks, end_ticks; /* of the writing */
} as_kept;

/* Borrows the folder, which nobody else may use until the keeper is closed; bytes: of the state, as as_keeper_count() counts them. */
assay_status as_keeper_open(assay_env *env, as_checkpoints *folder, size_t bytes, as_keeper **out);
void         as_keeper_close(as_keeper *k); /* after the write that is under way; NULL is fine */

/* Copies tensors and place, and returns while the thread writes.  Nothing may be under way. */
assay_status as_keeper_give(assay_env *env, as_keeper *k, const as_checkpoint_place *place, const as_named_view *items, size_t n);
bool         as_keeper_is_busy(as_keeper *k); /* a write is under way */
/* The result of what was given last, once; `wait`: until it is there.  False: there is none, or not yet. */
bool as_keeper_take(as_keeper *k, bool wait, as_kept *out);

size_t as_keeper_count(const as_named_view *items, size_t n); /* bytes that their copy takes */
size_t as_keeper_bytes(const as_keeper *k);                   /* of the copy that it holds room for */

#endif
