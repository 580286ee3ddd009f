/* cmd_check.c - is anything slower than the baseline?  The verdict for CI. */
#include <string.h>

#include "analysis/check_facts.h"
#include "base/text.h"
#include "cli/show.h"
#include "lab/baseline.h"
#include "report/report.h"

static assay_status severities_read(as_cli *cli, as_duel_rules *rules)
{
    const char *text = as_options_text(cli->options, "severity");
    double      value[3];
    char        one[32];
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        size_t n = strcspn(at, ",");
        snprintf(one, sizeof one, "%.*s", (int)(n < 31 ? n : 31), at);
        if (!as_parse_f64(one, &value[i]) || value[i] < 0 || (i && value[i] < value[i - 1]) || (i < 2) != (at[n] == ','))
            return as_fail(cli->env, ASSAY_BAD_INPUT, "option --severity: \"%s\" is not three rising percentages such as 15,30,50", text);
        at += n + (i < 2);
    }
    rules->severity[AS_SEVERITY_MODERATE] = value[0] / 100;
    rules->severity[AS_SEVERITY_MAJOR] = value[1] / 100;
    rules->severity[AS_SEVERITY_CRITICAL] = value[2] / 100;
    return ASSAY_OK;
}

static assay_status settings_read(as_cli *cli, as_lab_settings *s, as_fail_on *fail_on)
{
    AS_TRY(as_lab_settings_read(cli->env, cli->options, "check", s));
    AS_TRY(as_lab_percent(cli->env, "threshold", as_options_text(cli->options, "threshold"), &s->rules.margin));
    AS_TRY(severities_read(cli, &s->rules));
    s->sampler.keep_samples = as_options_flag(cli->options, "samples");
    if (!as_fail_on_read(as_options_text(cli->options, "fail-on"), fail_on))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "option --fail-on: \"%s\" is not known", as_options_text(cli->options, "fail-on"));
    return ASSAY_OK;
}

/* What --output-format says, to --output-file or standard output; and the files that every verb writes. */
static assay_status result_write(as_cli *cli, const assay_facts *facts)
{
    static const char *const names[][2] = {{"text", "text"}, {"json", "json"}, {"junit", "junit"}, {"github", "github"}, {"md", "markdown"}};
    static const char *const files[] = {"json", "html", "csv", "markdown"};
    const char        *asked = as_options_text(cli->options, "output-format"), *path = as_options_text(cli->options, "output-file"), *format = "text";
    const assay_facts *one[] = {facts};
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (!strcmp(asked, names[i][0]))
            format = names[i][1];
    as_write_settings settings = {.colour = as_cli_colour(cli, stdout) && !path, .brief = true};
    bool              taken = false; /* by a form that was sent to standard output by its own option */
    for (size_t i = 0; i < AS_COUNT(files); i++) {
        const char *file = as_options_text(cli->options, files[i]);
        taken |= file && !strcmp(file, "-");
    }
    if (path || !taken)
        AS_TRY(as_report_save(cli->env, one, 1, format, &settings, path ? path : "-"));
    for (size_t i = 0; i < AS_COUNT(files); i++) {
        const char *file = as_options_text(cli->options, files[i]);
        if (file)
            AS_TRY(as_report_save(cli->env, one, 1, files[i], &settings, file));
    }
    return ASSAY_OK;
}

static assay_status judge(as_cli *cli, as_check *c, const as_baseline *b, const as_lab_settings *s, as_fail_on fail_on)
{
    as_check_result result;
    char            title[128];
    int64_t         id;
    as_trial       *trials[4096];
    size_t          n = 0;
    AS_TRY(as_check_decide(cli->env, c->cases, (size_t)c->n, &s->rules, AS_CHECK_Q, fail_on, &result));
    snprintf(title, sizeof title, "check against %.64s", b->name);
    assay_facts *facts = as_facts_of_check(cli->env, &result, title);
    if (!facts)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "check: no room for the result");
    for (int i = 0; i < c->n && n < AS_COUNT(trials); i++)
        if (c->trials[i])
            trials[n++] = c->trials[i];
    as_facts_trials(facts, trials, n, s->sampler.keep_samples);
    assay_status status = facts->status;
    if (status == ASSAY_OK)
        status = result_write(cli, facts);
    if (status == ASSAY_OK)
        status = as_lab_keep(cli->env, cli->options, "check", title, (const as_trial *const *)trials, n, facts, &id);
    assay_facts_free(facts);
    cli->exit_code = result.exit_code;
    return status;
}

static assay_status check_with(as_cli *cli, as_store *store, const char *name, const as_lab_settings *s, as_fail_on fail_on)
{
    as_baseline *b;
    as_check     c = {0};
    bool         cross = as_options_flag(cli->options, "cross-machine");
    AS_TRY(as_baseline_load(cli->env, store, name, &b));
    assay_status status = as_baseline_check(cli->env, store, b, cross, s, &c);
    as_cli_progress_end(s);
    if (status == ASSAY_OK) {
        status = judge(cli, &c, b, s, fail_on);
        as_check_drop(&c);
    }
    as_baseline_free(b);
    return status;
}

static assay_status run(as_cli *cli)
{
    as_lab_settings s;
    as_fail_on      fail_on;
    as_store       *store;
    const char     *name = as_options_text(cli->options, "baseline");
    AS_TRY(settings_read(cli, &s, &fail_on));
    if (!name)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "check: against what: --baseline NAME (assay baseline list shows them)");
    as_cli_progress(cli, &s);
    AS_TRY(as_store_check_name(cli->env, "check: baseline", name));
    AS_TRY(as_lab_store(cli->env, cli->options, false, &store));
    assay_status status = check_with(cli, store, name, &s, fail_on);
    as_store_close(store);
    return status;
}

const as_verb as_cmd_check = {
    .name = "check", .summary = "is anything slower than the baseline: the verdict for CI",
    .usage = "--baseline NAME [options]",
    .details = "Starts the program that the baseline kept and the one of today in turns, case by case, and compares them.  A regression is an\n"
               "interval that lies wholly beyond --threshold percent, and stays a discovery when the false discovery rate of the whole suite is\n"
               "held at 5 %.  Its severity is that of the interval's near end.  --output-format and --output-file say what is printed or written;\n"
               "--json, --html, --csv and --markdown write files beside it.\n"
               "Exit codes: 0 no regression, 1 regression, 2 bad input, 3 critical regression, 4 unresolved (only with --fail-on unresolved),\n"
               "5 failed or incomplete.  docs/ci.md",
    .example = "assay check --baseline main --threshold 5 --output-format junit --output-file check.xml", .min_args = 0, .max_args = 0, .run = run,
};
