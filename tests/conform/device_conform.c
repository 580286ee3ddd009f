/* device_conform.c */
#include "tests/conform/device_conform.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "tests/runner/test.h"

enum { GUARD_BYTES = 64, PATTERN = 0xA5 };

/* --- Cases ------------------------------------------------------------------------------------ */

static void *take(as_arena *arena, size_t n, size_t bytes_each)
{
    void *memory = as_arena_take(arena, n ? n : 1, bytes_each, 64);
    if (!memory)
        fail("not enough memory for %zu times %zu bytes", n, bytes_each);
    return memory;
}

static void fill(as_arena *arena, const as_case *c, int input, const double *given, const as_view *v)
{
    int64_t count = as_shape_count(&v->shape);
    float   lo = (float)c->lo, hi = (float)c->hi;
    if (lo == 0.0f && hi == 0.0f)
        lo = -1.0f, hi = 1.0f;
    float *random = take(arena, (size_t)count, sizeof *random);
    as_philox_fill(7, (uint32_t)input, 0, lo, hi, random, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        if (as_case_input(c, input)->ints)
            as_view_set_i64(v, i, as_case_input(c, input)->ints[i]);
        else
            as_view_set(v, i, given ? given[i] : (double)random[i]);
    }
}

static void inputs_make(const as_case *c, as_dtype instead_of_f64, as_conform_case *out)
{
    const double *given = c->given;
    for (int i = 0; i < c->n_in; i++) {
        as_dtype dtype = as_case_input(c, i)->dtype;
        if (dtype == AS_NONE)
            continue;
        if (dtype == AS_F64 && instead_of_f64 != AS_NONE)
            dtype = instead_of_f64;
        int64_t count = as_shape_count(&as_case_input(c, i)->shape);
        void   *data = take(&out->arena, (size_t)count, as_dtype_bytes(dtype));
        out->in[i] = as_view_of(data, dtype, &as_case_input(c, i)->shape);
        out->in_info[i] = (as_tensor_info){
            .dtype = dtype, .shape = as_case_input(c, i)->shape, .constant = as_case_input(c, i)->ints ? data : NULL};
        fill(&out->arena, c, i, given, &out->in[i]);
        if (given && !as_case_input(c, i)->ints)
            given += count;
    }
}

bool as_conform_make(assay_env *env, const as_op *op, const as_case *c, int n_out, as_dtype instead_of_f64, as_conform_case *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->label, sizeof out->label, "%s '%s'%s%s, %d of its outputs", op->name, c->name,
             instead_of_f64 == AS_NONE ? "" : " as ", instead_of_f64 == AS_NONE ? "" : as_dtype_name(instead_of_f64), n_out);
    inputs_make(c, instead_of_f64, out);
    out->ctx = (as_node_ctx){
        .op = op, .name = c->name, .attrs = c->attrs, .n_attrs = c->n_attrs, .in = out->in_info, .n_in = c->n_in, .n_out = n_out};
    if (as_op_infer(env, &out->ctx, out->out_info) != ASSAY_OK) {
        as_arena_drop(&out->arena);
        return false;
    }
    out->ctx.out = out->out_info;
    for (int i = 0; i < n_out; i++) {
        const as_tensor_info *t = &out->out_info[i];
        void                 *data = take(&out->arena, (size_t)as_shape_count(&t->shape), as_dtype_bytes(t->dtype));
        out->want[i] = as_view_of(data, t->dtype, &t->shape);
    }
    if (op->eval(env, &out->ctx, out->in, out->want) != ASSAY_OK)
        fail("%s: eval: %s", out->label, assay_message(env));
    return true;
}

void as_conform_drop(as_conform_case *c) { as_arena_drop(&c->arena); }

as_view as_conform_view(void *data, const as_tensor_info *info)
{
    as_view v = as_view_of(data, info->dtype, &info->shape);
    int     rank = info->shape.rank;
    if (info->layout != AS_LAYOUT_NHWC || rank < 3)
        return v;
    int64_t step = info->shape.dim[1];
    v.stride[1] = 1;
    for (int i = rank - 1; i >= 0; i--)
        if (i != 1) {
            v.stride[i] = step;
            step *= info->shape.dim[i];
        }
    return v;
}

