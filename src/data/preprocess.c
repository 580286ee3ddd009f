/* preprocess.c - values become inputs: scale, crop, flip, normalise, one-hot; and the statistics that normalising needs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stage.h"
#include "data/reader.h"

/* --- Text ---------------------------------------------------------------------------------------------------- */

#define KNOWN "normalize, normalize=MEAN/STD, scale=F, onehot, flip, crop=N, flatten, dtype=f32"

/* "0.5" or "1/255" */
static bool parse_factor(const char *text, double *out)
{
    char        over[64];
    const char *slash = strchr(text, '/');
    double      a, b = 1;
    if (!slash)
        return as_parse_f64(text, out);
    if ((size_t)(slash - text) >= sizeof over)
        return false;
    memcpy(over, text, (size_t)(slash - text));
    over[slash - text] = '\0';
    if (!as_parse_f64(over, &a) || !as_parse_f64(slash + 1, &b) || b == 0)
        return false;
    *out = a / b;
    return true;
}

/* "0.49:0.48:0.45"; the number of values, 0: bad */
static int parse_list(const char *text, size_t n, double *out, int max)
{
    int count = 0;
    for (size_t at = 0; at <= n; count++) {
        size_t length = 0;
        char   number[64];
        while (at + length < n && text[at + length] != ':')
            length++;
        if (count == max || length == 0 || length >= sizeof number)
            return 0;
        memcpy(number, text + at, length);
        number[length] = '\0';
        if (!as_parse_f64(number, &out[count]))
            return 0;
        at += length + 1;
    }
    return count;
}

static assay_status parse_normalize(assay_env *env, const char *value, as_preprocess *p)
{
    p->normalize = true;
    if (!value)
        return ASSAY_OK;
    const char *slash = strchr(value, '/');
    int         n_mean = slash ? parse_list(value, (size_t)(slash - value), p->mean, (int)AS_COUNT(p->mean)) : 0;
    int         n_std = slash ? parse_list(slash + 1, strlen(slash + 1), p->std, (int)AS_COUNT(p->std)) : 0;
    if (!n_mean || n_mean != n_std)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "preprocess: normalize=%s: expected MEAN/STD, or as many of each as there are channels: 0.5:0.4/0.2:0.3",
                       value);
    for (int i = 0; i < n_std; i++)
        if (!(p->std[i] > 0))
            return as_fail(env, ASSAY_BAD_INPUT, "preprocess: normalize=%s: a standard deviation of %g; it must be above 0", value,
                           p->std[i]);
    p->n_given = n_mean;
    return ASSAY_OK;
}

static assay_status parse_word(assay_env *env, const char *word, const char *value, as_preprocess *p)
{
    int64_t n;
    if (!strcmp(word, "normalize") || !strcmp(word, "normalise"))
        return parse_normalize(env, value, p);
    if (!strcmp(word, "scale")) {
        if (!value || !parse_factor(value, &p->scale) || p->scale == 0 || !isfinite(p->scale))
            return as_fail(env, ASSAY_BAD_INPUT, "preprocess: scale=%s: expected a factor other than 0, for example 1/255",
                           value ? value : "");
        return ASSAY_OK;
    }
    if (!strcmp(word, "crop")) {
        if (!value || !as_parse_i64(value, &n) || n < 1 || n > 4096)
            return as_fail(env, ASSAY_BAD_INPUT, "preprocess: crop=%s: expected a number of pixels from 1 to 4096",
                           value ? value : "");
        p->crop = (int)n;
        return ASSAY_OK;
    }
    if (!strcmp(word, "dtype")) {
        if (!value || !as_dtype_parse(value, &p->dtype) || (p->dtype != AS_F32 && p->dtype != AS_I64))
            return as_fail(env, ASSAY_BAD_INPUT, "preprocess: dtype=%s: expected f32 or i64", value ? value : "");
        return ASSAY_OK;
    }
    bool *flag = !strcmp(word, "onehot")    ? &p->onehot
                 : !strcmp(word, "flip")    ? &p->flip
                 : !strcmp(word, "flatten") ? &p->flatten
                                            : NULL;
    if (!flag)
        return as_fail(env, ASSAY_BAD_INPUT, "preprocess: unknown word \"%s\"; known: " KNOWN, word);
    *flag = true;
    if (value && !as_parse_bool(value, flag))
        return as_fail(env, ASSAY_BAD_INPUT, "preprocess: %s=%s: expected on or off", word, value);
    return ASSAY_OK;
}

