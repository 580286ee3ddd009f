/* br_check.c - the first screen of check: pass or fail in one sentence, the worst cases, which are unresolved, and what to do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/brief.h"
#include "report/pick.h"

enum { MAX_CASES = 9, MAX_NAMES = 3, MAX_REASON = 120 };

typedef enum status { REGRESSION, FAILED, UNSTABLE, IMPROVEMENT, PASS, N_STATUSES } status; /* the most severe first */

static const struct {
    const char   *text, *word; /* as in the facts, and for readers */
    as_chart_role role;
} statuses[N_STATUSES] = {[REGRESSION] = {"Regression", "slower", AS_CHART_BAD},
                          [FAILED] = {"Failed", "failed", AS_CHART_BAD},
                          [UNSTABLE] = {"Unstable", "unresolved", AS_CHART_WARN},
                          [IMPROVEMENT] = {"Improvement", "faster", AS_CHART_GOOD},
                          [PASS] = {"Pass", "ok", AS_CHART_MAIN}};

typedef struct one {
    const char         *name, *reason;
    status              status;
    bool                cut;    /* stopped before its end */
    const assay_metric *change; /* NULL: there is none */
    int                 row;
} one;

typedef struct suite {
    const as_table *cases;
    one            *all;
    int             n, counts[N_STATUSES], n_cut;
    double          threshold; /* a share */
} suite;

static bool fits(const assay_facts *f)
{
    return as_facts_table_find(f, "check", "cases") && as_facts_table_find(f, "check", "annotations");
}

static int loudest_first(const void *a, const void *b)
{
    const one *x = a, *y = b;
    double     cx = x->change ? x->change->value : -1e9, cy = y->change ? y->change->value : -1e9;
    if (x->status != y->status)
        return (int)x->status - (int)y->status;
    return cx != cy ? (cx > cy ? -1 : 1) : x->row - y->row;
}

static status status_of(const char *text)
{
    for (int s = 0; s < N_STATUSES; s++)
        if (!strcmp(statuses[s].text, text))
            return (status)s;
    return UNSTABLE;
}

static bool suite_read(as_brief *b, const assay_facts *f, suite *out)
{
    const as_table     *t = as_facts_table_find(f, "check", "cases"), *notes = as_facts_table_find(f, "check", "annotations");
    const assay_metric *threshold = as_metric_find(f, "check.threshold");
    int                 n = t->n_rows < notes->n_rows ? t->n_rows : notes->n_rows;
    *out =
        (suite){.cases = t, .all = AS_TAKE(&b->arena, one, n + 1), .n = n, .threshold = threshold ? threshold->value : (double)NAN};
    b->failed |= !out->all;
    if (!out->all)
        return false;
    for (int i = 0; i < n; i++) {
        out->all[i] = (one){.name = as_words_at(t, i, "case"),
                            .reason = as_words_at(t, i, "reason"),
                            .status = status_of(as_words_at(notes, i, "status")),
                            .change = as_metric_at(t, i, "change"),
                            .cut = !strcmp(as_words_at(notes, i, "incomplete"), "yes"),
                            .row = i};
        out->counts[out->all[i].status]++;
        out->n_cut += out->all[i].cut;
    }
    qsort(out->all, (size_t)n, sizeof *out->all, loudest_first);
    return true;
}

/* --- The sentence ---------------------------------------------------------------------------------------- */

/* "12 % (10 to 14)", without a sign. */
static const char *change_say(as_brief *b, const assay_metric *change)
{
    double a = 100 * fabs(change->lo), c = 100 * fabs(change->hi), value = 100 * fabs(change->value);
    int    digits = value < 10 ? 1 : 0;
    if (!isfinite(a) || !isfinite(c))
        return as_brief_say(b, "%.*f %%", digits, value);
    return as_brief_say(b, "%.*f %% (%.*f to %.*f)", digits, value, digits, fmin(a, c), digits, fmax(a, c));
}

static const char *names_say(as_brief *b, const suite *s, status which)
{
    const char *text = "";
    int         n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->all[i].status == which && n++ < MAX_NAMES)
            text = as_brief_say(b, "%s%s%s", text, n > 1 ? ", " : "", s->all[i].name);
    return n > MAX_NAMES ? as_brief_say(b, "%s and %d more", text, n - MAX_NAMES) : text;
}

static const char *slower_say(as_brief *b, const suite *s)
{
    const one *worst = &s->all[0];
    return as_brief_say(b, "%d of %d slower: %s%s%s%s", s->counts[REGRESSION], s->n, worst->name, worst->change ? " by " : "",
                        worst->change ? change_say(b, worst->change) : "", s->counts[REGRESSION] > 1 ? " and others" : "");
}

