/* be_opencl.c - any OpenCL 1.2 device, with plain kernels that are built from source when the first plan needs them. */
/* needs: OpenCL */
/*
 * All memory of an instance is one cl_mem, and kernels get offsets into it.  A whole segment is enqueued on one in-order queue and
 * then drained.  Only after the drain are the device's own timestamps fetched, checked against the wall time and put on the host's
 * clock (opencl/timeline.h, docs/opencl.md).
 *
 * Arguments belong to a cl_kernel, so each code has its own kernels, and one lock per device keeps two threads that share a plan
 * from setting them at the same time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/opencl/calls.h"
#include "backend/opencl/cl.h"
#include "backend/opencl/meters.h"
#include "backend/opencl/timeline.h"
#include "base/text.h"

extern const as_backend as_be_opencl;

enum { ALIGN_BYTES = 128, GROUP_ITEMS = 64 };

/* No fast-math: results are compared with the reference code. */
#define BUILD_OPTIONS "-cl-std=CL1.2"

typedef struct opencl_device {
    as_device        device;
    cl_device_id     id;
    cl_context       context;
    cl_command_queue queue;
    cl_program       program; /* NULL until the first compile */
    pthread_mutex_t  lock;
    char             name[32], text[256];
} opencl_device;

/* --- Opening ------------------------------------------------------------------------------------ */

static as_caps caps_of(const as_cl_found *f)
{
    return (as_caps){.dtypes = AS_CL_DTYPES, .max_bytes = f->max_bytes, .is_gpu = !(f->type & CL_DEVICE_TYPE_CPU)};
}

typedef struct listing {
    as_device_found found;
    void           *arg;
} listing;

static bool list_visit(void *arg, const as_cl_found *f)
{
    const listing *l = arg;
    char           name[32];
    snprintf(name, sizeof name, "opencl:%d", f->index);
    as_caps caps = caps_of(f);
    l->found(l->arg, name, f->text, f->reason[0] ? NULL : &caps, f->reason[0] ? f->reason : NULL);
    return true;
}

static void list(assay_env *env, as_device_found found, void *arg)
{
    char why[256];
    (void)env;
    if (!as_cl_find(list_visit, &(listing){found, arg}, why, sizeof why))
        found(arg, "opencl", "any OpenCL 1.2 device", NULL, why[0] ? why : "the OpenCL platforms have no device");
}

typedef struct wish {
    int64_t     index;
    bool        there;
    as_cl_found found;
} wish;

static bool wish_visit(void *arg, const as_cl_found *f)
{
    wish *w = arg;
    if (f->index != w->index)
        return true;
    w->found = *f;
    w->there = true;
    return false;
}

static assay_status find(assay_env *env, const char *args, as_cl_found *out)
{
    wish w = {0};
    char why[256];
    if (args && (!as_parse_i64(args, &w.index) || w.index < 0))
        return as_fail(env, ASSAY_BAD_INPUT, "device 'opencl:%s': '%s' is not the number of a device, as in opencl:0", args, args);
    int n = as_cl_find(wish_visit, &w, why, sizeof why);
    if (!w.there && !n)
        return as_fail(env, ASSAY_NOT_FOUND, "device 'opencl': %s", why[0] ? why : "the OpenCL platforms have no device");
    if (!w.there)
        return as_fail(env, ASSAY_NOT_FOUND, "device 'opencl:%lld': there are %d OpenCL devices, counted from 0",
                       (long long)w.index, n);
    if (w.found.reason[0])
        return as_fail(env, ASSAY_UNSUPPORTED, "device 'opencl:%lld' (%s) cannot be used: %s", (long long)w.index, w.found.text,
                       w.found.reason);
    *out = w.found;
    return ASSAY_OK;
}

static void close_opencl(as_device *device)
{
    opencl_device *d = (opencl_device *)device;
    if (d->program)
        clReleaseProgram(d->program);
    if (d->queue)
        clReleaseCommandQueue(d->queue);
    if (d->context)
        clReleaseContext(d->context);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static assay_status start(assay_env *env, opencl_device *d, const as_cl_found *f)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)f->platform, 0};
    cl_int                code;
    d->id = f->device;
    d->context = clCreateContext(properties, 1, &d->id, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return as_cl_fail(env, code, "making a context");
    d->queue = clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code != CL_SUCCESS)
        return as_cl_fail(env, code, "making an in-order queue with profiling");
    return ASSAY_OK;
}