assay_status as_preprocess_parse(assay_env *env, const char *text, as_preprocess *out)
{
    as_preprocess p = {0};
    for (const char *at = text ? text : ""; *at;) {
        char   word[512];
        size_t n = strcspn(at, ",");
        if (n == 0 || n >= sizeof word || (at[n] && !at[n + 1]))
            return as_fail(env, ASSAY_BAD_INPUT, "preprocess: \"%s\": expected words with commas between them; known: " KNOWN,
                           text);
        memcpy(word, at, n);
        word[n] = '\0';
        char *equals = strchr(word, '=');
        if (equals)
            *equals = '\0';
        AS_TRY(parse_word(env, word, equals ? equals + 1 : NULL, &p));
        at += n + (at[n] == ',');
    }
    *out = p;
    return ASSAY_OK;
}

/* --- Values ----------------------------------------------------------------------------------------------------- */

/* Elements may be at any address: in a mapped file nothing is aligned.  row: of one channel; blocks of a fixed length become vector instructions
 * with every compiler at -O2.  back: the same, the last first.  each: every value has a channel of its own. */
#define LOADER(name, type, expression)                                                                                      \
    static inline float load_##name(const uint8_t *src, int64_t i)                                                          \
    {                                                                                                                       \
        type v;                                                                                                             \
        memcpy(&v, src + (size_t)i * sizeof v, sizeof v);                                                                   \
        return (float)(expression);                                                                                         \
    }                                                                                                                       \
    static void row_##name(const uint8_t *restrict src, int64_t n, float gain, float bias, float *restrict dst)             \
    {                                                                                                                       \
        int64_t i = 0;                                                                                                      \
        for (; i + 16 <= n; i += 16)                                                                                        \
            for (int k = 0; k < 16; k++)                                                                                    \
                dst[i + k] = load_##name(src + (size_t)i * sizeof(type), k) * gain + bias;                                  \
        for (; i < n; i++)                                                                                                  \
            dst[i] = load_##name(src, i) * gain + bias;                                                                     \
    }                                                                                                                       \
    static void back_##name(const uint8_t *restrict src, int64_t n, float gain, float bias, float *restrict dst)            \
    {                                                                                                                       \
        for (int64_t i = 0; i < n; i++)                                                                                     \
            dst[i] = load_##name(src, n - 1 - i) * gain + bias;                                                             \
    }                                                                                                                       \
    static void each_##name(const uint8_t *restrict src, int64_t n, const float *restrict gain, const float *restrict bias, \
                            float *restrict dst)                                                                            \
    {                                                                                                                       \
        for (int64_t i = 0; i < n; i++)                                                                                     \
            dst[i] = load_##name(src, i) * gain[i] + bias[i];                                                               \
    }

LOADER(f64, double, v)
LOADER(f32, float, v)
LOADER(f16, uint16_t, as_f16_to_f32(v))
LOADER(bf16, uint16_t, as_bf16_to_f32(v))
LOADER(i8, int8_t, v)
LOADER(u8, uint8_t, v)
LOADER(i16, int16_t, v)
LOADER(u16, uint16_t, v)
LOADER(i32, int32_t, v)
LOADER(u32, uint32_t, v)
LOADER(i64, int64_t, v)
LOADER(u64, uint64_t, v)

/* Bytes are what images are made of: rows of 16 or more are done in vectors, the last of which may overlap the one before.  Bytes are widened by
 * zipping them with zeros, twice, because gcc makes single steps of a conversion from bytes to floats. */
