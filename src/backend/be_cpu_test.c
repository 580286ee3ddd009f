/* be_cpu_test.c - segments on threads: order, spans, failure, packing. tests/conform checks what kernels compute. */
#include <stdlib.h>

#include "backend/backend.h"
#include "backend/cpu/kernel.h"
#include "tests/runner/test.h"

static assay_env *env;

static as_device *cpu_open(int n_threads)
{
    as_device *device = NULL;
    unsetenv("ASSAY_CPU");
    expect_ok(NULL, assay_env_new(&env));
    expect_ok(env, as_device_open(env, "cpu", n_threads, &device));
    return device;
}

static void cpu_close(as_device *device)
{
    as_device_close(device);
    assay_env_free(env);
}

/* --- An op and kernels made for these tests: y = x + 1 on N elements ------------------------------- */

enum { N = 4096, N_STEPS = 6, MAX_THREADS = 4 };

static uint64_t op_flops;

static as_cost cost(const as_node_ctx *n)
{
    (void)n;
    return (as_cost){.flops = op_flops};
}

static assay_status eval(assay_env *e, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)n;
    for (int64_t i = 0; i < as_shape_count(&in[0].shape); i++) {
        if (as_view_get(&in[0], i) >= 1000.0)
            return as_fail(e, ASSAY_NO_MEMORY, "Step '%s': element %lld is too large", n->name, (long long)i);
        as_view_set(&out[0], i, as_view_get(&in[0], i) + 1.0);
    }
    return ASSAY_OK;
}

static const as_op step_op = {
    .name = "test.Step", .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1, .cost = cost, .eval = eval};
static as_tensor_info infos[3] = {
    {.dtype = AS_F32, .shape = {1, {N}}}, {.dtype = AS_F32, .shape = {1, {N}}}, {.dtype = AS_F32, .shape = {1, {N}}}};
static as_node_ctx step_ctx = {.op = &step_op, .name = "s", .in = infos, .n_in = 1, .out = infos, .n_out = 1};

/* Reads what another part wrote in the step before, so that a missing barrier gives a wrong sum. */
static void shifted_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    int64_t begin, end;
    as_share(N, 1, part, n_parts, &begin, &end);
    const float *x = args->in[0].data;
    float       *y = args->out[0].data;
    for (int64_t i = begin; i < end; i++)
        y[i] = x[(i + N / 2) % N] + 1.0f;
    (void)scratch;
}

static size_t packed_bytes(const as_node_ctx *n, int input)
{
    (void)n;
    return input == 1 ? N * sizeof(float) : 0;
}

static void pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    int64_t begin, end;
    as_share(N, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        ((float *)packed)[i] = 2.0f * ((const float *)args->in[input].data)[i];
}

/* y = x + packed, by way of the scratch memory. */
static void packed_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    int64_t begin, end;
    as_share(N, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        ((float *)scratch)[i] = ((const float *)args->in[0].data)[i] + ((const float *)args->packed[1])[i];
    for (int64_t i = begin; i < end; i++)
        ((float *)args->out[0].data)[i] = ((float *)scratch)[i];
}

static const as_kernel shifted = {.name = "shifted", .op = "test.Step", .run = shifted_run};
static const as_kernel packing = {
    .name = "packing", .op = "test.Step", .run = packed_run, .packed_bytes = packed_bytes, .pack = pack};

static const as_kernel *truth(void)
{
    for (const as_kernel *const *k = as_k_table; *k; k++)
        if (!strcmp((*k)->name, "any_reference"))
            return *k;
    fail("the table has no any_reference");
}

/* A chain of N_STEPS steps, buffer i to buffer i + 1, with plan indices from 10. */
typedef struct chain {
    as_device  *device;
    as_mem      mem;
    as_choice   choice[N_STEPS];
    int         ids[N_STEPS + 1];
    as_seg_step steps[N_STEPS];
    as_slot     slots[N_STEPS + 1];
    as_bindings bindings;
    void       *code;
} chain;

static float *chain_data(chain *c, int buffer) { return as_slot_host(&c->bindings, buffer); }

