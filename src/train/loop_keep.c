/* loop_keep.c - a training run as tensors and numbers, and back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "train/loop_parts.h"

/* --- What a checkpoint holds ------------------------------------------------------------------------------------- */

typedef struct item_list {
    as_named_view *items;
    size_t         n, capacity;
    as_arena       arena;
    bool           failed;
} item_list;

static void item_add(item_list *list, const char *name, const as_view *view)
{
    if (list->n == list->capacity) {
        size_t         capacity = list->capacity ? 2 * list->capacity : 64;
        as_named_view *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            list->failed = true;
            return;
        }
        list->items = items;
        list->capacity = capacity;
    }
    if (!name)
        list->failed = true;
    else
        list->items[list->n++] = (as_named_view){name, *view};
}

/* What an optimiser remembers about each parameter goes with its name, so that a reader needs no layout; what it remembers once has its own. */
static void state_add(as_loop *l, item_list *list, int variable)
{
    const as_train_graph *g = as_trainer_graph(l->trainer);
    as_view               v = as_instance_variable(as_trainer_instance(l->trainer), variable);
    const char           *name = g->variables[variable].name;
    if (v.dtype != AS_F32 || as_shape_count(&v.shape) != g->n_elements) {
        item_add(list, as_arena_printf(&list->arena, "%s", name), &v);
        return;
    }
    for (int i = 0; i < g->n_parts; i++) {
        as_view part = as_view_of((float *)v.data + g->parts[i].begin, AS_F32, &g->parts[i].shape);
        item_add(list, as_arena_printf(&list->arena, "%s/%s", name, g->parts[i].name), &part);
    }
}

#define VAL_LOSSES  "loop/validation losses"
#define LBFGS_STATE "loop/lbfgs"

/* Every tensor of the run: the same list is written and read. */
static assay_status items_make(as_loop *l, item_list *list, double *lbfgs, double *losses)
{
    const as_train_graph *g = as_trainer_graph(l->trainer);
    for (int i = 0; i < g->n_parts; i++) {
        as_view v = as_trainer_weight(l->trainer, g->parts[i].name);
        item_add(list, g->parts[i].name, &v);
    }
    for (int i = 1; i <= g->n_states; i++)
        state_add(l, list, i);
    for (int i = g->first_kept; i < g->n_variables; i++) {
        as_view v = as_instance_variable(as_trainer_instance(l->trainer), i);
        item_add(list, g->variables[i].name, &v);
    }
    if (l->lbfgs) {
        as_view v = as_view_of(lbfgs, AS_F64, &AS_SHAPE((int64_t)as_lbfgs_state_count(l->lbfgs)));
        item_add(list, LBFGS_STATE, &v);
    }
    if (losses) {
        as_view v = as_view_of(losses, AS_F64, &AS_SHAPE(l->n_val_losses, 2));
        item_add(list, VAL_LOSSES, &v);
    }
    return list->failed ? as_fail(l->env, ASSAY_NO_MEMORY, "checkpoint: not enough memory for the list of its tensors") : ASSAY_OK;
}

static void items_drop(item_list *list)
{
    free(list->items);
    as_arena_drop(&list->arena);
}

/* --- Out ------------------------------------------------------------------------------------------------------------ */

/* The list of a run's tensors, with copies of those that are not tensors of the plan. */
typedef struct gathered {
    item_list list;
    double   *losses, *lbfgs;
} gathered;

static void gathered_drop(gathered *g)
{
    items_drop(&g->list);
    free(g->losses);
    free(g->lbfgs);
}

static assay_status gather(as_loop *l, gathered *g)
{
    *g = (gathered){.losses = l->n_val_losses ? calloc((size_t)l->n_val_losses, 2 * sizeof *g->losses) : NULL,
                    .lbfgs = l->lbfgs ? calloc(as_lbfgs_state_count(l->lbfgs) + 1, sizeof *g->lbfgs) : NULL};
    for (int i = 0; g->losses && i < l->n_val_losses; i++) {
        g->losses[2 * i] = (double)l->val_losses[i].step;
        g->losses[2 * i + 1] = l->val_losses[i].loss;
    }
    if (g->lbfgs)
        as_lbfgs_state_get(l->lbfgs, g->lbfgs);
    return (l->n_val_losses && !g->losses) || (l->lbfgs && !g->lbfgs)
               ? as_fail(l->env, ASSAY_NO_MEMORY, "checkpoint: not enough memory for its tensors")
               : items_make(l, &g->list, g->lbfgs, g->losses);
}

