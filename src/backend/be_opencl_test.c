/* Uses only the device's table: the back end may be left out of the build, and then all of this is skipped. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "tests/runner/test.h"

static assay_env *env;
static as_device *device;
static as_arena   arena;

static void start(void)
{
    const char *home = getenv("HOME");
    if (!getenv("XDG_CACHE_HOME") && (!home || access(home, W_OK)))
        setenv("POCL_CACHE_DIR", as_test_dir(), 0); /* PoCL needs a place for what it builds */
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_status status = as_device_open(env, "opencl", 1, &device);
    if (status == ASSAY_NOT_FOUND) {
        char why[256];
        snprintf(why, sizeof why, "%s", assay_message(env));
        assay_env_free(env);
        skip("%s", why);
    }
    expect_ok(env, status);
}

static void stop(void)
{
    expect_eq(device->live_bytes, 0);
    as_device_close(device);
    as_arena_drop(&arena);
    assay_env_free(env);
}

/* --- A small network: softmax(relu(x w)) --------------------------------------------------------- */

enum { X, W, H, R, Y, N_BUFFERS, N_STEPS = 3, ROWS = 4, INNER = 3, COLS = 5, ALIGN = 128 };

typedef struct network {
    as_tensor_info info[N_BUFFERS];
    as_node_ctx    ctx[N_STEPS];
    as_choice      choice[N_STEPS];
    as_seg_step    steps[N_STEPS];
    int            in[N_STEPS][2], out[N_STEPS][1];
    as_tensor_info operands[N_STEPS][2];
    as_slot        slots[N_BUFFERS];
    float          x[ROWS * INNER], w[INNER * COLS], want[ROWS * COLS];
} network;

static void step_set(network *net, int i, const char *op, int n_in, int a, int b, int out)
{
    net->operands[i][0] = net->info[a];
    net->operands[i][1] = net->info[b];
    net->in[i][0] = a, net->in[i][1] = b, net->out[i][0] = out;
    net->ctx[i] = (as_node_ctx){.op = as_op_find(op), .name = op, .in = net->operands[i], .n_in = n_in, .n_out = 1};
    expect_ok(env, as_op_infer(env, &net->ctx[i], &net->info[out]));
    net->ctx[i].out = &net->info[out];
    expect_ok(env, device->backend->choose(env, device, &net->ctx[i], &arena, &net->choice[i]));
    net->steps[i] = (as_seg_step){.ctx = &net->ctx[i],
                                  .choice = &net->choice[i],
                                  .in = net->in[i],
                                  .out = net->out[i],
                                  .n_in = n_in,
                                  .n_out = 1,
                                  .scratch = -1,
                                  .packed = AS_NOT_PACKED,
                                  .index = 10 + i};
}

static void truth(network *net)
{
    float   h[ROWS * COLS], r[ROWS * COLS];
    as_view x = as_view_of(net->x, AS_F32, &net->info[X].shape), w = as_view_of(net->w, AS_F32, &net->info[W].shape);
    as_view vh = as_view_of(h, AS_F32, &net->info[H].shape), vr = as_view_of(r, AS_F32, &net->info[H].shape);
    as_view y = as_view_of(net->want, AS_F32, &net->info[H].shape);
    expect_ok(env, net->ctx[0].op->eval(env, &net->ctx[0], (as_view[]){x, w}, &vh));
    expect_ok(env, net->ctx[1].op->eval(env, &net->ctx[1], &vh, &vr));
    expect_ok(env, net->ctx[2].op->eval(env, &net->ctx[2], &vr, &y));
}

static void network_make(network *net)
{
    *net = (network){
        .info = {[X] = {.dtype = AS_F32, .shape = AS_SHAPE(ROWS, INNER)}, [W] = {.dtype = AS_F32, .shape = AS_SHAPE(INNER, COLS)}}};
    step_set(net, 0, "MatMul", 2, X, W, H);
    step_set(net, 1, "Relu", 1, H, H, R);
    step_set(net, 2, "Softmax", 1, R, R, Y);
    for (int i = 0; i < N_BUFFERS; i++)
        net->slots[i] = (as_slot){.offset = (size_t)i * ALIGN, .bytes = 4 * (size_t)as_shape_count(&net->info[i].shape)};
    for (int i = 0; i < ROWS * INNER; i++)
        net->x[i] = (float)(i - 5) / 4.0f;
    for (int i = 0; i < INNER * COLS; i++)
        net->w[i] = (float)(7 - i) / 8.0f;
    truth(net);
}