static void chain_new(chain *c, as_device *device, const as_kernel *kernel, uint64_t flops)
{
    *c = (chain){.device = device};
    op_flops = flops;
    for (int i = 0; i <= N_STEPS; i++) {
        c->ids[i] = i;
        c->slots[i] = (as_slot){.offset = (size_t)i * N * sizeof(float), .bytes = N * sizeof(float)};
    }
    for (int i = 0; i < N_STEPS; i++) {
        c->choice[i].kernel = kernel;
        c->steps[i] = (as_seg_step){.ctx = &step_ctx,
                                    .choice = &c->choice[i],
                                    .in = &c->ids[i],
                                    .out = &c->ids[i + 1],
                                    .n_in = 1,
                                    .n_out = 1,
                                    .scratch = -1,
                                    .packed = AS_NOT_PACKED,
                                    .index = 10 + i};
    }
    expect_ok(env, as_device_alloc(env, device, (N_STEPS + 1) * N * sizeof(float), &c->mem));
    expect_ok(env, device->backend->compile(env, device, &(as_segment){c->steps, N_STEPS}, &c->code));
    c->bindings = (as_bindings){.base = &c->mem, .slots = c->slots, .n_slots = N_STEPS + 1};
}

static void chain_free(chain *c)
{
    c->device->backend->discard(c->device, c->code);
    as_device_drop(c->device, &c->mem);
}

static void rings_new(as_ring *rings, int n)
{
    for (int i = 0; i < n; i++) {
        rings[i] = (as_ring){.spans = calloc(64, sizeof(as_span)), .capacity = 64, .run = 5, .thread = (uint16_t)i};
        expect(rings[i].spans != NULL);
    }
}

static void rings_free(as_ring *rings, int n)
{
    for (int i = 0; i < n; i++)
        free(rings[i].spans);
}

/* --- Opening ---------------------------------------------------------------------------------------- */

Test(be_cpu, describes_itself)
{
    as_device *device = cpu_open(2);
    expect_str(device->name, "cpu");
    expect_has(device->text, ", 2 threads");
    expect(device->host_memory);
    expect_eq(device->n_threads, 2);
    expect_eq(device->align, 64);
    cpu_close(device);
}

Test(be_cpu, refuses_what_follows_its_name)
{
    as_device *device = NULL;
    expect_ok(NULL, assay_env_new(&env));
    expect_fails(env, as_device_open(env, "cpu:0", 1, &device), ASSAY_BAD_INPUT,
                 "device 'cpu:0': cpu takes nothing after its name");
    expect_fails(env, as_device_open(env, "cpu", 100000, &device), ASSAY_BAD_INPUT, "100000 threads");
    expect(device == NULL);
    assay_env_free(env);
}

Test(be_cpu, reads_the_mask_when_it_opens)
{
    as_device *device = NULL;
    expect_ok(NULL, assay_env_new(&env));
    setenv("ASSAY_CPU", "-sse9", 1);
    expect_fails(env, as_device_open(env, "cpu", 1, &device), ASSAY_BAD_INPUT, "ASSAY_CPU is '-sse9'");
    setenv("ASSAY_CPU", "-avx2,-avx512,-neon,-f16c,-vnni,-dotprod", 1);
    expect_ok(env, as_device_open(env, "cpu", 1, &device));
    unsetenv("ASSAY_CPU");
    expect_has(device->text, ", scalar, 1 thread");
    cpu_close(device);
}

/* --- Memory ----------------------------------------------------------------------------------------- */

Test(be_cpu, memory_is_aligned_zeroed_and_the_hosts_own)
{
    as_device *device = cpu_open(1);
    as_mem     mem = {0};
    char       back[5] = "";
    expect_ok(env, as_device_alloc(env, device, 1000, &mem));
    expect_eq((uintptr_t)mem.host % 64, 0);
    for (int i = 0; i < 1000; i++)
        expect_eq(((char *)mem.host)[i], 0);
    expect_ok(env, device->backend->put(AS_RUN(env), device, &mem, 995, "abcd", 5));
    expect_str((char *)mem.host + 995, "abcd");
    expect_ok(env, device->backend->get(AS_RUN(env), device, &mem, 995, back, 5));
    expect_str(back, "abcd");
    expect_ok(env, device->backend->put(AS_RUN(env), device, &mem, 1000, NULL, 0));
    as_device_drop(device, &mem);
    cpu_close(device);
}

