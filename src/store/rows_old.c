/* rows_old.c - trials as schema 1 of the store kept them, and as files of runs of version 1 hold them: JSON, and the samples as bytes.
 *
 * Only trials that came in this form are still written in it.  The hash is of values, not of the text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/kind.h"
#include "trace/trace_json.h"

enum { SAMPLE_BYTES = 8 };

static assay_status no_room(assay_env *env, const char *name)
{
    return as_fail(env, ASSAY_NO_MEMORY, "store: not enough memory for '%s'", name);
}

/* --- The hash of its values ------------------------------------------------------------------------------- */

/* JSON has one NaN and one zero. */
static void add_f64(as_sha256 *h, double value)
{
    uint64_t bits;
    value = value == 0.0 ? 0.0 : value;
    memcpy(&bits, &value, sizeof bits);
    as_hash_u64(h, isfinite(value) ? bits : UINT64_MAX);
}

static void add_arm(as_sha256 *h, const as_trace_arm *a)
{
    const as_ledger *l = &a->ledger;
    const double     numbers[] = {a->error, a->launch_ns, a->first_ns[0], a->first_ns[1], a->first_ns[2],
                                  l->flops, l->bytes,     l->allocations, l->launches,    l->peak_bytes};
    as_hash_text(h, a->name);
    as_hash_text(h, a->what);
    as_hash_u64(h, a->hash);
    for (size_t i = 0; i < AS_COUNT(numbers); i++)
        add_f64(h, numbers[i]);
    if (isfinite(a->items)) /* runs stored before this member existed keep their hashes */
        add_f64(h, a->items);
}

static void add_turn(as_sha256 *h, const as_turn *t)
{
    const uint32_t counts[] = {t->launch, t->round, t->arm, t->order, t->n_shots, t->switches};
    const double   numbers[] = {t->start_ns, t->wall_ns, t->cpu_ns, t->busy, t->steal, t->fma_ns, t->copy_ns};
    for (size_t i = 0; i < AS_COUNT(counts); i++)
        as_hash_u64(h, counts[i]);
    for (size_t i = 0; i < AS_COUNT(numbers); i++)
        add_f64(h, numbers[i]);
}

static void add_trial(as_sha256 *h, const assay_trace *t, const as_trial_row *row)
{
    const uint64_t counts[] = {t->n_launches,       t->n_rounds, t->calls,
                               t->by_cpu,           t->seed,     (uint64_t)as_trace_unix_time(t),
                               (uint64_t)t->n_arms, t->n_turns,  (uint64_t)t->n_notes,
                               row->samples_bytes};
    const double   numbers[] = {t->clock_cost_ns, t->block_ns, t->budget_ns, t->spent_ns};
    as_hash_text(h, t->name);
    as_hash_text(h, as_trace_state_text(t->state));
    as_hash_text(h, t->reason);
    as_hash_text(h, as_memory_layout_text(t->memory));
    as_hash_text(h, t->fingerprint);
    for (size_t i = 0; i < AS_COUNT(counts); i++)
        as_hash_u64(h, counts[i]);
    for (size_t i = 0; i < AS_COUNT(numbers); i++)
        add_f64(h, numbers[i]);
    for (int i = 0; i < t->n_arms; i++)
        add_arm(h, &t->arms[i]);
    for (size_t i = 0; i < t->n_turns; i++)
        add_turn(h, &t->turns[i]);
    for (size_t i = 0; i < t->n_notes; i++) {
        as_hash_text(h, t->notes[i].key);
        as_hash_text(h, t->notes[i].value);
    }
    as_sha256_add(h, row->samples, row->samples_bytes);
}

/* --- Samples as bytes --------------------------------------------------------------------------------------- */

static void float_put(uint8_t *to, float value)
{
    uint32_t bits = 0x7fc00000; /* one NaN on every machine */
    if (isfinite(value))
        memcpy(&bits, &value, sizeof bits);
    if (value == 0.0f)
        bits = 0;
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(bits >> 8 * i);
}

static float float_get(const uint8_t *from)
{
    uint32_t bits = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    float    value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static size_t shots_of_turns(const assay_trace *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_turns; i++)
        n += t->turns[i].n_shots;
    return n;
}

