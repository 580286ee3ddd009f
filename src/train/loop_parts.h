/* loop_parts.h - the inside of a training loop, for the files that make it up.  Private to train/. */
#ifndef AS_TRAIN_LOOP_PARTS_H
#define AS_TRAIN_LOOP_PARTS_H

#include "data/data.h"
#include "train/checkpoint.h"
#include "train/feed.h"
#include "train/growth.h"
#include "train/keeper.h"
#include "train/loop.h"
#include "train/lbfgs.h"
#include "train/metrics.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/watch.h"

/* --- Where the time goes: one thing at a time in the loop's own thread ----------------------------------------- */

typedef enum as_loop_part {
    AS_LOOP_WAIT,
    AS_LOOP_STEP,
    AS_LOOP_EVALUATE,
    AS_LOOP_SAVE,
    AS_LOOP_PLAN,
    AS_LOOP_N_PARTS
} as_loop_part;

typedef struct as_loop_time {
    uint64_t ticks, count;
} as_loop_time;

/* --- What is seen of the examples that are not learned from ------------------------------------------------------ */

typedef struct as_judged {
    double   loss;  /* mean; NaN: there is none */
    double   score; /* accuracy or R2 */
    uint64_t n;
} as_judged;

enum { AS_LOOP_PHASE_EVERY = 8 }; /* of so many updates one is recorded step by step */

/* The threads of a loader in the record: lanes one after the other, from first_lane on. */
typedef struct as_loop_lanes {
    int           first_lane, n;
    int           frames[AS_LOADER_N_ACTS], stacks[AS_LOADER_N_ACTS], root;
    as_loop_time *times; /* [n][AS_LOADER_N_ACTS] */
} as_loop_lanes;
enum { AS_LOOP_LOADS, AS_LOOP_LOADS_VAL, AS_LOOP_N_LOADERS };

struct as_loop {
    assay_env              *env;
    const assay_model      *model;
    const as_loop_settings *settings;
    as_arena                arena;
    as_train_setup          setup;
    as_plan_options         plan;
    const char             *plan_dims[16];
    char                    batch_dims[4][96]; /* "N=32": what the model calls its batch axis */
    int64_t                 first_batch;       /* before it grows */
    char                    batch_why[256];    /* what --batch auto took, and why; "": it was given */

    as_data          *all, *train, *val; /* all: what the other two are shares of; NULL: they are files of their own */
    as_data_hash      hash;
    as_feed           feed;
    as_loader        *loader;
    as_loader_options loading;
    as_trainer       *trainer;
    as_evaluator     *evaluator;
    as_view           inputs[AS_FEED_MOST];
    as_shape          target; /* of a batch */
    as_growth         growth;
    as_optimizer      optimizer;
    as_schedule       schedule;
    double           *rates;      /* per group of the trainer's graph */
    as_schedule_loss *val_losses; /* what a plateau looks at */
    int               n_val_losses, cap_val_losses;
    as_lbfgs         *lbfgs; /* NULL: the graph has an optimiser of its own */
    double           *lbfgs_w;
    as_metrics       *metrics;
    as_metric_list    measures;
    int64_t           n_classes; /* that the network tells apart; 0: it answers with numbers */
    double           *scores;    /* answers of a batch as logits, where the network gives probabilities */

    uint64_t            n_updates; /* of the whole run */
    as_checkpoint_place place;
    as_judged           judged;
    char                score_name[32];
    as_watch            watch;
    as_drift            drift_cpu, drift_memory, drift_heap;
    double              limit;
    char                model_hash[AS_SHA256_HEX];

    as_checkpoints folder;            /* path "": none; while there is a keeper, only its thread uses it */
    as_keeper     *keeper;            /* NULL: no folder */
    uint64_t       n_saved, n_failed; /* checkpoints */
    uint64_t       saved_at;
    FILE          *log;

    assay_trace  *trace;
    as_recorder   recorder;
    as_ring       ring;
    as_loop_time  times[AS_LOOP_N_PARTS];
    as_loop_lanes lanes[AS_LOOP_N_LOADERS];
    as_loop_time  writing; /* of checkpoints, beside the loop */
    int           writer_lane, writer_frame, writer_root, writer_stack;
    int           frames[AS_LOOP_N_PARTS + 1], stacks[AS_LOOP_N_PARTS + 1];
    uint64_t      began_ticks, first_update, first_samples;
    uint64_t      waited_ns, loaded_ns; /* of loaders that were closed */
    uint64_t      fill_ns, producer_ns, bytes_read;
    double        rate_window_s; /* smoothed time of an update */
    double        spent_ns[2];   /* of the updates: CPU time of the thread, elapsed */
    uint64_t      last_ticks;
    uint64_t      phase_ticks[3], n_phased; /* of recorded updates: forward, backward, update */
    uint64_t      told_batch;
    int64_t      *confusion;                                       /* NULL: none */
    double        memory_bytes, own_bytes, heap_bytes, wait_share; /* as of the last look */
    char          refused[1024];                                   /* why a newer checkpoint was not taken; "" */
    char          checkpoint_failed[512];                          /* why the last one could not be written */
    char          stopped[512];                                    /* why the run ended early; "": it did not */
    bool          finished;
};

/* loop.c: how a plan is run within an update, which nothing cancels. */
as_run_ctx as_loop_run_ctx(as_loop *l, bool recorded);

/* loop_open.c */
assay_status as_loop_trainer_make(as_loop *l, int64_t batch);
assay_status as_loop_loader_make(as_loop *l, int64_t batch, int64_t epoch, int64_t index);
void         as_loop_loader_close(as_loop *l);

/* loop_keep.c */
assay_status as_loop_keeper_open(as_loop *l);
/* Hands a copy of the state to the thread that writes it, after the one before was written. */
assay_status as_loop_checkpoint(as_loop *l);
/* Takes note of a checkpoint that was written or could not be; `wait`: of the one that is under way, too. */
void         as_loop_settle(as_loop *l, bool wait);
assay_status as_loop_resume(as_loop *l, const char *path);

/* judge.c: the mean loss and the score over a data set, with the weights as they are. */
assay_status as_loop_judge(as_loop *l);
/* Scores [N, T, C] of sequences and their labels as those of N T examples, as the loss sees them; everything else stays. */
void as_loop_sequences(const as_loop *l, as_view *answer, as_view *target, int64_t *rows);

/* loop_record.c */
assay_status as_loop_record_open(as_loop *l);
uint64_t     as_loop_part_begin(const as_loop *l);
void         as_loop_part_end(as_loop *l, as_loop_part part, uint64_t begin);
void         as_loop_record_metric(as_loop *l, const char *name, const char *unit, double value);
void         as_loop_record_update(as_loop *l, const assay_training *now);
assay_status as_loop_record_plan(as_loop *l); /* of the trainer, which is new */
void         as_loop_record_ring(as_loop *l);
void         as_loop_record_write(as_loop *l, const as_kept *kept);
void         as_loop_record_loader(as_loop *l, as_loader *loader, int which); /* what its threads did since the last call */
void         as_loop_record_confusion(as_loop *l);
void         as_loop_record_end(as_loop *l, assay_status ended);

/* loop_log.c: JSON Lines. */
assay_status as_loop_log_open(as_loop *l);
void         as_loop_log_update(as_loop *l, const assay_training *now);
void         as_loop_log_end(as_loop *l, assay_status ended);

/* diagnose.c: the first step of the plan that gives a number that is not finite for this batch, as a sentence. */
void as_loop_diagnose(as_loop *l, const as_train_input *in, char *out, size_t size);

#endif
