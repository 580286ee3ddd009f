/* be_cpu.c - the CPU: our own kernels on our own threads.
 *
 * A segment is one fork: every thread walks through all steps, does its share of each and meets the others at a barrier.
 * Code contains no addresses, so instances share it; views get their addresses on the stack of the thread that uses them.
 *
 * The denormal mode stays as the process has it: gradual underflow, unless the program that uses the library changed
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/backend.h"
#include "backend/cpu/kernel.h"
#include "op/rules.h"

extern const as_backend as_be_cpu;

enum { ALIGN_BYTES = 64, N_PACKED = AS_N_PACKED, HUGE_PAGE = 2 << 20, LARGE_BYTES = 2 * HUGE_PAGE };

/* With less work than this, a fork costs more than it saves: waking the threads takes some microseconds, and a scalar loop does
 * about a Gflop/s. */
#define FORK_FLOPS    1000000u
#define FLOPS_SPECIAL 20u /* an exponential or a division counts as this many flops here */

typedef struct cpu_device {
    as_device   device;
    as_pool    *pool;
    atomic_flag pool_taken; /* held by an execute() that forks */
    unsigned    isa, masked;
    char        text[192];
} cpu_device;

/* The reference code does what no kernel takes, in any type. */
static const as_caps caps = {.dtypes = AS_SET_ANY, .uses_threads = true};

/* --- Opening ------------------------------------------------------------------------------------ */

static const char *text_make(unsigned isa, int n_threads, char *buf, size_t size)
{
    char name[96], sets[64];
    snprintf(buf, size, "%s, %s, %d thread%s", as_cpu_name(name, sizeof name), as_isa_show(isa, sets, sizeof sets), n_threads,
             n_threads == 1 ? "" : "s");
    return buf;
}

static void list(assay_env *env, as_device_found found, void *arg)
{
    char text[192];
    (void)env;
    found(arg, "cpu", text_make(as_isa_here(), as_cpu_count(), text, sizeof text), &caps, NULL);
}

static assay_status open_cpu(assay_env *env, const char *args, int n_threads, as_device **out)
{
    unsigned masked;
    if (args)
        return as_fail(env, ASSAY_BAD_INPUT, "device 'cpu:%s': cpu takes nothing after its name", args);
    AS_TRY(as_isa_mask(env, getenv("ASSAY_CPU"), &masked));
    cpu_device *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return as_fail(env, ASSAY_NO_MEMORY, "device 'cpu': not enough memory for %zu bytes", sizeof *cpu);
    assay_status status = as_pool_new(env, n_threads, &cpu->pool);
    if (status != ASSAY_OK) {
        free(cpu);
        return status;
    }
    cpu->isa = as_isa_cpu() & ~masked;
    cpu->masked = as_isa_cpu() & masked;
    text_make(cpu->isa, n_threads, cpu->text, sizeof cpu->text);
    cpu->device = (as_device){.backend = &as_be_cpu,
                              .name = "cpu",
                              .text = cpu->text,
                              .host_memory = true,
                              .n_threads = n_threads,
                              .align = ALIGN_BYTES,
                              .caps = caps};
    *out = &cpu->device;
    return ASSAY_OK;
}

static void close_cpu(as_device *device)
{
    cpu_device *cpu = (cpu_device *)device;
    as_pool_free(cpu->pool);
    free(cpu);
}

/* --- Memory --------------------------------------------------------------------------------------- */

static assay_status alloc(assay_env *env, as_device *device, size_t bytes, as_mem *out)
{
    void *memory = NULL;
    bool  large = bytes >= LARGE_BYTES;
    (void)device;
    /* At least one byte, so that a NULL handle always means that there was no memory. */
    if (posix_memalign(&memory, large ? HUGE_PAGE : ALIGN_BYTES, bytes ? bytes : 1))
        return as_fail(env, ASSAY_NO_MEMORY, "cpu: not enough memory for %zu bytes", bytes);
#ifdef MADV_HUGEPAGE
    /* A preference: rows of weights and tensors lie in many small pages, and finding them takes 2 % of a training step.  Only whole
     * large pages, so that not more memory is taken than was asked for. */
    if (large)
        madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
    memset(memory, 0, bytes); /* also touches every page before anything is timed */
    *out = (as_mem){.handle = memory, .host = memory, .bytes = bytes};
    return ASSAY_OK;
}

static void drop(as_device *device, as_mem *mem)
{
    (void)device;
    free(mem->handle);
}

static assay_status put(const as_run_ctx *run, as_device *device, const as_mem *dst, size_t offset, const void *src, size_t n)
{
    (void)device;
    AS_TRY(as_mem_check(run->env, "cpu", "put", dst, offset, n));
    if (n)
        memcpy((char *)dst->host + offset, src, n);
    return ASSAY_OK;
}

static assay_status get(const as_run_ctx *run, as_device *device, const as_mem *src, size_t offset, void *dst, size_t n)
{
    (void)device;
    AS_TRY(as_mem_check(run->env, "cpu", "get", src, offset, n));
    if (n)
        memcpy(dst, (const char *)src->host + offset, n);
    return ASSAY_OK;
}

