/* spec.c - a spec, taken apart: KIND:PATH,PATH:key=value,key=value.
 *
 * Commas separate; so does a colon before "key=".  A backslash takes the next character as it is.  What has "key=" in front is an option, all
 * else is a path. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/options.h"
#include "data/reader.h"

enum { MAX_SPEC_BYTES = 65536 };

/* Letters, digits and _ before '=': its length, or 0. */
static size_t key_length(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n && s[n] == '=' && !isdigit((unsigned char)s[0]) ? n : 0;
}

static const as_reader *reader_named(const char *name, size_t n)
{
    for (const as_reader *const *reader = as_rd_table; *reader; reader++)
        if (strlen((*reader)->name) == n && !memcmp((*reader)->name, name, n))
            return *reader;
    return NULL;
}

static assay_status fail_unknown(assay_env *env, const char *path)
{
    as_text known = {0};
    for (const as_reader *const *reader = as_rd_table; *reader; reader++)
        as_text_printf(&known, "%s%s", known.length ? ", " : "", (*reader)->name);
    assay_status status;
    if (!as_path_is_file(path) && !as_path_is_folder(path))
        status = as_fail(env, ASSAY_NOT_FOUND,
                         "data: %s: cannot open: No such file or directory, and not the name of a kind of data; known: %s", path,
                         known.length ? known.data : "none");
    else
        status = as_fail(env, ASSAY_BAD_INPUT,
                         "data: %s: cannot tell what kind of data it is; put the kind in front, for example csv:%s; known: %s",
                         path, path, known.length ? known.data : "none");
    as_text_drop(&known);
    return status;
}

static assay_status find_reader(assay_env *env, as_spec *spec)
{
    if (!spec->n_paths)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": names no file", spec->text);
    bool is_folder = as_path_is_folder(spec->paths[0]);
    for (const as_reader *const *reader = as_rd_table; *reader; reader++)
        if ((*reader)->fits && (*reader)->fits(spec->paths[0], is_folder)) {
            spec->reader = *reader;
            return ASSAY_OK;
        }
    return fail_unknown(env, spec->paths[0]);
}

static assay_status check_keys(assay_env *env, const as_spec *spec)
{
    for (int i = 0; i < spec->n_options; i++)
        if (!as_words_have(spec->reader->keys, spec->options[i].key))
            return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": %s has no option \"%s\"; known: %s", spec->text, spec->reader->name,
                           spec->options[i].key, spec->reader->keys);
    if (spec->reader->has_paths && !spec->n_paths)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": names no file; the form is %s", spec->text, spec->reader->form);
    return ASSAY_OK;
}

/* The next item: up to a comma, or to a colon before "key=".  Escapes are taken out; *is_option says that it began with "key=". */
static char *next_item(as_arena *arena, const char **at, size_t *key)
{
    const char *s = *at;
    char       *item = AS_TAKE(arena, char, strlen(s) + 1);
    size_t      n = 0;
    if (!item)
        return NULL;
    *key = key_length(s);
    while (*s && *s != ',' && !(*s == ':' && key_length(s + 1))) {
        if (*s == '\\' && s[1])
            s++;
        item[n++] = *s++;
    }
    item[n] = '\0';
    *at = s;
    return item;
}

static assay_status take_items(assay_env *env, as_arena *arena, const char *at, as_spec *spec)
{
    while (*at) {
        size_t key;
        char  *item = next_item(arena, &at, &key);
        if (!item)
            return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for the spec");
        if (key) {
            if (spec->n_options == AS_SPEC_MAX_OPTIONS)
                return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": more than %d options", spec->text, AS_SPEC_MAX_OPTIONS);
            item[key] = '\0';
            spec->options[spec->n_options++] = (as_spec_option){item, item + key + 1};
        } else if (*item) {
            if (spec->n_paths == AS_SPEC_MAX_PATHS)
                return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": more than %d files", spec->text, AS_SPEC_MAX_PATHS);
            spec->paths[spec->n_paths++] = item;
        } else
            return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": has nothing between two commas, or at its end", spec->text);
        if (!*at)
            break;
        at++;
        if (!*at)
            return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": has nothing between two commas, or at its end", spec->text);
    }
    return ASSAY_OK;
}

assay_status as_spec_parse(assay_env *env, as_arena *arena, const char *text, as_spec *out)
{
    if (strlen(text) > MAX_SPEC_BYTES)
        return as_fail(env, ASSAY_BAD_INPUT, "data: the spec has %zu bytes; at most %d are read", strlen(text), MAX_SPEC_BYTES);
    as_spec spec = {.text = as_arena_text(arena, text)};
    if (!spec.text)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for the spec");
    size_t prefix = strcspn(text, ":");
    if (text[prefix] == ':')
        spec.reader = reader_named(text, prefix);
    AS_TRY(take_items(env, arena, spec.reader ? text + prefix + 1 : text, &spec));
    if (!spec.reader)
        AS_TRY(find_reader(env, &spec));
    AS_TRY(check_keys(env, &spec));
    *out = spec;
    return ASSAY_OK;
}

const char *as_spec_get_n(const as_spec *spec, const char *key, int n)
{
    for (int i = 0; i < spec->n_options; i++)
        if (!strcmp(spec->options[i].key, key) && n-- == 0)
            return spec->options[i].value;
    return NULL;
}

const char *as_spec_get(const as_spec *spec, const char *key) { return as_spec_get_n(spec, key, 0); }

assay_status as_spec_i64(assay_env *env, const as_spec *spec, const char *key, int64_t standard, int64_t lo, int64_t hi,
                         int64_t *out)
{
    const char *text = as_spec_get(spec, key);
    int64_t     value = standard;
    if (text && (!as_parse_i64(text, &value) || value < lo || value > hi))
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": %s=%s: expected a whole number from %" PRId64 " to %" PRId64,
                       spec->text, key, text, lo, hi);
    *out = value;
    return ASSAY_OK;
}

assay_status as_spec_f64(assay_env *env, const as_spec *spec, const char *key, double standard, double lo, double hi, double *out)
{
    const char *text = as_spec_get(spec, key);
    double      value = standard;
    if (text && (!as_parse_f64(text, &value) || !(value >= lo && value <= hi)))
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": %s=%s: expected a number from %g to %g", spec->text, key, text, lo, hi);
    *out = value;
    return ASSAY_OK;
}

assay_status as_spec_choice(assay_env *env, const as_spec *spec, const char *key, const char *words, int standard, int *out)
{
    const char *text = as_spec_get(spec, key), *list = words, *word;
    size_t      n;
    int         i = 0;
    if (!text) {
        *out = standard;
        return ASSAY_OK;
    }
    for (; (word = as_word_next(&list, &n)); i++)
        if (strlen(text) == n && !memcmp(word, text, n)) {
            *out = i;
            return ASSAY_OK;
        }
    return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": %s=%s: expected one of: %s", spec->text, key, text, words);
}

bool as_shape_parse(const char *text, as_shape *out)
{
    as_shape shape = {0};
    while (*text) {
        char   number[24];
        size_t n = strcspn(text, "x");
        if (n == 0 || n >= sizeof number || shape.rank == AS_MAX_RANK - 1)
            return false;
        memcpy(number, text, n);
        number[n] = '\0';
        if (!as_parse_i64(number, &shape.dim[shape.rank]) || shape.dim[shape.rank] < 1)
            return false;
        shape.rank++;
        text += n;
        if (*text && !*++text)
            return false;
    }
    *out = shape;
    return shape.rank > 0 && as_shape_ok(&shape, AS_F64);
}
