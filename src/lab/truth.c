/* truth.c - compares the plan's answer with the reference code, all of it or some rows, and checks that it depends on the
 * inputs. */
#include "lab/truth.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run/sampler.h"

/* Work that the reference code does in a second or two; a single row may cost a little more. */
static const double MOST_WORK = 2e8, MOST_ROW = 5e8;
enum { MAX_ROWS = 64, MAX_POISONS = 3 };
/* Share of integers that may be off by one: if the scale of a quantisation is rounded differently, its thresholds move. */
static const double MAY_FLIP = 1e-4;

typedef struct check {
    assay_env              *env;
    const as_bench_case    *c;
    const as_bench_subject *subject;
    assay_instance         *instance;
    as_arena                arena;
    as_truth               *out;
    double                  most_work;
    int64_t                 rows[MAX_ROWS];
} check;

/* --- Running the plan ------------------------------------------------------------------------------ */

static assay_status answer(const check *k, uint64_t seed, uint64_t *hash)
{
    assay_instance_fill(k->instance, seed);
    AS_TRY(as_instance_step(AS_RUN(k->env), k->instance));
    *hash = as_outputs_hash(k->instance);
    return ASSAY_OK;
}

/* An answer of a few bits may be the same by chance, so some other inputs are tried. */
static assay_status poison(check *k, uint64_t seed)
{
    as_truth *o = k->out;
    if (!k->subject->plan->graph.n_inputs)
        return ASSAY_OK;
    o->poison_tried = true;
    for (uint64_t i = 1; i <= MAX_POISONS && !o->poison_changes; i++) {
        AS_TRY(answer(k, seed + i * UINT64_C(0x9e3779b97f4a7c15), &o->poisoned_hash));
        o->poison_changes = o->poisoned_hash != o->hash;
    }
    if (!o->poison_changes) {
        o->wrong = true;
        snprintf(o->sentence, sizeof o->sentence, "other inputs give the same outputs (hash %016" PRIx64 "): it does not read them",
                 o->hash);
    }
    return ASSAY_OK;
}

/* --- The reference code of a model --------------------------------------------------------------------------- */

typedef struct slow {
    as_graph graph;
    as_view *in, *out;
} slow;

static as_view *views_take(check *k, const as_graph *g, const int *ids, int n)
{
    as_view *views = AS_TAKE(&k->arena, as_view, n);
    for (int i = 0; views && i < n; i++) {
        const as_tensor_info *info = &g->values[ids[i]].info;
        void *data = as_arena_take(&k->arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 64);
        if (!data)
            return NULL;
        views[i] = as_view_of(data, info->dtype, &info->shape);
    }
    return views;
}

static assay_status slow_bind(check *k, const assay_model *model, const as_binding_dim *dims, int n_dims, slow *s)
{
    AS_TRY(as_graph_bind(k->env, model, dims, n_dims, NULL, 0, k->subject->plan->seed, &k->arena, &s->graph));
    s->in = views_take(k, &s->graph, s->graph.inputs, s->graph.n_inputs);
    s->out = views_take(k, &s->graph, s->graph.outputs, s->graph.n_outputs);
    return s->in && s->out ? ASSAY_OK
                           : as_fail(k->env, ASSAY_NO_MEMORY, "bench: %s: not enough memory for the reference code", k->c->id);
}

/* --- Rows ------------------------------------------------------------------------------------------------ */

/* The axis along which `part` has n_rows and `whole` has of_rows; -1: equal shapes, -2: shapes that do not match. */
static int row_axis(const as_truth *o, const as_shape *whole, const as_shape *part)
{
    int axis = -1;
    if (whole->rank != part->rank)
        return -2;
    for (int i = 0; i < whole->rank; i++) {
        if (whole->dim[i] == part->dim[i])
            continue;
        if (axis >= 0 || whole->dim[i] != o->of_rows || part->dim[i] != o->n_rows)
            return -2;
        axis = i;
    }
    return axis;
}

/* The chosen rows; everything where the shapes are equal. */
static bool rows_copy(const check *k, const as_view *whole, const as_view *part)
{
    int     axis = row_axis(k->out, &whole->shape, &part->shape);
    int64_t index[AS_MAX_RANK] = {0};
    if (axis == -2)
        return false;
    for (int64_t i = 0; i < as_shape_count(&part->shape); i++) {
        int64_t from[AS_MAX_RANK], rest = i;
        for (int a = part->shape.rank - 1; a >= 0; a--) {
            index[a] = rest % part->shape.dim[a];
            rest /= part->shape.dim[a];
            from[a] = a == axis ? k->rows[index[a]] : index[a];
        }
        as_view_put(part, index, as_view_at(whole, from));
    }
    return true;
}