Test(be_cpu, a_transfer_beyond_the_allocation_is_refused)
{
    as_device *device = cpu_open(1);
    as_mem     mem = {0};
    char       byte = 0;
    expect_ok(env, as_device_alloc(env, device, 10, &mem));
    expect_fails(env, device->backend->put(AS_RUN(env), device, &mem, 10, &byte, 1), ASSAY_INTERNAL,
                 "cpu: put of 1 bytes at 10 does not fit an allocation of 10");
    expect_fails(env, device->backend->get(AS_RUN(env), device, &mem, 11, &byte, SIZE_MAX), ASSAY_INTERNAL, "cpu: get of");
    as_device_drop(device, &mem);
    cpu_close(device);
}

/* --- Choice ----------------------------------------------------------------------------------------- */

Test(be_cpu, takes_the_f32_kernel_for_f32_and_the_truth_for_f64)
{
    as_device     *device = cpu_open(1);
    as_arena       arena = {0};
    as_choice      c = {0};
    as_node_ctx    n = step_ctx;
    as_tensor_info wide = infos[0];
    n.op = as_op_find("Relu");
    expect_ok(env, device->backend->choose(env, device, &n, &arena, &c));
    expect(strcmp(c.name, "any_reference") != 0);
    bool truth_said = false; /* which other kernels come before it depends on the CPU */
    for (int i = 0; i < c.n_refused; i++)
        truth_said |= strstr(c.refused[i].why, "rank 0 is below") != NULL;
    expect(truth_said);
    wide.dtype = AS_F64;
    n.in = n.out = &wide;
    expect_ok(env, device->backend->choose(env, device, &n, &arena, &c));
    expect_str(c.name, "any_reference");
    bool said = false;
    for (int i = 0; i < c.n_refused; i++)
        said |= !strcmp(c.refused[i].kernel, "relu_f32_scalar") && !strcmp(c.refused[i].why, "refused: input 0 is f64, needs f32");
    expect(said);
    as_arena_drop(&arena);
    cpu_close(device);
}

/* --- Segments --------------------------------------------------------------------------------------- */

static void chain_judge(chain *c, float start)
{
    for (int i = 0; i < N; i++)
        chain_data(c, 0)[i] = start + (float)(i % 2);
    expect_ok(env, c->device->backend->execute(AS_RUN(env), c->device, c->code, &c->bindings));
    for (int i = 0; i < N; i++)
        expect_near(chain_data(c, N_STEPS)[i], start + (float)(i % 2) + N_STEPS, 0);
}

Test(be_cpu, steps_wait_for_the_steps_before_them)
{
    for (int n_threads = 1; n_threads <= MAX_THREADS; n_threads++) {
        as_device *device = cpu_open(n_threads);
        chain      c;
        chain_new(&c, device, &shifted, 1000000);
        for (int again = 0; again < 20; again++)
            chain_judge(&c, (float)again);
        chain_free(&c);
        cpu_close(device);
    }
}

Test(be_cpu, code_is_shared_by_instances)
{
    as_device *device = cpu_open(2);
    chain      a, b;
    chain_new(&a, device, &shifted, 1000000);
    chain_new(&b, device, &shifted, 1000000);
    void *code = b.code;
    b.code = a.code;
    chain_judge(&a, 1.0f);
    chain_judge(&b, 50.0f);
    expect_near(chain_data(&a, N_STEPS)[0], 1.0f + N_STEPS, 0);
    b.code = code;
    chain_free(&a);
    chain_free(&b);
    cpu_close(device);
}

Test(be_cpu, operands_outside_of_the_allocation_are_used_in_place)
{
    as_device *device = cpu_open(1);
    chain      c;
    float     *outside = malloc(N * sizeof(float));
    expect(outside != NULL);
    for (int i = 0; i < N; i++)
        outside[i] = 100.0f;
    chain_new(&c, device, &shifted, 0);
    c.slots[0].outside = outside;
    expect_ok(env, device->backend->execute(AS_RUN(env), device, c.code, &c.bindings));
    expect_near(chain_data(&c, N_STEPS)[7], 100.0f + N_STEPS, 0);
    chain_free(&c);
    free(outside);
    cpu_close(device);
}

