/* data.c - data sets: opened, described, split. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/reader.h"

/* --- What an example has after preprocessing ------------------------------------------------------------- */

static as_dtype input_dtype(const as_data *data)
{
    as_dtype stored = data->source->input[0].dtype;
    if (data->preprocess.dtype != AS_NONE)
        return data->preprocess.dtype;
    return stored == AS_I32 || stored == AS_I64 || stored == AS_U32 || stored == AS_U64 ? AS_I64 : AS_F32;
}

static assay_status set_inputs(assay_env *env, as_data *data)
{
    const as_source     *source = data->source;
    const as_preprocess *p = &data->preprocess;
    const as_shape      *shape = &source->input[0].shape;
    bool                 is_image = !source->is_sequence && (shape->rank == 2 || shape->rank == 3);
    char                 text[192];
    for (int i = 0; i < source->n_inputs; i++) {
        data->input[i] = source->input[i];
        data->input[i].dtype = AS_F32;
    }
    data->input[0].dtype = input_dtype(data);
    if (data->input[0].dtype != AS_F32 && (p->scale != 0 || p->normalize))
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: %s: x has whole numbers of type %s, which %s would make fractions of; add dtype=f32 to --preprocess",
                       source->spec.text, as_dtype_name(data->input[0].dtype), p->normalize ? "normalize" : "scale");
    if ((p->crop || p->flip) && !is_image)
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: %s needs images, [H,W] or [C,H,W]; an example of x is %s",
                       source->spec.text, p->crop ? "crop" : "flip", as_shape_show(shape, text, sizeof text));
    if (p->crop && (p->crop >= shape->dim[shape->rank - 1] || p->crop >= shape->dim[shape->rank - 2]))
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: %s: crop=%d would push an image of %s out of the window; it must be less than each side",
                       source->spec.text, p->crop, as_shape_show(shape, text, sizeof text));
    if (p->flatten)
        data->input[0].shape = AS_SHAPE(as_shape_count(shape));
    return ASSAY_OK;
}

static assay_status set_target(assay_env *env, as_data *data, as_target_kind want, int64_t n_classes)
{
    const as_source *source = data->source;
    const char      *spec = source->spec.text;
    if (!source->has_target || want == AS_TARGET_NONE) {
        if (want == AS_TARGET_CLASS || want == AS_TARGET_NUMBER)
            return as_fail(env, ASSAY_BAD_INPUT, "data: %s: has no target", spec);
        if (data->preprocess.onehot)
            return as_fail(env, ASSAY_BAD_INPUT, "data: %s: onehot needs a target of classes; there is no target", spec);
        data->target_kind = AS_TARGET_NONE;
        return ASSAY_OK;
    }
    data->target = source->target;
    data->target_kind = want != AS_TARGET_AUTO ? want : source->n_classes ? AS_TARGET_CLASS : AS_TARGET_NUMBER;
    if (data->target_kind == AS_TARGET_CLASS && !source->n_classes)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: %s: the target is not a class: it has other values than the whole numbers from 0", spec);
    if (data->target_kind == AS_TARGET_NUMBER) {
        if (data->preprocess.onehot)
            return as_fail(env, ASSAY_BAD_INPUT, "data: %s: onehot needs a target of classes; this target is numbers", spec);
        if (source->labels)
            return as_fail(env, ASSAY_BAD_INPUT, "data: %s: the target is text (\"%s\" ...), not numbers", spec, source->labels[0]);
        data->target.dtype = AS_F32;
        if (data->target.shape.rank == 0)
            data->target.shape = AS_SHAPE(1);
        return ASSAY_OK;
    }
    data->n_classes = n_classes;
    data->target.dtype = AS_I64;
    if (data->preprocess.onehot) {
        if (data->target.shape.rank == AS_MAX_RANK - 1)
            return as_fail(env, ASSAY_BAD_INPUT, "data: %s: the target has too many axes for onehot", spec);
        data->target.dtype = AS_F32;
        data->target.shape.dim[data->target.shape.rank++] = n_classes;
    }
    return ASSAY_OK;
}

static bool same_source(const as_source *a, const as_source *b)
{
    bool same = a->n_inputs == b->n_inputs;
    for (int i = 0; same && i < a->n_inputs; i++)
        same = as_shape_same(&a->input[i].shape, &b->input[i].shape);
    return same && a->has_target == b->has_target && (!a->has_target || as_shape_same(&a->target.shape, &b->target.shape));
}

/* Validation data must be what the network was trained on. */
static assay_status check_like(assay_env *env, const as_source *source, const as_data *like)
{
    char a[192], b[192];
    if (!same_source(source, like->source))
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: an example is x %s%s, but x %s%s in the training data %s",
                       source->spec.text, as_shape_show(&source->input[0].shape, a, sizeof a),
                       source->has_target ? " with a target" : " without target",
                       as_shape_show(&like->source->input[0].shape, b, sizeof b),
                       like->source->has_target ? " with a target" : " without target", like->source->spec.text);
    if (source->n_classes > like->source->n_classes && like->source->n_classes)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: %s: has class %" PRId64 ", but the training data %s have only %" PRId64 " classes", source->spec.text,
                       source->n_classes - 1, like->source->spec.text, like->source->n_classes);
    return ASSAY_OK;
}

