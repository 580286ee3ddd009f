/* check_facts.c - decides a suite and reports the decision. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "analysis/duel/duel_facts.h"
#include "base/text.h"

static const char *const status_texts[] = {[AS_CHECK_PASS] = "Pass",
                                           [AS_CHECK_REGRESSION] = "Regression",
                                           [AS_CHECK_IMPROVEMENT] = "Improvement",
                                           [AS_CHECK_UNSTABLE] = "Unstable",
                                           [AS_CHECK_FAILED] = "Failed"};
static const char *const overall_texts[] = {[AS_ALL_PASS] = "AllPass",
                                            [AS_HAS_REGRESSIONS] = "HasRegressions",
                                            [AS_HAS_CRITICAL_REGRESSIONS] = "HasCriticalRegressions",
                                            [AS_HAS_FAILURES] = "HasFailures",
                                            [AS_INCOMPLETE] = "Incomplete"};
static const char *const fail_on_texts[] = {[AS_FAIL_ON_SLOWER] = "slower",
                                            [AS_FAIL_ON_MAJOR] = "major",
                                            [AS_FAIL_ON_CRITICAL] = "critical",
                                            [AS_FAIL_ON_UNRESOLVED] = "unresolved"};

const char *as_check_status_text(as_check_status s) { return (unsigned)s < AS_COUNT(status_texts) ? status_texts[s] : "?"; }
const char *as_check_overall_text(as_check_overall o) { return (unsigned)o < AS_COUNT(overall_texts) ? overall_texts[o] : "?"; }

bool as_fail_on_read(const char *text, as_fail_on *out)
{
    for (size_t i = 0; i < AS_COUNT(fail_on_texts); i++)
        if (!strcmp(text, fail_on_texts[i])) {
            *out = (as_fail_on)i;
            return true;
        }
    return false;
}

/* --- Deciding ------------------------------------------------------------------------------------------------ */

/* A p-value that stays valid when the trial stopped early: then it is 1 / e, which is valid at every look. */
static double p_of(double p, double ln_e, bool early)
{
    double value = early ? exp(-ln_e) : p;
    return value >= 0 && value <= 1 ? value : 1;
}

typedef struct many {
    double *p, *ln_e;
    bool   *reject;
    size_t *scratch;
} many;

/* One side of the suite: marks the discoveries on it and counts what e-BH would find. */
static size_t side_decide(as_check_case *cases, size_t n, as_verdict side, double q, const many *m)
{
    for (size_t i = 0; i < n; i++) {
        const as_duel *d = cases[i].failure ? NULL : cases[i].duel;
        double         ln_e = !d ? -INFINITY : side == AS_SLOWER ? d->ln_e_slower : d->ln_e_faster;
        m->p[i] = !d ? 1 : p_of(side == AS_SLOWER ? d->p_slower : d->p_faster, ln_e, d->early);
        m->ln_e[i] = isnan(ln_e) ? -INFINITY : ln_e;
    }
    as_benjamini_hochberg(m->p, n, q, m->reject, m->scratch);
    for (size_t i = 0; i < n; i++)
        cases[i].discovery |= m->reject[i] && cases[i].duel && cases[i].duel->verdict == side;
    return as_e_bh(m->ln_e, n, q, m->reject, m->scratch);
}

static void case_decide(as_check_case *c, const as_duel_rules *rules, size_t n, double q)
{
    const as_duel *d = c->duel;
    char           change[40], other[40];
    c->severity = AS_SEVERITY_NONE;
    if (c->failure || !d) {
        c->status = c->failure || !c->incomplete ? AS_CHECK_FAILED : AS_CHECK_UNSTABLE;
        snprintf(c->reason, sizeof c->reason, "%s", c->failure ? c->failure : c->incomplete ? c->incomplete : "it was not run");
        return;
    }
    snprintf(change, sizeof change, "%.3g %%", 100 * fabs((d->verdict == AS_FASTER ? d->hi : d->lo) - 1));
    if (d->verdict == AS_SLOWER || d->verdict == AS_FASTER) {
        bool slower = d->verdict == AS_SLOWER;
        c->status = !c->discovery ? AS_CHECK_UNSTABLE : slower ? AS_CHECK_REGRESSION : AS_CHECK_IMPROVEMENT;
        c->severity = c->discovery && slower ? d->severity : AS_SEVERITY_NONE;
        if (c->discovery)
            snprintf(c->reason, sizeof c->reason, "%s by at least %s, above the threshold of %.3g %%", slower ? "slower" : "faster",
                     change, 100 * rules->margin);
        else
            snprintf(c->reason, sizeof c->reason,
                     "%s by itself, but not significant among %zu cases at a false discovery rate of %.3g %%",
                     as_verdict_text(d->verdict), n, 100 * q);
    } else if (d->verdict == AS_SAME || d->hi <= 1 + rules->margin) {
        c->status = AS_CHECK_PASS;
        snprintf(c->reason, sizeof c->reason, "at most %s, below the threshold of %.3g %%",
                 as_change_text(other, sizeof other, d->hi), 100 * rules->margin);
    } else {
        c->status = AS_CHECK_UNSTABLE;
        as_duel_remedy(c->reason, sizeof c->reason, d, rules->margin, "budget");
    }
}

