/* br_compare.c - the first screen of a comparison: which candidate is faster and by how much, which layers made the difference,
 * whether to trust it.  For a sweep (br_sweep.c), only the layers and the checks are made here. */
#include "report/brief/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/pick.h"

enum { MAX_CANDIDATES = 7, MAX_LAYERS = 5, SHORT = 12 };
#define PERCENT_BELOW 1.05 /* smaller factors are shown in percent */
#define MATTERS       0.02 /* of the difference: layers below this share are summed up in one row */

static bool fits(const assay_facts *f)
{
    return as_facts_table_find(f, "compare", "candidates") && !as_facts_group_find(f, "check");
}

/* --- Words ---------------------------------------------------------------------------------------------------- */

as_brief_ratio as_brief_ratio_at(const as_table *t, int row, const char *key)
{
    const as_cell *c = as_cell_at(t, row, as_column_find(t, key));
    bool           has = c && !c->text && as_metric_has(&c->metric);
    return has ? (as_brief_ratio){c->metric.value, c->metric.lo, c->metric.hi}
               : (as_brief_ratio){(double)NAN, (double)NAN, (double)NAN};
}

/* How much longer the slower candidate takes, whichever it is. */
static as_brief_ratio factor_of(as_brief_ratio r) { return r.value < 1 ? (as_brief_ratio){1 / r.value, 1 / r.hi, 1 / r.lo} : r; }

static const char *factor_bounds(as_brief *b, as_brief_ratio f)
{
    if (!isfinite(f.lo) || !isfinite(f.hi) || f.lo == f.hi)
        return "";
    int decimals = f.hi - f.lo < .02 ? 3 : 2;
    return as_brief_say(b, " (%.*f to %.*f)", decimals, f.lo, decimals, f.hi);
}

/* A share of time with enough digits to tell its ends apart. */
static const char *share_bounds(as_brief *b, double lo, double hi)
{
    int decimals = 100 * (hi - lo) < .2 ? 2 : 1;
    return isfinite(lo) && isfinite(hi) && lo != hi ? as_brief_say(b, " (%.*f to %.*f)", decimals, 100 * lo, decimals, 100 * hi)
                                                    : "";
}

const char *as_brief_faster(as_brief *b, as_brief_ratio r, const char *than, bool per_item)
{
    as_brief_ratio f = factor_of(r);
    const char    *item = per_item ? " per item" : "";
    if (f.value >= PERCENT_BELOW)
        return as_brief_say(b, "is %.*fx %s than %s%s%s",
                            f.value < 10    ? 2
                            : f.value < 100 ? 1
                                            : 0,
                            f.value, r.value < 1 ? "faster" : "slower", than, item, factor_bounds(b, f));
    if (r.value < 1)
        return as_brief_say(b, "takes %.1f %% less time%s than %s%s", 100 * (1 - r.value), item, than,
                            share_bounds(b, 1 - r.hi, 1 - r.lo));
    return as_brief_say(b, "takes %.1f %% more time%s than %s%s", 100 * (r.value - 1), item, than,
                        share_bounds(b, r.lo - 1, r.hi - 1));
}

/* --budget takes what is printed here: two digits, rounded up. */
static const char *budget_words(as_brief *b, double ns, const char *gap)
{
    double s = ns / 1e9, unit = pow(10, floor(log10(s)) - 1), up = ceil(s / unit - 1e-9) * unit;
    return up < 1 ? as_brief_say(b, "%.0f%sms", up * 1000, gap) : as_brief_say(b, up < 10 ? "%.1f%ss" : "%.0f%ss", up, gap);
}

const char *as_brief_unresolved(as_brief *b, const as_table *t, int row)
{
    double      visible = as_value_at(t, row, "visible"), needed = as_value_at(t, row, "needed");
    const char *seen =
        isfinite(visible) ? as_brief_say(b, "smallest detectable change %s", as_brief_percent(b, visible)) : "too few rounds";
    if (needed > 0 && isfinite(needed))
        return as_brief_say(b, "%s; time to decide: about %s (--budget %s)", seen, budget_words(b, needed, " "),
                            budget_words(b, needed, ""));
    return as_brief_say(b, "%s; give it more time with --budget", seen);
}

