/* loop_open.c - what a training run is made of: data, network, loader, and where it begins. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stage.h"
#include "base/text.h"
#include "train/loop_parts.h"
#include "train/probe.h"

enum { STANDARD_BATCH = 32, STANDARD_EPOCHS = 10, DIVERGED_FOR = 100, LEAST_PER_POINT = 1 };
#define PROBE_S 0.3 /* of each size that --batch auto tries */

/* --- Settings ------------------------------------------------------------------------------------------------ */

const as_option_member as_loop_members[] = {AS_MEMBER(as_loop_settings, GIVEN, "batch", batch),
                                            AS_MEMBER(as_loop_settings, TEXT, "data", data),
                                            AS_MEMBER(as_loop_settings, TEXT, "val", val),
                                            AS_MEMBER(as_loop_settings, TEXT, "preprocess", preprocess),
                                            AS_MEMBER(as_loop_settings, TEXT, "loader", loader),
                                            AS_MEMBER(as_loop_settings, I64, "epochs", epochs),
                                            AS_MEMBER(as_loop_settings, I64, "steps", steps),
                                            AS_MEMBER(as_loop_settings, TEXT, "schedule", schedule),
                                            AS_MEMBER(as_loop_settings, TEXT, "metrics", metrics),
                                            AS_MEMBER(as_loop_settings, TEXT, "grow-batch", grow_batch),
                                            AS_MEMBER(as_loop_settings, TEXT, "memory-budget", memory_budget),
                                            AS_MEMBER(as_loop_settings, TEXT, "checkpoint", checkpoint),
                                            AS_MEMBER(as_loop_settings, TEXT, "resume", resume),
                                            AS_MEMBER(as_loop_settings, I64, "checkpoint-every", checkpoint_every),
                                            AS_MEMBER(as_loop_settings, INT, "keep", keep),
                                            AS_MEMBER(as_loop_settings, I64, "every", every),
                                            AS_MEMBER(as_loop_settings, TEXT, "diverged", diverged),
                                            AS_MEMBER(as_loop_settings, TEXT, "log", log),
                                            {.key = NULL}};

/* The batch of a plan is a number; that of a training run may be the word auto. */
static assay_status plan_read(assay_env *env, const assay_options *options, as_plan_options *out)
{
    as_option_member members[32];
    size_t           n = 0;
    for (const as_option_member *m = as_plan_members; m->key && n + 1 < AS_COUNT(members); m++)
        if (strcmp(m->key, "batch"))
            members[n++] = *m;
    members[n] = (as_option_member){.key = NULL};
    *out = (as_plan_options){.threads = 0};
    out->devices = as_options_texts(options, "device");
    return as_options_read(env, options, members, out);
}

static assay_status number_check(assay_env *env, const char *key, const char *text, double *out)
{
    *out = 0;
    if (text && (!as_parse_f64(text, out) || !(*out >= 0)))
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is not a number of 0 or more", key, text);
    return ASSAY_OK;
}

assay_status as_loop_settings_read(assay_env *env, const assay_options *options, as_loop_settings *out)
{
    as_loop_settings s = {.epochs = 0};
    double           number;
    AS_TRY(plan_read(env, options, &s.plan));
    AS_TRY(as_train_setup_read(env, options, &s.setup));
    AS_TRY(as_options_read(env, options, as_loop_members, &s));
    s.setup.norm = true; /* it is watched */
    s.setup.accumulate = s.setup.accumulate > 1 ? s.setup.accumulate : 1;
    if (!s.data)
        return as_fail(env, ASSAY_BAD_INPUT, "train needs data to learn from: --data FILE, or --data synthetic:spirals for a try");
    if (s.epochs && s.steps)
        return as_fail(env, ASSAY_BAD_INPUT, "train: --epochs %lld and --steps %lld: give one of the two", (long long)s.epochs,
                       (long long)s.steps);
    if (s.checkpoint_every && !s.checkpoint)
        return as_fail(env, ASSAY_BAD_INPUT, "train: --checkpoint-every is for --checkpoint DIR, which is not given");
    if (as_options_is_set(options, "keep") && !s.checkpoint)
        return as_fail(env, ASSAY_BAD_INPUT, "train: --keep is for --checkpoint DIR, which is not given");
    AS_TRY(number_check(env, "diverged", s.diverged, &number));
    *out = s;
    return ASSAY_OK;
}

