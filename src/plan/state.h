/* state.h - networks that remember: which output of one step is which input of the next, and what inputs hold when nobody says. */
#ifndef AS_PLAN_STATE_H
#define AS_PLAN_STATE_H

#include "plan/plan.h"

enum { AS_MAX_STATES = 16 };

/* Places in the model's lists of inputs and outputs. */
typedef struct as_state_pair {
    int input, output;
} as_state_pair;

/* The pairs by name: h0 and h_n, h_in and h_out, initial_h and Y_h, with anything for h.  Returns how many, in the order of the inputs. */
int as_state_find(const assay_model *model, as_state_pair *pairs, int max);
/* The same as variables of a plan: the network remembers by itself.  defs: room for AS_MAX_STATES. */
int as_state_variables(const assay_model *model, as_variable_def *defs);
/* The input of the time spans, or -1. */
int as_timespans_find(const assay_model *model);
/* What an input without a file holds: a state zeros, time spans ones, any other random values by seed. */
void as_input_fill(const assay_model *model, int input, uint64_t seed, const as_view *view);

#endif
