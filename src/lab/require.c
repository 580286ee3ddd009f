/* require.c - the reader of requirement profiles, and the settings that one suggests.  The file is user input: strict, with sentences. */
#include "lab/require.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "model/model.h"

#define SCHEMA    "assay.requirements/1"
#define MAX_BYTES (1u << 20)

static const char *const of_names[AS_N_OF] = {"", "compute limit", "memory limit", "machine memory"};

/* --- Reading --------------------------------------------------------------------------------------------------- */

typedef struct reader {
    assay_env       *env;
    const char      *path;
    as_requirements *r;
    json_t          *limits; /* of the machine; NULL: none */
    char             place[160];
} reader;

static assay_status complain(const reader *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
static assay_status complain(const reader *x, const char *format, ...)
{
    char    text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return as_fail(x->env, ASSAY_BAD_INPUT, "requirements: %s: %s: %s", x->path, x->place, text);
}

static assay_status keys_only(const reader *x, json_t *object, const char *const *keys)
{
    const char *key;
    json_t     *value;
    if (!json_is_object(object))
        return complain(x, "expected an object");
    json_object_foreach(object, key, value)
    {
        bool known = false;
        for (const char *const *k = keys; *k && !known; k++)
            known = !strcmp(*k, key);
        if (!known)
            return complain(x, "unknown key \"%.80s\"", key);
    }
    return ASSAY_OK;
}

static assay_status text_get(const reader *x, json_t *object, const char *key, bool needed, const char **out)
{
    json_t *value = json_object_get(object, key);
    *out = "";
    if (!value && !needed)
        return ASSAY_OK;
    if (!json_is_string(value) || (needed && !*json_string_value(value)))
        return complain(x, "\"%s\": expected %s text", key, needed ? "a non-empty" : "a");
    *out = as_arena_text(&x->r->arena, json_string_value(value));
    return *out ? ASSAY_OK : as_fail(x->env, ASSAY_NO_MEMORY, "requirements: %s: not enough memory", x->path);
}

static assay_status number_get(const reader *x, json_t *object, const char *key, double lo, double hi, double *out)
{
    json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        return complain(x, "\"%s\": expected a number", key);
    double number = json_number_value(value);
    if (!(number >= lo && number <= hi))
        return complain(x, "\"%s\" is %g: expected a number from %g to %g", key, number, lo, hi);
    *out = number;
    return ASSAY_OK;
}

/* The machine's own limit for a key; none: NaN. */
static assay_status limit_find(reader *x, as_requirement *row)
{
    row->most = row->least_most = (double)NAN;
    row->most_text = "";
    for (size_t i = 0; i < json_array_size(x->limits); i++) {
        json_t     *one = json_array_get(x->limits, i);
        const char *key = json_string_value(json_object_get(one, "key"));
        const char *unit = json_string_value(json_object_get(one, "unit"));
        if (strcmp(key, row->key))
            continue;
        if (strcmp(unit, row->unit))
            return complain(x, "the unit is %s, but that of the machine's limit is %s", row->unit, unit);
        row->most = json_number_value(json_object_get(one, "value"));
        json_t *least = json_object_get(one, "least");
        row->least_most = least ? json_number_value(least) : row->most;
        AS_TRY(text_get(x, one, "text", false, &row->most_text));
    }
    return ASSAY_OK;
}

static assay_status of_read(const reader *x, json_t *object, as_requirement *row)
{
    const char *of;
    AS_TRY(number_get(x, object, "fraction", 0, 1000, &row->fraction));
    AS_TRY(text_get(x, object, "of", true, &of));
    for (int i = 1; i < AS_N_OF; i++)
        if (!strcmp(of_names[i], of))
            row->of = (as_require_of)i;
    return row->of ? ASSAY_OK : complain(x, "\"of\" is \"%.60s\": expected compute limit, memory limit or machine memory", of);
}

static assay_status row_read(reader *x, json_t *object, as_requirement *row)
{
    static const char *const keys[] = {"key", "direction", "value", "fraction", "of", "unit", "text", NULL};
    const char              *direction;
    AS_TRY(keys_only(x, object, keys));
    AS_TRY(text_get(x, object, "key", true, &row->key));
    AS_TRY(text_get(x, object, "unit", true, &row->unit));
    AS_TRY(text_get(x, object, "text", false, &row->text));
    AS_TRY(text_get(x, object, "direction", true, &direction));
    row->is_floor = !strcmp(direction, "floor");
    if (!row->is_floor && strcmp(direction, "budget"))
        return complain(x, "\"direction\" is \"%.40s\": expected floor (at least) or budget (at most)", direction);
    bool has_value = json_object_get(object, "value") != NULL, has_fraction = json_object_get(object, "fraction") != NULL;
    if (has_value == has_fraction)
        return complain(x, "expected either \"value\" or \"fraction\" with \"of\"");
    if (has_value && json_object_get(object, "of"))
        return complain(x, "\"of\" belongs to \"fraction\"");
    row->value = row->fraction = (double)NAN;
    if (has_value)
        AS_TRY(number_get(x, object, "value", 0, 1e18, &row->value));
    else
        AS_TRY(of_read(x, object, row));
    return limit_find(x, row);
}

static assay_status rows_read(reader *x, json_t *rows)
{
    as_requirements *r = x->r;
    if (!json_is_array(rows) || !json_array_size(rows) || json_array_size(rows) > AS_MAX_REQUIREMENTS)
        return complain(x, "\"rows\": expected an array of 1 to %d", AS_MAX_REQUIREMENTS);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        snprintf(x->place, sizeof x->place, "level %.60s, row %zu", r->level, i + 1);
        AS_TRY(row_read(x, json_array_get(rows, i), &r->rows[r->n_rows]));
        r->n_rows++;
    }
    return ASSAY_OK;
}