/* --- Code ------------------------------------------------------------------------------------------- */

static assay_status choose(assay_env *env, as_device *device, const as_node_ctx *n, as_arena *arena, as_choice *out)
{
    const cpu_device *cpu = (const cpu_device *)device;
    return as_kernel_choose(env, as_k_table, n, cpu->isa, cpu->masked, device->n_threads, arena, out);
}

/* An operand: a view without its address, and the buffer that has the address. */
typedef struct operand {
    as_view view;
    int     buffer;
} operand;

typedef struct step {
    const as_node_ctx *ctx;
    const as_kernel   *kernel;
    operand           *in, *out;
    int                scratch, packed[N_PACKED], index, pack_input; /* pack_input -1: runs the node */
} step;

typedef struct code {
    as_arena arena; /* holds all of it but this struct */
    step    *steps;
    int      n_steps;
    bool     fork; /* there is enough work for all threads */
} code;

static as_view view_make(const as_tensor_info *t)
{
    as_view v = as_view_of((void *)t->constant, t->dtype, &t->shape);
    if (t->layout == AS_LAYOUT_NHWC && t->shape.rank > 2) {
        int64_t stride = v.stride[1] = 1;
        stride *= t->shape.dim[1];
        for (int i = t->shape.rank - 1; i > 1; i--) {
            v.stride[i] = stride;
            stride *= t->shape.dim[i];
        }
        v.stride[0] = stride;
    }
    return v;
}

/* Sets the plan's buffer ids beside the views; a constant without a buffer is read from the node. */
static operand *operands_make(as_arena *arena, const as_tensor_info *infos, int n, const int *buffers, int n_buffers)
{
    operand *list = AS_TAKE(arena, operand, n);
    for (int i = 0; list && i < n; i++) {
        list[i].buffer = i < n_buffers ? buffers[i] : -1;
        if (infos[i].dtype != AS_NONE)
            list[i].view = view_make(&infos[i]);
    }
    return list;
}

static bool step_make(as_arena *arena, const as_seg_step *from, step *to)
{
    const as_node_ctx *n = from->ctx;
    *to = (step){.ctx = n,
                 .kernel = from->choice->kernel,
                 .scratch = from->scratch,
                 .index = from->index,
                 .pack_input = from->pack ? from->pack_input : -1};
    memcpy(to->packed, from->packed, sizeof to->packed);
    to->in = operands_make(arena, n->in, n->n_in, from->in, from->n_in);
    to->out = operands_make(arena, n->out, n->n_out, from->out, from->n_out);
    return to->in && to->out;
}

static assay_status step_check(assay_env *env, const as_seg_step *s)
{
    const as_node_ctx *n = s->ctx;
    const as_kernel   *k = s->choice->kernel;
    const char        *name = n->name ? n->name : "";
    if (!k)
        return as_fail(env, ASSAY_INTERNAL, "cpu: step %d, %s '%s', has no kernel", s->index, n->op->name, name);
    if (s->pack &&
        (!k->pack || s->pack_input < 0 || s->pack_input >= N_PACKED || s->pack_input >= n->n_in || s->packed[s->pack_input] < 0))
        return as_fail(env, ASSAY_INTERNAL, "cpu: step %d cannot pack input %d of %s '%s' for %s", s->index, s->pack_input,
                       n->op->name, name, k->name);
    return ASSAY_OK;
}

static uint64_t work(const as_node_ctx *n)
{
    as_cost  cost = n->op->cost(n);
    uint64_t special;
    if (__builtin_mul_overflow(cost.special, FLOPS_SPECIAL, &special) || __builtin_add_overflow(special, cost.flops, &special))
        return UINT64_MAX;
    return special;
}

static void discard(as_device *device, void *handle)
{
    code *c = handle;
    (void)device;
    if (!c)
        return;
    as_arena_drop(&c->arena);
    free(c);
}

/* A recurrent cell with one sample has no work for a second thread. */
static bool can_share(const as_seg_step *s)
{
    const as_kernel *k = s->choice->kernel;
    return !k->shares || k->shares(s->ctx) > 1;
}

static assay_status compile(assay_env *env, as_device *device, const as_segment *segment, void **out)
{
    for (int i = 0; i < segment->n_steps; i++)
        AS_TRY(step_check(env, &segment->steps[i]));
    code *c = calloc(1, sizeof *c);
    if (c)
        c->steps = AS_TAKE(&c->arena, step, segment->n_steps);
    bool     ok = c && c->steps;
    uint64_t total = 0;
    for (int i = 0; ok && i < segment->n_steps; i++) {
        ok = step_make(&c->arena, &segment->steps[i], &c->steps[c->n_steps++]);
        if (can_share(&segment->steps[i]) && __builtin_add_overflow(total, work(segment->steps[i].ctx), &total))
            total = UINT64_MAX;
    }
    if (!ok) {
        discard(device, c);
        return as_fail(env, ASSAY_NO_MEMORY, "cpu: not enough memory for a segment of %d steps", segment->n_steps);
    }
    c->fork = total >= FORK_FLOPS;
    *out = c;
    return ASSAY_OK;
}

