/* data.h - examples for training: data sets from files and generators, and the loader that makes batches of them.
 *
 *     as_data *all, *train, *val;
 *     as_data_open(env, "digits.csv:target=class", &(as_data_options){.mmap = true}, &all);
 *     as_data_split(env, all, 0.1, seed, &train, &val);
 *     as_data_fit(env, train, NULL);      the statistics of `normalize`, of the training examples alone
 *     as_data_fit(env, val, train);       validation uses the same
 *     as_loader_open(env, train, &options, &loader);
 *     for (;;) {
 *         as_loader_next(env, loader, &batch);      lent: views of the ring's memory
 *         ... one training step on batch.input[0 ..] and batch.target ...
 *         as_loader_release(loader, &batch);
 *     }
 *
 * A data set never changes once it is fitted, and threads may share it.  It holds no example: each is read when a batch needs it,
 * from a mapped file (mmap) or by pread, so a file may be larger than the memory.  Everything random (order, crop, flip) is a pure
 * function of seed, epoch and example: the same for every number of threads and after every resume. */
#ifndef AS_DATA_DATA_H
#define AS_DATA_DATA_H

#include "base/metric.h"
#include "base/sha256.h"
#include "tensor/tensor.h"

/* --- Data sets ---------------------------------------------------------------------------------------- */

enum { AS_DATA_MAX_INPUTS = 2 };

typedef struct as_data as_data;

/* What one example has, after preprocessing and without the batch axis; a batch puts it in front. */
typedef struct as_data_field {
    const char *name;  /* "x", "timespans", "y" */
    as_dtype    dtype; /* f32, or i64 for classes and tokens */
    as_shape    shape; /* rank 0: one number */
} as_data_field;

typedef enum as_target_kind {
    AS_TARGET_AUTO,  /* what the data look like: text and whole numbers from 0 are classes */
    AS_TARGET_NONE,  /* no target */
    AS_TARGET_CLASS, /* i64 */
    AS_TARGET_NUMBER /* f32, a vector */
} as_target_kind;

/* How values become inputs: what --preprocess says.  In this order: scale, crop, flip, normalise.  {0}: as they are. */
typedef struct as_preprocess {
    double   scale;     /* factor for every value of x; 0: none */
    bool     normalize; /* (x - mean) / std, per channel [C,H,W] or per feature [F] and [T,F] */
    int      n_given;   /* mean and std that were given, 0: as_data_fit() computes them; 1: for all channels */
    double   mean[16], std[16];
    bool     onehot;  /* classes become f32 vectors */
    bool     flip;    /* mirrors half of the examples horizontally: [C,H,W] and [H,W] */
    int      crop;    /* pads by so many zeros on each side and cuts a window of the old size at random */
    bool     flatten; /* x becomes one axis */
    as_dtype dtype;   /* of x; AS_NONE: f32, but i64 for files of i32 and i64 */
} as_preprocess;

/* "normalize,onehot,flip,crop=4,scale=1/255,flatten,dtype=f32"; also "normalize=0.1307/0.3081" and, per channel,
 * "normalize=0.49:0.48:0.45/0.25:0.24:0.26".  NULL and "": nothing. */
assay_status as_preprocess_parse(assay_env *env, const char *text, as_preprocess *out);

typedef struct as_data_options {
    bool           mmap;       /* map files; false: pread */
    as_target_kind target;     /* what the loss needs */
    as_preprocess  preprocess; /* by value */
    const as_data *like;       /* for validation data: takes class names, columns and the kind of target from it; NULL: none */
} as_data_options;

/* Opens what a spec names; docs/data.md has all forms:
 *     FILE.csv[:target=COL,header=on,sep=;,drop=COL]   x.npy,y.npy   FOLDER   train-images-idx3-ubyte   data_batch_1.bin
 *     raw:FILE,dtype=u8,shape=3x32x32    seq:FILE.csv,time=t,window=32,target=NAME    synthetic:sine,n=1,noise=0.1,seed=1
 * BAD_INPUT says what is wrong, in which file and where in it. */
