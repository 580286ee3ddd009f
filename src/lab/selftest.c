/* selftest.c - the operating table: comparisons of identical work, and of work that is known to be more. */
#include "lab/selftest.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/process.h"
#include "base/stage.h"
#include "base/text.h"
#include "lab/load.h"

enum { SUITE_CASES = 100, N_NEIGHBOURS = 2 };

const as_cell_def as_selftest_cells[] = {
    {.name = "compute",
     .what = "two kernels in one process, cache-resident",
     .load = "compute",
     .where = AS_CELL_PROCESS,
     .budget_s = 1,
     .extra = 0.01,
     .alarms_claim = 0.01,
     .power_claim = 0.99,
     .n_alarms = {20, 300},
     .n_power = {20, 300}},
    {.name = "memory",
     .what = "DRAM-bound, one thread, CPU clock",
     .load = "memory",
     .where = AS_CELL_PROCESS,
     .budget_s = 4,
     .extra = 0.02,
     .alarms_claim = 0.01,
     .power_claim = 0.95,
     .n_alarms = {4, 300},
     .n_power = {4, 100}},
    {.name = "memory-loaded",
     .what = "the same, with two other programs using memory",
     .load = "memory",
     .where = AS_CELL_LOADED,
     .budget_s = 4,
     .extra = 0.02,
     .alarms_claim = 0.01,
     .power_claim = 0.95,
     .n_alarms = {3, 300},
     .n_power = {3, 100}},
    {.name = "programs",
     .what = "two executables, compute-bound",
     .load = "compute",
     .where = AS_CELL_PROGRAMS,
     .budget_s = 5,
     .extra = 0.01,
     .alarms_claim = 0.01,
     .power_claim = 0.95,
     .n_alarms = {3, 300},
     .n_power = {3, 100}},
    {.name = "programs-memory",
     .what = "two executables, DRAM-bound",
     .load = "memory",
     .where = AS_CELL_PROGRAMS,
     .budget_s = 6,
     .extra = 0.03,
     .alarms_claim = 0.01,
     .power_claim = 0.95,
     .n_alarms = {3, 300},
     .n_power = {3, 100}},
    {.name = "programs-chase",
     .what = "two executables that chase pointers through 1 MiB, in new pages per launch",
     .load = "chase",
     .where = AS_CELL_PROGRAMS,
     .budget_s = 10,
     .extra = 0.02,
     .alarms_claim = 0.01,
     .power_claim = 0.9,
     .n_alarms = {2, 300},
     .n_power = {2, 100}},
    {.name = "suite",
     .what = "suite of 100 identical cases, threshold 2 %",
     .load = "compute",
     .where = AS_CELL_SUITE,
     .budget_s = 0.1,
     .margin = 0.02,
     .alarms_claim = 0.05,
     .power_claim = 0,
     .n_alarms = {1, 60},
     .n_power = {0, 0}},
    {.name = "same",
     .what = "equivalence within 2 %; wrong: proved at +2.25 %",
     .load = "compute",
     .where = AS_CELL_PROCESS,
     .budget_s = 1,
     .margin = 0.02,
     .extra = 0.0225,
     .same = true,
     .alarms_claim = 0.01,
     .power_claim = 0.95,
     .n_alarms = {10, 300},
     .n_power = {10, 100}},
    {.name = "same-memory",
     .what = "equivalence within 2 %, DRAM-bound; wrong: proved at +2.25 %",
     .load = "memory",
     .where = AS_CELL_PROCESS,
     .budget_s = 4,
     .margin = 0.02,
     .extra = 0.0225,
     .same = true,
     .alarms_claim = 0.01,
     .power_claim = 0.95,
     .n_alarms = {2, 100},
     .n_power = {2, 100}},
    {.name = NULL},
};

int as_selftest_n_cells(void)
{
    int n = 0;
    while (as_selftest_cells[n].name)
        n++;
    return n;
}

/* --- One comparison ---------------------------------------------------------------------------------------- */

typedef struct selftest {
    assay_env                  *env;
    const as_selftest_settings *s;
    FILE                       *state;
    as_cell_result             *results;
} selftest;

