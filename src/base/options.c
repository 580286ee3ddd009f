/* options.c - the values that were set, checked against the table when they are set, so that whoever
 * reads one later need not check again. */
#include "base/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/text.h"

typedef struct item {
    const char  *text;
    struct item *next;
} item;

typedef struct slot { /* one for each line of the table */
    item  *first, *last;
    size_t n_items;
    bool   is_read;
} slot;

struct assay_options {
    as_arena arena;
    slot    *slots;
};

/* --- The table ---------------------------------------------------------------------------- */

static size_t table_count(void)
{
    size_t n = 0;
    while (as_option_table[n].key)
        n++;
    return n;
}

const as_option_def *as_option_find(const char *key)
{
    for (const as_option_def *def = as_option_table; def->key; def++)
        if (!strcmp(def->key, key))
            return def;
    return NULL;
}

/* The next word of a space-separated list; NULL at its end.  *n gets its length. */
static const char *word_next(const char **list, size_t *n)
{
    const char *word = *list + strspn(*list, " ");
    *n = strcspn(word, " ");
    *list = word + *n;
    return *n ? word : NULL;
}

static bool list_has(const char *list, const char *text)
{
    size_t n;
    for (const char *word; (word = word_next(&list, &n));)
        if (strlen(text) == n && !memcmp(word, text, n))
            return true;
    return false;
}

bool as_option_takes(const as_option_def *def, const char *verb) { return list_has(def->verbs, "*") || list_has(def->verbs, verb); }

/* "1..65536", "0.." or "..9"; NULL is any. */
static bool range_has(const char *range, int64_t value)
{
    int64_t     lo = INT64_MIN, hi = INT64_MAX;
    const char *dots = range ? strstr(range, "..") : NULL;
    if (dots) {
        char   first[32] = "";
        size_t n = (size_t)(dots - range);
        assert(n < sizeof first);
        memcpy(first, range, n);
        bool ok = (!n || as_parse_i64(first, &lo)) && (!dots[2] || as_parse_i64(dots + 2, &hi));
        assert(ok && "the table's range is two whole numbers");
        (void)ok;
    }
    return lo <= value && value <= hi;
}

/* --- Setting ------------------------------------------------------------------------------ */

assay_status assay_options_new(assay_env *env, assay_options **out)
{
    assay_options *o = calloc(1, sizeof *o);
    if (o)
        o->slots = AS_TAKE(&o->arena, slot, table_count());
    if (!o || !o->slots) {
        assay_options_free(o);
        return as_fail(env, ASSAY_NO_MEMORY, "options: no room for %zu of them", table_count());
    }
    *out = o;
    return ASSAY_OK;
}

void assay_options_free(assay_options *options)
{
    if (!options)
        return;
    as_arena_drop(&options->arena);
    free(options);
}

static assay_status fail_unknown(assay_env *env, const char *key)
{
    const char *words[257];
    as_text     keys = {0};
    size_t      n = 0;
    for (const as_option_def *def = as_option_table; def->key; def++) {
        as_text_printf(&keys, "%s%s", keys.length ? ", " : "", def->key);
        if (n + 1 < AS_COUNT(words))
            words[n++] = def->key;
    }
    words[n] = NULL;
    const char *near = as_nearest(key, words);
    if (near)
        as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": there is none of that name; did you mean \"%s\"?", key, near);
    else
        as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": there is none of that name; there are: %s", key, keys.data ? keys.data : "");
    as_text_drop(&keys);
    return ASSAY_BAD_INPUT;
}

/* The next number of a list such as 1,2,8 within the range; false when it is none.  *list moves behind its comma, to NULL at the end. */
static bool list_next(const char **list, const char *range, int64_t *out)
{
    char   one[32];
    size_t n = strcspn(*list, ",");
    if (n >= sizeof one)
        return false;
    memcpy(one, *list, n);
    one[n] = 0;
    *list = (*list)[n] ? *list + n + 1 : NULL;
    return as_parse_i64(one, out) && range_has(range, *out);
}

static assay_status value_check(assay_env *env, const as_option_def *def, const char *value)
{
    int64_t  whole;
    uint64_t ns;
    bool     on;
    switch (def->type) {
    case AS_OPT_FLAG:
        if (as_parse_bool(value, &on))
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is neither on nor off", def->key, value);
    case AS_OPT_INT:
        if (as_parse_i64(value, &whole) && range_has(def->choices, whole))
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is not a whole number%s%s", def->key, value,
                       def->choices ? " in " : "", def->choices ? def->choices : "");
    case AS_OPT_INTS:
        for (const char *rest = value; rest;)
            if (!list_next(&rest, def->choices, &whole))
                return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is not a list of whole numbers in %s", def->key, value,
                               def->choices);
        return ASSAY_OK;
    case AS_OPT_CHOICE:
        if (list_has(def->choices, value) && !strchr(value, ' '))
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is none of: %s", def->key, value, def->choices);
    case AS_OPT_DURATION:
        if (as_parse_duration_ns(value, &ns))
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is not a duration such as 250ns, 5us, 1.5ms or 2s", def->key,
                       value);
    case AS_OPT_FILE:
        if (*value)
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": the file name is empty", def->key);
    case AS_OPT_TEXT: return ASSAY_OK;
    }
    return as_fail(env, ASSAY_INTERNAL, "option \"%s\": its type %d in the table is unknown", def->key, (int)def->type);
}

