/* cmd_selftest.c - does assay keep its promises on this machine? */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/show.h"
#include "lab/calls.h"

/* One of the two counts of a cell: the columns of its table begin with `front`. */
typedef struct count {
    double n, k, lo, hi, claim;
    bool   broken;
} count;

static double value_of(const as_table *t, int row, const char *front, const char *rest)
{
    char key[32];
    snprintf(key, sizeof key, "%s%s", front, rest);
    return as_value_at(t, row, key);
}

static count count_of(const as_table *t, int row, const char *front)
{
    char key[32];
    snprintf(key, sizeof key, "%s_share", front);
    const as_cell *share = as_cell_at(t, row, as_column_find(t, key));
    bool           has = share && !share->text && as_metric_has(&share->metric);
    snprintf(key, sizeof key, "%s_verdict", front);
    return (count){.n = value_of(t, row, front, "_trials"),
                   .k = value_of(t, row, front, ""),
                   .lo = has ? share->metric.lo : 0,
                   .hi = has ? share->metric.hi : 1,
                   .claim = value_of(t, row, front, "_claim"),
                   .broken = !strcmp(as_words_at(t, row, key), "BROKEN")};
}

static void count_print(const count *c, bool at_most)
{
    char text[80] = "-";
    if (c->n > 0)
        snprintf(text, sizeof text, "%.0f of %.0f, %.1f to %.1f %%, %s %.0f %%%s", c->k, c->n, 100 * c->lo, 100 * c->hi,
                 at_most ? "<=" : ">=", 100 * c->claim, c->broken ? " BROKEN" : "");
    printf("  %-44s", text);
}

static void table_print(const as_table *t)
{
    printf("%-16s %-46s %s\n", "cell", "  false alarms, 95 % bounds, claim", "  found, 95 % bounds, claim");
    for (int i = 0; i < t->n_rows; i++) {
        count       alarms = count_of(t, i, "alarms"), found = count_of(t, i, "found");
        const char *kind = as_words_at(t, i, "kind");
        if (!(alarms.n > 0) && !(found.n > 0))
            continue;
        printf("%-16s", as_words_at(t, i, "name"));
        count_print(&alarms, true);
        count_print(&found, false);
        printf("\n  %s, %g s per trial%s\n", as_words_at(t, i, "what"), as_value_at(t, i, "budget"),
               !strcmp(kind, "suite")  ? ", no slowdown"
               : !strcmp(kind, "same") ? "; found: proven the same; false: at the edge"
                                       : "");
    }
}

/* --- One screen ------------------------------------------------------------------------------------------- */

static const char *count_say(as_brief *b, const count *c) { return c->n > 0 ? as_brief_say(b, "%.0f of %.0f", c->k, c->n) : "-"; }

static const char *claim_say(as_brief *b, const count *c, const char *sign)
{
    return c->n > 0 ? as_brief_say(b, "%s %.0f %%", sign, 100 * c->claim) : "-";
}

static assay_status show_basic(as_cli *cli, const as_report_options *o, const as_table *cells)
{
    static const char *const columns[] = {"Comparisons", "false alarms", "claim", "found", "claim", "verdict", NULL};
    as_brief                 b = {.title = "selftest", .settings = "comparisons whose answer is known", .level = AS_LEVEL_GOOD};
    int                      n = 0, n_broken = 0;
    as_brief_table          *t = as_brief_table_add(&b, columns);
    t->left[5] = true;
    for (int i = 0; i < cells->n_rows; i++) {
        count alarms = count_of(cells, i, "alarms"), found = count_of(cells, i, "found");
        bool  broken = alarms.broken || found.broken;
        if (!(alarms.n > 0) && !(found.n > 0))
            continue;
        as_brief_row *row = as_brief_row_add(&b, t, as_words_at(cells, i, "name"));
        row->cells[1] = count_say(&b, &alarms);
        row->cells[2] = claim_say(&b, &alarms, "<=");
        row->cells[3] = count_say(&b, &found);
        row->cells[4] = claim_say(&b, &found, ">=");
        row->cells[5] = broken ? "BROKEN" : "holds";
        row->role = broken ? AS_CHART_BAD : AS_CHART_MAIN;
        n++;
        n_broken += broken;
    }
    b.level = n_broken ? AS_LEVEL_BAD : AS_LEVEL_GOOD;
    b.headline = n_broken ? as_brief_say(&b, "BROKEN: %d of %d cells contradict their claim.", n_broken, n)
                 : n      ? as_brief_say(&b, "No claim is contradicted in %d %s.", n, n == 1 ? "cell" : "cells")
                          : "Nothing was counted.";
    as_brief_text_add(&b, "A count beyond its claim may be chance: a claim is broken when all of its 95 % bounds lie beyond it.");
    as_brief_hint_add(&b, "--report detailed", "bounds");
    as_brief_hint_add(&b, "--full", "more trials");
    as_brief_hint_add(&b, "--json FILE|-", "as data");
    return as_cli_brief(cli, o, &b);
}