static assay_status samples_make(assay_env *env, as_arena *arena, const assay_trace *t, as_trial_row *row)
{
    if (!t->n_shots)
        return ASSAY_OK;
    if (t->n_shots != shots_of_turns(t))
        return as_fail(env, ASSAY_BAD_INPUT, "store: '%s' has %zu samples, and its blocks say %zu", t->name, t->n_shots,
                       shots_of_turns(t));
    uint8_t *bytes = as_arena_take(arena, t->n_shots, SAMPLE_BYTES, 8);
    if (!bytes)
        return no_room(env, t->name);
    for (size_t i = 0; i < t->n_shots; i++) {
        float_put(bytes + SAMPLE_BYTES * i, t->shots[i].wall_ns);
        float_put(bytes + SAMPLE_BYTES * i + 4, t->shots[i].cpu_ns);
    }
    row->samples = bytes;
    row->samples_bytes = t->n_shots * SAMPLE_BYTES;
    return ASSAY_OK;
}

/* --- A trial as a row ----------------------------------------------------------------------------------------- */

static assay_status text_of(assay_env *env, as_arena *arena, const assay_trace *t, const char **out)
{
    char   *text = NULL;
    size_t  n = 0;
    as_json w;
    FILE   *file = open_memstream(&text, &n);
    if (!file)
        return no_room(env, t->name);
    as_json_start(&w, file, false);
    as_trace_json_write(t, &w, false);
    bool failed = ferror(file) != 0;
    failed |= fclose(file) != 0;
    *out = failed ? NULL : as_arena_text_n(arena, text, n);
    free(text);
    return *out ? ASSAY_OK : no_room(env, t->name);
}

static assay_status trial_parse(assay_env *env, const char *path, const char *json, assay_trace **out)
{
    json_t *root;
    AS_TRY(as_json_parse(env, "store", path, json, strlen(json), &root));
    assay_status status = as_trace_json_read(env, "store", path, root, out);
    json_decref(root);
    return status;
}

assay_status as_old_trial_make(assay_env *env, as_arena *arena, const assay_trace *t, as_sha256 *h, as_trial_row *row)
{
    assay_trace *again = NULL;
    AS_TRY(samples_make(env, arena, t, row));
    AS_TRY(text_of(env, arena, t, &row->json));
    AS_TRY(trial_parse(env, t->name, row->json, &again));
    row->name = as_arena_text(arena, again->name);
    add_trial(h, again, row); /* hash it as it will be read: text that is not UTF-8 has changed */
    assay_trace_free(again);
    return row->name ? ASSAY_OK : no_room(env, t->name);
}

/* --- And back ------------------------------------------------------------------------------------------------ */

static assay_status samples_read(assay_env *env, const char *path, const as_trial_row *row, assay_trace *t)
{
    size_t n = row->samples_bytes / SAMPLE_BYTES;
    if (!row->samples_bytes)
        return ASSAY_OK;
    if (row->samples_bytes % SAMPLE_BYTES || n != shots_of_turns(t))
        return as_fail(env, ASSAY_BAD_INPUT,
                       "store: %s: '%s' has %zu bytes of samples, and its blocks say %zu samples: the store is damaged", path,
                       t->name, row->samples_bytes, shots_of_turns(t));
    if (!as_trace_reserve_turns(t, 0, n))
        return no_room(env, t->name);
    const uint8_t *bytes = row->samples;
    for (size_t i = 0; i < n; i++)
        t->shots[i] = (as_shot){float_get(bytes + SAMPLE_BYTES * i), float_get(bytes + SAMPLE_BYTES * i + 4)};
    t->n_shots = n;
    return ASSAY_OK;
}

assay_status as_old_trial_read(assay_env *env, const char *path, const as_trial_row *row, assay_trace **out)
{
    assay_trace *t;
    AS_TRY(trial_parse(env, path, row->json, &t));
    assay_status status = samples_read(env, path, row, t);
    if (status != ASSAY_OK)
        assay_trace_free(t);
    else
        *out = t;
    return status;
}
