/* loop.h - the training loop: batches in, updates out, watched, evaluated, kept.
 *
 * A loop owns everything that a run needs: data, loader, trainer, evaluator, the folder of its checkpoints, its log and its record.  It is
 * driven update by update (as_loop_update) or as a whole (as_loop_run).  Two loops with the same settings do the same to the bit, whatever
 * the number of threads, and so does a loop that goes on from a checkpoint. */
#ifndef AS_TRAIN_LOOP_H
#define AS_TRAIN_LOOP_H

#include "analysis/analysis.h"
#include "train/train.h"

typedef struct as_loop_settings {
    as_train_setup  setup;
    as_plan_options plan;  /* its batch is not used */
    const char     *batch; /* a number, or "auto"; NULL: 32, or what the data have */
    const char     *data, *val, *preprocess, *loader;
    int64_t         epochs, steps; /* 0: not given */
    const char     *schedule, *metrics, *grow_batch;
    const char     *memory_budget;
    const char     *checkpoint, *resume;
    int64_t         checkpoint_every;
    int             keep;
    int64_t         every;
    const char     *diverged;
    const char     *log;
} as_loop_settings;

extern const as_option_member as_loop_members[];
/* Reads the options of a training run; those of the plan, too. */
assay_status as_loop_settings_read(assay_env *env, const assay_options *options, as_loop_settings *out);

typedef struct as_loop as_loop;

/* Opens the data, plans the step, resumes.  Borrows model and settings for the life of the loop. */
assay_status as_loop_open(assay_env *env, const assay_model *model, const as_loop_settings *settings, as_loop **out);
void         as_loop_close(as_loop *loop);

/* One update of the weights, with what follows it: evaluation at the end of an epoch, a checkpoint when it is due.  *more: the run is not
 * over.  DEVICE: a number is not finite, or the loss diverged; the message names the first layer. */
assay_status as_loop_update(as_loop *loop, assay_training *now, bool *more);
/* All that is left of the run.  on_update may be NULL; it returns false to stop.  CANCELLED: stopped, and a checkpoint was written. */
assay_status as_loop_run(as_loop *loop, assay_on_training on_update, void *arg);

/* A checkpoint now, into a folder, and back.  The checkpoint must be of the same network, optimiser and data. */
assay_status as_loop_save(as_loop *loop, const char *folder);
assay_status as_loop_load(as_loop *loop, const char *path);
as_trainer  *as_loop_trainer(as_loop *loop);
/* What the updates took so far, evaluation and checkpoints not counted: CPU time of the loop's thread, or elapsed time. */
double as_loop_spent_ns(const as_loop *loop, bool by_wall);
/* Other threads or another device do the work, so the CPU time of the loop's thread says little. */
bool as_loop_by_wall(const as_loop *loop);
/* Loss and score of the validation examples with the weights as they are; NaN and "": there are none.  The name lives as long as the loop. */
assay_status as_loop_validate(as_loop *loop, double *loss, double *score, const char **score_name);
/* Ends the record of the run and hands it over; state says whether the run is complete.  The log gets its last line. */
assay_status as_loop_finish(as_loop *loop, assay_status ended, assay_trace **out);

#endif