Test(be_cpu, execution_allocates_nothing)
{
    if (as_test_n_allocs() == SIZE_MAX)
        skip("this linker cannot count allocations");
    as_device  *device = cpu_open(3);
    chain       c;
    as_ring     rings[3];
    as_recorder recorder = {.rings = rings, .n_rings = 3, .detail = AS_DETAIL_PART};
    rings_new(rings, 3);
    chain_new(&c, device, &shifted, 1000000);
    size_t before = as_test_n_allocs();
    for (int i = 0; i < 5; i++)
        expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, c.code, &c.bindings));
    expect_eq(as_test_n_allocs(), before);
    expect_eq(device->n_allocs, 1);
    chain_free(&c);
    rings_free(rings, 3);
    cpu_close(device);
}

/* --- Spans ------------------------------------------------------------------------------------------ */

Test(be_cpu, steps_are_recorded_in_order_and_parts_inside_them)
{
    as_device  *device = cpu_open(3);
    chain       c;
    as_ring     rings[3];
    as_recorder recorder = {.rings = rings, .n_rings = 3, .detail = AS_DETAIL_PART};
    rings_new(rings, 3);
    chain_new(&c, device, &shifted, 1000000);
    as_clock_open_monotonic(&env->clock); /* one time for all threads */
    expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, c.code, &c.bindings));
    expect_eq(rings[0].used, 2 * N_STEPS);
    expect_eq(rings[1].used, N_STEPS);
    expect_eq(rings[2].used, N_STEPS);
    for (int i = 0; i < N_STEPS; i++) {
        const as_span *part = &rings[0].spans[2 * i], *step = &rings[0].spans[2 * i + 1];
        expect_eq(part->kind, AS_SPAN_PART);
        expect_eq(step->kind, AS_SPAN_STEP);
        expect_eq(step->step, 10 + i);
        expect_eq(step->run, 5);
        expect(part->begin_ticks >= step->begin_ticks && part->end_ticks <= step->end_ticks);
        expect(!i || step->begin_ticks >= rings[0].spans[2 * i - 1].end_ticks);
        for (int t = 1; t < 3; t++) {
            expect_eq(rings[t].spans[i].kind, AS_SPAN_PART);
            expect_eq(rings[t].spans[i].step, 10 + i);
            expect_eq(rings[t].spans[i].thread, t);
            expect(rings[t].spans[i].end_ticks <= step->end_ticks); /* nobody works after the barrier */
        }
    }
    chain_free(&c);
    rings_free(rings, 3);
    cpu_close(device);
}

Test(be_cpu, only_the_detail_asked_for_is_recorded)
{
    static const struct {
        as_detail detail;
        int       n_first, n_second;
    } want[] = {
        {AS_DETAIL_RUN, 0, 0},
        {AS_DETAIL_SEGMENT, 0, 0},
        {AS_DETAIL_STEP, N_STEPS, 0},
        {AS_DETAIL_PART, 2 * N_STEPS, N_STEPS},
    };
    as_device *device = cpu_open(2);
    chain      c;
    chain_new(&c, device, &shifted, 1000000);
    for (size_t i = 0; i < AS_COUNT(want); i++) {
        as_ring rings[2];
        rings_new(rings, 2);
        as_recorder recorder = {.rings = rings, .n_rings = 2, .detail = want[i].detail}, blind = {.detail = AS_DETAIL_PART};
        expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, c.code, &c.bindings));
        expect_eq(rings[0].used, want[i].n_first);
        expect_eq(rings[1].used, want[i].n_second);
        expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &blind), device, c.code, &c.bindings));
        rings_free(rings, 2);
    }
    chain_free(&c);
    cpu_close(device);
}

Test(be_cpu, a_small_segment_stays_in_the_caller)
{
    static const struct {
        uint64_t flops;
        int      n_second;
    } want[] = {{1000000 / N_STEPS, 0}, {1000000 / N_STEPS + 1, N_STEPS}};
    as_device *device = cpu_open(2);
    for (size_t i = 0; i < AS_COUNT(want); i++) {
        chain   c;
        as_ring rings[2];
        rings_new(rings, 2);
        as_recorder recorder = {.rings = rings, .n_rings = 2, .detail = AS_DETAIL_PART};
        chain_new(&c, device, &shifted, want[i].flops);
        chain_judge(&c, 3.0f); /* the same either way */
        expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, c.code, &c.bindings));
        expect_eq(rings[0].used, 2 * N_STEPS);
        expect_eq(rings[1].used, want[i].n_second);
        chain_free(&c);
        rings_free(rings, 2);
    }
    cpu_close(device);
}