static void count_json(as_json *w, const char *key, const count *c)
{
    as_json_key(w, key);
    as_json_object(w);
    as_json_key_i64(w, "trials", (int64_t)c->n);
    as_json_key_i64(w, "count", (int64_t)c->k);
    as_json_key_f64(w, "lo", c->lo);
    as_json_key_f64(w, "hi", c->hi);
    as_json_key_f64(w, "claim", c->claim);
    as_json_key_bool(w, "broken", c->broken);
    as_json_object_end(w);
}

static assay_status json_write(as_cli *cli, const as_table *t, const char *path)
{
    as_out  out;
    as_json w;
    AS_TRY(as_out_open(cli->env, path, &out));
    as_json_start(&w, out.file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.selftest/1");
    as_json_key(&w, "cells");
    as_json_array(&w);
    for (int i = 0; i < t->n_rows; i++) {
        count alarms = count_of(t, i, "alarms"), found = count_of(t, i, "found");
        as_json_object(&w);
        as_json_key_text(&w, "name", as_words_at(t, i, "name"));
        as_json_key_text(&w, "what", as_words_at(t, i, "what"));
        as_json_key_f64(&w, "budget_s", as_value_at(t, i, "budget"));
        as_json_key_f64(&w, "margin", as_value_at(t, i, "margin"));
        as_json_key_f64(&w, "extra", as_value_at(t, i, "extra"));
        count_json(&w, "alarms", &alarms);
        count_json(&w, "power", &found);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
    return as_out_commit(cli->env, &out);
}

static assay_status show(as_cli *cli, const as_report_options *o, const assay_facts *facts)
{
    const as_table *cells = as_facts_table_find(facts, "selftest", "cells");
    bool            silent = o->json && !strcmp(o->json, "-");
    if (!silent && o->amount == AS_AMOUNT_DETAILED)
        table_print(cells);
    else if (!silent)
        AS_TRY(show_basic(cli, o, cells));
    return o->json ? json_write(cli, cells, o->json) : ASSAY_OK;
}

static assay_status stats(as_cli *cli)
{
    char              message[sizeof cli->env->message];
    assay_facts      *facts = NULL;
    as_report_options o;
    AS_TRY(as_report_options_read(cli->env, cli->options, &o));
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    assay_status measured = assay_selftest(cli->env, cli->options, &facts);
    as_cli_progress_end(cli);
    if (!facts)
        return measured;
    snprintf(message, sizeof message, "%s", assay_message(cli->env));
    assay_status shown = show(cli, &o, facts);
    if (shown == ASSAY_OK && assay_facts_metric(facts, "selftest.broken")->value > 0)
        cli->exit_code = 1;
    assay_facts_free(facts);
    AS_TRY(shown);
    return measured == ASSAY_OK ? ASSAY_OK : as_fail(cli->env, measured, "%s", message);
}

static assay_status run(as_cli *cli)
{
    const char *arm = as_options_text(cli->options, "arm");
    if (arm)
        return assay_selftest_speak(cli->env, arm, STDIN_FILENO, STDOUT_FILENO);
    if (!as_options_flag(cli->options, "stats"))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "selftest: say what is to be tested: --stats, the comparisons of this machine");
    return stats(cli);
}

const as_verb as_cmd_selftest = {
    .name = "selftest",
    .summary = "does assay keep its promises on this machine?",
    .usage = "--stats [options]",
    .details =
        "Compares work that is the same and work that is known to be more, as a user would, and counts false alarms and what was\n"
        "found, with exact binomial bounds.  Slowdowns are really done.  The quick form takes about 3 minutes; --full makes as\n"
        "many trials as a claim of 1 % needs, and goes on from --state FILE after it was stopped.\n"
        "Cells: compute, memory, memory-loaded, programs, programs-memory, programs-chase, suite, same, same-memory.\n"
        "Exit codes: 0 no claim is contradicted, 1 one is (the whole of its bounds lies beyond it), 2 bad input, 5 stopped or could not run.",
    .example = "assay selftest --stats --cells compute",
    .group = AS_VERBS_MACHINE,
    .order = 4,
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS(AS_SELFTEST_KEYS, "arm", "progress", "json", "report", "colour"),
    .texts = AS_TEXTS({.key = "seed", .help = "seed of the order of blocks"}),
    .run = run,
};
