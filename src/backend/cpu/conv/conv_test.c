/* conv_test.c - convolutions at the edges of their tiles: every kernel against the reference code, in any number of parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cpu/conv/conv_plan.h"
#include "tests/runner/test.h"

typedef struct shape_of {
    int64_t     n, c, h, w, m, group, kernel[2], stride, dilation, pad[4];
    const char *activation;
    bool        bias, residual, packs, winograd;
} shape_of;

typedef struct conv_node {
    as_node_ctx    ctx;
    as_tensor_info in[4], out[1];
    as_attr        attrs[6];
    int64_t        pads[4], strides[2], dilations[2];
    as_view        x[4], y, want;
} conv_node;

static float *floats(int64_t n, uint64_t seed)
{
    float *x = malloc((size_t)(n ? n : 1) * sizeof *x); /* exact: a read beyond the end is found by a sanitiser */
    expect(x != NULL);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x[i] = (float)((double)(seed >> 40) / (double)(1 << 24) * 2.0 - 1.0);
    }
    return x;
}

/* Activations in NHWC. */
static as_view view_of(const as_tensor_info *t, uint64_t seed)
{
    as_view v = as_view_of(floats(as_shape_count(&t->shape), seed), AS_F32, &t->shape);
    if (t->layout == AS_LAYOUT_NHWC) {
        v.stride[1] = 1;
        v.stride[3] = t->shape.dim[1];
        v.stride[2] = v.stride[3] * t->shape.dim[3];
        v.stride[0] = v.stride[2] * t->shape.dim[2];
    }
    return v;
}

static void node_open(conv_node *n, const shape_of *s)
{
    *n = (conv_node){.in = {{.dtype = AS_F32, .shape = AS_SHAPE(s->n, s->c, s->h, s->w), .layout = AS_LAYOUT_NHWC},
                            {.dtype = AS_F32, .shape = AS_SHAPE(s->m, s->c / s->group, s->kernel[0], s->kernel[1])}},
                     .strides = {s->stride, s->stride},
                     .dilations = {s->dilation, s->dilation}};
    memcpy(n->pads, s->pad, sizeof n->pads);
    as_attr attrs[] = {AS_ATTR_I("group", s->group),
                       {.name = "pads", .kind = AS_ATTR_INTS, .ints = n->pads, .n = 4},
                       {.name = "strides", .kind = AS_ATTR_INTS, .ints = n->strides, .n = 2},
                       {.name = "dilations", .kind = AS_ATTR_INTS, .ints = n->dilations, .n = 2},
                       AS_ATTR_S("activation", s->activation ? s->activation : "none"),
                       AS_ATTR_I("winograd", s->winograd)};
    memcpy(n->attrs, attrs, sizeof attrs);
    if (s->bias)
        n->in[2] = (as_tensor_info){.dtype = AS_F32, .shape = AS_SHAPE(s->m)};
    n->ctx = (as_node_ctx){.op = as_op_find("assay.FusedConv"),
                           .name = "n",
                           .attrs = n->attrs,
                           .n_attrs = s->activation ? 6 : 4,
                           .in = n->in,
                           .n_in = s->bias ? 3 : 2,
                           .out = n->out,
                           .n_out = 1};
    expect_ok(NULL, as_op_infer(NULL, &n->ctx, n->out));
    n->out[0].layout = AS_LAYOUT_NHWC;
    if (s->residual) {
        n->in[3] = n->out[0];
        n->ctx.n_in = 4;
    }
    for (int i = 0; i < n->ctx.n_in; i++)
        if (n->in[i].dtype != AS_NONE)
            n->x[i] = view_of(&n->in[i], (uint64_t)i + 1);
    n->y = view_of(&n->out[0], 9);
    n->want = view_of(&n->out[0], 9);
    expect_ok(NULL, n->ctx.op->eval(NULL, &n->ctx, n->x, &n->want));
}

static void node_close(conv_node *n)
{
    for (int i = 0; i < 4; i++)
        free(n->x[i].data);
    free(n->y.data);
    free(n->want.data);
}