/* --- Opening ------------------------------------------------------------------------------------------------- */

static void source_free(as_source *source)
{
    if (!source)
        return;
    for (int i = 0; i < source->n_files; i++)
        as_data_file_close(&source->files[i]);
    as_text_drop(&source->canonical);
    as_arena_drop(&source->arena);
    free(source);
}

/* Before anything is read: an example of nothing could be there any number of times. */
static assay_status check_values(assay_env *env, const as_source *source)
{
    bool empty = source->has_target && as_shape_count(&source->target.shape) < 1;
    for (int i = 0; i < source->n_inputs; i++)
        empty |= as_shape_count(&source->input[i].shape) < 1;
    if (source->n < 1)
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: has no examples", source->spec.text);
    return empty ? as_fail(env, ASSAY_BAD_INPUT, "data: %s: examples have no values", source->spec.text) : ASSAY_OK;
}

static assay_status source_open(assay_env *env, const char *spec, const as_data_options *options, as_source *source)
{
    AS_TRY(as_spec_parse(env, &source->arena, spec, &source->spec));
    source->reader = source->spec.reader;
    AS_TRY(source->reader->open(env, options, source));
    if (source->canonical.failed)
        return as_fail(env, ASSAY_NO_MEMORY, "data: %s: not enough memory", spec);
    return check_values(env, source);
}

assay_status as_data_open(assay_env *env, const char *spec, const as_data_options *options, as_data **out)
{
    assay_status status;
    as_data     *data = calloc(1, sizeof *data);
    as_source   *source = calloc(1, sizeof *source);
    if (!data || !source) {
        free(data);
        free(source);
        return as_fail(env, ASSAY_NO_MEMORY, "data: %s: not enough memory", spec);
    }
    data->source = source;
    data->preprocess = options->preprocess;
    data->is_mapped = options->mmap;
    AS_TRY_OR(fail, source_open(env, spec, options, source));
    as_target_kind want = options->target;
    int64_t        n_classes = source->n_classes;
    if (options->like) {
        AS_TRY_OR(fail, check_like(env, source, options->like));
        n_classes = options->like->source->n_classes;
        if (want == AS_TARGET_AUTO)
            want = options->like->target_kind;
        if (want == AS_TARGET_CLASS && !source->n_classes)
            source->n_classes = n_classes;
    }
    data->n = source->n;
    AS_TRY_OR(fail, set_inputs(env, data));
    AS_TRY_OR(fail, set_target(env, data, want, n_classes));
    AS_TRY_OR(fail, as_preprocess_begin(env, data));
    *out = data;
    return ASSAY_OK;
fail:
    as_data_free(data);
    return status;
}

void as_data_free(as_data *data)
{
    if (!data)
        return;
    if (!data->parent)
        source_free(data->source);
    as_arena_drop(&data->arena);
    free(data);
}

/* --- Looking ------------------------------------------------------------------------------------------------- */

int64_t              as_data_count(const as_data *data) { return data->n; }
int                  as_data_inputs(const as_data *data) { return data->source->n_inputs; }
const as_data_field *as_data_input(const as_data *data, int i) { return &data->input[i]; }
const as_data_field *as_data_target(const as_data *data) { return data->target_kind == AS_TARGET_NONE ? NULL : &data->target; }
int64_t              as_data_classes(const as_data *data) { return data->target_kind == AS_TARGET_CLASS ? data->n_classes : 0; }
const char          *as_data_spec(const as_data *data) { return data->source->spec.text; }
const char          *as_data_kind(const as_data *data) { return data->source->reader->name; }

const char *as_data_label(const as_data *data, int64_t class)
{
    return data->source->labels && class >= 0 && class < data->source->n_classes ? data->source->labels[class] : NULL;
}

const char *as_data_show(const as_data *data, char *buf, size_t size)
{
    as_text t = {0};
    char    shape[192];
    as_text_printf(&t, "%s: %" PRId64 " example%s", data->source->spec.text, data->n, data->n == 1 ? "" : "s");
    for (int i = 0; i < data->source->n_inputs; i++)
        as_text_printf(&t, ", %s %s %s", data->input[i].name, as_dtype_name(data->input[i].dtype),
                       as_shape_show(&data->input[i].shape, shape, sizeof shape));
    if (data->target_kind == AS_TARGET_CLASS)
        as_text_printf(&t, ", y class of %" PRId64, data->n_classes);
    else if (data->target_kind == AS_TARGET_NUMBER)
        as_text_printf(&t, ", y %s %s", as_dtype_name(data->target.dtype), as_shape_show(&data->target.shape, shape, sizeof shape));
    as_text_printf(&t, ", %s%s", data->source->reader->name,
                   !data->source->n_files ? ""
                   : data->is_mapped      ? ", mapped"
                                          : ", read by pread");
    snprintf(buf, size, "%s", t.failed || !t.data ? "" : t.data);
    as_text_drop(&t);
    return buf;
}

