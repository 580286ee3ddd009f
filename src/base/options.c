/* options.c - the values that were set. They are checked against the table when they are set, so
 * that readers need not check again. */
#include "base/options.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/text.h"

typedef struct slot { /* one for each line of the table */
    const char **items;
    size_t       n_items, capacity;
} slot;

/* Reading changes nothing here, except for one record that the inert-option test needs: which options were looked at. */
struct assay_options {
    as_arena      arena;
    slot         *slots;
    atomic_uchar *seen; /* one per slot; several threads may read the same options */
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
        if (!strcmp(def->key, key) || (def->aliases && as_words_have(def->aliases, key)))
            return def;
    return NULL;
}

const char *as_word_next(const char **list, size_t *n)
{
    const char *word = *list + strspn(*list, " ");
    *n = strcspn(word, " ");
    *list = word + *n;
    return *n ? word : NULL;
}

bool as_words_have(const char *list, const char *text)
{
    size_t n;
    for (const char *word; (word = as_word_next(&list, &n));)
        if (strlen(text) == n && !memcmp(word, text, n))
            return true;
    return false;
}

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
    if (o) {
        o->slots = AS_TAKE(&o->arena, slot, table_count());
        o->seen = AS_TAKE(&o->arena, atomic_uchar, table_count());
    }
    if (!o || !o->slots || !o->seen) {
        assay_options_free(o);
        return as_fail(env, ASSAY_NO_MEMORY, "options: not enough memory for %zu options", table_count());
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
        as_fail(env, ASSAY_BAD_INPUT, "unknown option \"%s\"; did you mean \"%s\"?", key, near);
    else
        as_fail(env, ASSAY_BAD_INPUT, "unknown option \"%s\"; known: %s", key, keys.data ? keys.data : "");
    as_text_drop(&keys);
    return ASSAY_BAD_INPUT;
}

/* The next number of a list such as 1,2,8 within the range; false when there is none. *list moves past its comma, to NULL at the
 * end. */
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

/* "1%", "1 %" or "1" as a share. */
static bool percent_parse(const char *text, double *share)
{
    char   number[32];
    size_t n = strlen(text);
    while (n && (text[n - 1] == '%' || text[n - 1] == ' '))
        n--;
    snprintf(number, sizeof number, "%.*s", (int)(n < 31 ? n : 31), text);
    double value;
    if (!as_parse_f64(number, &value) || !(value >= 0) || value > 1000)
        return false;
    *share = value / 100;
    return true;
}

static bool is_word(const as_option_def *def, const char *value) { return def->word && !strcmp(value, def->word); }

static assay_status value_check(assay_env *env, const as_option_def *def, const char *value)
{
    int64_t  whole;
    uint64_t ns;
    double   share;
    bool     on;
    switch (def->type) {
    case AS_OPT_FLAG:
        if (as_parse_bool(value, &on))
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" must be on or off", def->key, value);
    case AS_OPT_INT:
        if (is_word(def, value) || (as_parse_i64(value, &whole) && range_has(def->choices, whole)))
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
        if (is_word(def, value) || (as_words_have(def->choices, value) && !strchr(value, ' ')))
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is not one of: %s", def->key, value, def->choices);
    case AS_OPT_DURATION:
        if (as_parse_duration_ns(value, &ns))
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is not a duration such as 250ns, 5us, 1.5ms or 2s", def->key,
                       value);
    case AS_OPT_PERCENT:
        if (percent_parse(value, &share))
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is not a percentage from 0 to 1000, such as 2 or 2.5%%",
                       def->key, value);
    case AS_OPT_SHARE:
        if (as_parse_f64(value, &share) && share >= AS_MIN_SHARE && share <= AS_MAX_SHARE)
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": \"%s\" is not a share from 0.000001 to 0.5", def->key, value);
    case AS_OPT_FILE:
        if (*value)
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\": the file name is empty", def->key);
    case AS_OPT_TEXT: return ASSAY_OK;
    }
    return as_fail(env, ASSAY_INTERNAL, "option \"%s\": its type %d in the table is unknown", def->key, (int)def->type);
}