typedef uint8_t  bytes16 __attribute__((vector_size(16)));
typedef uint16_t words8 __attribute__((vector_size(16)));
typedef uint64_t halves2 __attribute__((vector_size(16)));
typedef int32_t  ints4 __attribute__((vector_size(16)));
typedef float    floats4 __attribute__((vector_size(16)));

static inline void put4(ints4 v, float gain, float bias, float *dst)
{
    floats4 f = __builtin_convertvector(v, floats4) * gain + bias;
    memcpy(dst, &f, sizeof f);
}

static inline void put8(words8 v, float gain, float bias, float *dst)
{
    put4((ints4)__builtin_shufflevector(v, (words8){0}, 0, 8, 1, 9, 2, 10, 3, 11), gain, bias, dst);
    put4((ints4)__builtin_shufflevector(v, (words8){0}, 4, 12, 5, 13, 6, 14, 7, 15), gain, bias, dst + 4);
}

static inline void put16(bytes16 v, float gain, float bias, float *dst)
{
    const bytes16 zero = {0};
    put8((words8)__builtin_shufflevector(v, zero, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), gain, bias, dst);
    put8((words8)__builtin_shufflevector(v, zero, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), gain, bias,
         dst + 8);
}

static void row_bytes(const uint8_t *restrict src, int64_t n, float gain, float bias, float *restrict dst)
{
    if (n < 16) {
        row_u8(src, n, gain, bias, dst);
        return;
    }
    for (int64_t i = 0;; i += 16) {
        bytes16 v;
        i = i > n - 16 ? n - 16 : i;
        memcpy(&v, src + i, 16);
        put16(v, gain, bias, dst + i);
        if (i == n - 16)
            return;
    }
}

static void back_bytes(const uint8_t *restrict src, int64_t n, float gain, float bias, float *restrict dst)
{
    if (n < 16) {
        back_u8(src, n, gain, bias, dst);
        return;
    }
    for (int64_t i = 0;; i += 16) {
        uint64_t low, high;
        i = i > n - 16 ? n - 16 : i;
        memcpy(&high, src + n - 16 - i, 8);
        memcpy(&low, src + n - 8 - i, 8);
        put16((bytes16)(halves2){__builtin_bswap64(low), __builtin_bswap64(high)}, gain, bias, dst + i);
        if (i == n - 16)
            return;
    }
}

typedef struct as_converter {
    as_dtype dtype;
    void (*row)(const uint8_t *src, int64_t n, float gain, float bias, float *dst);
    void (*back)(const uint8_t *src, int64_t n, float gain, float bias, float *dst);
    void (*each)(const uint8_t *src, int64_t n, const float *gain, const float *bias, float *dst);
} as_converter;

static const as_converter converters[] = {
    {AS_F32, row_f32, back_f32, each_f32},     {AS_U8, row_bytes, back_bytes, each_u8}, {AS_F64, row_f64, back_f64, each_f64},
    {AS_F16, row_f16, back_f16, each_f16},     {AS_I8, row_i8, back_i8, each_i8},       {AS_BF16, row_bf16, back_bf16, each_bf16},
    {AS_I16, row_i16, back_i16, each_i16},     {AS_U16, row_u16, back_u16, each_u16},   {AS_I32, row_i32, back_i32, each_i32},
    {AS_U32, row_u32, back_u32, each_u32},     {AS_I64, row_i64, back_i64, each_i64},   {AS_U64, row_u64, back_u64, each_u64},
    {AS_BOOL, row_bytes, back_bytes, each_u8},
};

static const as_converter *converter_of(as_dtype dtype)
{
    for (size_t i = 0; i < AS_COUNT(converters); i++)
        if (converters[i].dtype == dtype)
            return &converters[i];
    return NULL;
}

/* --- One example ------------------------------------------------------------------------------------------------- */

/* An image whose content is moved by (dy, dx) and perhaps mirrored, with zeros (before scaling and normalising) where nothing came from.  Tried:
 * elements moved and mirrored in a row of their own and then converted; the copies of a few bytes cost as much as converting. */
