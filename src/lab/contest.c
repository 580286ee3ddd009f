/* contest.c - candidates and rows from the command line; one trial per row. */
#include "lab/contest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "base/text.h"
#include "lab/limits.h"

enum { MAX_VARY = 8, MAX_VALUES = 64, MAX_ROWS = 512, MAX_TOLD = 6 };

typedef struct axis {
    const char *key;
    const char *values[MAX_VALUES];
    int         n;
} axis;

typedef struct maker {
    assay_env                *env;
    const as_contest_options *user;
    as_contest               *c;
    axis                      axes[MAX_VARY];
    int                       n_axes;
    const char *const        *args;
    int                       n_args;
    bool                      by_args; /* candidates are the arguments; otherwise the values of the first axis */
} maker;

static assay_status no_room(assay_env *env)
{
    return as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for the candidates");
}

/* --- Axes ---------------------------------------------------------------------------------------------- */

/* Commas separate values; for devices, a part OP=TIME belongs to the device before it: null:gemm=5us,*=2us. */
static assay_status axis_add(maker *m, const char *key, const char *list)
{
    if (m->n_axes == MAX_VARY)
        return as_fail(m->env, ASSAY_BAD_INPUT, "compare: more than %d --vary", MAX_VARY);
    axis *a = &m->axes[m->n_axes++];
    *a = (axis){.key = key};
    for (const char *at = list; at;) {
        size_t n = strcspn(at, ",");
        if (a->n == MAX_VALUES)
            return as_fail(m->env, ASSAY_BAD_INPUT, "compare: --vary %s: more than %d values", key, MAX_VALUES);
        if (!n)
            return as_fail(m->env, ASSAY_BAD_INPUT, "compare: --vary %s=%s: a value is empty", key, list);
        const char *value = as_arena_text_n(&m->c->arena, at, n);
        bool        has_parts = !strcmp(key, "device") || !strcmp(key, "optimizer");
        bool        joins = value && a->n && has_parts && strchr(value, '=') && !strchr(value, ':');
        if (joins)
            value =
                as_arena_printf(&m->c->arena, "%s%c%s", a->values[a->n - 1], strchr(a->values[a->n - 1], ':') ? ',' : ':', value);
        if (!value)
            return no_room(m->env);
        a->values[joins ? a->n - 1 : a->n++] = value;
        at = at[n] ? at + n + 1 : NULL;
    }
    return ASSAY_OK;
}

