/* checkpoint.h - where a training run stands, as files that are whole or not there.
 *
 * A checkpoint is two files in a folder: tensors (weights under the model's own names, what the optimiser remembers, running
 * statistics) in safetensors, `step-N-HASH.safetensors`, and a small JSON, `step-N.json`, that names the first by its hash and says where
 * the run stands.  The JSON is renamed to its place last, so a checkpoint is there when its JSON is.  Older ones are removed only after
 * that: at every moment the folder has a whole checkpoint, once it had one. */
#ifndef AS_TRAIN_CHECKPOINT_H
#define AS_TRAIN_CHECKPOINT_H

#include "base/sha256.h"
#include "tensor/tensor.h"

#define AS_CHECKPOINT_SCHEMA "assay.checkpoint/1"
enum { AS_CHECKPOINT_TEXT = 512 };

/* Where a run stands.  Numbers that are not known are NaN. */
typedef struct as_checkpoint_place {
    uint64_t updates; /* that were begun */
    uint64_t applied; /* that changed the weights: the others had a gradient that was not finite */
    uint64_t steps;   /* runs of the graph: accumulated ones count one by one */
    uint64_t epoch;   /* complete ones */
    uint64_t batches; /* taken from the epoch that is under way */
    uint64_t samples; /* seen in all */
    uint64_t batch, seed;
    double   epoch_loss;          /* sum over the samples of the epoch that is under way */
    uint64_t epoch_samples;       /* that it is the sum of */
    double   best_loss, best_val; /* smallest so far: of an epoch's mean, of the validation */
    double   loss_scale;
    uint64_t clean_steps, skips; /* since the scale last changed; in all */
    /* What was trained, and how: a run with other ones is another run. */
    char optimizer_text[AS_CHECKPOINT_TEXT], schedule_text[AS_CHECKPOINT_TEXT], loss_text[AS_CHECKPOINT_TEXT];
    char model_hash[AS_SHA256_HEX], data_hash[AS_SHA256_HEX];
} as_checkpoint_place;

/* The folder of a run's checkpoints.  Only one run at a time may write to it: it is locked until it is closed, or the process ends. */
typedef struct as_checkpoints {
    char     path[3800];
    int      fd;
    int      keep;
    uint64_t n_saved, n_failed, bytes; /* bytes: of the last one */
} as_checkpoints;

/* Makes the folder if needed.  BAD_INPUT: another process writes there. */
assay_status as_checkpoints_open(assay_env *env, const char *path, int keep, as_checkpoints *out);
void         as_checkpoints_close(as_checkpoints *c);
/* Writes one, then removes those that are older than the newest `keep`, and what ended writers left behind.  IO: nothing new is there, no
 * temporary is left, and the older ones are untouched. */
assay_status as_checkpoints_save(assay_env *env, as_checkpoints *c, const as_checkpoint_place *place, const as_named_view *items,
                                 size_t n_items);
/* The highest step of which the folder has a JSON, whole or not; false: it has none. */
bool as_checkpoints_newest(const char *path, uint64_t *step);

typedef struct as_checkpoint {
    as_checkpoint_place place;
    as_safetensors      tensors;
    char                path[4096];    /* of its JSON */
    int                 n_refused;     /* newer ones of the folder that are damaged */
    char                refused[1024]; /* why the newest of them was; "" */
} as_checkpoint;

/* `path` is a JSON, or a folder: of that the newest whole checkpoint.  The tensors are checked against their hash.  NOT_FOUND: the folder has
 * none; BAD_INPUT: it is damaged, or something else; IO. */
assay_status as_checkpoint_load(assay_env *env, const char *path, as_checkpoint *out);
void         as_checkpoint_drop(as_checkpoint *c);
/* Whether it has a tensor of this name that could be copied there: BAD_INPUT says why not. */
assay_status as_checkpoint_fits(assay_env *env, const as_checkpoint *c, const char *name, const as_view *out);
/* Copies a tensor out; BAD_INPUT when it is missing or has another type or shape. */
assay_status as_checkpoint_get(assay_env *env, const as_checkpoint *c, const char *name, const as_view *out);

#endif