/* --- Execution ------------------------------------------------------------------------------------- */

typedef struct job {
    cpu_device        *cpu;
    const code        *code;
    const as_bindings *bindings;
    const as_run_ctx  *run;
    const as_recorder *recorder; /* NULL: record no steps */
    assay_status       status;   /* part 0's alone */
    /* The last step to run, set by part 0 before that step's barrier.  It is a number, not a flag: a part that is slow to
     * leave a barrier may already see the decision about the next step, and must still reach its barrier. */
    atomic_int last;
} job;

static void *address(const job *j, int buffer) { return buffer < 0 ? NULL : as_slot_host(j->bindings, buffer); }

static void views_bind(const job *j, const operand *operands, int n, as_view *views)
{
    for (int i = 0; i < n; i++) {
        views[i] = operands[i].view;
        if (operands[i].buffer >= 0)
            views[i].data = address(j, operands[i].buffer);
    }
}

static void step_run(job *j, const step *s, int part, int n_parts)
{
    as_view     in[AS_MAX_IN], out[AS_MAX_OUT];
    const void *packed[AS_MAX_IN];
    views_bind(j, s->in, s->ctx->n_in, in);
    views_bind(j, s->out, s->ctx->n_out, out);
    as_kernel_args args = {
        .ctx = s->ctx, .in = in, .out = out, .packed = packed, .step = j->run->step, .env = j->run->env, .status = &j->status};
    if (s->pack_input >= 0) {
        s->kernel->pack(&args, s->pack_input, address(j, s->packed[s->pack_input]), part, n_parts);
        return;
    }
    for (int i = 0; i < s->ctx->n_in || i < N_PACKED; i++)
        packed[i] = i < N_PACKED ? address(j, s->packed[i]) : NULL;
    s->kernel->run(&args, part, n_parts, address(j, s->scratch));
    if (s->kernel->finish) {
        if (n_parts > 1)
            as_pool_barrier(j->cpu->pool, part);
        s->kernel->finish(&args, part, n_parts, address(j, s->scratch));
    }
}

/* Only part 0 can fail (in the reference code) or checks for a cancel. */
static void verdict(job *j, int i)
{
    if (j->status == ASSAY_OK && as_run_cancelled(j->run) && i + 1 < j->code->n_steps)
        j->status = as_fail(j->run->env, ASSAY_CANCELLED, "cpu: cancelled after step %d", j->code->steps[i].index);
    if (j->status != ASSAY_OK)
        atomic_store_explicit(&j->last, i, memory_order_relaxed);
}

/* A part's own span ends before the barrier, the step's span after it. */
static void part_run(void *arg, int part, int n_parts)
{
    job               *j = arg;
    const as_recorder *r = j->recorder;
    const as_clock    *clock = j->run->clock;
    for (int i = 0; i <= atomic_load_explicit(&j->last, memory_order_relaxed); i++) {
        const step *s = &j->code->steps[i];
        uint64_t    begin = r ? as_clock_now(clock) : 0;
        step_run(j, s, part, n_parts);
        if (r && r->detail >= AS_DETAIL_PART && part < r->n_rings)
            as_ring_add(&r->rings[part], AS_SPAN_PART, s->index, begin, as_clock_now(clock));
        if (part == 0)
            verdict(j, i);
        if (n_parts > 1)
            as_pool_barrier(j->cpu->pool, part);
        if (r && part == 0)
            as_ring_add(&r->rings[0], AS_SPAN_STEP, s->index, begin, as_clock_now(clock));
    }
}

static assay_status execute(const as_run_ctx *run, as_device *device, void *handle, const as_bindings *bindings)
{
    cpu_device *cpu = (cpu_device *)device;
    job j = {.cpu = cpu, .code = handle, .bindings = bindings, .run = run, .recorder = as_run_recorder(run, AS_DETAIL_STEP)};
    atomic_init(&j.last, j.code->n_steps - 1);
    /* Threads may share a plan, but not its pool: the second one runs alone, and gets the same bits. */
    bool alone = !j.code->fork || atomic_flag_test_and_set_explicit(&cpu->pool_taken, memory_order_acquire);
    if (alone) {
        part_run(&j, 0, 1);
    } else {
        as_pool_run(cpu->pool, part_run, &j);
        atomic_flag_clear_explicit(&cpu->pool_taken, memory_order_release);
    }
    return j.status;
}

static void each_thread(as_device *device, as_pool_fn fn, void *arg) { as_pool_run(((cpu_device *)device)->pool, fn, arg); }

static as_pool_waits waits(as_device *device) { return as_pool_waits_read(((cpu_device *)device)->pool); }

const as_backend as_be_cpu = {
    .name = "cpu",
    .help = "this machine's CPU, by assay's own kernels",
    .syntax = "cpu",
    .list = list,
    .open = open_cpu,
    .close = close_cpu,
    .alloc = alloc,
    .drop = drop,
    .put = put,
    .get = get,
    .choose = choose,
    .compile = compile,
    .execute = execute,
    .discard = discard,
    .each_thread = each_thread,
    .waits = waits,
};