/* All levels are checked, one is kept. */
static assay_status levels_read(reader *x, json_t *levels, const char *wanted)
{
    static const char *const keys[] = {"name", "rows", NULL};
    as_requirements         *r = x->r;
    char                     names[256] = "";
    as_requirement          *chosen = NULL;
    int                      n_chosen = 0;
    const char              *level = NULL;
    if (!json_is_array(levels) || !json_array_size(levels) || json_array_size(levels) > 16)
        return complain(x, "\"levels\": expected an array of 1 to 16");
    for (size_t i = 0; i < json_array_size(levels); i++) {
        json_t *one = json_array_get(levels, i);
        snprintf(x->place, sizeof x->place, "level %zu", i + 1);
        AS_TRY(keys_only(x, one, keys));
        AS_TRY(text_get(x, one, "name", true, &r->level));
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "", r->level);
        r->n_rows = 0;
        AS_TRY(rows_read(x, json_object_get(one, "rows")));
        if (chosen || (wanted && strcmp(wanted, r->level)))
            continue;
        chosen = AS_TAKE(&r->arena, as_requirement, r->n_rows);
        if (!chosen)
            return as_fail(x->env, ASSAY_NO_MEMORY, "requirements: %s: not enough memory", x->path);
        memcpy(chosen, r->rows, (size_t)r->n_rows * sizeof *chosen);
        n_chosen = r->n_rows;
        level = r->level;
    }
    if (!chosen)
        return as_fail(x->env, ASSAY_NOT_FOUND, "requirements: %s has no level \"%s\"; it has %s", x->path, wanted, names);
    memcpy(r->rows, chosen, (size_t)n_chosen * sizeof *chosen);
    r->n_rows = n_chosen;
    r->level = level;
    return ASSAY_OK;
}

static assay_status machine_read(reader *x, json_t *machine)
{
    static const char *const keys[] = {"name", "limits", NULL}, *const limit_keys[] = {"key",  "value", "least",
                                                                                       "unit", "text",  NULL};
    double      value, least;
    const char *text;
    x->r->machine = "";
    if (!machine)
        return ASSAY_OK;
    snprintf(x->place, sizeof x->place, "machine");
    AS_TRY(keys_only(x, machine, keys));
    AS_TRY(text_get(x, machine, "name", true, &x->r->machine));
    x->limits = json_object_get(machine, "limits");
    if (x->limits && (!json_is_array(x->limits) || json_array_size(x->limits) > AS_MAX_REQUIREMENTS))
        return complain(x, "\"limits\": expected an array of at most %d", AS_MAX_REQUIREMENTS);
    for (size_t i = 0; i < json_array_size(x->limits); i++) {
        json_t *one = json_array_get(x->limits, i);
        snprintf(x->place, sizeof x->place, "machine, limit %zu", i + 1);
        AS_TRY(keys_only(x, one, limit_keys));
        AS_TRY(text_get(x, one, "key", true, &text));
        AS_TRY(text_get(x, one, "unit", true, &text));
        AS_TRY(text_get(x, one, "text", false, &text));
        AS_TRY(number_get(x, one, "value", 0, 1e18, &value));
        if (json_object_get(one, "least"))
            AS_TRY(number_get(x, one, "least", 0, value, &least));
    }
    return ASSAY_OK;
}