static void headline_make(as_brief *b, const assay_facts *f, const suite *s)
{
    const assay_metric *code = as_metric_find(f, "check.exit_code");
    int                 exit_code = code ? (int)code->value : 0;
    const char         *word = exit_code == 0 ? "PASS" : exit_code == 4 ? "UNRESOLVED" : exit_code == 5 ? "INCOMPLETE" : "FAIL";
    b->level = exit_code == 0 ? (s->counts[UNSTABLE] ? AS_LEVEL_WARN : AS_LEVEL_GOOD) : AS_LEVEL_BAD;
    if (s->counts[REGRESSION])
        b->headline = as_brief_say(b, "%s: %s", word, slower_say(b, s));
    else if (s->counts[FAILED])
        b->headline = as_brief_say(b, "%s: %d of %d could not be run: %s", word, s->counts[FAILED], s->n, names_say(b, s, FAILED));
    else if (!s->n)
        b->headline = as_brief_say(b, "%s: nothing was checked", word);
    else if (s->n_cut)
        b->headline = as_brief_say(b, "%s: %d of %d stopped before the end; none proved slower than %g %%", word, s->n_cut, s->n,
                                   100 * s->threshold);
    else if (s->counts[UNSTABLE])
        b->headline = as_brief_say(b, "%s: none of %d proved slower than %g %%; %d unresolved: %s", word, s->n, 100 * s->threshold,
                                   s->counts[UNSTABLE], names_say(b, s, UNSTABLE));
    else
        b->headline = as_brief_say(b, "%s: none of %d slower than %g %%", word, s->n, 100 * s->threshold);
    if (exit_code == 0 && s->counts[REGRESSION])
        b->headline = as_brief_say(b, "%s; %s lets it pass", b->headline, code->source);
}

/* --- The rest ---------------------------------------------------------------------------------------------- */

static void case_row(as_brief *b, as_brief_table *to, const suite *s, const one *c)
{
    as_brief_row       *row = as_brief_row_add(b, to, c->name);
    const assay_metric *then = as_metric_at(s->cases, c->row, "a_time"), *now = as_metric_at(s->cases, c->row, "b_time");
    row->cells[1] = then ? as_brief_value(b, then) : "-";
    row->cells[2] = now ? as_brief_value(b, now) : "-";
    row->cells[3] = c->change ? as_brief_say(b, "%+.1f %%", 100 * c->change->value) : "-";
    row->cells[4] = c->change && isfinite(c->change->lo) && isfinite(c->change->hi)
                        ? as_brief_say(b, "%+.1f to %+.1f", 100 * c->change->lo, 100 * c->change->hi)
                        : "-";
    row->cells[5] = statuses[c->status].word;
    row->role = statuses[c->status].role;
}

static void cases_add(as_brief *b, const suite *s)
{
    static const char *const columns[] = {"Case", "baseline", "now", "change", "interval", "verdict", NULL};
    int                      most = MAX_CASES - (s->counts[FAILED] > 0) - (s->counts[UNSTABLE] > 0); /* remarks take lines, too */
    int                      shown = s->n > most + 1 ? most : s->n;
    as_brief_table          *to = as_brief_table_add(b, columns);
    to->left[5] = true;
    for (int i = 0; i < shown; i++)
        case_row(b, to, s, &s->all[i]);
    if (shown < s->n)
        to->note = as_brief_say(b, "%d more: --report detailed", s->n - shown);
}

static const one *first_of(const suite *s, status which)
{
    for (int i = 0; i < s->n; i++)
        if (s->all[i].status == which)
            return &s->all[i];
    return NULL;
}

static const char *reason_say(as_brief *b, const one *c)
{
    const char *reason = as_text_cut(&b->arena, c->reason, MAX_REASON);
    return as_brief_say(b, "%s %s: %s", c->name, c->status == FAILED ? "failed" : "is unresolved", reason);
}

/* The cases that were not decided or not run, with the reason of the first one. */
static void remarks_add(as_brief *b, const suite *s)
{
    const one *failed = first_of(s, FAILED), *open = first_of(s, UNSTABLE);
    if (failed)
        as_brief_text_add(b, reason_say(b, failed));
    if (open && (s->counts[REGRESSION] || s->counts[FAILED]))
        as_brief_text_add(b, as_brief_say(b, "Unresolved: %s.", names_say(b, s, UNSTABLE)));
    if (open && !failed)
        as_brief_text_add(b, reason_say(b, open));
}

static void next_add(as_brief *b, const suite *s)
{
    if (s->counts[REGRESSION])
        as_brief_text_add(b, "Next: repair it, or save today's program as the new baseline: assay baseline save.");
    else if (s->counts[FAILED])
        as_brief_text_add(b, "Next: run the failed command by itself: assay baseline show NAME has it.");
    else if (s->n_cut)
        as_brief_text_add(b, "Next: run it again to the end.");
    else if (s->counts[UNSTABLE])
        as_brief_text_add(b, "Next: a longer --budget, or an idle machine: assay noise says what it can tell apart.");
}

static void make(as_brief *b, const assay_facts *f)
{
    suite       s;
    const char *started = as_facts_note_find(f, "trace.started");
    b->settings = started ? started : "";
    b->dated = started != NULL;
    if (!suite_read(b, f, &s))
        return;
    headline_make(b, f, &s);
    cases_add(b, &s);
    remarks_add(b, &s);
    next_add(b, &s);
    as_brief_hint_add(b, "--report detailed", "everything");
    as_brief_hint_add(b, "--html FILE", "page");
    as_brief_hint_add(b, "--output-format junit", "CI");
}

const as_brief_kind as_br_check = {.name = "check", .order = 10, .fits = fits, .make = make};