/* --- Data ---------------------------------------------------------------------------------------------------- */

/* "10%": a share of the data; false: it is data of its own. */
static bool share_read(const char *text, double *share)
{
    char   number[32];
    size_t n = strlen(text);
    if (n < 2 || n >= sizeof number || text[n - 1] != '%')
        return false;
    memcpy(number, text, n - 1);
    number[n - 1] = '\0';
    return as_parse_f64(number, share) && (*share /= 100, true);
}

static as_target_kind target_kind(const char *loss)
{
    return !loss ? AS_TARGET_AUTO : !strcmp(loss, "ce") ? AS_TARGET_CLASS : AS_TARGET_NUMBER;
}

static assay_status data_open(as_loop *l)
{
    const as_loop_settings *s = l->settings;
    as_data_options         how = {.mmap = l->loading.mmap, .target = target_kind(s->setup.loss)};
    double                  share = 0;
    bool                    split = s->val && share_read(s->val, &share);
    AS_TRY(as_preprocess_parse(l->env, s->preprocess, &how.preprocess));
    if (split && !(share > 0 && share < 1))
        return as_fail(l->env, ASSAY_BAD_INPUT, "train: --val %s: the share must be more than 0%% and less than 100%%", s->val);
    AS_TRY(as_data_open(l->env, s->data, &how, split ? &l->all : &l->train));
    if (split)
        AS_TRY(as_data_split(l->env, l->all, share, l->plan.seed, &l->train, &l->val));
    AS_TRY(as_data_fit(l->env, l->train, NULL));
    if (s->val && !split) {
        how.like = l->train;
        AS_TRY(as_data_open(l->env, s->val, &how, &l->val));
    }
    if (l->val)
        AS_TRY(as_data_fit(l->env, l->val, l->train));
    return as_data_hash_make(l->env, split ? l->all : l->train, &l->hash);
}

/* --- The network ------------------------------------------------------------------------------------------------ */

/* What identifies the network: its nodes, and the names and shapes of its parameters. */
static void model_hash(const assay_model *m, char hex[AS_SHA256_HEX])
{
    as_sha256 h;
    as_sha256_start(&h);
    for (int i = 0; i < m->n_nodes; i++) {
        as_sha256_add(&h, m->nodes[i].op->name, strlen(m->nodes[i].op->name) + 1);
        for (int k = 0; k < m->nodes[i].n_in; k++) {
            int in = m->nodes[i].in[k];
            as_sha256_add(&h, &in, sizeof in);
        }
    }
    for (int i = 0; i < m->n_values; i++)
        if (m->values[i].role == AS_ROLE_PARAM) {
            const as_value *v = &m->values[i];
            as_sha256_add(&h, v->name, strlen(v->name) + 1);
            for (int k = 0; k < v->dims.rank; k++)
                as_sha256_add(&h, &v->dims.dim[k].size, sizeof v->dims.dim[k].size);
        }
    as_sha256_finish(&h, hex);
}

/* The target of a batch as the graph of the step takes it. */
static assay_status target_find(as_loop *l)
{
    const assay_model   *m = as_trainer_graph(l->trainer)->model;
    const as_data_field *field = as_data_target(l->train);
    int                  id = as_model_value_find(m, AS_TRAIN_TARGET);
    as_shape             s = {.rank = 0};
    if (id < 0)
        return as_fail(l->env, ASSAY_INTERNAL, "train: the graph of a step has no target");
    s.rank = m->values[id].dims.rank;
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = m->values[id].dims.dim[i].size;
    int64_t each = as_shape_count(&field->shape), all = as_shape_count(&s), batch = (int64_t)l->place.batch;
    if (all != each * batch) {
        char has[128], wants[128];
        return as_fail(
            l->env, ASSAY_BAD_INPUT,
            "train: a target of %s has shape %s (%lld numbers per example), but the loss %s of %s takes %s for %lld examples",
            as_data_spec(l->train), as_shape_show(&field->shape, has, sizeof has), (long long)each,
            as_trainer_graph(l->trainer)->loss, l->model->name, as_shape_show(&s, wants, sizeof wants), (long long)batch);
    }
    if (m->values[id].dtype != field->dtype)
        return as_fail(l->env, ASSAY_BAD_INPUT, "train: the target of %s is %s, but the loss %s takes %s", as_data_spec(l->train),
                       as_dtype_name(field->dtype), as_trainer_graph(l->trainer)->loss, as_dtype_name(m->values[id].dtype));
    l->target = s;
    return ASSAY_OK;
}

