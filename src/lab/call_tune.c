/* call_tune.c - settings of training found by measuring: batch size, learning rate, threads; tune_ways.c has recomputation and precision.
 *
 * The planner says to the byte what fits; a few probes, each in a child process under a memory limit, say how long a step takes; a line
 * through them gives the knee. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/stage.h"
#include "base/text.h"
#include "lab/calls.h"
#include "lab/tune.h"

enum { MAX_PROBES = AS_TUNE_PROBES, MAX_BATCH = 1 << 16, RANGE_STEPS = 120 };
#define RANGE_FROM 1e-6
#define RANGE_TO   10.0

static assay_metric time_of(const as_probe *p)
{
    const char *source =
        p->threads > 1 ? "steps in a child process, median wall time" : "steps in a child process, median CPU time";
    if (p->state != AS_PROBE_FITS)
        return as_metric_unavailable("ns", "it did not fit");
    return as_metric_measured(p->step_ns, p->lo_ns, p->hi_ns, p->n_steps, "ns", source);
}

static assay_metric rate_of(const as_probe *p)
{
    if (p->state != AS_PROBE_FITS)
        return as_metric_unavailable("item/s", "it did not fit");
    return as_metric_derived((double)p->batch * 1e9 / p->step_ns, (double)p->batch * 1e9 / p->hi_ns,
                             (double)p->batch * 1e9 / p->lo_ns, p->n_steps, "item/s", "batch size / median time of a step");
}

static const char *state_text(as_probe_state state)
{
    static const char *const texts[] = {[AS_PROBE_FITS] = "fits", [AS_PROBE_NO_MEMORY] = "no memory", [AS_PROBE_FAILED] = "failed"};
    return texts[state];
}

/* --- Batch size ----------------------------------------------------------------------------------------------- */

static assay_status probe_add(as_tuner *t, int64_t batch, double seconds)
{
    if (t->n == MAX_PROBES || batch < 1)
        return ASSAY_OK;
    for (int i = 0; i < t->n; i++)
        if (t->probes[i].batch == batch)
            return ASSAY_OK;
    as_stage_done(t->env, (double)t->n / 8);
    return as_probe_run(t->env, t->model, &t->setup, &t->plan, batch, t->budget, seconds, false, &t->probes[t->n++]);
}

static bool line_of(const as_tuner *t, as_line *out)
{
    double x[MAX_PROBES], y[MAX_PROBES];
    int    n = 0;
    for (int i = 0; i < t->n; i++)
        if (t->probes[i].state == AS_PROBE_FITS)
            x[n] = (double)t->probes[i].batch, y[n++] = t->probes[i].step_ns;
    return as_line_fit(x, y, n, out);
}

static void probes_tell(as_tuner *t, const char *key, const char *label)
{
    static const char *const columns[] = {"batch|batch size",   "threads|threads", "state|it", "planned|planned", "grew|measured",
                                          "time|time per step", "rate|samples/s",  "fit|fit",  "why|why",         NULL};
    as_table                *table = as_facts_table(t->f, t->g, key, label, columns);
    as_line                  line;
    bool                     fits = line_of(t, &line);
    for (int i = 0; i < t->n; i++) {
        const as_probe *p = &t->probes[i];
        as_cell         cells[] = {
                    {.metric = as_metric_counted((uint64_t)p->batch, "1", "probe")},
                    {.metric = as_metric_counted((uint64_t)(p->threads > 0 ? p->threads : 1), "1", "probe")},
                    {.text = state_text(p->state)},
                    {.metric = p->planned_bytes ? as_metric_counted(p->planned_bytes, "byte", "plan")
                                                : as_metric_unavailable("byte", "it was not planned")},
                    {.metric = isfinite(p->peak_bytes) && p->peak_bytes >= 0
                                   ? as_metric_measured(p->peak_bytes, NAN, NAN, 1, "byte", "resident memory of the child")
                                   : as_metric_unavailable("byte", "the child did not tell")},
                    {.metric = time_of(p)},
                    {.metric = rate_of(p)},
                    {.metric = fits ? as_metric_modelled(line.a + line.b * (double)p->batch, NAN, NAN, "ns", "a + b batch size")
                                    : as_metric_unavailable("ns", "too few probes")},
                    {.text = *p->why ? p->why : "-"}};
        as_facts_row(t->f, table, cells);
    }
}