double as_brief_margin(const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "compare", "inputs");
    return t && t->n_rows ? as_value_at(t, 0, "margin") : (double)NAN;
}

bool as_brief_per_item(const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "compare", "duels");
    return t && as_column_find(t, "a_item") >= 0;
}

/* --- The headline --------------------------------------------------------------------------------------------- */

/* Rows of the table of candidates: the others are compared with the first. */
static void two_say(as_brief *b, const as_table *t, const assay_facts *f)
{
    const char *first = as_words_at(t, 0, "name"), *second = as_words_at(t, 1, "name"), *verdict = as_words_at(t, 1, "verdict");
    if (!strcmp(verdict, "faster") || !strcmp(verdict, "slower")) {
        b->level = !strcmp(verdict, "faster") ? AS_LEVEL_GOOD : AS_LEVEL_BAD;
        b->headline =
            as_brief_say(b, "%s %s", second, as_brief_faster(b, as_brief_ratio_at(t, 1, "ratio"), first, as_brief_per_item(f)));
    } else if (!strcmp(verdict, "same")) {
        b->level = AS_LEVEL_GOOD;
        b->headline = as_brief_say(b, "%s and %s are the same within %s", first, second, as_brief_percent(b, as_brief_margin(f)));
    } else {
        b->level = AS_LEVEL_WARN;
        b->headline = as_brief_say(b, "Cannot tell yet: %s", as_brief_unresolved(b, t, 1));
    }
}

/* The least ratio; the first candidate's is 1. */
static int fastest_of(const as_table *t)
{
    int    best = 0;
    double least = 1;
    for (int i = 1; i < t->n_rows; i++)
        if (as_value_at(t, i, "ratio") < least)
            least = as_value_at(t, i, "ratio"), best = i;
    return best;
}

static int slowest_of(const as_table *t)
{
    int worst = 1;
    for (int i = 2; i < t->n_rows; i++)
        if (as_value_at(t, i, "ratio") > as_value_at(t, worst, "ratio"))
            worst = i;
    return worst;
}

/* "won" where the fastest is certain; several candidates make a sweep with one row, which says so. */
static const char *how_won(const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "sweep", "ranges");
    return t && t->n_rows ? as_words_at(t, 0, "how") : "";
}

static void many_say(as_brief *b, const as_table *t, const assay_facts *f)
{
    int         best = fastest_of(t), other = best ? 0 : slowest_of(t);
    const char *name = as_words_at(t, best, "name"), *verdict = as_words_at(t, best ? best : other, "verdict"), *how = how_won(f);
    if (!strcmp(verdict, "same") || !strcmp(how, "same")) {
        b->level = AS_LEVEL_GOOD;
        b->headline = as_brief_say(b, "Nothing is faster than the others by more than %s", as_brief_percent(b, as_brief_margin(f)));
    } else if (!strcmp(verdict, "unresolved")) {
        b->level = AS_LEVEL_WARN;
        b->headline = as_brief_say(b, "Cannot tell yet: %s", as_brief_unresolved(b, t, best ? best : other));
    } else {
        as_brief_ratio r = as_brief_ratio_at(t, best ? best : other, "ratio");
        as_brief_ratio shown = best ? r : (as_brief_ratio){1 / r.value, 1 / r.hi, 1 / r.lo};
        bool           certain = !strcmp(how, "won") || !*how;
        const char    *words = as_brief_faster(b, shown, as_words_at(t, other, "name"), as_brief_per_item(f));
        bool           is = !strncmp(words, "is ", 3);
        b->level = certain ? AS_LEVEL_GOOD : AS_LEVEL_NOTE;
        if (certain)
            b->headline = as_brief_say(b, "%s is the fastest: %s%s", name, is ? "" : "it ", words + (is ? 3 : 0));
        else
            b->headline = as_brief_say(b, "%s %s, but it may not be the fastest of all", name, words);
    }
}

/* --- Candidates ----------------------------------------------------------------------------------------------- */