static bool is_in_which(const as_conform_case *c, int i, unsigned which)
{
    if (!as_in_has(&c->ctx, i) || c->in_info[i].shape.rank < 3)
        return false;
    bool like = as_shape_same(&c->in_info[i].shape, &c->out_info[0].shape);
    return which & (i == 0 ? AS_CONFORM_X : like ? AS_CONFORM_Y : AS_CONFORM_Z);
}

bool as_conform_relayout(const as_conform_case *from, unsigned which, as_conform_case *out)
{
    int n_changed = 0;
    *out = *from;
    out->arena = (as_arena){0};
    snprintf(out->label, sizeof out->label, "%.120s, NHWC%s%s%s", from->label, which & AS_CONFORM_X ? " in" : "",
             which & AS_CONFORM_Y ? " out" : "", which & AS_CONFORM_Z ? " others" : "");
    out->ctx.in = out->in_info;
    out->ctx.out = out->out_info;
    for (int i = 0; i < from->ctx.n_in; i++)
        if (is_in_which(from, i, which)) {
            out->in_info[i].layout = AS_LAYOUT_NHWC;
            out->in[i] = as_conform_view(take(&out->arena, as_view_bytes(&from->in[i]), 1), &out->in_info[i]);
            as_view_copy(&out->in[i], &from->in[i]);
            n_changed++;
        }
    if ((which & AS_CONFORM_Y) && from->ctx.n_out > 0 && from->out_info[0].shape.rank > 2) {
        out->out_info[0].layout = AS_LAYOUT_NHWC;
        n_changed++;
    }
    if (!n_changed)
        as_arena_drop(&out->arena);
    return n_changed > 0;
}

bool as_conform_has_f64(const as_case *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (as_case_input(c, i)->dtype == AS_F64)
            return true;
    return false;
}

void as_conform_each(assay_env *env, const char *op_name, void (*visit)(void *, assay_env *, const as_conform_case *), void *arg)
{
    int n_ops = 0;
    for (const as_op *const *op = as_op_table; *op; op++) {
        if (op_name && strcmp(op_name, (*op)->name))
            continue;
        n_ops++;
        for (size_t i = 0; i < (*op)->n_cases; i++) {
            const as_case *from = &(*op)->cases[i];
            int            n_made = 0;
            for (int n_out = (*op)->min_out; n_out <= (*op)->max_out; n_out++)
                for (int narrow = 0; narrow <= as_conform_has_f64(from); narrow++) {
                    as_conform_case c;
                    if (!as_conform_make(env, *op, from, n_out, narrow ? AS_F32 : AS_NONE, &c))
                        continue; /* not every form of an operator has all outputs: BatchNormalization has one or three */
                    n_made++;
                    visit(arg, env, &c);
                    as_conform_drop(&c);
                }
            if (!n_made)
                fail("%s '%s': infer: %s", (*op)->name, from->name, assay_message(env));
        }
    }
    if (!n_ops)
        fail("there is no operator %s", op_name ? op_name : "at all");
}

/* The tolerance of the operator for an f32 kernel; storing in fewer bits adds one ulp of that type. */
static double allowed(const as_op *op, as_dtype dtype)
{
    return op->tolerance + (dtype == AS_F16 ? 0x1p-10 : dtype == AS_BF16 ? 0x1p-7 : 0.0);
}