/* --- Failure ---------------------------------------------------------------------------------------- */

static int64_t one_share(const as_node_ctx *n) { return n ? 1 : 0; }

Test(be_cpu, work_that_cannot_be_shared_stays_in_the_caller_however_much_it_is)
{
    static const as_kernel whole = {.name = "whole", .op = "test.Step", .run = shifted_run, .shares = one_share};
    as_device             *device = cpu_open(2);
    chain                  c;
    chain_new(&c, device, &whole, 100000000);
    expect_ok(env, device->backend->execute(AS_RUN(env), device, c.code, &c.bindings));
    expect_eq(device->backend->waits(device).n_barriers, 0);
    chain_free(&c);
    chain_new(&c, device, &shifted, 100000000);
    expect_ok(env, device->backend->execute(AS_RUN(env), device, c.code, &c.bindings));
    expect(device->backend->waits(device).n_barriers > 0);
    chain_free(&c);
    cpu_close(device);
}

Test(be_cpu, a_failing_truth_ends_the_segment_and_keeps_its_sentence)
{
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        as_device *device = cpu_open(n_threads);
        chain      c;
        chain_new(&c, device, truth(), 1000000);
        for (int again = 0; again < 50; again++) {
            memset(c.mem.host, 0, c.mem.bytes);
            chain_data(&c, 0)[1] = 997.0f; /* becomes 1000 before the fourth step */
            expect_fails(env, device->backend->execute(AS_RUN(env), device, c.code, &c.bindings), ASSAY_NO_MEMORY,
                         "Step 's': element 1 is too large");
            expect_near(chain_data(&c, 3)[N - 1], 3.0f, 0);
            expect_near(chain_data(&c, 5)[0], 0.0f, 0); /* not run */
        }
        chain_data(&c, 0)[1] = 0.0f;
        expect_ok(env, device->backend->execute(AS_RUN(env), device, c.code, &c.bindings));
        chain_free(&c);
        cpu_close(device);
    }
}

Test(be_cpu, a_cancelled_segment_stops_between_steps)
{
    as_device *device = cpu_open(2);
    chain      c;
    chain_new(&c, device, &shifted, 1000000);
    assay_cancel(env);
    expect_fails(env, device->backend->execute(AS_RUN(env), device, c.code, &c.bindings), ASSAY_CANCELLED,
                 "cpu: cancelled after step 10");
    expect_near(chain_data(&c, 1)[0], 1.0f, 0);
    expect_near(chain_data(&c, 2)[0], 0.0f, 0);
    chain_free(&c);
    cpu_close(device);
}

Test(be_cpu, a_step_without_a_kernel_or_with_nothing_to_pack_is_not_compiled)
{
    as_device *device = cpu_open(1);
    chain      c;
    void      *code = NULL;
    chain_new(&c, device, &shifted, 0);
    as_segment one = {&c.steps[2], 1};
    c.steps[2].pack = true;
    expect_fails(env, device->backend->compile(env, device, &one, &code), ASSAY_INTERNAL,
                 "step 12 cannot pack input 0 of test.Step 's' for shifted");
    c.choice[2].kernel = NULL;
    expect_fails(env, device->backend->compile(env, device, &one, &code), ASSAY_INTERNAL,
                 "cpu: step 12, test.Step 's', has no kernel");
    expect(code == NULL);
    device->backend->discard(device, NULL);
    chain_free(&c);
    cpu_close(device);
}

/* --- Packing, scratch, constants, layouts ------------------------------------------------------------ */