static as_chart_role role_of(const char *verdict)
{
    return !strcmp(verdict, "faster")       ? AS_CHART_GOOD
           : !strcmp(verdict, "slower")     ? AS_CHART_BAD
           : !strcmp(verdict, "unresolved") ? AS_CHART_WARN
                                            : AS_CHART_MAIN;
}

/* "1.20x faster"; "same"; "cannot tell". */
static const char *verdict_cell(as_brief *b, const as_table *t, int row)
{
    const char    *verdict = as_words_at(t, row, "verdict");
    as_brief_ratio r = as_brief_ratio_at(t, row, "ratio"), f = factor_of(r);
    if (!strcmp(verdict, "unresolved"))
        return "cannot tell";
    if (!strcmp(verdict, "faster") || !strcmp(verdict, "slower"))
        return f.value >= PERCENT_BELOW ? as_brief_say(b, "%.2fx %s", f.value, verdict)
                                        : as_brief_say(b, "%.1f %% %s", 100 * fabs(r.value - 1), verdict);
    return verdict;
}

static const assay_metric *metric_at(const as_table *t, int row, const char *key)
{
    const as_cell *c = as_cell_at(t, row, as_column_find(t, key));
    return c && !c->text && as_metric_has(&c->metric) ? &c->metric : NULL;
}

/* "": none, or only rounding noise. */
static const char *interval_of(as_brief *b, const assay_metric *m)
{
    return m && m->hi - m->lo > 1e-6 * fabs(m->value) ? as_brief_interval(b, m) : "";
}

static void candidates_add(as_brief *b, const as_table *t, bool per_item)
{
    const char *time = per_item ? "item" : "time", *columns[6] = {"Candidate", per_item ? "per item" : "time"};
    int         n = t->n_rows, shown = n > MAX_CANDIDATES + 1 ? MAX_CANDIDATES : n, n_columns = 2;
    int         best = fastest_of(t);
    bool        intervals = false, memory = false;
    for (int i = 0; i < shown; i++) {
        intervals |= *interval_of(b, metric_at(t, i, time)) != 0;
        memory |= metric_at(t, i, "memory") != NULL;
    }
    if (intervals)
        columns[n_columns++] = "interval";
    if (memory)
        columns[n_columns++] = "memory";
    columns[n_columns++] = "verdict";
    as_brief_table *table = as_brief_table_add(b, columns);
    if (!table)
        return;
    table->left[n_columns - 1] = true;
    for (int k = 0; k < shown; k++) {
        int           i = k + 1 == shown && best > k ? best : k; /* the fastest is always shown */
        as_brief_row *row = as_brief_row_add(b, table, as_words_at(t, i, "name"));
        int           c = 1;
        row->cells[c++] = as_brief_value(b, metric_at(t, i, time));
        if (intervals)
            row->cells[c++] = interval_of(b, metric_at(t, i, time));
        if (memory)
            row->cells[c++] = as_brief_value(b, metric_at(t, i, "memory"));
        row->cells[c] = i ? verdict_cell(b, t, i) : "";
        row->role = i ? role_of(as_words_at(t, i, "verdict")) : AS_CHART_MAIN;
    }
    if (shown < n)
        as_brief_row_add(b, table, as_brief_say(b, "%d others", n - shown))->role = AS_CHART_MUTED;
}

/* --- Layers --------------------------------------------------------------------------------------------------- */

static const char *signed_time(as_brief *b, double ns)
{
    char buf[64];
    return as_brief_say(b, "%s%s", ns > 0 ? "+" : "", as_show(buf, sizeof buf, ns, "ns"));
}

static const char *time_or(as_brief *b, const as_table *t, int row, const char *key)
{
    double value = as_value_at(t, row, key);
    char   buf[64];
    return isfinite(value) ? as_brief_say(b, "%s", as_show(buf, sizeof buf, value, "ns")) : "-";
}