void as_conform_judge(const as_conform_case *c, const as_view *got, const char *who)
{
    for (int i = 0; i < c->ctx.n_out; i++) {
        const as_view *want = &c->want[i];
        bool           same = got[i].dtype == want->dtype && as_shape_same(&got[i].shape, &want->shape);
        if (!same)
            fail("%s: %s: output %d has another type or shape", who, c->label, i);
        if (!as_dtype_is_float(want->dtype)) {
            for (int64_t j = 0; j < as_shape_count(&want->shape); j++)
                if (as_view_get_i64(&got[i], j) != as_view_get_i64(want, j))
                    fail("%s: %s: output %d element %lld is %lld, the truth is %lld", who, c->label, i, (long long)j,
                         (long long)as_view_get_i64(&got[i], j), (long long)as_view_get_i64(want, j));
            continue;
        }
        double error = as_view_error(&got[i], want), most = allowed(c->ctx.op, want->dtype);
        if (!(error <= most))
            fail("%s: %s: output %d is off by %g, and %g is allowed", who, c->label, i, error, most);
    }
}

/* --- One node on a device ------------------------------------------------------------------------- */

enum { MAX_SLOTS = AS_MAX_IN + AS_MAX_OUT + 4 + 1 };

typedef struct layout {
    as_slot slots[MAX_SLOTS];
    int     n_slots;
    size_t  bytes;
} layout;

/* A buffer at the device's alignment with guard bytes before and after it. */
static int place(layout *l, const as_device *device, size_t bytes)
{
    size_t align = device->align ? device->align : 1;
    size_t offset = (l->bytes + GUARD_BYTES + align - 1) / align * align;
    l->slots[l->n_slots] = (as_slot){.offset = offset, .bytes = bytes};
    l->bytes = offset + bytes + GUARD_BYTES;
    return l->n_slots++;
}

static void guards_check(const layout *l, const uint8_t *bytes, const as_conform_case *c, const char *who)
{
    size_t at = 0;
    for (int i = 0; i <= l->n_slots; i++) {
        size_t end = i < l->n_slots ? l->slots[i].offset : l->bytes;
        for (; at < end; at++)
            if (bytes[at] != PATTERN)
                fail("%s: %s: byte %zu outside of every buffer was written", who, c->label, at);
        if (i < l->n_slots)
            at = end + l->slots[i].bytes;
    }
}

static void step_make(const as_device *device, const as_conform_case *c, const as_choice *choice, layout *l, int *in, int *out,
                      as_seg_step *step)
{
    *step = (as_seg_step){.ctx = &c->ctx,
                          .choice = choice,
                          .in = in,
                          .out = out,
                          .n_in = c->ctx.n_in,
                          .n_out = c->ctx.n_out,
                          .scratch = -1,
                          .packed = AS_NOT_PACKED};
    for (int i = 0; i < c->ctx.n_in; i++)
        in[i] = as_in_has(&c->ctx, i) ? place(l, device, as_view_bytes(&c->in[i])) : -1;
    for (int i = 0; i < c->ctx.n_out; i++)
        out[i] = place(l, device, as_view_bytes(&c->want[i]));
    if (choice->scratch_bytes)
        step->scratch = place(l, device, choice->scratch_bytes);
    for (int i = 0; i < AS_N_PACKED && i < c->ctx.n_in; i++)
        if (choice->packed_bytes[i] && in[i] >= 0)
            step->packed[i] = place(l, device, choice->packed_bytes[i]);
}

/* Puts the inputs where the plan has them, and the pattern everywhere else. */
static void image_fill(const as_conform_case *c, const layout *l, const int *in, uint8_t *image)
{
    memset(image, PATTERN, l->bytes);
    for (int i = 0; i < c->ctx.n_in; i++)
        if (in[i] >= 0 && as_view_bytes(&c->in[i]))
            memcpy(image + l->slots[in[i]].offset, c->in[i].data, as_view_bytes(&c->in[i]));
}

/* A step that does nothing and claims a million flops: a device may run small segments on one thread, and every case is
 * small. */
static as_cost ballast_cost(const as_node_ctx *n)
{
    (void)n;
    return (as_cost){.flops = 1000000};
}

static assay_status ballast_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n, (void)in, (void)out;
    return ASSAY_OK;
}

static const as_op       ballast_op = {.name = "test.Ballast", .cost = ballast_cost, .eval = ballast_eval};
static const as_node_ctx ballast = {.op = &ballast_op, .name = "ballast"};