/* --- Finding and opening --------------------------------------------------------------------------- */

typedef struct seen {
    int  n;
    char name[32], text[256], reason[256];
} seen;

static void see(void *arg, const char *name, const char *text, const as_caps *caps, const char *reason)
{
    seen *s = arg;
    expect(!caps == (reason != NULL));
    if (s->n++)
        return;
    snprintf(s->name, sizeof s->name, "%s", name);
    snprintf(s->text, sizeof s->text, "%s", text);
    snprintf(s->reason, sizeof s->reason, "%s", reason ? reason : "");
}

Test(opencl, lists_devices_by_number_with_a_text)
{
    start();
    seen s = {0};
    device->backend->list(env, see, &s);
    expect(s.n > 0);
    expect_str(s.name, "opencl:0");
    expect_has(s.text, "compute unit");
    expect_has(s.text, "OpenCL ");
    expect_str(device->name, "opencl:0");
    expect_str(device->text, s.text);
    expect(!device->host_memory);
    stop();
}

static const as_backend *backend_find(void)
{
    for (const as_backend *const *be = as_be_table; *be; be++)
        if (!strcmp((*be)->name, "opencl"))
            return *be;
    return NULL;
}

/* In its own process: the loader looks for drivers once. */
static int without_drivers(void)
{
    const as_backend *be = backend_find();
    seen              s = {0};
    be->list(env, see, &s);
    if (!strcmp(s.name, "opencl:0"))
        return 2; /* the loader was already started */
    bool listed = !strcmp(s.name, "opencl") && !strcmp(s.reason, "no OpenCL platform: install an ICD such as pocl-opencl-icd");
    bool refused = as_device_open(env, "opencl", 1, &device) == ASSAY_NOT_FOUND &&
                   !strcmp(assay_message(env), "device 'opencl': no OpenCL platform: install an ICD such as pocl-opencl-icd");
    return listed && refused ? 0 : 1;
}