int64_t as_data_index(const as_data *data, int64_t example)
{
    for (; data->parent; data = data->parent) {
        example += data->first;
        if (data->is_shuffled)
            example = as_order_at(&data->order, example);
    }
    return example;
}

assay_metric as_data_best_loss(const as_data *data, const char *loss)
{
    const as_reader *reader = data->source->reader;
    if (!reader->best_loss)
        return as_metric_unavailable("1", "known only for synthetic data, of which the noise is known");
    return reader->best_loss(data->source, loss);
}

bool as_data_kinds(int i, const char **name, const char **form, const char **help)
{
    for (int k = 0; as_rd_table[k]; k++)
        if (k == i) {
            *name = as_rd_table[k]->name;
            *form = as_rd_table[k]->form;
            *help = as_rd_table[k]->help;
            return true;
        }
    return false;
}

/* --- Splitting ------------------------------------------------------------------------------------------------ */

static as_data *part_of(const as_data *data, int64_t first, int64_t n)
{
    as_data *part = calloc(1, sizeof *part);
    if (!part)
        return NULL;
    *part = *data;
    part->parent = data;
    part->is_shuffled = false;
    part->first = first;
    part->n = n;
    part->arena = (as_arena){0};
    part->mean = part->std = NULL;
    part->gain = part->bias = NULL;
    part->is_fitted = false;
    return part;
}

assay_status as_data_split(assay_env *env, const as_data *data, double share, uint64_t seed, as_data **train, as_data **val)
{
    if (!(share > 0 && share < 1))
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: a share of %g for validation; it must be above 0 and below 100 %%",
                       data->source->spec.text, share);
    int64_t n_val = (int64_t)llround((double)data->n * share), gap = data->source->n_neighbours;
    n_val = n_val < 1 ? 1 : n_val >= data->n ? data->n - 1 : n_val;
    int64_t n_train = data->n - n_val - gap;
    if (n_val < 1 || n_train < 1)
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: %" PRId64 " examples are not enough for %" PRId64 " of validation%s",
                       data->source->spec.text, data->n, n_val,
                       gap ? ": windows that share rows with both parts are left out" : "");
    /* Windows in time: the past trains, the future validates.  Else the parts are places of one random order. */
    bool     in_time = gap > 0;
    as_data *a = part_of(data, in_time ? 0 : n_val, n_train), *b = part_of(data, in_time ? data->n - n_val : 0, n_val);
    if (!a || !b) {
        free(a);
        free(b);
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for two parts");
    }
    if (!in_time) {
        as_order_make(&a->order, seed, AS_STREAM_SPLIT, 0, data->n);
        b->order = a->order;
        a->is_shuffled = b->is_shuffled = true;
    }
    assay_status status = as_preprocess_begin(env, a);
    if (status == ASSAY_OK)
        status = as_preprocess_begin(env, b);
    if (status != ASSAY_OK) {
        as_data_free(a);
        as_data_free(b);
        return status;
    }
    *train = a;
    *val = b;
    return ASSAY_OK;
}

/* --- What readers share ---------------------------------------------------------------------------------------- */

assay_status as_source_count_classes(assay_env *env, as_source *source, int64_t least)
{
    as_fetch fetch = {.scratch_bytes = source->scratch_bytes};
    int64_t  n_values = as_shape_count(&source->target.shape), most = -1;
    fetch.scratch = source->scratch_bytes ? malloc(source->scratch_bytes) : NULL;
    if (source->scratch_bytes && !fetch.scratch)
        return as_fail(env, ASSAY_NO_MEMORY, "data: %s: not enough memory for %zu bytes", source->spec.text, source->scratch_bytes);
    assay_status status = check_values(env, source);
    for (int64_t i = 0; i < source->n && status == ASSAY_OK; i++) {
        as_raw raw = {0};
        if (!source->reader->read(source, i, &fetch, &raw)) {
            status = as_fail(env, fetch.status, "%s", fetch.why);
            break;
        }
        as_view view = as_view_of((void *)(uintptr_t)raw.target, source->target.dtype, &source->target.shape);
        for (int64_t k = 0; k < n_values; k++) {
            int64_t class = as_view_get_i64(&view, k);
            if (class < 0 || class > 1000000) {
                status =
                    as_fail(env, ASSAY_BAD_INPUT,
                            "data: %s: example %" PRId64 " has class %" PRId64 "; classes are the whole numbers from 0 to 1000000",
                            source->spec.text, i, class);
                break;
            }
            most = class > most ? class : most;
        }
        if (i % 4096 == 0 && as_cancelled(env))
            status = as_fail(env, ASSAY_CANCELLED, "data: %s: stopped while the classes were counted", source->spec.text);
    }
    free(fetch.scratch);
    if (status == ASSAY_OK)
        source->n_classes = most + 1 > least ? most + 1 : least;
    return status;
}