/* Makes space for one item and forgets those before. */
static bool slot_first(as_arena *arena, slot *s)
{
    s->n_items = 0;
    s->items = s->capacity ? s->items : AS_TAKE(arena, const char *, 1);
    s->capacity = s->capacity ? s->capacity : 1;
    return s->items != NULL;
}

/* Makes space for one more item. */
static bool slot_grow(as_arena *arena, slot *s)
{
    if (s->n_items < s->capacity)
        return true;
    const char **items = AS_TAKE(arena, const char *, 2 * s->capacity);
    if (!items)
        return false;
    memcpy(items, s->items, s->n_items * sizeof *items);
    s->items = items;
    s->capacity *= 2;
    return true;
}

assay_status assay_options_set(assay_env *env, assay_options *options, const char *key, const char *value)
{
    const as_option_def *def = as_option_find(key);
    if (!def)
        return fail_unknown(env, key);
    if ((!value || !*value) && def->type == AS_OPT_FLAG)
        value = "on"; /* naming a flag turns it on */
    if (!value)
        return as_fail(env, ASSAY_BAD_INPUT, "option \"%s\" needs a value (%s)", key, def->value ? def->value : "VALUE");
    AS_TRY(value_check(env, def, value));
    slot *s = &options->slots[def - as_option_table];
    char *text = as_arena_text(&options->arena, value);
    bool  anew = !def->many || !s->n_items; /* the last value counts, unless the option is repeated */
    if (!text || (!anew && !slot_grow(&options->arena, s)) || (anew && !slot_first(&options->arena, s)))
        return as_fail(env, ASSAY_NO_MEMORY, "option \"%s\": not enough memory for its value", key);
    s->items[s->n_items++] = text;
    atomic_store_explicit(&options->seen[def - as_option_table], 0, memory_order_relaxed);
    return ASSAY_OK;
}

/* --- Reading ------------------------------------------------------------------------------ */

static const as_option_def *def_of(const char *key)
{
    const as_option_def *def = as_option_find(key);
    assert(def && "the key is in the table");
    return def;
}

static as_texts texts_of(const assay_options *o, const as_option_def *def)
{
    const slot *s = o ? &o->slots[def - as_option_table] : NULL;
    return s ? (as_texts){s->items, s->n_items} : (as_texts){NULL, 0};
}

bool as_options_is_set(const assay_options *o, const char *key) { return texts_of(o, def_of(key)).n > 0; }

as_texts as_options_given(const assay_options *o, const char *key) { return texts_of(o, def_of(key)); }

as_texts as_options_texts(const assay_options *o, const char *key)
{
    const as_option_def *def = def_of(key);
    if (o)
        atomic_store_explicit(&o->seen[def - as_option_table], 1, memory_order_relaxed);
    return texts_of(o, def);
}

const char *as_options_text(const assay_options *o, const char *key)
{
    as_texts all = as_options_texts(o, key);
    return all.n ? all.items[all.n - 1] : def_of(key)->standard;
}

static int64_t first_of(const char *text)
{
    int64_t value = 0;
    bool    ok = !text || list_next(&text, NULL, &value);
    assert(ok && "only whole numbers are read as such");
    (void)ok;
    return value;
}

int64_t as_options_int(const assay_options *o, const char *key) { return first_of(as_options_text(o, key)); }

static bool flag_of(const char *text)
{
    bool value = false, ok = !text || as_parse_bool(text, &value);
    assert(ok && "only flags and on/off choices are read as such");
    (void)ok;
    return value;
}

bool as_options_flag(const assay_options *o, const char *key) { return flag_of(as_options_text(o, key)); }

static uint64_t duration_of(const char *text)
{
    uint64_t value = 0;
    bool     ok = !text || as_parse_duration_ns(text, &value);
    assert(ok && "only durations are read as such");
    (void)ok;
    return value;
}

uint64_t as_options_duration_ns(const assay_options *o, const char *key) { return duration_of(as_options_text(o, key)); }

const char *as_options_unused(const assay_options *o)
{
    for (size_t i = 0; as_option_table[i].key; i++)
        if (o->slots[i].n_items && !atomic_load_explicit(&o->seen[i], memory_order_relaxed))
            return as_option_table[i].key;
    return NULL;
}