/* The batch axis of an input that the data fill: its first. */
static const as_dim *batch_axis(const as_loop *l, int input)
{
    const as_value *v = &l->model->values[l->model->inputs[input]];
    return l->feed.field[input] >= 0 && v->dims.rank > 0 ? &v->dims.dim[0] : NULL;
}

/* The batch size that a model without a symbol for it has; 0: it is open. */
static int64_t batch_fixed(const as_loop *l)
{
    for (int i = 0; i < l->feed.n_inputs; i++)
        if (batch_axis(l, i))
            return batch_axis(l, i)->symbol ? 0 : batch_axis(l, i)->size;
    return 0;
}

/* A file may call its batch axis anything, and differently for each input; `batch` is the name that plans know by themselves. */
static size_t batch_name(as_loop *l, int64_t batch, size_t n)
{
    size_t n_names = 0;
    l->plan.batch_is_set = false;
    for (int i = 0; i < l->feed.n_inputs && n_names < AS_COUNT(l->batch_dims); i++) {
        const char *symbol = batch_axis(l, i) ? batch_axis(l, i)->symbol : NULL;
        size_t      k = 0;
        if (!symbol)
            continue;
        if (!strcmp(symbol, "batch")) {
            l->plan.batch_is_set = true;
            continue;
        }
        char *text = l->batch_dims[n_names];
        snprintf(text, sizeof l->batch_dims[0], "%s=%lld", symbol, (long long)batch);
        while (k < n_names && strcmp(l->batch_dims[k], text))
            k++;
        if (k == n_names && n < AS_COUNT(l->plan_dims))
            l->plan_dims[n++] = l->batch_dims[n_names++];
    }
    return n;
}

/* "seq=32" is of the dimension seq. */
static bool dim_is_of(const char *dim, const char *name, size_t n) { return !strncmp(dim, name, n) && dim[n] == '='; }

/* What the examples say about a dimension, --seq and --dim may say again, but nothing else. */
static assay_status dims_check(as_loop *l)
{
    const as_plan_options *p = &l->settings->plan;
    for (int i = 0; i < l->feed.n_dims; i++) {
        const char *dim = l->feed.dims[i], *size = strchr(dim, '=') + 1;
        size_t      n = (size_t)(size - dim) - 1;
        char        given[32];
        snprintf(given, sizeof given, "%lld", (long long)p->seq);
        if (p->seq_is_set && n == 3 && !strncmp(dim, "seq", n) && strcmp(given, size))
            return as_fail(l->env, ASSAY_BAD_INPUT, "train: --seq %s: the sequences of %s have %s steps", given,
                           as_data_spec(l->train), size);
        for (size_t k = 0; k < p->dims.n; k++)
            if (dim_is_of(p->dims.items[k], dim, n) && strcmp(p->dims.items[k], dim))
                return as_fail(l->env, ASSAY_BAD_INPUT, "train: --dim %s: the examples of %s have %s there", p->dims.items[k],
                               as_data_spec(l->train), size);
    }
    return ASSAY_OK;
}

static bool is_given(const as_plan_options *given, const char *dim)
{
    for (size_t k = 0; k < given->dims.n; k++)
        if (!strcmp(given->dims.items[k], dim))
            return true;
    return false;
}

