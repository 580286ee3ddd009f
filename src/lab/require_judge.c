/* require_judge.c - a requirement profile against facts: pass, fail, impossible or unavailable, row by row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace/profile_keys.h"
#include "base/metric.h"
#include "base/text.h"
#include "lab/require.h"
#include "sensor/sensor.h"

#define MIB 0x1p20

const char *as_row_verdict_text(as_verdict_of_row v)
{
    static const char *const texts[AS_N_ROW_VERDICTS] = {"not judged", "pass", "fail", "impossible", "unavailable"};
    return texts[v < AS_N_ROW_VERDICTS ? v : 0];
}

/* --- Where a number comes from -------------------------------------------------------------------------------------- */

static bool is_profile(const assay_facts *f) { return as_facts_metric(f, "latency.median") != NULL; }

/* The best limit of any device whose name begins so: "fma.f32", in the unit of the guides. */
static assay_metric best_limit(const assay_facts *f, const char *what, const char *where, double scale, const char *unit)
{
    assay_metric best = as_metric_unavailable(unit, "no such limit is known: assay devices --measure measures it");
    for (int i = 0; i < f->n_groups; i++)
        for (int k = 0; k < f->groups[i].n_facts; k++) {
            const as_fact *fact = &f->groups[i].facts[k];
            const char    *key = fact->key;
            if ((strncmp(key, "limits.", 7) && strncmp(key, "roofs.", 6)) || !strstr(key, what) || (where && !strstr(key, where)) ||
                !as_metric_has(&fact->metric))
                continue;
            double value = fact->metric.value * scale;
            if (!as_metric_has(&best) || value > best.value)
                best = as_metric_measured(value, (double)NAN, (double)NAN, fact->metric.n, unit, fact->key);
        }
    return best;
}

static assay_metric machine_memory(void)
{
    as_machine m;
    as_machine_read(&m);
    return m.memory_bytes.known ? as_metric_measured((double)m.memory_bytes.value / MIB, (double)NAN, (double)NAN, 1, "MiB",
                                                     "memory of this machine")
                                : as_metric_unavailable("MiB", "the system does not tell its memory");
}

/* Of a machine alone, without a network. */
static assay_metric of_machine(const assay_facts *f, const char *key, const char *unit)
{
    if (!strcmp(key, "tflops"))
        return best_limit(f, "fma.f32", NULL, 1e-12, "TFLOP/s");
    if (!strcmp(key, "bandwidth") || !strcmp(key, "memory_bandwidth"))
        return best_limit(f, "dram", NULL, 1e-9, "GB/s");
    if (!strcmp(key, "memory"))
        return machine_memory();
    return as_metric_unavailable(unit, "only a network has it: assay profile MODEL --require");
}

static assay_metric of_profile(const assay_facts *f, const char *key, const char *unit)
{
    static const char *const sections[] = {"compute", "memory", "hardware", "stream"};
    const assay_metric      *m = as_facts_metric(f, key);
    if (!strcmp(key, "memory"))
        key = "peak_memory";
    for (size_t i = 0; !m && i < AS_COUNT(sections); i++) {
        char full[160];
        snprintf(full, sizeof full, AS_PROFILE_PREFIX "%s.%.100s", sections[i], key);
        m = as_facts_metric(f, full);
    }
    return m ? *m : as_metric_unavailable(unit, "the result has no such key");
}

static assay_metric limit_of(const assay_facts *f, as_require_of of)
{
    switch (of) {
    case AS_OF_COMPUTE_LIMIT: return best_limit(f, "fma.f32", NULL, 1e-12, "TFLOP/s");
    case AS_OF_MEMORY_LIMIT: return best_limit(f, "dram", NULL, 1e-9, "GB/s");
    default: return machine_memory();
    }
}

/* --- One row ---------------------------------------------------------------------------------------------------------- */

static as_verdict_of_row give(as_requirement *row, as_verdict_of_row v, const char *why)
{
    snprintf(row->why, sizeof row->why, "%s", why);
    return v;
}

/* What is asked for, in the unit of the row; NaN: it is a fraction of something that is not known, and why says so. */
static double required_of(const as_requirement *row, const assay_facts *f, const char **why)
{
    if (!row->of)
        return row->value;
    assay_metric whole = limit_of(f, row->of);
    *why = as_metric_has(&whole) ? "the fraction is of another unit than the row" : whole.reason;
    return as_metric_has(&whole) && !strcmp(whole.unit, row->unit) ? row->fraction * whole.value : (double)NAN;
}

static as_verdict_of_row not_reached(as_requirement *row, const char *machine)
{
    char why[256];
    if (row->is_floor && row->required > row->most) {
        snprintf(why, sizeof why, "%s can do at most %g %s (%s)", machine, row->most, row->unit, row->most_text);
        return give(row, AS_ROW_IMPOSSIBLE, why);
    }
    snprintf(why, sizeof why, "%.1f %% of what is asked for", 100 * row->found / row->required);
    if (row->is_floor && row->required > row->least_most) /* its smallest form */
        snprintf(why, sizeof why, "%.1f %% of what is asked for, which the smallest %s cannot reach (%g %s)",
                 100 * row->found / row->required, machine, row->least_most, row->unit);
    return give(row, AS_ROW_FAIL, why);
}

