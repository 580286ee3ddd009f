/* trace_json.c - writes and reads the candidates (arms) of a trace and their turns as JSON ("assay.trial/1").
 *
 * Blocks are written as columns, one array per field, so that any tool can load them as a table; 64-bit words are hexadecimal
 * text, because many readers take JSON's numbers as doubles. */
#include "trace/trace_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SCHEMA "assay.trial/1"
enum { MAX_ARMS = 1024, MAX_NOTES = 4096 };
#define MAX_TURNS ((size_t)1 << 24)
#define MAX_SHOTS ((size_t)1 << 28)

/* The words of an enum, in the order of its values. */
typedef const char *(*word_of)(int value);
static const char *state_word(int value) { return as_trace_state_text((as_trace_state)value); }
static const char *memory_word(int value) { return as_memory_layout_text((as_memory_layout)value); }
static const char *work_word(int value) { return as_work_text((as_work)value); }
static const char *clock_word(int value) { return value ? "thread CPU time" : "wall time"; }

/* --- Writing ------------------------------------------------------------------------------------------ */

static void hex_write(as_json *w, const char *key, uint64_t value)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    as_json_key_text(w, key, text);
}

/* The fields of a block, one line each: the writer and the reader use this list. */
typedef enum field_type { FIELD_U32, FIELD_F64 } field_type;
typedef struct field {
    const char *key;
    field_type  type;
    size_t      offset;
} field;
#define FIELD(name, type)                    \
    {                                        \
#name, type, offsetof(as_turn, name) \
    }
static const field fields[] = {
    FIELD(launch, FIELD_U32),  FIELD(round, FIELD_U32),    FIELD(arm, FIELD_U32),      FIELD(order, FIELD_U32),
    FIELD(n_shots, FIELD_U32), FIELD(switches, FIELD_U32), FIELD(start_ns, FIELD_F64), FIELD(wall_ns, FIELD_F64),
    FIELD(cpu_ns, FIELD_F64),  FIELD(busy, FIELD_F64),     FIELD(steal, FIELD_F64),    FIELD(fma_ns, FIELD_F64),
    FIELD(copy_ns, FIELD_F64),
};

static void turns_write(const assay_trace *t, as_json *w)
{
    as_json_key(w, "blocks");
    as_json_object(w);
    for (size_t f = 0; f < AS_COUNT(fields); f++) {
        as_json_key(w, fields[f].key);
        as_json_array(w);
        for (size_t i = 0; i < t->n_turns; i++) {
            const char *at = (const char *)&t->turns[i] + fields[f].offset;
            if (fields[f].type == FIELD_U32)
                as_json_u64(w, *(const uint32_t *)(const void *)at);
            else
                as_json_f64(w, *(const double *)(const void *)at);
        }
        as_json_array_end(w);
    }
    as_json_object_end(w);
}

static void shots_write(const assay_trace *t, as_json *w)
{
    as_json_key(w, "samples");
    as_json_object(w);
    for (int cpu = 0; cpu < 2; cpu++) {
        as_json_key(w, cpu ? "cpu_ns" : "wall_ns");
        as_json_array(w);
        for (size_t i = 0; i < t->n_shots; i++)
            as_json_f64(w, (double)(cpu ? t->shots[i].cpu_ns : t->shots[i].wall_ns));
        as_json_array_end(w);
    }
    as_json_object_end(w);
}

/* Optional values of candidates and traces, one line each: left out where unknown. */
typedef struct extra {
    const char *key;
    size_t      offset;
} extra;
static const extra arm_numbers[] = {{"plan_ns", offsetof(as_trace_arm, plan_ns)}};
static const extra arm_texts[] = {{"compared", offsetof(as_trace_arm, compared)},
                                  {"slow", offsetof(as_trace_arm, slow)},
                                  {"elsewhere", offsetof(as_trace_arm, elsewhere)}};
static const extra trace_numbers[] = {{"once_ns", offsetof(assay_trace, once_ns)},
                                      {"twice_ns", offsetof(assay_trace, twice_ns)},
                                      {"difference", offsetof(assay_trace, difference)}};

static void number_put(as_json *w, const char *key, double value)
{
    if (!isnan(value))
        as_json_key_f64(w, key, value);
}

static void text_put(as_json *w, const char *key, const char *value)
{
    if (value && *value)
        as_json_key_text(w, key, value);
}

