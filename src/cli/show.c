/* show.c - sends facts to where they were asked for. */
#include "cli/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stage.h"
#include "base/text.h"
#include "cli/screen.h"
#include "lab/keep.h"

/* "module", to a depth that fits, or "module:2". */
static assay_status by_read(assay_env *env, const char *by, int *depth)
{
    int64_t n = 0;
    if (!by || !strcmp(by, "module"))
        return ASSAY_OK;
    if (strncmp(by, "module:", 7) || !as_parse_i64(by + 7, &n) || n < 1 || n > 100)
        return as_fail(env, ASSAY_BAD_INPUT, "--by %s: expected module, or module:N with N from 1 to 100", by);
    *depth = (int)n;
    return ASSAY_OK;
}

/* Paths are looked at here only: the export itself reads them. */
static assay_status exports_read(assay_env *env, const assay_options *options, as_report_options *out)
{
    for (const as_trace_export *const *tx = as_tx_table; *tx; tx++) {
        as_texts given = as_options_given(options, (*tx)->key);
        out->exports |= given.n > 0;
        out->exports_to_stdout |= given.n && !strcmp(given.items[given.n - 1], "-");
    }
    if (as_options_is_set(options, "export-all") && !out->exports)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "--export-all is for --chrome, --perfetto and --speedscope, and none of them is given");
    return ASSAY_OK;
}

assay_status as_report_options_read(assay_env *env, const assay_options *options, as_report_options *out)
{
    static const as_option_member members[] = {AS_MEMBER(as_report_options, TEXT, "json", json),
                                               AS_MEMBER(as_report_options, TEXT, "html", html),
                                               AS_MEMBER(as_report_options, TEXT, "csv", csv),
                                               AS_MEMBER(as_report_options, TEXT, "markdown", markdown),
                                               AS_MEMBER(as_report_options, TEXT, "sections", sections),
                                               AS_MEMBER(as_report_options, CHOICE, "colour", colour),
                                               AS_MEMBER(as_report_options, CHOICE, "report", amount),
                                               AS_MEMBER(as_report_options, BOOL, "text", text),
                                               AS_MEMBER(as_report_options, TEXT, "by", by),
                                               {.key = NULL}};
    *out = (as_report_options){.json = NULL};
    AS_TRY(as_options_read(env, options, members, out));
    AS_TRY(by_read(env, out->by, &out->module_depth));
    AS_TRY(exports_read(env, options, out));
    return out->sections ? as_sections_check(env, out->sections) : ASSAY_OK;
}

bool as_cli_colour(const as_report_options *o, FILE *file)
{
    return o->colour == AS_COLOUR_ALWAYS || (o->colour == AS_COLOUR_AUTO && file == stdout && as_screen_takes_colour());
}

typedef struct form {
    const char *writer, *path;
} form;

static void forms_of(const as_report_options *o, form out[AS_N_FORMS])
{
    const form all[AS_N_FORMS] = {{"json", o->json}, {"html", o->html}, {"csv", o->csv}, {"markdown", o->markdown}};
    memcpy(out, all, sizeof all);
}

bool as_cli_forms_asked(const as_report_options *o, bool to_stdout)
{
    form forms[AS_N_FORMS];
    bool asked = to_stdout ? o->exports_to_stdout : o->exports;
    forms_of(o, forms);
    for (size_t i = 0; i < AS_N_FORMS; i++)
        asked |= forms[i].path && (!to_stdout || !strcmp(forms[i].path, "-"));
    return asked;
}

assay_status as_cli_forms_write(as_cli *cli, const as_report_options *o, const assay_facts *const *facts, size_t n)
{
    const as_write_settings settings = {.sections = o->sections, .by_module = o->by != NULL, .module_depth = o->module_depth};
    form                    forms[AS_N_FORMS];
    forms_of(o, forms);
    as_stage_begin(cli->env, AS_PHASE_WRITE, "", (double)NAN, 0);
    for (size_t i = 0; i < AS_N_FORMS; i++)
        if (forms[i].path)
            AS_TRY(as_report_save(cli->env, facts, n, forms[i].writer, &settings, forms[i].path));
    return ASSAY_OK;
}

static void export_told(void *arg, const char *path, const char *text)
{
    as_cli *cli = arg;
    if (cli->n_told == (int)AS_COUNT(cli->told))
        return;
    struct as_cli_told *told = &cli->told[cli->n_told++];
    told->path = path;
    snprintf(told->text, sizeof told->text, "%s", text);
}

assay_status as_cli_export(as_cli *cli, const assay_trace *const *traces, size_t n)
{
    return as_traces_export(cli->env, traces, n, cli->options, export_told, cli);
}

/* The record that the facts are of, and the trials behind them. */
static assay_status facts_export(as_cli *cli, const assay_facts *facts)
{
    const assay_trace **traces = calloc(facts->n_trials + 1, sizeof *traces);
    size_t              n = 0;
    if (!traces)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "export: not enough memory for a list of %zu traces", facts->n_trials + 1);
    if (facts->record)
        traces[n++] = facts->record;
    for (size_t i = 0; i < facts->n_trials; i++)
        traces[n++] = facts->trials[i];
    assay_status status = as_cli_export(cli, traces, n);
    free(traces);
    return status;
}

assay_status as_cli_text(as_cli *cli, const as_report_options *o, const assay_facts *const *facts, size_t n)
{
    as_write_settings settings = {.colour = as_cli_colour(o, stdout),
                                  .sections = o->sections,
                                  .width = as_screen_columns(),
                                  .by_module = o->by != NULL,
                                  .module_depth = o->module_depth,
                                  .one_line = cli->quiet};
    bool              in_full = o->sections || o->amount == AS_AMOUNT_DETAILED;
    return as_report_write(cli->env, facts, n, in_full ? "text" : "basic", &settings, stdout);
}

assay_status as_cli_brief(as_cli *cli, const as_report_options *o, as_brief *b)
{
    as_brief_settings settings = {.colour = as_cli_colour(o, stdout), .width = as_screen_columns(), .one_line = cli->quiet};
    bool              ok = !b->failed && as_brief_print(b, &settings, stdout);
    as_arena_drop(&b->arena);
    return ok ? ASSAY_OK : as_fail(cli->env, ASSAY_NO_MEMORY, "not enough memory for the basic report");
}

assay_status as_cli_show(as_cli *cli, const as_report_options *o, const assay_facts *facts)
{
    const assay_facts *one[] = {facts};
    if (!as_cli_forms_asked(o, true) && !o->text_elsewhere)
        AS_TRY(as_cli_text(cli, o, one, 1));
    AS_TRY(as_cli_forms_write(cli, o, one, 1));
    return o->exports ? facts_export(cli, facts) : ASSAY_OK;
}

assay_status as_cli_finish(as_cli *cli, const as_report_options *o, assay_facts *facts, assay_status measured)
{
    char message[sizeof cli->env->message];
    snprintf(message, sizeof message, "%s", assay_message(cli->env));
    assay_status status = facts ? as_cli_show(cli, o, facts) : ASSAY_OK;
    if (facts && facts->not_kept)
        fprintf(stderr, "assay: the run is not kept: %s; --store FILE keeps it elsewhere\n", facts->not_kept);
    assay_facts_free(facts);
    AS_TRY(status);
    return measured == ASSAY_OK ? ASSAY_OK : as_fail(cli->env, measured, "%s", message);
}