static void curve_tell(as_tuner *t, double largest)
{
    double  x[MAX_PROBES], y[MAX_PROBES], fx[64], fy[64];
    size_t  n = 0, m = 0;
    as_line line;
    for (int i = 0; i < t->n; i++)
        if (t->probes[i].state == AS_PROBE_FITS)
            x[n] = (double)t->probes[i].batch, y[n++] = (double)t->probes[i].batch * 1e9 / t->probes[i].step_ns;
    as_facts_series(t->f, t->g,
                    &(as_series){.key = "rate",
                                 .label = "measured",
                                 .x_unit = "1",
                                 .y_unit = "item/s",
                                 .kind = ASSAY_MEASURED,
                                 .source = "probes",
                                 .x = x,
                                 .y = y,
                                 .n = n});
    if (!line_of(t, &line))
        return;
    for (double batch = 1; m < 64 && batch <= fmax(fmin(largest, 4096), 1); batch *= 1.35, m++)
        fx[m] = batch, fy[m] = batch * 1e9 / (line.a + line.b * batch);
    as_facts_series(t->f, t->g,
                    &(as_series){.key = "fit",
                                 .label = "a + b batch size",
                                 .x_unit = "1",
                                 .y_unit = "item/s",
                                 .kind = ASSAY_MODELLED,
                                 .source = "least squares",
                                 .x = fx,
                                 .y = fy,
                                 .n = m});
}

/* --- The winner in earnest ------------------------------------------------------------------------------------ */

typedef struct whole_job {
    const as_tuner *t;
    const char     *folder;
    uint64_t        limit;
} whole_job;

/* Copies the options of a list that are set. */
static assay_status options_copy(assay_env *env, const assay_options *from, const char *const *keys, assay_options *to)
{
    for (int i = 0; keys[i]; i++) {
        as_texts all = as_options_texts(from, keys[i]);
        for (size_t k = 0; k < all.n && as_options_is_set(from, keys[i]); k++)
            AS_TRY(assay_options_set(env, to, keys[i], all.items[k]));
    }
    return ASSAY_OK;
}

assay_status as_tune_loop_options(const as_tuner *t, assay_options **out)
{
    static const char *const keys[] = {"data", "val",    "preprocess", "loader",   "seq", "dim",
                                       "seed", "device", "compile",    "winograd", NULL};
    static const char *const setup[] = {AS_TRAIN_SETUP_KEYS, NULL};
    assay_options           *own = NULL;
    AS_TRY(assay_options_new(t->env, &own));
    assay_status status = options_copy(t->env, t->options, keys, own);
    if (status == ASSAY_OK)
        status = options_copy(t->env, t->setup_options, setup, own);
    if (status == ASSAY_OK)
        *out = own;
    else
        assay_options_free(own);
    return status;
}

/* Three epochs with evaluation and checkpoints, as `assay train` does them. */
static assay_status whole_run(assay_env *env, void *arg, as_probe *out)
{
    const whole_job *j = arg;
    as_loop_settings settings;
    as_loop         *loop = NULL;
    char             batch[32];
    assay_options   *own; /* lives as long as this process */
    AS_TRY(as_tune_loop_options(j->t, &own));
    AS_TRY(as_loop_settings_read(env, own, &settings));
    snprintf(batch, sizeof batch, "%lld", (long long)out->batch);
    settings.batch = batch;
    settings.epochs = 3;
    settings.steps = 0;
    settings.checkpoint = j->folder;
    settings.val = settings.val ? settings.val : "10%";
    AS_TRY(as_loop_open(env, j->t->model, &settings, &loop));
    AS_TRY(as_loop_run(loop, NULL, NULL));
    out->planned_bytes = assay_plan_peak_bytes(as_trainer_plan(as_loop_trainer(loop)));
    return ASSAY_OK;
}

static void folder_remove(const char *folder)
{
    char           path[1024];
    DIR           *dir = opendir(folder);
    struct dirent *e;
    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            unlink(path);
        }
    if (dir)
        closedir(dir);
    rmdir(folder);
}