Test(opencl, says_what_to_install_when_there_is_no_platform)
{
    int status = 0;
    if (!backend_find())
        skip("the back end was left out of this build");
    expect_eq(assay_env_new(&env), ASSAY_OK);
    setenv("OCL_ICD_VENDORS", as_test_dir(), 1);
    pid_t child = fork();
    expect(child >= 0);
    if (!child)
        _exit(without_drivers());
    unsetenv("OCL_ICD_VENDORS");
    expect_eq(waitpid(child, &status, 0), child);
    assay_env_free(env);
    expect(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip("the OpenCL loader of this process has its drivers already, or does not read OCL_ICD_VENDORS");
    expect_eq(WEXITSTATUS(status), 0);
}

Test(opencl, refuses_device_numbers_that_are_none)
{
    start();
    as_device *other = NULL;
    expect_fails(env, as_device_open(env, "opencl:gpu", 1, &other), ASSAY_BAD_INPUT,
                 "device 'opencl:gpu': 'gpu' is not the number of a device");
    expect_fails(env, as_device_open(env, "opencl:-1", 1, &other), ASSAY_BAD_INPUT, "'-1' is not the number of a device");
    expect_fails(env, as_device_open(env, "opencl:", 1, &other), ASSAY_BAD_INPUT, "'' is not the number of a device");
    expect_fails(env, as_device_open(env, "opencl:999", 1, &other), ASSAY_NOT_FOUND, "device 'opencl:999': there are ");
    expect(!other);
    expect_ok(env, as_device_open(env, "opencl:0", 1, &other));
    as_device_close(other);
    stop();
}

/* --- Memory ------------------------------------------------------------------------------------------- */

Test(opencl, memory_is_zeroed_and_keeps_what_is_put)
{
    start();
    const as_backend *be = device->backend;
    as_mem            mem;
    uint8_t           bytes[100], back[100];
    expect_ok(env, as_device_alloc(env, device, 100, &mem));
    expect(!mem.host);
    memset(back, 1, sizeof back);
    expect_ok(env, be->get(AS_RUN(env), device, &mem, 0, back, 100));
    for (int i = 0; i < 100; i++) {
        expect_eq(back[i], 0);
        bytes[i] = (uint8_t)(i + 1);
    }
    expect_ok(env, be->put(AS_RUN(env), device, &mem, 3, bytes, 97));
    expect_ok(env, be->get(AS_RUN(env), device, &mem, 2, back, 98));
    expect_eq(back[0], 0);
    expect(!memcmp(back + 1, bytes, 97));
    expect_ok(env, be->put(AS_RUN(env), device, &mem, 100, NULL, 0));
    expect_ok(env, be->get(AS_RUN(env), device, &mem, 100, NULL, 0));
    as_device_drop(device, &mem);
    expect_ok(env, as_device_alloc(env, device, 0, &mem));
    as_device_drop(device, &mem);
    stop();
}

Test(opencl, refuses_transfers_outside_of_an_allocation)
{
    start();
    as_mem  mem;
    uint8_t bytes[8] = {0};
    expect_ok(env, as_device_alloc(env, device, 8, &mem));
    expect_fails(env, device->backend->put(AS_RUN(env), device, &mem, 4, bytes, 5), ASSAY_INTERNAL,
                 "put of 5 bytes at 4 does not fit an allocation of 8");
    expect_fails(env, device->backend->get(AS_RUN(env), device, &mem, 9, bytes, 0), ASSAY_INTERNAL,
                 "get of 0 bytes at 9 does not fit an allocation of 8");
    as_device_drop(device, &mem);
    stop();
}

Test(opencl, refuses_more_memory_than_the_device_gives)
{
    start();
    as_mem mem = {0};
    expect_fails(env, as_device_alloc(env, device, SIZE_MAX / 2, &mem), ASSAY_NO_MEMORY,
                 "bytes requested; the device gives at most");
    expect(!mem.handle);
    stop();
}

/* --- Choosing -------------------------------------------------------------------------------------------- */

static as_choice choose(const char *op, as_dtype dtype, as_layout layout, int n_out, const as_attr *attrs, int n_attrs)
{
    as_choice      choice = {0};
    as_tensor_info in = {.dtype = dtype, .shape = AS_SHAPE(1, 2, 4, 4)}, out[2];
    as_node_ctx n = {.op = as_op_find(op), .name = "n", .in = &in, .n_in = 1, .n_out = n_out, .attrs = attrs, .n_attrs = n_attrs};
    expect_ok(env, as_op_infer(env, &n, out));
    n.out = out;
    in.layout = layout;
    expect_ok(env, device->backend->choose(env, device, &n, &arena, &choice));
    return choice;
}

Test(opencl, refuses_with_a_reason)
{
    start();
    const as_attr kernel[] = {AS_ATTR_LIST("kernel_shape", 2, 2)};
    as_choice     c = choose("Relu", AS_F16, AS_LAYOUT_ROW_MAJOR, 1, NULL, 0);
    expect(!c.kernel);
    expect_str(c.why, "input 0 is f16; the kernel needs f32");
    c = choose("Relu", AS_F32, AS_LAYOUT_NHWC, 1, NULL, 0);
    expect(!c.kernel);
    expect_str(c.why, "input 0 is not row-major");
    c = choose("MaxPool", AS_F32, AS_LAYOUT_ROW_MAJOR, 2, kernel, 1);
    expect(!c.kernel);
    expect_str(c.why, "it needs 2 outputs; the kernel does not compute Indices");
    as_op       strange = {.name = "Strange"};
    as_node_ctx n = {.op = &strange};
    expect_ok(env, device->backend->choose(env, device, &n, &arena, &c));
    expect(!c.kernel);
    expect_str(c.why, "there is no OpenCL kernel for Strange");
    stop();
}

Test(opencl, names_its_kernel_and_says_why)
{
    start();
    as_choice c = choose("Relu", AS_F32, AS_LAYOUT_ROW_MAJOR, 1, NULL, 0);
    expect(c.kernel);
    expect_str(c.name, "relu_f32_cl");
    expect_str(c.why, "plain kernel, one work-item per output element");
    expect_str(choose("Transpose", AS_F16, AS_LAYOUT_ROW_MAJOR, 1, NULL, 0).name, "move_2_cl");
    expect_str(choose("Transpose", AS_BOOL, AS_LAYOUT_ROW_MAJOR, 1, NULL, 0).name, "move_1_cl");
    expect_str(choose("Transpose", AS_F64, AS_LAYOUT_ROW_MAJOR, 1, NULL, 0).name, "move_8_cl");
    stop();
}

Test(opencl, states_the_multiply_adds_that_are_not_on_padding)
{
    start();
    /* 3x3 on 4x4, padded by 1: 10 of 12 pairs of tap and output meet the input on each axis. */
    const as_attr  pads[] = {AS_ATTR_LIST("pads", 1, 1, 1, 1)};
    as_tensor_info in[] = {{.dtype = AS_F32, .shape = AS_SHAPE(2, 3, 4, 4)}, {.dtype = AS_F32, .shape = AS_SHAPE(5, 3, 3, 3)}}, out;
    as_node_ctx    n = {.op = as_op_find("Conv"), .in = in, .n_in = 2, .n_out = 1, .attrs = pads, .n_attrs = 1};
    as_choice      c;
    expect_ok(env, as_op_infer(env, &n, &out));
    n.out = &out;
    expect_ok(env, device->backend->choose(env, device, &n, &arena, &c));
    expect_eq(c.issued.flops, 2 * 2 * 5 * 3 * 10 * 10);
    expect_eq(n.op->cost(&n).flops, 2 * 2 * 5 * 3 * 12 * 12);
    expect_eq(c.issued.bytes_read, n.op->cost(&n).bytes_read);
    stop();
}

/* --- Compiling --------------------------------------------------------------------------------------------- */

Test(opencl, refuses_to_compile_what_it_did_not_accept)
{
    start();
    network net;
    void   *code = NULL;
    network_make(&net);
    as_segment segment = {net.steps, N_STEPS};
    net.steps[1].pack = true;
    expect_fails(env, device->backend->compile(env, device, &segment, &code), ASSAY_INTERNAL,
                 "step 11 packs weights, which this device did not request");
    net.steps[1].pack = false;
    net.in[0][1] = -1;
    expect_fails(env, device->backend->compile(env, device, &segment, &code), ASSAY_INTERNAL,
                 "step 10, MatMul 'MatMul': an input has no buffer on the device");
    net.in[0][1] = W;
    net.out[2][0] = -1;
    expect_fails(env, device->backend->compile(env, device, &segment, &code), ASSAY_INTERNAL,
                 "step 12, Softmax 'Softmax': the output has no buffer");
    net.out[2][0] = Y;
    net.choice[1].kernel = NULL;
    expect_fails(env, device->backend->compile(env, device, &segment, &code), ASSAY_INTERNAL,
                 "step 11, Relu 'Relu', has no kernel: no kernel was chosen");
    expect(!code);
    stop();
}

/* --- Executing ------------------------------------------------------------------------------------------------ */

typedef struct instance {
    network    *net;
    void       *code;
    as_mem      mem;
    as_bindings bindings;
} instance;

static void instance_make(network *net, instance *i)
{
    as_segment segment = {net->steps, N_STEPS};
    *i = (instance){.net = net};
    expect_ok(env, device->backend->compile(env, device, &segment, &i->code));
    expect_ok(env, as_device_alloc(env, device, N_BUFFERS * ALIGN, &i->mem));
    expect_ok(env, device->backend->put(AS_RUN(env), device, &i->mem, X * ALIGN, net->x, sizeof net->x));
    expect_ok(env, device->backend->put(AS_RUN(env), device, &i->mem, W * ALIGN, net->w, sizeof net->w));
    i->bindings = (as_bindings){.base = &i->mem, .slots = net->slots, .n_slots = N_BUFFERS};
}

static void instance_drop(instance *i)
{
    device->backend->discard(device, i->code);
    as_device_drop(device, &i->mem);
}

static double error_of(const instance *i)
{
    float y[ROWS * COLS];
    expect_ok(env, device->backend->get(AS_RUN(env), device, &i->mem, Y * ALIGN, y, sizeof y));
    as_view got = as_view_of(y, AS_F32, &i->net->info[Y].shape),
            want = as_view_of((void *)i->net->want, AS_F32, &i->net->info[Y].shape);
    return as_view_error(&got, &want);
}

Test(opencl, runs_a_segment_and_records_disjoint_steps_inside_the_wall)
{
    start();
    network  net;
    instance i;
    as_span  spans[32];
    as_ring  ring = {.spans = spans, .capacity = 32, .run = 7};
    network_make(&net);
    instance_make(&net, &i);
    as_recorder recorder = {.rings = &ring, .n_rings = 1, .detail = AS_DETAIL_STEP};
    uint64_t    begin = as_clock_now(&env->clock);
    expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, i.code, &i.bindings));
    uint64_t end = as_clock_now(&env->clock), cursor = begin;
    expect(error_of(&i) <= 1e-6);
    expect_eq(ring.used, 2 * N_STEPS);
    int n_steps = 0, n_devices = 0;
    for (uint32_t s = 0; s < ring.used; s++) {
        expect_eq(spans[s].run, 7);
        expect(spans[s].end_ticks > spans[s].begin_ticks); /* it did work */
        if (spans[s].kind == AS_SPAN_DEVICE) {
            expect_eq(spans[s].step, 10 + n_devices++);
            continue;
        }
        expect_eq(spans[s].kind, AS_SPAN_STEP);
        expect_eq(spans[s].step, 10 + n_steps++);
        expect(spans[s].begin_ticks >= cursor);
        cursor = spans[s].end_ticks;
    }
    expect(cursor <= end);
    expect_eq(n_steps, N_STEPS);
    expect_eq(n_devices, N_STEPS);
    instance_drop(&i);
    stop();
}