static void kernel_run(const as_kernel *k, conv_node *n, const void *packed, int n_parts)
{
    size_t         bytes = k->scratch_bytes ? k->scratch_bytes(&n->ctx, n_parts) : 0;
    void          *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assay_status   status = ASSAY_OK;
    as_kernel_args args = {.ctx = &n->ctx, .in = n->x, .out = &n->y, .packed = (const void *[4]){NULL, packed}, .status = &status};
    expect(scratch != NULL);
    memset(scratch, 0x7f, (bytes + 127) / 64 * 64);
    memset(n->y.data, 0xff, as_view_bytes(&n->y));
    for (int part = n_parts - 1; part >= 0; part--)
        k->run(&args, part, n_parts, scratch);
    free(scratch);
}

/* Every kernel that accepts the node, in 1, 2, 4 and 5 parts, which must give the same bits; returns how many there are. */
static int node_check(const shape_of *s, const char *name)
{
    conv_node n;
    int       count = 0;
    char      why[256];
    node_open(&n, s);
    size_t bytes = as_view_bytes(&n.y);
    char  *first = malloc(bytes + 1);
    for (const as_kernel *const *k = as_k_table; *k; k++) {
        if (!as_kernel_is_for(*k, "assay.FusedConv") || !strcmp((*k)->op, "*") || ((*k)->isa & ~as_isa_here()) ||
            (name && !strstr((*k)->name, name)) || !(*k)->accepts(&n.ctx, why, sizeof why))
            continue;
        count++;
        as_kernel_args args = {.ctx = &n.ctx, .in = n.x};
        void          *packed = s->packs ? aligned_alloc(64, ((*k)->packed_bytes(&n.ctx, 1) + 127) / 64 * 64) : NULL;
        if (packed)
            (*k)->pack(&args, 1, packed, 0, 1);
        for (int i = 0; i < 4; i++) {
            int n_parts = (int[]){1, 2, 4, 5}[i];
            kernel_run(*k, &n, packed, n_parts);
            double error = as_view_error(&n.y, &n.want);
            if (!(error <= n.ctx.op->tolerance))
                fail("%s: %lldx%lldx%lld to %lld, %lldx%lld stride %lld in %d parts: error %g", (*k)->name, (long long)s->c,
                     (long long)s->h, (long long)s->w, (long long)s->m, (long long)s->kernel[0], (long long)s->kernel[1],
                     (long long)s->stride, n_parts, error);
            if (i == 0)
                memcpy(first, n.y.data, bytes);
            else if (memcmp(first, n.y.data, bytes))
                fail("%s: %lldx%lldx%lld to %lld: %d parts give other bits than 1", (*k)->name, (long long)s->c, (long long)s->h,
                     (long long)s->w, (long long)s->m, n_parts);
        }
        free(packed);
    }
    free(first);
    node_close(&n);
    return count;
}

Test(conv, depthwise_tiles_agree_with_the_truth_at_every_width_and_every_remainder_of_channels)
{
    static const int64_t     channels[] = {2, 3, 4, 7, 8, 15, 16, 17, 19, 31, 32, 33, 47, 48, 64, 67};
    static const char *const acts[] = {NULL, "relu", "silu", "hardswish", "clip", "sigmoid", "tanh"};
    int                      turn = 0;
    for (int64_t kernel = 1; kernel <= 7; kernel += kernel == 1 ? 2 : kernel == 3 ? 1 : kernel == 4 ? 1 : 2) /* 1 3 4 5 7 */
        for (int64_t stride = 1; stride <= 3; stride++)
            for (int64_t w = kernel > 3 ? kernel - 3 : 1; w <= 20; w++, turn++) {
                int64_t  c = channels[turn % (int)AS_COUNT(channels)], pad = kernel / 2;
                shape_of s = {.n = 1 + turn % 2,
                              .c = c,
                              .h = 1 + turn % 5 + kernel / 2,
                              .w = w,
                              .m = c,
                              .group = c,
                              .kernel = {turn % 3 ? kernel : 1 + turn % 4, kernel},
                              .stride = stride,
                              .dilation = turn % 11 == 10 && w > 6 && kernel < 4 ? 2 : 1,
                              .pad = {pad, pad, pad + turn % 2, kernel > 1 ? pad : 0},
                              .activation = acts[turn % (int)AS_COUNT(acts)],
                              .bias = turn % 3 != 1,
                              .residual = turn % 4 == 2,
                              .packs = turn % 5 != 4};
                if (s.kernel[0] > s.h + s.pad[0] + s.pad[2])
                    s.kernel[0] = 1;
                expect(node_check(&s, NULL) > 0);
            }
}

