/* cases.c - turns words, options and suite lines into cases: every axis gets its values, and the axes multiply. */
#include "lab/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { MAX_AXES = 24, MAX_VALUES = 256, MAX_SUITE_BYTES = 1 << 20 };

/* One thing that varies.  `standard` is the value that short names leave out. */
typedef struct axis {
    const char  *key, *standard;
    const char **values;
    int          n;
    bool         of_spec; /* a key of the workload; otherwise an option */
} axis;

/* One line of a suite, or one argument. */
typedef struct line {
    const char   *name; /* as given, without the words after a workload's ':' */
    const as_zoo *zoo;  /* a workload; NULL: a model */
    axis          axes[MAX_AXES];
    int           n_axes;
} line;

typedef struct reader {
    assay_env             *env;
    const as_case_options *options;
    as_bench_cases        *out;
    const char            *where; /* "bench", "suite.txt:3" */
    int                    cap_items, cap_notes;
} reader;

static assay_status no_memory(reader *r)
{
    return as_fail(r->env, ASSAY_NO_MEMORY, "%s: not enough memory for its cases", r->where);
}

/* --- Lists that grow in the arena ------------------------------------------------------------------ */

static void *grown(as_arena *arena, void *items, int n, int *cap, size_t size)
{
    if (n < *cap)
        return items;
    int   more = *cap ? 2 * *cap : 16;
    void *moved = as_arena_take(arena, (size_t)more, size, 16);
    if (!moved)
        return NULL;
    if (n)
        memcpy(moved, items, (size_t)n * size);
    *cap = more;
    return moved;
}

static assay_status note(reader *r, const char *text)
{
    as_bench_cases *o = r->out;
    for (int i = 0; text && i < o->n_notes; i++)
        if (!strcmp(o->notes[i], text))
            return ASSAY_OK;
    const char **notes = grown(&o->arena, o->notes, o->n_notes, &r->cap_notes, sizeof *notes);
    if (!notes || !text)
        return no_memory(r);
    o->notes = notes;
    o->notes[o->n_notes++] = text;
    return ASSAY_OK;
}

/* --- Words ----------------------------------------------------------------------------------------- */

/* "; did you mean 'x'?" or the list of known names. */
static assay_status fail_word(reader *r, const char *what, const char *word, const char *const *words)
{
    const char *near = as_nearest(word, words);
    as_text     all = {0};
    for (const char *const *w = words; !near && *w; w++)
        as_text_printf(&all, "%s%s", all.length ? ", " : "", *w);
    assay_status status =
        near ? as_fail(r->env, ASSAY_BAD_INPUT, "%s: unknown %s '%s'; did you mean '%s'?", r->where, what, word, near)
             : as_fail(r->env, ASSAY_BAD_INPUT, "%s: unknown %s '%s'; known: %s", r->where, what, word,
                       all.data ? all.data : "none");
    as_text_drop(&all);
    return status;
}

static bool words_have(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word))
        words++;
    return *words != NULL;
}

/* "a,b,c" as values; an empty one is refused. */
static assay_status list_split(reader *r, const char *key, const char *text, const char **values, int *n)
{
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        if (!length)
            return as_fail(r->env, ASSAY_BAD_INPUT, "%s: %s: '%s' has an empty value", r->where, key, text);
        if (*n == MAX_VALUES)
            return as_fail(r->env, ASSAY_BAD_INPUT, "%s: %s has more than %d values", r->where, key, MAX_VALUES);
        if (!(values[(*n)++] = as_arena_text_n(&r->out->arena, at, length)))
            return no_memory(r);
    }
    return ASSAY_OK;
}

/* "null:gemm=5us,*=2us" contains commas: a part OP=TIME belongs to the device before it. */
static assay_status devices_join(reader *r, const char **values, int *n)
{
    int kept = 0;
    for (int i = 0; i < *n; i++) {
        if (kept && strchr(values[i], '=') && !strchr(values[i], ':'))
            values[kept - 1] =
                as_arena_printf(&r->out->arena, "%s%c%s", values[kept - 1], strchr(values[kept - 1], ':') ? ',' : ':', values[i]);
        else
            values[kept++] = values[i];
        if (!values[kept - 1])
            return no_memory(r);
    }
    *n = kept;
    return ASSAY_OK;
}

