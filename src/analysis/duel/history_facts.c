/* history_facts.c - points, change points and sentences of a history. */

#include <math.h>
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "analysis/trace/evidence.h"
#include "base/text.h"

enum { MAX_CHANGES = 64 };

static const char *when_of(assay_facts *f, int64_t unix_time)
{
    char text[AS_DATE_BYTES];
    return unix_time > 0 ? as_say(f, "%s", as_date_text(text, sizeof text, unix_time, AS_DATE_MINUTE)) : "-";
}

/* The first eight digits are enough to name a commit for people. */
static const char *commit_of(assay_facts *f, const char *commit) { return commit && *commit ? as_say(f, "%.8s", commit) : "-"; }

static assay_metric time_of(const as_history_point *p)
{
    return as_number_measured(p->median, p->lo, p->hi, 1, "ns", "the store: median of a case", "no number");
}

static void points_add(assay_facts *f, as_fact_group *g, const as_history_point *points, size_t n)
{
    static const char *const columns[] = {
        "when|when (UTC)", "commit|commit", "run|run", "median|median", "change|change from the previous", "machine|machine", NULL};
    as_table *t = as_facts_table(f, g, "points", "Points", columns);
    for (size_t i = 0; i < n; i++) {
        const as_history_point *p = &points[i];
        double                  change = i ? p->median / points[i - 1].median - 1 : (double)NAN;
        as_facts_row(f, t,
                     (as_cell[]){{.text = when_of(f, p->unix_time)},
                                 {.text = commit_of(f, p->commit)},
                                 {.text = as_say(f, "%lld", (long long)p->run)},
                                 {.metric = time_of(p)},
                                 {.metric = as_number_derived(change, NAN, NAN, 2, "ratio", "median / previous median - 1",
                                                              i ? "no number" : "the first point")},
                                 {.text = p->machine && *p->machine ? p->machine : "-"}});
    }
}

static void series_add(assay_facts *f, as_fact_group *g, const as_history_point *points, size_t n)
{
    double *x = AS_TAKE(&f->arena, double, n),
           *y[3] = {AS_TAKE(&f->arena, double, n), AS_TAKE(&f->arena, double, n), AS_TAKE(&f->arena, double, n)};
    static const char *const keys[] = {"median", "lo", "hi"};
    if (!x || !y[0] || !y[1] || !y[2])
        return;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)points[i].unix_time;
        y[0][i] = points[i].median, y[1][i] = points[i].lo, y[2][i] = points[i].hi;
        for (int k = 0; k < 3; k++)
            y[k][i] = isfinite(y[k][i]) ? y[k][i] : (double)NAN;
    }
    for (int k = 0; n && k < 3; k++)
        as_facts_series(f, g,
                        &(as_series){.key = keys[k],
                                     .label = keys[k],
                                     .x_unit = "unix s",
                                     .y_unit = "ns",
                                     .kind = ASSAY_MEASURED,
                                     .source = "the store",
                                     .x = x,
                                     .y = y[k],
                                     .n = n});
}

/* The command that would prove it: two commits have to be rebuilt; one that has a baseline can be checked. */
static const char *proof_of(assay_facts *f, const as_history_point *before, const as_history_point *at)
{
    bool commits = before->commit && *before->commit && at->commit && *at->commit && strcmp(before->commit, at->commit);
    return commits
               ? as_say(
                     f,
                     "build %.8s and %.8s and run `assay compare --bin OLD --bin NEW`, or `assay check` against a baseline of %.8s",
                     before->commit, at->commit, before->commit)
               : "run `assay compare` on the two builds, or `assay check` against a baseline of the older one";
}