static as_verdict_of_row judge(as_requirement *row, const assay_facts *f, const char *machine)
{
    bool         of_a_machine = !is_profile(f);
    const char  *why = "";
    assay_metric m = of_a_machine ? of_machine(f, row->key, row->unit) : of_profile(f, row->key, row->unit);
    char         text[256];
    row->found = as_metric_has(&m) ? m.value : (double)NAN;
    row->required = (double)NAN;
    if (of_a_machine && row->of)
        return give(row, AS_ROW_UNAVAILABLE, "a fraction of this machine's own limits: assay profile MODEL --require judges it");
    row->required = required_of(row, f, &why);
    if (!as_metric_has(&m))
        return give(row, AS_ROW_UNAVAILABLE, m.reason);
    if (isnan(row->required))
        return give(row, AS_ROW_UNAVAILABLE, why);
    if (strcmp(m.unit, row->unit)) {
        snprintf(text, sizeof text, "the profile asks for %s, and this is in %s", row->unit, m.unit);
        return give(row, AS_ROW_UNAVAILABLE, text);
    }
    if (of_a_machine && !row->is_floor) /* a budget of memory: the machine must have so much to give */
        return row->found >= row->required ? give(row, AS_ROW_PASS, "the machine has so much to give")
                                           : give(row, AS_ROW_FAIL, "the machine has less than the budget");
    bool passes = row->is_floor ? row->found >= row->required : row->found <= row->required;
    if (!passes)
        return not_reached(row, *machine ? machine : "the machine");
    bool unsure = isfinite(m.lo) && isfinite(m.hi) && (row->is_floor ? m.lo < row->required : m.hi > row->required);
    return give(row, AS_ROW_PASS,
                unsure                     ? "by its value; its interval reaches to the other side"
                : m.kind == ASSAY_MODELLED ? "modelled"
                                           : "");
}

/* --- All rows ------------------------------------------------------------------------------------------------------------- */

static void rows_add(const as_requirements *r, assay_facts *f)
{
    static const char *const columns[] = {
        "key|requirement", "direction|direction", "required|required", "found|found", "verdict|verdict", "why|because", NULL};
    int  count[AS_N_ROW_VERDICTS] = {0};
    char label[256];
    snprintf(label, sizeof label, "Requirements: %s, %s", r->name, r->level);
    as_fact_group *g = as_facts_group(f, "require", label);
    as_table      *t = as_facts_table(f, g, "rows", label, columns);
    for (int i = 0; i < r->n_rows; i++) {
        const as_requirement *row = &r->rows[i];
        count[row->verdict]++;
        as_cell cells[] = {
            {.text = row->key},
            {.text = row->is_floor ? "at least" : "at most"},
            {.metric = isnan(row->required) ? as_metric_unavailable(row->unit, row->why)
                       : row->of            ? as_metric_derived(row->required, (double)NAN, (double)NAN, 1, row->unit,
                                                                "fraction x what this machine has")
                                 : as_metric_modelled(row->required, (double)NAN, (double)NAN, row->unit, "requirement profile")},
            {.metric = isnan(row->found)
                           ? as_metric_unavailable(row->unit, *row->why ? row->why : "no number")
                           : as_metric_derived(row->found, (double)NAN, (double)NAN, 1, row->unit, "the fact of this key")},
            {.text = as_row_verdict_text(row->verdict)},
            {.text = *row->why ? row->why : "-"}};
        as_facts_row(f, t, cells);
    }
    as_facts_add(f, g, "require.passed", "rows that pass", as_metric_counted((uint64_t)count[AS_ROW_PASS], "1", "rows"));
    as_facts_add(f, g, "require.failed", "rows that fail", as_metric_counted((uint64_t)count[AS_ROW_FAIL], "1", "rows"));
    as_facts_add(f, g, "require.impossible", "rows that the named machine cannot reach",
                 as_metric_counted((uint64_t)count[AS_ROW_IMPOSSIBLE], "1", "rows"));
    as_facts_add(f, g, "require.unavailable", "rows without a number",
                 as_metric_counted((uint64_t)count[AS_ROW_UNAVAILABLE], "1", "rows"));
    as_facts_find(f, g,
                  count[AS_ROW_FAIL]                ? AS_LEVEL_BAD
                  : count[AS_ROW_PASS] == r->n_rows ? AS_LEVEL_GOOD
                                                    : AS_LEVEL_WARN,
                  "Of %d requirements of %s (%s), %d pass, %d fail, %d are impossible and %d have no number.", r->n_rows, r->name,
                  r->level, count[AS_ROW_PASS], count[AS_ROW_FAIL], count[AS_ROW_IMPOSSIBLE], count[AS_ROW_UNAVAILABLE]);
}

int as_require_judge(as_requirements *r, assay_facts *facts)
{
    int n_failed = 0;
    for (int i = 0; i < r->n_rows; i++) {
        r->rows[i].verdict = judge(&r->rows[i], facts, r->machine);
        n_failed += r->rows[i].verdict == AS_ROW_FAIL;
    }
    rows_add(r, facts);
    return n_failed;
}

void as_require_print(const as_requirements *r, FILE *file)
{
    fprintf(file, "\nRequirements: %s, %s\n", r->name, r->level);
    for (int i = 0; i < r->n_rows; i++) {
        const as_requirement *row = &r->rows[i];
        char                  required[40], found[40];
        fprintf(file, "  %-11s  %-18s %-8s %13s   found %13s\n", as_row_verdict_text(row->verdict), row->key,
                row->is_floor ? "at least" : "at most", as_show(required, sizeof required, row->required, row->unit),
                as_show(found, sizeof found, row->found, row->unit));
        if (*row->why)
            fprintf(file, "  %-11s  %s\n", "", row->why);
    }
}