static assay_status devices_check(reader *r, const axis *a)
{
    const char *names[64];
    int         n = 0;
    for (; as_be_table[n] && n < (int)AS_COUNT(names) - 1; n++)
        names[n] = as_be_table[n]->name;
    names[n] = NULL;
    for (int i = 0; i < a->n; i++) {
        const char *name = as_arena_text_n(&r->out->arena, a->values[i], strcspn(a->values[i], ":"));
        if (!name)
            return no_memory(r);
        if (!words_have(names, name))
            return fail_word(r, "device", name, names);
    }
    return ASSAY_OK;
}

/* --- Axes of a line ---------------------------------------------------------------------------------- */

static axis *axis_find(line *l, const char *key)
{
    for (int i = 0; i < l->n_axes; i++)
        if (!strcmp(l->axes[i].key, key))
            return &l->axes[i];
    return NULL;
}

static const as_zoo_param *param_find(const as_zoo *zoo, const char *key)
{
    for (const as_zoo_param *p = zoo->params; p && p->key; p++)
        if (!strcmp(p->key, key))
            return p;
    return NULL;
}

static const as_zoo_choice *choice_find(const as_zoo *zoo, const char *key)
{
    for (const as_zoo_choice *c = zoo->choices; c && c->key; c++)
        if (!strcmp(c->key, key))
            return c;
    return NULL;
}

/* Options that a line may set besides the keys of its workload. */
static const char *const line_options[] = {"device", "threads",   "compile", "weights-as", "winograd",  "batch",      "seq",
                                           "train",  "optimizer", "loss",    "recompute",  "precision", "accumulate", NULL};
/* Those for training steps; a workload has none. */
static const char *const train_options[] = {"train", "optimizer", "loss", "recompute", "precision", "accumulate", NULL};

static assay_status key_check(reader *r, const line *l, const char *key)
{
    const char *keys[MAX_AXES + AS_COUNT(line_options)];
    int         n = 0;
    for (const as_zoo_param *p = l->zoo ? l->zoo->params : NULL; p && p->key && n < MAX_AXES; p++)
        keys[n++] = p->key;
    for (int i = 0; line_options[i]; i++) {
        bool of_model =
            !strcmp(line_options[i], "batch") || !strcmp(line_options[i], "seq") || words_have(train_options, line_options[i]);
        if (!l->zoo || !of_model) /* a workload takes these as keys or not at all */
            keys[n++] = line_options[i];
    }
    keys[n] = NULL;
    if (words_have(keys, key))
        return ASSAY_OK;
    return fail_word(r, as_arena_printf(&r->out->arena, "key of %s", l->name), key, keys);
}

static assay_status axis_add(reader *r, line *l, const char *key, const char *text)
{
    axis *a = &l->axes[l->n_axes];
    if (axis_find(l, key))
        return as_fail(r->env, ASSAY_BAD_INPUT, "%s: the key '%s' is given twice", r->where, key);
    if (l->n_axes == MAX_AXES)
        return as_fail(r->env, ASSAY_BAD_INPUT, "%s: more than %d keys", r->where, MAX_AXES);
    const as_zoo_param *p = l->zoo ? param_find(l->zoo, key) : NULL;
    *a = (axis){.key = key,
                .standard = p ? p->standard : NULL,
                .of_spec = p != NULL,
                .values = AS_TAKE(&r->out->arena, const char *, MAX_VALUES)};
    if (!a->values)
        return no_memory(r);
    AS_TRY(list_split(r, key, text, a->values, &a->n));
    l->n_axes++;
    /* "adamw:lr=1e-3,decay=0.01" contains commas in the same way as a device. */
    return strcmp(key, "device") && strcmp(key, "optimizer") ? ASSAY_OK : devices_join(r, a->values, &a->n);
}

/* An option's values become an axis where the line does not set it. */
static assay_status axis_default(reader *r, line *l, const char *key, const char *text)
{
    return axis_find(l, key) || !text ? ASSAY_OK : axis_add(r, l, key, text);
}

/* The name that an alias stands for; NULL: not an alias. */
static const char *alias_find(const char *name)
{
    for (const as_zoo_alias *a = as_zoo_aliases; a->name; a++)
        if (!strcmp(a->name, name))
            return a->spec;
    return NULL;
}