static assay_status count_get(const reader *x, json_t *object, const char *key, int64_t *out)
{
    double value;
    *out = 0;
    if (!json_object_get(object, key))
        return ASSAY_OK;
    AS_TRY(number_get(x, object, key, 1, 1048576, &value));
    if (value != floor(value))
        return complain(x, "\"%s\": expected a whole number", key);
    *out = (int64_t)value;
    return ASSAY_OK;
}

static bool is_plain(const char *s)
{
    if (!*s)
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_' && *s != '.' && *s != '-')
            return false;
    return true;
}

static assay_status preset_read(reader *x, json_t *preset)
{
    static const char *const keys[] = {"batch", "seq", "model", NULL};
    as_preset               *p = &x->r->preset;
    const char              *key;
    json_t                  *value;
    if (!preset)
        return ASSAY_OK;
    snprintf(x->place, sizeof x->place, "preset");
    AS_TRY(keys_only(x, preset, keys));
    AS_TRY(count_get(x, preset, "batch", &p->batch));
    AS_TRY(count_get(x, preset, "seq", &p->seq));
    json_t *model = json_object_get(preset, "model");
    if (model && !json_is_object(model))
        return complain(x, "\"model\": expected an object of texts");
    json_object_foreach(model, key, value)
    {
        if (p->n_params == AS_MAX_PRESET_PARAMS)
            return complain(x, "\"model\" has more than %d parameters", AS_MAX_PRESET_PARAMS);
        if (!json_is_string(value) || !is_plain(key) || !is_plain(json_string_value(value)))
            return complain(x, "\"model\": \"%.60s\": expected a text of letters, digits, _, . and -", key);
        p->keys[p->n_params] = as_arena_text(&x->r->arena, key);
        p->values[p->n_params] = as_arena_text(&x->r->arena, json_string_value(value));
        if (!p->keys[p->n_params] || !p->values[p->n_params])
            return as_fail(x->env, ASSAY_NO_MEMORY, "requirements: %s: not enough memory", x->path);
        p->n_params++;
    }
    p->is_set = true;
    return ASSAY_OK;
}

static assay_status root_read(reader *x, json_t *root, const char *level)
{
    static const char *const keys[] = {"schema", "name", "text", "machine", "preset", "levels", NULL};
    const char              *schema;
    snprintf(x->place, sizeof x->place, "top level");
    AS_TRY(keys_only(x, root, keys));
    AS_TRY(text_get(x, root, "schema", true, &schema));
    if (strcmp(schema, SCHEMA))
        return complain(x, "\"schema\" is \"%.60s\"; this reader knows \"" SCHEMA "\"", schema);
    AS_TRY(text_get(x, root, "name", true, &x->r->name));
    AS_TRY(text_get(x, root, "text", false, &x->r->text));
    AS_TRY(machine_read(x, json_object_get(root, "machine")));
    AS_TRY(preset_read(x, json_object_get(root, "preset")));
    snprintf(x->place, sizeof x->place, "top level");
    return levels_read(x, json_object_get(root, "levels"), level);
}