static void changes_add(assay_facts *f, as_fact_group *g, const as_history_point *points, const size_t *index, const double *y,
                        size_t n, const as_history_settings *s)
{
    static const char *const columns[] = {"at|at point",   "when|when (UTC)", "commit|commit",
                                          "before|before", "after|after",     "change|change",
                                          "p|p",           "state|state",     NULL};
    as_change                found[MAX_CHANGES];
    char                     change[40];
    double                   alpha = s && s->alpha > 0 ? s->alpha : .01, step = s && s->min_step > 0 ? s->min_step : .01;
    size_t                   n_found = as_change_points(y, n, alpha, step, as_data_seed(y, n), found, MAX_CHANGES);
    as_table                *t = as_facts_table(f, g, "changes", "Change points", columns);
    for (size_t i = 0; i < n_found; i++) {
        const as_change *c = &found[i];
        if (c->at == 0 || c->at >= n)
            continue;
        const as_history_point *p = &points[index[c->at]], *before = &points[index[c->at - 1]];
        double                  ratio = c->after / c->before;
        as_facts_row(
            f, t,
            (as_cell[]){{.metric = as_metric_counted(index[c->at], "1", "points before it")},
                        {.text = when_of(f, p->unix_time)},
                        {.text = commit_of(f, p->commit)},
                        {.metric = as_number_derived(c->before, NAN, NAN, n, "ns", "median of the segment before", "no number")},
                        {.metric = as_number_derived(c->after, NAN, NAN, n, "ns", "median of the segment from it on", "no number")},
                        {.metric = as_number_derived(ratio - 1, NAN, NAN, n, "ratio", "after / before - 1", "no number")},
                        {.metric = as_number_derived(c->p, NAN, NAN, 999, "1", "permutations of ranks (E-divisive)", "no number")},
                        {.text = c->went_away ? "went away" : "nominated"}});
        as_change_text(change, sizeof change, ratio);
        if (c->went_away)
            as_facts_find(f, g, AS_LEVEL_NOTE, "A change of %s at %s (%s) is gone: the last three points do not show it.", change,
                          commit_of(f, p->commit), when_of(f, p->unix_time));
        else
            as_facts_find(f, g, ratio > 1 ? AS_LEVEL_WARN : AS_LEVEL_GOOD,
                          "Possible change of %s at %s (%s), from %s to %s. To prove it: %s.", change, commit_of(f, p->commit),
                          when_of(f, p->unix_time), as_say_number(f, c->before, "ns"), as_say_number(f, c->after, "ns"),
                          proof_of(f, before, p));
    }
    as_facts_add(
        f, g, "history.changes", "possible change points",
        as_metric_counted(n_found, "1", as_say(f, "rank E-divisive, p < %.3g, changes of at least %.3g %%", alpha, 100 * step)));
    if (!n_found)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      n < 10 ? "Only %zu points: about ten are needed to find changes." : "No change point among %zu points.", n);
}

static void machines_say(assay_facts *f, as_fact_group *g, const as_history_point *points, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (points[i].machine && points[0].machine && strcmp(points[i].machine, points[0].machine)) {
            as_facts_find(f, g, AS_LEVEL_WARN, "The points come from several machines: a change may only be a change of machine.");
            return;
        }
}

assay_facts *as_facts_of_history(assay_env *env, const char *name, const as_history_point *points, size_t n,
                                 const as_history_settings *settings)
{
    assay_facts *f = as_facts_new(env);
    if (!f)
        return NULL;
    as_fact_group *g = as_facts_group(f, "history", "History");
    size_t        *index = AS_TAKE(&f->arena, size_t, n), n_good = 0;
    double        *y = AS_TAKE(&f->arena, double, n);
    f->title = as_facts_keep(f, as_say(f, "history of %s", name));
    for (size_t i = 0; index && y && i < n; i++)
        if (isfinite(points[i].median) && points[i].median > 0)
            index[n_good] = i, y[n_good++] = points[i].median;
    as_facts_add(f, g, "history.last", "last", n ? time_of(&points[n - 1]) : as_metric_unavailable("ns", "there are no points"));
    as_facts_add(f, g, "history.points", "points", as_metric_counted(n, "1", "the store"));
    changes_add(f, g, points, index, y, n_good, settings);
    machines_say(f, g, points, n);
    points_add(f, g, points, n);
    series_add(f, g, points, n);
    return f;
}

assay_facts *as_facts_of_cases(assay_env *env, const as_history_case *cases, size_t n, const char *where)
{
    static const char *const columns[] = {"case|case", "points|points", "last|last", "when|when (UTC)", "commit|commit", NULL};
    assay_facts             *f = as_facts_new(env);
    if (!f)
        return NULL;
    as_fact_group *g = as_facts_group(f, "history", "History");
    as_table      *t = as_facts_table(f, g, "cases", "Cases with a history", columns);
    f->title = as_facts_keep(f, as_say(f, "history: %zu cases", n));
    for (size_t i = 0; i < n; i++)
        as_facts_row(f, t,
                     (as_cell[]){{.text = cases[i].name},
                                 {.metric = as_metric_counted((uint64_t)(cases[i].n > 0 ? cases[i].n : 0), "1", "the store")},
                                 {.metric = time_of(&cases[i].last)},
                                 {.text = when_of(f, cases[i].last.unix_time)},
                                 {.text = commit_of(f, cases[i].last.commit)}});
    if (!n)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s has no cases yet: assay profile, bench, compare, check and baseline store them.",
                      where);
    return f;
}