/* elementwise:multiply is elementwise:mul: an alias of a whole workload also works for its word. */
static const char *plain_word(const as_zoo *zoo, const char *word)
{
    size_t      n = strlen(zoo->name);
    const char *spec = alias_find(word);
    return spec && !strncmp(spec, zoo->name, n) && spec[n] == ':' ? spec + n + 1 : word;
}

static assay_status words_check(reader *r, const line *l)
{
    for (int i = 0; i < l->n_axes; i++) {
        const axis          *a = &l->axes[i];
        const as_zoo_choice *c = l->zoo && a->of_spec ? choice_find(l->zoo, a->key) : NULL;
        for (int k = 0; c && k < a->n; k++)
            a->values[k] = plain_word(l->zoo, a->values[k]);
        for (int k = 0; c && k < a->n; k++)
            if (!words_have(c->words, a->values[k]))
                return fail_word(r, a->key, a->values[k], c->words);
        if (!strcmp(a->key, "device"))
            AS_TRY(devices_check(r, a));
    }
    return ASSAY_OK;
}

/* --- Sizes --------------------------------------------------------------------------------------------- */

/* How many numbers "512x512" has; 0 if it does not have that form. */
static int size_dims(const char *text)
{
    int n = 0;
    for (const char *at = text;; at++) {
        size_t length = strspn(at, "0123456789");
        if (!length || length > 9 || *at == '0')
            return 0;
        at += length;
        n++;
        if (!*at)
            return n;
        if (*at != 'x')
            return 0;
    }
}

static bool size_fits(const as_zoo_axes *axes, const char *text)
{
    int n = size_dims(text);
    return n >= axes->min_dims && n <= axes->max_dims;
}

/* Sizes of the command line apply to all workloads: each takes those of its own form, or its standard size if there are none. */
static assay_status sizes_default(reader *r, line *l)
{
    const char *text = r->options->sizes, *values[MAX_VALUES];
    as_text     kept = {0};
    int         n = 0, n_kept = 0;
    if (!text || axis_find(l, "size"))
        return ASSAY_OK;
    AS_TRY(list_split(r, "sizes", text, values, &n));
    for (int i = 0; i < n; i++)
        if (!size_dims(values[i]))
            return as_fail(r->env, ASSAY_BAD_INPUT, "%s: the size '%s' must be whole numbers from 1 with x between them", r->where,
                           values[i]);
    for (int i = 0; i < n; i++)
        if (size_fits(l->zoo->axes, values[i]))
            as_text_printf(&kept, "%s%s", n_kept++ ? "," : "", values[i]);
    assay_status status = kept.failed ? no_memory(r) : ASSAY_OK;
    if (status == ASSAY_OK && n_kept)
        status = axis_add(r, l, "size", kept.data);
    if (status == ASSAY_OK && n_kept < n)
        status =
            note(r, as_arena_printf(&r->out->arena, "%s takes sizes of the form %s: %s", l->name, l->zoo->axes->form,
                                    n_kept ? "the others are skipped" : "none was given, so it is measured at its default size"));
    as_text_drop(&kept);
    return status;
}

static assay_status own_sizes_check(reader *r, line *l)
{
    const axis *a = axis_find(l, "size");
    for (int i = 0; a && i < a->n; i++)
        if (!size_fits(l->zoo->axes, a->values[i]))
            return as_fail(r->env, ASSAY_BAD_INPUT, "%s: the size '%s' of %s is not of the form %s", r->where, a->values[i],
                           l->name, l->zoo->axes->form);
    return ASSAY_OK;
}

/* A transposed operand needs two axes: a combination without them is left out, not refused. */
static bool goes_together(const char *layout, const char *size)
{
    return !layout || !size || strcmp(layout, "transposed") || size_dims(size) > 1;
}

/* --- What the options say -------------------------------------------------------------------------------- */