/* --- Lists of keys -------------------------------------------------------------------------- */

bool as_keys_have(const char *const *keys, const char *key)
{
    while (*keys && strcmp(*keys, key))
        keys++;
    return *keys != NULL;
}

assay_status as_options_only(assay_env *env, const assay_options *o, const char *what, const char *const *keys)
{
    for (const as_option_def *def = as_option_table; o && def->key; def++) {
        if (!as_options_is_set(o, def->key) || def->group == AS_GROUP_OUTPUT || as_keys_have(keys, def->key))
            continue;
        as_text all = {0};
        for (const char *const *k = keys; *k; k++)
            as_text_printf(&all, "%s%s", all.length ? ", " : "", *k);
        as_fail(env, ASSAY_BAD_INPUT, "%s: --%s does not apply; use: %s", what, def->key, all.data ? all.data : "none");
        as_text_drop(&all);
        return ASSAY_BAD_INPUT;
    }
    return ASSAY_OK;
}

/* --- Members of structs ----------------------------------------------------------------------- */

static int choice_of(const as_option_def *def, const char *text)
{
    const char *list = def->choices, *word;
    size_t      n;
    for (int i = 0; text && (word = as_word_next(&list, &n)); i++)
        if (strlen(text) == n && !memcmp(word, text, n))
            return i;
    assert(!text && "a choice is checked when it is set");
    return -1;
}

/* text NULL: no value and no default; the member stays 0 (a choice: -1). */
static assay_status member_fill(assay_env *env, const as_option_member *m, const char *text, as_texts all, void *out)
{
    const as_option_def *def = def_of(m->key);
    void                *to = (char *)out + m->at;
    double               share = 0;
    if ((m->kind == AS_MEMBER_INT || m->kind == AS_MEMBER_I64 || m->kind == AS_MEMBER_U64) && text && strchr(text, ','))
        return as_fail(env, ASSAY_BAD_INPUT, "option --%s: %s is a list; expected one number", m->key, text);
    if ((m->kind == AS_MEMBER_INT || m->kind == AS_MEMBER_I64 || m->kind == AS_MEMBER_U64) && text && is_word(def, text))
        return as_fail(env, ASSAY_BAD_INPUT, "option --%s: %s does not apply here; expected a whole number in %s", m->key, text,
                       def->choices);
    if (m->kind == AS_MEMBER_CHOICE && text && is_word(def, text))
        return as_fail(env, ASSAY_BAD_INPUT, "option --%s: %s does not apply here; expected one of: %s", m->key, text,
                       def->choices);
    switch (m->kind) {
    case AS_MEMBER_BOOL: *(bool *)to = flag_of(text); break;
    case AS_MEMBER_INT: *(int *)to = (int)first_of(text); break;
    case AS_MEMBER_I64: *(int64_t *)to = first_of(text); break;
    case AS_MEMBER_U64: *(uint64_t *)to = (uint64_t)first_of(text); break;
    case AS_MEMBER_NS: *(uint64_t *)to = duration_of(text); break;
    case AS_MEMBER_CHOICE: *(int *)to = choice_of(def, text); break;
    case AS_MEMBER_TEXT: *(const char **)to = text; break;
    case AS_MEMBER_GIVEN: *(const char **)to = all.n ? text : NULL; break;
    case AS_MEMBER_TEXTS: *(as_texts *)to = all; break;
    case AS_MEMBER_SHARE:
        if (text && (def->type == AS_OPT_PERCENT ? !percent_parse(text, &share) : !as_parse_f64(text, &share)))
            return as_fail(env, ASSAY_INTERNAL, "option --%s: %s is not a number", m->key, text);
        *(double *)to = share;
    }
    if (m->is_set_at)
        *(bool *)((char *)out + m->is_set_at) = all.n > 0;
    return ASSAY_OK;
}

assay_status as_options_read(assay_env *env, const assay_options *o, const as_option_member *members, void *out)
{
    for (const as_option_member *m = members; m->key; m++)
        AS_TRY(member_fill(env, m, as_options_text(o, m->key), as_options_texts(o, m->key), out));
    return ASSAY_OK;
}

