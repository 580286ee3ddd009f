/* be_null_test.c */
#include "backend/backend.h"

#include <stdlib.h>

#include "tests/runner/test.h"

static assay_env *env;

static as_device *null_open(const char *spec)
{
    as_device *device = NULL;
    expect_ok(NULL, assay_env_new(&env));
    as_clock_open_fake(&env->clock, 0);
    expect_ok(env, as_device_open(env, spec, 4, &device));
    return device;
}

static void null_close(as_device *device)
{
    as_device_close(device);
    assay_env_free(env);
}

static as_tensor_info info = {.dtype = AS_F32, .shape = {1, {4}}};

typedef struct step {
    as_node_ctx ctx;
    as_choice   choice;
    int         id;
    as_seg_step seg;
} step;

static void step_make(as_device *device, const char *op, int index, as_arena *arena, step *s)
{
    s->ctx = (as_node_ctx){.op = as_op_find(op), .name = op, .in = &info, .n_in = 1, .out = &info, .n_out = 1};
    expect(s->ctx.op != NULL);
    expect_ok(env, device->backend->choose(env, device, &s->ctx, arena, &s->choice));
    expect(s->choice.kernel != NULL);
    s->id = 0;
    s->seg = (as_seg_step){.ctx = &s->ctx,
                           .choice = &s->choice,
                           .in = &s->id,
                           .out = &s->id,
                           .n_in = 1,
                           .n_out = 1,
                           .scratch = -1,
                           .packed = AS_NOT_PACKED,
                           .index = index};
}

/* How long one op takes on the clock, in ns. */
static uint64_t op_ns(as_device *device, const char *op)
{
    as_arena arena = {0};
    step     s;
    void    *code = NULL;
    as_mem   mem = {0};
    as_slot  slot = {.bytes = 16};
    step_make(device, op, 0, &arena, &s);
    expect_ok(env, as_device_alloc(env, device, 16, &mem));
    expect_ok(env, device->backend->compile(env, device, &(as_segment){&s.seg, 1}, &code));
    uint64_t begin = as_clock_now(&env->clock);
    expect_ok(env, device->backend->execute(AS_RUN(env), device, code, &(as_bindings){&mem, &slot, 1}));
    uint64_t end = as_clock_now(&env->clock);
    device->backend->discard(device, code);
    as_device_drop(device, &mem);
    as_arena_drop(&arena);
    return end - begin;
}

Test(be_null, tells_its_time_and_leaves_the_clock_of_who_opened_it)
{
    as_device *device = NULL;
    expect_ok(NULL, assay_env_new(&env));
    expect_ok(env, as_device_open(env, "null", 1, &device));
    expect(env->clock.kind != AS_CLOCK_FAKE);
    expect(device->tells_time);
    expect_str(device->name, "null");
    expect(!device->host_memory);
    expect_eq(device->n_threads, 1);
    null_close(device);
}

Test(be_null, moves_the_clock_of_the_run_and_no_other)
{
    as_device *device = null_open("null:put=3us");
    as_mem     mem;
    as_clock   mine, other;
    as_clock_open_fake(&mine, 777);
    as_clock_open_fake(&other, 5);
    expect_ok(env, as_device_alloc(env, device, 8, &mem));
    as_run_ctx run = {.env = env, .clock = &mine, .cancel = &env->cancel};
    expect_ok(env, device->backend->put(&run, device, &mem, 0, "abc", 4));
    run.clock = &other;
    expect_ok(env, device->backend->put(&run, device, &mem, 0, "abc", 4));
    expect_ok(env, device->backend->put(&run, device, &mem, 0, "abc", 4));
    expect_eq(as_clock_now(&mine), 3777);
    expect_eq(as_clock_now(&other), 6005);
    expect_eq(as_clock_now(&env->clock), 0);
    as_device_drop(device, &mem);
    null_close(device);
}

Test(be_null, takes_exactly_as_long_as_it_is_told)
{
    as_device *device = null_open("null:gemm=5us,ReLU=250ns,assay.convgradw=1.5ms,maxpoolgrad=7ns,*=2us");
    expect_eq(op_ns(device, "Gemm"), 5000);
    expect_eq(op_ns(device, "Relu"), 250);
    expect_eq(op_ns(device, "assay.ConvGradW"), 1500000);
    expect_eq(op_ns(device, "assay.MaxPoolGrad"), 7);
    expect_eq(op_ns(device, "Tanh"), 2000);
    expect_str(device->name, "null:gemm=5us,ReLU=250ns,assay.convgradw=1.5ms,maxpoolgrad=7ns,*=2us");
    null_close(device);
    device = null_open("null:gemm=0ns");
    expect_eq(op_ns(device, "Gemm"), 0);
    expect_eq(op_ns(device, "Tanh"), 1000); /* the default */
    null_close(device);
}