static void plan_bind(as_loop *l, int64_t batch)
{
    as_plan_options *p = &l->plan;
    size_t           n = 0;
    *p = l->settings->plan;
    p->batch = batch;
    n = batch_name(l, batch, n);
    for (size_t i = 0; i < p->dims.n && n < AS_COUNT(l->plan_dims); i++)
        l->plan_dims[n++] = p->dims.items[i];
    for (int i = 0; i < l->feed.n_dims && n < AS_COUNT(l->plan_dims); i++) {
        if (is_given(&l->settings->plan, l->feed.dims[i]))
            continue;
        if (!strncmp(l->feed.dims[i], "seq=", 4) || !strncmp(l->feed.dims[i], "batch=", 6)) {
            int64_t size;
            if (l->feed.dims[i][0] == 's' && !p->seq_is_set && as_parse_i64(l->feed.dims[i] + 4, &size)) {
                p->seq = size;
                p->seq_is_set = true;
            }
            continue;
        }
        l->plan_dims[n++] = l->feed.dims[i];
    }
    p->dims = (as_texts){l->plan_dims, n};
}

/* Its history is about the weights, whatever the batch size. */
static assay_status lbfgs_make(as_loop *l)
{
    const as_train_graph *g = as_trainer_graph(l->trainer);
    if (!g->is_lbfgs || l->lbfgs)
        return ASSAY_OK;
    AS_TRY(as_optimizer_parse(l->env, l->settings->setup.optimizer, &l->optimizer));
    if (l->settings->setup.accumulate > 1)
        return as_fail(l->env, ASSAY_BAD_INPUT,
                       "train: lbfgs searches with one batch per update: leave out --accumulate %lld, or use a larger --batch",
                       (long long)l->settings->setup.accumulate);
    l->lbfgs_w = calloc((size_t)g->n_elements, sizeof *l->lbfgs_w);
    if (!l->lbfgs_w)
        return as_fail(l->env, ASSAY_NO_MEMORY, "train: not enough memory for lbfgs");
    return as_lbfgs_new(l->env, &l->optimizer.lbfgs, g->n_elements, &l->lbfgs);
}

/* A trainer for this batch size; the weights and states of the one before go on. */
assay_status as_loop_trainer_make(as_loop *l, int64_t batch)
{
    as_trainer   *before = l->trainer, *made = NULL;
    as_evaluator *evaluator = NULL;
    uint64_t      begin = as_loop_part_begin(l);
    plan_bind(l, batch);
    AS_TRY(as_trainer_new(l->env, l->model, &l->setup, &l->plan, &made));
    if (strcmp(l->trace->clock_name, l->env->clock.name)) /* the device's time is simulated: the run begins in its time */
        begin = l->began_ticks = as_clock_now(&l->env->clock);
    assay_status status = as_trace_clock_take(l->trace, l->env)
                              ? ASSAY_OK
                              : as_fail(l->env, ASSAY_NO_MEMORY, "train: not enough memory for the name of the clock");
    if (status == ASSAY_OK && before)
        status = as_trainer_take(l->env, made, before);
    if (status == ASSAY_OK && l->val)
        status = as_evaluator_new(l->env, made, &l->plan, &evaluator);
    if (status != ASSAY_OK) {
        as_trainer_free(made);
        return status;
    }
    if (before)
        as_trainer_set_counts(made, as_trainer_updates(before), l->place.steps);
    as_evaluator_free(l->evaluator);
    as_trainer_free(before);
    l->evaluator = evaluator;
    l->trainer = made;
    l->place.batch = (uint64_t)batch;
    free(l->rates);
    l->rates = calloc((size_t)as_trainer_graph(made)->n_groups, sizeof *l->rates);
    if (!l->rates)
        return as_fail(l->env, ASSAY_NO_MEMORY, "train: not enough memory for the rates");
    AS_TRY(target_find(l));
    AS_TRY(lbfgs_make(l));
    AS_TRY(as_loop_record_plan(l));
    as_loop_part_end(l, AS_LOOP_PLAN, begin);
    return ASSAY_OK;
}

