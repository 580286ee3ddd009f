/* zoo.c - "name:key=value,key=value": finding the network and reading its arguments. */
#include "model/zoo/zoo.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "model/graph/maker.h"

struct as_zoo_args {
    const as_zoo *zoo;
    const char  **values; /* one per parameter of the zoo; NULL: not given */
};

static size_t params_count(const as_zoo *zoo)
{
    size_t n = 0;
    while (zoo->params && zoo->params[n].key)
        n++;
    return n;
}

const as_zoo_alias as_zoo_aliases[] = {{"multiply", "elementwise:mul"}, {"add", "elementwise:add"},
                                       {"subtract", "elementwise:sub"}, {"divide", "elementwise:div"},
                                       {"quantization", "quantize"},    {"matrix-multiplication", "matmul"},
                                       {"convolution", "conv"},         {NULL, NULL}};

/* --- Parsing ----------------------------------------------------------------------------------- */

const as_zoo *as_zoo_find(const char *name, size_t n)
{
    for (const as_zoo *const *zoo = as_zoo_table; *zoo; zoo++)
        if (strlen((*zoo)->name) == n && !memcmp((*zoo)->name, name, n))
            return *zoo;
    return NULL;
}

static assay_status fail_name(assay_env *env, as_arena *arena, const char *name)
{
    size_t n = 0;
    while (as_zoo_table[n])
        n++;
    const char **names = AS_TAKE(arena, const char *, n + 1);
    char         hint[160];
    for (size_t i = 0; names && i < n; i++)
        names[i] = as_zoo_table[i]->name;
    return as_fail(env, ASSAY_NOT_FOUND, "model: there is no file and no built-in network '%s'%s; see `assay list models`", name,
                   as_hint(hint, sizeof hint, name, names, '\''));
}

static assay_status fail_key(assay_env *env, const as_zoo *zoo, const char *key)
{
    as_text allowed = {0};
    for (size_t i = 0; i < params_count(zoo); i++)
        as_text_printf(&allowed, "%s%s", i ? ", " : "", zoo->params[i].key);
    assay_status status = as_fail(env, ASSAY_BAD_INPUT, "model: %s has no key '%s'; its keys: %s", zoo->name, key,
                                  allowed.length ? allowed.data : "none");
    as_text_drop(&allowed);
    return status;
}

/* One "key=value", cut in place. */
static assay_status item_read(assay_env *env, const as_zoo *zoo, char *item, as_zoo_args *args)
{
    char  *equals = strchr(item, '=');
    size_t i = 0;
    if (!equals || equals == item || !equals[1])
        return as_fail(env, ASSAY_BAD_INPUT, "model: %s: '%s' is not of the form key=value", zoo->name, item);
    *equals = '\0';
    while (i < params_count(zoo) && strcmp(zoo->params[i].key, item))
        i++;
    if (i == params_count(zoo))
        return fail_key(env, zoo, item);
    if (args->values[i])
        return as_fail(env, ASSAY_BAD_INPUT, "model: %s: the key '%s' is given twice", zoo->name, item);
    args->values[i] = equals + 1;
    return ASSAY_OK;
}

assay_status as_zoo_parse(assay_env *env, as_arena *arena, const char *spec, const as_zoo **zoo_out, const as_zoo_args **args_out)
{
    char *copy = as_arena_text(arena, spec), *rest = copy ? strchr(copy, ':') : NULL;
    if (!copy)
        return as_fail(env, ASSAY_NO_MEMORY, "model: not enough memory for the name");
    if (rest)
        *rest++ = '\0';
    const as_zoo *zoo = as_zoo_find(copy, strlen(copy));
    if (!zoo)
        return fail_name(env, arena, copy);
    as_zoo_args *args = AS_TAKE(arena, as_zoo_args, 1);
    const char **values = AS_TAKE(arena, const char *, params_count(zoo));
    if (!args || !values)
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for its arguments", zoo->name);
    *args = (as_zoo_args){.zoo = zoo, .values = values};
    while (rest) {
        char *comma = strchr(rest, ',');
        if (comma)
            *comma = '\0';
        AS_TRY(item_read(env, zoo, rest, args));
        rest = comma ? comma + 1 : NULL;
    }
    *zoo_out = zoo;
    *args_out = args;
    return ASSAY_OK;
}