Test(be_cpu, a_pack_step_packs_and_the_kernel_finds_it_with_its_scratch)
{
    as_device  *device = cpu_open(2);
    as_node_ctx n = step_ctx;
    as_choice   choice = {.kernel = &packing};
    int         in[2] = {0, 1}, out[1] = {2};
    as_slot     slots[5];
    as_mem      mem = {0};
    void       *code = NULL;
    n.n_in = 2;
    op_flops = 1000000;
    for (int i = 0; i < 5; i++)
        slots[i] = (as_slot){.offset = (size_t)i * N * sizeof(float), .bytes = N * sizeof(float)};
    as_seg_step run = {
        .ctx = &n, .choice = &choice, .in = in, .out = out, .n_in = 2, .n_out = 1, .scratch = 4, .packed = AS_NOT_PACKED};
    run.packed[1] = 3;
    as_seg_step steps[2] = {run, run};
    steps[0].pack = true;
    steps[0].pack_input = 1;
    expect_ok(env, as_device_alloc(env, device, 5 * N * sizeof(float), &mem));
    expect_ok(env, device->backend->compile(env, device, &(as_segment){steps, 2}, &code));
    float *data = mem.host;
    for (int i = 0; i < N; i++) {
        data[i] = 1.0f;
        data[N + i] = (float)i;
    }
    expect_ok(env, device->backend->execute(AS_RUN(env), device, code, &(as_bindings){&mem, slots, 5}));
    for (int i = 0; i < N; i++)
        expect_near(data[2 * N + i], 1.0f + 2.0f * (float)i, 0);
    device->backend->discard(device, code);
    as_device_drop(device, &mem);
    cpu_close(device);
}

Test(be_cpu, a_constant_without_a_buffer_is_read_where_the_node_has_it)
{
    as_device     *device = cpu_open(1);
    float          values[4] = {5, 6, 7, 8}, result[4] = {0};
    as_tensor_info x = {.dtype = AS_F32, .shape = AS_SHAPE(4), .constant = values}, y = {.dtype = AS_F32, .shape = AS_SHAPE(4)};
    as_node_ctx    n = {.op = &step_op, .name = "c", .in = &x, .n_in = 1, .out = &y, .n_out = 1};
    as_choice      choice = {.kernel = truth()};
    as_slot        slot = {.outside = result, .bytes = sizeof result};
    int            absent = -1, first = 0;
    as_mem         none = {0};
    void          *code = NULL;
    as_seg_step    step = {
           .ctx = &n, .choice = &choice, .in = &absent, .out = &first, .n_in = 1, .n_out = 1, .scratch = -1, .packed = AS_NOT_PACKED};
    expect_ok(env, device->backend->compile(env, device, &(as_segment){&step, 1}, &code));
    expect_ok(env, device->backend->execute(AS_RUN(env), device, code, &(as_bindings){&none, &slot, 1}));
    expect_near(result[3], 9.0f, 0);
    device->backend->discard(device, code);
    cpu_close(device);
}

Test(be_cpu, the_truth_reads_channels_that_come_last)
{
    as_device     *device = cpu_open(1);
    float          data[12], result[12] = {0};
    as_tensor_info x = {.dtype = AS_F32, .shape = AS_SHAPE(1, 3, 2, 2), .layout = AS_LAYOUT_NHWC},
                   y = {.dtype = AS_F32, .shape = x.shape};
    as_node_ctx n = {.op = &step_op, .name = "c", .in = &x, .n_in = 1, .out = &y, .n_out = 1};
    as_choice   choice = {.kernel = truth()};
    as_slot     slots[2] = {{.outside = data}, {.outside = result}};
    int         ids[2] = {0, 1};
    as_mem      none = {0};
    void       *code = NULL;
    as_seg_step step = {
        .ctx = &n, .choice = &choice, .in = &ids[0], .out = &ids[1], .n_in = 1, .n_out = 1, .scratch = -1, .packed = AS_NOT_PACKED};
    for (int i = 0; i < 12; i++)
        data[i] = (float)i; /* pixel i / 3, channel i % 3 */
    expect_ok(env, device->backend->compile(env, device, &(as_segment){&step, 1}, &code));
    expect_ok(env, device->backend->execute(AS_RUN(env), device, code, &(as_bindings){&none, slots, 2}));
    for (int c = 0; c < 3; c++)
        for (int p = 0; p < 4; p++)
            expect_near(result[c * 4 + p], 3 * p + c + 1, 0);
    device->backend->discard(device, code);
    cpu_close(device);
}