static assay_status winner_prove(as_tuner *t, int64_t batch)
{
    char      folder[] = "/tmp/assay-tune-XXXXXX";
    whole_job j = {.t = t, .folder = folder, .limit = t->budget};
    as_probe  p = {.batch = batch, .threads = t->plan.threads, .peak_bytes = NAN, .step_ns = NAN};
    if (!t->data) {
        as_facts_find(t->f, t->g, AS_LEVEL_NOTE, "Not tried with data: --data D trains three epochs with it inside the budget.");
        return ASSAY_OK;
    }
    if (!mkdtemp(folder))
        return as_fail(t->env, ASSAY_IO, "tune: cannot make a folder for checkpoints in /tmp");
    assay_status status = as_probe_child(t->env, whole_run, &j, t->budget, &p);
    folder_remove(folder);
    AS_TRY(status);
    as_facts_add(t->f, t->g, "tune.proved", "three epochs inside the budget",
                 p.state == AS_PROBE_FITS ? as_metric_counted(1, "1", "a child process under the memory limit")
                                          : as_metric_unavailable("1", p.why));
    if (p.state == AS_PROBE_FITS)
        as_facts_find(t->f, t->g, AS_LEVEL_GOOD,
                      "Batch size %lld trained three epochs with evaluation and checkpoints inside the budget.", (long long)batch);
    else
        as_facts_find(t->f, t->g, AS_LEVEL_BAD, "Batch size %lld did not train three epochs inside the budget: %s.",
                      (long long)batch, p.why);
    return ASSAY_OK;
}

static assay_status batch_tune(as_tuner *t)
{
    int64_t largest = 0, best;
    as_line line;
    as_stage_begin(t->env, AS_PHASE_PLAN, "", (double)NAN, 0);
    AS_TRY(as_probe_largest(t->env, t->model, &t->setup, &t->plan, t->budget, MAX_BATCH, &largest));
    if (!largest)
        return as_fail(t->env, ASSAY_NO_MEMORY, "tune: not even one example of '%s' fits into %llu bytes", t->model->name,
                       (unsigned long long)t->budget);
    as_stage_begin(t->env, AS_PHASE_MEASURE, "", 8, 0);
    for (int64_t batch = 4; batch <= 64 && batch <= largest; batch *= 4)
        AS_TRY(probe_add(t, batch, .5));
    AS_TRY(probe_add(t, largest < 4 ? largest : 1, .3));
    double knee = line_of(t, &line) ? as_line_knee(&line) : (double)NAN;
    best = as_batch_of_knee(knee, largest);
    AS_TRY(probe_add(t, best, 1)); /* near the answer the line must hold, too */
    knee = line_of(t, &line) ? as_line_knee(&line) : (double)NAN;
    best = as_batch_of_knee(knee, largest);
    if (largest < MAX_BATCH)
        AS_TRY(probe_add(t, largest * 2, .2)); /* does not fit: the limit is real */
    probes_tell(t, "probes", "Batch sizes that were tried");
    curve_tell(t, (double)largest);
    as_facts_add(t->f, t->g, "tune.batch", "batch size to use",
                 as_metric_derived((double)best, NAN, NAN, (uint64_t)t->n, "1", "the knee, or the largest that fits"));
    as_facts_add(t->f, t->g, "tune.largest", "largest batch size in the budget",
                 largest < MAX_BATCH ? as_metric_counted((uint64_t)largest, "1", "plan")
                                     : as_metric_unavailable("1", "65536, the largest that was asked for, fits"));
    as_facts_add(
        t->f, t->g, "tune.budget", "memory budget",
        as_metric_counted(t->budget, "byte", t->budget_given ? "option memory-budget" : "half of the memory that is available"));
    if (line_of(t, &line)) {
        as_facts_add(t->f, t->g, "tune.knee", "knee: 95 % of the throughput of ever larger batches",
                     isfinite(knee)
                         ? as_metric_derived(knee, NAN, NAN, (uint64_t)t->n, "1", "19 a / b of the time a + b batch size")
                         : as_metric_unavailable("1", "the time does not grow with the batch size"));
        as_facts_add(t->f, t->g, "tune.fixed", "time per step, whatever the batch size",
                     as_metric_derived(line.a, NAN, NAN, (uint64_t)t->n, "ns", "least squares"));
        as_facts_add(t->f, t->g, "tune.per_item", "time per example",
                     as_metric_derived(line.b, line.b_lo, line.b_hi, (uint64_t)t->n, "ns", "least squares"));
        as_facts_add(t->f, t->g, "tune.worst", "largest distance of a probe from the line",
                     as_metric_derived(line.worst, NAN, NAN, (uint64_t)t->n, "ratio", "least squares"));
    }
    as_batch_prior prior = as_probe_prior(t->model);
    as_facts_note(t->f, "tune.prior",
                  as_arena_printf(&t->f->arena, "%s: %lld, %lld or %lld", prior.kind, (long long)prior.batch[0],
                                  (long long)prior.batch[1], (long long)prior.batch[2]));
    return winner_prove(t, best);
}