Test(conv, tiles_of_1x1_agree_with_the_truth_at_every_number_of_pixels)
{
    static const int64_t     channels[] = {64, 65, 66, 67, 72, 100}, outs[] = {17, 32, 33, 40, 64, 96, 130};
    static const char *const acts[] = {"relu", NULL, "silu", "clip"};
    int                      turn = 0;
    for (int64_t stride = 1; stride <= 2; stride++)
        for (int64_t w = 1; w <= 38; w++, turn++) {
            shape_of s = {.n = 1 + turn % 2,
                          .c = channels[turn % (int)AS_COUNT(channels)],
                          .h = 1 + turn % 3,
                          .w = w,
                          .m = outs[turn % (int)AS_COUNT(outs)],
                          .group = 1,
                          .kernel = {1, 1},
                          .stride = stride,
                          .dilation = 1,
                          .activation = acts[turn % (int)AS_COUNT(acts)],
                          .bias = turn % 3 != 0,
                          .residual = turn % 5 == 1,
                          .packs = turn % 4 != 3};
            expect(node_check(&s, NULL) > 0);
        }
    shape_of aliased = {.n = 1, .c = 1024, .h = 3, .w = 5, .m = 33, .group = 1, .kernel = {1, 1}, .stride = 1, .dilation = 1};
    expect(node_check(&aliased, NULL) > 0);
}

Test(conv, parts_share_channels_where_rows_are_few_and_every_panel_of_every_unit_has_one_part)
{
    const shape_of shapes[] = {
        {.n = 1, .c = 40, .h = 3, .w = 4, .m = 200, .group = 1, .kernel = {3, 3}, .stride = 1, .dilation = 1, .pad = {1, 1, 1, 1}},
        {.n = 1, .c = 64, .h = 2, .w = 2, .m = 320, .group = 2, .kernel = {1, 1}, .stride = 1, .dilation = 1},
        {.n = 2, .c = 24, .h = 20, .w = 30, .m = 40, .group = 1, .kernel = {3, 3}, .stride = 1, .dilation = 1, .pad = {1, 1, 1, 1}},
    };
    for (size_t i = 0; i < AS_COUNT(shapes); i++) {
        conv_node n;
        shape_of  s = shapes[i];
        s.bias = s.packs = i != 1;
        expect(node_check(&s, NULL) > 0);
        node_open(&n, &s);
        for (int n_parts = 1; n_parts <= 8; n_parts++) {
            as_conv_plan v;
            int64_t      done = 0;
            expect(as_conv_plan_make(&n.ctx, n_parts, 16, &v));
            expect(v.panel_parts >= 1 && n_parts % v.panel_parts == 0);
            for (int part = 0; part < n_parts; part++) {
                as_conv_share a = as_conv_share_of(&v, part, n_parts);
                done += (a.end - a.begin) * (a.last - a.first);
                for (int other = 0; other < part; other++) {
                    as_conv_share b = as_conv_share_of(&v, other, n_parts);
                    expect(a.end <= b.begin || b.end <= a.begin || a.last <= b.first || b.last <= a.first);
                }
            }
            expect_eq(done, v.n_units * as_conv_panels(&v));
            if (i == 0 && n_parts == 4)
                expect(v.panel_parts == 4); /* three rows in four parts would leave one without work */
            if (i == 2 && n_parts == 2)
                expect(v.panel_parts == 1); /* rows divide well, and the input is more than the weights */
        }
        node_close(&n);
    }
}

static const char *choice_of(const shape_of *s, as_arena *arena)
{
    conv_node n;
    as_choice c = {0};
    node_open(&n, s);
    expect_ok(NULL, as_kernel_choose(NULL, as_k_table, &n.ctx, as_isa_here(), 0, 1, arena, &c));
    node_close(&n);
    return c.name;
}

Test(conv, winograd_is_left_where_it_would_only_read_its_weights)
{
    as_arena arena = {0};
    shape_of s = {.n = 1,
                  .c = 160,
                  .h = 4,
                  .w = 4,
                  .m = 160,
                  .group = 1,
                  .kernel = {3, 3},
                  .stride = 1,
                  .dilation = 1,
                  .pad = {1, 1, 1, 1},
                  .activation = "relu",
                  .winograd = true};
    expect(strstr(choice_of(&s, &arena), "winograd") == NULL); /* one tile: 36 products per weight that is read */
    s.h = s.w = 24, s.c = s.m = 32;
    expect(strstr(choice_of(&s, &arena), "winograd") != NULL);
    as_arena_drop(&arena);
}
