/* setup.c - what a training step does, from options. */
#include "base/text.h"
#include "train/train.h"

#include <string.h>

const as_option_member as_train_setup_members[] = {AS_MEMBER(as_train_setup, TEXT, "loss", loss),
                                                   AS_MEMBER(as_train_setup, TEXT, "optimizer", optimizer),
                                                   AS_MEMBER(as_train_setup, TEXTS, "group", groups),
                                                   AS_MEMBER(as_train_setup, TEXTS, "freeze", freeze),
                                                   AS_MEMBER(as_train_setup, INT, "accumulate", accumulate),
                                                   AS_MEMBER(as_train_setup, TEXT, "clip", clip_text),
                                                   AS_MEMBER(as_train_setup, TEXT, "clip-value", clip_value_text),
                                                   AS_MEMBER(as_train_setup, CHOICE, "precision", precision),
                                                   AS_MEMBER(as_train_setup, TEXT, "recompute", recompute_text),
                                                   {.key = NULL}};

static assay_status number_read(assay_env *env, const char *key, const char *text, double *out)
{
    if (text && (!as_parse_f64(text, out) || !(*out >= 0)))
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is not a number of 0 or more", key, text);
    return ASSAY_OK;
}

static assay_status recompute_read(assay_env *env, const char *text, int *out)
{
    int64_t n = 0;
    *out = 0;
    if (text && !strcmp(text, "auto"))
        *out = -1;
    else if (text && (!as_parse_i64(text, &n) || n < 0 || n > 10000))
        return as_fail(env, ASSAY_BAD_INPUT, "option \"recompute\": \"%s\" is neither auto nor a number of segments", text);
    else
        *out = (int)n;
    return ASSAY_OK;
}

assay_status as_train_setup_read(assay_env *env, const assay_options *options, as_train_setup *out)
{
    *out = (as_train_setup){.loss = NULL};
    AS_TRY(as_options_read(env, options, as_train_setup_members, out));
    return as_train_setup_parse(env, out);
}

assay_status as_train_setup_parse(assay_env *env, as_train_setup *out)
{
    AS_TRY(number_read(env, "clip", out->clip_text, &out->clip_norm));
    AS_TRY(number_read(env, "clip-value", out->clip_value_text, &out->clip_value));
    return recompute_read(env, out->recompute_text, &out->recompute);
}