static assay_status axes_read(maker *m)
{
    const char *devices = m->user->cases.devices;
    if (devices && strchr(devices, ','))
        AS_TRY(axis_add(m, "device", devices));
    for (size_t i = 0; i < m->user->vary.n; i++) {
        const char *text = m->user->vary.items[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            return as_fail(m->env, ASSAY_BAD_INPUT, "compare: --vary %s: expected KEY=A,B, for example threads=1,2", text);
        const char *key = as_arena_text_n(&m->c->arena, text, (size_t)(equals - text));
        if (!key)
            return no_room(m->env);
        AS_TRY(axis_add(m, key, equals + 1));
    }
    m->by_args = m->n_args > 1;
    if (!m->by_args && !m->n_axes)
        return as_fail(m->env, ASSAY_BAD_INPUT,
                       "compare needs two or more candidates: with %s give a second model, --vary KEY=A,B or --devices A,B",
                       m->args[0]);
    if (!m->by_args && m->axes[0].n < 2)
        return as_fail(m->env, ASSAY_BAD_INPUT, "compare: --vary %s=%s has one value and needs two or more", m->axes[0].key,
                       m->axes[0].values[0]);
    return ASSAY_OK;
}

/* --- One case of a candidate and a row ------------------------------------------------------------------------- */

/* The option that a key of --vary names; NULL: it is a parameter of the model. */
static const char *option_of(const maker *m, const char *key, bool workload)
{
    static const struct {
        const char *key, *option;
    } names[] = {{"threads", "threads"}, {"batch", "batch"},         {"seq", "seq"},
                 {"compile", "compile"}, {"winograd", "winograd"},   {"weights-as", "weights-as"},
                 {"device", "devices"},  {"train", "train"},         {"optimizer", "optimizer"},
                 {"loss", "loss"},       {"recompute", "recompute"}, {"accumulate", "accumulate"},
                 {"size", "sizes"},      {"sizes", "sizes"},         {"dtype", "dtypes"},
                 {"dtypes", "dtypes"},   {"layout", "layout"}};
    const size_t of_both = 12; /* the others apply to workloads only; a model may have a parameter of that name */
    if (!strcmp(key, "precision"))
        return workload ? "dtypes" : m->user->cases.train ? "precision" : "weights-as";
    for (size_t i = 0; i < (workload ? AS_COUNT(names) : of_both); i++)
        if (!strcmp(key, names[i].key))
            return names[i].option;
    return NULL;
}

/* A key that is not an option must be a parameter of the model, and weights must fit: checked here once, with one message, not
 * for every row. */
static assay_status keys_check(maker *m, const as_bench_case *c, bool workload)
{
    assay_model *model = NULL;
    bool         asks = m->user->cases.weights != NULL;
    for (int i = 0; i < m->n_axes; i++)
        asks = asks || !option_of(m, m->axes[i].key, workload);
    if (!asks || c->is_workload) /* those of a workload are known already */
        return ASSAY_OK;
    assay_status status = as_model_load(m->env, c->spec, &c->model, &model);
    assay_model_free(model);
    return status;
}

/* at: the value of every axis; -1: the axis does not apply here. */
static assay_status cases_of(maker *m, const char *arg, bool workload, const int *at, as_bench_cases **out)
{
    as_case_options o = m->user->cases;
    as_text         spec = {0};
    assay_status    status = ASSAY_OK;
    as_text_printf(&spec, "%s", arg);
    if (!o.devices || strchr(o.devices, ',')) /* several devices are an axis */
        o.devices = m->user->device;
    for (int i = 0; i < m->n_axes && status == ASSAY_OK; i++) {
        const axis *a = &m->axes[i];
        const char *option = option_of(m, a->key, workload);
        if (option)
            status = as_member_set(m->env, as_case_members, option, a->values[at[i]], &o);
        else
            as_text_printf(&spec, "%c%s=%s", strchr(spec.data, ':') ? ',' : ':', a->key, a->values[at[i]]);
    }
    if (status == ASSAY_OK) {
        const char *one[] = {spec.data};
        status = as_bench_cases_read(m->env, one, 1, &o, out);
    }
    as_text_drop(&spec);
    return status;
}

static assay_status list_keep(maker *m, as_bench_cases *list)
{
    as_contest *c = m->c;
    if (c->n_lists == c->cap_lists) {
        int              cap = c->cap_lists ? 2 * c->cap_lists : 16;
        as_bench_cases **moved = AS_TAKE(&c->arena, as_bench_cases *, cap);
        if (!moved) {
            as_bench_cases_free(list);
            return no_room(m->env);
        }
        if (c->n_lists)
            memcpy(moved, c->lists, (size_t)c->n_lists * sizeof *moved);
        c->lists = moved;
        c->cap_lists = cap;
    }
    c->lists[c->n_lists++] = list;
    return ASSAY_OK;
}

/* --- Rows -------------------------------------------------------------------------------------------------- */

static double number_of(const char *text)
{
    double value;
    if (as_parse_f64(text, &value))
        return value;
    value = 1; /* a size: the product of its dimensions */
    for (const char *at = text; *at;) {
        char  *end;
        double one = strtod(at, &end);
        if (end == at || !(one > 0) || (*end && *end != 'x'))
            return NAN;
        value *= one;
        at = *end ? end + 1 : end;
    }
    return *text ? value : NAN;
}

/* The size in a case's id: the part after the workload. */
static const char *size_of(as_arena *arena, const as_bench_case *c)
{
    const char *slash = strchr(c->id, '/');
    return slash ? as_arena_text_n(arena, slash + 1, strcspn(slash + 1, "/")) : "";
}

static assay_status row_add(maker *m, const char *label, double value, as_bench_cases *const *lists, int k)
{
    as_contest           *c = m->c;
    const as_bench_case **cases = AS_TAKE(&c->arena, const as_bench_case *, c->n_arms);
    if (c->n_rows == MAX_ROWS)
        return as_fail(m->env, ASSAY_BAD_INPUT, "compare: more than %d rows; give fewer values", MAX_ROWS);
    if (c->n_rows == c->cap_rows) {
        int             cap = c->cap_rows ? 2 * c->cap_rows : 16;
        as_contest_row *moved = AS_TAKE(&c->arena, as_contest_row, cap);
        if (!moved)
            return no_room(m->env);
        if (c->n_rows)
            memcpy(moved, c->rows, (size_t)c->n_rows * sizeof *moved);
        c->rows = moved;
        c->cap_rows = cap;
    }
    if (!cases)
        return no_room(m->env);
    for (int i = 0; i < c->n_arms; i++) {
        cases[i] = &lists[i]->items[k];
        if (as_bench_case_is_told(cases[i]) != as_bench_case_is_told(cases[0])) /* the simulated clock would stand still for the
                                                                                 * other one */
            return as_fail(
                m->env, ASSAY_BAD_INPUT,
                "compare: %s: the times of a null device are simulated and those of %s are measured: they cannot be compared",
                c->arms[i], c->arms[0]);
    }
    c->rows[c->n_rows++] = (as_contest_row){.label = label, .value = value, .cases = cases};
    return ASSAY_OK;
}

static const char *label_of(maker *m, const int *at, int first)
{
    as_text text = {0};
    for (int i = first; i < m->n_axes; i++)
        as_text_printf(&text, "%s%s=%s", text.length ? "," : "", m->axes[i].key, m->axes[i].values[at[i]]);
    const char *kept = as_arena_text(&m->c->arena, text.data ? text.data : "");
    as_text_drop(&text);
    return kept;
}

/* All candidates at one choice of values for the row axes. */
static assay_status rows_at(maker *m, int *at, int first)
{
    as_contest     *c = m->c;
    as_bench_cases *lists[MAX_VALUES] = {NULL};
    for (int i = 0; i < c->n_arms; i++) {
        const char *arg = m->args[m->by_args ? i : 0];
        bool        workload = !strncmp(arg, "bench:", 6);
        if (!m->by_args)
            at[0] = i;
        AS_TRY(cases_of(m, arg + (workload ? 6 : 0), workload, at, &lists[i]));
        AS_TRY(list_keep(m, lists[i]));
        if (lists[i]->n_items)
            AS_TRY(keys_check(m, &lists[i]->items[0], workload));
        if (lists[i]->n_items != lists[0]->n_items || !lists[i]->n_items)
            return as_fail(m->env, ASSAY_BAD_INPUT, "compare: %s has %d cases and %s has %d: candidates must have the same cases",
                           c->arms[0], lists[0]->n_items, c->arms[i], lists[i]->n_items);
    }
    const char *label = label_of(m, at, first);
    for (int k = 0; k < lists[0]->n_items; k++) {
        const char *own = label;
        double      value = m->n_axes > first ? number_of(m->axes[first].values[at[first]]) : NAN;
        if (lists[0]->n_items > 1) {
            own = size_of(&c->arena, &lists[0]->items[k]);
            value = number_of(own ? own : "");
            if (own && label && *label)
                own = as_arena_printf(&c->arena, "%s,%s", own, label);
        }
        if (!own)
            return no_room(m->env);
        AS_TRY(row_add(m, own, value, lists, k));
    }
    if (lists[0]->n_items > 1)
        c->key = "size";
    return ASSAY_OK;
}

static int row_order(const void *x, const void *y)
{
    const as_contest_row *a = x, *b = y;
    if (isnan(a->value) || isnan(b->value))
        return 0;
    return (a->value > b->value) - (a->value < b->value);
}

static assay_status arms_name(maker *m)
{
    as_contest *c = m->c;
    c->n_arms = m->by_args ? m->n_args : m->axes[0].n;
    if (c->n_arms > MAX_VALUES)
        return as_fail(m->env, ASSAY_BAD_INPUT, "compare: more than %d candidates", MAX_VALUES);
    c->arms = AS_TAKE(&c->arena, const char *, c->n_arms);
    for (int i = 0; c->arms && i < c->n_arms; i++) {
        c->arms[i] = m->by_args ? m->args[i] : as_arena_printf(&c->arena, "%s=%s", m->axes[0].key, m->axes[0].values[i]);
        for (int k = 0; m->by_args && k < i; k++)
            if (!strcmp(m->args[i], m->args[k])) /* the same model twice is allowed: it tests the laboratory */
                c->arms[i] = as_arena_printf(&c->arena, "%s (%d)", m->args[i], i + 1);
        if (!c->arms[i])
            return no_room(m->env);
    }
    return c->arms ? ASSAY_OK : no_room(m->env);
}

/* --- Its name ---------------------------------------------------------------------------------------- */

/* "1, 2, 4, 8"; two values may have another separator; of many values only the first are listed. */
static const char *list_join(as_arena *arena, const char *const *items, int n, const char *joint_of_two)
{
    as_text text = {0};
    for (int i = 0; i < n && i < MAX_TOLD; i++)
        as_text_printf(&text, "%s%s", !i ? "" : n == 2 ? joint_of_two : ", ", items[i]);
    if (n > MAX_TOLD)
        as_text_printf(&text, " and %d more", n - MAX_TOLD);
    const char *kept = text.failed ? NULL : as_arena_text(arena, text.data ? text.data : "");
    as_text_drop(&text);
    return kept;
}

/* "mlp-small: threads 1 against 2", "old.onnx against new.onnx"; and of the rows "batch 1, 8, 32". */
static assay_status name_make(maker *m)
{
    as_contest *c = m->c;
    int         first = m->by_args ? 0 : 1;
    c->over = "";
    c->name = list_join(&c->arena, m->by_args ? c->arms : m->axes[0].values, c->n_arms, " against ");
    if (c->name && !m->by_args)
        c->name = as_arena_printf(&c->arena, "%s: %s %s", m->args[0], m->axes[0].key, c->name);
    for (int i = first; i < m->n_axes && c->over; i++) {
        const char *values = list_join(&c->arena, m->axes[i].values, m->axes[i].n, ", ");
        c->over = values ? as_arena_printf(&c->arena, "%s%s%s %s", c->over, *c->over ? " · " : "", m->axes[i].key, values) : NULL;
    }
    for (int i = 0; i < m->n_axes; i++)
        c->varies_device |= !strcmp(m->axes[i].key, "device"), c->varies_threads |= !strcmp(m->axes[i].key, "threads");
    return c->name && c->over ? ASSAY_OK : no_room(m->env);
}

static assay_status contest_fill(maker *m)
{
    AS_TRY(axes_read(m));
    AS_TRY(arms_name(m));
    int at[MAX_VARY] = {0}, first = m->by_args ? 0 : 1;
    m->c->key = m->n_axes > first ? m->axes[first].key : "";
    for (bool more = true; more;) {
        AS_TRY(rows_at(m, at, first));
        more = false;
        for (int i = m->n_axes - 1; i >= first && !more; i--) { /* the last axis varies fastest */
            at[i] = (at[i] + 1) % m->axes[i].n;
            more = at[i] != 0;
        }
    }
    qsort(m->c->rows, (size_t)m->c->n_rows, sizeof *m->c->rows, row_order);
    AS_TRY(name_make(m));
    m->c->title = m->by_args ? as_arena_printf(&m->c->arena, "%s against %s%s", m->c->arms[1], m->c->arms[0],
                                               m->c->n_arms > 2 ? " and others" : "")
                             : as_arena_printf(&m->c->arena, "%s by %s", m->args[0], m->axes[0].key);
    return m->c->title ? ASSAY_OK : no_room(m->env);
}

assay_status as_contest_options_read(assay_env *env, const assay_options *options, as_contest_options *out)
{
    static const as_option_member members[] = {AS_MEMBER(as_contest_options, GIVEN, "device", device),
                                               AS_MEMBER(as_contest_options, TEXTS, "vary", vary),
                                               AS_MEMBER(as_contest_options, TEXT, "metric", metric),
                                               {.key = NULL}};
    *out = (as_contest_options){.device = NULL};
    size_t n_devices = as_options_texts(options, "device").n;
    if (n_devices > 1)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "compare: --device is where all candidates run, and %zu are given; --devices A,B compares devices",
                       n_devices);
    AS_TRY(as_case_options_read(env, options, &out->cases));
    return as_options_read(env, options, members, out);
}