static assay_status open_opencl(assay_env *env, const char *args, int n_threads, as_device **out)
{
    as_cl_found f;
    (void)n_threads; /* the driver has its own threads */
    AS_TRY(find(env, args, &f));
    opencl_device *d = calloc(1, sizeof *d);
    if (!d)
        return as_fail(env, ASSAY_NO_MEMORY, "device 'opencl:%d': not enough memory for %zu bytes", f.index, sizeof *d);
    if (pthread_mutex_init(&d->lock, NULL)) {
        free(d);
        return as_fail(env, ASSAY_NO_MEMORY, "device 'opencl:%d': no lock can be made", f.index);
    }
    snprintf(d->name, sizeof d->name, "opencl:%d", f.index);
    snprintf(d->text, sizeof d->text, "%s", f.text);
    d->device = (as_device){
        .backend = &as_be_opencl, .name = d->name, .text = d->text, .n_threads = 1, .align = ALIGN_BYTES, .caps = caps_of(&f)};
    assay_status status = start(env, d, &f);
    if (status != ASSAY_OK) {
        close_opencl(&d->device);
        return status;
    }
    *out = &d->device;
    return ASSAY_OK;
}

/* --- Memory --------------------------------------------------------------------------------------- */

/* A driver may hand out memory that it does not have until it is used, so the zeroing shows whether it is there. */
static cl_int zero(const opencl_device *d, cl_mem mem, size_t bytes)
{
    const cl_uchar nothing = 0;
    cl_int         code = clEnqueueFillBuffer(d->queue, mem, &nothing, sizeof nothing, 0, bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? clFinish(d->queue) : code;
}

static assay_status alloc(assay_env *env, as_device *device, size_t bytes, as_mem *out)
{
    opencl_device *d = (opencl_device *)device;
    size_t         some = bytes ? bytes : 1;
    cl_int         code;
    if (device->caps.max_bytes && some > device->caps.max_bytes)
        return as_fail(env, ASSAY_NO_MEMORY, "%s: %zu bytes requested; the device gives at most %llu in one allocation", d->name,
                       bytes, (unsigned long long)device->caps.max_bytes);
    cl_mem mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE, some, NULL, &code);
    if (code == CL_SUCCESS) {
        code = zero(d, mem, some);
        if (code != CL_SUCCESS)
            clReleaseMemObject(mem);
    }
    if (code != CL_SUCCESS) {
        char doing[64];
        snprintf(doing, sizeof doing, "allocating %zu bytes", bytes);
        return as_cl_fail(env, code, doing);
    }
    *out = (as_mem){.handle = mem, .bytes = bytes};
    return ASSAY_OK;
}

static void drop(as_device *device, as_mem *mem)
{
    (void)device;
    clReleaseMemObject(mem->handle);
}

static assay_status put(const as_run_ctx *run, as_device *device, const as_mem *dst, size_t offset, const void *src, size_t n)
{
    AS_TRY(as_mem_check(run->env, device->name, "put", dst, offset, n));
    cl_int code = n ? clEnqueueWriteBuffer(((opencl_device *)device)->queue, dst->handle, CL_TRUE, offset, n, src, 0, NULL, NULL)
                    : CL_SUCCESS;
    return code == CL_SUCCESS ? ASSAY_OK : as_cl_fail(run->env, code, "writing to the device");
}

static assay_status get(const as_run_ctx *run, as_device *device, const as_mem *src, size_t offset, void *dst, size_t n)
{
    AS_TRY(as_mem_check(run->env, device->name, "get", src, offset, n));
    cl_int code =
        n ? clEnqueueReadBuffer(((opencl_device *)device)->queue, src->handle, CL_TRUE, offset, n, dst, 0, NULL, NULL) : CL_SUCCESS;
    return code == CL_SUCCESS ? ASSAY_OK : as_cl_fail(run->env, code, "reading from the device");
}

/* --- The program ------------------------------------------------------------------------------------ */

static assay_status build_fail(assay_env *env, const opencl_device *d, cl_program program, cl_int code)
{
    size_t       size = 0;
    char        *log = NULL;
    assay_status status;
    if (clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == CL_SUCCESS)
        log = calloc(size + 1, 1);
    if (log && clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, size, log, NULL) == CL_SUCCESS && *as_cl_trim(log))
        status = as_fail(env, ASSAY_DEVICE, "%s: building the kernels: %s (%d): %s", d->name, as_cl_error_name(code), code, log);
    else
        status = as_cl_fail(env, code, "building the kernels");
    free(log);
    return status;
}