/* --- Threads ----------------------------------------------------------------------------------------------------- */

/* The serial share s of t(n) = t(1) (s + (1 - s) / n), by least squares of the relative distances. */
static double amdahl(const as_probe *p, int n)
{
    double over = 0, under = 0, one = p[0].step_ns * p[0].threads;
    for (int i = 1; i < n; i++) {
        double k = 1.0 / p[i].threads, y = p[i].step_ns / one;
        over += (y - k) * (1 - k);
        under += (1 - k) * (1 - k);
    }
    return under > 0 ? fmin(fmax(over / under, 0), 1) : (double)NAN;
}

static assay_status threads_tune(as_tuner *t, const char *list)
{
    double x[MAX_PROBES], y[MAX_PROBES];
    int    n_cpus = as_cpu_count(), last = 0;
    as_stage_begin(t->env, AS_PHASE_MEASURE, "", 6, 0);
    for (const char *at = list; at && *at && t->n < MAX_PROBES; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        int n = atoi(at);
        if (n <= last || n > n_cpus)
            continue;
        as_plan_options one = t->plan;
        one.threads = last = n;
        AS_TRY(as_probe_run(t->env, t->model, &t->setup, &one, t->plan.batch, 0, 1, true, &t->probes[t->n]));
        if (t->probes[t->n].state != AS_PROBE_FITS)
            return as_fail(t->env, ASSAY_DEVICE, "tune: %d threads: %s", n, t->probes[t->n].why);
        t->n++;
    }
    if (t->n < 2)
        return as_fail(t->env, ASSAY_BAD_INPUT,
                       "tune: --threads %s: two or more numbers up to the %d CPUs of this machine are needed", list, n_cpus);
    static const char *const columns[] = {"threads|threads",  "time|time per step", "rate|samples/s",
                                          "speedup|speed-up", "fit|Amdahl",         NULL};
    as_table                *table = as_facts_table(t->f, t->g, "threads", "A training step with several threads", columns);
    double                   serial = amdahl(t->probes, t->n);
    for (int i = 0; i < t->n; i++) {
        const as_probe *p = &t->probes[i];
        double          model = 1 / (serial + (1 - serial) / p->threads);
        as_cell         cells[] = {
                    {.metric = as_metric_counted((uint64_t)p->threads, "1", "option threads")},
                    {.metric = time_of(p)},
                    {.metric = rate_of(p)},
                    {.metric =
                         as_metric_derived(t->probes[0].step_ns / p->step_ns, NAN, NAN, p->n_steps, "ratio", "time of the first / time")},
                    {.metric = isfinite(serial) ? as_metric_modelled(model, NAN, NAN, "ratio", "Amdahl's law with the fitted serial share")
                                                : as_metric_unavailable("ratio", "too few numbers of threads")}};
        as_facts_row(t->f, table, cells);
        x[i] = p->threads, y[i] = t->probes[0].step_ns / p->step_ns;
    }
    as_facts_series(t->f, t->g,
                    &(as_series){.key = "speedup",
                                 .label = "measured",
                                 .x_unit = "1",
                                 .y_unit = "ratio",
                                 .kind = ASSAY_DERIVED,
                                 .source = "probes",
                                 .x = x,
                                 .y = y,
                                 .n = (size_t)t->n});
    as_facts_add(t->f, t->g, "tune.serial", "serial share (Amdahl)",
                 isfinite(serial)
                     ? as_metric_derived(serial, NAN, NAN, (uint64_t)t->n, "ratio", "least squares of t(1) (s + (1 - s) / n)")
                     : as_metric_unavailable("ratio", "too few numbers of threads"));
    int best = 0;
    for (int i = 1; i < t->n; i++)
        best = t->probes[i].hi_ns < t->probes[best].lo_ns ? i : best;
    as_facts_add(t->f, t->g, "tune.threads", "threads to use",
                 as_metric_derived(t->probes[best].threads, NAN, NAN, (uint64_t)t->n, "1",
                                   "the fewest that no other number beats beyond its interval"));
    return ASSAY_OK;
}