static void limit_write(const as_limit *l, as_json *w)
{
    if (!(l->ns > 0))
        return;
    as_json_key(w, "limit");
    as_json_object(w);
    as_json_key_f64(w, "ns", l->ns);
    as_json_key_text(w, "name", l->name);
    as_json_key_bool(w, "may_be_low", l->may_be_low);
    as_json_key_bool(w, "on_the_spot", l->on_the_spot);
    as_json_object_end(w);
}

static void arms_write(const assay_trace *t, as_json *w)
{
    as_json_key(w, "arms");
    as_json_array(w);
    for (int i = 0; i < t->n_arms; i++) {
        const as_trace_arm *a = &t->arms[i];
        as_json_object(w);
        as_json_key_text(w, "name", a->name);
        as_json_key_text(w, "what", a->what);
        hex_write(w, "hash", a->hash);
        as_json_key_f64(w, "error", a->error);
        if (!isnan(a->items)) /* a trial from before this key existed is written unchanged */
            as_json_key_f64(w, "items", a->items);
        as_json_key_f64(w, "launch_ns", a->launch_ns);
        for (size_t k = 0; k < AS_COUNT(arm_numbers); k++)
            number_put(w, arm_numbers[k].key, *(const double *)(const void *)((const char *)a + arm_numbers[k].offset));
        if (a->poisoned_hash)
            hex_write(w, "poisoned_hash", a->poisoned_hash);
        for (size_t k = 0; k < AS_COUNT(arm_texts); k++)
            text_put(w, arm_texts[k].key, *(const char *const *)(const void *)((const char *)a + arm_texts[k].offset));
        if (a->work != AS_WORK_OTHER)
            as_json_key_text(w, "work", as_work_text(a->work));
        as_json_key(w, "first_ns");
        as_json_array(w);
        for (int k = 0; k < 3; k++)
            as_json_f64(w, a->first_ns[k]);
        as_json_array_end(w);
        as_json_key(w, "ledger");
        as_json_object(w);
        as_json_key_f64(w, "flops", a->ledger.flops);
        as_json_key_f64(w, "bytes", a->ledger.bytes);
        as_json_key_f64(w, "allocations", a->ledger.allocations);
        as_json_key_f64(w, "launches", a->ledger.launches);
        as_json_key_f64(w, "peak_bytes", a->ledger.peak_bytes);
        as_json_object_end(w);
        limit_write(&a->limit, w);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

void as_trace_json_write(const assay_trace *t, as_json *w, bool with_samples)
{
    as_json_object(w);
    as_json_key_text(w, "schema", SCHEMA);
    as_json_key_text(w, "name", t->name);
    as_json_key_text(w, "state", as_trace_state_text(t->state));
    as_json_key_text(w, "reason", t->reason);
    as_json_key_i64(w, "unix_time", as_trace_unix_time(t));
    as_json_key_text(w, "fingerprint", t->fingerprint);
    hex_write(w, "seed", t->seed);
    as_json_key_text(w, "decided_by", clock_word(t->by_cpu));
    as_json_key_text(w, "memory", as_memory_layout_text(t->memory));
    as_json_key_u64(w, "calls", t->calls);
    as_json_key_u64(w, "n_launches", t->n_launches);
    as_json_key_u64(w, "n_rounds", t->n_rounds);
    as_json_key_f64(w, "clock_cost_ns", t->clock_cost_ns);
    as_json_key_f64(w, "block_ns", t->block_ns);
    as_json_key_f64(w, "budget_ns", t->budget_ns);
    as_json_key_f64(w, "spent_ns", t->spent_ns);
    as_json_key_u64(w, "warm_up_rounds", t->warm_up_rounds);
    for (size_t k = 0; k < AS_COUNT(trace_numbers); k++)
        number_put(w, trace_numbers[k].key, *(const double *)(const void *)((const char *)t + trace_numbers[k].offset));
    as_json_key(w, "notes");
    as_json_array(w);
    for (size_t i = 0; i < t->n_notes; i++) {
        as_json_array(w);
        as_json_text(w, t->notes[i].key);
        as_json_text(w, t->notes[i].value);
        as_json_array_end(w);
    }
    as_json_array_end(w);
    arms_write(t, w);
    turns_write(t, w);
    if (with_samples && t->n_shots)
        shots_write(t, w);
    if (t->n_steps && t->n_spans)
        as_trace_steps_write(t, w);
    as_json_object_end(w);
}

/* --- Reading ------------------------------------------------------------------------------------------ */

typedef struct reader {
    assay_env   *env;
    const char  *what, *path;
    assay_trace *t;
} reader;

static assay_status refuse(const reader *r, const char *key, const char *why)
{
    return as_fail(r->env, ASSAY_BAD_INPUT, "%s: %s: trial: \"%s\" %s", r->what, r->path, key, why);
}

static assay_status text_read(const reader *r, const json_t *o, const char *key, const char **out)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_string(v))
        return refuse(r, key, "is missing or not a text");
    *out = as_arena_text_n(&r->t->arena, json_string_value(v), json_string_length(v));
    return *out ? ASSAY_OK : as_fail(r->env, ASSAY_NO_MEMORY, "%s: %s: not enough memory for a trial", r->what, r->path);
}