void as_loop_loader_close(as_loop *l)
{
    as_loader_stats s;
    if (!l->loader)
        return;
    as_loop_record_loader(l, l->loader, AS_LOOP_LOADS);
    as_loader_stats_read(l->loader, &s);
    l->waited_ns += s.consumer_wait_ns;
    l->producer_ns += s.producer_wait_ns;
    l->fill_ns += s.fill_ns;
    l->bytes_read += s.bytes_read;
    l->loaded_ns += s.elapsed_ns;
    as_loader_free(l->loader);
    l->loader = NULL;
}

assay_status as_loop_loader_make(as_loop *l, int64_t batch, int64_t epoch, int64_t index)
{
    as_loop_loader_close(l);
    l->loading.batch = batch;
    AS_TRY(as_loader_open(l->env, l->train, &l->loading, &l->loader));
    return as_loader_seek(l->env, l->loader, epoch, index);
}

/* What a run with this batch size takes: a step, an evaluation, the ring of the loader, the copy for checkpoints and the network itself. */
static assay_status bytes_of(void *arg, int64_t batch, uint64_t *out)
{
    as_loop        *l = arg;
    as_train_graph *graph = NULL;
    assay_plan     *plan = NULL, *judging = NULL;
    int64_t         example = as_shape_count(&as_data_target(l->train)->shape) * 8;
    plan_bind(l, batch);
    AS_TRY(as_train_plan_new(l->env, l->model, &l->setup, &l->plan, &graph, &plan));
    uint64_t     bytes = assay_plan_peak_bytes(plan) + as_model_param_bytes(l->model);
    assay_status status = l->val ? as_plan_build(l->env, l->model, &l->plan, &judging) : ASSAY_OK;
    if (judging)
        bytes += assay_plan_peak_bytes(judging);
    as_train_memory m; /* a checkpoint is written from a copy of what the run remembers */
    if (status == ASSAY_OK && l->settings->checkpoint && (status = as_train_memory_count(l->env, graph, plan, &m)) == ASSAY_OK)
        bytes += m.held[AS_KIND_WEIGHTS] + m.held[AS_KIND_STATES] + m.held[AS_KIND_STATISTICS];
    for (int i = 0; i < as_data_inputs(l->train); i++)
        example += as_shape_count(&as_data_input(l->train, i)->shape) * (int64_t)as_dtype_bytes(as_data_input(l->train, i)->dtype);
    bytes += (uint64_t)(example * batch * (l->loading.prefetch > 0 ? l->loading.prefetch : 1)) * (l->val ? 2 : 1);
    assay_plan_free(judging);
    assay_plan_free(plan);
    as_train_graph_free(graph);
    *out = bytes;
    return status;
}

static assay_status budget_refuse(as_loop *l, int64_t batch, uint64_t bytes)
{
    char takes[32];
    return as_fail(l->env, ASSAY_BAD_INPUT, "train: %s with a batch of %lld takes %s, which is more than --memory-budget %s",
                   l->model->name, (long long)batch, as_show(takes, sizeof takes, (double)bytes, "byte"),
                   l->settings->memory_budget);
}

/* The largest batch that fits, with evaluation and loader. */
static assay_status batch_find(as_loop *l, uint64_t budget, int64_t *out)
{
    uint64_t bytes;
    AS_TRY(as_probe_search(as_data_count(l->train), budget, bytes_of, l, out));
    if (*out)
        return ASSAY_OK;
    AS_TRY(bytes_of(l, 1, &bytes));
    return budget_refuse(l, 1, bytes);
}

static assay_status batch_try(void *arg, int64_t batch, uint64_t limit_bytes, as_probe *out)
{
    as_loop *l = arg;
    plan_bind(l, batch);
    return as_probe_bound(l->env, l->model, &l->setup, &l->plan, batch, limit_bytes, PROBE_S, false, out);
}

/* The knee of the throughput, in at most half of the memory that the machine could give now.  The sentence says what another run must be given
 * to do the same. */