/* Once per device, under the lock. */
static assay_status program_build(assay_env *env, opencl_device *d)
{
    const char *source = as_cl_source;
    cl_int      code;
    if (d->program)
        return ASSAY_OK;
    cl_program program = clCreateProgramWithSource(d->context, 1, &source, NULL, &code);
    if (code != CL_SUCCESS)
        return as_cl_fail(env, code, "making the program");
    code = clBuildProgram(program, 1, &d->id, BUILD_OPTIONS, NULL, NULL);
    if (code != CL_SUCCESS) {
        assay_status status = build_fail(env, d, program, code);
        clReleaseProgram(program);
        return status;
    }
    d->program = program;
    return ASSAY_OK;
}

/* --- Code ------------------------------------------------------------------------------------------- */

/* Any address that is not NULL: compiling makes the call again from the node. */
static const char accepted[] = "plain kernel, one work-item per output element";

static assay_status choose(assay_env *env, as_device *device, const as_node_ctx *n, as_arena *arena, as_choice *out)
{
    as_cl_call call;
    char       why[160];
    if (as_cl_call_make(n, &call, why, sizeof why)) {
        *out = (as_choice){.kernel = accepted, .name = call.kernel, .why = accepted, .issued = call.issued};
        return ASSAY_OK;
    }
    const char *text = as_arena_text(arena, why);
    if (!text)
        return as_fail(env, ASSAY_NO_MEMORY, "%s: not enough memory for the reason why %s is refused", device->name, n->op->name);
    *out = (as_choice){.why = text};
    return ASSAY_OK;
}

typedef struct step {
    as_cl_call call;
    cl_kernel  kernel;             /* NULL: nothing to do */
    size_t     global, local;      /* work-items, and those per group */
    int        buffer[AS_CL_N_AT]; /* plan buffers behind params.at; -1: none */
} step;

typedef struct code {
    as_arena     arena; /* holds all of it but this struct */
    step        *steps;
    cl_event    *events;
    as_cl_stamp *stamps;
    int          n_steps;
} code;

static void discard(as_device *device, void *handle)
{
    code *c = handle;
    (void)device;
    if (!c)
        return;
    for (int i = 0; i < c->n_steps; i++)
        if (c->steps[i].kernel)
            clReleaseKernel(c->steps[i].kernel);
    as_arena_drop(&c->arena);
    free(c);
}

static assay_status operands_make(assay_env *env, const opencl_device *d, const as_seg_step *from, step *to)
{
    for (int i = 0; i < AS_CL_N_AT; i++) {
        int input = i == AS_CL_OUT ? -1 : to->call.in[i];
        to->buffer[i] = i == AS_CL_OUT                     ? (from->n_out > 0 ? from->out[0] : -1)
                        : input >= 0 && input < from->n_in ? from->in[input]
                                                           : -1;
        if (to->buffer[i] < 0 && (i == AS_CL_OUT || input >= 0))
            return as_fail(env, ASSAY_INTERNAL, "%s: step %d, %s '%s': %s has no buffer on the device", d->name, from->index,
                           from->ctx->op->name, from->ctx->name ? from->ctx->name : "", i == AS_CL_OUT ? "the output" : "an input");
    }
    return ASSAY_OK;
}

