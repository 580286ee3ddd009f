/* optimizer.h - which optimiser a text asks for, and what it needs: "adamw:lr=1e-3,beta1=0.9,eps=1e-8,decay=0.01".  Private to train/.
 *
 * Every key that is not given has PyTorch's default.  The operator that does the work is in src/op/train; lbfgs is a loop of its own
 * (lbfgs.h). */
#ifndef AS_TRAIN_OPTIMIZER_H
#define AS_TRAIN_OPTIMIZER_H

#include "op/op.h"
#include "train/lbfgs.h"

/* f32: one number per parameter.  f64: one number in all. */
typedef struct as_optimizer_state {
    const char *name; /* "first moment" as "m": a key in checkpoints */
    as_dtype    dtype;
    double      initial;
} as_optimizer_state;

enum { AS_OPTIMIZER_ATTRS = 8, AS_OPTIMIZER_STATES = 3 };

typedef struct as_optimizer {
    const char        *name; /* "adamw" */
    const char        *op;   /* "assay.Adam"; NULL: lbfgs */
    double             rate, decay;
    as_attr            attrs[AS_OPTIMIZER_ATTRS]; /* the formula's constants */
    int                n_attrs;
    as_optimizer_state states[AS_OPTIMIZER_STATES];
    int                n_states;
    size_t             bytes_per_parameter; /* of the states; lbfgs: of its history, when it is full */
    as_lbfgs_options   lbfgs;
} as_optimizer;

/* BAD_INPUT with a sentence that lists the names or the keys that exist. */
assay_status as_optimizer_parse(assay_env *env, const char *text, as_optimizer *out);
/* The names, NULL-terminated: "sgd", "adam" ... */
extern const char *const as_optimizer_names[];
/* The same as text with every value, defaults too: what a checkpoint and a report say. */
const char *as_optimizer_show(const as_optimizer *o, char *buf, size_t size);
/* The attributes of the operator's node: the constants, the clipping where it is not 0, and the groups.  Returns how many. */
int as_optimizer_node(const as_optimizer *o, double clip_norm, double clip_value, const int64_t *starts, int n_starts,
                      as_attr out[AS_OPTIMIZER_ATTRS]);

/* --- Groups of parameters ------------------------------------------------------------------------------------------ */

/* "*.bias:lr=0.1x,decay=0": of the parameters whose names fit the pattern (* any text, ? one character), the rate as a factor of the
 * optimiser's (0.1x) or for itself (1e-4), and the decay. */
typedef struct as_group {
    char   pattern[128];
    bool   has_rate, is_factor, has_decay;
    double rate, decay;
} as_group;

assay_status as_group_parse(assay_env *env, const char *text, as_group *out);
/* Whether a name is like a pattern, in which * stands for any text and ? for one character. */
bool as_name_fits(const char *pattern, const char *parameter);
bool as_group_fits(const as_group *g, const char *parameter);
/* The factor of the schedule's rate, and the decay, for a group (NULL: the parameters that no pattern fits). */
double as_group_factor(const as_optimizer *o, const as_group *g);
double as_group_decay(const as_optimizer *o, const as_group *g);

#endif