/* --- Learning rate ------------------------------------------------------------------------------------------------- */

/* The optimiser with another rate: "adamw:decay=0.01" becomes "adamw:lr=1e-06,decay=0.01". */
static void optimizer_with(const char *text, double rate, char *out, size_t size)
{
    const char *name = text ? text : "adam", *rest = strchr(name, ':');
    snprintf(out, size, "%.*s:lr=%g", rest ? (int)(rest - name) : (int)strlen(name), name, rate);
    for (rest = rest ? rest + 1 : NULL; rest && *rest;) {
        size_t n = strcspn(rest, ","), used = strlen(out);
        if (strncmp(rest, "lr=", 3))
            snprintf(out + used, size - used, ",%.*s", (int)n, rest);
        rest += n + (rest[n] == ',');
    }
}

typedef struct range_point {
    double rate, loss, smooth;
} range_point;

/* A piece per decade, so that every decade has as many updates. */
static void schedule_make(char *out, size_t size)
{
    const int decades = (int)lround(log10(RANGE_TO / RANGE_FROM));
    out[0] = '\0';
    for (int i = 1; i <= decades; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%slinear %g for %ds", i > 1 ? " > " : "", RANGE_FROM * pow(10, i),
                 RANGE_STEPS / decades);
    }
}

static assay_status range_run(as_tuner *t, range_point *points, int *n_points)
{
    as_loop_settings settings;
    as_loop         *loop = NULL;
    char             optimizer[256], schedule[256];
    double           smooth = 0, best = INFINITY, weight = 0;
    bool             more = true;
    assay_options   *own;
    AS_TRY(as_tune_loop_options(t, &own));
    AS_TRY(as_loop_settings_read(t->env, own, &settings));
    if (as_options_is_set(t->options, "batch"))
        settings.batch = as_options_text(t->options, "batch");
    optimizer_with(settings.setup.optimizer, RANGE_FROM, optimizer, sizeof optimizer);
    schedule_make(schedule, sizeof schedule);
    settings.setup.optimizer = optimizer;
    settings.schedule = schedule;
    settings.steps = RANGE_STEPS;
    settings.epochs = 0;
    settings.val = NULL;
    settings.checkpoint = settings.log = NULL;
    settings.diverged = "0";
    assay_status status = as_loop_open(t->env, t->model, &settings, &loop);
    *n_points = 0;
    while (more && status == ASSAY_OK && *n_points < RANGE_STEPS && !as_cancelled(t->env)) {
        assay_training now;
        status = as_loop_update(loop, &now, &more);
        if (status == ASSAY_DEVICE || (status == ASSAY_OK && !isfinite(now.loss))) { /* the end of the range, not a failure */
            status = ASSAY_OK;
            break;
        }
        if (status != ASSAY_OK)
            break;
        smooth = .9 * smooth + .1 * now.loss;
        weight = .9 * weight + .1;
        points[(*n_points)++] = (range_point){now.rate, now.loss, smooth / weight};
        best = fmin(best, smooth / weight);
        if (smooth / weight > 4 * best && *n_points > 20)
            break;
        as_stage_done(t->env, (double)*n_points / RANGE_STEPS);
    }
    as_loop_close(loop);
    assay_options_free(own);
    return status;
}

