/* kernel_test.c - every CPU kernel against the reference code, on every case of every operator, however the work is split. */
#include "backend/cpu/kernel.h"

#include <stdlib.h>

#include "tests/conform/device_conform.h"
#include "tests/runner/test.h"

static const int shares[] = {1, 3, 2, 7};

/* Under an emulator everything takes thirty times as long: there the vector kernels of that machine are tested in one and in three
 * parts, and the others only on machines that run them quickly. */
static bool is_short(void) { return getenv("ASSAY_TEST_SHORT") != NULL; }

typedef struct tally {
    assay_env *env;
    int        n_ran[256];
} tally;

/* Runs one kernel on one case, the parts one after the other. Outputs start as a pattern, so that unwritten elements
 * show. Without `packs` it gets no packed inputs, as when a weight changes in every run. */
static void kernel_run(assay_env *env, const as_kernel *k, const as_conform_case *c, const as_view *in, int n_parts, bool packs,
                       as_view *out)
{
    as_arena       arena = {0};
    assay_status   status = ASSAY_OK;
    const void    *packed[AS_MAX_IN] = {0};
    as_kernel_args args = {.ctx = &c->ctx, .in = in, .out = out, .packed = packed, .env = env, .status = &status};
    for (int i = 0; i < c->ctx.n_out; i++)
        if (in == c->in) /* not when it shares the memory of an input */
            memset(out[i].data, 0xA5, as_view_bytes(&out[i]));
    for (int i = 0; packs && k->packed_bytes && i < AS_N_PACKED && i < c->ctx.n_in; i++) {
        size_t bytes = k->packed_bytes(&c->ctx, i);
        void  *memory = bytes ? as_arena_take(&arena, bytes, 1, 64) : NULL;
        for (int part = 0; memory && part < n_parts; part++)
            k->pack(&args, i, memory, part, n_parts);
        packed[i] = memory;
    }
    size_t scratch_bytes = k->scratch_bytes ? k->scratch_bytes(&c->ctx, n_parts) : 0;
    void  *scratch = scratch_bytes ? as_arena_take(&arena, scratch_bytes, 1, 64) : NULL;
    for (int part = 0; part < n_parts; part++)
        k->run(&args, part, n_parts, scratch);
    for (int part = 0; k->finish && part < n_parts; part++)
        k->finish(&args, part, n_parts, scratch);
    if (status != ASSAY_OK)
        fail("%s: %s: %s", k->name, c->label, assay_message(env));
    as_arena_drop(&arena);
}

/* Memory of exactly the right size, so that a sanitiser sees an access one byte too far. */
static void outputs_new(const as_conform_case *c, as_view *out)
{
    for (int i = 0; i < c->ctx.n_out; i++) {
        size_t bytes = as_view_bytes(&c->want[i]);
        void  *data = malloc(bytes ? bytes : 1);
        if (!data)
            fail("not enough memory for %zu bytes", bytes);
        out[i] = as_conform_view(data, &c->out_info[i]);
    }
}

static void outputs_free(const as_conform_case *c, as_view *out)
{
    for (int i = 0; i < c->ctx.n_out; i++)
        free(out[i].data);
}

/* Puts output 0 in the memory of input i, for every input that the kernel says it may overwrite. */
static void place_judge(assay_env *env, const as_kernel *k, const as_conform_case *c, const as_view *first, as_view *again)
{
    for (int i = 0; i < c->ctx.n_in && i < 32; i++) {
        const as_tensor_info *x = &c->in_info[i], *y = &c->out_info[0];
        as_view               in[sizeof c->in / sizeof *c->in];
        if (!(k->in_place >> i & 1u) || c->ctx.n_out != 1 || x->dtype != y->dtype || x->layout != y->layout ||
            !as_shape_same(&x->shape, &y->shape))
            continue;
        for (size_t s = 0; s < 2; s++) {
            memcpy(in, c->in, sizeof in);
            memcpy(again[0].data, c->in[i].data, as_view_bytes(&again[0]));
            in[i].data = again[0].data;
            kernel_run(env, k, c, in, shares[s], true, again);
            if (memcmp(first[0].data, again[0].data, as_view_bytes(&first[0])))
                fail("%s: %s: other bits when the output lies where input %d does, in %d parts", k->name, c->label, i, shares[s]);
        }
    }
}