const as_option_member *as_member_find(const as_option_member *members, const char *key)
{
    for (const as_option_member *m = members; m->key; m++)
        if (!strcmp(m->key, key))
            return m;
    return NULL;
}

assay_status as_member_set(assay_env *env, const as_option_member *members, const char *key, const char *value, void *out)
{
    const as_option_member *m = as_member_find(members, key);
    assert(m && m->kind != AS_MEMBER_TEXTS && "the key is of the struct, and has one value");
    AS_TRY(value_check(env, def_of(key), value));
    return member_fill(env, m, value, (as_texts){NULL, 1}, out);
}

/* NULL: write nothing. */
static const char *member_text(as_arena *arena, const as_option_member *m, const void *from)
{
    const as_option_def *def = def_of(m->key);
    const void          *at = (const char *)from + m->at;
    const char          *list = def->choices, *word = NULL;
    size_t               n = 0;
    switch (m->kind) {
    case AS_MEMBER_BOOL: return *(const bool *)at ? "on" : "off";
    case AS_MEMBER_INT: return as_arena_printf(arena, "%d", *(const int *)at);
    case AS_MEMBER_I64: return as_arena_printf(arena, "%lld", (long long)*(const int64_t *)at);
    case AS_MEMBER_U64: return as_arena_printf(arena, "%llu", (unsigned long long)*(const uint64_t *)at);
    case AS_MEMBER_NS: return as_arena_printf(arena, "%lluns", (unsigned long long)*(const uint64_t *)at);
    case AS_MEMBER_CHOICE:
        for (int i = 0; i <= *(const int *)at; i++)
            word = as_word_next(&list, &n);
        return word ? as_arena_text_n(arena, word, n) : NULL;
    case AS_MEMBER_TEXT:
    case AS_MEMBER_GIVEN: return *(const char *const *)at;
    case AS_MEMBER_SHARE:
        return as_arena_printf(arena, def->type == AS_OPT_PERCENT ? "%.15g%%" : "%.15g",
                               *(const double *)at * (def->type == AS_OPT_PERCENT ? 100 : 1));
    case AS_MEMBER_TEXTS: break;
    }
    return NULL;
}

/* "--batch=8"; a file is a separate word: "--weights" "w.safetensors". */
static bool words_add(as_arena *arena, const as_option_def *def, const char *value, const char **words, int max, int *n)
{
    bool is_file = def->type == AS_OPT_FILE;
    if (*n + 2 > max)
        return false;
    words[(*n)++] = is_file ? as_arena_printf(arena, "--%s", def->key) : as_arena_printf(arena, "--%s=%s", def->key, value);
    if (words[*n - 1] && is_file)
        words[(*n)++] = as_arena_text(arena, value);
    return words[*n - 1] != NULL;
}

/* Compares what would be written: "1s" and 1000000000 ns are the same. */
static bool is_standard(as_arena *arena, const as_option_member *m, const char *text)
{
    union {
        bool        flag;
        int         whole;
        uint64_t    large;
        double      share;
        const char *text;
    } standard = {.large = 0};
    as_option_member at_zero = {m->key, m->kind, 0, 0};
    if (!text || member_fill(NULL, &at_zero, def_of(m->key)->standard, (as_texts){NULL, 0}, &standard) != ASSAY_OK)
        return !text;
    const char *other = member_text(arena, &at_zero, &standard);
    return other && !strcmp(text, other);
}

bool as_members_words(as_arena *arena, const as_option_member *members, const void *from, const char **words, int max, int *n)
{
    for (const as_option_member *m = members; m->key; m++) {
        const as_option_def *def = def_of(m->key);
        const as_texts      *all = m->kind == AS_MEMBER_TEXTS ? (const void *)((const char *)from + m->at) : NULL;
        for (size_t i = 0; all && i < all->n; i++)
            if (!words_add(arena, def, all->items[i], words, max, n))
                return false;
        const char *text = all ? NULL : member_text(arena, m, from);
        bool        says = m->is_set_at ? *(const bool *)((const char *)from + m->is_set_at) : !is_standard(arena, m, text);
        if (!all && says && (!text || !words_add(arena, def, text, words, max, n)))
            return false;
    }
    return true;
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