Test(be_null, transfers_take_the_time_of_put_and_get_and_copy)
{
    as_device *device = null_open("null:put=2us,get=1us");
    as_mem     mem = {0};
    char       back[4] = "";
    expect_ok(env, as_device_alloc(env, device, 8, &mem));
    expect(mem.host == NULL);
    expect_ok(env, device->backend->put(AS_RUN(env), device, &mem, 4, "abc", 4));
    expect_eq(as_clock_now(&env->clock), 2000);
    expect_ok(env, device->backend->get(AS_RUN(env), device, &mem, 4, back, 4));
    expect_eq(as_clock_now(&env->clock), 3000);
    expect_str(back, "abc");
    expect_fails(env, device->backend->put(AS_RUN(env), device, &mem, 5, "abc", 4), ASSAY_INTERNAL,
                 "null: put of 4 bytes at 5 does not fit an allocation of 8");
    expect_fails(env, device->backend->get(AS_RUN(env), device, &mem, 9, back, 0), ASSAY_INTERNAL, "null: get of 0 bytes at 9");
    expect_eq(as_clock_now(&env->clock), 3000);
    as_device_drop(device, &mem);
    null_close(device);
    device = null_open("null");
    expect_ok(env, as_device_alloc(env, device, 4, &mem));
    expect_ok(env, device->backend->put(AS_RUN(env), device, &mem, 0, "abc", 4));
    expect_eq(as_clock_now(&env->clock), 0); /* nothing by default */
    as_device_drop(device, &mem);
    null_close(device);
}

Test(be_null, outputs_are_zeros_and_spans_exact)
{
    as_device  *device = null_open("null:relu=3us,tanh=4us");
    as_arena    arena = {0};
    step        a, b;
    void       *code = NULL;
    as_mem      mem = {0};
    as_slot     slot = {.offset = 16, .bytes = 16};
    as_span     spans[8] = {0};
    as_ring     ring = {.spans = spans, .capacity = 8};
    as_recorder recorder = {.rings = &ring, .n_rings = 1, .detail = AS_DETAIL_PART};
    char        image[48];
    step_make(device, "Relu", 4, &arena, &a);
    step_make(device, "Tanh", 5, &arena, &b);
    expect_str(a.choice.why, "takes 3000 ns, as given for this op");
    as_seg_step steps[2] = {a.seg, b.seg};
    expect_ok(env, as_device_alloc(env, device, 48, &mem));
    memset(image, 7, sizeof image);
    expect_ok(env, device->backend->put(AS_RUN(env), device, &mem, 0, image, 48));
    expect_ok(env, device->backend->compile(env, device, &(as_segment){steps, 2}, &code));
    expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, code, &(as_bindings){&mem, &slot, 1}));
    expect_ok(env, device->backend->get(AS_RUN(env), device, &mem, 0, image, 48));
    for (int i = 0; i < 48; i++)
        expect_eq(image[i], i < 16 || i >= 32 ? 7 : 0);
    expect_eq(ring.used, 4);
    expect_eq(spans[0].kind, AS_SPAN_PART);
    expect_eq(spans[1].kind, AS_SPAN_STEP);
    expect_eq(spans[1].step, 4);
    expect_eq(spans[1].begin_ticks, 0);
    expect_eq(spans[1].end_ticks, 3000);
    expect_eq(spans[3].step, 5);
    expect_eq(spans[3].begin_ticks, 3000);
    expect_eq(spans[3].end_ticks, 7000);
    recorder.detail = AS_DETAIL_SEGMENT;
    expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, code, &(as_bindings){&mem, &slot, 1}));
    expect_eq(ring.used, 4);
    assay_cancel(env);
    expect_fails(env, device->backend->execute(AS_RUN(env), device, code, &(as_bindings){&mem, &slot, 1}), ASSAY_CANCELLED,
                 "null: cancelled after step 4");
    device->backend->discard(device, code);
    as_device_drop(device, &mem);
    as_arena_drop(&arena);
    null_close(device);
}