/* The first and the last row, where tiles end, and one row of each stretch between them. */
static void rows_draw(check *k, uint64_t seed)
{
    int64_t n = k->out->n_rows, of = k->out->of_rows;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key[2] = {seed, (uint64_t)i};
        int64_t  begin = i * of / n, width = (i + 1) * of / n - begin;
        k->rows[i] = i == n - 1 ? of - 1 : i == 0 ? 0 : begin + (int64_t)(as_hash64(key, sizeof key) % (uint64_t)width);
    }
}

/* --- Comparing --------------------------------------------------------------------------------------------- */

static double tolerance_of(const assay_plan *plan, as_dtype dtype)
{
    double most = dtype == AS_BF16 ? 1.6e-2 : dtype == AS_F16 ? 2e-3 : 2e-4;
    for (int i = 0; i < plan->n_steps; i++)
        if (plan->steps[i].seg.ctx)
            most = fmax(most, plan->steps[i].seg.ctx->op->tolerance);
    if (plan->winograd)
        most = fmax(most, 1e-2);
    if (strcmp(plan->weights_as, "f32"))
        most = fmax(most, strcmp(plan->weights_as, "bf16") ? 1e-2 : 5e-2);
    return most;
}

static void say_wrong(as_truth *o, const char *name, const char *what, double value, double most)
{
    if (!o->wrong)
        snprintf(o->sentence, sizeof o->sentence,
                 "output '%.80s' differs from the reference code by %s %.3g; at most %.3g is allowed", name, what, value, most);
    o->wrong = true;
}

static void floats_compare(check *k, const char *name, const as_view *got, const as_view *want)
{
    double error = as_view_error(got, want), most = tolerance_of(k->subject->plan, want->dtype);
    k->out->error = fmax(isnan(k->out->error) ? 0 : k->out->error, error);
    k->out->tolerance = fmax(k->out->tolerance, most);
    if (!(error <= most))
        say_wrong(k->out, name, "a relative", error, most);
}

static void integers_compare(check *k, const char *name, const as_view *got, const as_view *want)
{
    int64_t n = as_shape_count(&want->shape), n_flipped = 0;
    for (int64_t i = 0; i < n; i++) {
        double difference = fabs(as_view_get(got, i) - as_view_get(want, i));
        if (difference > 1)
            say_wrong(k->out, name, "as much as", difference, 1);
        n_flipped += difference != 0;
    }
    k->out->error = isnan(k->out->error) ? 0 : k->out->error;
    k->out->n_flipped += n_flipped;
    if ((double)n_flipped > fmax(1, MAY_FLIP * (double)n))
        say_wrong(k->out, name, "one in a share of", (double)n_flipped / (double)n, MAY_FLIP);
}

/* Evaluates the reference code on the plan's inputs, all or some rows, and compares. */
static assay_status slow_compare(check *k, slow *s, bool *goes)
{
    const as_graph *g = &s->graph;
    *goes = false;
    for (int i = 0; i < g->n_inputs; i++) {
        as_view whole = as_instance_input(k->instance, i);
        if (!rows_copy(k, &whole, &s->in[i]))
            return ASSAY_OK;
    }
    uint64_t begin = as_monotonic_ns();
    AS_TRY(as_graph_eval(k->env, g, s->in, s->out));
    k->out->seconds = (double)(as_monotonic_ns() - begin) / 1e9;
    as_view *got = views_take(k, g, g->outputs, g->n_outputs);
    if (!got)
        return as_fail(k->env, ASSAY_NO_MEMORY, "bench: %s: not enough memory for the reference code", k->c->id);
    for (int i = 0; i < g->n_outputs; i++) {
        as_view whole = as_instance_output(k->instance, i);
        if (!rows_copy(k, &whole, &got[i]))
            return ASSAY_OK;
        if (as_dtype_is_float(got[i].dtype))
            floats_compare(k, g->values[g->outputs[i]].name, &got[i], &s->out[i]);
        else
            integers_compare(k, g->values[g->outputs[i]].name, &got[i], &s->out[i]);
    }
    *goes = true;
    return ASSAY_OK;
}

/* --- How much of it ------------------------------------------------------------------------------------------ */

static double work_of(const assay_plan *plan)
{
    double work = 0;
    for (int i = plan->n_prologue; i < plan->n_steps; i++) {
        const as_cost *c = &plan->steps[i].cost;
        work += (double)c->flops + (double)c->special + (double)(c->bytes_read + c->bytes_written) / 4;
    }
    return work;
}

static void none(as_truth *o, const char *why)
{
    o->how = AS_TRUTH_NONE;
    o->error = NAN;
    snprintf(o->compared, sizeof o->compared, "none: %s", why);
}

