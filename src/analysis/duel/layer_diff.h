/* layer_diff.h - which layers make the difference between two candidates.
 *
 * Pure.  Layers are matched by the nodes of the model that they compute: a fused step is compared with all steps that do its
 * work.  A layer without a counterpart has a row of its own.  Every moment of a run belongs to one row (the last row is the time
 * outside all layers), so the rows add up to the two runs, and their differences to the difference of the runs. */
#ifndef AS_ANALYSIS_LAYER_DIFF_H
#define AS_ANALYSIS_LAYER_DIFF_H

#include "analysis/duel/duel_facts.h"

typedef struct as_layer_time {
    const char        *name;
    const char *const *parts; /* nodes by which it is matched; none: by its name */
    int                n_parts;
    double             ns;   /* mean over the runs of its side */
    const double      *each; /* in each of these runs; NULL: not known */
} as_layer_time;

/* One candidate: its layers, and the whole run that they are parts of. */
struct as_layer_side {
    const char    *name;
    as_layer_time *layers;
    int            n_layers;
    double         whole_ns;
    const double  *whole_each;
    size_t         n_runs;    /* number of runs in the means */
    const char    *source;    /* of the times, for people */
    const char    *why_not;   /* why there are no times; NULL: there are */
    double         per_items; /* how many items the times are for: 1 for the times of a call */
    bool           named;     /* several layers of a row have one name already */
};

typedef struct as_layer_row {
    const char *name;
    double      a_ns, b_ns; /* NaN: missing on that side */
    double      lo, hi;     /* of b - a, 95 %; NaN: not known */
    bool        outside;    /* the time that belongs to no layer */
} as_layer_row;

typedef struct as_layer_diff {
    as_layer_row *rows; /* the greatest difference first, what is outside of layers last */
    int           n_rows;
    as_layer_row  whole;
} as_layer_diff;

/* Both sides must have times.  False: no memory. */
bool as_layer_diff_make(as_arena *arena, const as_layer_side *a, const as_layer_side *b, as_layer_diff *out);

/* A side from a candidate of a trial, by its uninterrupted detailed runs; or from the facts of a `profile`, by its table of
 * layers. */
void as_layer_side_of_arm(assay_facts *f, const assay_trace *t, int arm, bool per_item, as_layer_side *out);
/* The same of a training step: all steps of both passes that serve a layer of the network are matched by that layer, and have the name of
 * the step that computes it in the forward pass. */
void as_layer_side_of_training(assay_facts *f, const assay_trace *t, int arm, as_layer_side *out);
void as_layer_side_of_facts(assay_facts *f, const assay_facts *run, const char *name, as_layer_side *out);

#endif