Test(opencl, records_nothing_when_nothing_that_fine_is_wanted)
{
    start();
    network  net;
    instance i;
    as_span  spans[4];
    as_ring  ring = {.spans = spans, .capacity = 4};
    network_make(&net);
    instance_make(&net, &i);
    as_recorder recorder = {.rings = &ring, .n_rings = 1, .detail = AS_DETAIL_SEGMENT};
    expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, i.code, &i.bindings));
    expect_eq(ring.used, 0);
    recorder.detail = AS_DETAIL_PART;
    expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, i.code, &i.bindings));
    expect_eq(ring.used, 4); /* and counts what does not fit */
    expect_eq(ring.dropped, 2);
    instance_drop(&i);
    stop();
}

Test(opencl, allocates_nothing_of_ours_while_it_runs)
{
    start();
    network  net;
    instance i;
    as_span  spans[64];
    as_ring  ring = {.spans = spans, .capacity = 64};
    network_make(&net);
    instance_make(&net, &i);
    as_recorder recorder = {.rings = &ring, .n_rings = 1, .detail = AS_DETAIL_PART};
    if (as_test_n_allocs() == SIZE_MAX)
        skip("the linker has no --wrap");
    size_t before = as_test_n_allocs();
    for (int k = 0; k < 5; k++)
        expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, i.code, &i.bindings));
    expect_eq(as_test_n_allocs(), before);
    instance_drop(&i);
    stop();
}