/* Where the smoothed loss falls fastest per decade of the rate. */
static assay_status rate_tune(as_tuner *t)
{
    enum { SPAN = 5 };
    range_point *p = AS_TAKE(&t->f->arena, range_point, RANGE_STEPS);
    double      *x = AS_TAKE(&t->f->arena, double, RANGE_STEPS), *y = AS_TAKE(&t->f->arena, double, RANGE_STEPS), steepest = 0;
    int          n = 0, at = -1, lowest = 0;
    if (!t->data)
        return as_fail(t->env, ASSAY_BAD_INPUT,
                       "tune: --lr needs examples to learn from: --data FILE, or --data synthetic:spirals for a try");
    if (!p || !x || !y)
        return as_fail(t->env, ASSAY_NO_MEMORY, "tune: not enough memory for %d updates", RANGE_STEPS);
    as_stage_begin(t->env, AS_PHASE_MEASURE, "", 5, 0);
    AS_TRY(range_run(t, p, &n));
    if (n < 2 * SPAN)
        return as_fail(t->env, ASSAY_DEVICE,
                       "tune: the loss was not finite after %d updates, at the smallest rates: no range to choose from", n);
    for (int i = 0; i < n; i++) {
        lowest = p[i].smooth < p[lowest].smooth ? i : lowest;
        x[i] = p[i].rate, y[i] = p[i].smooth;
    }
    for (int i = SPAN; i + SPAN < n && i <= lowest; i++) {
        double slope = (p[i + SPAN].smooth - p[i - SPAN].smooth) / (log10(p[i + SPAN].rate) - log10(p[i - SPAN].rate));
        if (slope < steepest)
            steepest = slope, at = i;
    }
    as_facts_series(t->f, t->g,
                    &(as_series){.key = "loss",
                                 .label = "smoothed loss",
                                 .x_unit = "1",
                                 .y_unit = "1",
                                 .kind = ASSAY_MEASURED,
                                 .source = "updates with a growing rate",
                                 .x = x,
                                 .y = y,
                                 .n = (size_t)n});
    static const char *const columns[] = {"rate|rate", "loss|loss", "smooth|smoothed loss", NULL};
    as_table                *table = as_facts_table(t->f, t->g, "rates", "Range test of the learning rate", columns);
    for (int i = 0; i < n; i++) {
        as_cell cells[] = {{.metric = as_metric_measured(p[i].rate, NAN, NAN, 1, "1", "as the optimiser's kernel applied it")},
                           {.metric = as_metric_measured(p[i].loss, NAN, NAN, 1, "1", "an update")},
                           {.metric = as_metric_derived(p[i].smooth, NAN, NAN, 10, "1", "exponential mean, 0.9")}};
        as_facts_row(t->f, table, cells);
    }
    as_facts_add(
        t->f, t->g, "tune.rate", "learning rate to use",
        at < 0 ? as_metric_unavailable("1", "the loss did not fall at any rate")
               : as_metric_derived(p[at].rate, NAN, NAN, (uint64_t)n, "1", "where the smoothed loss falls fastest per decade"));
    as_facts_add(t->f, t->g, "tune.rate_lowest", "rate at the lowest loss",
                 as_metric_derived(p[lowest].rate, NAN, NAN, (uint64_t)n, "1", "range test"));
    as_facts_add(t->f, t->g, "tune.rate_end", "rate at which the test ended",
                 as_metric_derived(p[n - 1].rate, NAN, NAN, (uint64_t)n, "1", "range test"));
    return ASSAY_OK;
}

/* --- The call ---------------------------------------------------------------------------------------------------- */

typedef enum what { BATCH, RATE, THREADS, RECOMPUTE, PRECISION, N_WHATS } what;

static const char *what_text(what w)
{
    static const char *const texts[N_WHATS] = {"batch", "lr", "threads", "recompute", "precision"};
    return texts[w];
}

static bool is_list(const assay_options *o, const char *key)
{
    const char *text = as_options_is_set(o, key) ? as_options_text(o, key) : NULL;
    return text && strchr(text, ',');
}

/* The options of the step, without lists: these are what is looked for. */
static assay_status setup_read(as_tuner *t, const bool *asked)
{
    static const char *const keys[] = {AS_TRAIN_SETUP_KEYS, NULL};
    const char              *taken[AS_COUNT(keys)] = {NULL};
    int                      n = 0;
    for (int i = 0; keys[i]; i++)
        if (!(asked[RECOMPUTE] && !strcmp(keys[i], "recompute")) && !(asked[PRECISION] && !strcmp(keys[i], "precision")))
            taken[n++] = keys[i];
    AS_TRY(assay_options_new(t->env, &t->setup_options));
    AS_TRY(options_copy(t->env, t->options, taken, t->setup_options));
    AS_TRY(as_train_setup_read(t->env, t->setup_options, &t->setup));
    t->setup.norm = true; /* as `assay train` does */
    return ASSAY_OK;
}

