/* cmd_history.c - what the store knows of a case over time, with the change points that its ranks nominate. */
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "base/text.h"
#include "cli/show.h"
#include "lab/keep.h"
#include "sensor/sensor.h"
#include "store/store.h"

static as_history_point point_of(const as_past *p)
{
    return (as_history_point){.unix_time = p->unix_time,
                              .run = p->run,
                              .commit = p->commit,
                              .machine = p->fingerprint,
                              .median = p->median_ns,
                              .lo = p->lo_ns,
                              .hi = p->hi_ns};
}

/* Names near the one that was asked for help more than the list. */
static assay_status unknown(assay_env *env, as_store *store, as_arena *arena, const char *name)
{
    as_case_count *cases;
    size_t         n;
    AS_TRY(as_store_cases(env, store, arena, &cases, &n));
    const char **words = AS_TAKE(arena, const char *, n + 1);
    for (size_t i = 0; words && i < n; i++) {
        words[i] = cases[i].name;
        if (!strcmp(cases[i].name, name))
            return as_fail(env, ASSAY_NOT_FOUND, "history: %s holds \"%s\" of other machines only; --cross-machine shows them",
                           as_store_path(store), name);
    }
    const char *near = words ? as_nearest(name, words) : NULL;
    return as_fail(env, ASSAY_NOT_FOUND, "history: %s has no case \"%s\"%s%s%s; assay history lists them", as_store_path(store),
                   name, near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static assay_status one(as_cli *cli, const as_report_options *o, as_store *store, as_arena *arena, const char *name,
                        const char *machine)
{
    as_past *past;
    size_t   n;
    AS_TRY(as_store_history(cli->env, store, name, machine, arena, &past, &n));
    if (!n)
        return unknown(cli->env, store, arena, name);
    as_history_point *points = AS_TAKE(arena, as_history_point, n);
    if (!points)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "history: no room for %zu points", n);
    for (size_t i = 0; i < n; i++)
        points[i] = point_of(&past[i]);
    assay_facts *f = as_facts_of_history(cli->env, name, points, n, NULL);
    assay_status status = f ? as_cli_show(cli, o, f) : as_fail(cli->env, ASSAY_NO_MEMORY, "history: no room for the facts");
    assay_facts_free(f);
    return status;
}

static assay_status all(as_cli *cli, const as_report_options *o, as_store *store, as_arena *arena, const char *machine)
{
    as_case_count *cases;
    size_t         n, n_kept = 0;
    AS_TRY(as_store_cases(cli->env, store, arena, &cases, &n));
    as_history_case *rows = AS_TAKE(arena, as_history_case, n);
    if (!rows)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "history: no room for %zu cases", n);
    for (size_t i = 0; i < n; i++) {
        as_past *past;
        size_t   n_past;
        AS_TRY(as_store_history(cli->env, store, cases[i].name, machine, arena, &past, &n_past));
        if (n_past)
            rows[n_kept++] = (as_history_case){.name = cases[i].name, .n = (int64_t)n_past, .last = point_of(&past[n_past - 1])};
    }
    assay_facts *f = as_facts_of_cases(cli->env, rows, n_kept, as_store_path(store));
    assay_status status = f ? as_cli_show(cli, o, f) : as_fail(cli->env, ASSAY_NO_MEMORY, "history: no room for the facts");
    assay_facts_free(f);
    return status;
}

static assay_status run(as_cli *cli)
{
    char              machine[17];
    as_arena          arena = {0};
    as_store         *store;
    as_store_options  where;
    as_report_options report;
    bool              cross = as_options_flag(cli->options, "cross-machine");
    AS_TRY(as_store_options_read(cli->env, cli->options, &where));
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    if (where.none)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "history: --store none keeps nothing, so there is no history");
    as_machine_fingerprint(machine);
    AS_TRY(as_store_open(cli->env, where.url, false, &store));
    assay_status status = cli->n_args ? one(cli, &report, store, &arena, cli->args[0], cross ? NULL : machine)
                                      : all(cli, &report, store, &arena, cross ? NULL : machine);
    as_store_close(store);
    as_arena_drop(&arena);
    return status;
}

const as_verb as_cmd_history = {
    .name = "history",
    .summary = "a case over its stored runs, with the change points that are nominated",
    .usage = "[CASE] [options]",
    .details =
        "Without CASE lists the cases that the store holds of this machine.  With it draws their medians over time and nominates change points by rank\n"
        "E-divisive.  Each arm of a comparison is a case; of a check the candidate is.  A change point is a hint, not a\n"
        "proof: the sentence beside it names the comparison that would prove it.",
    .example = "assay bench matmul --sizes 64x64 --budget 200ms --store runs.db && assay history --store runs.db",
    .min_args = 0,
    .max_args = 1,
    .options = AS_OPTIONS("cross-machine", "store", AS_REPORT_KEYS),
    .run = run,
};
