/* kernel_test.c - the rule of choice, on tables made for it. */
#include "backend/cpu/kernel.h"

#include <stdio.h>

#include "backend/backend.h"
#include "tests/runner/test.h"

static bool yes(const as_node_ctx *n, char *why, size_t why_size)
{
    (void)n, (void)why, (void)why_size;
    return true;
}

static void nothing(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)args, (void)part, (void)n_parts, (void)scratch;
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    (void)n;
    return (size_t)n_parts * 100;
}

static size_t packed_bytes(const as_node_ctx *n, int input)
{
    (void)n;
    return input == 1 ? 4096 : 0;
}

static void pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    (void)args, (void)input, (void)packed, (void)part, (void)n_parts;
}

static bool reads_in_place(const as_node_ctx *n, int input)
{
    (void)n;
    return input == 1;
}

static as_cost issued(const as_node_ctx *n)
{
    (void)n;
    return (as_cost){.flops = 77};
}

#define KERNEL(name_, op_, isa_, rank_, accepts_)                                                                   \
    {                                                                                                               \
        .name = name_, .op = op_, .isa = isa_, .rank = rank_, .why = "because", .accepts = accepts_, .run = nothing \
    }

static const as_kernel any = KERNEL("any", "*", 0, 0, yes), f32 = KERNEL("relu_f32", "Relu", 0, 10, as_kernel_f32_only),
                       twin = KERNEL("relu_e32", "Relu", 0, 10, as_kernel_f32_only),
                       fast = KERNEL("relu_fast", "Relu", AS_ISA_AVX2 | AS_ISA_F16C, 20, yes),
                       other = KERNEL("tanh_f32", "Tanh", 0, 99, yes),
                       rich = {.name = "rich",
                               .op = "Relu",
                               .rank = 50,
                               .why = "because",
                               .accepts = yes,
                               .run = nothing,
                               .scratch_bytes = scratch_bytes,
                               .packed_bytes = packed_bytes,
                               .pack = pack,
                               .reads_in_place = reads_in_place,
                               .issued = issued};

typedef struct node {
    as_node_ctx    ctx;
    as_tensor_info in[2], out[1];
} node;

static node *node_make(node *n, as_dtype dtype)
{
    *n = (node){.in = {{.dtype = dtype, .shape = AS_SHAPE(4)}, {.dtype = AS_I64, .shape = AS_SHAPE(1)}},
                .out = {{.dtype = dtype, .shape = AS_SHAPE(4)}}};
    n->ctx = (as_node_ctx){.op = as_op_find("Relu"), .name = "r", .in = n->in, .n_in = 1, .out = n->out, .n_out = 1};
    return n;
}

static const char *reason(const as_choice *c, const char *kernel)
{
    for (int i = 0; i < c->n_refused; i++)
        if (!strcmp(c->refused[i].kernel, kernel))
            return c->refused[i].why;
    return NULL;
}

Test(choice, the_highest_rank_that_accepts_wins_and_every_loser_has_a_reason)
{
    static const as_kernel *const table[] = {&any, &other, &fast, &f32, NULL};
    as_arena                      arena = {0};
    as_choice                     c = {0};
    node                          n;
    expect_ok(NULL, as_kernel_choose(NULL, table, &node_make(&n, AS_F32)->ctx, AS_ISA_AVX2 | AS_ISA_F16C, 0, 1, &arena, &c));
    expect_str(c.name, "relu_fast");
    expect_has(c.why, "because; rank 20 is the highest that fits");
    expect_eq(c.n_refused, 2);
    expect_str(reason(&c, "any"), "rank 0 is below relu_fast's 20");
    expect_str(reason(&c, "relu_f32"), "rank 10 is below relu_fast's 20");
    expect(reason(&c, "tanh_f32") == NULL);
    as_arena_drop(&arena);
}