/* Options that say nothing about some of the searches are refused there. */
static assay_status ways_only(as_tuner *t, what w)
{
    static const char *const keys[] = {"steps", "budget", "runs", "margin", "alpha"};
    for (size_t i = 0; i < AS_COUNT(keys) && w != RECOMPUTE && w != PRECISION; i++)
        if (as_options_is_set(t->options, keys[i]))
            return as_fail(t->env, ASSAY_BAD_INPUT, "tune: --%s is for --recompute and --precision, and does not apply to --%s",
                           keys[i], what_text(w));
    if (as_options_is_set(t->options, "steps") && !t->data)
        return as_fail(t->env, ASSAY_BAD_INPUT, "tune: --steps is the number of updates with --data, which is not given");
    return ASSAY_OK;
}

static assay_status settings_read(as_tuner *t, what *out)
{
    static const char *const      keys[] = {AS_TUNE_KEYS, NULL};
    static const as_option_member members[] = {AS_MEMBER(as_tuner, I64, "steps", steps), {.key = NULL}};
    const assay_options          *o = t->options;
    const char                   *budget = as_options_text(o, "memory-budget");
    bool                          asked[N_WHATS];
    int                           n = 0;
    AS_TRY(as_options_only(t->env, o, "tune", keys));
    asked[BATCH] = as_options_is_set(o, "batch") && !strcmp(as_options_text(o, "batch"), "auto");
    asked[RATE] = as_options_flag(o, "lr");
    asked[THREADS] = is_list(o, "threads");
    asked[RECOMPUTE] = is_list(o, "recompute");
    asked[PRECISION] = as_options_is_set(o, "precision") && !strcmp(as_options_text(o, "precision"), "all");
    for (int i = 0; i < N_WHATS; i++)
        if (asked[i]) {
            *out = (what)i;
            n++;
        }
    if (n != 1)
        return as_fail(t->env, ASSAY_BAD_INPUT,
                       "tune finds one thing: --batch, --lr --data D, --threads 1,2, --recompute, or --precision");
    AS_TRY(setup_read(t, asked));
    if (budget && (!as_parse_bytes(budget, &t->budget) || !t->budget))
        return as_fail(t->env, ASSAY_BAD_INPUT, "option \"memory-budget\": \"%s\" is not a number of bytes such as 512MiB or 2G",
                       budget);
    t->budget_given = budget != NULL;
    t->budget = t->budget ? t->budget : as_probe_memory() / 2;
    t->data = as_options_text(o, "data");
    AS_TRY(as_options_read(t->env, o, members, t));
    return ways_only(t, *out);
}

/* The plan's own options, without the words that only tune takes. */
static assay_status plan_read(as_tuner *t, what w)
{
    static const char *const keys[] = {"dim", "seq", "device", "compile", "winograd", "seed", "reuse", "in-place", NULL};
    assay_options           *own = NULL;
    AS_TRY(assay_options_new(t->env, &own));
    assay_status status = options_copy(t->env, t->options, keys, own);
    if (status == ASSAY_OK && w != THREADS && as_options_is_set(t->options, "threads"))
        status = assay_options_set(t->env, own, "threads", as_options_text(t->options, "threads"));
    if (status == ASSAY_OK)
        status =
            assay_options_set(t->env, own, "batch",
                              w != BATCH && as_options_is_set(t->options, "batch") ? as_options_text(t->options, "batch") : "32");
    if (status == ASSAY_OK)
        status = as_plan_options_read(t->env, own, &t->plan);
    /* Texts of the options live as long as these: they are the caller's, too. */
    t->plan.device = as_options_text(t->options, "device");
    t->plan.dims = as_options_texts(t->options, "dim");
    t->plan.devices = (as_texts){0};
    t->plan.weights_as = "f32";
    assay_options_free(own);
    return status;
}

/* Rounds are the units: the candidates share one piece of memory, which holds the largest of them. */
static assay_status lab_read(as_tuner *t)
{
    AS_TRY(as_lab_settings_read(t->env, t->options, AS_TUNE_BUDGET, &t->lab));
    t->lab.sampler.memory = AS_MEMORY_SHARED;
    t->lab.layers = true;
    return ASSAY_OK;
}

static assay_status search(as_tuner *t, what w)
{
    switch (w) {
    case BATCH: return batch_tune(t);
    case RATE: return rate_tune(t);
    case THREADS: return threads_tune(t, as_options_text(t->options, "threads"));
    case RECOMPUTE: return as_tune_recompute(t, as_options_text(t->options, "recompute"));
    case PRECISION:
    default: return as_tune_precision(t);
    }
}

/* --- For the store: every probe is a case of its own, which `assay history` follows --------------------------------- */

