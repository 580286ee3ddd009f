/* lbfgs.h - L-BFGS with a line search that ends at a point of the strong Wolfe conditions, over a flat block.  Private to train/.
 *
 * What PyTorch's LBFGS(line_search_fn="strong_wolfe") does, with its defaults.  The caller gives the loss and the gradient at any
 * point; all else is here, in double. */
#ifndef AS_TRAIN_LBFGS_H
#define AS_TRAIN_LBFGS_H

#include "base/arena.h"
#include "base/env.h"

typedef struct as_lbfgs_options {
    double rate;             /* 1: the first step length that a search tries */
    int    max_iterations;   /* per step: 20 */
    int    max_evaluations;  /* per step: max_iterations * 5 / 4 */
    double tolerance_grad;   /* the largest |g| at which it stops: 1e-7 */
    double tolerance_change; /* of the loss or of a parameter: 1e-9 */
    int    history;          /* pairs that are kept: 100 */
} as_lbfgs_options;

#define AS_LBFGS_DEFAULTS                                                                                                          \
    {                                                                                                                              \
        .rate = 1.0, .max_iterations = 20, .max_evaluations = 25, .tolerance_grad = 1e-7, .tolerance_change = 1e-9, .history = 100 \
    }

/* The loss and the gradient at w.  The status of a failed one ends the step; w is then where the last search ended. */
typedef assay_status (*as_lbfgs_eval)(void *arg, const double *w, double *loss, double *g);

typedef struct as_lbfgs as_lbfgs;

/* What it keeps per parameter, all of it taken when it is made. */
size_t as_lbfgs_bytes_per_parameter(const as_lbfgs_options *options);
/* For n parameters; owns its memory. */
assay_status as_lbfgs_new(assay_env *env, const as_lbfgs_options *options, int64_t n, as_lbfgs **out);
void         as_lbfgs_free(as_lbfgs *l);

typedef struct as_lbfgs_report {
    double loss_before, loss_after; /* at the point before and after the step */
    double max_grad;                /* the largest |g| there */
    double length;                  /* the step length of the last search */
    int    n_iterations, n_evaluations;
} as_lbfgs_report;

/* One step: up to max_iterations directions, each with a search.  Moves w. */
assay_status as_lbfgs_step(as_lbfgs *l, double *w, as_lbfgs_eval eval, void *arg, as_lbfgs_report *out);

/* What a checkpoint must keep to go on with the same numbers: a block of doubles, and how many there are. */
size_t as_lbfgs_state_count(const as_lbfgs *l);
void   as_lbfgs_state_get(const as_lbfgs *l, double *out);
void   as_lbfgs_state_set(as_lbfgs *l, const double *in);

#endif
