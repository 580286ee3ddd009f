/* cmd_selftest.c - does assay keep its promises on this machine? */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/show.h"
#include "lab/load.h"
#include "lab/selftest.h"

static assay_status speak(as_cli *cli, const char *spec)
{
    char     kind[32];
    double   extra;
    as_load *load = NULL;
    as_arm   arm = {0};
    AS_TRY(as_load_parse(cli->env, spec, kind, sizeof kind, &extra));
    AS_TRY(as_load_new(cli->env, kind, &load));
    assay_status status = as_load_arm(cli->env, load, kind, extra, &arm);
    if (status == ASSAY_OK)
        status = as_arm_speak(cli->env, &arm, stdin, stdout);
    if (arm.drop)
        arm.drop(arm.self);
    as_load_free(load);
    return status;
}

static void count_print(const as_cell_count *c, double claim, bool at_most, bool broken)
{
    char text[80] = "-";
    if (c->n)
        snprintf(text, sizeof text, "%lld of %lld, %.1f to %.1f %%, %s %.0f %%%s", (long long)c->k, (long long)c->n, 100 * c->lo,
                 100 * c->hi, at_most ? "<=" : ">=", 100 * claim, broken ? " BROKEN" : "");
    printf("  %-44s", text);
}

static void table_print(const as_cell_result *r)
{
    printf("%-16s %-46s %s\n", "cell", "  false alarms, 95 % bounds, claim", "  found, 95 % bounds, claim");
    for (; r->def; r++) {
        if (!r->alarms.n && !r->power.n)
            continue;
        printf("%-16s", r->def->name);
        count_print(&r->alarms, r->def->alarms_claim, true, r->alarms_broken);
        count_print(&r->power, r->def->power_claim, false, r->power_broken);
        printf("\n  %s, %g s a trial%s\n", r->def->what, r->def->budget_s,
               r->def->where == AS_CELL_SUITE ? ", no slowdown"
               : r->def->same                 ? "; found: proven the same; false: at the edge"
                                              : "");
    }
}

/* --- One screen ------------------------------------------------------------------------------------------- */

static const char *count_say(as_brief *b, const as_cell_count *c)
{
    return c->n ? as_brief_say(b, "%lld of %lld", (long long)c->k, (long long)c->n) : "-";
}

static const char *claim_say(as_brief *b, const as_cell_count *c, const char *sign, double claim)
{
    return c->n ? as_brief_say(b, "%s %.0f %%", sign, 100 * claim) : "-";
}

static assay_status show_basic(as_cli *cli, const as_report_options *o, const as_cell_result *r)
{
    static const char *const columns[] = {"Comparisons", "false alarms", "claim", "found", "claim", "verdict", NULL};
    as_brief                 b = {.title = "selftest", .settings = "comparisons whose answer is known", .level = AS_LEVEL_GOOD};
    int                      n = 0, n_broken = 0;
    as_brief_table          *t = as_brief_table_add(&b, columns);
    t->left[5] = true;
    for (; r->def; r++) {
        bool broken = r->alarms_broken || r->power_broken;
        if (!r->alarms.n && !r->power.n)
            continue;
        as_brief_row *row = as_brief_row_add(&b, t, r->def->name);
        row->cells[1] = count_say(&b, &r->alarms);
        row->cells[2] = claim_say(&b, &r->alarms, "<=", r->def->alarms_claim);
        row->cells[3] = count_say(&b, &r->power);
        row->cells[4] = claim_say(&b, &r->power, ">=", r->def->power_claim);
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

static void count_json(as_json *w, const char *key, const as_cell_count *c, double claim, bool broken)
{
    as_json_key(w, key);
    as_json_object(w);
    as_json_key_i64(w, "trials", c->n);
    as_json_key_i64(w, "count", c->k);
    as_json_key_f64(w, "lo", c->lo);
    as_json_key_f64(w, "hi", c->hi);
    as_json_key_f64(w, "claim", claim);
    as_json_key_bool(w, "broken", broken);
    as_json_object_end(w);
}

static assay_status json_write(as_cli *cli, const as_cell_result *r, const char *path)
{
    as_out  out;
    as_json w;
    AS_TRY(as_out_open(cli->env, path, &out));
    as_json_start(&w, out.file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.selftest/1");
    as_json_key(&w, "cells");
    as_json_array(&w);
    for (; r->def; r++) {
        as_json_object(&w);
        as_json_key_text(&w, "name", r->def->name);
        as_json_key_text(&w, "what", r->def->what);
        as_json_key_f64(&w, "budget_s", r->def->budget_s);
        as_json_key_f64(&w, "margin", r->def->margin);
        as_json_key_f64(&w, "extra", r->def->extra);
        count_json(&w, "alarms", &r->alarms, r->def->alarms_claim, r->alarms_broken);
        count_json(&w, "power", &r->power, r->def->power_claim, r->power_broken);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
    return as_out_commit(cli->env, &out);
}

static assay_status stats(as_cli *cli)
{
    char                 self[4096];
    as_cell_result      *results = calloc((size_t)as_selftest_n_cells() + 1, sizeof *results);
    as_selftest_settings s = {.full = as_options_flag(cli->options, "full"),
                              .cells = as_options_text(cli->options, "cells"),
                              .state = as_options_text(cli->options, "state"),
                              .seed = (uint64_t)as_options_int(cli->options, "seed"),
                              .self = self};
    as_report_options    o;
    if (!results)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "selftest: not enough memory for its table");
    assay_status status = as_report_options_read(cli->env, cli->options, &o);
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    if (status == ASSAY_OK)
        status = as_self_path(cli->env, self, sizeof self);
    if (status == ASSAY_OK)
        status = as_selftest_run(cli->env, &s, results);
    as_cli_progress_end(cli);
    assay_status done = status;
    if (status == ASSAY_OK || status == ASSAY_CANCELLED) {
        bool silent = o.json && !strcmp(o.json, "-");
        done = ASSAY_OK;
        if (!silent && o.amount == AS_AMOUNT_DETAILED)
            table_print(results);
        else if (!silent)
            done = show_basic(cli, &o, results);
        if (done == ASSAY_OK && o.json)
            done = json_write(cli, results, o.json);
    }
    bool broken = false;
    for (const as_cell_result *r = results; r->def; r++)
        broken = broken || r->alarms_broken || r->power_broken;
    free(results);
    if (done == ASSAY_OK && broken)
        cli->exit_code = 1;
    return done == ASSAY_OK ? status : done;
}

static assay_status run(as_cli *cli)
{
    const char *arm = as_options_text(cli->options, "arm");
    if (arm)
        return speak(cli, arm);
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
    .options = AS_OPTIONS("stats", "full", "cells", "arm", "seed", "state", "progress", "json", "report", "colour"),
    .texts = AS_TEXTS({.key = "seed", .help = "seed of the order of blocks"}),
    .run = run,
};
