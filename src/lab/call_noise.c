/* call_noise.c - the smallest change that this machine can detect, as a call. */
#include <math.h>

#include "base/stage.h"
#include "lab/calls.h"
#include "lab/noise.h"

/* Stores the result for the next comparison. */
static assay_status plan_keep(assay_env *env, const as_store_options *o, const as_noise *n)
{
    as_store *store;
    AS_TRY(as_lab_store(env, o, false, &store));
    assay_status status = as_noise_save(env, store, n);
    as_store_close(store);
    return status;
}

static assay_status noise_give(assay_env *env, const as_store_options *o, as_noise *noise, assay_facts **out)
{
    int64_t id;
    as_stage_begin(env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    AS_TRY(as_noise_facts(env, noise, out));
    AS_TRY(as_lab_keep(env, o, "noise", "noise of this machine", (const assay_trace *const *)noise->trials, (size_t)noise->n, *out,
                       &id));
    return id ? plan_keep(env, o, noise) : ASSAY_OK;
}

/* The facts borrow the trials, so the trials change owners, whether or not the store worked. */
static void trials_give(as_noise *noise, assay_facts *f)
{
    f->owns_trials = true;
    noise->n = 0;
}

assay_status assay_noise(assay_env *env, const assay_options *options, assay_facts **out)
{
    static const char *const keys[] = {AS_NOISE_KEYS, NULL};
    as_lab_settings          s;
    as_store_options         store;
    as_noise                 noise;
    assay_facts             *facts = NULL;
    AS_TRY(as_options_only(env, options, "noise", keys));
    AS_TRY(as_lab_settings_read(env, options, AS_NOISE_BUDGET, &s));
    AS_TRY(as_keep_options_read(env, options, &store));
    assay_status measured = as_noise_measure(env, &s, &noise), status = measured;
    if (as_trials_have(noise.trials, (size_t)noise.n) && (measured == ASSAY_OK || measured == ASSAY_CANCELLED))
        status = noise_give(env, &store, &noise, &facts);
    if (facts && status == ASSAY_OK && measured != ASSAY_OK)
        status = as_fail(env, measured, "stopped: %d of its trials are kept, the last one partial", noise.n);
    if (facts) {
        trials_give(&noise, facts);
        *out = facts; /* a store that cannot be opened does not lose the result */
    }
    as_noise_drop(&noise);
    return status;
}