const as_option_member as_case_members[] = {AS_MEMBER(as_case_options, TEXT, "suite", suite),
                                            AS_MEMBER(as_case_options, TEXT, "sizes", sizes),
                                            AS_MEMBER(as_case_options, TEXT, "dtypes", dtypes),
                                            AS_MEMBER(as_case_options, TEXT, "layout", layout),
                                            AS_MEMBER(as_case_options, TEXT, "devices", devices),
                                            AS_MEMBER(as_case_options, TEXT, "threads", threads),
                                            AS_MEMBER(as_case_options, GIVEN, "batch", batch),
                                            AS_MEMBER(as_case_options, GIVEN, "seq", seq),
                                            AS_MEMBER(as_case_options, GIVEN, "compile", compile),
                                            AS_MEMBER(as_case_options, GIVEN, "weights-as", weights_as),
                                            AS_MEMBER(as_case_options, GIVEN, "winograd", winograd),
                                            AS_MEMBER(as_case_options, BOOL, "train", train),
                                            AS_MEMBER(as_case_options, GIVEN, "optimizer", optimizer),
                                            AS_MEMBER(as_case_options, GIVEN, "loss", loss),
                                            AS_MEMBER(as_case_options, GIVEN, "recompute", recompute),
                                            AS_MEMBER(as_case_options, GIVEN, "precision", precision),
                                            AS_MEMBER(as_case_options, GIVEN, "accumulate", accumulate),
                                            AS_MEMBER(as_case_options, TEXTS, "dim", dims),
                                            AS_MEMBER(as_case_options, U64, "seed", seed),
                                            AS_MEMBER(as_case_options, TEXT, "weights", weights),
                                            {.key = NULL}};

assay_status as_case_options_read(assay_env *env, const assay_options *options, as_case_options *out)
{
    *out = (as_case_options){.suite = NULL};
    return as_options_read(env, options, as_case_members, out);
}

/* An option of the command line that some lines do not use. */
static assay_status option_axis(reader *r, line *l, const char *option, const char *text, const char *key)
{
    bool has = l->zoo && param_find(l->zoo, key);
    if (!text)
        return ASSAY_OK;
    if (has)
        return axis_default(r, l, key, text);
    return note(r, as_arena_printf(&r->out->arena, "%s has no %s: --%s %s does not apply", l->name, key, option, text));
}

static assay_status train_add(reader *r, line *l)
{
    const as_case_options *o = r->options;
    const char *const      texts[] = {o->train ? "on" : NULL, o->optimizer, o->loss, o->recompute, o->precision, o->accumulate};
    for (int i = 0; train_options[i]; i++)
        AS_TRY(axis_default(r, l, train_options[i], texts[i]));
    for (int i = 1; train_options[i] && !axis_find(l, "train"); i++)
        if (axis_find(l, train_options[i]))
            return as_fail(r->env, ASSAY_BAD_INPUT, "%s: %s is for training steps: add train=on, or --train", r->where,
                           train_options[i]);
    return ASSAY_OK;
}

/* The user's options that change what is measured become axes with one value, so that they are part of the name. */
static assay_status options_add(reader *r, line *l)
{
    const as_case_options *o = r->options;
    bool                   winograd = false;
    if (!l->zoo) { /* a workload takes these as keys, or not at all */
        AS_TRY(axis_default(r, l, "batch", o->batch));
        AS_TRY(axis_default(r, l, "seq", o->seq));
        AS_TRY(train_add(r, l));
    } else if (o->train) {
        return as_fail(r->env, ASSAY_BAD_INPUT, "%s: --train is for models, and %s is a workload", r->where, l->name);
    }
    AS_TRY(axis_default(r, l, "compile", o->compile));
    AS_TRY(axis_default(r, l, "weights-as", o->weights_as));
    if (o->winograd && as_parse_bool(o->winograd, &winograd) && winograd)
        AS_TRY(axis_default(r, l, "winograd", "on"));
    const axis *compile = axis_find(l, "compile");
    for (int i = 0; compile && i < compile->n; i++)
        if (!strcmp(compile->values[i], "both"))
            return as_fail(r->env, ASSAY_BAD_INPUT, "%s: compile=both is for profile; in a suite, use compile=on,off", r->where);
    return ASSAY_OK;
}

