/* rows.c - trials as rows of a store, and back.
 *
 * A row has the whole record of its trial, the bytes of its trace (trace/stream.h), and the few numbers that history and planning
 * need, so that these do not have to read the record.  The hash of a run covers these bytes and the description of the run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/kind.h"
#include "trace/stream.h"

static assay_status no_room(assay_env *env, const char *name)
{
    return as_fail(env, ASSAY_NO_MEMORY, "store: not enough memory for '%s'", name);
}

/* --- The hash of a content ------------------------------------------------------------------------------- */

void as_hash_u64(as_sha256 *h, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    as_sha256_add(h, bytes, sizeof bytes);
}

void as_hash_text(as_sha256 *h, const char *text)
{
    as_hash_u64(h, strlen(text));
    as_sha256_add(h, text, strlen(text));
}

static void add_run(as_sha256 *h, const as_stored_run *run)
{
    const char *const texts[] = {run->kind, run->title, run->fingerprint, run->commit, run->state, run->report};
    for (size_t i = 0; i < AS_COUNT(texts); i++)
        as_hash_text(h, texts[i]);
    as_hash_u64(h, (uint64_t)run->unix_time);
    as_hash_u64(h, (uint64_t)run->n_trials);
}

static void add_record(as_sha256 *h, const as_trial_row *row)
{
    as_hash_u64(h, row->trace_bytes);
    as_sha256_add(h, row->trace, row->trace_bytes);
}

/* --- A trial as a row ----------------------------------------------------------------------------------------- */

/* What history and planning need.  A pair of candidates has a variance; a single candidate has none that a comparison could use. */
static assay_status columns_make(assay_env *env, as_arena *arena, const assay_trace *t, as_trial_row *row)
{
    row->arms = AS_TAKE(arena, as_arm_row, t->n_arms);
    if (!row->arms)
        return no_room(env, t->name);
    row->n_arms = t->n_arms;
    row->variance = (as_variance){NAN, NAN, NAN, 0};
    for (int i = 0; i < t->n_arms; i++) {
        as_alone alone;
        as_alone_judge(t, i, &alone);
        row->arms[i] = (as_arm_row){as_arena_text(arena, t->arms[i].name), alone.median, alone.lo, alone.hi, alone.p25};
        if (!row->arms[i].name)
            return no_room(env, t->name);
    }
    if (t->n_arms >= 2) {
        as_duel_rules rules;
        as_duel       duel;
        as_duel_rules_standard(&rules);
        as_duel_judge(t, 0, 1, &rules, &duel);
        row->variance = duel.variance;
    }
    return ASSAY_OK;
}

/* Its bytes, and the trial as it is read back from them. */
static assay_status record_make(assay_env *env, as_arena *arena, const assay_trace *t, as_trial_row *row)
{
    uint8_t     *bytes = NULL;
    assay_trace *again = NULL;
    AS_TRY(as_trace_bytes(env, t, &bytes, &row->trace_bytes));
    uint8_t *kept = as_arena_take(arena, row->trace_bytes, 1, 8);
    if (kept)
        memcpy(kept, bytes, row->trace_bytes);
    free(bytes);
    if (!kept)
        return no_room(env, t->name);
    row->trace = kept;
    AS_TRY(as_trial_row_read(env, t->name, row, &again));
    row->name = as_arena_text(arena, again->name);
    assay_trace_free(again);
    return row->name ? ASSAY_OK : no_room(env, t->name);
}

/* The form of a given run: as measured, as bytes that were written before, or as schema 1 kept it. */
typedef enum form { MEASURED, WRITTEN, OLD } form;

static assay_status trial_row_make(assay_env *env, as_arena *arena, const assay_trace *t, form how, as_sha256 *h, as_trial_row *row)
{
    row->state = as_trace_state_text(t->state);
    if (how == OLD)
        AS_TRY(as_old_trial_make(env, arena, t, h, row));
    if (how == MEASURED)
        AS_TRY(record_make(env, arena, t, row));
    if (how == WRITTEN && !(row->name = as_arena_text(arena, t->name)))
        return no_room(env, t->name);
    if (how != OLD)
        add_record(h, row);
    return columns_make(env, arena, t, row);
}

/* Text that JSON can hold: a byte that is not part of a character becomes '?'. */
static const char *clean(as_arena *arena, const char *text)
{
    char *copy = as_arena_text(arena, text ? text : "");
    for (size_t i = 0, n = copy ? strlen(copy) : 0; i < n;) {
        size_t length = as_utf8_length(copy + i, n - i);
        if (!length)
            copy[i] = '?';
        i += length ? length : 1;
    }
    return copy;
}

static assay_status run_row_make(assay_env *env, as_arena *arena, const as_stored_run *run, const assay_trace *const *trials,
                                 form how, as_trial_row *rows, size_t n, as_run_row *out)
{
    as_sha256  h;
    as_run_row row = {.n_trials = n, .trials = rows};
    row.run = (as_stored_run){.kind = clean(arena, run->kind),
                              .title = clean(arena, run->title),
                              .fingerprint = clean(arena, run->fingerprint),
                              .commit = clean(arena, run->commit),
                              .state = clean(arena, run->state),
                              .unix_time = run->unix_time,
                              .n_trials = (int64_t)n,
                              .report = clean(arena, run->report)};
    const as_stored_run *r = &row.run;
    if ((n && !rows) || !r->kind || !r->title || !r->fingerprint || !r->commit || !r->state || !r->report)
        return no_room(env, run->title);
    as_sha256_start(&h);
    add_run(&h, r);
    for (size_t i = 0; i < n; i++)
        AS_TRY(trial_row_make(env, arena, trials[i], how, &h, &rows[i]));
    as_sha256_finish(&h, row.hash);
    *out = row;
    return ASSAY_OK;
}

assay_status as_run_row_make(assay_env *env, as_arena *arena, const as_stored_run *run, const assay_trace *const *trials, size_t n,
                             as_run_row *out)
{
    return run_row_make(env, arena, run, trials, MEASURED, AS_TAKE(arena, as_trial_row, n), n, out);
}

assay_status as_run_row_again(assay_env *env, as_arena *arena, const as_stored_run *run, const assay_trace *const *trials,
                              as_trial_row *rows, size_t n, as_run_row *out)
{
    return run_row_make(env, arena, run, trials, n && !rows[0].trace ? OLD : WRITTEN, rows, n, out);
}

/* --- And back ------------------------------------------------------------------------------------------------ */

assay_status as_trial_row_read(assay_env *env, const char *path, const as_trial_row *row, assay_trace **out)
{
    assay_trace *t;
    if (!row->trace)
        return as_old_trial_read(env, path, row, out);
    AS_TRY(as_trace_parse(env, path, row->trace, row->trace_bytes, &t));
    if (!t->complete) {
        assay_trace_free(t);
        return as_fail(env, ASSAY_BAD_INPUT, "store: %s: the record of '%s' has no end: the store is damaged", path,
                       row->name ? row->name : "");
    }
    *out = t;
    return ASSAY_OK;
}

void as_trials_free(assay_trace **trials, size_t n)
{
    for (size_t i = 0; trials && i < n; i++)
        assay_trace_free(trials[i]);
    free(trials);
}