static assay_status batch_choose(as_loop *l, int64_t *out)
{
    as_batch_choice c;
    char            budget[32], fixed[32], each[32];
    uint64_t        memory = as_probe_memory() / 2;
    as_stage_begin(l->env, AS_PHASE_PLAN, "batch size", (double)NAN, 0);
    AS_TRY(as_probe_choose(l->env, as_data_count(l->train), memory ? memory : UINT64_MAX, bytes_of, batch_try, l, &c));
    as_show(budget, sizeof budget, (double)memory, "byte");
    as_show(fixed, sizeof fixed, c.line.a, "ns");
    as_show(each, sizeof each, c.line.b, "ns");
    if (c.n_probes > 1 && isfinite(c.knee) && c.knee <= (double)c.largest)
        snprintf(
            l->batch_why, sizeof l->batch_why,
            "--batch auto took %lld: the knee, 95 %% of the throughput of ever larger ones, by a step of %s + %s per example (%d probes)",
            (long long)c.batch, fixed, each, c.n_probes);
    else
        snprintf(l->batch_why, sizeof l->batch_why, "--batch auto took %lld: the largest for %lld examples in %s; the knee is %s",
                 (long long)c.batch, (long long)as_data_count(l->train), budget,
                 isfinite(c.knee) ? "beyond it" : "not known, as the time does not grow with the batch size");
    *out = c.batch;
    return ASSAY_OK;
}

/* A run that goes on has a checkpoint already. */
static bool resumes(const as_loop *l)
{
    const as_loop_settings *s = l->settings;
    uint64_t                step;
    return s->resume && !(s->checkpoint && !strcmp(s->resume, s->checkpoint) && !as_checkpoints_newest(s->resume, &step));
}

/* The size that the run began with: another one would be another run. */
static assay_status batch_resume(as_loop *l, int64_t *out)
{
    as_checkpoint c;
    AS_TRY(as_checkpoint_load(l->env, l->settings->resume, &c));
    uint64_t batch = c.place.batch, epoch = c.place.epoch + 1;
    as_checkpoint_drop(&c);
    if (as_growth_batch(&l->growth, 1, epoch) == as_growth_batch(&l->growth, 2, epoch))
        return as_fail(l->env, ASSAY_BAD_INPUT,
                       "train: --batch auto: the batch of %s has grown already: give the size that the run began with",
                       l->settings->resume);
    snprintf(l->batch_why, sizeof l->batch_why, "--batch auto took %llu: the size of the checkpoint that the run goes on from",
             (unsigned long long)batch);
    *out = (int64_t)batch;
    return ASSAY_OK;
}

static assay_status batch_read(as_loop *l, int64_t *out)
{
    const char *text = l->settings->batch;
    int64_t     n = as_data_count(l->train);
    uint64_t    budget = 0, bytes;
    bool        is_auto = text && !strcmp(text, "auto");
    if (l->settings->memory_budget && (!as_parse_bytes(l->settings->memory_budget, &budget) || !budget))
        return as_fail(l->env, ASSAY_BAD_INPUT, "option \"memory-budget\": \"%s\" is not a number of bytes such as 500M or 2G",
                       l->settings->memory_budget);
    int64_t fixed = batch_fixed(l);
    if (is_auto && !fixed && resumes(l))
        return batch_resume(l, out);
    if (is_auto && !fixed)
        return budget ? batch_find(l, budget, out) : batch_choose(l, out);
    *out = fixed ? fixed : n < STANDARD_BATCH ? n : STANDARD_BATCH;
    if (text && !is_auto && !as_parse_i64(text, out))
        return as_fail(l->env, ASSAY_INTERNAL, "train: batch is \"%s\"", text);
    if (fixed && *out != fixed)
        return as_fail(l->env, ASSAY_BAD_INPUT, "train: --batch %lld: %s is made for batches of %lld and takes no other",
                       (long long)*out, l->model->name, (long long)fixed);
    if (!budget)
        return ASSAY_OK;
    AS_TRY(bytes_of(l, *out, &bytes));
    return bytes > budget ? budget_refuse(l, *out, bytes) : ASSAY_OK;
}