static void convert_image(const as_data *data, const as_converter *c, const uint8_t *src, int64_t dy, int64_t dx, bool flip,
                          float *dst)
{
    const as_shape *shape = &data->source->input[0].shape;
    int64_t h = shape->dim[shape->rank - 2], w = shape->dim[shape->rank - 1], n_planes = shape->rank == 3 ? shape->dim[0] : 1;
    size_t  each = as_dtype_bytes(data->source->input[0].dtype);
    int64_t n = w - (dx < 0 ? -dx : dx), from_x = dx < 0 ? -dx : 0,
            to_x = (dx > 0) != flip ? w - n : 0; /* what stays of a row, and where */
    for (int64_t plane = 0; plane < n_planes; plane++) {
        int64_t channel = data->n_channels == 1 ? 0 : plane;
        float   gain = data->gain[channel], bias = data->bias[channel];
        for (int64_t y = 0; y < h; y++, dst += w) {
            int64_t from_y = y - dy;
            if (from_y < 0 || from_y >= h) {
                for (int64_t x = 0; x < w; x++)
                    dst[x] = bias;
                continue;
            }
            const uint8_t *row = src + (size_t)((plane * h + from_y) * w + from_x) * each;
            for (int64_t x = 0; x < to_x; x++)
                dst[x] = bias;
            (flip ? c->back : c->row)(row, n, gain, bias, dst + to_x);
            for (int64_t x = to_x + n; x < w; x++)
                dst[x] = bias;
        }
    }
}

static void convert_plain(const as_data *data, const as_converter *c, const uint8_t *src, int64_t n, float *dst)
{
    size_t each = as_dtype_bytes(data->source->input[0].dtype);
    if (data->inner == 1 && data->n_channels > 1) {
        for (int64_t at = 0; at < n; at += data->n_channels)
            c->each(src + (size_t)at * each, data->n_channels, data->gain, data->bias, dst + at);
        return;
    }
    for (int64_t at = 0, channel = 0; at < n; at += data->inner, channel++)
        c->row(src + (size_t)at * each, data->inner, data->gain[channel], data->bias[channel], dst + at);
}

bool as_preprocess_input(const as_data *data, int i, const void *raw, int64_t number, const as_augment *augment, void *dst)
{
    const as_data_field *stored = &data->source->input[i];
    int64_t              n = as_shape_count(&stored->shape);
    if (data->input[i].dtype == AS_I64) {
        as_view  from = as_view_of((void *)(uintptr_t)raw, stored->dtype, &stored->shape);
        int64_t *to = dst;
        for (int64_t k = 0; k < n; k++)
            to[k] = as_view_get_i64(&from, k);
        return true;
    }
    const as_converter *c = converter_of(stored->dtype);
    if (!c)
        return false;
    if (i > 0) {
        c->row(raw, n, 1, 0, dst);
        return true;
    }
    const as_preprocess *p = &data->preprocess;
    if (augment->on && (p->crop || p->flip)) {
        uint32_t words[4];
        as_draw(augment->seed, AS_STREAM_AUGMENT, augment->epoch, number, words);
        uint64_t side = 2 * (uint64_t)p->crop + 1;
        int64_t  dy = (int64_t)(words[0] * side >> 32) - p->crop, dx = (int64_t)(words[1] * side >> 32) - p->crop;
        convert_image(data, c, raw, dy, dx, p->flip && words[2] >> 31, dst);
    } else
        convert_plain(data, c, raw, n, dst);
    return true;
}