/* --- Reading ----------------------------------------------------------------------------------- */

const char *as_zoo_text(const as_zoo_args *args, const char *key)
{
    for (size_t i = 0; i < params_count(args->zoo); i++)
        if (!strcmp(args->zoo->params[i].key, key))
            return args->values[i] ? args->values[i] : args->zoo->params[i].standard;
    return NULL;
}

bool as_zoo_is_given(const as_zoo_args *args, const char *key)
{
    for (size_t i = 0; i < params_count(args->zoo); i++)
        if (!strcmp(args->zoo->params[i].key, key))
            return args->values[i] != NULL;
    return false;
}

const as_zoo *as_zoo_args_zoo(const as_zoo_args *args) { return args->zoo; }

int64_t as_zoo_number(const as_zoo_args *args, const char *key)
{
    int64_t value = 0;
    return as_parse_i64(as_zoo_text(args, key), &value) ? value : 0;
}

void as_model_fix(assay_model *model, const char *symbol, int64_t size)
{
    for (int i = 0; i < model->n_values; i++)
        for (int k = 0; k < model->values[i].dims.rank; k++) {
            as_dim *dim = &model->values[i].dims.dim[k];
            if (dim->symbol && !strcmp(dim->symbol, symbol))
                *dim = (as_dim){.size = size};
        }
}

const char *as_zoo_word(as_maker *m, const as_zoo_args *args, const char *key)
{
    const as_zoo_choice *choice = args->zoo->choices;
    const char          *text = as_zoo_text(args, key);
    while (strcmp(choice->key, key))
        choice++;
    for (const char *const *word = choice->words; *word; word++)
        if (!strcmp(*word, text))
            return *word;
    char    hint[160];
    as_text all = {0};
    for (const char *const *word = choice->words; *word; word++)
        as_text_printf(&all, "%s%s", all.length ? ", " : "", *word);
    as_maker_fail(m, "%s=%s is not one of %s%s", key, text, all.data ? all.data : "them",
                  as_hint(hint, sizeof hint, text, choice->words, '\''));
    as_text_drop(&all);
    return NULL;
}

as_dtype as_zoo_dtype(as_maker *m, const as_zoo_args *args, const char *key)
{
    as_dtype    dtype = AS_NONE;
    const char *word = as_zoo_word(m, args, key);
    if (word && !as_dtype_parse(word, &dtype))
        as_maker_fail(m, "%s=%s is not an element type", key, word);
    return dtype;
}

void as_zoo_build(as_maker *m, const char *spec)
{
    const as_zoo      *zoo;
    const as_zoo_args *args;
    assay_status       status = as_zoo_parse(as_maker_env(m), as_maker_arena(m), spec, &zoo, &args);
    if (status == ASSAY_OK)
        zoo->build(m, args);
    else
        as_maker_fail_as(m, status, "%s", assay_message(as_maker_env(m)));
}

int64_t as_zoo_int(as_maker *m, const as_zoo_args *args, const char *key, int64_t min, int64_t max)
{
    const char *text = as_zoo_text(args, key);
    int64_t     value;
    if (text && as_parse_i64(text, &value) && value >= min && value <= max)
        return value;
    as_maker_fail(m, "%s=%s must be a whole number from %" PRId64 " to %" PRId64, key, text ? text : "", min, max);
    return 0;
}

size_t as_zoo_list(as_maker *m, const as_zoo_args *args, const char *key, int64_t min, int64_t max, int64_t *out, size_t max_n)
{
    const char *text = as_zoo_text(args, key), *at = text ? text : "";
    for (size_t n = 0;;) {
        char   number[32];
        size_t length = strcspn(at, "x");
        bool   ok = length < sizeof number;
        if (n == max_n) {
            as_maker_fail(m, "%s has more than %zu numbers", key, max_n);
            return 0;
        }
        if (ok) {
            memcpy(number, at, length);
            number[length] = '\0';
            ok = as_parse_i64(number, &out[n]) && out[n] >= min && out[n] <= max;
        }
        if (!ok) {
            as_maker_fail(m, "%s=%s must be whole numbers from %" PRId64 " to %" PRId64 " with x between them", key,
                          text ? text : "", min, max);
            return 0;
        }
        n++;
        if (!at[length])
            return n;
        at += length + 1;
    }
}