Test(choice, a_missing_instruction_set_is_told_from_a_masked_one)
{
    static const as_kernel *const table[] = {&any, &fast, &f32, NULL};
    as_arena                      arena = {0};
    as_choice                     c = {0};
    node                          n;
    node_make(&n, AS_F32);
    expect_ok(NULL, as_kernel_choose(NULL, table, &n.ctx, AS_ISA_F16C, AS_ISA_AVX2, 1, &arena, &c));
    expect_str(c.name, "relu_f32");
    expect_str(reason(&c, "relu_fast"), "needs avx2, which ASSAY_CPU switches off");
    expect_ok(NULL, as_kernel_choose(NULL, table, &n.ctx, 0, 0, 1, &arena, &c));
    expect_str(reason(&c, "relu_fast"), "needs avx2 f16c, which this CPU lacks");
    expect_ok(NULL, as_kernel_choose(NULL, table, &n.ctx, 0, AS_ISA_AVX2, 1, &arena, &c));
    expect_str(reason(&c, "relu_fast"), "needs avx2 f16c, which this CPU lacks");
    as_arena_drop(&arena);
}

Test(choice, a_tie_goes_to_the_first_by_name_wherever_it_stands)
{
    static const as_kernel *const tables[2][3] = {{&f32, &twin, NULL}, {&twin, &f32, NULL}};
    for (int i = 0; i < 2; i++) {
        as_arena  arena = {0};
        as_choice c = {0};
        node      n;
        expect_ok(NULL, as_kernel_choose(NULL, tables[i], &node_make(&n, AS_F32)->ctx, 0, 0, 1, &arena, &c));
        expect_str(c.name, "relu_e32");
        expect_str(reason(&c, "relu_f32"), "rank 10 is also relu_e32's, which comes first by name");
        as_arena_drop(&arena);
    }
}

Test(choice, a_node_that_no_kernel_takes_is_refused_with_a_reason)
{
    static const as_kernel *const table[] = {&f32, &other, NULL}, *const none[] = {&other, NULL};
    as_arena  arena = {0};
    as_choice c = {0};
    node      n;
    expect_ok(NULL, as_kernel_choose(NULL, table, &node_make(&n, AS_F64)->ctx, 0, 0, 1, &arena, &c));
    expect(c.kernel == NULL);
    expect_str(c.why, "none of 1 kernels fits; relu_f32: refused: input 0 is f64, needs f32");
    expect_ok(NULL, as_kernel_choose(NULL, none, &n.ctx, 0, 0, 1, &arena, &c));
    expect(c.kernel == NULL);
    expect_str(c.why, "there is no kernel for Relu");
    as_arena_drop(&arena);
}

Test(choice, the_only_kernel_says_so)
{
    static const as_kernel *const table[] = {&f32, NULL};
    as_arena                      arena = {0};
    as_choice                     c = {0};
    node                          n;
    expect_ok(NULL, as_kernel_choose(NULL, table, &node_make(&n, AS_F32)->ctx, 0, 0, 1, &arena, &c));
    expect_str(c.why, "because; the only kernel for Relu");
    as_arena_drop(&arena);
}

Test(choice, the_winner_states_its_scratch_its_packing_and_its_work)
{
    static const as_kernel *const table[] = {&rich, &any, NULL};
    as_arena                      arena = {0};
    as_choice                     c = {0};
    node                          n;
    node_make(&n, AS_F32)->ctx.n_in = 2;
    expect_ok(NULL, as_kernel_choose(NULL, table, &n.ctx, 0, 0, 3, &arena, &c));
    expect(c.kernel == &rich);
    expect_eq(c.scratch_bytes, 300);
    expect_eq(c.packed_bytes[0], 0);
    expect_eq(c.packed_bytes[1], 4096);
    expect_eq(c.read_in_place, 2);
    expect_eq(c.issued.flops, 77);
    as_arena_drop(&arena);
}

