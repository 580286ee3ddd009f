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
 * show. Without `packs` it gets no packed inputs, as when a weight changes in every run. A kernel that reads only the packed form
 * gets other bytes in the place of the weights themselves. */
static void kernel_run(assay_env *env, const as_kernel *k, const as_conform_case *c, const as_view *in, int n_parts, bool packs,
                       as_view *out)
{
    as_arena       arena = {0};
    assay_status   status = ASSAY_OK;
    const void    *packed[AS_MAX_IN] = {0};
    as_view        seen[AS_MAX_IN];
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
    memcpy(seen, in, sizeof seen);
    for (int i = 0; k->packed_alone && i < c->ctx.n_in; i++)
        if (packed[i]) {
            seen[i].data = as_arena_take(&arena, as_view_bytes(&in[i]) + 1, 1, 64);
            expect(seen[i].data != NULL);
            memset(seen[i].data, 0xA5, as_view_bytes(&in[i]));
        }
    args.in = seen;
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

static bool is_alike(const as_tensor_info *x, const as_tensor_info *y)
{
    return x->dtype == y->dtype && x->layout == y->layout && as_shape_same(&x->shape, &y->shape);
}

/* Runs with some outputs in the memory of inputs: over[k] is the input whose memory output k takes, -1: none. */
static void place_run(assay_env *env, const as_kernel *k, const as_conform_case *c, const int *over, const as_view *first,
                      as_view *again)
{
    for (size_t s = 0; s < 2; s++) {
        as_view in[sizeof c->in / sizeof *c->in];
        memcpy(in, c->in, sizeof in);
        for (int o = 0; o < c->ctx.n_out; o++) {
            memset(again[o].data, 0xA5, as_view_bytes(&again[o]));
            if (over[o] < 0)
                continue;
            memcpy(again[o].data, c->in[over[o]].data, as_view_bytes(&again[o]));
            in[over[o]].data = again[o].data;
        }
        kernel_run(env, k, c, in, shares[s], true, again);
        for (int o = 0; o < c->ctx.n_out; o++)
            if (memcmp(first[o].data, again[o].data, as_view_bytes(&first[o])))
                fail("%s: %s: output %d has other bits when output 0 lies where input %d does, in %d parts", k->name, c->label, o,
                     over[0], shares[s]);
    }
}

/* Puts the only output in the memory of input i, for every input that the kernel says it may overwrite; and all outputs at once over
 * the inputs that it names for them. */
static void place_judge(assay_env *env, const as_kernel *k, const as_conform_case *c, const as_view *first, as_view *again)
{
    int over[AS_MAX_OUT], n_over = 0;
    for (int i = 0; i < c->ctx.n_in && i < 32; i++)
        if ((k->in_place >> i & 1u) && c->ctx.n_out == 1 && is_alike(&c->in_info[i], &c->out_info[0]))
            place_run(env, k, c, &i, first, again);
    for (int o = 0; o < c->ctx.n_out; o++) {
        int i = o < AS_N_IN_PLACE ? k->in_place_of[o] - 1 : -1;
        over[o] = i >= 0 && i < c->ctx.n_in && is_alike(&c->in_info[i], &c->out_info[o]) ? i : -1;
        n_over += over[o] >= 0;
    }
    if (n_over)
        place_run(env, k, c, over, first, again);
}

static void kernel_judge(assay_env *env, const as_kernel *k, const as_conform_case *c)
{
    as_view first[AS_MAX_OUT], again[AS_MAX_OUT], packed[AS_MAX_OUT];
    outputs_new(c, first);
    outputs_new(c, again);
    outputs_new(c, packed);
    for (int packs = 1; packs >= (k->packed_bytes ? 0 : 1); packs--)
        for (size_t s = 0; s < (is_short() ? 2 : AS_COUNT(shares)); s++) {
            kernel_run(env, k, c, c->in, shares[s], packs, s ? again : first);
            as_conform_judge(c, s ? again : first, k->name);
            for (int i = 0; s && i < c->ctx.n_out; i++)
                if (memcmp(first[i].data, again[i].data, as_view_bytes(&first[i])))
                    fail("%s: %s: output %d has other bits in %d parts than in one%s", k->name, c->label, i, shares[s],
                         packs ? "" : ", nothing packed");
        }
    if (k->reads_in_place) { /* which of both ways a plan takes must not show */
        kernel_run(env, k, c, c->in, 1, true, packed);
        for (int i = 0; i < c->ctx.n_out; i++)
            if (memcmp(first[i].data, packed[i].data, as_view_bytes(&first[i])))
                fail("%s: %s: output %d has other bits with packed weights than without", k->name, c->label, i);
    }
    place_judge(env, k, c, first, again);
    outputs_free(c, packed);
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
    for (unsigned which = 1; which <= AS_CONFORM_ALL; which++)
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