/* null is NaN. */
static bool number(const json_t *v, double *out)
{
    if (json_is_null(v))
        *out = NAN;
    else if (json_is_number(v))
        *out = json_number_value(v);
    else
        return false;
    return true;
}

static assay_status f64_read(const reader *r, const json_t *o, const char *key, double *out)
{
    return number(json_object_get(o, key), out) ? ASSAY_OK : refuse(r, key, "is missing or not a number");
}

static assay_status u32_read(const reader *r, const json_t *o, const char *key, uint32_t *out)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > UINT32_MAX)
        return refuse(r, key, "is missing or not a whole number of 32 bits");
    *out = (uint32_t)json_integer_value(v);
    return ASSAY_OK;
}

static assay_status hex_read(const reader *r, const json_t *o, const char *key, uint64_t *out)
{
    const char *text = json_string_value(json_object_get(o, key));
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return refuse(r, key, "is missing or not 16 hexadecimal digits");
    *out = strtoull(text, NULL, 16);
    return ASSAY_OK;
}

static assay_status choice_read(const reader *r, const json_t *o, const char *key, word_of word, int n, int *out)
{
    const char *text = json_string_value(json_object_get(o, key));
    for (int i = 0; text && i < n; i++)
        if (!strcmp(text, word(i))) {
            *out = i;
            return ASSAY_OK;
        }
    return refuse(r, key, "is missing or not a known word");
}

static assay_status numbers_read(const reader *r, const json_t *o, const extra *list, size_t n, void *item)
{
    for (size_t k = 0; k < n; k++)
        if (json_object_get(o, list[k].key))
            AS_TRY(f64_read(r, o, list[k].key, (double *)(void *)((char *)item + list[k].offset)));
    return ASSAY_OK;
}

/* Older files do not have it. */
static assay_status limit_read(const reader *r, const json_t *o, as_limit *out)
{
    as_limit l = AS_LIMIT_NONE;
    if (!o)
        return ASSAY_OK;
    AS_TRY(f64_read(r, o, "ns", &l.ns));
    AS_TRY(text_read(r, o, "name", &l.name));
    if (!(l.ns > 0 && isfinite(l.ns)))
        return refuse(r, "limit", "is not a time above 0");
    l.may_be_low = json_is_true(json_object_get(o, "may_be_low"));
    l.on_the_spot = json_is_true(json_object_get(o, "on_the_spot"));
    *out = l;
    return ASSAY_OK;
}

static assay_status arm_read(const reader *r, const json_t *o, as_trace_arm *a)
{
    AS_TRY(text_read(r, o, "name", &a->name));
    AS_TRY(text_read(r, o, "what", &a->what));
    AS_TRY(hex_read(r, o, "hash", &a->hash));
    AS_TRY(f64_read(r, o, "error", &a->error));
    if (json_object_get(o, "items"))
        AS_TRY(f64_read(r, o, "items", &a->items));
    if (!isnan(a->items) && !(a->items > 0 && isfinite(a->items)))
        return refuse(r, "items", "is not a number above 0");
    AS_TRY(f64_read(r, o, "launch_ns", &a->launch_ns));
    AS_TRY(numbers_read(r, o, arm_numbers, AS_COUNT(arm_numbers), a));
    if (json_object_get(o, "poisoned_hash"))
        AS_TRY(hex_read(r, o, "poisoned_hash", &a->poisoned_hash));
    for (size_t k = 0; k < AS_COUNT(arm_texts); k++)
        if (json_object_get(o, arm_texts[k].key))
            AS_TRY(text_read(r, o, arm_texts[k].key, (const char **)(void *)((char *)a + arm_texts[k].offset)));
    int work = AS_WORK_OTHER;
    if (json_object_get(o, "work"))
        AS_TRY(choice_read(r, o, "work", work_word, AS_N_WORKS, &work));
    a->work = (as_work)work;
    const json_t *first = json_object_get(o, "first_ns"), *ledger = json_object_get(o, "ledger");
    if (json_array_size(first) != 3)
        return refuse(r, "first_ns", "is not an array of three");
    for (size_t k = 0; k < 3; k++)
        if (!number(json_array_get(first, k), &a->first_ns[k]))
            return refuse(r, "first_ns", "contains a value that is not a number");
    AS_TRY(f64_read(r, ledger, "flops", &a->ledger.flops));
    AS_TRY(f64_read(r, ledger, "bytes", &a->ledger.bytes));
    AS_TRY(f64_read(r, ledger, "allocations", &a->ledger.allocations));
    AS_TRY(f64_read(r, ledger, "launches", &a->ledger.launches));
    AS_TRY(f64_read(r, ledger, "peak_bytes", &a->ledger.peak_bytes));
    return limit_read(r, json_object_get(o, "limit"), &a->limit);
}