bool as_preprocess_target(const as_data *data, const void *raw, int64_t number, as_fetch *fetch, void *dst)
{
    const as_data_field *stored = &data->source->target;
    int64_t              n = as_shape_count(&stored->shape);
    if (data->target_kind == AS_TARGET_NUMBER) {
        const as_converter *c = converter_of(stored->dtype);
        if (!c)
            return as_fetch_fail(fetch, ASSAY_INTERNAL, "data: %s: a target of type %s", data->source->spec.text,
                                 as_dtype_name(stored->dtype));
        c->row(raw, n, 1, 0, dst);
        return true;
    }
    as_view from = as_view_of((void *)(uintptr_t)raw, stored->dtype, &stored->shape);
    int64_t n_classes = data->n_classes;
    if (data->preprocess.onehot)
        memset(dst, 0, (size_t)(n * n_classes) * sizeof(float));
    for (int64_t k = 0; k < n; k++) {
        int64_t class = as_view_get_i64(&from, k);
        if (class < 0 || class >= n_classes)
            return as_fetch_fail(fetch, ASSAY_BAD_INPUT,
                                 "data: %s: example %" PRId64 " has class %" PRId64 "; there are the classes 0 to %" PRId64,
                                 data->source->spec.text, number, class, n_classes - 1);
        if (data->preprocess.onehot)
            ((float *)dst)[k * n_classes + class] = 1;
        else
            ((int64_t *)dst)[k] = class;
    }
    return true;
}

/* --- Statistics --------------------------------------------------------------------------------------------------- */

static void set_gains(as_data *data, bool with_statistics)
{
    double scale = data->preprocess.scale != 0 ? data->preprocess.scale : 1;
    for (int c = 0; c < data->n_channels; c++) {
        double std = with_statistics ? data->std[c] : 1, mean = with_statistics ? data->mean[c] : 0;
        data->gain[c] = (float)(scale / std);
        data->bias[c] = (float)(-mean / std);
    }
}

assay_status as_preprocess_begin(assay_env *env, as_data *data)
{
    const as_source     *source = data->source;
    const as_preprocess *p = &data->preprocess;
    const as_shape      *shape = &source->input[0].shape;
    int64_t              n = as_shape_count(shape), channels;
    if (source->is_sequence || shape->rank == 1)
        channels = shape->rank ? shape->dim[shape->rank - 1] : 1;
    else
        channels = shape->rank >= 3 ? shape->dim[0] : 1;
    data->inner = source->is_sequence || shape->rank == 1 ? 1 : n / channels;
    if (!p->normalize) /* one factor for all */
        channels = 1;
    if (channels == 1)
        data->inner = n;
    if (p->n_given > 1 && p->n_given != channels)
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: --preprocess normalize= has %d means, and x has %" PRId64 " channels",
                       source->spec.text, p->n_given, channels);
    data->n_channels = (int)channels;
    data->mean = AS_TAKE(&data->arena, double, channels);
    data->std = AS_TAKE(&data->arena, double, channels);
    data->gain = AS_TAKE(&data->arena, float, channels);
    data->bias = AS_TAKE(&data->arena, float, channels);
    if (channels > INT32_MAX || !data->mean || !data->std || !data->gain || !data->bias)
        return as_fail(env, ASSAY_NO_MEMORY, "data: %s: not enough memory for the statistics of %" PRId64 " channels",
                       source->spec.text, channels);
    for (int64_t c = 0; c < channels && p->n_given; c++) {
        data->mean[c] = p->mean[p->n_given == 1 ? 0 : c];
        data->std[c] = p->std[p->n_given == 1 ? 0 : c];
    }
    data->is_fitted = !p->normalize || p->n_given;
    set_gains(data, p->normalize && p->n_given);
    return ASSAY_OK;
}

typedef struct sums {
    double *shift, *sum, *square; /* per channel, of x - shift: large means lose no digits */
    float  *values;
} sums;

static void sums_add(const as_data *data, const sums *s, int64_t n, bool is_first)
{
    int64_t inner = data->inner;
    for (int64_t at = 0, c = 0; at < n; at += inner, c = c + 1 == data->n_channels ? 0 : c + 1) {
        if (is_first && at / inner < data->n_channels)
            s->shift[c] = (double)s->values[at];
        double shift = s->shift[c], sum = 0, square = 0;
        for (int64_t k = 0; k < inner; k++) {
            double x = (double)s->values[at + k] - shift;
            sum += x;
            square += x * x;
        }
        s->sum[c] += sum;
        s->square[c] += square;
    }
}