static assay_status line_complete(reader *r, line *l)
{
    const as_zoo_axes *axes = l->zoo ? l->zoo->axes : NULL;
    if (axes && axes->min_dims)
        AS_TRY(own_sizes_check(r, l));
    if (axes && axes->min_dims)
        AS_TRY(sizes_default(r, l));
    else
        AS_TRY(option_axis(r, l, "sizes", r->options->sizes, "size"));
    AS_TRY(option_axis(r, l, "dtypes", r->options->dtypes, "dtype"));
    AS_TRY(option_axis(r, l, "layout", r->options->layout, "layout"));
    if (l->zoo) { /* those of a model are options that its plan reads */
        AS_TRY(option_axis(r, l, "batch", r->options->batch, "batch"));
        AS_TRY(option_axis(r, l, "seq", r->options->seq, "seq"));
    }
    for (const as_zoo_param *p = l->zoo ? l->zoo->params : NULL; p && p->key; p++)
        AS_TRY(axis_default(r, l, p->key, p->standard));
    AS_TRY(options_add(r, l));
    AS_TRY(axis_default(r, l, "device", r->options->devices ? r->options->devices : "cpu"));
    AS_TRY(axis_default(r, l, "threads", r->options->threads));
    return words_check(r, l);
}

/* --- Cases --------------------------------------------------------------------------------------------- */

/* One value of every axis. */
typedef struct pick {
    const line *l;
    int         at[MAX_AXES];
} pick;

static const char *picked(const pick *p, const char *key)
{
    for (int i = 0; i < p->l->n_axes; i++)
        if (!strcmp(p->l->axes[i].key, key))
            return p->l->axes[i].values[p->at[i]];
    return NULL;
}

/* "512" for "512x512"; only where a single number is not itself a size. */
static size_t square_length(const as_zoo *zoo, const char *size)
{
    size_t n = strcspn(size, "x");
    return zoo->axes->min_dims == 2 && size_dims(size) == 2 && !strncmp(size, size + n + 1, n) && !size[2 * n + 1] ? n
                                                                                                                   : strlen(size);
}

typedef enum name_form { FORM_ID, FORM_NAME, FORM_FAMILY } name_form;

/* First the parts that every workload has in the same place, then the rest as key=value. */
static const char *const placed[] = {"size", "dtype", "layout", NULL};
static const char *const placed_last[] = {"device", "threads", NULL};

static void placed_add(as_text *t, const pick *p, const char *key, name_form form)
{
    const char *value = picked(p, key);
    if (!value)
        return;
    if (!strcmp(key, "size")) {
        as_text_add(t, "/");
        if (form == FORM_FAMILY)
            as_text_add(t, "*");
        else
            as_text_add_n(t, value, form == FORM_NAME ? square_length(p->l->zoo, value) : strlen(value));
    } else if (form != FORM_NAME || strcmp(key, "layout") || strcmp(value, "contiguous")) {
        as_text_printf(t, "/%s", value);
    }
}

static char *name_make(reader *r, const pick *p, name_form form)
{
    const line *l = p->l;
    const char *variant = l->zoo ? l->zoo->axes->variant : NULL;
    as_text     t = {0};
    as_text_add(&t, l->name);
    if (variant)
        as_text_printf(&t, "/%s", picked(p, variant));
    for (int i = 0; placed[i]; i++)
        placed_add(&t, p, placed[i], form);
    for (int i = 0; i < l->n_axes; i++) {
        const axis *a = &l->axes[i];
        const char *value = a->values[p->at[i]];
        bool        standard = a->standard && !strcmp(a->standard, value);
        if (words_have(placed, a->key) || words_have(placed_last, a->key) || (variant && !strcmp(a->key, variant)))
            continue;
        if (form != FORM_NAME || !standard)
            as_text_printf(&t, "/%s=%s", a->key, value);
    }
    for (size_t i = 0; !l->zoo && i < r->options->dims.n; i++)
        as_text_printf(&t, "/%s", r->options->dims.items[i]);
    if (form != FORM_NAME || strcmp(picked(p, "device"), "cpu"))
        as_text_printf(&t, "/%s", picked(p, "device"));
    if (form != FORM_NAME || strcmp(picked(p, "threads"), "1"))
        as_text_printf(&t, "/t%s", picked(p, "threads"));
    char *text = t.failed ? NULL : as_arena_text(&r->out->arena, t.data);
    as_text_drop(&t);
    return text;
}

/* The number that a word such as "512x512" begins with; 0: none. */
static int64_t number_begins(const char *word, size_t *length)
{
    char    digits[24];
    int64_t number;
    *length = strspn(word, "0123456789");
    snprintf(digits, sizeof digits, "%.*s", (int)*length, word);
    return *length < sizeof digits && as_parse_i64(digits, &number) ? number : 0;
}