static assay_status kernel_make(assay_env *env, const opencl_device *d, step *s)
{
    cl_int result;
    size_t most = 0;
    s->kernel = clCreateKernel(d->program, s->call.kernel, &result);
    if (result != CL_SUCCESS) {
        s->kernel = NULL;
        return as_cl_fail(env, result, s->call.kernel);
    }
    result = clGetKernelWorkGroupInfo(s->kernel, d->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (result != CL_SUCCESS)
        return as_cl_fail(env, result, "asking for the size of a work-group");
    s->local = most < GROUP_ITEMS ? most ? most : 1 : GROUP_ITEMS;
    s->global = ((size_t)s->call.n + s->local - 1) / s->local * s->local;
    return ASSAY_OK;
}

static assay_status step_make(assay_env *env, const opencl_device *d, const as_seg_step *from, step *to)
{
    const as_node_ctx *n = from->ctx;
    char               why[160] = "no kernel was chosen";
    if (from->pack)
        return as_fail(env, ASSAY_INTERNAL, "%s: step %d packs weights, which this device did not request", d->name, from->index);
    if (!from->choice->kernel || !as_cl_call_make(n, &to->call, why, sizeof why))
        return as_fail(env, ASSAY_INTERNAL, "%s: step %d, %s '%s', has no kernel: %s", d->name, from->index, n->op->name,
                       n->name ? n->name : "", why);
    if (!to->call.n)
        return ASSAY_OK;
    AS_TRY(operands_make(env, d, from, to));
    return kernel_make(env, d, to);
}

static assay_status code_make(assay_env *env, const opencl_device *d, const as_segment *segment, code **out)
{
    size_t n = (size_t)segment->n_steps;
    code  *c = calloc(1, sizeof *c);
    if (c) {
        c->steps = AS_TAKE(&c->arena, step, n);
        c->events = AS_TAKE(&c->arena, cl_event, n);
        c->stamps = AS_TAKE(&c->arena, as_cl_stamp, n);
    }
    assay_status status = ASSAY_OK;
    if (!c || !c->steps || !c->events || !c->stamps)
        status = as_fail(env, ASSAY_NO_MEMORY, "%s: not enough memory for a segment of %d steps", d->name, segment->n_steps);
    for (int i = 0; status == ASSAY_OK && i < segment->n_steps; i++) {
        c->stamps[i].step = segment->steps[i].index;
        status = step_make(env, d, &segment->steps[i], &c->steps[c->n_steps++]);
    }
    if (status != ASSAY_OK) {
        discard(NULL, c);
        return status;
    }
    *out = c;
    return ASSAY_OK;
}

static assay_status compile(assay_env *env, as_device *device, const as_segment *segment, void **out)
{
    opencl_device *d = (opencl_device *)device;
    code          *c = NULL;
    pthread_mutex_lock(&d->lock);
    assay_status status = program_build(env, d);
    if (status == ASSAY_OK)
        status = code_make(env, d, segment, &c);
    pthread_mutex_unlock(&d->lock);
    if (status == ASSAY_OK)
        *out = c;
    return status;
}

/* --- Execution ------------------------------------------------------------------------------------- */

static assay_status place(const as_run_ctx *run, const as_device *device, const as_bindings *b, int index, int buffer,
                          size_t element_bytes, i64 *at)
{
    const as_slot *slot = &b->slots[buffer];
    if (slot->outside)
        return as_fail(run->env, ASSAY_INTERNAL, "%s: an operand of step %d is in host memory, which this device cannot reach",
                       device->name, index);
    AS_TRY(as_mem_check(run->env, device->name, "an operand", b->base, slot->offset, slot->bytes));
    if (slot->offset % element_bytes)
        return as_fail(run->env, ASSAY_INTERNAL,
                       "%s: an operand of step %d lies at %zu, which is not a multiple of its %zu bytes per element", device->name,
                       index, slot->offset, element_bytes);
    *at = (i64)(slot->offset / element_bytes);
    return ASSAY_OK;
}

static assay_status enqueue(const as_run_ctx *run, opencl_device *d, code *c, int i, const as_bindings *b)
{
    step        *s = &c->steps[i];
    as_cl_stamp *stamp = &c->stamps[i];
    cl_mem       base = b->base->handle;
    for (int k = 0; k < AS_CL_N_AT; k++)
        if (s->buffer[k] >= 0)
            AS_TRY(place(run, &d->device, b, stamp->step, s->buffer[k], s->call.element_bytes, &s->call.params.at[k]));
    cl_int result = clSetKernelArg(s->kernel, 0, sizeof base, &base);
    if (result == CL_SUCCESS)
        result = clSetKernelArg(s->kernel, 1, s->call.params_bytes, &s->call.params);
    if (result != CL_SUCCESS)
        return as_cl_fail(run->env, result, s->call.kernel);
    stamp->before_ticks = as_clock_now(run->clock);
    result = clEnqueueNDRangeKernel(d->queue, s->kernel, 1, NULL, &s->global, &s->local, 0, NULL, &c->events[i]);
    stamp->after_ticks = as_clock_now(run->clock);
    if (result != CL_SUCCESS) {
        c->events[i] = NULL;
        return as_cl_fail(run->env, result, s->call.kernel);
    }
    stamp->ran = true;
    return ASSAY_OK;
}

static assay_status enqueue_all(const as_run_ctx *run, opencl_device *d, code *c, const as_bindings *b)
{
    for (int i = 0; i < c->n_steps; i++) {
        if (i && as_run_cancelled(run))
            return as_fail(run->env, ASSAY_CANCELLED, "%s: cancelled after step %d", d->name, c->stamps[i - 1].step);
        if (c->steps[i].kernel)
            AS_TRY(enqueue(run, d, c, i, b));
    }
    return ASSAY_OK;
}

/* A drain succeeds even when one of its commands failed: only the command's event shows it. */
static assay_status events_check(const as_run_ctx *run, const opencl_device *d, const code *c)
{
    for (int i = 0; i < c->n_steps; i++) {
        cl_int state = CL_COMPLETE;
        cl_int result =
            c->events[i] ? clGetEventInfo(c->events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) : CL_SUCCESS;
        if (result != CL_SUCCESS)
            return as_cl_fail(run->env, result, "asking whether a command is complete");
        if (state != CL_COMPLETE)
            return as_fail(run->env, ASSAY_DEVICE, "%s: step %d (%s) did not complete: %s (%d)", d->name, c->stamps[i].step,
                           c->steps[i].call.kernel,
                           state < 0 ? as_cl_error_name(state) : "still in the queue after the queue was drained", state);
    }
    return ASSAY_OK;
}

static assay_status harvest(const as_run_ctx *run, code *c)
{
    static const cl_profiling_info which[3] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    for (int i = 0; i < c->n_steps; i++) {
        as_cl_stamp *s = &c->stamps[i];
        cl_ulong     times[3];
        if (!c->events[i])
            continue;
        for (int k = 0; k < 3; k++) {
            cl_int result = clGetEventProfilingInfo(c->events[i], which[k], sizeof times[k], &times[k], NULL);
            if (result != CL_SUCCESS)
                return as_cl_fail(run->env, result, "reading a command's timestamps");
        }
        s->queued_ns = times[0];
        s->start_ns = times[1];
        s->end_ns = times[2];
    }
    return ASSAY_OK;
}

static assay_status record(const as_run_ctx *run, code *c, uint64_t begin, uint64_t end, as_ring *ring)
{
    const as_clock *clock = run->clock;
    as_cl_wall      wall = {begin, end, c->stamps, c->n_steps};
    as_cl_fit       fit;
    AS_TRY(harvest(run, c));
    AS_TRY(as_cl_timeline_fit(run->env, clock, &wall, &fit));
    as_cl_timeline_write(clock, &wall, &fit, ring);
    return ASSAY_OK;
}

static assay_status run_all(const as_run_ctx *run, opencl_device *d, code *c, const as_bindings *b, as_ring *ring)
{
    const as_clock *clock = run->clock;
    for (int i = 0; i < c->n_steps; i++)
        c->stamps[i].ran = false;
    uint64_t     begin = as_clock_now(clock);
    assay_status status = enqueue_all(run, d, c, b);
    cl_int       drained = clFinish(d->queue); /* also after a failure: nothing may still run afterwards */
    uint64_t     end = as_clock_now(clock);
    if (status == ASSAY_OK && drained != CL_SUCCESS)
        status = as_cl_fail(run->env, drained, "draining the queue");
    if (status == ASSAY_OK)
        status = events_check(run, d, c);
    if (status == ASSAY_OK && ring)
        status = record(run, c, begin, end, ring);
    for (int i = 0; i < c->n_steps; i++)
        if (c->events[i]) {
            clReleaseEvent(c->events[i]);
            c->events[i] = NULL;
        }
    return status;
}

static assay_status execute(const as_run_ctx *run, as_device *device, void *handle, const as_bindings *bindings)
{
    opencl_device     *d = (opencl_device *)device;
    const as_recorder *recorder = as_run_recorder(run, AS_DETAIL_STEP);
    if (recorder && run->clock->kind == AS_CLOCK_FAKE)
        return as_fail(run->env, ASSAY_UNSUPPORTED, "%s: a real device cannot run on a simulated clock", d->name);
    pthread_mutex_lock(&d->lock);
    assay_status status = run_all(run, d, handle, bindings, recorder ? &recorder->rings[0] : NULL);
    pthread_mutex_unlock(&d->lock);
    return status;
}

/* --- Limits --------------------------------------------------------------------------------------------- */

static assay_status meters_open(assay_env *env, as_device *device, as_device_meters *out)
{
    opencl_device *d = (opencl_device *)device;
    return as_cl_meters_open(env, d->context, d->id, d->queue, out);
}

static void meters_close(as_device *device, as_device_meters *m)
{
    (void)device;
    as_cl_meters_close(m);
}

const as_backend as_be_opencl = {
    .name = "opencl",
    .help = "any OpenCL 1.2 device, by plain kernels",
    .syntax = "opencl[:N]",
    .list = list,
    .open = open_opencl,
    .close = close_opencl,
    .alloc = alloc,
    .drop = drop,
    .put = put,
    .get = get,
    .choose = choose,
    .compile = compile,
    .execute = execute,
    .discard = discard,
    .meters_open = meters_open,
    .meters_close = meters_close,
};
