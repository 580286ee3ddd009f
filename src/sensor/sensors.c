/* sensors.c - opens the sensors of the table and turns what they read into readings of a trace. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

typedef struct item {
    const as_sensor *sensor;
    void            *state;
    bool             is_on, is_open;
    bool             available[AS_SENSOR_MAX_VALUES];
    char             why[AS_SENSOR_MAX_VALUES][256];
} item;

struct as_sensors {
    item  *items;
    size_t n_items;
    size_t n_values; /* available ones */
};

/* --- Which ---------------------------------------------------------------------------------------------- */

static size_t table_count(void)
{
    size_t n = 0;
    while (as_sn_table[n])
        n++;
    return n;
}

static assay_status unknown_name(assay_env *env, const char *name)
{
    const char *words[64];
    size_t      n = 0;
    as_text     all = {0};
    for (size_t i = 0; as_sn_table[i]; i++) {
        as_text_printf(&all, "%s%s", i ? ", " : "", as_sn_table[i]->name);
        if (n + 1 < AS_COUNT(words))
            words[n++] = as_sn_table[i]->name;
    }
    words[n] = NULL;
    const char *near = as_nearest(name, words);
    as_fail(env, ASSAY_BAD_INPUT, "sensors: unknown sensor \"%s\"%s%s%s; use all, none, or some of %s", name,
            near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "", all.data ? all.data : "nothing");
    as_text_drop(&all);
    return ASSAY_BAD_INPUT;
}

static assay_status name_switch_on(assay_env *env, as_sensors *s, const char *name, size_t n)
{
    char copy[64];
    snprintf(copy, sizeof copy, "%.*s", (int)(n < sizeof copy ? n : sizeof copy), name);
    for (size_t i = 0; i < s->n_items; i++) {
        if (!strcmp(s->items[i].sensor->name, copy)) {
            s->items[i].is_on = true;
            return ASSAY_OK;
        }
    }
    return unknown_name(env, copy);
}

static assay_status choose(assay_env *env, as_sensors *s, const char *which)
{
    bool first_all = !which || (!strncmp(which, "all", 3) && (!which[3] || which[3] == ','));
    for (size_t i = 0; i < s->n_items; i++)
        s->items[i].is_on = first_all && !s->items[i].sensor->asked_by;
    if (!which || !strcmp(which, "all") || !strcmp(which, "none"))
        return ASSAY_OK;
    for (const char *at = first_all ? which + 4 : which;;) {
        size_t n = strcspn(at, ",");
        AS_TRY(name_switch_on(env, s, at, n));
        if (!at[n])
            return ASSAY_OK;
        at += n + 1;
    }
}

/* --- Opening -------------------------------------------------------------------------------------------- */

static void item_open(item *it)
{
    const as_sensor *sensor = it->sensor;
    it->is_open = sensor->open(it->state, it->available, it->why);
    for (int i = 0; i < sensor->n_values; i++) {
        it->available[i] = it->available[i] && it->is_open;
        if (!it->available[i] && !it->why[i][0])
            snprintf(it->why[i], sizeof it->why[i], "%s cannot be read here", sensor->values[i].source);
    }
}

/* A word of ASSAY_WITHOUT that takes nothing away would let a test pass that tests nothing. */
static assay_status without_check(assay_env *env)
{
    static const char *const rungs[] = {"pmu",  "perf",  "tsc",  "psi",      "rapl",     "temp",
                                        "freq", "steal", "dram", "ioreport", "valgrind", NULL};
    for (const char *at = getenv("ASSAY_WITHOUT"); at && *at;) {
        char   word[32];
        size_t n = strcspn(at, ",");
        bool   known = false;
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), at);
        for (const char *const *r = rungs; *r; r++)
            known = known || !strcmp(*r, word);
        if (!known)
            return as_fail(
                env, ASSAY_BAD_INPUT,
                "sensors: ASSAY_WITHOUT holds '%s', which is not one of pmu, perf, tsc, psi, rapl, temp, freq, steal, dram, ioreport and "
                "valgrind",
                word);
        at += n;
        at += *at == ',';
    }
    return ASSAY_OK;
}