Test(opencl, refuses_operands_it_cannot_reach)
{
    start();
    network  net;
    instance i;
    network_make(&net);
    instance_make(&net, &i);
    as_slot good = net.slots[H];
    net.slots[H].outside = net.x;
    expect_fails(env, device->backend->execute(AS_RUN(env), device, i.code, &i.bindings), ASSAY_INTERNAL,
                 "an operand of step 10 is in host memory");
    net.slots[H] = good;
    net.slots[H].offset += 2;
    expect_fails(env, device->backend->execute(AS_RUN(env), device, i.code, &i.bindings), ASSAY_INTERNAL,
                 "lies at 258, which is not a multiple of its 4 bytes");
    net.slots[H].offset = N_BUFFERS * ALIGN;
    expect_fails(env, device->backend->execute(AS_RUN(env), device, i.code, &i.bindings), ASSAY_INTERNAL,
                 "does not fit an allocation of 640");
    net.slots[H] = good;
    expect_ok(env, device->backend->execute(AS_RUN(env), device, i.code, &i.bindings)); /* a failure leaves nothing behind */
    expect(error_of(&i) <= 1e-6);
    instance_drop(&i);
    stop();
}

Test(opencl, stops_between_steps_when_cancelled)
{
    start();
    network  net;
    instance i;
    network_make(&net);
    instance_make(&net, &i);
    assay_cancel(env);
    expect_fails(env, device->backend->execute(AS_RUN(env), device, i.code, &i.bindings), ASSAY_CANCELLED,
                 "cancelled after step 10");
    instance_drop(&i);
    stop();
}