assay_status as_contest_read(assay_env *env, const char *const *args, int n_args, const as_contest_options *options,
                             as_contest **out)
{
    maker m = {.env = env, .user = options, .c = calloc(1, sizeof *m.c), .args = args, .n_args = n_args};
    if (!m.c)
        return no_room(env);
    assay_status status = contest_fill(&m);
    m.c->metric = options->metric ? options->metric : "time";
    if (status == ASSAY_OK)
        *out = m.c;
    else
        as_contest_free(m.c);
    return status;
}

void as_contest_free(as_contest *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n_rows; i++)
        assay_trace_free(c->rows[i].trial);
    for (int i = 0; i < c->n_lists; i++)
        as_bench_cases_free(c->lists[i]);
    as_arena_drop(&c->arena);
    free(c);
}

/* --- Running ------------------------------------------------------------------------------------------------- */

typedef struct runner {
    assay_env  *env;
    as_contest *c;
} runner;

static assay_status row_run(void *arg, int i, const as_lab_settings *s, assay_trace **trial)
{
    runner         *r = arg;
    as_contest     *c = r->c;
    as_contest_row *row = &c->rows[i];
    const char     *name = *row->label ? as_arena_printf(&c->arena, "%s, %s", c->title, row->label) : c->title;
    row->duels = row->duels ? row->duels : AS_TAKE(&c->arena, as_duel, c->n_arms);
    if (!name || !row->duels)
        return no_room(r->env);
    assay_status status = as_lab_compare(r->env, name, row->cases, c->arms, c->n_arms, s, trial);
    row->trial = *trial;
    if (status == ASSAY_OK && *trial)
        status = as_lab_limit_judge(r->env, *trial);
    for (int b = 1; row->trial && b < c->n_arms; b++)
        as_duel_judge(row->trial, 0, b, &s->rules, &row->duels[b - 1]);
    return status;
}

