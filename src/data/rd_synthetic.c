/* rd_synthetic.c - examples that are computed: each is a function of seed and number, and the least loss is known. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/random.h"
#include "data/synthetic.h"

#define TAU 6.283185307179586

/* --- Random numbers of one example -------------------------------------------------------------------------------- */

enum { STREAM_SYNTHETIC = 0x73796e74 };

as_dice as_dice_of(const as_synthetic *s, int64_t example) { return (as_dice){.seed = s->seed, .example = example}; }

static uint32_t dice_word(as_dice *dice)
{
    if (!dice->left) {
        as_draw(dice->seed, STREAM_SYNTHETIC, dice->block++, dice->example, dice->words);
        dice->left = 4;
    }
    return dice->words[4 - dice->left--];
}

double as_dice_uniform(as_dice *dice)
{
    uint64_t high = dice_word(dice), low = dice_word(dice);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

double as_dice_normal(as_dice *dice)
{
    double a = 1 - as_dice_uniform(dice), b = as_dice_uniform(dice);
    return sqrt(-2 * log(a)) * cos(TAU * b);
}

int64_t as_dice_below(as_dice *dice, int64_t n) { return (int64_t)((uint64_t)dice_word(dice) * (uint64_t)n >> 32); }

double as_log_sum(const double *values, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    if (!isfinite(most))
        return most;
    for (int64_t i = 0; i < n; i++)
        sum += exp(values[i] - most);
    return most + log(sum);
}

static as_shape no_shape(void) { return (as_shape){.rank = -1}; }

/* --- sine: the task of the NCP guides ------------------------------------------------------------------------------ */

/* x = sin and cos over 3 pi, y = sin over 6 pi, in `length` points.  Example 0 is exactly that; the others begin at a random phase. */
static void sine_shapes(const as_synthetic *s, as_shape *x, as_shape *timespans, as_shape *y)
{
    *x = AS_SHAPE(s->length, 2);
    *timespans = no_shape();
    *y = AS_SHAPE(s->length, 1);
}

static void sine_make(const as_synthetic *s, int64_t example, float *x, float *timespans, void *y)
{
    (void)timespans;
    as_dice dice = as_dice_of(s, example);
    double  phase = example ? TAU * as_dice_uniform(&dice) : 0;
    float  *target = y;
    for (int64_t t = 0; t < s->length; t++) {
        double angle = phase + 1.5 * TAU * (double)t / (double)(s->length - 1);
        x[2 * t] = (float)sin(angle);
        x[2 * t + 1] = (float)cos(angle);
        target[t] = (float)(sin(2 * angle) + (s->noise > 0 ? s->noise * as_dice_normal(&dice) : 0));
    }
}

/* --- linear: regression with noise of known variance ----------------------------------------------------------------- */

static void linear_shapes(const as_synthetic *s, as_shape *x, as_shape *timespans, as_shape *y)
{
    *x = AS_SHAPE(s->features);
    *timespans = no_shape();
    *y = AS_SHAPE(s->outputs);
}

/* The coefficients are those of example -1. */
static void linear_make(const as_synthetic *s, int64_t example, float *x, float *timespans, void *y)
{
    (void)timespans;
    as_dice dice = as_dice_of(s, example), weights = as_dice_of(s, -1);
    float  *target = y;
    for (int64_t i = 0; i < s->features; i++)
        x[i] = (float)as_dice_normal(&dice);
    for (int64_t o = 0; o < s->outputs; o++) {
        double sum = as_dice_normal(&weights);
        for (int64_t i = 0; i < s->features; i++)
            sum += as_dice_normal(&weights) / sqrt((double)s->features) * (double)x[i];
        target[o] = (float)(sum + s->noise * as_dice_normal(&dice));
    }
}

/* --- xor: two bits, as points around the corners of a square ------------------------------------------------------------ */

static void xor_shapes(const as_synthetic *s, as_shape *x, as_shape *timespans, as_shape *y)
{
    (void)s;
    *x = AS_SHAPE(2);
    *timespans = no_shape();
    *y = (as_shape){0};
}

static void xor_make(const as_synthetic *s, int64_t example, float *x, float *timespans, void *y)
{
    (void)timespans;
    as_dice dice = as_dice_of(s, example);
    int64_t corner = example % 4;
    for (int i = 0; i < 2; i++)
        x[i] = (float)((corner >> i & 1 ? 1 : -1) + s->noise * as_dice_normal(&dice));
    *(int64_t *)y = (corner & 1) ^ corner >> 1;
}

static double xor_surprise(const as_synthetic *s, const float *x, int64_t class)
{
    double near[2][2];
    for (int corner = 0; corner < 4; corner++) {
        double a = (double)x[0] - (corner & 1 ? 1 : -1), b = (double)x[1] - (corner >> 1 ? 1 : -1);
        near[(corner & 1) ^ corner >> 1][corner & 1] = -(a * a + b * b) / (2 * s->noise * s->noise);
    }
    double all[2] = {as_log_sum(near[0], 2), as_log_sum(near[1], 2)};
    return as_log_sum(all, 2) - all[class];
}

/* --- spirals: one per class, wound around each other --------------------------------------------------------------------- */

enum { SPIRAL_POINTS = 1024 };

static void spirals_shapes(const as_synthetic *s, as_shape *x, as_shape *timespans, as_shape *y)
{
    (void)s;
    *x = AS_SHAPE(2);
    *timespans = no_shape();
    *y = (as_shape){0};
}

static void spiral_point(const as_synthetic *s, int64_t class, double t, double *x, double *y)
{
    double radius = 0.1 + 0.9 * t, angle = 1.25 * TAU * t + TAU * (double)class / (double)s->classes;
    *x = radius * cos(angle);
    *y = radius * sin(angle);
}

static void spirals_make(const as_synthetic *s, int64_t example, float *x, float *timespans, void *y)
{
    (void)timespans;
    as_dice dice = as_dice_of(s, example);
    int64_t class = example % s->classes;
    double a, b;
    spiral_point(s, class, as_dice_uniform(&dice), &a, &b);
    x[0] = (float)(a + s->noise * as_dice_normal(&dice));
    x[1] = (float)(b + s->noise * as_dice_normal(&dice));
    *(int64_t *)y = class;
}

/* The density of a class is the integral along its spiral, here a sum over points that are closer than the noise. */
static double spirals_surprise(const as_synthetic *s, const float *x, int64_t class)
{
    double density[16], near[SPIRAL_POINTS];
    for (int64_t k = 0; k < s->classes; k++) {
        for (int i = 0; i < SPIRAL_POINTS; i++) {
            double a, b;
            spiral_point(s, k, (i + 0.5) / SPIRAL_POINTS, &a, &b);
            a -= (double)x[0];
            b -= (double)x[1];
            near[i] = -(a * a + b * b) / (2 * s->noise * s->noise);
        }
        density[k] = as_log_sum(near, SPIRAL_POINTS);
    }
    return as_log_sum(density, s->classes) - density[class];
}

/* --- sequence: a leaky integrator, seen at irregular times ------------------------------------------------------------------ */

enum { LEAK_STEPS = 3 };

static void sequence_shapes(const as_synthetic *s, as_shape *x, as_shape *timespans, as_shape *y)
{
    *x = AS_SHAPE(s->length, 1);
    *timespans = AS_SHAPE(s->length);
    *y = AS_SHAPE(s->length, 1);
}

/* v' = (u - v) / 3 with a switch u = -1 or 1 that is thrown with chance 1/4 at each step; steps take 0.5 to 1.5. */
static void sequence_make(const as_synthetic *s, int64_t example, float *x, float *timespans, void *y)
{
    as_dice dice = as_dice_of(s, example);
    float  *target = y;
    double  v = 0, u = as_dice_below(&dice, 2) ? 1 : -1;
    for (int64_t t = 0; t < s->length; t++) {
        timespans[t] = (float)(0.5 + as_dice_uniform(&dice));
        if (as_dice_below(&dice, 4) == 0)
            u = -u;
        v += (u - v) * (1 - exp(-(double)timespans[t] / LEAK_STEPS));
        x[t] = (float)u;
        target[t] = (float)(v + s->noise * as_dice_normal(&dice));
    }
}

/* --- adding: the sum of the two marked values of a sequence ------------------------------------------------------------------- */

static void adding_shapes(const as_synthetic *s, as_shape *x, as_shape *timespans, as_shape *y)
{
    *x = AS_SHAPE(s->length, 2);
    *timespans = no_shape();
    *y = AS_SHAPE(1);
}

static void adding_make(const as_synthetic *s, int64_t example, float *x, float *timespans, void *y)
{
    (void)timespans;
    as_dice dice = as_dice_of(s, example);
    int64_t half = s->length / 2, first = as_dice_below(&dice, half), second = half + as_dice_below(&dice, s->length - half);
    for (int64_t t = 0; t < s->length; t++) {
        x[2 * t] = (float)as_dice_uniform(&dice);
        x[2 * t + 1] = t == first || t == second;
    }
    *(float *)y = (float)((double)x[2 * first] + (double)x[2 * second] + s->noise * as_dice_normal(&dice));
}

/* --- The reader ------------------------------------------------------------------------------------------------------------------ */

static const as_generator sine = {.name = "sine",
                                  .help = "x sin and cos over 3 pi, y sin over 6 pi",
                                  .keys = "length",
                                  .n = 1,
                                  .length = 48,
                                  .shapes = sine_shapes,
                                  .make = sine_make};
static const as_generator linear = {.name = "linear",
                                    .help = "y = W x + b + noise",
                                    .keys = "features outputs",
                                    .n = 1000,
                                    .noise = 0.1,
                                    .features = 8,
                                    .outputs = 1,
                                    .shapes = linear_shapes,
                                    .make = linear_make};
static const as_generator xor = {.name = "xor",
                                 .help = "two bits as noisy points, class a xor b",
                                 .keys = "",
                                 .n = 400,
                                 .noise = 0.3,
                                 .classes = 2,
                                 .is_class = true,
                                 .shapes = xor_shapes,
                                 .make = xor_make,
                                 .surprise = xor_surprise};
static const as_generator        spirals = {.name = "spirals",
                                            .help = "points on spirals, one per class",
                                            .keys = "classes",
                                            .n = 1000,
                                            .noise = 0.05,
                                            .classes = 2,
                                            .is_class = true,
                                            .shapes = spirals_shapes,
                                            .make = spirals_make,
                                            .surprise = spirals_surprise,
                                            .n_surprises = 2000};
static const as_generator        sequence = {.name = "sequence",
                                             .help = "a leaky integrator with time stamps",
                                             .keys = "length",
                                             .n = 1000,
                                             .noise = 0.05,
                                             .length = 32,
                                             .shapes = sequence_shapes,
                                             .make = sequence_make};
static const as_generator        adding = {.name = "adding",
                                           .help = "the sum of two marked values",
                                           .keys = "length",
                                           .n = 2000,
                                           .length = 50,
                                           .shapes = adding_shapes,
                                           .make = adding_make};
static const as_generator *const generators[] = {&sine, &spirals, &as_generator_digits, &linear, &xor, &sequence, &adding};

static const as_generator *generator_named(const char *name)
{
    for (size_t i = 0; i < AS_COUNT(generators); i++)
        if (!strcmp(generators[i]->name, name))
            return generators[i];
    return NULL;
}

static assay_status read_values(assay_env *env, const as_spec *spec, as_synthetic *s)
{
    const as_generator *g = s->generator;
    int64_t             seed;
    AS_TRY(as_spec_i64(env, spec, "n", g->n, 1, INT64_C(1) << 40, &s->n));
    AS_TRY(as_spec_i64(env, spec, "seed", 0, 0, INT64_MAX, &seed));
    AS_TRY(as_spec_f64(env, spec, "noise", g->noise, 0, 100, &s->noise));
    AS_TRY(as_spec_i64(env, spec, "length", g->length, 2, 1 << 20, &s->length));
    AS_TRY(as_spec_i64(env, spec, "features", g->features, 1, 1 << 16, &s->features));
    AS_TRY(as_spec_i64(env, spec, "outputs", g->outputs, 1, 1 << 10, &s->outputs));
    AS_TRY(as_spec_i64(env, spec, "classes", g->classes, 2, 16, &s->classes));
    AS_TRY(as_spec_i64(env, spec, "size", g->size, 8, 28, &s->size));
    if (s->size && s->size != 8 && s->size != 28)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": size=%" PRId64 ": expected 8 or 28", spec->text, s->size);
    s->seed = (uint64_t)seed;
    for (int i = 0; i < spec->n_options; i++)
        if (!as_words_have("n noise seed", spec->options[i].key) && !as_words_have(g->keys, spec->options[i].key))
            return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": %s has no option \"%s\"; known: n noise seed %s", spec->text,
                           g->name, spec->options[i].key, g->keys);
    return ASSAY_OK;
}

