/* build.c - from a model and options to a plan: devices, sizes, passes, steps, memory, code. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/given.h"
#include "plan/lower.h"
#include "plan/pieces.h"
#include "plan/variable.h"

const char *as_buffer_role_text(as_buffer_role role)
{
    static const char *const texts[] = {
        [AS_BUF_INPUT] = "input",       [AS_BUF_OUTPUT] = "output",         [AS_BUF_PARAM] = "param",
        [AS_BUF_CONSTANT] = "constant", [AS_BUF_ACTIVATION] = "activation", [AS_BUF_PACKED] = "packed",
        [AS_BUF_SCRATCH] = "scratch",   [AS_BUF_VARIABLE] = "variable",
    };
    return texts[role];
}

/* --- Sizes --------------------------------------------------------------------------------------------- */

static bool model_has_symbol(const assay_model *model, const char *symbol)
{
    for (int i = 0; i < model->n_values; i++)
        for (int k = 0; k < model->values[i].dims.rank; k++) {
            const char *s = model->values[i].dims.dim[k].symbol;
            if (s && !strcmp(s, symbol))
                return true;
        }
    return false;
}

static assay_status dim_parse(assay_env *env, as_arena *arena, const char *text, as_binding_dim *out)
{
    const char *equals = strchr(text, '=');
    int64_t     size;
    if (!equals || equals == text || !as_parse_i64(equals + 1, &size) || size < 0)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: --dim %s: expected NAME=N with N a whole number from 0", text);
    char *symbol = as_arena_text_n(arena, text, (size_t)(equals - text));
    if (!symbol)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the name of a dimension");
    *out = (as_binding_dim){symbol, size};
    return ASSAY_OK;
}

/* --batch is short for --dim batch=N and --seq for --dim seq=N; their defaults must not affect a model without these symbols. */
static assay_status dims_read(assay_env *env, const assay_model *model, const as_plan_options *o, assay_plan *plan)
{
    size_t n_given = o->dims.n;
    size_t n_axes = 0;
    for (int i = 0; i < model->n_inputs; i++)
        n_axes += (size_t)model->values[model->inputs[i]].dims.rank;
    as_binding_dim *dims = AS_TAKE(&plan->arena, as_binding_dim, n_given + n_axes + 2);
    if (!dims)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for %zu dimensions", n_given);
    int  n = 0;
    bool has_batch = false, batch_is_set = o->batch_is_set;
    bool has_seq = false, seq_is_set = o->seq_is_set;
    for (size_t i = 0; i < n_given; i++) {
        AS_TRY(dim_parse(env, &plan->arena, o->dims.items[i], &dims[n]));
        for (int k = 0; k < n; k++)
            if (!strcmp(dims[k].symbol, dims[n].symbol))
                return as_fail(env, ASSAY_BAD_INPUT, "plan: --dim %s is given twice, as %lld and as %lld", dims[n].symbol,
                               (long long)dims[k].size, (long long)dims[n].size);
        has_batch |= !strcmp(dims[n].symbol, "batch");
        has_seq |= !strcmp(dims[n].symbol, "seq");
        n++;
    }
    int64_t batch = o->batch;
    if (batch_is_set && has_batch)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: --batch %lld and --dim batch=... are both given; give one", (long long)batch);
    if (batch_is_set && !model_has_symbol(model, "batch"))
        return as_fail(env, ASSAY_BAD_INPUT, "plan: --batch %lld: the batch size of the model '%s' is fixed", (long long)batch,
                       model->name);
    int64_t seq = o->seq;
    if (seq_is_set && has_seq)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: --seq %lld and --dim seq=... are both given; give one", (long long)seq);
    if (seq_is_set && !model_has_symbol(model, "seq"))
        return as_fail(env, ASSAY_BAD_INPUT, "plan: --seq %lld: the sequence length of the model '%s' is fixed", (long long)seq,
                       model->name);
    if (seq_is_set)
        dims[n++] = (as_binding_dim){"seq", seq}; /* before the files: binding reports a file of another length */
    n = as_given_dims(plan, batch_is_set, dims, n);
    for (int k = 0; k < n; k++) {
        has_batch |= !strcmp(dims[k].symbol, "batch");
        has_seq |= !strcmp(dims[k].symbol, "seq");
    }
    if (!has_seq && model_has_symbol(model, "seq"))
        dims[n++] = (as_binding_dim){"seq", seq};
    if (!has_batch && model_has_symbol(model, "batch"))
        dims[n++] = (as_binding_dim){"batch", batch};
    plan->dims = dims;
    plan->n_dims = n;
    return ASSAY_OK;
}

