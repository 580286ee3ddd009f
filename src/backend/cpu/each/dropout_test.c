/* dropout_test.c - Dropout in training: how many elements stay, which, and that every kernel draws as the reference code does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "tests/runner/test.h"

enum { COUNT = 100003 };

typedef struct dropout {
    as_tensor_info in[3], out[2];
    as_node_ctx    ctx;
    float         *x, *y, ratio;
    uint8_t       *mask, training;
    as_view        in_view[3], out_view[2];
} dropout;

static void open_node(dropout *d, float ratio, bool training)
{
    *d = (dropout){.ratio = ratio, .training = training};
    d->x = malloc(COUNT * sizeof *d->x);
    d->y = malloc(COUNT * sizeof *d->y);
    d->mask = malloc(COUNT);
    expect(d->x && d->y && d->mask);
    for (int i = 0; i < COUNT; i++)
        d->x[i] = 1.0f + (float)(i % 7);
    as_shape all = AS_SHAPE(COUNT), one = {.rank = 0};
    d->in[0] = (as_tensor_info){.dtype = AS_F32, .shape = all};
    d->in[1] = (as_tensor_info){.dtype = AS_F32, .shape = one, .constant = &d->ratio};
    d->in[2] = (as_tensor_info){.dtype = AS_BOOL, .shape = one, .constant = &d->training};
    d->ctx = (as_node_ctx){.op = as_op_find("Dropout"),
                           .name = "drop",
                           .in = d->in,
                           .n_in = 3,
                           .out = d->out,
                           .n_out = 2,
                           .seed = 0x123456789abcull,
                           .node_id = 5,
                           .step = 3};
    expect_ok(NULL, as_op_infer(NULL, &d->ctx, d->out));
    d->in_view[0] = as_view_of(d->x, AS_F32, &all);
    d->in_view[1] = as_view_of(&d->ratio, AS_F32, &one);
    d->in_view[2] = as_view_of(&d->training, AS_BOOL, &one);
    d->out_view[0] = as_view_of(d->y, AS_F32, &all);
    d->out_view[1] = as_view_of(d->mask, AS_BOOL, &all);
}

static void close_node(dropout *d)
{
    free(d->x);
    free(d->y);
    free(d->mask);
}

static void kernel_run(dropout *d, const as_kernel *k, uint64_t step, int n_parts)
{
    assay_status   status = ASSAY_OK;
    as_kernel_args args = {.ctx = &d->ctx, .in = d->in_view, .out = d->out_view, .step = step, .status = &status};
    for (int part = 0; part < n_parts; part++)
        k->run(&args, part, n_parts, NULL);
    expect_eq(status, ASSAY_OK);
}

/* Every kernel for Dropout that runs here; false after the last. */
static bool next(int *i, const as_kernel **k)
{
    for (; as_k_table[*i]; ++*i)
        if (strcmp(as_k_table[*i]->op, "*") && as_kernel_is_for(as_k_table[*i], "Dropout") &&
            !(as_k_table[*i]->isa & ~as_isa_cpu())) {
            *k = as_k_table[(*i)++];
            return true;
        }
    return false;
}

Test(dropout, every_kernel_keeps_what_the_reference_code_keeps_in_any_number_of_parts)
{
    static const int parts[] = {1, 2, 3, 5};
    const as_kernel *k;
    dropout          d, truth;
    int              n = 0;
    open_node(&d, 0.3f, true);
    open_node(&truth, 0.3f, true);
    expect_ok(NULL, truth.ctx.op->eval(NULL, &truth.ctx, truth.in_view, truth.out_view));
    for (int i = 0; next(&i, &k); n++)
        for (size_t p = 0; p < AS_COUNT(parts); p++) {
            memset(d.mask, 0xA5, COUNT);
            kernel_run(&d, k, 3, parts[p]);
            expect_eq(memcmp(d.mask, truth.mask, COUNT), 0);
            for (int e = 0; e < COUNT; e++)
                if (!(fabsf(d.y[e] - truth.y[e]) <= 1e-6f * fabsf(truth.y[e])))
                    fail("%s in %d parts: element %d is %g, the reference code says %g", k->name, parts[p], e, (double)d.y[e],
                         (double)truth.y[e]);
        }
    expect(n > 0);
    close_node(&d);
    close_node(&truth);
}

/* Five deviations of a binomial count. */
static bool is_near(int count, double p) { return fabs(count - COUNT * p) <= 5 * sqrt(COUNT * p * (1 - p)) + 0.5; }

static void rate_check(const as_kernel *k, float ratio)
{
    dropout  d;
    int      kept[2] = {0}, both = 0;
    double   p = 1.0 - (double)ratio;
    uint8_t *first = malloc(COUNT);
    expect(first != NULL);
    open_node(&d, ratio, true);
    kernel_run(&d, k, 0, 1);
    memcpy(first, d.mask, COUNT);
    kernel_run(&d, k, 1, 1);
    for (int e = 0; e < COUNT; e++) {
        kept[0] += first[e];
        kept[1] += d.mask[e];
        both += first[e] && d.mask[e];
    }
    expect(is_near(kept[0], p) && is_near(kept[1], p));
    expect(is_near(both, p * p)); /* the masks of two steps are independent */
    free(first);
    close_node(&d);
}

Test(dropout, keeps_as_many_as_the_ratio_says_and_others_in_another_step)
{
    static const float ratios[] = {0.0f, 0.1f, 0.5f, 0.9f};
    const as_kernel   *k;
    for (int i = 0; next(&i, &k);)
        for (size_t r = 0; r < AS_COUNT(ratios); r++)
            rate_check(k, ratios[r]);
}

Test(dropout, changes_nothing_at_inference)
{
    const as_kernel *k;
    dropout          d;
    open_node(&d, 0.5f, false);
    for (int i = 0; next(&i, &k);) {
        kernel_run(&d, k, 0, 2);
        expect_eq(memcmp(d.x, d.y, COUNT * sizeof *d.x), 0);
        for (int e = 0; e < COUNT; e++)
            expect_eq(d.mask[e], 1);
    }
    close_node(&d);
}