static assay_status fit_pass(assay_env *env, as_data *data, const sums *s, as_fetch *fetch)
{
    const as_source *source = data->source;
    int64_t          n = as_shape_count(&source->input[0].shape), step = data->n / 100 + 1;
    as_augment       plain = {0};
    set_gains(data, false); /* the statistics are of scaled values */
    as_stage_begin(env, AS_PHASE_READ, source->spec.text, NAN, 0);
    for (int64_t i = 0; i < data->n; i++) {
        as_raw  raw = {0};
        int64_t number = as_data_index(data, i);
        if (i % step == 0) {
            if (as_cancelled(env))
                return as_fail(env, ASSAY_CANCELLED, "data: %s: stopped while its statistics were computed", source->spec.text);
            as_stage_done(env, (double)i / (double)data->n);
            for (int f = 0; f < source->n_files; f++)
                if (!as_data_file_same(&source->files[f], fetch))
                    return as_fail(env, fetch->status, "%s", fetch->why);
        }
        if (!source->reader->read(source, number, fetch, &raw))
            return as_fail(env, fetch->status, "%s", fetch->why);
        as_preprocess_input(data, 0, raw.input[0], number, &plain, s->values);
        sums_add(data, s, n, i == 0);
    }
    double count = (double)data->n * (double)n / data->n_channels;
    for (int c = 0; c < data->n_channels; c++) {
        double mean = s->sum[c] / count, variance = s->square[c] / count - mean * mean;
        if (!isfinite(mean) || !isfinite(variance))
            return as_fail(env, ASSAY_BAD_INPUT, "data: %s: normalize: channel %d has values that are not finite",
                           source->spec.text, c);
        data->mean[c] = s->shift[c] + mean;
        /* A channel that never changes becomes 0, and not noise of the last digit. */
        data->std[c] = variance > 1e-12 * (data->mean[c] * data->mean[c] + 1e-30) ? sqrt(variance) : 1;
    }
    return ASSAY_OK;
}

assay_status as_data_fit(assay_env *env, as_data *data, const as_data *like)
{
    if (like && data->preprocess.normalize) {
        if (!like->is_fitted || !like->preprocess.normalize || like->n_channels != data->n_channels)
            return as_fail(env, ASSAY_BAD_INPUT, "data: %s: cannot take the statistics of %s: it has none for %d channels",
                           data->source->spec.text, like->source->spec.text, data->n_channels);
        memcpy(data->mean, like->mean, (size_t)data->n_channels * sizeof *data->mean);
        memcpy(data->std, like->std, (size_t)data->n_channels * sizeof *data->std);
        set_gains(data, true);
        data->is_fitted = true;
        return ASSAY_OK;
    }
    if (data->is_fitted)
        return ASSAY_OK;
    as_arena arena = {0};
    as_fetch fetch = {.scratch_bytes = data->source->scratch_bytes};
    sums     s = {AS_TAKE(&arena, double, data->n_channels), AS_TAKE(&arena, double, data->n_channels),
                  AS_TAKE(&arena, double, data->n_channels), AS_TAKE(&arena, float, as_shape_count(&data->source->input[0].shape))};
    fetch.scratch = as_arena_take(&arena, data->source->scratch_bytes, 1, 64);
    assay_status status;
    if (!s.shift || !s.sum || !s.square || !s.values || !fetch.scratch)
        status = as_fail(env, ASSAY_NO_MEMORY, "data: %s: not enough memory for the statistics", data->source->spec.text);
    else
        status = fit_pass(env, data, &s, &fetch);
    as_arena_drop(&arena);
    set_gains(data, status == ASSAY_OK);
    data->is_fitted = status == ASSAY_OK;
    return status;
}

void as_data_statistics(const as_data *data, const double **mean, const double **std, int *n_channels)
{
    bool has = data->preprocess.normalize && data->is_fitted;
    *mean = has ? data->mean : NULL;
    *std = has ? data->std : NULL;
    *n_channels = has ? data->n_channels : 0;
}
