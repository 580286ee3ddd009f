/* call_baseline.c - baselines as calls: made of cases or of programs, listed, renamed, removed. */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "lab/baseline.h"
#include "lab/calls.h"

enum { MAX_PROGRAMS = 64 };

/* --- Making ---------------------------------------------------------------------------------------------------- */

static assay_status of_cases(assay_env *env, const char *const *what, size_t n, const assay_options *options, as_baseline **out)
{
    as_case_options o;
    as_bench_cases *cases;
    AS_TRY(as_case_options_read(env, options, &o));
    if (!n && !o.suite)
        return as_fail(env, ASSAY_BAD_INPUT, "baseline save needs a MODEL (for example mlp-small), --suite FILE or --bin CMD");
    AS_TRY(as_bench_cases_read(env, what, (int)n, &o, &cases));
    assay_status status = as_baseline_of_cases(env, cases, out);
    as_bench_cases_free(cases);
    return status;
}

static assay_status subject_read(assay_env *env, const as_baseline_wish *wish, const assay_options *options, as_baseline **out)
{
    static const char *const of_models[] = {AS_BASELINE_KEYS, NULL};
    static const char *const of_programs[] = {AS_BASELINE_BIN_KEYS, NULL};
    AS_TRY(as_options_only(env, options, wish->programs ? "baseline save --bin" : "baseline save",
                           wish->programs ? of_programs : of_models));
    if (!wish->programs)
        return of_cases(env, wish->what, wish->n, options, out);
    if (!wish->n || wish->n > MAX_PROGRAMS)
        return as_fail(env, ASSAY_BAD_INPUT, "baseline: %zu programs given; it takes 1 to %d", wish->n, MAX_PROGRAMS);
    return as_baseline_of_commands(env, wish->what, (int)wish->n, out);
}

assay_status as_baseline_make(assay_env *env, const as_baseline_wish *wish, const assay_options *options, as_baseline **out)
{
    as_lab_settings  s;
    as_store_options where;
    as_baseline     *b = NULL;
    as_store        *store = NULL;
    const char      *description = as_options_text(options, "description");
    AS_TRY(as_store_check_name(env, "baseline", wish->name));
    AS_TRY(subject_read(env, wish, options, &b));
    assay_status status = as_lab_settings_read(env, options, AS_BASELINE_BUDGET, &s);
    if (status == ASSAY_OK)
        status = as_keep_options_read(env, options, &where);
    if (status == ASSAY_OK)
        status = as_lab_store(env, &where, true, &store);
    if (status == ASSAY_OK)
        status = as_baseline_save(env, store, b, wish->name, description ? description : "", &s);
    as_store_close(store);
    if (status == ASSAY_OK)
        *out = b;
    else
        as_baseline_free(b);
    return status;
}

static assay_status create(assay_env *env, const as_baseline_wish *wish, const assay_options *options)
{
    as_baseline *b;
    AS_TRY(as_baseline_make(env, wish, options, &b));
    as_baseline_free(b);
    return ASSAY_OK;
}

assay_status assay_baseline_create(assay_env *env, const char *name, const char *const *what, size_t n,
                                   const assay_options *options)
{
    return create(env, &(as_baseline_wish){.name = name, .what = what, .n = n}, options);
}

assay_status assay_baseline_create_programs(assay_env *env, const char *name, const char *const *commands, size_t n,
                                            const assay_options *options)
{
    return create(env, &(as_baseline_wish){.name = name, .what = commands, .n = n, .programs = true}, options);
}

/* --- Keeping --------------------------------------------------------------------------------------------------- */

static assay_status list(assay_env *env, as_store *store, as_arena *arena, assay_facts **out)
{
    static const char *const columns[] = {"name|baseline", "when|when (UTC)", "run|run", NULL};
    as_named                *named;
    size_t                   n;
    AS_TRY(as_store_list_named(env, store, "baseline", arena, &named, &n));
    assay_facts *f = as_facts_new(env);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "baseline: not enough memory for the facts of %zu", n);
    as_fact_group *g = as_facts_group(f, "baselines", "Baselines");
    as_table      *t = as_facts_table(f, g, "baselines", "Baselines", columns);
    f->title = as_facts_keep(f, "baselines");
    for (size_t i = 0; i < n; i++) {
        char when[AS_DATE_BYTES], run[32];
        snprintf(run, sizeof run, "%lld", (long long)named[i].run);
        as_date_text(when, sizeof when, named[i].unix_time, AS_DATE_MINUTE);
        as_facts_row(f, t, (as_cell[]){{.text = named[i].name}, {.text = when}, {.text = run}});
    }
    return as_facts_done(f, out);
}

assay_status assay_baselines(assay_env *env, const assay_options *options, assay_facts **out)
{
    as_store *store;
    as_arena  arena = {0};
    AS_TRY(as_call_store(env, "baseline list", options, &store));
    assay_status status = list(env, store, &arena, out);
    as_arena_drop(&arena);
    as_store_close(store);
    return status;
}

static assay_status told(assay_env *env, const as_baseline *b, const char *format, const char *path)
{
    as_out  out;
    as_json w;
    bool    is_json = !strcmp(format, "json");
    if (!is_json && strcmp(format, "text"))
        return as_fail(env, ASSAY_BAD_INPUT, "baseline: there is no format '%s': text or json", format);
    AS_TRY(as_out_open(env, path, &out));
    if (is_json) {
        as_json_start(&w, out.file, true);
        as_baseline_write(b, &w);
        as_json_finish(&w);
    } else {
        as_baseline_print(b, out.file);
    }
    return as_out_commit(env, &out);
}

assay_status assay_baseline_write(assay_env *env, const char *name, const assay_options *options, const char *format,
                                  const char *path)
{
    as_baseline *b;
    as_store    *store;
    AS_TRY(as_call_store(env, "baseline show", options, &store));
    assay_status status = as_baseline_load(env, store, name, &b);
    as_store_close(store);
    AS_TRY(status);
    status = told(env, b, format, path);
    as_baseline_free(b);
    return status;
}

assay_status assay_baseline_promote(assay_env *env, const char *from, const char *to, const assay_options *options)
{
    as_store *store;
    size_t    n;
    AS_TRY(as_store_check_name(env, "baseline", to));
    AS_TRY(as_call_store(env, "baseline promote", options, &store));
    assay_status status = as_store_rename_named(env, store, "baseline", from, to, true);
    if (status == ASSAY_OK)
        status = as_store_sweep(env, store, &n);
    as_store_close(store);
    return status;
}

assay_status as_baseline_drop(assay_env *env, const char *name, const assay_options *options, size_t *n_objects)
{
    as_store *store;
    AS_TRY(as_store_check_name(env, "baseline", name));
    AS_TRY(as_call_store(env, "baseline rm", options, &store));
    assay_status status = as_store_remove_named(env, store, "baseline", name);
    if (status == ASSAY_OK)
        status = as_store_sweep(env, store, n_objects);
    as_store_close(store);
    return status;
}

assay_status assay_baseline_remove(assay_env *env, const char *name, const assay_options *options)
{
    size_t n;
    return as_baseline_drop(env, name, options, &n);
}