assay_status as_requirements_parse(assay_env *env, const char *path, const char *data, size_t n, const char *level,
                                   as_requirements **out)
{
    json_error_t error;
    json_t      *root = json_loadb(data, n, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return as_fail(env, ASSAY_BAD_INPUT, "requirements: %s: line %d, column %d: %s", path, error.line, error.column,
                       error.text);
    as_requirements *r = calloc(1, sizeof *r);
    reader           x = {.env = env, .path = path, .r = r};
    assay_status     status =
        r ? root_read(&x, root, level) : as_fail(env, ASSAY_NO_MEMORY, "requirements: %s: not enough memory", path);
    json_decref(root);
    if (status == ASSAY_OK)
        *out = r;
    else
        as_requirements_free(r);
    return status;
}

void as_requirements_free(as_requirements *r)
{
    if (!r)
        return;
    as_arena_drop(&r->arena);
    free(r);
}

/* --- By name ------------------------------------------------------------------------------------------------------- */

static int fold(int c) { return c == ' ' || c == '_' ? '-' : tolower(c); }

static bool same_name(const char *a, const char *b)
{
    while (*a && fold((unsigned char)*a) == fold((unsigned char)*b))
        a++, b++;
    return !*a && !*b;
}

static assay_status unknown_name(assay_env *env, const char *name)
{
    const char *words[64];
    size_t      n = 0;
    as_text     all = {0};
    for (; as_profile_files[n].name && n < 63; n++) {
        words[n] = as_profile_files[n].name;
        as_text_printf(&all, "%s%s", n ? ", " : "", words[n]);
    }
    words[n] = NULL;
    const char *near = as_nearest(name, words);
    as_fail(env, ASSAY_NOT_FOUND, "requirements: no profile and no file \"%s\"%s%s%s; profiles: %s", name,
            near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "", all.data ? all.data : "none");
    as_text_drop(&all);
    return ASSAY_NOT_FOUND;
}

static assay_status file_load(assay_env *env, const char *path, const char *level, as_requirements **out)
{
    as_map map;
    AS_TRY(as_map_open(env, "requirements", path, MAX_BYTES, &map));
    assay_status status = as_requirements_parse(env, path, (const char *)map.data, map.bytes, level, out);
    as_map_close(&map);
    return status;
}

assay_status as_requirements_load(assay_env *env, const char *spec, as_requirements **out)
{
    char        name[1024];
    const char *colon = strrchr(spec, ':'), *level = colon && !strchr(colon, '/') ? colon + 1 : NULL;
    size_t      n = level ? (size_t)(colon - spec) : strlen(spec);
    if (!n || n >= sizeof name || (level && !*level))
        return as_fail(env, ASSAY_BAD_INPUT, "requirements: \"%s\": expected NAME or FILE, and :LEVEL behind it", spec);
    memcpy(name, spec, n);
    name[n] = '\0';
    for (const as_profile_file *p = as_profile_files; p->name; p++)
        if (same_name(p->name, name))
            return as_requirements_parse(env, p->name, p->text, strlen(p->text), level, out);
    if (strchr(name, '/') || strchr(name, '.'))
        return file_load(env, name, level, out);
    return unknown_name(env, name);
}

/* --- Presets ------------------------------------------------------------------------------------------------------------ */

static bool zoo_takes(const char *model, const char *key)
{
    size_t n = strcspn(model, ":");
    for (int i = 0; as_zoo_table[i]; i++) {
        if (strlen(as_zoo_table[i]->name) != n || strncmp(as_zoo_table[i]->name, model, n))
            continue;
        for (const as_zoo_param *p = as_zoo_table[i]->params; p && p->key; p++)
            if (!strcmp(p->key, key))
                return true;
    }
    return false;
}

static bool spec_has(const char *model, const char *key)
{
    size_t n = strlen(key);
    for (const char *at = strchr(model, ':'); at; at = strchr(at + 1, ','))
        if (!strncmp(at + 1, key, n) && at[1 + n] == '=')
            return true;
    return false;
}

static void tell(char *told, size_t size, const char *key, const char *value)
{
    size_t used = strlen(told);
    snprintf(told + used, size - used, "%s%s=%s", told[used - 1] == ':' ? " " : ", ", key, value);
}

static assay_status option_fill(assay_env *env, assay_options *options, const char *key, int64_t value, char *told, size_t size)
{
    char text[32];
    if (!value || as_options_is_set(options, key))
        return ASSAY_OK;
    snprintf(text, sizeof text, "%lld", (long long)value);
    AS_TRY(assay_options_set(env, options, key, text));
    tell(told, size, key, text);
    return ASSAY_OK;
}

assay_status as_preset_apply(assay_env *env, const char *spec, assay_options *options, const char *model, char *out, size_t size,
                             char *told, size_t told_size)
{
    as_requirements *r;
    AS_TRY(as_requirements_load(env, spec, &r));
    const as_preset *p = &r->preset;
    snprintf(out, size, "%s", model);
    snprintf(told, told_size, "preset %s fills in:", r->name);
    size_t       before = strlen(told);
    assay_status status = p->is_set ? ASSAY_OK : as_fail(env, ASSAY_BAD_INPUT, "requirements: %s suggests no settings", r->name);
    if (status == ASSAY_OK)
        status = option_fill(env, options, "batch", p->batch, told, told_size);
    if (status == ASSAY_OK && zoo_takes(model, "units")) /* the only built-in networks with sequences of their own */
        status = option_fill(env, options, "seq", p->seq, told, told_size);
    for (int i = 0; i < p->n_params && status == ASSAY_OK; i++) {
        size_t used = strlen(out);
        if (!zoo_takes(model, p->keys[i]) || spec_has(model, p->keys[i]))
            continue;
        if (used + strlen(p->keys[i]) + strlen(p->values[i]) + 3 > size)
            status = as_fail(env, ASSAY_BAD_INPUT, "requirements: the name of the model is too long to add %s", p->keys[i]);
        else
            snprintf(out + used, size - used, "%s%s=%s", strchr(out, ':') ? "," : ":", p->keys[i], p->values[i]);
        tell(told, told_size, p->keys[i], p->values[i]);
    }
    if (strlen(told) == before)
        snprintf(told, told_size, "preset %s fills in nothing: all of it was given, or the model does not take it", r->name);
    as_requirements_free(r);
    return status;
}