static void kernel_judge(assay_env *env, const as_kernel *k, const as_conform_case *c)
{
    as_view first[AS_MAX_OUT], again[AS_MAX_OUT];
    outputs_new(c, first);
    outputs_new(c, again);
    for (int packs = 1; packs >= (k->packed_bytes ? 0 : 1); packs--)
        for (size_t s = 0; s < (is_short() ? 2 : AS_COUNT(shares)); s++) {
            kernel_run(env, k, c, c->in, shares[s], packs, s ? again : first);
            as_conform_judge(c, s ? again : first, k->name);
            for (int i = 0; s && i < c->ctx.n_out; i++)
                if (memcmp(first[i].data, again[i].data, as_view_bytes(&first[i])))
                    fail("%s: %s: output %d has other bits in %d parts than in one%s", k->name, c->label, i, shares[s],
                         packs ? "" : ", nothing packed");
        }
    place_judge(env, k, c, first, again);
    outputs_free(c, first);
    outputs_free(c, again);
}

static void case_judge(tally *t, assay_env *env, const as_conform_case *c)
{
    unsigned isa = as_isa_cpu();
    for (int i = 0; as_k_table[i]; i++) {
        const as_kernel *k = as_k_table[i];
        char             why[200] = "";
        if (!as_kernel_is_for(k, c->ctx.op->name) || (k->isa & ~isa) || (is_short() && k->isa == AS_ISA_SCALAR))
            continue;
        if (k->accepts(&c->ctx, why, sizeof why)) {
            kernel_judge(env, k, c);
            t->n_ran[i]++;
        } else if (!why[0]) {
            fail("%s: %s: refused without a reason", k->name, c->label);
        }
    }
}

/* Row-major, and NHWC where a kernel accepts it; the reference code takes every layout. */
static void visit(void *arg, assay_env *env, const as_conform_case *c)
{
    as_conform_case other;
    case_judge(arg, env, c);
    for (unsigned which = 1; which <= (AS_CONFORM_X | AS_CONFORM_Y); which++)
        if (as_conform_relayout(c, which, &other)) {
            case_judge(arg, env, &other);
            as_conform_drop(&other);
        }
}

Test(kernel, every_kernel_agrees_with_the_truth_and_with_itself_in_any_number_of_parts)
{
    tally t = {0};
    expect_ok(NULL, assay_env_new(&t.env));
    as_conform_each(t.env, NULL, visit, &t);
    for (int i = 0; as_k_table[i]; i++) /* a kernel that accepts no case is not tested */
        if (!t.n_ran[i] && !(as_k_table[i]->isa & ~as_isa_cpu()) && !(is_short() && as_k_table[i]->isa == AS_ISA_SCALAR))
            fail("%s accepts no case of %s", as_k_table[i]->name, as_k_table[i]->op);
    assay_env_free(t.env);
}

Test(kernel, every_kernel_is_for_an_op_that_exists_and_has_a_name_of_its_own)
{
    for (int i = 0; as_k_table[i]; i++) {
        const as_kernel *k = as_k_table[i];
        if (strcmp(k->op, "*") && !as_op_find(k->op))
            fail("%s is for %s, which is no op", k->name, k->op);
        for (const char *const *also = k->also; also && *also; also++)
            if (!as_op_find(*also))
                fail("%s is also for %s, which is no op", k->name, *also);
        expect(k->accepts && k->run && k->why);
        expect(!k->packed_bytes == !k->pack);
        for (int j = 0; j < i; j++)
            expect(strcmp(k->name, as_k_table[j]->name) != 0);
    }
}

static void device_judge(int n_threads)
{
    assay_env *env;
    int        n_ran = 0, n_refused = 0;
    expect_ok(NULL, assay_env_new(&env));
    as_conform_device(env, "cpu", n_threads, NULL, &n_ran, &n_refused);
    expect(n_ran > 200);
    expect_eq(n_refused, 0); /* the reference code takes what nothing else does */
    assay_env_free(env);
}

Test(kernel, the_cpu_agrees_with_the_truth_on_one_thread) { device_judge(1); }
Test(kernel, the_cpu_agrees_with_the_truth_on_three_threads) { device_judge(3); }