Test(opencl, puts_no_real_time_on_a_fake_clock)
{
    start();
    network  net;
    instance i;
    as_span  spans[8];
    as_ring  ring = {.spans = spans, .capacity = 8};
    network_make(&net);
    instance_make(&net, &i);
    as_clock_open_fake(&env->clock, 0);
    as_recorder recorder = {.rings = &ring, .n_rings = 1, .detail = AS_DETAIL_STEP};
    expect_fails(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, i.code, &i.bindings), ASSAY_UNSUPPORTED,
                 "cannot run on a simulated clock");
    expect_ok(env, device->backend->execute(AS_RUN(env), device, i.code, &i.bindings));
    expect(error_of(&i) <= 1e-6);
    instance_drop(&i);
    stop();
}

/* Two instances of one code at the same time: the arguments of kernels are shared state. */
static void *run_often(void *arg)
{
    const instance *i = arg;
    for (int k = 0; k < 50; k++)
        if (device->backend->execute(AS_RUN(env), device, i->code, &i->bindings) != ASSAY_OK)
            return (void *)arg;
    return NULL;
}

Test(opencl, lets_threads_share_code)
{
    start();
    network   nets[2];
    instance  i[2];
    pthread_t threads[2];
    void     *failed[2];
    for (int k = 0; k < 2; k++)
        network_make(&nets[k]);
    for (int k = 0; k < ROWS * INNER; k++)
        nets[1].x[k] = -nets[0].x[k];
    truth(&nets[1]);
    instance_make(&nets[0], &i[0]);
    instance_make(&nets[1], &i[1]);
    void *own = i[1].code;
    i[1].code = i[0].code;
    for (int k = 0; k < 2; k++)
        expect_eq(pthread_create(&threads[k], NULL, run_often, &i[k]), 0);
    for (int k = 0; k < 2; k++)
        expect_eq(pthread_join(threads[k], &failed[k]), 0);
    for (int k = 0; k < 2; k++) {
        expect(!failed[k]);
        expect(error_of(&i[k]) <= 1e-6);
    }
    i[1].code = own;
    instance_drop(&i[0]);
    instance_drop(&i[1]);
    stop();
}

Test(opencl, gives_a_step_without_elements_an_empty_span)
{
    start();
    as_tensor_info in = {.dtype = AS_F32, .shape = AS_SHAPE(0, 3)}, out;
    as_node_ctx    n = {.op = as_op_find("Relu"), .in = &in, .n_in = 1, .n_out = 1};
    as_choice      choice;
    int            buffer = 0;
    void          *code;
    as_mem         mem;
    as_span        spans[4];
    as_ring        ring = {.spans = spans, .capacity = 4};
    expect_ok(env, as_op_infer(env, &n, &out));
    n.out = &out;
    expect_ok(env, device->backend->choose(env, device, &n, &arena, &choice));
    as_seg_step step = {
        .ctx = &n, .choice = &choice, .in = &buffer, .out = &buffer, .n_in = 1, .n_out = 1, .scratch = -1, .index = 3};
    expect_ok(env, device->backend->compile(env, device, &(as_segment){&step, 1}, &code));
    expect_ok(env, as_device_alloc(env, device, 0, &mem));
    as_recorder recorder = {.rings = &ring, .n_rings = 1, .detail = AS_DETAIL_STEP};
    as_bindings bindings = {.base = &mem, .slots = &(as_slot){0}, .n_slots = 1};
    expect_ok(env, device->backend->execute(AS_RUN_WITH(env, &recorder), device, code, &bindings));
    expect_eq(ring.used, 1);
    expect_eq(spans[0].step, 3);
    expect_eq(spans[0].end_ticks, spans[0].begin_ticks);
    device->backend->discard(device, code);
    as_device_drop(device, &mem);
    stop();
}