assay_status as_contest_run(assay_env *env, as_contest *c, const as_lab_settings *s)
{
    runner          r = {env, c};
    as_lab_settings own = *s;
    as_roofs        roofs = {0};
    assay_trace   **trials = AS_TAKE(&c->arena, assay_trace *, c->n_rows);
    if (!trials)
        return no_room(env);
    for (int i = 0; i < c->n_rows && !roofs.n; i++) /* as stored: a comparison measures limits only if a result contradicts them */
        AS_TRY(as_lab_limits(env, c->rows[i].cases, c->n_arms, AS_ROOFS_LOOK, &roofs));
    own.roofs = &roofs;
    own.layers = true;
    own.roofs_how = AS_ROOFS_LOOK;
    assay_status status = as_lab_all(env, row_run, &r, c->n_rows, &own, trials);
    as_roofs_drop(&roofs);
    return status;
}

assay_status as_contest_trials(assay_env *env, as_contest *c, bool take, assay_trace ***out, size_t *n)
{
    assay_trace **trials = AS_TAKE(&c->arena, assay_trace *, c->n_rows);
    size_t        n_begun = 0;
    if (!trials)
        return no_room(env);
    for (int i = 0; i < c->n_rows; i++)
        if (c->rows[i].trial) {
            trials[n_begun++] = c->rows[i].trial;
            c->rows[i].trial = take ? NULL : c->rows[i].trial;
        }
    *out = trials;
    *n = n_begun;
    return ASSAY_OK;
}
