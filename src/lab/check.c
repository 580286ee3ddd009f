/* check.c - runs a baseline again, in turns with today's program. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "lab/baseline.h"
#include "sensor/sensor.h"

typedef struct checker {
    assay_env         *env;
    as_store          *store;
    const as_baseline *b;
    as_check          *c;
    bool               foreign;
    char               folder[4096]; /* where objects have their original names while a case runs; "": none */
    const char       **made;
    int                n_made, cap_made; /* files and directories below it, in the order in which they were made */
} checker;

static assay_status no_room(assay_env *env) { return as_fail(env, ASSAY_NO_MEMORY, "check: not enough memory for the cases"); }

/* --- The baseline's command ----------------------------------------------------------------------------- */

static void folder_drop(checker *k)
{
    while (k->n_made > 0)
        remove(k->made[--k->n_made]);
    if (*k->folder)
        rmdir(k->folder);
    *k->folder = 0;
}

static bool made_note(checker *k, const char *path)
{
    if (k->n_made == k->cap_made) {
        int          cap = k->cap_made ? 2 * k->cap_made : 16;
        const char **moved = AS_TAKE(&k->c->arena, const char *, cap);
        if (!moved)
            return false;
        if (k->n_made)
            memcpy(moved, k->made, (size_t)k->n_made * sizeof *moved);
        k->made = moved;
        k->cap_made = cap;
    }
    const char *kept = as_arena_text(&k->c->arena, path);
    if (kept)
        k->made[k->n_made++] = kept;
    return kept;
}

