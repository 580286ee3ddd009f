/* be_null.c - a device that computes nothing and takes exactly as long as it was told: "null:gemm=5us,*=2us,put=1us".
 *
 * "limit.fma.f32=1e9" gives it a limit.  With `graph` it takes pieces of graphs as one, as the runtime of another vendor does:
 * "null:graph,piece=3ms,without=Softmax".  With `truth` too it does compute them, with the operators' reference code, so that a
 * test can check what a plan does around such a device.
 *
 * It is for testing assay itself.  Every output is zeros.  Its time is told, not measured: it moves the clock of the run, which is
 * a fake one, so that a report about it is exact to the nanosecond and the same on every machine, and two runs that share the
 * device do not disturb each other.  Its memory has no host address, so a plan that forgets a transfer does not work by
 * accident. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backend/backend.h"
#include "base/text.h"
#include "op/rules.h"

extern const as_backend as_be_null;

#define DEFAULT_NS 1000u
#define LIMIT      "limit."
enum { MOST_LIMITS = 16 };

static const as_caps caps = {.dtypes = AS_SET_ANY};

/* The device's kernel for an op: how long it takes. */
typedef struct timing {
    const as_op *op;
    const char  *why;
    uint64_t     ns;
    bool         given;
} timing;

typedef struct null_device {
    as_device       device;
    as_arena        arena;
    timing         *timings; /* one per op of the table */
    int             n_timings;
    uint64_t        put_ns, get_ns, default_ns;
    bool            put_given, get_given, default_given;
    as_device_meter limits[MOST_LIMITS]; /* given too: "limit.fma.f32=1e9" */
    int             n_limits;
    bool            truth;    /* for graphs: computes with the reference code */
    bool           *without;  /* one per op: never claimed */
    uint64_t        piece_ns; /* of a piece, instead of the sum over its nodes */
    bool            piece_given;
} null_device;

/* --- The spec ----------------------------------------------------------------------------------- */

/* "gemm" and "convgradw" for "Gemm" and "assay.ConvGradW". */
static const char *short_name(const as_op *op)
{
    const char *dot = strrchr(op->name, '.');
    return dot ? dot + 1 : op->name;
}

