/* crossentropy_body.h - the body of k_crossentropy_f32_<machine>.c, after its simd_*.h: SoftmaxCrossEntropyLoss and its gradient.
 *
 * Scores [N, C, d...]: with no d, a line of classes is computed one vector at a time; else a vector holds one class at many positions.
 * The loss of each position goes to the scratch, and one part adds them up in order, in double. */
#include <math.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/simd/vmath.h"
#include "backend/cpu/train/labels.h"

typedef struct job {
    as_classes     k;
    bool           is_grad;
    const float   *x, *weights, *d; /* d: the gradient of the loss */
    const as_view *labels;
    float         *y;     /* the gradient, or the logarithms; NULL: not wanted */
    float         *each;  /* the loss at each position */
    double         total; /* what a mean is divided by; 1 for other reductions */
} job;

V_INLINE vf   some(const float *p, int n) { return n == VW ? v_load(p) : v_load_n(p, n); }
V_INLINE void put(float *p, int n, vf x)
{
    if (n == VW)
        v_store(p, x);
    else
        v_store_n(p, n, x);
}

static float log_one(float x)
{
    float y[VW];
    v_store(y, vm_log(v_set(x)));
    return y[0];
}

static float weight_of(const job *j, int64_t label) { return label < 0 ? 0.0f : j->weights ? j->weights[label] : 1.0f; }

/* What the gradient of a position's loss is multiplied by. */
static float share_of(const job *j, int64_t i, int64_t label)
{
    double d = (double)j->d[j->k.reduction == AS_REDUCE_NONE ? i : 0];
    return label < 0 ? 0.0f : (float)(d / j->total * (double)weight_of(j, label));
}

/* --- A line of classes ------------------------------------------------------------------------------------------------ */