/* With room for the validation losses of all epochs, so that the copy never moves. */
assay_status as_loop_keeper_open(as_loop *l)
{
    gathered g;
    if (!*l->folder.path)
        return ASSAY_OK;
    assay_status status = gather(l, &g);
    uint64_t     per_epoch = (uint64_t)(as_loader_batches(l->loader) / l->settings->setup.accumulate);
    size_t       epochs = l->val ? (size_t)(l->n_updates / (per_epoch ? per_epoch : 1)) + 2 : 0;
    if (status == ASSAY_OK)
        status = as_keeper_open(l->env, &l->folder, as_keeper_count(g.list.items, g.list.n) + 16 * epochs + 256, &l->keeper);
    gathered_drop(&g);
    return status;
}

void as_loop_settle(as_loop *l, bool wait)
{
    as_kept kept;
    if (!l->keeper)
        return;
    bool     waits = wait && as_keeper_is_busy(l->keeper);
    uint64_t begin = as_loop_part_begin(l);
    bool     is_there = as_keeper_take(l->keeper, wait, &kept);
    if (waits)
        as_loop_part_end(l, AS_LOOP_SAVE, begin);
    if (!is_there)
        return;
    as_loop_record_write(l, &kept);
    l->n_saved += kept.status == ASSAY_OK;
    l->n_failed += kept.status != ASSAY_OK;
    if (kept.status == ASSAY_OK)
        return;
    snprintf(l->checkpoint_failed, sizeof l->checkpoint_failed, "%s", kept.why);
    if (l->saved_at == kept.updates)
        l->saved_at = UINT64_MAX; /* it is not there */
}

assay_status as_loop_checkpoint(as_loop *l)
{
    gathered g;
    as_loop_settle(l, true);
    uint64_t     begin = as_loop_part_begin(l);
    assay_status status = gather(l, &g);
    if (status == ASSAY_OK)
        status = as_keeper_give(l->env, l->keeper, &l->place, g.list.items, g.list.n);
    gathered_drop(&g);
    as_loop_part_end(l, AS_LOOP_SAVE, begin);
    if (status != ASSAY_OK) {
        l->n_failed++;
        snprintf(l->checkpoint_failed, sizeof l->checkpoint_failed, "%s", assay_message(l->env));
    }
    return status;
}

/* A folder of its own is written at once, by this thread. */
static assay_status save_elsewhere(as_loop *l, const char *path)
{
    as_checkpoints folder;
    gathered       g;
    AS_TRY(as_checkpoints_open(l->env, path, l->settings->keep, &folder));
    uint64_t     begin = as_loop_part_begin(l);
    assay_status status = gather(l, &g);
    if (status == ASSAY_OK)
        status = as_checkpoints_save(l->env, &folder, &l->place, g.list.items, g.list.n);
    gathered_drop(&g);
    as_loop_part_end(l, AS_LOOP_SAVE, begin);
    as_checkpoints_close(&folder);
    return status;
}

assay_status as_loop_save(as_loop *l, const char *path)
{
    if (!*l->folder.path || strcmp(path, l->folder.path))
        return save_elsewhere(l, path);
    AS_TRY(as_loop_checkpoint(l));
    uint64_t failed = l->n_failed; /* also of the one before, which is not this one's */
    as_loop_settle(l, true);
    return l->n_failed > failed ? as_fail(l->env, ASSAY_IO, "%s", l->checkpoint_failed) : ASSAY_OK;
}

/* --- In ------------------------------------------------------------------------------------------------------------- */

static assay_status same(as_loop *l, const as_checkpoint *c, const char *what, const char *has, const char *wants)
{
    if (!strcmp(has, wants))
        return ASSAY_OK;
    return as_fail(l->env, ASSAY_BAD_INPUT,
                   "checkpoint: %s: its %s was %s, and this run has %s: a run that goes on cannot change it", c->path, what,
                   *has ? has : "not given", *wants ? wants : "none");
}