static assay_status column_read(const reader *r, const json_t *blocks, const field *f)
{
    const json_t *column = json_object_get(blocks, f->key);
    if (!json_is_array(column) || json_array_size(column) != r->t->n_turns)
        return refuse(r, f->key, "is missing, or does not have one value per block");
    for (size_t i = 0; i < r->t->n_turns; i++) {
        const json_t *v = json_array_get(column, i);
        void         *at = (char *)&r->t->turns[i] + f->offset;
        if (f->type == FIELD_F64 && !number(v, at))
            return refuse(r, f->key, "contains a value that is not a number");
        if (f->type == FIELD_U32) {
            if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > UINT32_MAX)
                return refuse(r, f->key, "contains a value that is not a whole number of 32 bits");
            *(uint32_t *)at = (uint32_t)json_integer_value(v);
        }
    }
    return ASSAY_OK;
}

/* Blocks must be ordered by launch and round, and every index of a candidate must exist. */
static assay_status turns_check(const reader *r)
{
    size_t shots = 0;
    for (size_t i = 0; i < r->t->n_turns; i++) {
        as_turn *turn = &r->t->turns[i], *last = i ? turn - 1 : NULL;
        if (turn->arm >= (uint32_t)r->t->n_arms)
            return refuse(r, "arm", "names a candidate that does not exist");
        if (last && (turn->launch < last->launch || turn->round < last->round))
            return refuse(r, "round", "goes backwards");
        turn->first_shot = (uint32_t)shots;
        shots += turn->n_shots;
        if (shots > MAX_SHOTS)
            return refuse(r, "n_shots", "adds up to more samples than can be");
    }
    return ASSAY_OK;
}

static assay_status shots_read(const reader *r, const json_t *o)
{
    const json_t *samples = json_object_get(o, "samples");
    const json_t *wall = json_object_get(samples, "wall_ns"), *cpu = json_object_get(samples, "cpu_ns");
    if (!samples)
        return ASSAY_OK;
    const as_turn *last = r->t->n_turns ? &r->t->turns[r->t->n_turns - 1] : NULL;
    size_t         n = last ? (size_t)last->first_shot + last->n_shots : 0;
    if (json_array_size(wall) != n || json_array_size(cpu) != n)
        return refuse(r, "samples", "are not as many as the blocks say");
    if (!as_trace_reserve_turns(r->t, 0, n))
        return as_fail(r->env, ASSAY_NO_MEMORY, "%s: %s: not enough memory for %zu samples", r->what, r->path, n);
    for (size_t i = 0; i < n; i++) {
        double w, c;
        if (!number(json_array_get(wall, i), &w) || !number(json_array_get(cpu, i), &c))
            return refuse(r, "samples", "contains a value that is not a number");
        r->t->shots[r->t->n_shots++] = (as_shot){(float)w, (float)c};
    }
    return ASSAY_OK;
}

static assay_status notes_read(const reader *r, const json_t *o)
{
    const json_t *notes = json_object_get(o, "notes");
    if (!json_is_array(notes) || json_array_size(notes) > MAX_NOTES)
        return refuse(r, "notes", "are missing or too many");
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const char *key = json_string_value(json_array_get(json_array_get(notes, i), 0));
        const char *value = json_string_value(json_array_get(json_array_get(notes, i), 1));
        if (!key || !value)
            return refuse(r, "notes", "are not pairs of text");
        if (!as_trace_add_note(r->t, key, "%s", value))
            return as_fail(r->env, ASSAY_NO_MEMORY, "%s: %s: not enough memory for notes", r->what, r->path);
    }
    return ASSAY_OK;
}