Test(be_null, host_memory_and_buffers_that_do_not_fit_are_out_of_reach)
{
    as_device *device = null_open("null");
    as_arena   arena = {0};
    step       s;
    void      *code = NULL;
    as_mem     mem = {0};
    char       host[16];
    step_make(device, "Relu", 9, &arena, &s);
    expect_ok(env, as_device_alloc(env, device, 16, &mem));
    expect_ok(env, device->backend->compile(env, device, &(as_segment){&s.seg, 1}, &code));
    expect_fails(
        env, device->backend->execute(AS_RUN(env), device, code, &(as_bindings){&mem, &(as_slot){.outside = host, .bytes = 16}, 1}),
        ASSAY_INTERNAL, "null: output 0 of step 9 is in host memory");
    expect_fails(env,
                 device->backend->execute(AS_RUN(env), device, code, &(as_bindings){&mem, &(as_slot){.offset = 8, .bytes = 16}, 1}),
                 ASSAY_INTERNAL, "null: output of 16 bytes at 8 does not fit");
    device->backend->discard(device, code);
    code = NULL;
    s.seg.pack = true;
    expect_fails(env, device->backend->compile(env, device, &(as_segment){&s.seg, 1}, &code), ASSAY_INTERNAL, "null: step 9 packs");
    s.seg.pack = false;
    s.choice.kernel = NULL;
    expect_fails(env, device->backend->compile(env, device, &(as_segment){&s.seg, 1}, &code), ASSAY_INTERNAL,
                 "null: step 9 has no kernel");
    device->backend->discard(device, NULL);
    as_device_drop(device, &mem);
    as_arena_drop(&arena);
    null_close(device);
}

Test(be_null, accepts_every_op_but_not_one_that_is_none)
{
    as_device         *device = null_open("null");
    as_arena           arena = {0};
    static const as_op stranger = {.name = "Stranger"};
    as_choice          c = {0};
    for (const as_op *const *op = as_op_table; *op; op++) {
        expect_ok(env, device->backend->choose(env, device, &(as_node_ctx){.op = *op}, &arena, &c));
        expect(c.kernel != NULL);
        expect_str(c.why, "takes 1000 ns, the default");
    }
    expect_ok(env, device->backend->choose(env, device, &(as_node_ctx){.op = &stranger}, &arena, &c));
    expect(c.kernel == NULL);
    expect_str(c.why, "the op is not in the table of ops");
    as_arena_drop(&arena);
    null_close(device);
}

Test(be_null, execution_allocates_nothing)
{
    if (as_test_n_allocs() == SIZE_MAX)
        skip("this linker cannot count allocations");
    as_device *device = null_open("null");
    as_arena   arena = {0};
    step       s;
    void      *code = NULL;
    as_mem     mem = {0};
    as_slot    slot = {.bytes = 16};
    step_make(device, "Relu", 0, &arena, &s);
    expect_ok(env, as_device_alloc(env, device, 16, &mem));
    expect_ok(env, device->backend->compile(env, device, &(as_segment){&s.seg, 1}, &code));
    size_t before = as_test_n_allocs();
    expect_ok(env, device->backend->execute(AS_RUN(env), device, code, &(as_bindings){&mem, &slot, 1}));
    expect_eq(as_test_n_allocs(), before);
    device->backend->discard(device, code);
    as_device_drop(device, &mem);
    as_arena_drop(&arena);
    null_close(device);
}

Test(be_null, a_spec_that_cannot_be_read_is_a_sentence_and_leaves_the_clock)
{
    static const struct {
        const char *spec, *part;
    } bad[] = {
        {"null:gem=5us", "device 'null:gem=5us': unknown op 'gem'; did you mean 'gemm'?"},
        {"null:CONVGRADZ=5us", "did you mean 'convgrad"},
        {"null:quantum=5us", "unknown op 'quantum'; known: the names of ops, put, get and *"},
        {"null:gemm=5", "the time of 'gemm' is '5', not a duration such as 250ns"},
        {"null:gemm=-5us", "the time of 'gemm' is '-5us'"},
        {"null:gemm=", "the time of 'gemm' is ''"},
        {"null:gemm", "'gemm' is not OP=TIME"},
        {"null:=5us", "'=5us' is not OP=TIME"},
        {"null:", "'' is not OP=TIME"},
        {"null:gemm=5us,", "'' is not OP=TIME"},
        {"null:gemm=5us,Gemm=6us", "the time of 'Gemm' is given twice"},
        {"null:put=1us,put=1us", "the time of 'put' is given twice"},
        {"null:*=1us,*=1us", "the time of '*' is given twice"},
        {"null:get=1us,GET=1us", "the time of 'GET' is given twice"},
    };
    expect_ok(NULL, assay_env_new(&env));
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        as_device *device = NULL;
        expect_fails(env, as_device_open(env, bad[i].spec, 1, &device), ASSAY_BAD_INPUT, bad[i].part);
        expect(device == NULL);
    }
    expect(env->clock.kind != AS_CLOCK_FAKE);
    assay_env_free(env);
}