static assay_status place_check(as_loop *l, const as_checkpoint *c)
{
    const as_checkpoint_place *has = &c->place, *wants = &l->place;
    if (strcmp(has->model_hash, wants->model_hash))
        return as_fail(l->env, ASSAY_BAD_INPUT, "checkpoint: %s: it is of another network than %s", c->path, l->model->name);
    if (strcmp(has->data_hash, wants->data_hash))
        return as_fail(l->env, ASSAY_BAD_INPUT, "checkpoint: %s: it was made with other data than %s, or these have changed",
                       c->path, l->settings->data);
    AS_TRY(same(l, c, "optimiser", has->optimizer_text, wants->optimizer_text));
    AS_TRY(same(l, c, "schedule", has->schedule_text, wants->schedule_text));
    AS_TRY(same(l, c, "loss", has->loss_text, wants->loss_text));
    if (has->seed != wants->seed)
        return as_fail(l->env, ASSAY_BAD_INPUT,
                       "checkpoint: %s: its seed was %llu, and this run has %llu: a run that goes on cannot change it", c->path,
                       (unsigned long long)has->seed, (unsigned long long)wants->seed);
    int64_t batch = as_growth_batch(&l->growth, l->first_batch, has->epoch + 1);
    if (has->batch != (uint64_t)batch)
        return as_fail(l->env, ASSAY_BAD_INPUT,
                       "checkpoint: %s: its batch size was %llu, and this run has %lld: a run that goes on cannot change it",
                       c->path, (unsigned long long)has->batch, (long long)batch);
    return ASSAY_OK;
}

static assay_status losses_read(as_loop *l, const as_checkpoint *c)
{
    const as_view *v = as_safetensors_find(&c->tensors, VAL_LOSSES);
    l->n_val_losses = 0;
    if (!v)
        return ASSAY_OK;
    if (v->dtype != AS_F64 || v->shape.rank != 2 || v->shape.dim[1] != 2 || v->shape.dim[0] > 1 << 24)
        return as_fail(l->env, ASSAY_BAD_INPUT, "checkpoint: %s: its list of validation losses is not one", c->path);
    int n = (int)v->shape.dim[0];
    if (n > l->cap_val_losses) {
        as_schedule_loss *made = realloc(l->val_losses, (size_t)n * sizeof *made);
        if (!made)
            return as_fail(l->env, ASSAY_NO_MEMORY, "checkpoint: not enough memory for %d validation losses", n);
        l->val_losses = made;
        l->cap_val_losses = n;
    }
    for (int i = 0; i < n; i++)
        l->val_losses[i] = (as_schedule_loss){(int64_t)as_view_get(v, 2 * i), as_view_get(v, 2 * i + 1)};
    l->n_val_losses = n;
    return ASSAY_OK;
}

/* All are looked at before the first is copied: a checkpoint that does not fit changes nothing. */
static assay_status tensors_read(as_loop *l, const as_checkpoint *c)
{
    item_list    list = {.n = 0};
    double      *lbfgs = l->lbfgs ? calloc(as_lbfgs_state_count(l->lbfgs) + 1, sizeof *lbfgs) : NULL;
    assay_status status = l->lbfgs && !lbfgs ? as_fail(l->env, ASSAY_NO_MEMORY, "checkpoint: not enough memory for its tensors")
                                             : items_make(l, &list, lbfgs, NULL);
    for (size_t i = 0; i < list.n && status == ASSAY_OK; i++)
        status = as_checkpoint_fits(l->env, c, list.items[i].name, &list.items[i].view);
    for (size_t i = 0; i < list.n && status == ASSAY_OK; i++)
        status = as_checkpoint_get(l->env, c, list.items[i].name, &list.items[i].view);
    if (status == ASSAY_OK && lbfgs)
        as_lbfgs_state_set(l->lbfgs, lbfgs);
    items_drop(&list);
    free(lbfgs);
    return status;
}

static assay_status place_take(as_loop *l, const as_checkpoint *c)
{
    AS_TRY(place_check(l, c));
    if ((uint64_t)l->place.batch != c->place.batch)
        AS_TRY(as_loop_trainer_make(l, (int64_t)c->place.batch));
    AS_TRY(tensors_read(l, c));
    AS_TRY(losses_read(l, c));
    l->place = c->place;
    as_trainer_set_counts(l->trainer, l->place.applied, l->place.steps);
    l->saved_at = l->place.updates;
    if (l->n_val_losses)
        l->judged.loss = l->val_losses[l->n_val_losses - 1].loss;
    return as_loop_loader_make(l, (int64_t)l->place.batch, (int64_t)l->place.epoch, (int64_t)l->place.batches);
}

assay_status as_loop_resume(as_loop *l, const char *path)
{
    as_checkpoint c;
    as_loop_settle(l, true); /* it may be the one that is under way */
    AS_TRY(as_checkpoint_load(l->env, path, &c));
    assay_status status = place_take(l, &c);
    if (c.n_refused)
        snprintf(l->refused, sizeof l->refused, "%s", c.refused);
    as_checkpoint_drop(&c);
    return status;
}

assay_status as_loop_load(as_loop *l, const char *path) { return as_loop_resume(l, path); }
