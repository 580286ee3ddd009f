/* cmd_report.c - a trace or a run JSON as text, JSON or HTML. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "report/report.h"

enum { MAX_FILES = 64 };

/* What a file is shows in its first byte: JSON begins with a brace (or white space before one), a trace with its magic. */
static assay_status load(assay_env *env, const char *path, assay_facts **out)
{
    as_map map;
    AS_TRY(as_map_open(env, "report", path, 0, &map));
    size_t at = 0;
    while (at < map.bytes && strchr(" \t\r\n", map.data[at]) && map.data[at])
        at++;
    assay_status status;
    if (at < map.bytes && map.data[at] == '{') {
        status = as_facts_parse(env, path, (const char *)map.data, map.bytes, out);
    } else {
        assay_trace *trace = NULL;
        status = as_trace_parse(env, path, map.data, map.bytes, &trace);
        if (status == ASSAY_OK)
            status = assay_analyse(env, trace, out);
        assay_trace_free(trace);
    }
    as_map_close(&map);
    return status;
}

static assay_status show(as_cli *cli, const assay_facts *const *facts, size_t n)
{
    const char *json = as_options_text(cli->options, "json"), *html = as_options_text(cli->options, "html");
    bool        text = as_options_flag(cli->options, "text");
    bool        colour = as_cli_colour(cli, stdout);
    if (text || (!json && !html)) {
        as_write_settings settings = {.colour = colour};
        AS_TRY(as_report_write(cli->env, facts, n, "text", &settings, stdout));
    }
    if (json)
        AS_TRY(assay_report(cli->env, facts, n, "json", json));
    if (html)
        AS_TRY(assay_report(cli->env, facts, n, "html", html));
    return ASSAY_OK;
}

static assay_status run(as_cli *cli)
{
    assay_facts *facts[MAX_FILES] = {NULL};
    assay_status status = ASSAY_OK;
    for (int i = 0; i < cli->n_args && status == ASSAY_OK; i++)
        status = load(cli->env, cli->args[i], &facts[i]);
    if (status == ASSAY_OK)
        status = show(cli, (const assay_facts *const *)facts, (size_t)cli->n_args);
    for (int i = 0; i < cli->n_args; i++)
        assay_facts_free(facts[i]);
    return status;
}

const as_verb as_cmd_report = {
    .name = "report", .summary = "a trace or a run JSON as text, JSON or HTML", .usage = "FILE... [options]",
    .details = "Reads traces (profile --trace) and run JSON (profile --json) and writes them again in another form.  A trace that\n"
               "was cut by a crash gives what it holds, marked partial.",
    .example = "assay profile mlp-small --time 200ms --trace t.trace && assay report t.trace --html report.html", .min_args = 1,
    .max_args = MAX_FILES, .run = run,
};