/* The number of updates of the whole run: schedules and the time left depend on it. */
static uint64_t updates_count(const as_loop *l)
{
    uint64_t epochs = l->settings->epochs ? (uint64_t)l->settings->epochs : STANDARD_EPOCHS, batches = 0;
    if (l->settings->steps)
        return (uint64_t)l->settings->steps;
    for (uint64_t e = 1; e <= epochs; e++)
        batches += (uint64_t)(as_data_count(l->train) / as_growth_batch(&l->growth, l->first_batch, e));
    uint64_t n = batches / (uint64_t)l->settings->setup.accumulate;
    return n ? n : 1;
}

static void setup_make(as_loop *l)
{
    l->setup = l->settings->setup;
    if (!l->setup.loss)
        l->setup.loss = as_data_classes(l->train) ? "ce" : "mse";
}

/* The sizes of the output that the loss judges. */
static as_shape answer_shape(const as_loop *l)
{
    const assay_plan *plan = as_trainer_plan(l->trainer);
    for (int i = 0; i < plan->graph.n_outputs; i++)
        if (!strcmp(plan->graph.values[plan->graph.outputs[i]].name, as_trainer_graph(l->trainer)->answer))
            return plan->graph.values[plan->graph.outputs[i]].info.shape;
    return (as_shape){.rank = 0};
}

/* The first of them is the score of a run. */
static assay_status measures_make(as_loop *l)
{
    as_shape answer = answer_shape(l);
    if (as_trainer_graph(l->trainer)->has_labels && answer.rank == 3) /* of every step of a sequence */
        answer = AS_SHAPE(answer.dim[0] * answer.dim[1], answer.dim[2]);
    bool is_class = !strcmp(l->setup.loss, "ce") || !strcmp(l->setup.loss, "bce");
    if (as_schedule_wants_losses(&l->schedule) && !l->val)
        return as_fail(l->env, ASSAY_BAD_INPUT, "train: a plateau looks at the validation loss: give --val");
    if (!strcmp(l->setup.loss, "ce") && answer.rank > 1 && answer.dim[1] < as_data_classes(l->train))
        return as_fail(l->env, ASSAY_BAD_INPUT, "train: %s has %lld classes, but %s answers with %lld", as_data_spec(l->train),
                       (long long)as_data_classes(l->train), l->model->name, (long long)answer.dim[1]);
    if (!l->val && !l->settings->metrics)
        return ASSAY_OK;
    l->n_classes = !is_class || answer.rank < 1 ? 0 : answer.rank == 1 || answer.dim[1] == 1 ? 2 : answer.dim[1];
    AS_TRY(as_metric_list_parse(l->env,
                                l->settings->metrics ? l->settings->metrics
                                : is_class           ? "accuracy,confusion"
                                                     : "r2,mae",
                                &l->measures));
    return as_metrics_new(l->env, &l->measures, &(as_metrics_for){.n_classes = l->n_classes}, &l->metrics);
}

static void place_begin(as_loop *l)
{
    as_checkpoint_place *p = &l->place;
    p->seed = l->settings->plan.seed;
    p->best_loss = p->best_val = NAN;
    p->loss_scale = l->setup.precision == AS_TRAIN_F16 ? 65536 : 1;
    snprintf(p->optimizer_text, sizeof p->optimizer_text, "%s",
             l->settings->setup.optimizer ? l->settings->setup.optimizer : "adam");
    snprintf(p->schedule_text, sizeof p->schedule_text, "%s", l->settings->schedule ? l->settings->schedule : "");
    snprintf(p->loss_text, sizeof p->loss_text, "%s", l->setup.loss);
    memcpy(p->model_hash, l->model_hash, sizeof p->model_hash);
    memcpy(p->data_hash, l->hash.hex, sizeof p->data_hash);
}