/* --- Devices ------------------------------------------------------------------------------------------- */

assay_status as_plan_borrow(assay_env *env, assay_plan *plan, as_device *const *devices, size_t n)
{
    size_t host = n;
    plan->devices = AS_TAKE(&plan->arena, as_device *, n);
    plan->order = AS_TAKE(&plan->arena, int, n);
    plan->shares = AS_TAKE(&plan->arena, as_plan_share, n);
    if (!plan->devices || !plan->order || !plan->shares)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for its devices");
    for (size_t i = n; i-- > 0;)
        if (devices[i]->host_memory)
            host = i;
    if (host == n)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: the %zu devices do not include the cpu, which holds inputs and outputs", n);
    plan->devices[plan->n_devices++] = devices[host];
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            if (devices[k] == devices[i])
                return as_fail(env, ASSAY_BAD_INPUT, "plan: device '%s' is given twice", devices[i]->name);
        plan->order[i] = i == host ? 0 : plan->n_devices;
        if (i != host)
            plan->devices[plan->n_devices++] = devices[i];
    }
    return ASSAY_OK;
}

enum { MAX_DEVICES = 16 };

/* Opens the devices of the options, in order of preference, and then the host if it is not among them. */
static assay_status specs_open(assay_env *env, const as_plan_options *o, as_device **devices, size_t *n)
{
    /* The laboratory sets one device by its key, which overrides the list of the user's options. */
    bool     many = o->devices.n > 1 && !strcmp(o->devices.items[o->devices.n - 1], o->device);
    as_texts specs = many ? o->devices : (as_texts){&o->device, 1};
    bool     has_host = false;
    if (specs.n >= MAX_DEVICES)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: --device is given %zu times; at most %d are possible", specs.n,
                       MAX_DEVICES - 1);
    for (size_t i = 0; i < specs.n; i++) {
        for (size_t k = 0; k < i; k++)
            if (!strcmp(specs.items[i], specs.items[k]))
                return as_fail(env, ASSAY_BAD_INPUT, "plan: --device %s is given twice", specs.items[i]);
        AS_TRY(as_device_open(env, specs.items[i], o->threads, &devices[*n]));
        has_host = devices[(*n)++]->host_memory || has_host;
    }
    return has_host ? ASSAY_OK : as_device_open(env, "cpu", o->threads, &devices[(*n)++]);
}

static assay_status devices_open(assay_env *env, const as_plan_options *o, assay_plan *plan)
{
    as_device   *devices[MAX_DEVICES] = {NULL};
    size_t       n = 0;
    assay_status status = specs_open(env, o, devices, &n);
    if (status == ASSAY_OK)
        status = as_plan_borrow(env, plan, devices, n);
    plan->owns_devices = status == ASSAY_OK;
    for (size_t i = 0; status != ASSAY_OK && i < MAX_DEVICES; i++)
        as_device_close(devices[i]);
    if (status != ASSAY_OK)
        plan->n_devices = 0;
    return status;
}