/* What is proved comes before what is missing: a regression stays a regression when another case failed. */
static as_check_overall overall_of(const as_check_result *r)
{
    if (r->n_critical)
        return AS_HAS_CRITICAL_REGRESSIONS;
    if (r->counts[AS_CHECK_REGRESSION])
        return AS_HAS_REGRESSIONS;
    if (r->counts[AS_CHECK_FAILED])
        return AS_HAS_FAILURES;
    return r->n_incomplete || !r->n ? AS_INCOMPLETE : AS_ALL_PASS;
}

static int exit_of(const as_check_result *r)
{
    static const as_severity least[] = {[AS_FAIL_ON_SLOWER] = AS_SEVERITY_NONE,
                                        [AS_FAIL_ON_MAJOR] = AS_SEVERITY_MAJOR,
                                        [AS_FAIL_ON_CRITICAL] = AS_SEVERITY_CRITICAL,
                                        [AS_FAIL_ON_UNRESOLVED] = AS_SEVERITY_NONE};
    bool                     regression = false;
    for (size_t i = 0; i < r->n; i++)
        regression |= r->cases[i].status == AS_CHECK_REGRESSION && r->cases[i].severity >= least[r->fail_on];
    if (r->n_critical)
        return 3;
    if (regression)
        return 1;
    if (r->counts[AS_CHECK_FAILED] || r->n_incomplete || !r->n)
        return 5;
    return r->fail_on == AS_FAIL_ON_UNRESOLVED && r->counts[AS_CHECK_UNSTABLE] ? 4 : 0;
}

assay_status as_check_decide(assay_env *env, as_check_case *cases, size_t n, const as_duel_rules *rules, double q,
                             as_fail_on fail_on, as_check_result *out)
{
    as_arena arena = {0};
    many     m = {AS_TAKE(&arena, double, n), AS_TAKE(&arena, double, n), AS_TAKE(&arena, bool, n), AS_TAKE(&arena, size_t, n)};
    if (!m.p || !m.ln_e || !m.reject || !m.scratch) {
        as_arena_drop(&arena);
        return as_fail(env, ASSAY_NO_MEMORY, "check: not enough memory to decide %zu cases", n);
    }
    *out = (as_check_result){.cases = cases, .n = n, .rules = *rules, .q = q, .fail_on = fail_on};
    for (size_t i = 0; i < n; i++)
        cases[i].discovery = false;
    out->n_e_bh = side_decide(cases, n, AS_SLOWER, q, &m);
    side_decide(cases, n, AS_FASTER, q, &m);
    for (size_t i = 0; i < n; i++) {
        case_decide(&cases[i], rules, n, q);
        out->counts[cases[i].status]++;
        out->n_incomplete += cases[i].incomplete != NULL;
        out->n_critical += cases[i].status == AS_CHECK_REGRESSION && cases[i].severity == AS_SEVERITY_CRITICAL;
    }
    out->overall = overall_of(out);
    out->exit_code = exit_of(out);
    as_arena_drop(&arena);
    return ASSAY_OK;
}

/* --- Saying -------------------------------------------------------------------------------------------------- */

static const char *line_of(assay_facts *f, const as_check_case *c)
{
    char line[AS_LINE_BYTES];
    if (!c->duel || c->failure)
        return as_say(f, "%s: %s", c->name, c->reason);
    return as_say(f, "%s", as_duel_line(line, sizeof line, 0, c->name, c->duel, c->trial ? c->trial->spent_ns : (double)NAN));
}