static assay_status head_read(const reader *r, const json_t *o)
{
    assay_trace *t = r->t;
    int          choice = 0;
    const char  *print = json_string_value(json_object_get(o, "fingerprint"));
    AS_TRY(text_read(r, o, "name", &t->name));
    AS_TRY(choice_read(r, o, "state", state_word, AS_TRACE_N_STATES, &choice));
    t->state = (as_trace_state)choice;
    AS_TRY(text_read(r, o, "reason", &t->reason));
    if (!json_is_integer(json_object_get(o, "unix_time")))
        return refuse(r, "unix_time", "is missing or not a whole number");
    int64_t seconds = json_integer_value(json_object_get(o, "unix_time"));
    if (seconds < 0 || seconds > INT64_MAX / 1000000000)
        return refuse(r, "unix_time", "is outside what a date can be");
    t->start_unix_ns = (uint64_t)seconds * 1000000000u;
    if (!print || strlen(print) >= sizeof t->fingerprint)
        return refuse(r, "fingerprint", "is missing or too long");
    memcpy(t->fingerprint, print, strlen(print) + 1);
    AS_TRY(hex_read(r, o, "seed", &t->seed));
    AS_TRY(choice_read(r, o, "decided_by", clock_word, 2, &choice));
    t->by_cpu = choice == 1;
    AS_TRY(choice_read(r, o, "memory", memory_word, AS_N_MEMORY_LAYOUTS, &choice));
    t->memory = (as_memory_layout)choice;
    AS_TRY(u32_read(r, o, "calls", &t->calls));
    AS_TRY(u32_read(r, o, "n_launches", &t->n_launches));
    AS_TRY(u32_read(r, o, "n_rounds", &t->n_rounds));
    AS_TRY(f64_read(r, o, "clock_cost_ns", &t->clock_cost_ns));
    AS_TRY(f64_read(r, o, "block_ns", &t->block_ns));
    AS_TRY(f64_read(r, o, "budget_ns", &t->budget_ns));
    AS_TRY(f64_read(r, o, "spent_ns", &t->spent_ns));
    if (json_object_get(o, "warm_up_rounds"))
        AS_TRY(u32_read(r, o, "warm_up_rounds", &t->warm_up_rounds));
    AS_TRY(numbers_read(r, o, trace_numbers, AS_COUNT(trace_numbers), t));
    return notes_read(r, o);
}

static assay_status body_read(const reader *r, const json_t *o)
{
    const json_t *arms = json_object_get(o, "arms"), *blocks = json_object_get(o, "blocks");
    for (int i = 0; i < r->t->n_arms; i++)
        AS_TRY(arm_read(r, json_array_get(arms, (size_t)i), &r->t->arms[i]));
    size_t n = json_array_size(json_object_get(blocks, fields[0].key));
    if (!json_is_object(blocks) || n > MAX_TURNS)
        return refuse(r, "blocks", "are missing or too many");
    if (!as_trace_reserve_turns(r->t, n, 0))
        return as_fail(r->env, ASSAY_NO_MEMORY, "%s: %s: not enough memory for %zu blocks", r->what, r->path, n);
    r->t->n_turns = n;
    for (size_t f = 0; f < AS_COUNT(fields); f++)
        AS_TRY(column_read(r, blocks, &fields[f]));
    AS_TRY(turns_check(r));
    AS_TRY(shots_read(r, o));
    const json_t *layers = json_object_get(o, "layers");
    return layers ? as_trace_steps_read(r->env, r->what, r->path, layers, r->t) : ASSAY_OK;
}

assay_status as_trace_json_read(assay_env *env, const char *what, const char *path, const json_t *object, assay_trace **out)
{
    reader        r = {.env = env, .what = what, .path = path};
    const char   *schema = json_string_value(json_object_get(object, "schema"));
    const json_t *arms = json_object_get(object, "arms");
    if (!schema || strcmp(schema, SCHEMA))
        return as_fail(env, ASSAY_BAD_INPUT, "%s: %s: trial: its schema is '%s' and not " SCHEMA, what, path,
                       schema ? schema : "missing");
    if (!json_is_array(arms) || !json_array_size(arms) || json_array_size(arms) > MAX_ARMS)
        return refuse(&r, "arms", "are missing or too many");
    if (as_trace_new_arms(NULL, "", (int)json_array_size(arms), &r.t) != ASSAY_OK) /* with its own clock, not this env's */
        return as_fail(env, ASSAY_NO_MEMORY, "%s: %s: not enough memory for a trial", what, path);
    assay_status status = head_read(&r, object);
    if (status == ASSAY_OK)
        status = body_read(&r, object);
    if (status != ASSAY_OK) {
        assay_trace_free(r.t);
        return status;
    }
    *out = r.t;
    return ASSAY_OK;
}