static void layer_add(as_brief *b, as_brief_table *table, const as_table *t, int i, double greatest)
{
    const char   *in = as_words_at(t, i, "in");
    double        difference = as_value_at(t, i, "difference"), share = as_value_at(t, i, "share");
    as_brief_row *row = as_brief_row_add(b, table, as_words_at(t, i, "name"));
    row->cells[1] = time_or(b, t, i, "a_time");
    row->cells[2] = time_or(b, t, i, "b_time");
    row->cells[3] = signed_time(b, difference);
    row->cells[4] = isfinite(share) ? as_brief_percent(b, share) : "-";
    row->bar = greatest > 0 ? fabs(difference) / greatest : 0;
    row->role = !strcmp(in, "outside") ? AS_CHART_MUTED : difference < 0 ? AS_CHART_GOOD : AS_CHART_BAD;
}

/* One row for all small layers, so that the rows of the table still add up to the difference. */
static void rest_add(as_brief *b, as_brief_table *table, int n, double a, double c, double whole)
{
    char          x[64], y[64];
    as_brief_row *row = as_brief_row_add(b, table, as_brief_say(b, n == 1 ? "%d other" : "%d others", n));
    row->cells[1] = as_brief_say(b, "%s", as_show(x, sizeof x, a, "ns"));
    row->cells[2] = as_brief_say(b, "%s", as_show(y, sizeof y, c, "ns"));
    row->cells[3] = signed_time(b, c - a);
    row->cells[4] = whole != 0 ? as_brief_percent(b, (c - a) / whole) : "-";
    row->role = AS_CHART_MUTED;
}

/* Short names of candidates are used as column headings. */
static bool is_short(const char *a, const char *b) { return as_text_columns(a) <= SHORT && as_text_columns(b) <= SHORT; }

void as_brief_diff_add(as_brief *b, const as_table *t, const char *caption, int max)
{
    const char     *x = t->columns[1].label, *y = t->columns[2].label;
    bool            named = is_short(x, y);
    const char     *columns[] = {caption, named ? x : "before", named ? y : "after", "change", "share", NULL};
    as_brief_table *table = as_brief_table_add(b, columns);
    int             n = t->n_rows - 1, shown = 0, n_rest = 0; /* the last is the whole run */
    double          greatest = 0, a = 0, c = 0, whole = as_value_at(t, t->n_rows - 1, "difference");
    if (!table)
        return;
    table->bars = true;
    for (int i = 0; i < n; i++)
        greatest = fmax(greatest, fabs(as_value_at(t, i, "difference")));
    for (int i = 0; i < n; i++) {
        bool outside = !strcmp(as_words_at(t, i, "in"), "outside");
        if (!outside && shown < max && fabs(as_value_at(t, i, "share")) >= MATTERS) {
            layer_add(b, table, t, i, greatest);
            shown++;
            continue;
        }
        n_rest += !outside;
        a += fmax(as_value_at(t, i, "a_time"), 0);
        c += fmax(as_value_at(t, i, "b_time"), 0);
    }
    if (n_rest && (a > 0 || c > 0))
        rest_add(b, table, n_rest, a, c, whole);
    else if (n && !n_rest)
        layer_add(b, table, t, n - 1, greatest);
}

/* The row of the table "duels" that is decided and differs most; -1: none is decided. */
static int pair_of(const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "compare", "duels"), *inputs = as_facts_table_find(f, "compare", "inputs");
    int             best = -1;
    double          most = 0;
    for (int i = 0; t && inputs && i < t->n_rows && i < inputs->n_rows; i++) {
        const char *verdict = as_words_at(t, i, "verdict");
        double      size = fabs(log(as_value_at(inputs, i, "ratio")));
        if ((!strncmp(verdict, "faster", 6) || !strncmp(verdict, "slower", 6)) && size > most && as_brief_diff_of(f, i))
            most = size, best = i;
    }
    return best;
}

const as_table *as_brief_diff_of(const assay_facts *f, int duel)
{
    char key[32];
    snprintf(key, sizeof key, duel ? "diff%d" : "diff", duel + 1);
    const as_table *t = as_facts_table_find(f, "layers", key);
    return t && t->n_rows > 1 && t->n_columns >= 6 ? t : NULL;
}

