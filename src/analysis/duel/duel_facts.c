/* duel_facts.c - verdicts as a table and as lines, with every input of each decision. */
#include "analysis/duel/duel_facts.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "base/text.h"

/* --- The line ----------------------------------------------------------------------------------------------- */

enum { LEAST_NAME = 14, LEAST_LINE = 60 };

/* How many decimals are needed to tell the interval's ends apart; usually one. */
static int change_decimals(double share)
{
    double percent = fabs(share) * 100;
    return percent >= 100 ? 0 : percent >= 0.095 ? 1 : percent >= 0.0095 ? 2 : 1;
}

const char *as_change_text(char *buf, size_t size, double ratio)
{
    if (!isfinite(ratio))
        snprintf(buf, size, "n/a");
    else
        snprintf(buf, size, "%+.*f %%", change_decimals(ratio - 1), (ratio - 1) * 100);
    return buf;
}

static void verdict_words(char *buf, size_t size, const as_duel *d)
{
    snprintf(buf, size, "%s", as_verdict_text(d->verdict));
    for (char *c = buf; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    if (d->verdict == AS_SLOWER && d->severity != AS_SEVERITY_NONE)
        snprintf(buf + strlen(buf), size - strlen(buf), " (%s)", as_severity_text(d->severity));
}

/* Cuts the middle of a long name, which says least: "model/..es/f32".  A name that fits is unchanged. */
static void name_fit(char *buf, size_t size, const char *name, int columns)
{
    size_t n = strlen(name), room = (size_t)(columns > LEAST_NAME ? columns : LEAST_NAME);
    if (n <= room)
        return;
    size_t head = (room - 2) / 2, tail = room - 2 - head;
    while (head && ((unsigned char)name[head] & 0xc0) == 0x80) /* never inside a character */
        head--;
    while (tail && ((unsigned char)name[n - tail] & 0xc0) == 0x80)
        tail--;
    snprintf(buf, size, "%.*s..%s", (int)head, name, name + n - tail);
}

/* Parts of the line; what is "" is left out. */
typedef struct parts {
    char name[AS_LINE_BYTES / 2], times[96], change[80], verdict[40], effort[96];
} parts;

static const char *line_join(char *buf, size_t size, const parts *p, const char *gap)
{
    snprintf(buf, size, "%s%s%s%s%s%s%s%s%s", p->name, gap, p->times, gap, p->change, gap, p->verdict, *p->effort ? gap : "",
             p->effort);
    return buf;
}

/* What was judged: the time per call or per item. */
static double judged_a_ns(const as_duel *d) { return d->per_item ? d->a_ns / d->a_items : d->a_ns; }
static double judged_b_ns(const as_duel *d) { return d->per_item ? as_duel_b_ns(d) / d->b_items : as_duel_b_ns(d); }

/* A common unit is written once: "1.92 -> 2.01 ms". */
static void times_write(char *buf, size_t size, const as_duel *d, bool shared_unit)
{
    char a[40], b[40];
    as_show(a, sizeof a, judged_a_ns(d), "ns");
    as_show(b, sizeof b, judged_b_ns(d), "ns");
    char *unit_a = strchr(a, ' '), *unit_b = strchr(b, ' ');
    if (shared_unit && unit_a && unit_b && !strcmp(unit_a, unit_b))
        *unit_a = 0;
    snprintf(buf, size, "%s -> %s%s", a, b, !d->per_item ? "" : shared_unit ? "/item" : " per item");
}

static void change_write(char *buf, size_t size, const as_duel *d, bool confidence)
{
    char change[40];
    as_change_text(change, sizeof change, d->ratio);
    if (!isfinite(d->lo) || !isfinite(d->hi)) {
        snprintf(buf, size, "%s [no interval]", change);
        return;
    }
    int decimals = change_decimals(fmin(fabs(d->lo - 1), fabs(d->hi - 1)));
    snprintf(buf, size, "%s [%+.*f, %+.*f]", change, decimals, (d->lo - 1) * 100, decimals, (d->hi - 1) * 100);
    if (confidence && isfinite(d->confidence))
        snprintf(buf + strlen(buf), size - strlen(buf), " %.0f %%", floor(d->confidence * 100 + 1e-9));
}

static const char *units_write(char *buf, size_t size, const as_duel *d)
{
    const char *unit = d->unit ? d->unit : "unit";
    snprintf(buf, size, "%zu %s%s", d->n_units, unit, d->n_units == 1 ? "" : strcmp(unit, "launch") ? "s" : "es");
    return buf;
}

/* How much is said about the effort: "16 launches, 4.1 s", "n 16, 4.1 s", "4.1 s". */
typedef enum effort { EFFORT_WHOLE, EFFORT_COUNT, EFFORT_TIME } effort;

static void effort_write(char *buf, size_t size, const as_duel *d, double spent_ns, effort said)
{
    char spent[40] = "", units[40];
    if (isfinite(spent_ns) && spent_ns > 0)
        as_show(spent, sizeof spent, spent_ns, "ns");
    if (said == EFFORT_TIME)
        snprintf(buf, size, "%s", spent);
    else if (said == EFFORT_COUNT)
        snprintf(buf, size, "n %zu%s%s", d->n_units, *spent ? ", " : "", spent);
    else
        snprintf(buf, size, "%s%s%s", units_write(units, sizeof units, d), *spent ? ", " : "", spent);
}

const char *as_duel_line(char *buf, size_t size, int columns, const char *name, const as_duel *d, double spent_ns)
{
    parts p;
    char  small[AS_LINE_BYTES];
    columns = columns && columns < LEAST_LINE ? LEAST_LINE : columns;
    snprintf(p.name, sizeof p.name, "%s", name);
    verdict_words(p.verdict, sizeof p.verdict, d);
    for (int step = 0; step < 9; step++) {
        times_write(p.times, sizeof p.times, d, step >= 2);
        change_write(p.change, sizeof p.change, d, step < 4);
        effort_write(p.effort, sizeof p.effort, d, spent_ns, step < 5 ? EFFORT_WHOLE : step < 6 ? EFFORT_COUNT : EFFORT_TIME);
        if (step >= 8)
            *p.effort = 0;
        const char *gap = step < 1 ? "   " : step < 3 ? "  " : " ";
        int         over = as_text_columns(line_join(small, sizeof small, &p, gap)) - columns;
        if (columns && over > 0 && step >= 7)
            name_fit(p.name, sizeof p.name, name, as_text_columns(p.name) - over);
        if (!columns || as_text_columns(line_join(small, sizeof small, &p, gap)) <= columns)
            break;
    }
    snprintf(buf, size, "%s", small);
    return buf;
}

const char *as_duel_remedy(char *buf, size_t size, const as_duel *d, double margin, const char *option)
{
    char seen[64] = "", needed[64];
    *buf = 0;
    if (d->verdict != AS_UNRESOLVED)
        return buf;
    if (isfinite(d->interval_ns) && d->interval_ns > 0) {
        double want_s = d->interval_ns / 1e9;
        bool   short_one = want_s < 1;
        snprintf(buf, size, "no interval after %s; --%s %.0f%s should do", as_show(needed, sizeof needed, d->spent_ns, "ns"),
                 option, short_one ? ceil(want_s * 10) * 100 : ceil(want_s), short_one ? "ms" : "s");
        return buf;
    }
    if (isfinite(d->visible))
        snprintf(seen, sizeof seen, "smallest detectable change %.2g %%", 100 * d->visible);
    if (isfinite(d->needed_ns) && d->needed_ns > 0)
        snprintf(buf, size, "%s%stime to decide about %s, for a margin of %.2g %%", seen, *seen ? "; " : "",
                 as_show(needed, sizeof needed, d->needed_ns, "ns"), 100 * margin);
    else
        snprintf(buf, size, "%s%sthe time to decide is unknown", seen, *seen ? "; " : "");
    return buf;
}

const char *as_duel_luck_text(char *buf, size_t size, const as_duel *d)
{
    *buf = 0;
    if (as_duel_luck(d))
        snprintf(buf, size,
                 "launches differ in speed: the ratio varies by %.2g %% between launches and by %.2g %% within one, "
                 "perhaps because each gets other memory pages",
                 100 * d->variance.sigma_launch, 100 * d->variance.sigma_round);
    return buf;
}

/* --- Facts -------------------------------------------------------------------------------------------------- */

as_ledger as_ledger_difference(const assay_trace *t, int a, int b)
{
    const as_ledger *x = &t->arms[a].ledger, *y = &t->arms[b].ledger;
    return (as_ledger){y->flops - x->flops, y->bytes - x->bytes, y->allocations - x->allocations, y->launches - x->launches,
                       y->peak_bytes - x->peak_bytes};
}

/* "the ledger is the same", or what is counted differently; "" when nothing was counted. */
static const char *ledger_words(assay_facts *f, const assay_trace *t, int a, int b)
{
    as_ledger d = as_ledger_difference(t, a, b);
    const struct {
        double      value;
        const char *what, *unit;
    } entries[] = {{d.flops, "work", "flop"},
                   {d.bytes, "traffic", "byte"},
                   {d.allocations, "allocations", "1"},
                   {d.launches, "kernel launches", "1"},
                   {d.peak_bytes, "peak memory", "byte"}};
    const char *words = "";
    bool        known = false;
    for (size_t i = 0; i < AS_COUNT(entries); i++) {
        known |= isfinite(entries[i].value);
        if (isfinite(entries[i].value) && entries[i].value != 0)
            words = as_say(f, "%s%s%s %s%s", words, *words ? ", " : "", entries[i].what, entries[i].value > 0 ? "+" : "",
                           as_say_number(f, entries[i].value, entries[i].unit));
    }
    return *words ? words : known ? "identical" : "";
}

/* Columns of the table of comparisons, with those for the time per item, which follow the times per call. */
enum { N_BEFORE_ITEMS = 5, N_COLUMNS = 15 };

static const char *name_of(assay_facts *f, const as_duel_row *row, size_t n)
{
    const assay_trace *t = row->trial;
    const char        *arm = t->arms[row->b].name, *own = t->name;
    size_t             title = strlen(f->title ? f->title : "");
    if (row->name || n == 1)
        return row->name ? row->name : own;
    if (title && !strncmp(own, f->title, title) && (!own[title] || own[title] == ','))
        own += title + strspn(own + title, ", "); /* the page says it once, at the top */
    if (t->n_arms == 2)
        return *own ? own : t->name;
    return *own ? as_say(f, "%s: %s", own, arm) : arm;
}

/* Which test the interval inverts. */
static const char *centre_text(const as_duel *d, bool change)
{
    if (d->by && !strcmp(d->by, "size"))
        return change ? "centre of ln(b / a), Student's interval (few units, more than a factor of two apart); minus 1"
                      : "exp of the centre of ln(b / a)";
    if (d->by && !strcmp(d->by, "sign"))
        return change ? "median of ln(b / a), sign interval; minus 1" : "exp of the median of ln(b / a)";
    return change ? "Hodges-Lehmann of ln(b / a), signed-rank interval; minus 1" : "exp of Hodges-Lehmann of ln(b / a)";
}

static assay_metric change_metric(const as_duel *d)
{
    return as_number_derived(d->ratio - 1, d->lo - 1, d->hi - 1, d->n_units, "ratio", centre_text(d, true), "too few units");
}

static const char *interval_words(assay_facts *f, const as_duel *d)
{
    char words[80];
    change_write(words, sizeof words, d, true);
    const char *open = strchr(words, '[');
    return as_say(f, "%s", open ? open : "-");
}

static const char *verdict_of(assay_facts *f, const as_duel *d)
{
    return d->verdict == AS_SLOWER && d->severity != AS_SEVERITY_NONE
               ? as_say(f, "%s (%s)", as_verdict_text(d->verdict), as_severity_text(d->severity))
               : as_verdict_text(d->verdict);
}

assay_metric as_duel_b_metric(const as_duel *d, const char *source)
{
    const char *none = "nothing was measured";
    double      k = as_duel_b_ns(d) / d->ratio;
    if (!isfinite(d->ratio))
        return as_number_measured(d->b_ns, d->b_lo, d->b_hi, d->n_rounds, "ns", source, none);
    return as_number_derived(as_duel_b_ns(d), k * d->lo, k * d->hi, d->n_units, "ns", "time of a x the paired ratio", none);
}

/* The time per item, with the bounds of the time per call. */
static assay_metric item_metric(double ns, double lo, double hi, double items, size_t n)
{
    return as_number_derived(ns / items, lo / items, hi / items, n, "ns", "time per call / items per call",
                             "the number of items per call is not known");
}

/* If any row is judged per item, the table shows both times. */
static void row_add(assay_facts *f, as_table *t, const as_duel_row *row, size_t n, bool with_items)
{
    const as_duel *d = &row->duel;
    char           units[40];
    const char    *source = as_trial_clock_text(row->trial), *ledger = ledger_words(f, row->trial, row->a, row->b);
    as_cell        cells[N_COLUMNS] = {
               {.text = name_of(f, row, n)},
               {.text = row->trial->arms[row->a].name},
               {.text = row->trial->arms[row->b].name},
               {.metric = as_number_measured(d->a_ns, d->a_lo, d->a_hi, d->n_rounds, "ns", source, "nothing was measured")},
               {.metric = as_duel_b_metric(d, source)},
    };
    size_t n_cells = N_BEFORE_ITEMS;
    if (with_items) {
        cells[n_cells++] = (as_cell){.metric = item_metric(d->a_ns, d->a_lo, d->a_hi, d->a_items, d->n_rounds)};
        cells[n_cells++] = (as_cell){.metric = item_metric(as_duel_b_ns(d), NAN, NAN, d->b_items, d->n_rounds)};
    }
    const as_cell rest[] = {
        {.metric = change_metric(d)},
        {.text = interval_words(f, d)},
        {.text = verdict_of(f, d)},
        {.text = units_write(units, sizeof units, d)},
        {.metric = as_number_derived(d->visible, NAN, NAN, d->n_units, "ratio", "change found with 95 % power, from the variances",
                                     "the variances are not known")},
        {.metric = as_number_derived(d->needed_ns, NAN, NAN, d->n_units, "ns",
                                     "time spent x (interval / distance from the margin)^2, with 95 % power", "too few rounds")},
        {.metric = as_number_measured(row->trial->spent_ns, NAN, NAN, 1, "ns", "clock", "not known")},
        {.text = *ledger ? ledger : "-"},
    };
    memcpy(cells + n_cells, rest, sizeof rest);
    as_facts_row(f, t, cells);
}

/* Every input of the decision, so that it can be made again. */
static void inputs_add(assay_facts *f, as_table *t, const as_duel_row *row, size_t n)
{
    const as_duel *d = &row->duel;
    const char    *none = "too few units";
    as_facts_row(
        f, t,
        (as_cell[]){
            {.text = name_of(f, row, n)},
            {.metric = as_number_derived(d->ratio, d->lo, d->hi, d->n_units, "1", centre_text(d, false), none)},
            {.metric = as_number_derived(
                 d->confidence, NAN, NAN, d->n_units, "ratio",
                 d->by && !strcmp(d->by, "sign") ? "exact binomial distribution" : "exact signed-rank distribution", none)},
            {.metric = as_number_derived(d->p_slower, NAN, NAN, d->n_units, "1", "signed-rank, beyond the margin", none)},
            {.metric = as_number_derived(d->p_faster, NAN, NAN, d->n_units, "1", "signed-rank, beyond the margin", none)},
            {.metric = as_number_derived(d->p_flip, NAN, NAN, d->n_units, "1", "sign-flip permutations of the units", none)},
            {.metric = as_number_derived(d->ln_e_slower, NAN, NAN, d->n_units, "1", "ln of the sign e-process",
                                         "no evidence in this direction")},
            {.metric = as_number_derived(d->ln_e_faster, NAN, NAN, d->n_units, "1", "ln of the sign e-process",
                                         "no evidence in this direction")},
            {.metric = as_number_derived(d->ln_e_same, NAN, NAN, d->n_units, "1", "ln of the smaller of two sign e-processes",
                                         "no evidence in this direction")},
            {.metric = as_number_derived(d->variance.sigma_launch, NAN, NAN, d->variance.n_launches, "ratio",
                                         "1.4826 MAD between launches, less the rounds' share", "one launch only")},
            {.metric = as_number_derived(d->variance.sigma_round, NAN, NAN, d->n_rounds, "ratio",
                                         "1.4826 MAD between the rounds of a launch", "too few rounds")},
            {.metric = as_metric_counted(d->n_launches, "1", "trial")},
            {.metric = as_metric_counted(d->n_rounds, "1", "trial")},
            {.metric =
                 as_number_derived(row->rules ? row->rules->margin : (double)NAN, NAN, NAN, 1, "ratio", "option", "not given")},
            {.metric = as_number_derived(row->rules ? row->rules->alpha : (double)NAN, NAN, NAN, 1, "1", "option", "not given")},
            {.text = as_say(f, "%" PRIu64, row->trial->seed)},
            {.text = d->early ? "yes" : "no"},
            {.text = d->per_item ? "item" : "call"},
            {.metric = as_number_counted(d->a_items, "1", "batch", "the number of items per call is not known")},
            {.metric = as_number_counted(d->b_items, "1", "batch", "the number of items per call is not known")},
            {.metric = as_number_measured(d->a_ns, d->a_lo, d->a_hi, d->n_rounds, "ns", "median of the blocks of a alone", none)},
            {.metric = as_number_measured(d->b_ns, d->b_lo, d->b_hi, d->n_rounds, "ns", "median of the blocks of b alone", none)},
        });
}

/* The logarithm of b over a, round by round; as a share, so that 0 is "the same". */
static void differences_add(assay_facts *f, as_fact_group *g, const as_duel_row *row, int i_case)
{
    const assay_trace *t = row->trial;
    double             items = row->duel.per_item ? row->duel.b_items / row->duel.a_items : 1;
    double            *x = AS_TAKE(&f->arena, double, t->n_turns), *y = AS_TAKE(&f->arena, double, t->n_turns);
    size_t             n = 0;
    for (size_t i = 0; x && y && i < t->n_turns; i++) {
        double a = NAN, b = NAN;
        size_t end = i;
        for (; end < t->n_turns && t->turns[end].launch == t->turns[i].launch && t->turns[end].round == t->turns[i].round; end++) {
            a = t->turns[end].arm == (uint32_t)row->a ? as_turn_ns(t, &t->turns[end]) : a;
            b = t->turns[end].arm == (uint32_t)row->b ? as_turn_ns(t, &t->turns[end]) : b;
        }
        if (a > 0 && b > 0 && isfinite(b / a))
            x[n] = t->turns[i].start_ns * 1e-9, y[n++] = b / a / items - 1;
        i = end - 1;
    }
    size_t step = (n + AS_SERIES_MAX - 1) / AS_SERIES_MAX, kept = 0;
    for (size_t i = 0; n && i < n; i += step, kept++)
        x[kept] = x[i], y[kept] = y[i];
    if (kept)
        as_facts_series(f, g,
                        &(as_series){.key = as_say(f, "%d.differences", i_case),
                                     .label = step > 1 ? as_say(f, "rounds (every %zuth)", step) : "rounds",
                                     .x_unit = "s",
                                     .y_unit = "ratio",
                                     .kind = ASSAY_DERIVED,
                                     .source = row->duel.per_item ? "time per item of b / of a - 1, per round"
                                                                  : "time of b / time of a - 1, per round",
                                     .x = x,
                                     .y = y,
                                     .n = kept});
}

/* What a verdict per item leaves out: "judged per item: calls of 1 and of 8 items take 4.00 us and 9.90 us (250 k/s and 808 k/s)". */
static const char *call_words(assay_facts *f, const as_duel *d)
{
    return as_say(f, "judged per item: calls of %.9g and %.9g items take %s and %s (%s and %s)", d->a_items, d->b_items,
                  as_say_number(f, d->a_ns, "ns"), as_say_number(f, as_duel_b_ns(d), "ns"),
                  as_say_number(f, 1e9 * d->a_items / d->a_ns, "1/s"), as_say_number(f, 1e9 * d->b_items / as_duel_b_ns(d), "1/s"));
}

/* Disturbances belong to the trial: they are reported once, below its last comparison. */
void as_duel_findings(assay_facts *f, as_fact_group *g, const char *name, const as_duel_row *row, bool last_of_trial)
{
    static const as_level levels[] = {
        [AS_UNRESOLVED] = AS_LEVEL_WARN, [AS_SLOWER] = AS_LEVEL_BAD, [AS_FASTER] = AS_LEVEL_GOOD, [AS_SAME] = AS_LEVEL_GOOD};
    const as_duel *d = &row->duel;
    char           line[AS_LINE_BYTES], remedy[200], luck[240];
    as_facts_find(f, g, levels[d->verdict], "%s", as_duel_line(line, sizeof line, 80, name, d, row->trial->spent_ns));
    if (d->per_item)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s", call_words(f, d));
    if (row->trial->state != AS_TRACE_COMPLETE)
        as_facts_find(f, g, AS_LEVEL_WARN, "%s is %s: %s.", name, as_trace_state_text(row->trial->state),
                      row->trial->reason ? row->trial->reason : "");
    for (int i = 0; last_of_trial && i < d->n_reasons && i < 3; i++)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s", d->reasons[i]);
    if (d->verdict == AS_UNRESOLVED && *as_duel_luck_text(luck, sizeof luck, d))
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s", luck);
    if (*as_duel_remedy(remedy, sizeof remedy, d, row->rules ? row->rules->margin : (double)NAN,
                        row->option ? row->option : "budget"))
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s", remedy);
    if (d->verdict == AS_SLOWER && !strcmp(ledger_words(f, row->trial, row->a, row->b), "identical"))
        as_facts_find(f, g, AS_LEVEL_NOTE, "both did the same work, one slower: look at the generated code or at the environment");
}

/* Programs report what they computed by a hash: a different hash means different work.  Plans were compared with the reference
 * code instead, and may round differently. */
static void hashes_compare(assay_facts *f, as_fact_group *g, const as_duel_row *row)
{
    const as_trace_arm *a = &row->trial->arms[row->a], *b = &row->trial->arms[row->b];
    if (row->trial->memory == AS_MEMORY_RELAUNCHED && a->hash && b->hash && a->hash != b->hash)
        as_facts_find(f, g, AS_LEVEL_WARN, "%s: the outputs of %s and %s have different hashes: they may not do the same work.",
                      row->trial->name, a->name, b->name);
}

/* Where a device ran only a part, its times include those of the other device. */
static void parts_say(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    for (int i = 0; i < t->n_arms; i++)
        if (t->arms[i].elsewhere && *t->arms[i].elsewhere)
            as_facts_find(f, g, AS_LEVEL_WARN, "%s ran only in part: %s.", t->arms[i].name, t->arms[i].elsewhere);
}

static as_table *table_of(assay_facts *f, as_fact_group *g, bool with_items)
{
    static const char *const by_call[] = {"case|case",
                                          "a|a",
                                          "b|b",
                                          "a_time|time of a",
                                          "b_time|time of b",
                                          "change|change",
                                          "interval|interval, %",
                                          "verdict|verdict",
                                          "units|units",
                                          "visible|smallest detectable change",
                                          "needed|time to decide",
                                          "spent|took",
                                          "ledger|resources, b - a",
                                          NULL};
    const char              *columns[N_COLUMNS + 1] = {NULL};
    memcpy(columns, by_call, sizeof by_call);
    if (with_items) {
        columns[N_BEFORE_ITEMS] = "a_item|time per item of a";
        columns[N_BEFORE_ITEMS + 1] = "b_item|time per item of b";
        memcpy(columns + N_BEFORE_ITEMS + 2, by_call + N_BEFORE_ITEMS, sizeof by_call - N_BEFORE_ITEMS * sizeof *by_call);
    }
    return as_facts_table(f, g, "duels", "Comparisons", columns);
}

void as_duels_add(assay_facts *f, const as_duel_row *rows, size_t n)
{
    static const char *const inputs[] = {"case|case",
                                         "ratio|b / a",
                                         "confidence|confidence",
                                         "p_slower|p slower",
                                         "p_faster|p faster",
                                         "p_flip|p flip",
                                         "ln_e_slower|ln e slower",
                                         "ln_e_faster|ln e faster",
                                         "ln_e_same|ln e same",
                                         "sigma_launch|sd between launches",
                                         "sigma_round|sd between rounds",
                                         "launches|launches",
                                         "rounds|rounds",
                                         "margin|margin",
                                         "alpha|alpha",
                                         "seed|seed",
                                         "early|early",
                                         "per|judged per",
                                         "a_items|items of a",
                                         "b_items|items of b",
                                         "a_median|own median of a",
                                         "b_median|own median of b",
                                         NULL};
    as_fact_group           *g = as_facts_group(f, "compare", "Compare");
    bool                     with_items = false;
    for (size_t i = 0; i < n; i++)
        with_items |= rows[i].duel.per_item;
    as_table *t = table_of(f, g, with_items);
    size_t    counts[AS_N_VERDICTS] = {0};
    for (size_t i = 0; i < n; i++) {
        row_add(f, t, &rows[i], n, with_items);
        as_duel_findings(f, g, name_of(f, &rows[i], n), &rows[i], i + 1 == n || rows[i + 1].trial != rows[i].trial);
        hashes_compare(f, g, &rows[i]);
        if (i == 0 || rows[i].trial != rows[i - 1].trial)
            parts_say(f, g, rows[i].trial);
        counts[rows[i].duel.verdict]++;
    }
    t = as_facts_table(f, g, "inputs", "Inputs of the verdicts", inputs);
    for (size_t i = 0; i < n; i++)
        inputs_add(f, t, &rows[i], n);
    for (int v = 0; v < AS_N_VERDICTS; v++)
        as_facts_add(f, g, as_say(f, "compare.%s", as_verdict_text((as_verdict)v)), as_verdict_text((as_verdict)v),
                     as_metric_counted(counts[v], "1", "verdicts"));
    for (size_t i = 0; i < n; i++) {
        differences_add(f, g, &rows[i], (int)i);
        if (i == 0 || rows[i].trial != rows[i - 1].trial) /* its blocks once, however many of its candidates are compared */
            as_trial_series(f, g, rows[i].trial, (int)i);
    }
}

assay_facts *as_facts_of_duels(assay_env *env, const as_duel_row *rows, size_t n, const char *title)
{
    assay_facts *f = as_facts_new(env);
    if (!f)
        return NULL;
    f->title = as_facts_keep(f, title ? title : "compare");
    if (n)
        as_trial_notes(f, rows[0].trial);
    as_duels_add(f, rows, n);
    as_candidates_add(f, rows, n);
    as_layer_diffs_add(f, rows, n);
    return f;
}