assay_status as_data_open(assay_env *env, const char *spec, const as_data_options *options, as_data **out);
void         as_data_free(as_data *data);

int64_t              as_data_count(const as_data *data); /* examples */
int                  as_data_inputs(const as_data *data);
const as_data_field *as_data_input(const as_data *data, int i);
const as_data_field *as_data_target(const as_data *data);               /* NULL: it has none */
int64_t              as_data_classes(const as_data *data);              /* 0: the target is not a class */
const char          *as_data_label(const as_data *data, int64_t class); /* "setosa"; NULL: classes have numbers only */
const char          *as_data_spec(const as_data *data);                 /* as it was given */
const char          *as_data_kind(const as_data *data);                 /* "csv" */
/* One line for people: "iris.csv: 150 examples, x f32 [4], y class of 3, csv, mapped".  Returns buf. */
const char *as_data_show(const as_data *data, char *buf, size_t size);

/* Without `like`: computes what `normalize` needs in one pass over the examples of this set; nothing to do without `normalize`,
 * or where mean and std were given.  With `like`: takes those of a fitted set.  Before the first loader. */
assay_status as_data_fit(assay_env *env, as_data *data, const as_data *like);
/* Per channel; NULL arrays when nothing was fitted or given.  They live as long as the data set. */
void as_data_statistics(const as_data *data, const double **mean, const double **std, int *n_channels);

/* Two sets of which `val` has a share of the examples (0 < share < 1; at least one example each).  Examples are chosen at random by the
 * seed.  Of a sequence, the last windows are taken, and those that share rows with both parts are left out, because neighbours in time
 * know each other.  Both borrow `data`, which must outlive them. */
assay_status as_data_split(assay_env *env, const as_data *data, double share, uint64_t seed, as_data **train, as_data **val);

/* The least loss that a network could reach, "mse" or "ce" (natural logarithm): known for synthetic data, where the noise is known. */
assay_metric as_data_best_loss(const as_data *data, const char *loss);

/* What a checkpoint remembers.  The hash covers the kind, the options of the spec, and of each file its size and content: all of it
 * up to 64 MiB, and of a larger file 64 KiB at the start, at the end and at 256 places between.  It does not cover paths and times. */
typedef struct as_data_hash {
    char     hex[AS_SHA256_HEX];
    bool     is_sampled; /* a file was too large to read all of it: a change between the places would not be seen */
    uint64_t bytes, bytes_hashed;
} as_data_hash;
assay_status as_data_hash_make(assay_env *env, const as_data *data, as_data_hash *out);

/* Every kind of data, for help and `assay list`: name, form of the spec, one line each; false at the end. */
bool as_data_kinds(int i, const char **name, const char **form, const char **help);

/* --- The loader -------------------------------------------------------------------------------------- */

typedef struct as_loader_options {
    int64_t  batch;     /* examples per batch */
    uint64_t seed;      /* of order, crop and flip */
    bool     shuffle;   /* another order in every epoch; false: as in the file */
    bool     augment;   /* crop and flip; false while evaluating */
    bool     keep_last; /* gives the last, smaller batch of an epoch; else its examples wait for another epoch's order */
    bool     once;      /* ends after the epoch in which it began; else goes on for ever */
    int      threads;   /* that fill batches; 0: as_loader_next() fills them */
    int      prefetch;  /* batches in the ring, at least 1; with threads = 0 there is one */
    bool     mmap;      /* for as_data_options: here because --loader sets it */
    bool     events;    /* its threads note what they do, for as_loader_events_take() */
} as_loader_options;

as_loader_options as_loader_training(int64_t batch, uint64_t seed); /* shuffled, augmented, drops the last; threads 1, prefetch 4 */
as_loader_options as_loader_evaluating(int64_t batch);              /* in order, keeps the last, once; threads 1, prefetch 4 */
/* "threads=2,prefetch=4,mmap=on,shuffle=off": changes what it names.  NULL and "": nothing. */
assay_status as_loader_options_parse(assay_env *env, const char *text, as_loader_options *out);