assay_status as_sensors_open(assay_env *env, const char *which, as_sensors **out)
{
    AS_TRY(without_check(env));
    as_sensors *s = calloc(1, sizeof *s);
    if (s)
        s->items = calloc(table_count() + 1, sizeof *s->items);
    if (!s || !s->items) {
        free(s);
        return as_fail(env, ASSAY_NO_MEMORY, "sensors: not enough memory for %zu sensors", table_count());
    }
    s->n_items = table_count();
    for (size_t i = 0; i < s->n_items; i++)
        s->items[i].sensor = as_sn_table[i];
    assay_status status = choose(env, s, which);
    for (size_t i = 0; i < s->n_items && status == ASSAY_OK; i++) {
        item *it = &s->items[i];
        if (!it->is_on) {
            for (int j = 0; j < it->sensor->n_values; j++) {
                if (it->sensor->asked_by && (!which || !strncmp(which, "all", 3)))
                    snprintf(it->why[j], sizeof it->why[j], "not asked for: --%s reads it", it->sensor->asked_by);
                else
                    snprintf(it->why[j], sizeof it->why[j], "switched off by --sensors");
            }
            continue;
        }
        it->state = calloc(1, it->sensor->state_bytes ? it->sensor->state_bytes : 1);
        if (!it->state)
            status = as_fail(env, ASSAY_NO_MEMORY, "sensors: not enough memory for %s", it->sensor->name);
        else
            item_open(it);
        for (int j = 0; j < it->sensor->n_values; j++)
            s->n_values += it->available[j];
    }
    if (status != ASSAY_OK) {
        as_sensors_close(s);
        return status;
    }
    *out = s;
    return ASSAY_OK;
}

void as_sensors_close(as_sensors *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_items; i++) {
        item *it = &s->items[i];
        if (it->is_open && it->sensor->close)
            it->sensor->close(it->state);
        free(it->state);
    }
    free(s->items);
    free(s);
}

/* --- Reading -------------------------------------------------------------------------------------------- */

assay_status as_sensors_describe(assay_env *env, const as_sensors *s, assay_trace *t)
{
    for (size_t i = 0; i < s->n_items; i++) {
        const item *it = &s->items[i];
        for (int j = 0; j < it->sensor->n_values; j++) {
            const as_sensor_value *value = &it->sensor->values[j];
            char                   source[256];
            snprintf(source, sizeof source, "%s%s", as_replays() ? "replay of a recording: " : "", value->source);
            as_trace_sensor sensor = {.name = value->name,
                                      .unit = value->unit,
                                      .source = source,
                                      .meaning = value->meaning,
                                      .reason = it->available[j] ? NULL : it->why[j]};
            if (as_trace_add_sensor(t, &sensor) < 0)
                return as_fail(env, ASSAY_NO_MEMORY, "sensors: not enough memory to describe %s", value->name);
        }
    }
    return ASSAY_OK;
}

size_t as_sensors_n_values(const as_sensors *s) { return s->n_values; }

/* Where as_sensors_describe() put the first value; n_sensors if it did not.  A trace may hold other sensors before. */
static size_t first_in(const as_sensors *s, const assay_trace *t)
{
    size_t i = 0;
    while (s->n_items && i < t->n_sensors && strcmp(t->sensors[i].name, s->items[0].sensor->values[0].name))
        i++;
    return i;
}

void as_sensors_read(as_sensors *s, bool only_per_sample, uint64_t ticks, uint32_t sample, assay_trace *t)
{
    size_t id = first_in(s, t);
    for (size_t i = 0; i < s->n_items; id += (size_t)s->items[i].sensor->n_values, i++) {
        const item *it = &s->items[i];
        double      values[AS_SENSOR_MAX_VALUES];
        if (!it->is_open || (only_per_sample && !it->sensor->per_sample))
            continue;
        it->sensor->read(it->state, values);
        for (int j = 0; j < it->sensor->n_values; j++)
            if (it->available[j] && !isnan(values[j]) && id + (size_t)j < t->n_sensors)
                as_trace_add_reading(
                    t, &(as_reading){.ticks = ticks, .value = values[j], .sensor = (uint32_t)(id + (size_t)j), .sample = sample});
    }
}
