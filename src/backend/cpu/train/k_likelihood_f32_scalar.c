/* k_likelihood_f32_scalar.c - NegativeLogLikelihoodLoss and its gradient: one element per label is read or written. */
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/train/labels.h"

typedef struct job {
    as_classes     k;
    bool           is_grad;
    const float   *weights;
    const as_view *labels;
    double         total; /* what a mean is divided by; 1 for other reductions */
} job;

static bool job_of(const as_kernel_args *args, job *j)
{
    const as_node_ctx *n = args->ctx;
    *j = (job){.is_grad = !strcmp(n->op->name, "assay.NegativeLogLikelihoodGrad"), .labels = &args->in[1]};
    const as_shape *x = j->is_grad ? &n->out[0].shape : &n->in[0].shape;
    j->weights = as_in_has(n, 2) ? args->in[2].data : NULL;
    if (as_classes_read(NULL, n, x, 1, &j->k) != ASSAY_OK || !labels_read(&j->k, j->labels, j->weights, &j->total))
        return false;
    if (j->k.reduction != AS_REDUCE_MEAN)
        j->total = 1.0;
    return true;
}

static int64_t place_of(const job *j, int64_t i, int64_t label)
{
    return (i / j->k.inner * j->k.c + label) * j->k.inner + i % j->k.inner;
}

static double weight_of(const job *j, int64_t label) { return j->weights ? (double)j->weights[label] : 1.0; }

/* The gradient of some examples. */
static void grad_run(const as_kernel_args *args, const job *j, int part, int n_parts)
{
    const float *d = args->in[0].data;
    float       *y = args->out[0].data;
    int64_t      begin, end, row = j->k.c * j->k.inner;
    as_share(j->k.n, 1, part, n_parts, &begin, &end);
    if (end > begin && row)
        memset(y + begin * row, 0, (size_t)((end - begin) * row) * sizeof *y);
    for (int64_t i = begin * j->k.inner; i < end * j->k.inner; i++) {
        int64_t label = label_at(&j->k, j->labels, i);
        if (label >= 0)
            y[place_of(j, i, label)] =
                (float)(-(double)d[j->k.reduction == AS_REDUCE_NONE ? i : 0] / j->total * weight_of(j, label));
    }
}

/* One part, because a batch has few labels. */
static void loss_run(const as_kernel_args *args, const job *j)
{
    const float *x = args->in[0].data;
    float       *y = args->out[0].data;
    double       sum = 0.0;
    for (int64_t i = 0; i < j->k.n * j->k.inner; i++) {
        int64_t label = label_at(&j->k, j->labels, i);
        double  loss = label < 0 ? 0.0 : -weight_of(j, label) * (double)x[place_of(j, i, label)];
        sum += loss;
        if (j->k.reduction == AS_REDUCE_NONE)
            y[i] = (float)loss;
    }
    if (j->k.reduction != AS_REDUCE_NONE)
        *y = (float)(sum / j->total);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    job j;
    if (!job_of(args, &j)) {
        if (part == 0) /* it has the message */
            *args->status = args->ctx->op->eval(args->env, args->ctx, args->in, args->out);
    } else if (j.is_grad) {
        grad_run(args, &j, part, n_parts);
    } else if (part == 0) {
        loss_run(args, &j);
    }
}

static const char *const also[] = {"assay.NegativeLogLikelihoodGrad", NULL};

const as_kernel as_k_likelihood_f32_scalar = {
    .name = "likelihood_f32_scalar",
    .op = "NegativeLogLikelihoodLoss",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "one element per label",
    .accepts = as_kernel_f32_only,
    .run = run,
};
