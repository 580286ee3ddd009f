/* keep.c - puts runs into the store, with their commit. */
#include "lab/keep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/stage.h"
#include "sensor/sensor.h"

/* --- The commit ----------------------------------------------------------------------------------------- */

static bool is_hash(const char *text)
{
    return strspn(text, "0123456789abcdef") == strlen(text) && (strlen(text) == 40 || strlen(text) == 64);
}

/* "REF" in packed-refs: lines "hash ref". */
static bool packed_find(const char *git, const char *ref, char out[65])
{
    char path[4800], line[512], hash[65], name[400];
    snprintf(path, sizeof path, "%s/packed-refs", git);
    FILE *file = fopen(path, "r");
    bool  found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "%64[0-9a-f] %399s", hash, name) == 2 && !strcmp(name, ref) && is_hash(hash);
    if (file)
        fclose(file);
    if (found)
        memcpy(out, hash, strlen(hash) + 1);
    return found;
}

static bool head_read(const char *git, char out[65])
{
    char path[4800], text[512];
    snprintf(path, sizeof path, "%s/HEAD", git);
    if (!as_file_small(path, text, sizeof text))
        return false;
    if (strncmp(text, "ref: ", 5)) {
        snprintf(out, 65, "%.64s", is_hash(text) ? text : "");
        return *out;
    }
    char ref[400];
    snprintf(ref, sizeof ref, "%.399s", text + 5);
    snprintf(path, sizeof path, "%s/%s", git, ref);
    if (!strstr(ref, "..") && as_file_small(path, text, sizeof text) && is_hash(text)) {
        snprintf(out, 65, "%.64s", text);
        return true;
    }
    return packed_find(git, ref, out);
}

void as_lab_commit(char out[65])
{
    char at[4096];
    *out = 0;
    if (!getcwd(at, sizeof at))
        return;
    for (;;) { /* goes up until a repository is found */
        char git[4200];
        snprintf(git, sizeof git, "%s/.git", at);
        if (head_read(git, out))
            return;
        *out = 0;
        char *slash = strrchr(at, '/');
        if (!slash || !*at)
            return;
        *slash = 0;
    }
}

/* --- The run ---------------------------------------------------------------------------------------------- */

assay_status as_store_options_read(assay_env *env, const assay_options *options, as_store_options *out)
{
    static const as_option_member members[] = {AS_MEMBER(as_store_options, TEXT, "store", url), {.key = NULL}};
    *out = (as_store_options){0};
    AS_TRY(as_options_read(env, options, members, out));
    out->none = out->url && !strcmp(out->url, "none");
    return ASSAY_OK;
}

/* The default store was not asked for: if it is unavailable, because assay was built without one or the directory cannot be
 * written to, the run is not stored, and a note says so.  A damaged store is an error all the same. */
static bool may_go_without(const as_store_options *o, assay_status status)
{
    return !o->url && (status == ASSAY_UNSUPPORTED || status == ASSAY_IO);
}

assay_status as_keep_options_read(assay_env *env, const assay_options *options, as_store_options *out)
{
    AS_TRY(as_store_options_read(env, options, out));
    assay_status status = out->none ? ASSAY_OK : as_store_ready(env, out->url);
    return may_go_without(out, status) ? ASSAY_OK : status;
}

assay_status as_lab_store(assay_env *env, const as_store_options *o, bool create, as_store **out)
{
    if (o->none)
        return as_fail(env, ASSAY_BAD_INPUT, "store: --store none keeps nothing: give a file to look up or save runs");
    return as_store_open(env, o->url, create, out);
}

static assay_status facts_text(assay_env *env, const assay_facts *facts, char **out)
{
    size_t  n = 0;
    as_json w;
    FILE   *file = open_memstream(out, &n);
    if (!file)
        return as_fail(env, ASSAY_NO_MEMORY, "store: not enough memory for the report of the run");
    assay_facts lean = *facts; /* the store keeps trials as rows of their own */
    lean.n_trials = 0;
    as_json_start(&w, file, false);
    assay_status status = as_facts_write(env, &lean, &w);
    if (status == ASSAY_OK)
        as_json_finish(&w);
    if (fclose(file) && status == ASSAY_OK)
        status = as_fail(env, ASSAY_NO_MEMORY, "store: not enough memory for the report of the run");
    if (status != ASSAY_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

static const char *state_of(const assay_trace *const *trials, size_t n)
{
    as_trace_state worst = AS_TRACE_COMPLETE;
    for (size_t i = 0; i < n; i++)
        worst = trials[i]->state > worst ? trials[i]->state : worst;
    return as_trace_state_text(worst);
}

static assay_status keep(assay_env *env, const as_store_options *o, const as_stored_run *run, const assay_trace *const *trials,
                         size_t n, int64_t *id)
{
    as_store *store = NULL;
    AS_TRY(as_lab_store(env, o, true, &store));
    assay_status status = as_store_put_run(env, store, run, trials, n, id);
    as_store_close(store);
    return status;
}

assay_status as_lab_keep(assay_env *env, const as_store_options *o, const char *kind, const char *title,
                         const assay_trace *const *trials, size_t n, assay_facts *facts, int64_t *id)
{
    char *report = NULL, commit[65], print[17];
    *id = 0;
    if (o->none)
        return ASSAY_OK;
    as_stage_begin(env, AS_PHASE_KEEP, "", NAN, 0);
    as_lab_commit(commit);
    as_machine_fingerprint(print);
    AS_TRY(facts_text(env, facts, &report));
    as_stored_run run = {.kind = kind,
                         .title = title,
                         .fingerprint = print,
                         .commit = commit,
                         .state = o->stopped ? as_trace_state_text(AS_TRACE_PARTIAL) : state_of(trials, n),
                         .unix_time = (int64_t)time(NULL),
                         .report = report};
    assay_status  status = keep(env, o, &run, trials, n, id);
    free(report);
    if (status == ASSAY_OK)
        atomic_store_explicit(&env->stake, AS_STAKE_KEPT, memory_order_relaxed);
    if (!may_go_without(o, status))
        return status;
    if (status == ASSAY_IO)
        facts->not_kept = as_facts_keep(facts, assay_message(env));
    return ASSAY_OK;
}