static void spec_make(reader *r, const pick *p, as_bench_case *c)
{
    const char *rows = p->l->zoo && p->l->zoo->axes ? p->l->zoo->axes->rows : NULL;
    as_text     t = {0};
    as_text_add(&t, p->l->name);
    for (int i = 0, n = 0; i < p->l->n_axes; i++) {
        const char *key = p->l->axes[i].key, *value = p->l->axes[i].values[p->at[i]];
        size_t      length;
        if (!p->l->axes[i].of_spec)
            continue;
        as_text_printf(&t, "%c%s=", n++ ? ',' : ':', key);
        if (!strcmp(key, "batch"))
            c->spec_batch = number_begins(value, &length);
        if (rows && !strcmp(key, rows)) {
            c->spec_rows = number_begins(value, &length);
            c->rows_begin = t.length;
            c->rows_end = t.length + length;
        }
        as_text_add(&t, value);
    }
    c->spec = t.failed ? NULL : as_arena_text(&r->out->arena, t.data);
    as_text_drop(&t);
}

/* The user's options that a model or a plan reads, and the case's own.  The parameters of a workload are in its name. */
static assay_status case_fill(reader *r, const pick *p, as_bench_case *c)
{
    const as_case_options *o = r->options;
    int64_t                threads;
    if (!as_parse_i64(picked(p, "threads"), &threads) || threads < 1 || threads > 1024)
        return as_fail(r->env, ASSAY_BAD_INPUT, "%s: threads=%s is not a whole number from 1 to 1024", r->where,
                       picked(p, "threads"));
    AS_TRY(as_model_options_read(r->env, NULL, &c->model));
    AS_TRY(as_plan_options_read(r->env, NULL, &c->plan));
    c->model.seed = c->plan.seed = o->seed;
    if (!c->is_workload) {
        c->model.weights = o->weights;
        c->plan.dims = o->dims;
    }
    for (int i = 0; i < p->l->n_axes; i++) {
        const char *key = p->l->axes[i].key, *value = p->l->axes[i].values[p->at[i]];
        if (!strcmp(key, "train") && !p->l->zoo) {
            if (!as_parse_bool(value, &c->trains))
                return as_fail(r->env, ASSAY_BAD_INPUT, "%s: train=%s must be on or off", r->where, value);
        } else if (words_have(train_options, key) && !p->l->zoo) {
            AS_TRY(as_member_set(r->env, as_train_setup_members, key, value, &c->train));
        } else if (!p->l->axes[i].of_spec) {
            AS_TRY(as_member_set(r->env, as_plan_members, key, value, &c->plan));
        }
    }
    if (c->trains)
        c->work = AS_WORK_TRAINING;
    return c->trains ? as_train_setup_parse(r->env, &c->train) : ASSAY_OK;
}

static assay_status case_add(reader *r, const pick *p)
{
    as_bench_cases *o = r->out;
    as_bench_case   c = {.id = name_make(r, p, FORM_ID),
                         .name = name_make(r, p, FORM_NAME),
                         .family = name_make(r, p, FORM_FAMILY),
                         .workload = p->l->name,
                         .is_workload = p->l->zoo != NULL,
                         .work = !p->l->zoo          ? AS_WORK_INFERENCE
                                 : p->l->zoo->trains ? AS_WORK_TRAINING
                                                     : AS_WORK_OTHER};
    spec_make(r, p, &c);
    if (!c.id || !c.name || !c.family || !c.spec)
        return no_memory(r);
    AS_TRY(case_fill(r, p, &c));
    for (int i = 0; i < o->n_items; i++)
        if (!strcmp(o->items[i].id, c.id))
            return note(r, as_arena_printf(&o->arena, "%s is given twice and measured once", c.id));
    if (o->n_items == AS_BENCH_MAX_CASES)
        return as_fail(r->env, ASSAY_BAD_INPUT, "%s: more than %d cases; give fewer sizes, types, layouts, devices or threads",
                       r->where, AS_BENCH_MAX_CASES);
    as_bench_case *items = grown(&o->arena, o->items, o->n_items, &r->cap_items, sizeof *items);
    if (!items)
        return no_memory(r);
    o->items = items;
    o->items[o->n_items++] = c;
    return ASSAY_OK;
}

/* The last axis varies fastest: cases of one size follow each other. */
static bool pick_next(pick *p)
{
    for (int i = p->l->n_axes - 1; i >= 0; i--) {
        if (++p->at[i] < p->l->axes[i].n)
            return true;
        p->at[i] = 0;
    }
    return false;
}