typedef struct as_loader as_loader;

/* A batch on loan.  Its views point into the ring until as_loader_release(); the first axis is n. */
typedef struct as_batch {
    int64_t n; /* examples; 0: `once`, and the epoch is over: nothing was lent */
    int64_t epoch, index;
    int     n_inputs;
    as_view input[AS_DATA_MAX_INPUTS];
    as_view target; /* dtype AS_NONE: no target */
    int     slot;   /* of the ring */
} as_batch;

/* Allocates everything that it will ever need and starts its threads.  Borrows `data`.  BAD_INPUT when there is not one batch. */
assay_status as_loader_open(assay_env *env, const as_data *data, const as_loader_options *options, as_loader **out);
void         as_loader_free(as_loader *loader); /* stops and joins the threads; NULL is fine */

/* Waits for the next batch.  Fails with the sentence of the thread that could not read; later calls fail the same way.
 * Several batches, up to `prefetch`, may be on loan; they are released in the order in which they were lent. */
assay_status as_loader_next(assay_env *env, as_loader *loader, as_batch *out);
void         as_loader_release(as_loader *loader, const as_batch *batch);

int64_t as_loader_batches(const as_loader *loader); /* per epoch */
size_t  as_loader_bytes(const as_loader *loader);   /* memory of the ring and of the threads' scratch */

/* The batch that as_loader_next() will give next: what a checkpoint keeps.  Setting it costs no replay: the place of every example in
 * every epoch is computed.  No batch may be on loan. */
void         as_loader_position(const as_loader *loader, int64_t *epoch, int64_t *index);
assay_status as_loader_seek(assay_env *env, as_loader *loader, int64_t epoch, int64_t index);

/* Who waited for whom, since the loader was opened or as_loader_stats_reset().  Wait n of the histogram: 2^n to 2^(n+1) ns. */
enum { AS_LOADER_BINS = 40 };
typedef struct as_loader_stats {
    uint64_t n_batches, n_examples;            /* given to the consumer */
    uint64_t consumer_wait_ns, consumer_waits; /* as_loader_next() found no batch ready: a step waited for data */
    uint64_t producer_wait_ns, producer_waits; /* a thread found the ring full: the loader waited for room */
    uint64_t fill_ns, fills, fill_examples;    /* time spent filling batches, summed over threads */
    uint64_t bytes_read;                       /* from files or generated */
    uint64_t consumer_bins[AS_LOADER_BINS], producer_bins[AS_LOADER_BINS];
    uint64_t elapsed_ns; /* since the start or the reset */
    int      threads;
} as_loader_stats;
void as_loader_stats_read(as_loader *loader, as_loader_stats *out);
void as_loader_stats_reset(as_loader *loader);
/* What a thread of the loader did and when, for a timeline; with `events`, and where it has threads. */
typedef enum as_loader_act {
    AS_LOADER_FILLS,   /* reads and preprocesses a batch */
    AS_LOADER_IS_FULL, /* waits for room in the ring */
    AS_LOADER_N_ACTS
} as_loader_act;
typedef struct as_loader_event {
    uint64_t begin_ticks, end_ticks; /* of the clock of the env that opened it */
    uint16_t thread, act;
} as_loader_event;
/* Takes up to `most` events, in the order in which they ended; call it until it gives fewer.  Whoever takes them after every batch misses
 * none: the room for them is fixed, and *lost counts those that did not fit.  Consumer only. */
size_t as_loader_events_take(as_loader *loader, as_loader_event *out, size_t most, uint64_t *lost);
/* Examples per second that the loader could give if nobody made it wait: examples filled / time spent filling * threads. */
assay_metric as_loader_rate(const as_loader_stats *stats);

#endif