Test(choice, f32_only_looks_at_floats_and_at_the_first_operands_whatever_they_are)
{
    char why[64] = "";
    node n;
    node_make(&n, AS_F32)->ctx.n_in = 2;
    expect(as_kernel_f32_only(&n.ctx, why, sizeof why)); /* the operator handles its i64 input itself */
    n.in[1].dtype = AS_F16;
    expect(!as_kernel_f32_only(&n.ctx, why, sizeof why));
    expect_str(why, "input 1 is f16, needs f32");
    n.in[1].dtype = AS_NONE;
    expect(as_kernel_f32_only(&n.ctx, why, sizeof why));
    n.out[0].layout = AS_LAYOUT_NHWC;
    expect(!as_kernel_f32_only(&n.ctx, why, sizeof why));
    expect_str(why, "output 0 is not row-major");
    node_make(&n, AS_I32);
    expect(!as_kernel_f32_only(&n.ctx, why, sizeof why));
    expect_str(why, "input 0 is i32, needs f32");
    n.in[0].dtype = AS_F32;
    expect(!as_kernel_f32_only(&n.ctx, why, sizeof why));
    expect_str(why, "output 0 is i32, needs f32");
}

Test(choice, flat_wants_one_shape_and_one_layout)
{
    char why[96] = "";
    node n;
    node_make(&n, AS_F32)->ctx.n_in = 2;
    n.in[1] = n.in[0];
    expect(as_kernel_flat(&n.ctx, why, sizeof why));
    n.in[0].layout = n.in[1].layout = n.out[0].layout = AS_LAYOUT_NHWC;
    expect(as_kernel_flat(&n.ctx, why, sizeof why));
    n.in[1].layout = AS_LAYOUT_ROW_MAJOR;
    expect(!as_kernel_flat(&n.ctx, why, sizeof why));
    expect_str(why, "input 1 has another layout than output 0");
    n.in[1].shape = AS_SHAPE(1);
    expect(!as_kernel_flat(&n.ctx, why, sizeof why));
    expect_str(why, "input 1 is [1], needs the output's [4]");
    n.in[1].dtype = AS_NONE;
    expect(as_kernel_flat(&n.ctx, why, sizeof why));
    n.out[0].dtype = AS_F16;
    expect(!as_kernel_flat(&n.ctx, why, sizeof why));
    expect_str(why, "output 0 is f16, needs f32");
}

/* --- Costs ------------------------------------------------------------------------------------------------- */

static double flat_cost(const as_node_ctx *n)
{
    (void)n;
    return 100.0;
}
static double steep_cost(const as_node_ctx *n) { return 40.0 * (double)n->in[0].shape.dim[0]; }

Test(choice, the_least_cost_wins_over_rank_but_only_within_an_instruction_set)
{
    static const as_kernel
        high = {.name = "high", .op = "Relu", .rank = 50, .why = "h", .accepts = yes, .run = nothing, .cost = flat_cost},
        low = {.name = "low", .op = "Relu", .rank = 20, .why = "l", .accepts = yes, .run = nothing, .cost = steep_cost},
        vector = {.name = "vector",
                  .op = "Relu",
                  .isa = AS_ISA_AVX2,
                  .rank = 60,
                  .why = "v",
                  .accepts = yes,
                  .run = nothing,
                  .cost = flat_cost};
    static const as_kernel *const table[] = {&any, &low, &high, &vector, NULL};
    as_arena                      arena = {0};
    as_choice                     c = {0};
    node                          n;
    node_make(&n, AS_F32);
    expect_ok(NULL, as_kernel_choose(NULL, table, &n.ctx, 0, 0, 1, &arena, &c));
    expect_str(c.name, "high");
    expect_str(reason(&c, "low"), "estimated to take 1.60 times as long as high");
    n.in[0].shape = n.out[0].shape = AS_SHAPE(2);
    expect_ok(NULL, as_kernel_choose(NULL, table, &n.ctx, 0, 0, 1, &arena, &c));
    expect_str(c.name, "low");
    expect_str(c.why, "l; estimated to be faster than high");
    expect_str(reason(&c, "high"), "estimated to take 1.25 times as long as low");
    expect_ok(NULL, as_kernel_choose(NULL, table, &n.ctx, AS_ISA_AVX2, 0, 2, &arena, &c));
    expect_str(c.name, "vector");
    expect_str(reason(&c, "low"), "rank 20 is below vector's 60");
    as_arena_drop(&arena);
}