static assay_status line_expand(reader *r, const line *l)
{
    pick p = {.l = l};
    do {
        if (goes_together(picked(&p, "layout"), picked(&p, "size")))
            AS_TRY(case_add(r, &p));
        else
            AS_TRY(note(r, as_arena_printf(&r->out->arena, "%s of size %s has one axis and cannot be transposed: skipped", l->name,
                                           picked(&p, "size"))));
    } while (pick_next(&p));
    return ASSAY_OK;
}

/* --- Lines ----------------------------------------------------------------------------------------------- */

static const as_zoo *workload_find(const char *name, size_t n)
{
    for (int i = 0; as_zoo_table[i]; i++)
        if (as_zoo_table[i]->axes && strlen(as_zoo_table[i]->name) == n && !memcmp(as_zoo_table[i]->name, name, n))
            return as_zoo_table[i];
    return NULL;
}

/* For a missing model, the loader's own message is used. */
static assay_status model_check(reader *r, const char *name)
{
    assay_model *model = NULL;
    for (int i = 0; as_zoo_table[i]; i++)
        if (strlen(as_zoo_table[i]->name) == strcspn(name, ":") && !strncmp(as_zoo_table[i]->name, name, strcspn(name, ":")))
            return ASSAY_OK;
    if (!access(name, R_OK))
        return ASSAY_OK;
    assay_status status = assay_model_load(r->env, name, NULL, &model);
    assay_model_free(model);
    if (status == ASSAY_OK || !strcmp(r->where, "bench"))
        return status;
    char *sentence = as_arena_text(&r->out->arena, assay_message(r->env));
    return as_fail(r->env, status, "%s: %s", r->where, sentence ? sentence : "no such model");
}

static assay_status line_begin(reader *r, const char *name, line *l)
{
    size_t n = strcspn(name, ":");
    *l = (line){.name = name, .zoo = workload_find(name, n)};
    if (!l->zoo)
        return model_check(r, name);
    l->name = as_arena_text_n(&r->out->arena, name, n);
    return l->name ? ASSAY_OK : no_memory(r);
}

/* "key=a,b" or, in an argument, words that select the workload's variant. */
static assay_status item_add(reader *r, line *l, const char *item)
{
    const char *equals = strchr(item, '=');
    if (!equals && !(l->zoo && l->zoo->axes->variant))
        return as_fail(r->env, ASSAY_BAD_INPUT, "%s: %s: '%s' is not of the form key=value", r->where, l->name, item);
    const char *key = equals ? as_arena_text_n(&r->out->arena, item, (size_t)(equals - item)) : l->zoo->axes->variant;
    if (!key)
        return no_memory(r);
    AS_TRY(key_check(r, l, key));
    return axis_add(r, l, key, equals ? equals + 1 : item);
}

/* "add,mul" or "size=64x64,128x128,dtype=f16": a word without '=' continues the list before it. */
static assay_status words_add(reader *r, line *l, const char *words)
{
    char *copy = as_arena_text(&r->out->arena, words);
    if (!copy)
        return no_memory(r);
    while (copy) {
        char *end = copy + strcspn(copy, ","), *rest = NULL;
        for (; *end; end += 1 + strcspn(end + 1, ","))
            if (strcspn(end + 1, "=") < strcspn(end + 1, ",")) {
                *end = '\0';
                rest = end + 1;
                break;
            }
        AS_TRY(item_add(r, l, copy));
        copy = rest;
    }
    return ASSAY_OK;
}

/* compare calls the workload matmul "bench:matmul"; other tools call elementwise:mul "multiply". */
static const char *plain_name(const char *name)
{
    static const char prefix[] = "bench:";
    name += strncmp(name, prefix, sizeof prefix - 1) ? 0 : sizeof prefix - 1;
    const char *spec = alias_find(name);
    return spec ? spec : name;
}

static assay_status argument_read(reader *r, const char *argument)
{
    line l;
    argument = plain_name(argument);
    AS_TRY(line_begin(r, argument, &l));
    if (l.zoo && argument[strlen(l.name)] == ':')
        AS_TRY(words_add(r, &l, argument + strlen(l.name) + 1));
    AS_TRY(line_complete(r, &l));
    return line_expand(r, &l);
}