static assay_status folder_make(checker *k)
{
    const char *parent = getenv("TMPDIR");
    if (*k->folder)
        return ASSAY_OK;
    snprintf(k->folder, sizeof k->folder, "%s/assay-check-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(k->folder))
        return ASSAY_OK;
    assay_status status =
        as_fail(k->env, ASSAY_IO, "check: %s: cannot make a directory for what the baseline kept: %s", k->folder, strerror(errno));
    *k->folder = 0;
    return status;
}

/* Makes the directories that lead to a file below the folder. */
static assay_status way_make(checker *k, char *path)
{
    for (char *slash = path + strlen(k->folder); (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        bool made = !mkdir(path, 0700), there = made || errno == EEXIST;
        if (!there || (made && !made_note(k, path)))
            return as_fail(k->env, ASSAY_IO, "check: %s: cannot make the directory: %s", path, strerror(errno));
        *slash = '/';
    }
    return ASSAY_OK;
}

/* A model is read by its suffix and finds its data by name.  An object has neither, so a link with the right name is made. */
static assay_status link_make(checker *k, const as_artefact *a, char *path, size_t size)
{
    char object[4096];
    AS_TRY(as_store_get_object(k->env, k->store, a->id, object, sizeof object));
    char *whole = realpath(object, NULL); /* commands run from any directory */
    if (!whole)
        return as_fail(k->env, ASSAY_IO, "check: %s: %s", object, strerror(errno));
    assay_status status = folder_make(k);
    if (status == ASSAY_OK && snprintf(path, size, "%s/%d/%s", k->folder, a->at, a->name) >= (int)size)
        status = as_fail(k->env, ASSAY_BAD_INPUT, "check: %s: the path is too long", a->name);
    if (status == ASSAY_OK)
        status = way_make(k, path);
    if (status == ASSAY_OK && (symlink(whole, path) || !made_note(k, path)))
        status = as_fail(k->env, ASSAY_IO, "check: %s: cannot make a link to %s: %s", path, whole, strerror(errno));
    free(whole);
    return status;
}

static assay_status words_then(checker *k, const as_baseline_case *c, const char *const **out)
{
    const char *const *today;
    AS_TRY(as_baseline_words(k->env, &k->c->arena, c->argv, &today));
    int n = 0;
    while (today[n])
        n++;
    const char **words = AS_TAKE(&k->c->arena, const char *, n + 1);
    if (!words)
        return no_room(k->env);
    memcpy(words, today, (size_t)n * sizeof *words);
    char path[4352];
    for (int i = 0; i < c->n_objects; i++) {
        AS_TRY(link_make(k, &c->objects[i], path, sizeof path));
        words[c->objects[i].at] = as_arena_text(&k->c->arena, path);
        if (!words[c->objects[i].at])
            return no_room(k->env);
    }
    for (int i = 0; i < c->n_beside; i++)
        AS_TRY(link_make(k, &c->beside[i], path, sizeof path));
    *out = words;
    return ASSAY_OK;
}

/* --- One case ---------------------------------------------------------------------------------------------- */

static assay_status case_run(checker *k, int i, const as_lab_settings *s)
{
    static const char *const names[] = {"baseline", "candidate"};
    const char *const       *argvs[2];
    AS_TRY(words_then(k, &k->b->cases[i], &argvs[0]));
    AS_TRY(as_baseline_words(k->env, &k->c->arena, k->b->cases[i].argv, &argvs[1]));
    return as_lab_compare_bins(k->env, k->b->cases[i].name, argvs, names, 2, s, &k->c->trials[i]);
}

static void case_note(checker *k, int i, const as_duel_rules *rules, assay_status status)
{
    as_check_case     *c = &k->c->cases[i];
    const assay_trace *t = k->c->trials[i];
    const char        *message = as_arena_text(&k->c->arena, assay_message(k->env));
    if (status == ASSAY_CANCELLED || (t && t->state == AS_TRACE_PARTIAL))
        c->incomplete = "stopped early";
    else if (status != ASSAY_OK)
        c->failure = message ? message : "could not be run";
    else if (t->state == AS_TRACE_TIMEOUT)
        c->incomplete = t->reason;
    else if (t->state != AS_TRACE_COMPLETE)
        c->failure = t->reason;
    if (!t || c->failure)
        return;
    as_duel_judge(t, 0, 1, rules, &k->c->duels[i]);
    c->duel = &k->c->duels[i];
    c->trial = t;
    c->b = 1;
}

/* --- Another machine ------------------------------------------------------------------------------------------ */

/* Numbers of two machines do not show a change.  For code that stays in a cache, though, the low quantiles show how the machines
 * differ.  So there is no verdict, and the reason says what was seen. */
static void foreign_note(checker *k, int i, const assay_trace *t, uint64_t cache_bytes)
{
    const as_baseline_case *b = &k->b->cases[i];
    as_duel                *d = &k->c->duels[i];
    as_alone                alone;
    as_alone_judge(t, 0, &alone);
    *d = (as_duel){.verdict = AS_UNRESOLVED,
                   .ratio = NAN,
                   .lo = NAN,
                   .hi = NAN,
                   .confidence = NAN,
                   .unit = "session",
                   .by = "none",
                   .p_slower = 1,
                   .p_faster = 1,
                   .p_flip = 1,
                   .ln_e_slower = -INFINITY,
                   .ln_e_faster = -INFINITY,
                   .ln_e_same = -INFINITY,
                   .visible = NAN,
                   .needed_ns = NAN,
                   .a_ns = b->p25_ns,
                   .b_ns = alone.p25,
                   .a_lo = NAN,
                   .a_hi = NAN,
                   .b_lo = NAN,
                   .b_hi = NAN,
                   .n_reasons = 1};
    if (b->peak_bytes <= (double)cache_bytes) {
        d->ratio = alone.p25 / b->p25_ns;
        snprintf(d->reasons[0], sizeof d->reasons[0],
                 "another machine: lower quartile %.3g times the stored one; this compares machines, not code", d->ratio);
    } else {
        snprintf(d->reasons[0], sizeof d->reasons[0], "another machine, and it may not fit in a cache: not comparable");
    }
    k->c->cases[i].duel = d;
}

static uint64_t l2_bytes(void)
{
    as_machine machine;
    as_machine_read(&machine);
    for (int i = 0; i < machine.n_caches; i++)
        if (machine.caches[i].level == 2)
            return machine.caches[i].bytes;
    return 0;
}

static assay_status foreign_run(checker *k, int i, const as_lab_settings *s)
{
    const char *const *argv;
    as_lab_settings    own = *s;
    own.sampler.keep_samples = true;
    AS_TRY(as_baseline_words(k->env, &k->c->arena, k->b->cases[i].argv, &argv));
    AS_TRY(as_lab_compare_bins(k->env, k->b->cases[i].name, &argv, &k->b->cases[i].name, 1, &own, &k->c->trials[i]));
    if (k->c->trials[i]->state == AS_TRACE_COMPLETE)
        foreign_note(k, i, k->c->trials[i], l2_bytes());
    return ASSAY_OK;
}

/* --- All ------------------------------------------------------------------------------------------------------- */

/* A case that cannot run says so and the others continue; after a cancel the remaining cases are reported one by one. */
static assay_status case_do(void *arg, int i, const as_lab_settings *s, assay_trace **trial)
{
    checker *k = arg;
    (void)trial; /* the check owns it */
    k->c->cases[i].name = k->b->cases[i].name;
    if (as_cancelled(k->env)) {
        k->c->cases[i].incomplete =
            k->c->trials[i] ? NULL : "not started: stopped early"; /* a case that was about to continue has had its own budget */
        return ASSAY_OK;
    }
    assay_status status = k->foreign ? foreign_run(k, i, s) : case_run(k, i, s);
    if (!k->foreign || status != ASSAY_OK || k->c->trials[i]->state != AS_TRACE_COMPLETE)
        case_note(k, i, &s->rules, status);
    folder_drop(k);
    return ASSAY_OK;
}

assay_status as_baseline_check(assay_env *env, as_store *store, const as_baseline *b, bool cross_machine, const as_lab_settings *s,
                               as_check *out)
{
    checker *k = calloc(1, sizeof *k);
    char     print[17];
    as_machine_fingerprint(print);
    bool foreign = strcmp(print, b->fingerprint);
    if (foreign && !cross_machine) {
        free(k);
        return as_fail(env, ASSAY_BAD_INPUT,
                       "check: the baseline '%s' was made on machine %s and this is %s: times of two machines cannot be "
                       "compared (--cross-machine compares what can be)",
                       b->name, b->fingerprint, print);
    }
    *out = (as_check){.n = b->n_cases};
    out->cases = AS_TAKE(&out->arena, as_check_case, b->n_cases);
    out->trials = AS_TAKE(&out->arena, assay_trace *, b->n_cases);
    out->duels = AS_TAKE(&out->arena, as_duel, b->n_cases);
    if (!k || !out->cases || !out->trials || !out->duels) {
        free(k);
        as_check_drop(out);
        return no_room(env);
    }
    *k = (checker){.env = env, .store = store, .b = b, .c = out, .foreign = foreign};
    assay_status status = as_lab_all(k->env, case_do, k, b->n_cases, s, out->trials);
    free(k);
    return status;
}

/* --- What the options say ---------------------------------------------------------------------------------------- */

static assay_status severities_read(assay_env *env, const char *text, as_duel_rules *rules)
{
    double      value[3];
    char        one[32];
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        size_t n = strcspn(at, ",");
        snprintf(one, sizeof one, "%.*s", (int)(n < 31 ? n : 31), at);
        if (!as_parse_f64(one, &value[i]) || value[i] < 0 || (i && value[i] < value[i - 1]) || (i < 2) != (at[n] == ','))
            return as_fail(env, ASSAY_BAD_INPUT, "option --severity: \"%s\" must be three rising percentages such as 15,30,50",
                           text);
        at += n + (i < 2);
    }
    rules->severity[AS_SEVERITY_MODERATE] = value[0] / 100;
    rules->severity[AS_SEVERITY_MAJOR] = value[1] / 100;
    rules->severity[AS_SEVERITY_CRITICAL] = value[2] / 100;
    return ASSAY_OK;
}

assay_status as_check_options_read(assay_env *env, const assay_options *options, as_check_options *out)
{
    static const as_option_member members[] = {AS_MEMBER(as_check_options, SHARE, "threshold", lab.rules.margin),
                                               AS_MEMBER(as_check_options, BOOL, "cross-machine", cross_machine),
                                               {.key = NULL}};
    const char                   *fail_on = as_options_text(options, "fail-on");
    *out = (as_check_options){.cross_machine = false};
    AS_TRY(as_lab_settings_read(env, options, NULL, &out->lab));
    AS_TRY(as_options_read(env, options, members, out));
    AS_TRY(severities_read(env, as_options_text(options, "severity"), &out->lab.rules));
    if (!as_fail_on_read(fail_on, &out->fail_on))
        return as_fail(env, ASSAY_BAD_INPUT, "option --fail-on: unknown value \"%s\"", fail_on);
    return as_keep_options_read(env, options, &out->store);
}

void as_check_drop(as_check *c)
{
    for (int i = 0; c->trials && i < c->n; i++)
        assay_trace_free(c->trials[i]);
    as_arena_drop(&c->arena);
    *c = (as_check){0};
}