static assay_status open_synthetic(assay_env *env, const as_data_options *options, as_source *source)
{
    (void)options;
    const as_spec      *spec = &source->spec;
    const as_generator *g = spec->n_paths == 1 ? generator_named(spec->paths[0]) : NULL;
    if (!g) {
        as_text known = {0};
        for (size_t i = 0; i < AS_COUNT(generators); i++)
            as_text_printf(&known, "%s%s", i ? ", " : "", generators[i]->name);
        assay_status status = as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": unknown generator \"%s\"; known: %s", spec->text,
                                      spec->paths[0], known.data ? known.data : "");
        as_text_drop(&known);
        return status;
    }
    as_synthetic *s = AS_TAKE(&source->arena, as_synthetic, 1);
    as_shape      timespans;
    if (!s)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    s->generator = g;
    AS_TRY(read_values(env, spec, s));
    source->own = s;
    source->n = s->n;
    source->n_inputs = 1;
    source->input[0] = (as_data_field){.name = "x", .dtype = AS_F32};
    source->target = (as_data_field){.name = "y", .dtype = g->is_class ? AS_I64 : AS_F32};
    source->has_target = true;
    g->shapes(s, &source->input[0].shape, &timespans, &source->target.shape);
    s->x_bytes = (size_t)as_shape_count(&source->input[0].shape) * sizeof(float);
    s->x_bytes = (s->x_bytes + 7) / 8 * 8;
    if (timespans.rank >= 0) {
        source->input[source->n_inputs++] = (as_data_field){.name = "timespans", .dtype = AS_F32, .shape = timespans};
        s->timespans_bytes = ((size_t)as_shape_count(&timespans) * sizeof(float) + 7) / 8 * 8;
    }
    source->is_sequence = source->input[0].shape.rank == 2;
    source->n_classes = g->is_class ? s->classes : 0;
    source->scratch_bytes =
        s->x_bytes + s->timespans_bytes + (size_t)as_shape_count(&source->target.shape) * as_dtype_bytes(source->target.dtype);
    char number[AS_NUMBER_BYTES];
    as_text_printf(&source->canonical,
                   "%s seed=%" PRIu64 " noise=%s size=%" PRId64 " length=%" PRId64 " features=%" PRId64 " outputs=%" PRId64,
                   g->name, s->seed, as_number(number, s->noise), s->size, s->length, s->features, s->outputs);
    return ASSAY_OK;
}