/* NAME key=value ...; the text is cut in place. */
static assay_status suite_line(reader *r, char *text)
{
    static const char blank[] = " \t\r";
    line              l;
    text[strcspn(text, "#")] = '\0';
    text += strspn(text, blank);
    if (!*text)
        return ASSAY_OK;
    char *name = text, *rest = text + strcspn(text, blank);
    if (*rest)
        *rest++ = '\0';
    const char *plain = plain_name(name);
    AS_TRY(line_begin(r, plain, &l));
    if (l.zoo && plain[strlen(l.name)] == ':')
        AS_TRY(words_add(r, &l, plain + strlen(l.name) + 1));
    for (rest += strspn(rest, blank); *rest; rest += strspn(rest, blank)) {
        char *item = rest;
        rest += strcspn(rest, blank);
        if (*rest)
            *rest++ = '\0';
        AS_TRY(item_add(r, &l, item));
    }
    AS_TRY(line_complete(r, &l));
    return line_expand(r, &l);
}

static assay_status suite_read(reader *r, const char *path, const char *text)
{
    char *copy = as_arena_text(&r->out->arena, text);
    if (!copy)
        return no_memory(r);
    for (int n = 1; copy; n++) {
        char *end = strchr(copy, '\n');
        if (end)
            *end = '\0';
        if (!(r->where = as_arena_printf(&r->out->arena, "%s:%d", path, n))) {
            r->where = path;
            return no_memory(r);
        }
        AS_TRY(suite_line(r, copy));
        copy = end ? end + 1 : NULL;
    }
    r->where = path;
    return r->out->n_items ? ASSAY_OK : as_fail(r->env, ASSAY_BAD_INPUT, "%s: the suite has no case", path);
}

static assay_status suite_load(reader *r, const char *path)
{
    as_map map;
    for (const as_suite_file *own = as_suite_files; own->name; own++)
        if (!strcmp(own->name, path) && access(path, F_OK))
            return suite_read(r, path, own->text);
    AS_TRY(as_map_open(r->env, "suite", path, MAX_SUITE_BYTES, &map));
    char        *text = memchr(map.data, 0, map.bytes) ? NULL : as_arena_text_n(&r->out->arena, (const char *)map.data, map.bytes);
    assay_status status = text ? suite_read(r, path, text) : as_fail(r->env, ASSAY_BAD_INPUT, "%s: the suite is not text", path);
    as_map_close(&map);
    return status;
}

static assay_status reader_begin(assay_env *env, const as_case_options *options, reader *r)
{
    *r = (reader){.env = env, .options = options, .out = calloc(1, sizeof *r->out), .where = "bench"};
    return r->out ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "bench: not enough memory for its cases");
}

static assay_status reader_end(reader *r, assay_status status, as_bench_cases **out)
{
    if (status == ASSAY_OK)
        *out = r->out;
    else
        as_bench_cases_free(r->out);
    return status;
}

assay_status as_bench_cases_parse(assay_env *env, const char *path, const char *text, const as_case_options *options,
                                  as_bench_cases **out)
{
    reader r;
    AS_TRY(reader_begin(env, options, &r));
    return reader_end(&r, suite_read(&r, path, text), out);
}

assay_status as_bench_cases_read(assay_env *env, const char *const *args, int n_args, const as_case_options *options,
                                 as_bench_cases **out)
{
    reader       r;
    const char  *suite = options->suite;
    assay_status status = ASSAY_OK;
    if (!suite && !n_args)
        return as_fail(env, ASSAY_BAD_INPUT, "bench needs a workload such as matmul, a model, or --suite FILE");
    AS_TRY(reader_begin(env, options, &r));
    if (suite)
        status = suite_load(&r, suite);
    r.where = "bench";
    for (int i = 0; i < n_args && status == ASSAY_OK; i++)
        status = argument_read(&r, args[i]);
    return reader_end(&r, status, out);
}

void as_bench_cases_free(as_bench_cases *cases)
{
    if (!cases)
        return;
    as_arena_drop(&cases->arena);
    free(cases);
}

double as_bench_case_items(const as_bench_case *c)
{
    if (c->plan.batch_is_set)
        return (double)c->plan.batch;
    return c->spec_batch > 0 ? (double)c->spec_batch : c->is_workload ? (double)NAN : 1;
}
