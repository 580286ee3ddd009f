/* arm_plan.c - an instance of a plan as a candidate: each launch gets other memory, or all candidates share memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run/sampler.h"
#include "run/shots.h"

enum { PAGE = 4096, LINE = 64, MAX_PAGES = 256 };

/* --- Memory that candidates share ----------------------------------------------------------------------------- */

struct as_slab {
    as_mem      mem;
    void       *block;
    const void *user; /* the candidate whose tensors are in it */
};

assay_status as_slab_new(assay_env *env, as_slab **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "measure: not enough memory for what candidates share");
}

void as_slab_free(as_slab *slab)
{
    if (slab)
        free(slab->block);
    free(slab);
}

/* Before the first launch: makes it large enough for every candidate. */
static assay_status slab_grow(assay_env *env, as_slab *slab, size_t bytes)
{
    if (bytes <= slab->mem.bytes)
        return ASSAY_OK;
    void *block = NULL;
    if (posix_memalign(&block, PAGE, bytes))
        return as_fail(env, ASSAY_NO_MEMORY, "measure: not enough memory for %zu bytes that candidates share", bytes);
    memset(block, 0, bytes);
    free(slab->block);
    slab->block = block;
    slab->mem = (as_mem){.host = block, .bytes = bytes};
    return ASSAY_OK;
}

/* --- The candidate ---------------------------------------------------------------------------------------------- */

typedef struct plan_arm {
    const assay_plan *plan;
    assay_instance   *instance;
    as_slab          *slab;
    uint64_t          seed;
    bool              random, reads_cpu, is_known;
    char              what[256];
} plan_arm;

uint64_t as_outputs_hash(const assay_instance *instance)
{
    uint64_t hash = 0;
    for (int i = 0; i < instance->plan->graph.n_outputs; i++) {
        as_view  view = as_instance_output(instance, i);
        uint64_t both[2] = {hash, as_hash64(view.data, as_view_bytes(&view))};
        hash = as_hash64(both, sizeof both);
    }
    return hash ? hash : 1; /* 0 means "not known" */
}

double as_outputs_error(const assay_instance *got, const assay_instance *want)
{
    double worst = 0;
    for (int i = 0; i < want->plan->graph.n_outputs && !isnan(worst); i++) {
        as_view x = as_instance_output(got, i), y = as_instance_output(want, i);
        double  error = as_view_error(&x, &y);
        worst = error > worst || isnan(error) ? error : worst;
    }
    return worst;
}

static as_ledger ledger_of(const assay_plan *plan)
{
    as_ledger l = {.flops = 0};
    for (int i = plan->n_prologue; i < plan->n_steps; i++) {
        const as_cost *c = &plan->steps[i].cost;
        l.flops += (double)c->flops;
        l.bytes += (double)(c->bytes_read + c->bytes_written);
        l.launches++;
    }
    for (int d = 0; d < plan->n_devices; d++)
        l.peak_bytes += (double)plan->device_bytes[d];
    return l;
}

static void land(void *self)
{
    plan_arm *a = self;
    assay_instance_free(a->instance);
    a->instance = NULL;
    if (a->slab && a->slab->user == a)
        a->slab->user = NULL;
}

/* The slab holds another candidate's tensors: inputs and packed weights are made again. */
static void take_slab(plan_arm *a)
{
    if (!a->slab || a->slab->user == a)
        return;
    as_instance_refresh(a->instance);
    assay_instance_fill(a->instance, a->seed);
    a->slab->user = a;
}

static assay_status call(assay_env *env, void *self) { return as_instance_step(AS_RUN(env), self); }

static assay_status launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    plan_arm *a = self;
    land(a);
    size_t offset = a->random ? seed % MAX_PAGES * PAGE + seed / MAX_PAGES % (PAGE / LINE) * LINE : 0;
    AS_TRY(as_instance_new_at(env, a->plan, offset, a->slab ? &a->slab->mem : NULL, &a->instance));
    assay_instance_fill(a->instance, a->seed);
    if (a->slab)
        a->slab->user = a;
    AS_TRY(as_first_calls(env, call, a->instance, info->first_ns));
    if (!a->is_known) {
        info->hash = as_outputs_hash(a->instance);
        info->ledger = ledger_of(a->plan);
        a->is_known = true;
    }
    return ASSAY_OK;
}

static assay_status block(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots, uint32_t *switches)
{
    plan_arm *a = self;
    bool      fresh = a->slab && a->slab->user != a;
    take_slab(a);
    if (warm || fresh)
        AS_TRY(call(env, a->instance));
    return as_shots_take(env, a->what, call, a->instance, a->reads_cpu, calls, n, (as_stamps){0}, shots, switches);
}

assay_status as_arm_plan(assay_env *env, const char *name, const assay_plan *plan, uint64_t seed, as_slab *slab, bool random,
                         as_arm *out)
{
    plan_arm *a = calloc(1, sizeof *a);
    if (!a)
        return as_fail(env, ASSAY_NO_MEMORY, "measure: not enough memory for the candidate '%s'", name);
    as_plan_clock(env, plan); /* the sampler reads the clock before the first launch */
    bool reads_cpu = env->clock.kind != AS_CLOCK_FAKE && plan->n_devices == 1 && plan->devices[0]->n_threads == 1;
    *a = (plan_arm){.plan = plan, .slab = slab, .seed = seed, .random = random, .reads_cpu = reads_cpu};
    snprintf(a->what, sizeof a->what, "%s on %s, %d thread%s", plan->model->source, as_plan_wanted(plan)->name,
             plan->devices[0]->n_threads, plan->devices[0]->n_threads == 1 ? "" : "s");
    if (slab) {
        assay_status status = slab_grow(env, slab, (size_t)plan->device_bytes[0]);
        if (status != ASSAY_OK) {
            free(a);
            return status;
        }
    }
    *out = (as_arm){.name = name,
                    .what = a->what,
                    .self = a,
                    .by_cpu = reads_cpu,
                    .launch = launch,
                    .block = block,
                    .land = land,
                    .drop = free};
    return ASSAY_OK;
}

const assay_instance *as_arm_plan_instance(const as_arm *arm) { return ((const plan_arm *)arm->self)->instance; }

assay_instance *as_arm_plan_take(const as_arm *arm)
{
    plan_arm *a = arm->self;
    take_slab(a);
    return a->instance;
}