static void rules_of(const as_cell_def *def, as_lab_settings *lab, uint64_t seed)
{
    *lab = (as_lab_settings){.early = true, .timeout_ns = 30000000000u};
    as_sampler_defaults(&lab->sampler);
    as_duel_rules_standard(&lab->rules);
    lab->rules.margin = def->margin;
    lab->sampler.budget_ns = (uint64_t)(def->budget_s * 1e9);
    lab->sampler.memory = AS_MEMORY_SHARED;
    lab->sampler.seed = seed;
    lab->sampler.probes = false; /* the memory probe would itself be a load */
}

static assay_status in_process(assay_env *env, const as_cell_def *def, double extra, const as_lab_settings *lab, assay_trace **out)
{
    as_load     *load = NULL;
    as_arm       arms[2] = {{0}, {0}};
    assay_status status = as_load_new(env, def->load, &load);
    if (status == ASSAY_OK)
        status = as_load_arm(env, load, "a", 0, &arms[0]);
    if (status == ASSAY_OK)
        status = as_load_arm(env, load, "b", extra, &arms[1]);
    if (status == ASSAY_OK)
        status = as_lab_compare_arms(env, def->name, arms, 2, lab, out);
    for (int i = 0; i < 2; i++)
        if (arms[i].drop)
            arms[i].drop(arms[i].self);
    as_load_free(load);
    return status;
}

static assay_status programs(assay_env *env, const as_cell_def *def, const char *self, double extra, const as_lab_settings *lab,
                             assay_trace **out)
{
    char                     a[64], b[64];
    static const char *const names[] = {"a", "b"};
    snprintf(a, sizeof a, "%s:0", def->load);
    snprintf(b, sizeof b, "%s:%g", def->load, extra);
    const char *const argv_a[] = {self, "selftest", "--arm", a, NULL}, *const argv_b[] = {self, "selftest", "--arm", b, NULL};
    const char *const *const argvs[] = {argv_a, argv_b};
    return as_lab_compare_bins(env, def->name, argvs, names, 2, lab, out);
}

static assay_status compare(assay_env *env, const selftest *t, const as_cell_def *def, double extra, uint64_t seed, as_duel *duel,
                            double *seconds)
{
    as_lab_settings lab;
    assay_trace    *trial = NULL;
    rules_of(def, &lab, seed);
    assay_status status = def->where == AS_CELL_PROGRAMS ? programs(env, def, t->s->self, extra, &lab, &trial)
                                                         : in_process(env, def, extra, &lab, &trial);
    if (status != ASSAY_OK) { /* a stopped trial is handed over, too */
        assay_trace_free(trial);
        return status;
    }
    if (trial->state != AS_TRACE_COMPLETE)
        status = as_fail(env, ASSAY_DEVICE, "selftest: %s: %s", def->name, trial->reason);
    as_duel_judge(trial, 0, 1, &lab.rules, duel);
    *seconds = trial->spent_ns / 1e9;
    assay_trace_free(trial);
    return status;
}

/* A suite of identical cases: an alarm is a case that becomes a discovery beyond the threshold. */
static assay_status suite(assay_env *env, const selftest *t, const as_cell_def *def, uint64_t seed, bool *alarm, double *seconds)
{
    double p[SUITE_CASES];
    bool   beyond[SUITE_CASES], found[SUITE_CASES];
    size_t order[SUITE_CASES];
    *seconds = 0;
    for (int i = 0; i < SUITE_CASES; i++) {
        as_duel duel;
        double  one;
        AS_TRY(compare(env, t, def, 0, seed * 1000 + (uint64_t)i, &duel, &one));
        p[i] = fmin(1, 2 * fmin(duel.p_slower, duel.p_faster));
        beyond[i] = duel.verdict == AS_SLOWER || duel.verdict == AS_FASTER;
        *seconds += one;
        if (as_cancelled(env))
            return as_fail(env, ASSAY_CANCELLED, "selftest: stopped");
    }
    as_benjamini_hochberg(p, SUITE_CASES, 0.05, found, order);
    *alarm = false;
    for (int i = 0; i < SUITE_CASES; i++)
        *alarm = *alarm || (found[i] && beyond[i]);
    return ASSAY_OK;
}

/* --- Neighbours ------------------------------------------------------------------------------------------------ */