void as_brief_layers_add(as_brief *b, const assay_facts *f, int duel, int max)
{
    int             pair = duel >= 0 && as_brief_diff_of(f, duel) ? duel : pair_of(f);
    const as_table *duels = as_facts_table_find(f, "compare", "duels"), *t = pair < 0 ? NULL : as_brief_diff_of(f, pair);
    if (!t)
        return;
    as_brief_diff_add(
        b, t, duels->n_rows > 1 ? as_brief_say(b, "By layer, %s", as_words_at(duels, pair, "case")) : "What made the difference",
        max);
}

/* --- Rates ------------------------------------------------------------------------------------------------------ */

bool as_brief_rates_add(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "compare", "rates");
    const char     *metric = as_facts_note_find(f, "compare.metric");
    if (!t || !metric || as_column_find(t, metric) < 0)
        return false;
    bool            many = t->n_rows > 1 && strcmp(as_words_at(t, 0, "case"), as_words_at(t, t->n_rows - 1, "case"));
    int             shown = t->n_rows > MAX_CANDIDATES + 1 ? MAX_CANDIDATES : t->n_rows;
    const char     *columns[] = {"Per second", t->columns[as_column_find(t, metric)].label, "of limit", "limited by", NULL};
    as_brief_table *table = as_brief_table_add(b, columns);
    if (!table)
        return false;
    table->left[3] = true;
    for (int i = 0; i < shown; i++) {
        const char   *name = as_words_at(t, i, "name");
        as_brief_row *row = as_brief_row_add(b, table, many ? as_brief_say(b, "%s, %s", as_words_at(t, i, "case"), name) : name);
        const assay_metric *share = metric_at(t, i, "of_limit"), *rate = metric_at(t, i, metric);
        row->cells[1] = rate ? as_brief_value(b, rate) : "-";
        row->cells[2] = share ? as_brief_percent(b, share->value) : "-";
        row->cells[3] = as_words_at(t, i, "bound");
    }
    if (shown < t->n_rows)
        as_brief_row_add(b, table, as_brief_say(b, "%d others", t->n_rows - shown))->role = AS_CHART_MUTED;
    return true;
}

/* --- Trust, and the whole --------------------------------------------------------------------------------------- */

void as_brief_compare_end(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "compare", "checks");
    for (int i = 0; t && i < t->n_rows; i++)
        as_brief_check_add(b, as_level_of(as_words_at(t, i, "level")), as_words_at(t, i, "words"));
    as_brief_trust_make(b);
    as_brief_hint_add(b, "--report detailed", "everything");
    as_brief_hint_add(b, "--html FILE", "page");
    as_brief_hint_add(b, "--json FILE", "every number");
}

void as_brief_compare_title(as_brief *b, const assay_facts *f)
{
    const char *name = as_facts_note_find(f, AS_NOTE_NAME), *settings = as_facts_note_find(f, AS_NOTE_SETTINGS);
    b->title = name && *name ? name : b->title;
    b->settings = settings ? settings : "";
}

/* The row in the table "duels" of the comparison that the headline describes, with many candidates; -1: none. */
static int told_pair(const as_table *t)
{
    int         best = t->n_rows > 2 ? fastest_of(t) : 0, other = best ? best : t->n_rows > 2 ? slowest_of(t) : 0;
    const char *verdict = as_words_at(t, other, "verdict");
    return other && (!strcmp(verdict, "faster") || !strcmp(verdict, "slower")) ? other - 1 : -1;
}

static void make(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "compare", "candidates");
    as_brief_compare_title(b, f);
    if (t->n_rows == 2)
        two_say(b, t, f);
    else if (t->n_rows > 2)
        many_say(b, t, f);
    candidates_add(b, t, as_brief_per_item(f));
    if (!as_brief_rates_add(b, f))
        as_brief_layers_add(b, f, told_pair(t), t->n_rows > 5 ? 3 : MAX_LAYERS);
    as_brief_compare_end(b, f);
}

const as_brief_kind as_br_compare = {.name = "compare", .order = 40, .fits = fits, .make = make};