/* Each step is a round. */
static assay_status probe_trial(const as_tuner *t, const as_probe *p, assay_trace **out)
{
    char         name[256];
    int          threads = p->threads > 1 ? p->threads : 1;
    double       at = 0;
    assay_trace *made = NULL;
    snprintf(name, sizeof name, "%.160s, training step, batch %lld, %d thread%s", t->model->name, (long long)p->batch, threads,
             threads > 1 ? "s" : "");
    AS_TRY(as_trace_new_arms(t->env, name, 1, &made));
    made->arms[0].name = as_trace_keep(made, name);
    made->arms[0].items = (double)p->batch;
    made->arms[0].work = AS_WORK_TRAINING;
    made->by_cpu = !p->by_wall;
    made->memory = AS_MEMORY_RELAUNCHED;
    made->calls = 1;
    if (!made->arms[0].name || !as_trace_reserve_turns(made, p->n_steps, 0)) {
        assay_trace_free(made);
        return as_fail(t->env, ASSAY_NO_MEMORY, "tune: not enough memory for the record of %s", name);
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        double wall = (double)p->steps[i].wall_ns, cpu = (double)p->steps[i].cpu_ns;
        made->turns[made->n_turns++] = (as_turn){.round = i,
                                                 .start_ns = at,
                                                 .wall_ns = wall,
                                                 .cpu_ns = cpu,
                                                 .busy = threads > 1 || !(wall > 0) ? (double)NAN : cpu / wall,
                                                 .steal = NAN,
                                                 .fma_ns = NAN,
                                                 .copy_ns = NAN};
        at += wall;
    }
    made->n_rounds = p->n_steps;
    made->n_launches = 1;
    made->spent_ns = at;
    *out = made;
    return ASSAY_OK;
}

/* Stores what was found and hands it over; the status is that of the search. */
static assay_status give(as_tuner *t, const as_store_options *store, what w, assay_status found, assay_facts **out)
{
    assay_trace *trials[AS_TUNE_PROBES + 1] = {NULL};
    size_t       n = 0;
    char         title[256];
    assay_status status = ASSAY_OK;
    snprintf(title, sizeof title, "%.200s, tune %s", t->model->name, what_text(w));
    if (t->trial)
        trials[n++] = t->trial;
    t->trial = NULL;
    for (int i = 0; i < t->n && status == ASSAY_OK; i++)
        if (t->probes[i].state == AS_PROBE_FITS && (status = probe_trial(t, &t->probes[i], &trials[n])) == ASSAY_OK)
            n++;
    if (status == ASSAY_OK && n)
        as_trials_give(t->f, trials, n, &t->lab);
    for (size_t i = 0; i < n; i++) /* those that the facts did not take */
        assay_trace_free(trials[i]);
    AS_TRY(status);
    assay_facts *f = t->f;
    t->f = NULL;
    AS_TRY(as_facts_give(t->env, store, "tune", title, f, ASSAY_OK, out));
    return found == ASSAY_CANCELLED ? as_fail(t->env, found, "tune: stopped; what was measured is kept") : found;
}

static assay_status tune(as_tuner *t, assay_facts **out)
{
    what             w = BATCH;
    as_store_options store;
    AS_TRY(settings_read(t, &w));
    AS_TRY(as_keep_options_read(t->env, t->options, &store));
    AS_TRY(plan_read(t, w));
    AS_TRY(lab_read(t));
    if (!(t->f = as_facts_new(t->env)))
        return as_fail(t->env, ASSAY_NO_MEMORY, "tune: not enough memory for its facts");
    t->g = as_facts_group(t->f, "tune", "Tuning");
    as_facts_note(t->f, AS_NOTE_NAME, t->model->name);
    as_facts_note(t->f, "tune.what", what_text(w));
    assay_status status = search(t, w);
    bool         has = status == ASSAY_OK || (status == ASSAY_CANCELLED && t->trial && t->trial->n_rounds);
    if (!has)
        return status;
    return give(t, &store, w, status, out);
}

assay_status assay_tune(assay_env *env, const assay_model *model, const assay_options *options, assay_facts **out)
{
    as_tuner     t = {.env = env, .model = model, .options = options};
    assay_status status = tune(&t, out);
    assay_facts_free(t.f);
    assay_trace_free(t.trial);
    assay_options_free(t.setup_options);
    return status;
}