static bool read_synthetic(const as_source *source, int64_t example, as_fetch *fetch, as_raw *out)
{
    const as_synthetic *s = source->own;
    uint8_t            *x = fetch->scratch, *timespans = x + s->x_bytes, *y = timespans + s->timespans_bytes;
    s->generator->make(s, example, (float *)(void *)x, (float *)(void *)timespans, y);
    fetch->bytes_read += source->scratch_bytes;
    *out = (as_raw){.input = {x, timespans}, .target = y};
    return true;
}

/* --- The least loss ------------------------------------------------------------------------------------------------------------- */

static assay_metric best_of_classes(const as_source *source, const char *loss)
{
    const as_synthetic *s = source->own;
    if (strcmp(loss, "ce"))
        return as_metric_unavailable("1", "the target is a class: only the loss ce has a known least value");
    if (s->noise == 0)
        return as_metric_derived(0, NAN, NAN, 1, "1", "without noise every example has one class");
    as_fetch fetch = {.scratch = malloc(source->scratch_bytes), .scratch_bytes = source->scratch_bytes};
    int64_t  n = s->generator->n_surprises && s->generator->n_surprises < s->n ? s->generator->n_surprises : s->n;
    double   sum = 0, square = 0;
    if (!fetch.scratch)
        return as_metric_unavailable("1", "not enough memory to compute it");
    for (int64_t i = 0; i < n; i++) {
        as_raw raw;
        read_synthetic(source, i, &fetch, &raw);
        double surprise = s->generator->surprise(s, raw.input[0], *(const int64_t *)raw.target);
        sum += surprise;
        square += surprise * surprise;
    }
    free(fetch.scratch);
    double mean = sum / (double)n, error = n > 1 ? 1.96 * sqrt(fmax(0, square / (double)n - mean * mean) / (double)(n - 1)) : NAN;
    return as_metric_derived(mean, mean - error, mean + error, (uint64_t)n, "1",
                             "mean of -ln p(class | x) under the generator's own distribution");
}

static assay_metric best_loss(const as_source *source, const char *loss)
{
    const as_synthetic *s = source->own;
    if (s->generator->is_class)
        return best_of_classes(source, loss);
    if (!strcmp(loss, "mse"))
        return as_metric_derived(s->noise * s->noise, NAN, NAN, 1, "1", "variance of the generator's noise");
    if (!strcmp(loss, "mae"))
        return as_metric_derived(s->noise * sqrt(2 / (TAU / 2)), NAN, NAN, 1, "1", "mean absolute value of the generator's noise");
    return as_metric_unavailable("1", "the target is numbers: only the losses mse and mae have a known least value");
}

const as_reader as_rd_synthetic = {
    .name = "synthetic",
    .form = "synthetic:NAME[,n=N,noise=S,seed=N,...]",
    .help = "computed examples with a known least loss: sine, spirals, digits, linear, xor, sequence, adding",
    .keys = "n noise seed size length features outputs classes",
    .has_paths = true,
    .open = open_synthetic,
    .read = read_synthetic,
    .best_loss = best_loss};