static float line_max(const float *x, int64_t n)
{
    vf      high = v_set(-HUGE_VALF);
    int64_t i = 0;
    for (; i + VW <= n; i += VW)
        high = v_max(high, v_load(x + i));
    float max = v_highest(high);
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

/* The sum of exp(x - max); with `y` they are kept there. */
static float line_exp(const float *x, int64_t n, float max, float *y)
{
    vf      sums = v_zero(), shift = v_set(max);
    int64_t i = 0;
    for (; i + VW <= n; i += VW) {
        vf e = vm_exp(v_sub(v_load(x + i), shift));
        sums = v_add(sums, e);
        if (y)
            v_store(y + i, e);
    }
    float sum = v_sum(sums), tail[VW];
    if (i < n) {
        v_store(tail, vm_exp(v_sub(v_load_n(x + i, (int)(n - i)), shift)));
        for (int64_t k = i; k < n; k++) {
            sum += tail[k - i];
            if (y)
                y[k] = tail[k - i];
        }
    }
    return sum;
}

/* y = x k + b. */
static void line_set(const float *x, float *y, int64_t n, float k, float b)
{
    int64_t i = 0;
    for (; i + VW <= n; i += VW)
        v_store(y + i, v_fma(v_load(x + i), v_set(k), v_set(b)));
    for (; i < n; i += VW) {
        int left = (int)(n - i);
        v_store_n(y + i, left, v_fma(v_load_n(x + i, left), v_set(k), v_set(b)));
    }
}

static void line_run(const job *j, int64_t i)
{
    const float *x = j->x + i * j->k.c;
    int64_t      label = label_at(&j->k, j->labels, i);
    float       *y = j->y ? j->y + i * j->k.c : NULL;
    if (j->is_grad && label < 0) {
        memset(y, 0, (size_t)j->k.c * sizeof *y);
        return;
    }
    float max = line_max(x, j->k.c), sum = line_exp(x, j->k.c, max, j->is_grad ? y : NULL);
    if (j->is_grad) {
        float share = share_of(j, i, label);
        line_set(y, y, j->k.c, share / sum, 0.0f);
        y[label] -= share;
        return;
    }
    float shift = log_one(sum);
    if (y)
        for (int64_t c = 0; c < j->k.c; c += VW) {
            int n = j->k.c - c < VW ? (int)(j->k.c - c) : VW;
            put(y + c, n, v_sub(v_sub(some(x + c, n), v_set(max)), v_set(shift)));
        }
    j->each[i] = label < 0 ? 0.0f : -weight_of(j, label) * (x[label] - max - shift);
}

/* --- Positions side by side --------------------------------------------------------------------------------------------- */

/* n positions, 1 <= n <= VW, from position `at` of an example. */
static void lanes_run(const job *j, int64_t example, int64_t at, int n)
{
    const as_classes *k = &j->k;
    int64_t           first = example * k->c * k->inner + at, i = example * k->inner + at;
    vf                max = v_set(-HUGE_VALF), sum = v_zero();
    float             shares[VW] = {0}, high[VW], shift[VW];
    for (int64_t c = 0; c < k->c; c++)
        max = v_max(max, some(j->x + first + c * k->inner, n));
    for (int64_t c = 0; c < k->c; c++)
        sum = v_add(sum, vm_exp(v_sub(some(j->x + first + c * k->inner, n), max)));
    if (j->is_grad) {
        for (int p = 0; p < n; p++)
            shares[p] = share_of(j, i + p, label_at(k, j->labels, i + p));
        vf share = v_load(shares), scale = v_div(share, sum), none = v_eq(share, v_zero());
        for (int64_t c = 0; c < k->c; c++) {
            vf e = v_mul(scale, vm_exp(v_sub(some(j->x + first + c * k->inner, n), max)));
            put(j->y + first + c * k->inner, n, v_pick(none, v_zero(), e));
        }
        for (int p = 0; p < n; p++) {
            int64_t label = label_at(k, j->labels, i + p);
            if (label >= 0)
                j->y[first + label * k->inner + p] -= shares[p];
        }
        return;
    }
    vf log_sum = vm_log(sum);
    for (int64_t c = 0; j->y && c < k->c; c++)
        put(j->y + first + c * k->inner, n, v_sub(v_sub(some(j->x + first + c * k->inner, n), max), log_sum));
    v_store(high, max);
    v_store(shift, log_sum);
    for (int p = 0; p < n; p++) {
        int64_t label = label_at(k, j->labels, i + p);
        j->each[i + p] = label < 0 ? 0.0f : -weight_of(j, label) * (j->x[first + label * k->inner + p] - high[p] - shift[p]);
    }
}

/* --- A part ------------------------------------------------------------------------------------------------------------ */

static bool job_of(const as_kernel_args *args, void *scratch, job *j)
{
    const as_node_ctx *n = args->ctx;
    bool               is_grad = !strcmp(n->op->name, "assay.SoftmaxCrossEntropyGrad");
    int                weights = is_grad ? 3 : 2;
    *j = (job){.is_grad = is_grad, .x = args->in[0].data, .labels = &args->in[1], .total = 1.0};
    j->weights = as_in_has(n, weights) ? args->in[weights].data : NULL;
    if (as_classes_read(NULL, n, &n->in[0].shape, 1, &j->k) != ASSAY_OK || !labels_read(&j->k, j->labels, j->weights, &j->total))
        return false;
    if (j->k.reduction != AS_REDUCE_MEAN)
        j->total = 1.0;
    if (is_grad) {
        j->d = args->in[2].data;
        j->y = args->out[0].data;
    } else {
        j->y = n->n_out > 1 ? args->out[1].data : NULL;
        j->each = j->k.reduction == AS_REDUCE_NONE ? args->out[0].data : scratch;
    }
    return true;
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    (void)n_parts;
    as_classes k;
    if (!strcmp(n->op->name, "assay.SoftmaxCrossEntropyGrad") || as_classes_read(NULL, n, &n->in[0].shape, 1, &k) != ASSAY_OK)
        return 0;
    return k.reduction == AS_REDUCE_NONE ? 0 : (size_t)(k.n * k.inner) * sizeof(float);
}

/* The network may compute the labels, so they can be wrong: every part checks all of them first, and the reference code has the
 * message. */
static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    job     j;
    int64_t begin, end;
    if (!job_of(args, scratch, &j)) {
        if (part == 0)
            *args->status = args->ctx->op->eval(args->env, args->ctx, args->in, args->out);
        return;
    }
    int64_t n_blocks = (j.k.inner + VW - 1) / VW;
    as_share(j.k.n * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end && j.k.c; unit++) {
        int64_t at = unit % n_blocks * VW;
        if (j.k.inner == 1)
            line_run(&j, unit);
        else
            lanes_run(&j, unit / n_blocks, at, j.k.inner - at < VW ? (int)(j.k.inner - at) : VW);
    }
}

static void finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)n_parts;
    job    j;
    double sum = 0.0;
    if (part != 0 || !job_of(args, scratch, &j) || j.is_grad || j.k.reduction == AS_REDUCE_NONE)
        return;
    for (int64_t i = 0; i < j.k.n * j.k.inner; i++)
        sum += (double)j.each[i];
    *(float *)args->out[0].data = (float)(sum / j.total);
}

static const char *const also[] = {"assay.SoftmaxCrossEntropyGrad", NULL};