/* A device that ran nothing is refused: otherwise its name would be shown with the CPU's times. */
static assay_status shares_check(assay_env *env, const assay_plan *plan)
{
    for (int i = 0; i < plan->n_devices; i++) {
        const as_plan_share *share = &plan->shares[i];
        if (i && !share->n_nodes && share->n_refused)
            return as_fail(env, ASSAY_UNSUPPORTED, "plan: device '%s' takes none of the %d step%s of '%s': %s: %s",
                           plan->devices[i]->name, share->n_refused, share->n_refused == 1 ? "" : "s", plan->model->name,
                           share->first_refused, share->why);
    }
    return ASSAY_OK;
}

/* --- Passes -------------------------------------------------------------------------------------------- */

static int by_order(const void *a, const void *b)
{
    const as_pass *x = *(const as_pass *const *)a, *y = *(const as_pass *const *)b;
    return x->order != y->order ? (x->order < y->order ? -1 : 1) : strcmp(x->name, y->name);
}

/* Leaves room for two more notes, which lowering writes: views that alias, results in place. */
static assay_status passes_run(assay_env *env, assay_plan *plan)
{
    int n = 0;
    while (as_ps_table[n])
        n++;
    const as_pass **passes = AS_TAKE(&plan->arena, const as_pass *, n);
    plan->passes = AS_TAKE(&plan->arena, as_pass_note, n + 2);
    if (!passes || !plan->passes)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for %d passes", n);
    for (int i = 0; i < n; i++)
        passes[i] = as_ps_table[i];
    qsort(passes, (size_t)n, sizeof *passes, by_order);
    as_pass_ctx ctx = {.device = as_plan_wanted(plan),
                       .winograd = plan->winograd,
                       .weights_as = plan->weights_as,
                       .variables = plan->variables,
                       .n_variables = plan->n_variables};
    for (int i = 0; i < n && plan->compiled; i++) {
        as_pass_note *note = &plan->passes[plan->n_passes++];
        *note = (as_pass_note){.pass = passes[i]->name, .text = passes[i]->help};
        AS_TRY(passes[i]->run(env, &plan->graph, &ctx, note));
    }
    return ASSAY_OK;
}

/* --- The plan ------------------------------------------------------------------------------------------ */

static assay_status build(assay_env *env, const assay_model *model, const as_plan_options *o, const as_plan_with *with,
                          assay_plan *plan)
{
    plan->model = model;
    if (o->compile == AS_PLAN_BOTH)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: compile both makes two plans, which only `profile` compares; use on or off");
    plan->compiled = o->compile == AS_PLAN_COMPILED;
    plan->winograd = o->winograd;
    plan->reuse = o->reuse == AS_PLAN_REUSE;
    plan->in_place = o->in_place == AS_PLAN_IN_PLACE_AUTO ? plan->compiled : o->in_place == AS_PLAN_IN_PLACE_ON;
    plan->weights_as = as_arena_text(&plan->arena, o->weights_as);
    if (!plan->weights_as)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for its options");
    plan->seed = o->seed;
    const as_known_input *known;
    int                   n_known;
    AS_TRY(as_given_read(env, o, plan));
    AS_TRY(dims_read(env, model, o, plan));
    AS_TRY(with->devices ? as_plan_borrow(env, plan, with->devices, with->n_devices) : devices_open(env, o, plan));
    AS_TRY(as_given_known(env, plan, &known, &n_known));
    AS_TRY(as_graph_bind(env, model, plan->dims, plan->n_dims, known, n_known, plan->seed, &plan->arena, &plan->graph));
    AS_TRY(as_graph_expand(env, model, plan->seed, !plan->compiled, &plan->graph));
    for (int i = 0; i < plan->graph.n_inputs; i++)
        plan->n_fixed += plan->graph.values[plan->graph.inputs[i]].info.constant != NULL;
    AS_TRY(as_variables_declare(env, plan, with->variables, with->n_variables));
    AS_TRY(passes_run(env, plan));
    AS_TRY(as_plan_claim(env, plan));
    as_pass_note alias = {.pass = "alias", .text = "Reshape and Flatten share the memory of what they reshape"};
    as_pass_note in_place = {.pass = "in place", .text = "a result takes the memory of an operand that nothing reads later"};
    AS_TRY(as_plan_lower(env, plan, &alias, &in_place));
    if (plan->owns_devices)
        AS_TRY(shares_check(env, plan));
    if (plan->compiled || in_place.n_changed) {
        plan->passes[plan->n_passes++] = alias;
        plan->passes[plan->n_passes++] = in_place;
    }
    AS_TRY(as_plan_place(env, plan));
    return as_plan_segments(env, plan);
}