static pid_t neighbour_start(assay_env *env)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM}; /* this process must not use the program's handlers */
    pid_t            parent = getpid(), pid = fork();
    if (pid)
        return pid;
    as_process_tie(parent);
    for (size_t i = 0; i < AS_COUNT(signals); i++)
        signal(signals[i], SIG_DFL);
    as_load *load;
    as_arm   arm;
    as_shot  shot[16];
    uint32_t switches;
    alarm(7200); /* ends even if the parent dies */
    if (as_load_new(env, "memory", &load) == ASSAY_OK && as_load_arm(env, load, "neighbour", 0, &arm) == ASSAY_OK)
        while (getppid() != 1)
            arm.block(env, arm.self, false, 16, 16, shot, &switches);
    _exit(0);
}

static void neighbours_end(pid_t *pids)
{
    for (int i = 0; i < N_NEIGHBOURS; i++)
        if (pids[i] > 0) {
            kill(pids[i], SIGKILL);
            while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
                continue;
        }
}

/* --- Counting -------------------------------------------------------------------------------------------------- */

static void count_add(as_cell_count *c, bool hit)
{
    c->n++;
    c->k += hit;
    as_binomial_bounds(c->k, c->n, 0.95, &c->lo, &c->hi);
}

/* How a trial counts.  power false: the trial must not find a difference. */
static bool is_hit(const as_cell_def *def, const as_duel *duel, bool power)
{
    if (def->same)
        return duel->verdict == AS_SAME;
    return power ? duel->verdict == AS_SLOWER : duel->verdict == AS_SLOWER || duel->verdict == AS_FASTER;
}

static void line_write(FILE *file, const as_cell_def *def, bool power, int64_t k, bool hit, const as_duel *duel, double seconds)
{
    if (!file)
        return;
    as_json w;
    as_json_start(&w, file, false);
    as_json_object(&w);
    as_json_key_text(&w, "cell", def->name);
    as_json_key_text(&w, "count", power ? "power" : "alarms");
    as_json_key_i64(&w, "trial", k);
    as_json_key_bool(&w, "hit", hit);
    as_json_key_f64(&w, "seconds", seconds);
    if (duel) {
        as_json_key_text(&w, "verdict", as_verdict_text(duel->verdict));
        as_json_key_f64(&w, "ratio", duel->ratio);
        as_json_key_f64(&w, "lo", duel->lo);
        as_json_key_f64(&w, "hi", duel->hi);
        as_json_key_u64(&w, "units", duel->n_units);
    }
    as_json_object_end(&w);
    as_json_finish(&w);
    fflush(file);
}

static int cell_find(const char *name)
{
    for (int i = 0; as_selftest_cells[i].name; i++)
        if (!strcmp(as_selftest_cells[i].name, name))
            return i;
    return -1;
}

/* Complete lines count; a last line that was cut off by a kill does not, and the next one starts on a new line. */
static assay_status state_read(selftest *t)
{
    char line[1024];
    int  row = 0;
    rewind(t->state);
    while (fgets(line, sizeof line, t->state)) {
        json_t *o = json_loads(line, 0, NULL);
        bool    cut = !strchr(line, '\n');
        row++;
        if (!o && !cut)
            return as_fail(t->env, ASSAY_BAD_INPUT, "selftest: %s: line %d is not JSON", t->s->state, row);
        if (cut)
            fputc('\n', t->state); /* the file is open for appending */
        if (!o)
            continue;
        int cell = cell_find(json_string_value(json_object_get(o, "cell")) ? json_string_value(json_object_get(o, "cell")) : "");
        const char *count = json_string_value(json_object_get(o, "count"));
        bool        good = cell >= 0 && count && json_is_boolean(json_object_get(o, "hit"));
        if (good) {
            bool power = !strcmp(count, "power");
            count_add(power ? &t->results[cell].power : &t->results[cell].alarms, json_is_true(json_object_get(o, "hit")));
        }
        json_decref(o);
        if (!good)
            return as_fail(t->env, ASSAY_BAD_INPUT, "selftest: %s: line %d is not a trial of a known cell", t->s->state, row);
    }
    fseek(t->state, 0, SEEK_END);
    return ASSAY_OK;
}