/* A folder that has checkpoints of an earlier run is not written to by another one. */
static assay_status folder_open(as_loop *l)
{
    const as_loop_settings *s = l->settings;
    uint64_t                step;
    if (!s->checkpoint)
        return ASSAY_OK;
    bool same = s->resume && !strcmp(s->resume, s->checkpoint);
    if (!same && as_checkpoints_newest(s->checkpoint, &step))
        return as_fail(
            l->env, ASSAY_BAD_INPUT,
            "train: %s has checkpoints of an earlier run (update %llu): --resume %s goes on with them, or give another folder",
            s->checkpoint, (unsigned long long)step, s->checkpoint);
    return as_checkpoints_open(l->env, s->checkpoint, s->keep, &l->folder);
}

/* In the folder that it writes to itself, a run that was killed before its first checkpoint begins anew: the same command works always. */
static assay_status resume(as_loop *l) { return resumes(l) ? as_loop_resume(l, l->settings->resume) : ASSAY_OK; }

static assay_status open_all(as_loop *l)
{
    const as_loop_settings *s = l->settings;
    int64_t                 batch;
    l->loading = as_loader_training(1, s->plan.seed);
    AS_TRY(as_loader_options_parse(l->env, s->loader, &l->loading));
    l->loading.events = true;
    AS_TRY(as_growth_parse(l->env, s->grow_batch, &l->growth));
    if (s->schedule)
        AS_TRY(as_schedule_parse(l->env, s->schedule, &l->schedule));
    l->plan = s->plan;
    AS_TRY(data_open(l));
    AS_TRY(as_feed_make(l->env, l->model, l->train, &l->feed));
    AS_TRY(dims_check(l));
    setup_make(l);
    AS_TRY(batch_read(l, &batch));
    l->first_batch = batch;
    model_hash(l->model, l->model_hash);
    place_begin(l);
    as_parse_f64(s->diverged ? s->diverged : "10", &l->limit);
    as_watch_open(&l->watch, l->limit > 0 ? l->limit : INFINITY, DIVERGED_FOR);
    as_drift_open(&l->drift_cpu, LEAST_PER_POINT);
    as_drift_open(&l->drift_memory, LEAST_PER_POINT);
    as_drift_open(&l->drift_heap, LEAST_PER_POINT);
    AS_TRY(folder_open(l));
    AS_TRY(as_loop_record_open(l));
    AS_TRY(as_loop_trainer_make(l, as_growth_batch(&l->growth, batch, 1)));
    AS_TRY(measures_make(l));
    l->n_updates = updates_count(l);
    AS_TRY(as_loop_loader_make(l, (int64_t)l->place.batch, 0, 0));
    AS_TRY(resume(l));
    AS_TRY(as_loop_keeper_open(l));
    l->first_update = l->place.updates;
    l->first_samples = l->place.samples;
    return as_loop_log_open(l);
}

assay_status as_loop_open(assay_env *env, const assay_model *model, const as_loop_settings *settings, as_loop **out)
{
    as_loop *l = calloc(1, sizeof *l);
    if (!l)
        return as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory for a training run");
    l->env = env;
    l->model = model;
    l->settings = settings;
    l->folder.fd = -1;
    l->judged = (as_judged){.loss = NAN, .score = NAN};
    assay_status status = open_all(l);
    if (status != ASSAY_OK) {
        char first[sizeof env->message];
        memcpy(first, env->message, sizeof first);
        as_loop_close(l);
        memcpy(env->message, first, sizeof first);
        return status;
    }
    *out = l;
    return ASSAY_OK;
}

void as_loop_close(as_loop *l)
{
    if (!l)
        return;
    as_keeper_close(l->keeper); /* writes what is under way */
    as_loop_loader_close(l);
    as_evaluator_free(l->evaluator);
    as_trainer_free(l->trainer);
    as_data_free(l->val);
    as_data_free(l->train);
    as_data_free(l->all);
    as_checkpoints_close(&l->folder);
    if (l->log && l->log != stdout)
        fclose(l->log);
    free(l->confusion);
    assay_trace_free(l->trace);
    as_metrics_free(l->metrics);
    as_lbfgs_free(l->lbfgs);
    free(l->lbfgs_w);
    free(l->val_losses);
    free(l->scores);
    free(l->rates);
    free(l->ring.spans);
    as_arena_drop(&l->arena);
    free(l);
}