assay_status as_plan_dims(assay_env *env, const assay_model *model, const as_plan_options *options, as_arena *arena,
                          const as_binding_dim **out, int *n)
{
    assay_plan   plan = {.model = model, .arena = *arena};
    assay_status status = ASSAY_NO_MEMORY;
    plan.given = AS_TAKE(&plan.arena, as_given, model->n_inputs); /* no files */
    if (plan.given)
        status = dims_read(env, model, options, &plan);
    *arena = plan.arena;
    *out = plan.dims;
    *n = plan.n_dims;
    return status;
}

assay_status as_plan_build(assay_env *env, const assay_model *model, const as_plan_options *options, assay_plan **out)
{
    return as_plan_build_with(env, model, options, &(as_plan_with){0}, out);
}

assay_status assay_plan_build_on(assay_env *env, const assay_model *model, assay_device *const *devices, size_t n_devices,
                                 const assay_options *options, assay_plan **out)
{
    static const char *const taken[] = {"device", "threads"};
    as_plan_options          o;
    for (size_t i = 0; i < AS_COUNT(taken); i++)
        if (as_options_is_set(options, taken[i]))
            return as_fail(env, ASSAY_BAD_INPUT, "plan: %s is set to %s, but the plan uses devices that are already open", taken[i],
                           as_options_text(options, taken[i]));
    if (!n_devices)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: no device is given");
    AS_TRY(as_plan_options_read(env, options, &o));
    return as_plan_build_with(env, model, &o, &(as_plan_with){.devices = devices, .n_devices = n_devices}, out);
}

assay_status as_plan_build_with(assay_env *env, const assay_model *model, const as_plan_options *options, const as_plan_with *with,
                                assay_plan **out)
{
    uint64_t    begin = as_clock_now(&env->clock);
    assay_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for a plan of '%s'", model->name);
    assay_status status = build(env, model, options, with, plan);
    if (status != ASSAY_OK) {
        assay_plan_free(plan);
        return status;
    }
    plan->build_ns = as_clock_ns(&env->clock, as_clock_now(&env->clock) - begin);
    /* A device with simulated time does not time the planning; its report must not mix in times of another clock. */
    bool told = env->clock.kind == AS_CLOCK_FAKE;
    for (int d = 0; d < plan->n_devices; d++)
        told |= plan->devices[d]->tells_time;
    if (told)
        plan->build_ns = plan->compile_ns = NAN;
    *out = plan;
    return ASSAY_OK;
}

assay_status assay_plan_build(assay_env *env, const assay_model *model, const assay_options *options, assay_plan **out)
{
    as_plan_options o;
    AS_TRY(as_plan_options_read(env, options, &o));
    return as_plan_build(env, model, &o, out);
}

void assay_plan_free(assay_plan *plan)
{
    if (!plan)
        return;
    for (int i = 0; i < plan->n_segments; i++)
        if (plan->segments[i].code) {
            as_device *device = plan->devices[plan->segments[i].device];
            device->backend->discard(device, plan->segments[i].code);
        }
    for (int d = 0; plan->owns_devices && d < plan->n_devices; d++)
        as_device_close(plan->devices[d]);
    as_given_drop(plan);
    as_arena_drop(&plan->arena);
    free(plan);
}

uint64_t assay_plan_peak_bytes(const assay_plan *plan)
{
    uint64_t sum = 0;
    for (int d = 0; d < plan->n_devices; d++)
        sum += plan->device_bytes[d];
    return sum;
}