assay_status assay_options_set(assay_env *env, assay_options *options, const char *key, const char *value)
{
    const as_option_def *def = as_option_find(key);
    if (!def)
        return fail_unknown(env, key);
    if ((!value || !*value) && def->type == AS_OPT_FLAG)
        value = "on"; /* a flag that is named is meant */
    if (!value)
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": it needs a value (%s)", key, def->value ? def->value : "VALUE");
    AS_TRY(value_check(env, def, value));
    item *made = AS_TAKE(&options->arena, item, 1);
    char *text = as_arena_text(&options->arena, value);
    if (!made || !text)
        return as_fail(env, ASSAY_NO_MEMORY, "option \"%s\": no room for its value", key);
    made->text = text;
    slot *s = &options->slots[def - as_option_table];
    if (!def->many || !s->last) { /* the last value counts, unless each does */
        s->first = made;
        s->n_items = 0;
    } else {
        s->last->next = made;
    }
    s->last = made;
    s->n_items++;
    s->is_read = false;
    return ASSAY_OK;
}

/* --- Reading ------------------------------------------------------------------------------ */

static slot *slot_find(assay_options *o, const char *key, const as_option_def **def)
{
    *def = as_option_find(key);
    assert(*def && "the key is in the table");
    return &o->slots[*def - as_option_table];
}

bool as_options_is_set(assay_options *o, const char *key)
{
    const as_option_def *def;
    return slot_find(o, key, &def)->n_items > 0;
}

const char *as_options_text(assay_options *o, const char *key)
{
    const as_option_def *def;
    slot                *s = slot_find(o, key, &def);
    s->is_read = true;
    return s->last ? s->last->text : def->standard;
}

int64_t as_options_int(assay_options *o, const char *key)
{
    const char *text = as_options_text(o, key);
    int64_t     value = 0;
    bool        ok = !text || list_next(&text, NULL, &value);
    assert(ok && "only whole numbers are read as such");
    (void)ok;
    return value;
}

size_t as_options_ints(assay_options *o, const char *key, int64_t *out, size_t max)
{
    size_t n = 0;
    for (const char *rest = as_options_text(o, key); rest; n++) {
        int64_t value = 0;
        bool    ok = list_next(&rest, NULL, &value);
        assert(ok && "only lists of whole numbers are read as such");
        (void)ok;
        if (n < max)
            out[n] = value;
    }
    return n;
}

bool as_options_flag(assay_options *o, const char *key)
{
    const char *text = as_options_text(o, key);
    bool        value = false, ok = !text || as_parse_bool(text, &value);
    assert(ok && "only flags and on/off choices are read as such");
    (void)ok;
    return value;
}

uint64_t as_options_duration_ns(assay_options *o, const char *key)
{
    const char *text = as_options_text(o, key);
    uint64_t    value = 0;
    bool        ok = !text || as_parse_duration_ns(text, &value);
    assert(ok && "only durations are read as such");
    (void)ok;
    return value;
}

size_t as_options_many(assay_options *o, const char *key)
{
    const as_option_def *def;
    slot                *s = slot_find(o, key, &def);
    s->is_read = true;
    return s->n_items ? s->n_items : def->standard != NULL;
}

const char *as_options_item(assay_options *o, const char *key, size_t i)
{
    const as_option_def *def;
    slot                *s = slot_find(o, key, &def);
    s->is_read = true;
    if (!s->n_items) {
        assert(!i);
        return def->standard;
    }
    assert(i < s->n_items);
    const item *at = s->first;
    while (i--)
        at = at->next;
    return at->text;
}

const char *as_options_unused(const assay_options *o)
{
    for (size_t i = 0; as_option_table[i].key; i++)
        if (o->slots[i].n_items && !o->slots[i].is_read)
            return as_option_table[i].key;
    return NULL;
}

/* --- Names in values --- */

assay_status as_option_named(assay_env *env, const char *what, const char *text, const char *const *names, int n_names,
                             const bool *taken, int *index, const char **path)
{
    const char *equals = strchr(text, '=');
    for (int i = 0; equals && i < n_names; i++)
        if (strlen(names[i]) == (size_t)(equals - text) && !strncmp(names[i], text, (size_t)(equals - text))) {
            if (taken[i])
                return as_fail(env, ASSAY_BAD_INPUT, "%s '%s': %s is given twice", what, text, names[i]);
            *index = i;
            *path = equals + 1;
            return ASSAY_OK;
        }
    if (equals && !strchr(text, '/') && access(text, F_OK))
        return as_fail(env, ASSAY_NOT_FOUND, "%s '%s': the model has no %s named '%.*s'%s%s", what, text, what,
                       (int)(equals - text), text, n_names ? "; it has " : "", n_names ? names[0] : "");
    for (int i = 0; i < n_names; i++)
        if (!taken[i]) {
            *index = i;
            *path = text;
            return ASSAY_OK;
        }
    return as_fail(env, ASSAY_BAD_INPUT, "%s '%s': the model has only %d", what, text, n_names);
}
