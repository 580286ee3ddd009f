/* loop_log.c - the log of a training run as JSON Lines: one object per logged update, and a summary. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "train/loop_parts.h"

assay_status as_loop_log_open(as_loop *l)
{
    if (!l->settings->log)
        return ASSAY_OK;
    if (!strcmp(l->settings->log, "-")) {
        l->log = stdout;
        return ASSAY_OK;
    }
    /* A log is followed while it grows, so it has its name from the beginning; a run that goes on adds to it. */
    l->log = fopen(l->settings->log, l->first_update ? "a" : "w");
    if (!l->log)
        return as_fail(l->env, ASSAY_IO, "train: %s: cannot write the log", l->settings->log);
    return ASSAY_OK;
}

static void number(as_json *w, const char *key, double value)
{
    if (!isnan(value))
        as_json_key_f64(w, key, value);
}

void as_loop_log_update(as_loop *l, const assay_training *now)
{
    as_json w;
    if (!l->log)
        return;
    as_json_start(&w, l->log, false);
    as_json_object(&w);
    as_json_key_u64(&w, "update", now->update);
    as_json_key_u64(&w, "epoch", now->epoch);
    as_json_key_u64(&w, "samples", now->samples);
    as_json_key_u64(&w, "batch", now->batch);
    as_json_key(&w, "loss");
    as_json_f64(&w, now->loss); /* null: it is not finite */
    number(&w, "rate", now->rate);
    number(&w, "norm", now->norm);
    number(&w, "loss_z", now->loss_z);
    number(&w, "norm_z", now->norm_z);
    number(&w, "updates_per_s", now->updates_per_s);
    number(&w, "samples_per_s", now->samples_per_s);
    number(&w, "wait_share", now->wait_share);
    number(&w, "memory_bytes", now->memory_bytes);
    if (l->setup.precision == AS_TRAIN_F16)
        number(&w, "loss_scale", now->loss_scale);
    if (now->skips)
        as_json_key_u64(&w, "skips", now->skips);
    if (now->epoch_ends) {
        number(&w, "epoch_loss", now->epoch_loss);
        number(&w, "val_loss", now->val_loss);
        if (*l->score_name)
            number(&w, l->score_name, now->score);
    }
    as_json_object_end(&w);
    as_json_finish(&w);
    fflush(l->log);
}

void as_loop_log_end(as_loop *l, assay_status ended)
{
    const as_checkpoint_place *p = &l->place;
    as_json                    w;
    if (!l->log)
        return;
    as_json_start(&w, l->log, false);
    as_json_object(&w);
    as_json_key_text(&w, "summary", ended == ASSAY_OK ? "complete" : ended == ASSAY_CANCELLED ? "stopped" : "failed");
    if (*l->stopped)
        as_json_key_text(&w, "reason", l->stopped);
    as_json_key_u64(&w, "updates", p->updates);
    as_json_key_u64(&w, "epochs", p->epoch);
    as_json_key_u64(&w, "samples", p->samples);
    number(&w, "best_loss", p->best_loss);
    number(&w, "val_loss", l->judged.loss);
    number(&w, "best_val_loss", p->best_val);
    if (*l->score_name)
        number(&w, l->score_name, l->judged.score);
    as_json_key_u64(&w, "skips", p->skips);
    as_json_key_u64(&w, "checkpoints", l->n_saved);
    as_json_key_u64(&w, "checkpoints_failed", l->n_failed);
    as_json_object_end(&w);
    as_json_finish(&w);
    fflush(l->log);
}