static void row_add(assay_facts *f, as_table *t, const as_check_case *c)
{
    const as_duel *d = c->failure ? NULL : c->duel;
    double         change = d ? d->ratio - 1 : (double)NAN, a = d ? d->a_ns : (double)NAN;
    const char    *none = *c->reason ? c->reason : "it was not compared",
               *source = c->trial ? as_trial_clock_text(c->trial) : "stored blocks";
    as_facts_row(
        f, t,
        (as_cell[]){
            {.text = c->name},
            {.text = c->severity == AS_SEVERITY_NONE
                         ? as_check_status_text(c->status)
                         : as_say(f, "%s (%s)", as_check_status_text(c->status), as_severity_text(c->severity))},
            {.metric = as_number_measured(a, d ? d->a_lo : NAN, d ? d->a_hi : NAN, d ? d->n_rounds : 0, "ns", source, none)},
            {.metric = d ? as_duel_b_metric(d, source) : as_number_measured(NAN, NAN, NAN, 0, "ns", source, none)},
            {.metric = as_number_derived(change, d ? d->lo - 1 : NAN, d ? d->hi - 1 : NAN, d ? d->n_units : 0, "ratio",
                                         "centre of ln(candidate / baseline); minus 1", none)},
            {.text = d && isfinite(d->lo) && isfinite(d->hi) ? as_say(f, "[%+.1f, %+.1f] %.0f %%", 100 * (d->lo - 1),
                                                                      100 * (d->hi - 1), floor(100 * d->confidence + 1e-9))
                                                             : "-"},
            {.text = c->reason},
        });
}

/* For programs that read it: one row per case, whole sentences. */
static void annotation_add(assay_facts *f, as_table *t, const as_check_case *c)
{
    const char *detail = c->duel && !c->failure ? c->reason : ""; /* otherwise the line says it already */
    for (int i = 0; c->duel && !c->failure && i < c->duel->n_reasons; i++)
        detail = as_say(f, "%s; %s", detail, c->duel->reasons[i]);
    as_facts_row(f, t,
                 (as_cell[]){{.text = c->name},
                             {.text = as_check_status_text(c->status)},
                             {.text = as_severity_text(c->severity)},
                             {.text = c->incomplete ? "yes" : "no"},
                             {.text = line_of(f, c)},
                             {.text = detail},
                             {.metric = as_number_measured(c->trial ? c->trial->spent_ns : (double)NAN, NAN, NAN, 1, "ns", "clock",
                                                           "the trial was not stored")}});
}

static void headline_add(assay_facts *f, as_fact_group *g, const as_check_result *r)
{
    as_level    level = r->overall == AS_ALL_PASS ? (r->counts[AS_CHECK_UNSTABLE] ? AS_LEVEL_WARN : AS_LEVEL_GOOD) : AS_LEVEL_BAD;
    const char *meaning = r->overall == AS_ALL_PASS && r->counts[AS_CHECK_UNSTABLE] ? " (nothing is proved slower)" : "";
    as_facts_find(f, g, level, "%s%s: of %zu cases %zu passed, %zu regressed, %zu improved, %zu are not decided, %zu failed.",
                  as_check_overall_text(r->overall), meaning, r->n, r->counts[AS_CHECK_PASS], r->counts[AS_CHECK_REGRESSION],
                  r->counts[AS_CHECK_IMPROVEMENT], r->counts[AS_CHECK_UNSTABLE], r->counts[AS_CHECK_FAILED]);
}

/* The most severe first; passes are left out because the table has them. */
static void findings_add(assay_facts *f, as_fact_group *g, const as_check_result *r)
{
    static const struct {
        as_check_status status;
        as_level        level;
    } order[] = {{AS_CHECK_REGRESSION, AS_LEVEL_BAD},
                 {AS_CHECK_FAILED, AS_LEVEL_BAD},
                 {AS_CHECK_UNSTABLE, AS_LEVEL_WARN},
                 {AS_CHECK_IMPROVEMENT, AS_LEVEL_GOOD}};
    char line[AS_LINE_BYTES];
    for (size_t k = 0; k < AS_COUNT(order); k++)
        for (size_t i = 0; i < r->n; i++) {
            const as_check_case *c = &r->cases[i];
            if (c->status != order[k].status)
                continue;
            if (c->duel && !c->failure)
                as_facts_find(f, g, order[k].level, "%s",
                              as_duel_line(line, sizeof line, 80, c->name, c->duel, c->trial ? c->trial->spent_ns : (double)NAN));
            else
                as_facts_find(f, g, order[k].level, "%s: %s", c->name, c->reason);
            for (int j = 0; c->duel && !c->failure && j < c->duel->n_reasons && j < 3; j++)
                as_facts_find(f, g, AS_LEVEL_NOTE, "%s", c->duel->reasons[j]);
            if (c->duel && !c->failure && c->status == AS_CHECK_UNSTABLE)
                as_facts_find(f, g, AS_LEVEL_NOTE, "%s", c->reason);
        }
}