static char *lower_copy(as_arena *arena, const char *text)
{
    char *copy = as_arena_text(arena, text);
    for (char *c = copy; c && *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return copy;
}

static assay_status unknown(assay_env *env, null_device *d, const char *args, const char *name)
{
    const char **words = AS_TAKE(&d->arena, const char *, d->n_timings + 3);
    const char  *lower = lower_copy(&d->arena, name);
    bool         ok = words && lower;
    int          n = 0;
    for (; ok && n < d->n_timings; n++)
        ok = (words[n] = lower_copy(&d->arena, short_name(d->timings[n].op))) != NULL;
    if (!ok)
        return as_fail(env, ASSAY_NO_MEMORY, "device 'null:%s': not enough memory for the names of %d ops", args, d->n_timings);
    words[n++] = "put";
    words[n] = "get";
    const char *near = as_nearest(lower, words);
    if (near)
        return as_fail(env, ASSAY_BAD_INPUT, "device 'null:%s': unknown op '%s'; did you mean '%s'?", args, name, near);
    return as_fail(env, ASSAY_BAD_INPUT, "device 'null:%s': unknown op '%s'; known: the names of ops, put, get and *", args, name);
}

static int op_find(const null_device *d, const char *name)
{
    for (int i = 0; i < d->n_timings; i++)
        if (!strcasecmp(name, d->timings[i].op->name) || !strcasecmp(name, short_name(d->timings[i].op)))
            return i;
    return -1;
}

/* Reads what is not a time: graph, truth, without=OP. False: it is a time. */
static bool word_read(null_device *d, const char *item, const char **bad_op)
{
    if (!strcasecmp(item, "graph")) {
        d->device.caps.takes_graphs = d->device.caps.span_per_segment = true;
        return true;
    }
    if (!strcasecmp(item, "truth"))
        return d->truth = true;
    if (strncasecmp(item, "without=", 8))
        return false;
    int op = op_find(d, item + 8);
    if (op < 0)
        *bad_op = item + 8;
    else
        d->without[op] = true;
    return true;
}

static assay_status set(assay_env *env, null_device *d, const char *args, const char *name, uint64_t ns)
{
    uint64_t *where = NULL;
    bool     *given = NULL;
    if (!strcmp(name, "*")) {
        where = &d->default_ns, given = &d->default_given;
    } else if (!strcasecmp(name, "put")) {
        where = &d->put_ns, given = &d->put_given;
    } else if (!strcasecmp(name, "get")) {
        where = &d->get_ns, given = &d->get_given;
    } else if (!strcasecmp(name, "piece")) {
        where = &d->piece_ns, given = &d->piece_given;
    }
    int op = where ? -1 : op_find(d, name);
    if (op >= 0)
        where = &d->timings[op].ns, given = &d->timings[op].given;
    if (!where)
        return unknown(env, d, args, name);
    if (*given)
        return as_fail(env, ASSAY_BAD_INPUT, "device 'null:%s': the time of '%s' is given twice", args, name);
    *where = ns;
    *given = true;
    return ASSAY_OK;
}

/* "limit.fma.f32=1e9": a rate per second; "limit.launch=5us": a time. */
static assay_status limit_set(assay_env *env, null_device *d, const char *args, const char *name, const char *text)
{
    bool        is_time = !strcmp(name, "launch");
    uint64_t    ns = 0;
    double      value;
    const char *kept = as_arena_text(&d->arena, name);
    if (is_time ? !as_parse_duration_ns(text, &ns) || !ns : !as_parse_f64(text, &value) || !(value > 0) || value > 1e300)
        return as_fail(env, ASSAY_BAD_INPUT, "device 'null:%s': the limit '%s' is '%s', not %s", args, name, text,
                       is_time ? "a duration above 0" : "a rate per second above 0, such as 1e9");
    for (int i = 0; i < d->n_limits; i++)
        if (!strcmp(d->limits[i].name, name))
            return as_fail(env, ASSAY_BAD_INPUT, "device 'null:%s': the limit '%s' is given twice", args, name);
    if (!kept || d->n_limits == MOST_LIMITS)
        return as_fail(env, ASSAY_NO_MEMORY, "device 'null:%s': more than %d limits", args, MOST_LIMITS);
    d->limits[d->n_limits++] = (as_device_meter){.name = kept,
                                                 .unit = is_time                    ? "ns"
                                                         : !strncmp(name, "fma", 3) ? "flop/s"
                                                         : !strncmp(name, "exp", 3) ? "element/s"
                                                                                    : "byte/s",
                                                 .what = "given to the device",
                                                 .per_pass = 1,
                                                 .told = is_time ? (double)ns : value};
    return ASSAY_OK;
}

static assay_status spec_read(assay_env *env, null_device *d, const char *args)
{
    char *text = as_arena_text(&d->arena, args), *rest = text;
    if (!text)
        return as_fail(env, ASSAY_NO_MEMORY, "device 'null:%s': not enough memory for its times", args);
    while (rest) {
        char *item = rest, *comma = strchr(item, ','), *equals;
        rest = comma ? comma + 1 : NULL;
        if (comma)
            *comma = '\0';
        const char *bad_op = NULL;
        bool        is_word = word_read(d, item, &bad_op);
        if (bad_op)
            return unknown(env, d, args, bad_op);
        if (is_word)
            continue;
        equals = strchr(item, '=');
        if (!equals || equals == item)
            return as_fail(env, ASSAY_BAD_INPUT, "device 'null:%s': '%s' is not OP=TIME", args, item);
        *equals = '\0';
        uint64_t ns;
        if (!strncmp(item, LIMIT, strlen(LIMIT))) {
            AS_TRY(limit_set(env, d, args, item + strlen(LIMIT), equals + 1));
            continue;
        }
        if (!as_parse_duration_ns(equals + 1, &ns))
            return as_fail(env, ASSAY_BAD_INPUT,
                           "device 'null:%s': the time of '%s' is '%s', not a duration such as 250ns, 5us or 1.5ms", args, item,
                           equals + 1);
        AS_TRY(set(env, d, args, item, ns));
    }
    const char *alone = d->truth ? "truth" : d->piece_given ? "piece=TIME" : NULL;
    for (int i = 0; !alone && i < d->n_timings; i++)
        alone = d->without[i] ? "without=OP" : NULL;
    if (alone && !d->device.caps.takes_graphs)
        return as_fail(env, ASSAY_BAD_INPUT, "device 'null:%s': %s needs `graph` before it", args, alone);
    return ASSAY_OK;
}

/* --- Opening -------------------------------------------------------------------------------------- */

static void list(assay_env *env, as_device_found found, void *arg)
{
    (void)env;
    found(arg, "null", "computes nothing and takes the times that are given, on a simulated clock", &caps, NULL);
}

static void close_null(as_device *device)
{
    null_device *d = (null_device *)device;
    as_arena_drop(&d->arena);
    free(d);
}

static assay_status fill(assay_env *env, null_device *d, const char *args)
{
    while (as_op_table[d->n_timings])
        d->n_timings++;
    d->timings = AS_TAKE(&d->arena, timing, d->n_timings);
    d->without = AS_TAKE(&d->arena, bool, d->n_timings);
    d->device.name = args ? as_arena_printf(&d->arena, "null:%s", args) : "null";
    if (!d->timings || !d->without || !d->device.name)
        return as_fail(env, ASSAY_NO_MEMORY, "device 'null': not enough memory for the times of %d ops", d->n_timings);
    for (int i = 0; i < d->n_timings; i++)
        d->timings[i].op = as_op_table[i];
    if (args)
        AS_TRY(spec_read(env, d, args));
    for (int i = 0; i < d->n_timings; i++) {
        timing *t = &d->timings[i];
        if (!t->given)
            t->ns = d->default_ns;
        t->why = as_arena_printf(&d->arena, "takes %llu ns, %s", (unsigned long long)t->ns,
                                 t->given           ? "as given for this op"
                                 : d->default_given ? "as given for every op"
                                                    : "the default");
        if (!t->why)
            return as_fail(env, ASSAY_NO_MEMORY, "device 'null': not enough memory for the times of %d ops", d->n_timings);
    }
    return ASSAY_OK;
}

static assay_status open_null(assay_env *env, const char *args, int n_threads, as_device **out)
{
    (void)n_threads;
    null_device *d = calloc(1, sizeof *d);
    if (!d)
        return as_fail(env, ASSAY_NO_MEMORY, "device 'null': not enough memory for %zu bytes", sizeof *d);
    d->device = (as_device){.backend = &as_be_null,
                            .text = "computes nothing and takes the times that are given",
                            .n_threads = 1,
                            .tells_time = true,
                            .align = 64,
                            .caps = caps};
    d->default_ns = DEFAULT_NS;
    assay_status status = fill(env, d, args);
    if (status != ASSAY_OK) {
        close_null(&d->device);
        return status;
    }
    *out = &d->device;
    return ASSAY_OK;
}

/* --- Memory --------------------------------------------------------------------------------------- */

static assay_status alloc(assay_env *env, as_device *device, size_t bytes, as_mem *out)
{
    void *memory = calloc(bytes ? bytes : 1, 1);
    (void)device;
    if (!memory)
        return as_fail(env, ASSAY_NO_MEMORY, "null: not enough memory for %zu bytes", bytes);
    *out = (as_mem){.handle = memory, .bytes = bytes};
    return ASSAY_OK;
}

static void drop(as_device *device, as_mem *mem)
{
    (void)device;
    free(mem->handle);
}

static assay_status put(const as_run_ctx *run, as_device *device, const as_mem *dst, size_t offset, const void *src, size_t n)
{
    AS_TRY(as_mem_check(run->env, "null", "put", dst, offset, n));
    if (n)
        memcpy((char *)dst->handle + offset, src, n);
    as_clock_advance(run->clock, ((null_device *)device)->put_ns);
    return ASSAY_OK;
}

static assay_status get(const as_run_ctx *run, as_device *device, const as_mem *src, size_t offset, void *dst, size_t n)
{
    AS_TRY(as_mem_check(run->env, "null", "get", src, offset, n));
    if (n)
        memcpy(dst, (const char *)src->handle + offset, n);
    as_clock_advance(run->clock, ((null_device *)device)->get_ns);
    return ASSAY_OK;
}

/* --- Code ------------------------------------------------------------------------------------------- */

static assay_status choose(assay_env *env, as_device *device, const as_node_ctx *n, as_arena *arena, as_choice *out)
{
    const null_device *d = (const null_device *)device;
    (void)env, (void)arena;
    for (int i = 0; i < d->n_timings && !device->caps.takes_graphs; i++)
        if (d->timings[i].op == n->op) {
            /* It computes nothing, so it gains nothing from fusion, and a test's ops stay the ones that it named. */
            *out = (as_choice){.kernel = &d->timings[i], .name = "null", .why = d->timings[i].why, .slow = true};
            return ASSAY_OK;
        }
    *out = (as_choice){.why = device->caps.takes_graphs ? "it takes pieces of graphs" : "the op is not in the table of ops"};
    return ASSAY_OK;
}

typedef struct step {
    const int *out;
    int        n_out, index;
    uint64_t   ns;
} step;
typedef struct code {
    as_arena        arena;
    step           *steps;
    int             n_steps;
    const as_piece *piece;  /* instead of steps */
    size_t         *inside; /* per value of the piece: its offset in the scratch */
    bool            truth;
} code;

static void discard(as_device *device, void *handle)
{
    code *c = handle;
    (void)device;
    if (!c)
        return;
    as_arena_drop(&c->arena);
    free(c);
}

static bool step_make(as_arena *arena, const as_seg_step *from, step *to)
{
    const timing *t = from->choice->kernel;
    int          *out = AS_TAKE(arena, int, from->n_out);
    if (!out)
        return false;
    if (from->n_out)
        memcpy(out, from->out, (size_t)from->n_out * sizeof *out);
    *to = (step){.out = out, .n_out = from->n_out, .index = from->index, .ns = t->ns};
    return true;
}

static assay_status compile(assay_env *env, as_device *device, const as_segment *segment, void **out)
{
    for (int i = 0; i < segment->n_steps; i++)
        if (!segment->steps[i].choice->kernel || segment->steps[i].pack)
            return as_fail(env, ASSAY_INTERNAL, "null: step %d %s", segment->steps[i].index,
                           segment->steps[i].pack ? "packs weights, which this device did not request" : "has no kernel");
    code *c = calloc(1, sizeof *c);
    if (c)
        c->steps = AS_TAKE(&c->arena, step, segment->n_steps);
    bool ok = c && c->steps;
    for (int i = 0; ok && i < segment->n_steps; i++)
        ok = step_make(&c->arena, &segment->steps[i], &c->steps[c->n_steps++]);
    if (!ok) {
        discard(device, c);
        return as_fail(env, ASSAY_NO_MEMORY, "null: not enough memory for a segment of %d steps", segment->n_steps);
    }
    *out = c;
    return ASSAY_OK;
}

static assay_status outputs_clear(assay_env *env, const step *s, const as_bindings *b)
{
    for (int i = 0; i < s->n_out; i++) {
        if (s->out[i] < 0)
            continue;
        const as_slot *slot = &b->slots[s->out[i]];
        if (slot->outside)
            return as_fail(env, ASSAY_INTERNAL, "null: output %d of step %d is in host memory, which this device cannot reach", i,
                           s->index);
        AS_TRY(as_mem_check(env, "null", "output", b->base, slot->offset, slot->bytes));
        memset((char *)b->base->handle + slot->offset, 0, slot->bytes);
    }
    return ASSAY_OK;
}

/* --- Pieces of graphs ------------------------------------------------------------------------------- */

static bool row_major(const as_node_ctx *n)
{
    bool yes = true;
    for (int i = 0; i < n->n_in; i++)
        yes = yes && n->in[i].layout == AS_LAYOUT_ROW_MAJOR;
    for (int i = 0; i < n->n_out; i++)
        yes = yes && n->out[i].layout == AS_LAYOUT_ROW_MAJOR;
    return yes;
}

static assay_status claim(assay_env *env, as_device *device, const as_claim_graph *graph, as_arena *arena, as_choice *choices)
{
    const null_device *d = (const null_device *)device;
    (void)env, (void)arena;
    for (int i = 0; i < graph->n_nodes; i++) {
        const as_node_ctx *n = graph->nodes[i].ctx;
        if (graph->nodes[i].dead)
            continue;
        int op = op_find(d, n->op->name);
        if (op < 0 || d->without[op] || !row_major(n))
            choices[i] = (as_choice){.why = op < 0           ? "the op is not in the table of ops"
                                            : d->without[op] ? "it was set not to take this op"
                                                             : "an operand is not row-major"};
        else
            choices[i] = (as_choice){.kernel = &d->timings[op],
                                     .name = d->truth ? "null piece, by the reference code" : "null piece",
                                     .why = "it takes pieces of graphs as one",
                                     .slow = true};
    }
    return ASSAY_OK;
}

/* Values inside the piece lie one after the other; only the reference code needs them. */
static size_t inside_place(const as_piece *piece, size_t *inside)
{
    size_t at = 0;
    for (int i = 0; i < piece->n_values; i++) {
        const as_piece_value *v = &piece->values[i];
        if (v->buffer >= 0)
            continue;
        if (inside)
            inside[i] = at;
        at += ((size_t)as_shape_count(&v->info->shape) * as_dtype_bytes(v->info->dtype) + 63) / 64 * 64;
    }
    return at;
}

static size_t piece_scratch(as_device *device, const as_piece *piece)
{
    return ((const null_device *)device)->truth ? inside_place(piece, NULL) : 0;
}

static assay_status compile_piece(assay_env *env, as_device *device, const as_piece *piece, void **out)
{
    const null_device *d = (const null_device *)device;
    code              *c = calloc(1, sizeof *c);
    int               *outs = c ? AS_TAKE(&c->arena, int, piece->n_values) : NULL;
    uint64_t           ns = 0;
    int                n = 0;
    if (c) {
        c->steps = AS_TAKE(&c->arena, step, 1);
        c->inside = AS_TAKE(&c->arena, size_t, piece->n_values);
    }
    if (!c || !outs || !c->steps || !c->inside) {
        discard(device, c);
        return as_fail(env, ASSAY_NO_MEMORY, "null: not enough memory for a piece of %d nodes", piece->n_nodes);
    }
    for (int i = 0; i < piece->n_nodes; i++)
        ns += d->timings[op_find(d, piece->nodes[i].ctx->op->name)].ns;
    for (int i = 0; i < piece->n_values; i++)
        if (piece->values[i].is_result && piece->values[i].buffer >= 0)
            outs[n++] = piece->values[i].buffer;
    inside_place(piece, c->inside);
    c->steps[0] = (step){.out = outs, .n_out = n, .index = piece->index, .ns = d->piece_given ? d->piece_ns : ns};
    c->n_steps = 1;
    c->piece = piece;
    c->truth = d->truth;
    *out = c;
    return ASSAY_OK;
}

static assay_status piece_view(const as_run_ctx *run, const code *c, const as_bindings *b, int value, as_view *out)
{
    const as_piece_value *v = &c->piece->values[value];
    const as_slot        *slot = &b->slots[v->buffer >= 0 ? v->buffer : c->piece->scratch];
    if (slot->outside)
        return as_fail(run->env, ASSAY_INTERNAL, "null: an operand of step %d is in host memory, which this device cannot reach",
                       c->piece->index);
    AS_TRY(as_mem_check(run->env, "null", "operand", b->base, slot->offset, slot->bytes));
    *out = as_view_of((char *)b->base->handle + slot->offset + (v->buffer >= 0 ? 0 : c->inside[value]), v->info->dtype,
                      &v->info->shape);
    return ASSAY_OK;
}

static assay_status piece_eval(const as_run_ctx *run, const code *c, const as_bindings *b)
{
    for (int i = 0; i < c->piece->n_nodes; i++) {
        const as_piece_node *node = &c->piece->nodes[i];
        as_node_ctx          now = *node->ctx;
        as_view              in[AS_MAX_IN] = {{0}}, out[AS_MAX_OUT] = {{0}};
        for (int k = 0; k < now.n_in; k++)
            if (node->in[k] >= 0)
                AS_TRY(piece_view(run, c, b, node->in[k], &in[k]));
        for (int k = 0; k < now.n_out; k++)
            if (node->out[k] >= 0)
                AS_TRY(piece_view(run, c, b, node->out[k], &out[k]));
        now.step = (uint32_t)run->step;
        AS_TRY(as_op_eval(run->env, &now, in, out));
    }
    return ASSAY_OK;
}

/* --- Execution ------------------------------------------------------------------------------------- */

static assay_status execute(const as_run_ctx *run, as_device *device, void *handle, const as_bindings *bindings)
{
    const code        *c = handle;
    as_clock          *clock = run->clock;
    const as_recorder *recorder = as_run_recorder(run, AS_DETAIL_STEP);
    as_ring           *ring = recorder ? recorder->rings : NULL;
    (void)device;
    for (int i = 0; i < c->n_steps; i++) {
        const step *s = &c->steps[i];
        if (i && as_run_cancelled(run))
            return as_fail(run->env, ASSAY_CANCELLED, "null: cancelled after step %d", c->steps[i - 1].index);
        uint64_t begin = as_clock_now(clock);
        AS_TRY(c->truth ? piece_eval(run, c, bindings) : outputs_clear(run->env, s, bindings));
        as_clock_advance(clock, s->ns);
        if (ring && recorder->detail >= AS_DETAIL_PART)
            as_ring_add(ring, AS_SPAN_PART, s->index, begin, as_clock_now(clock));
        if (ring)
            as_ring_add(ring, AS_SPAN_STEP, s->index, begin, as_clock_now(clock));
    }
    return ASSAY_OK;
}

/* --- Limits ----------------------------------------------------------------------------------------- */

static assay_status meters_open(assay_env *env, as_device *device, as_device_meters *out)
{
    null_device *d = (null_device *)device;
    (void)env;
    *out = (as_device_meters){.list = d->limits, .n = d->n_limits};
    return ASSAY_OK;
}

static void meters_close(as_device *device, as_device_meters *m)
{
    (void)device;
    *m = (as_device_meters){0};
}

const as_backend as_be_null = {
    .name = "null",
    .help = "computes nothing and takes the times that are given: for tests of assay itself",
    .syntax = "null[:OP=TIME,limit.NAME=RATE,...] or null:graph[,truth][,piece=TIME][,without=OP...]",
    .list = list,
    .open = open_null,
    .close = close_null,
    .alloc = alloc,
    .drop = drop,
    .put = put,
    .get = get,
    .choose = choose,
    .claim = claim,
    .piece_scratch = piece_scratch,
    .compile_piece = compile_piece,
    .compile = compile,
    .execute = execute,
    .discard = discard,
    .meters_open = meters_open,
    .meters_close = meters_close,
};