/* The model of fewer rows: a workload's spec with another number, or a network with a smaller batch. */
static assay_status fewer_compare(check *k, bool *goes)
{
    const assay_plan    *plan = k->subject->plan;
    const as_bench_case *c = k->c;
    bool                 of_spec = c->spec_rows > 0;
    as_binding_dim      *dims = AS_TAKE(&k->arena, as_binding_dim, plan->n_dims);
    char                *spec =
        as_arena_printf(&k->arena, "%.*s%" PRId64 "%s", (int)c->rows_begin, c->spec, k->out->n_rows, c->spec + c->rows_end);
    assay_model *model = NULL;
    slow         s;
    if (!dims || !spec)
        return as_fail(k->env, ASSAY_NO_MEMORY, "bench: %s: not enough memory for the reference code", k->c->id);
    for (int i = 0; i < plan->n_dims; i++) {
        dims[i] = plan->dims[i];
        if (!strcmp(dims[i].symbol, "batch"))
            dims[i].size = k->out->n_rows;
    }
    if (of_spec)
        AS_TRY(as_model_load(k->env, spec, &c->model, &model));
    assay_status status = slow_bind(k, of_spec ? model : k->subject->model, dims, plan->n_dims, &s);
    if (status == ASSAY_OK)
        status = slow_compare(k, &s, goes);
    assay_model_free(model);
    return status;
}

static int64_t rows_count(const as_bench_case *c, const assay_plan *plan)
{
    for (int i = 0; !c->is_workload && i < plan->n_dims; i++)
        if (!strcmp(plan->dims[i].symbol, "batch"))
            return plan->dims[i].size;
    return c->spec_rows > 0 ? c->spec_rows : 1;
}

as_truth_work as_truth_ask(const as_bench_case *c, const as_bench_subject *subject)
{
    as_truth_work work = {work_of(subject->plan), 0};
    double        a_row = work.all / (double)rows_count(c, subject->plan);
    if (as_bench_case_is_told(c) || c->trains)
        return (as_truth_work){0, 0};
    work.least = a_row > MOST_ROW ? 0 : a_row;
    return work;
}

void as_truth_skip(as_truth *out)
{
    *out = (as_truth){.error = NAN};
    none(out, "--check off");
}

static assay_status all_compare(check *k)
{
    const assay_plan *plan = k->subject->plan;
    int64_t           n = 0;
    bool              goes;
    slow              s;
    k->out->n_rows = k->out->of_rows;
    AS_TRY(slow_bind(k, k->subject->model, plan->dims, plan->n_dims, &s));
    AS_TRY(slow_compare(k, &s, &goes));
    k->out->work = work_of(plan);
    for (int i = 0; i < s.graph.n_outputs; i++)
        n += as_shape_count(&s.out[i].shape);
    k->out->how = AS_TRUTH_ALL;
    snprintf(k->out->compared, sizeof k->out->compared, "all %" PRId64 " outputs", n);
    return ASSAY_OK;
}

static assay_status rows_compare(check *k, double work, uint64_t seed)
{
    as_truth *o = k->out;
    double    a_row = work / (double)o->of_rows;
    bool      goes;
    char      why[160];
    if (a_row > MOST_ROW) {
        snprintf(why, sizeof why, "one row has %.2g operations, too many for the reference code", a_row);
        none(o, why);
        return ASSAY_OK;
    }
    o->n_rows = (int64_t)fmin(fmax(k->most_work / a_row, 1), MAX_ROWS);
    o->work = a_row * (double)o->n_rows;
    rows_draw(k, seed);
    AS_TRY(fewer_compare(k, &goes));
    o->how = AS_TRUTH_ROWS;
    snprintf(o->compared, sizeof o->compared, "%" PRId64 " of %" PRId64 " rows", o->n_rows, o->of_rows);
    if (!goes)
        none(o, "its rows depend on one another, and all of them are too many for the reference code");
    return ASSAY_OK;
}

static assay_status run(check *k, uint64_t seed)
{
    double work = work_of(k->subject->plan);
    AS_TRY(assay_instance_new(k->env, k->subject->plan, &k->instance));
    AS_TRY(answer(k, seed, &k->out->hash));
    if (k->c->trains) { /* rows of a batch depend on one another here */
        none(k->out, "a training step: its kernels are compared with the reference code by assay's own tests");
        return poison(k, seed);
    }
    k->out->of_rows = rows_count(k->c, k->subject->plan);
    AS_TRY(work <= k->most_work || (k->out->of_rows == 1 && work <= MOST_ROW) ? all_compare(k) : rows_compare(k, work, seed));
    return k->out->wrong ? ASSAY_OK : poison(k, seed);
}

assay_status as_truth_check(assay_env *env, const as_bench_case *c, const as_bench_subject *subject, uint64_t seed,
                            double most_work, as_truth *out)
{
    check k = {.env = env, .c = c, .subject = subject, .out = out, .most_work = fmin(most_work, MOST_WORK)};
    *out = (as_truth){.error = NAN};
    if (as_bench_case_is_told(c)) {
        none(out, "the null device computes nothing");
        return ASSAY_OK;
    }
    assay_status status = run(&k, seed);
    assay_instance_free(k.instance);
    as_arena_drop(&k.arena);
    return status;
}