static void numbers_add(assay_facts *f, as_fact_group *g, const as_check_result *r)
{
    static const char *const keys[] = {"check.passed", "check.regressions", "check.improvements", "check.unstable", "check.failed"};
    static const char *const labels[] = {"passed", "regressions", "improvements", "not decided", "failed"};
    as_facts_add(f, g, "check.cases", "cases", as_metric_counted(r->n, "1", "baseline"));
    for (int s = 0; s < AS_N_CHECK_STATUSES; s++)
        as_facts_add(f, g, keys[s], labels[s], as_metric_counted(r->counts[s], "1", "verdicts"));
    as_facts_add(f, g, "check.threshold", "threshold", as_metric_derived(r->rules.margin, NAN, NAN, 1, "ratio", "option"));
    as_facts_add(f, g, "check.alpha", "wrong verdicts allowed per case",
                 as_metric_derived(r->rules.alpha, NAN, NAN, 1, "ratio", "option"));
    as_facts_add(
        f, g, "check.fdr", "false discovery rate of the suite",
        as_metric_derived(r->q, NAN, NAN, 1, "ratio", "Benjamini-Hochberg on one-sided p; 1 / e where a trial stopped early"));
    as_facts_add(f, g, "check.e_bh", "regressions under any dependence (e-BH)",
                 as_metric_counted(r->n_e_bh, "1", "e-values of the cases"));
    as_facts_add(f, g, "check.exit_code", "exit code",
                 as_metric_counted((uint64_t)r->exit_code, "1", as_say(f, "--fail-on %s", fail_on_texts[r->fail_on])));
    as_facts_note(f, "check.status", as_check_overall_text(r->overall));
}

/* Comparisons that stand out get their pictures; a clean suite needs none. */
static void compare_add(assay_facts *f, const as_check_result *r)
{
    as_duel_row *rows = AS_TAKE(&f->arena, as_duel_row, r->n);
    size_t       n = 0;
    for (size_t i = 0; rows && i < r->n; i++)
        if (r->cases[i].trial && r->cases[i].duel && !r->cases[i].failure)
            rows[n++] = (as_duel_row){.trial = r->cases[i].trial,
                                      .a = r->cases[i].a,
                                      .b = r->cases[i].b,
                                      .name = r->cases[i].name,
                                      .duel = *r->cases[i].duel,
                                      .rules = &r->rules};
    if (n)
        as_duels_add(f, rows, n);
}

assay_facts *as_facts_of_check(assay_env *env, const as_check_result *r, const char *title)
{
    static const char *const columns[] = {"case|case",     "status|status",        "a_time|baseline", "b_time|candidate",
                                          "change|change", "interval|interval, %", "reason|why",      NULL};
    static const char *const machine[] = {"case|case", "status|status", "severity|severity", "incomplete|incomplete",
                                          "line|line", "detail|detail", "spent|spent",       NULL};
    assay_facts             *f = as_facts_new(env);
    if (!f)
        return NULL;
    f->title = as_facts_keep(f, title ? title : "check");
    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].trial) {
            as_trial_notes(f, r->cases[i].trial);
            break;
        }
    as_fact_group *g = as_facts_group(f, "check", "Check");
    headline_add(f, g, r);
    findings_add(f, g, r);
    as_table *t = as_facts_table(f, g, "cases", "Cases", columns);
    for (size_t i = 0; i < r->n; i++)
        row_add(f, t, &r->cases[i]);
    t = as_facts_table(f, g, "annotations", "Annotations", machine);
    for (size_t i = 0; i < r->n; i++)
        annotation_add(f, t, &r->cases[i]);
    numbers_add(f, g, r);
    compare_add(f, r);
    return f;
}