bool as_conform_run(assay_env *env, as_device *device, const as_conform_case *c)
{
    const as_backend *be = device->backend;
    as_arena          arena = {0};
    as_choice         choice = {0}, heavy = {0};
    expect_ok(env, be->choose(env, device, &c->ctx, &arena, &choice));
    if (!choice.kernel) {
        if (!choice.why || !choice.why[0])
            fail("%s: %s: refused without a reason", device->name, c->label);
        as_arena_drop(&arena);
        return false;
    }
    if (!choice.name || !choice.name[0])
        fail("%s: %s: the chosen kernel has no name", device->name, c->label);

    layout      l = {0};
    int         in[AS_MAX_IN], out[AS_MAX_OUT], n_steps = 0;
    as_seg_step node, steps[AS_N_PACKED + 2];
    if (device->n_threads > 1)
        expect_ok(env, be->choose(env, device, &ballast, &arena, &heavy));
    if (heavy.kernel)
        steps[n_steps++] = (as_seg_step){.ctx = &ballast, .choice = &heavy, .scratch = -1, .packed = AS_NOT_PACKED};
    step_make(device, c, &choice, &l, in, out, &node);
    for (int i = 0; i < AS_N_PACKED; i++)
        if (node.packed[i] >= 0) {
            steps[n_steps] = node;
            steps[n_steps].pack = true;
            steps[n_steps].pack_input = i;
            n_steps++;
        }
    steps[n_steps++] = node;

    as_mem     mem = {0};
    void      *code = NULL;
    uint8_t   *image = take(&arena, l.bytes, 1);
    as_segment segment = {.steps = steps, .n_steps = n_steps};
    expect_ok(env, as_device_alloc(env, device, l.bytes, &mem));
    expect_ok(env, be->compile(env, device, &segment, &code));
    as_bindings bindings = {.base = &mem, .slots = l.slots, .n_slots = l.n_slots};
    /* Twice: the second run must not depend on what the first left behind. */
    for (int again = 0; again < 2; again++) {
        image_fill(c, &l, in, image);
        expect_ok(env, be->put(AS_RUN(env), device, &mem, 0, image, l.bytes));
        expect_ok(env, be->execute(AS_RUN(env), device, code, &bindings));
        memset(image, 0, l.bytes);
        expect_ok(env, be->get(AS_RUN(env), device, &mem, 0, image, l.bytes));
        guards_check(&l, image, c, device->name);
        as_view got[AS_MAX_OUT];
        for (int i = 0; i < c->ctx.n_out; i++)
            got[i] = as_conform_view(image + l.slots[out[i]].offset, &c->out_info[i]);
        as_conform_judge(c, got, device->name);
        for (int i = 0; i < c->ctx.n_in; i++)
            if (in[i] >= 0 && memcmp(image + l.slots[in[i]].offset, c->in[i].data, as_view_bytes(&c->in[i])))
                fail("%s: %s: input %d was overwritten", device->name, c->label, i);
    }
    be->discard(device, code);
    as_device_drop(device, &mem);
    as_arena_drop(&arena);
    return true;
}

typedef struct tally {
    as_device *device;
    int        n_ran, n_refused;
} tally;

static void device_visit(void *arg, assay_env *env, const as_conform_case *c)
{
    tally          *t = arg;
    as_conform_case other;
    if (as_conform_run(env, t->device, c))
        t->n_ran++;
    else
        t->n_refused++;
    for (unsigned which = 1; which <= AS_CONFORM_ALL; which++)
        if (as_conform_relayout(c, which, &other)) {
            as_conform_run(env, t->device, &other);
            as_conform_drop(&other);
        }
}

void as_conform_device(assay_env *env, const char *spec, int n_threads, const char *op_name_or_NULL, int *n_ran, int *n_refused)
{
    tally t = {0};
    expect_ok(env, as_device_open(env, spec, n_threads, &t.device));
    as_conform_each(env, op_name_or_NULL, device_visit, &t);
    expect_eq(t.device->live_bytes, 0);
    as_device_close(t.device);
    *n_ran = t.n_ran;
    *n_refused = t.n_refused;
}