/* --- A cell ------------------------------------------------------------------------------------------------------ */

static assay_status stopped(assay_env *env, const as_cell_def *def, int64_t done, int of)
{
    return as_fail(env, ASSAY_CANCELLED, "stopped: %lld of %d trials of %s are counted", (long long)done, of, def->name);
}

static assay_status trials_run(selftest *t, int cell, bool power)
{
    const as_cell_def *def = &as_selftest_cells[cell];
    as_cell_result    *r = &t->results[cell];
    as_cell_count     *c = power ? &r->power : &r->alarms;
    int                n = (power ? def->n_power : def->n_alarms)[t->s->full ? 1 : 0];
    for (int64_t k = c->n; k < n; k++) {
        uint64_t seed = t->s->seed * 1000003u + (uint64_t)cell * 100000u + (uint64_t)k * 2 + power;
        double   seconds,
            extra = power != def->same ? def->extra : 0; /* for equivalence, alarms are counted at the edge and power on identical
                                                          * work */
        bool    hit = false;
        as_duel duel;
        as_stage_after(t->env, (double)(n - 1 - k) * def->budget_s);
        if (as_cancelled(t->env))
            return stopped(t->env, def, k, n);
        if (def->where == AS_CELL_SUITE) {
            AS_TRY(suite(t->env, t, def, seed, &hit, &seconds));
        } else {
            assay_status status = compare(t->env, t, def, extra, seed, &duel, &seconds);
            if (status == ASSAY_CANCELLED)
                return stopped(t->env, def, k, n);
            AS_TRY(status);
            hit = is_hit(def, &duel, power);
        }
        count_add(c, hit);
        line_write(t->state, def, power, k, hit, def->where == AS_CELL_SUITE ? NULL : &duel, seconds);
    }
    return ASSAY_OK;
}

static assay_status cell_run(selftest *t, int cell)
{
    const as_cell_def *def = &as_selftest_cells[cell];
    pid_t              pids[N_NEIGHBOURS] = {0};
    for (int i = 0; def->where == AS_CELL_LOADED && i < N_NEIGHBOURS; i++)
        pids[i] = neighbour_start(t->env);
    assay_status status = trials_run(t, cell, false);
    if (status == ASSAY_OK)
        status = trials_run(t, cell, true);
    neighbours_end(pids);
    return status;
}

static bool is_chosen(const char *cells, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = cells; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, n) && (!at[n] || at[n] == ','))
            return true;
    return !cells;
}

static assay_status cells_check(assay_env *env, const char *cells)
{
    for (const char *at = cells; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        if (cell_find(name) < 0)
            return as_fail(env, ASSAY_BAD_INPUT,
                           "selftest: unknown cell '%s'; known: compute, memory, memory-loaded, programs, programs-memory, "
                           "programs-chase, suite, same, same-memory",
                           name);
    }
    return ASSAY_OK;
}

static void claims_judge(as_cell_result *r)
{
    r->alarms_broken = r->alarms.n && r->alarms.lo > r->def->alarms_claim;
    r->power_broken = r->power.n && r->power.hi < r->def->power_claim;
}

assay_status as_selftest_run(assay_env *env, const as_selftest_settings *s, as_cell_result *results)
{
    selftest     t = {.env = env, .s = s, .results = results};
    assay_status status = cells_check(env, s->cells);
    for (int i = 0; as_selftest_cells[i].name; i++)
        results[i] = (as_cell_result){.def = &as_selftest_cells[i], .alarms = {.lo = 0, .hi = 1}, .power = {.lo = 0, .hi = 1}};
    if (status == ASSAY_OK && s->state) {
        t.state = fopen(s->state, "a+");
        status = t.state ? state_read(&t) : as_fail(env, ASSAY_IO, "selftest: %s: cannot open it: %s", s->state, strerror(errno));
    }
    for (int i = 0; status == ASSAY_OK && as_selftest_cells[i].name; i++)
        if (is_chosen(s->cells, as_selftest_cells[i].name))
            status = cell_run(&t, i);
    for (int i = 0; as_selftest_cells[i].name; i++)
        claims_judge(&results[i]);
    if (t.state)
        fclose(t.state);
    return status;
}
