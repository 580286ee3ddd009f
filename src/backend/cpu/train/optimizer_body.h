/* optimizer_body.h - the body of k_optimizer_f32_<machine>.c, after its simd_*.h: one pass over a block of parameters, its gradient
 * and its states.
 *
 * What does not depend on the element is computed in double, once per part, by the same function as the reference code's.  Every
 * element is computed by itself, in the same way wherever a part, a group or a vector ends, so the bits do not depend on parts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "op/train/optimizer.h"

enum { GRAIN = 4096 }; /* parameters: parts end at the same places, pages of 16 KiB, in every block */

/* The numbers of one group, as floats. */
typedef struct numbers {
    vf factor, clip; /* of the gradient */
    vf rate, decay,
        shrink;        /* w <- w - shrink w when the decay is decoupled: 1 - shrink as a float would be off by 3e-8 in every step */
    vf   keep1, take1; /* beta1, 1 - beta1; the momentum, 1 - dampening */
    vf   keep2, take2; /* beta2, 1 - beta2 */
    vf   epsilon, length, root; /* Adam: rate / bias1, and 1 / sqrt(bias2) */
    vf   slope, base;           /* root / length, epsilon / length */
    vf   look, now;             /* Nadam: rate mu' / (1 - p mu'), rate (1 - mu) / (1 - p) */
    bool as_is;                 /* the gradient is neither scaled nor clipped */
    bool inverts; /* Adam: slope and base are so far from the ends of the range that an inverse is as good as a quotient */
} numbers;

/* Between these, sqrt(v) slope + base is a normal number wherever v is finite, and so is its inverse. */
static bool is_moderate(double length, double epsilon) { return length > 1e-9 && length < 1e6 && epsilon > 1e-20 && epsilon < 1e6; }

static numbers numbers_of(const as_opt *o, const as_opt_step *s, double rate, double decay)
{
    bool   sgd = o->kind == AS_OPT_SGD;
    double look = 0.0, now = 0.0;
    if (o->has_product) {
        look = rate * s->mu_next / (1.0 - s->product * s->mu_next);
        now = rate * (1.0 - s->mu) / (1.0 - s->product);
    }
    return (numbers){.factor = v_set((float)s->factor),
                     .clip = v_set((float)s->clip_value),
                     .rate = v_set((float)rate),
                     .decay = v_set((float)decay),
                     .shrink = v_set((float)(rate * decay)),
                     .keep1 = v_set((float)(sgd || o->kind == AS_OPT_RMSPROP ? o->momentum : o->beta1)),
                     .take1 = v_set((float)(sgd ? 1.0 - o->dampening : 1.0 - o->beta1)),
                     .keep2 = v_set((float)o->beta2),
                     .take2 = v_set((float)(1.0 - o->beta2)),
                     .epsilon = v_set((float)o->epsilon),
                     .length = v_set((float)(rate / s->bias1)),
                     .root = v_set((float)(1.0 / sqrt(s->bias2))),
                     .slope = v_set((float)(s->bias1 / rate / sqrt(s->bias2))),
                     .base = v_set((float)(s->bias1 / rate * o->epsilon)),
                     .as_is = (float)s->factor == 1.0f && (float)s->clip_value == HUGE_VALF,
                     .inverts = is_moderate(rate / s->bias1, o->epsilon),
                     .look = v_set((float)look),
                     .now = v_set((float)now)};
}

/* The states of the elements in hand; what a formula lacks is not touched. */
typedef struct state {
    vf a, b, c;
} state;

/* NaN stays NaN, because v_max and v_min keep it in their second operand. */
V_INLINE vf gradient_of(const numbers *x, vf g, bool as_is)
{
    return as_is ? g : v_max(v_neg(x->clip), v_min(x->clip, v_mul(g, x->factor)));
}

V_INLINE vf with_decay(const numbers *x, vf g, vf w) { return v_fma(x->decay, w, g); }

V_INLINE vf sgd(const numbers *x, vf w, vf g, state *s, bool momentum, bool nesterov, bool is_first)
{
    g = with_decay(x, g, w);
    if (momentum) {
        s->a = is_first ? g : v_fma(x->keep1, s->a, v_mul(x->take1, g));
        g = nesterov ? v_fma(x->keep1, s->a, g) : s->a;
    }
    return v_fnma(x->rate, g, w);
}

V_INLINE void moments(const numbers *x, vf g, state *s)
{
    s->a = v_fma(x->take1, v_sub(g, s->a), s->a);
    s->b = v_fma(x->keep2, s->b, v_mul(x->take2, v_mul(g, g))); /* as it is written: infinite squares stay infinite */
}

/* A square root of sixteen floats keeps its unit busy for ten cycles and a division for six more, while memory takes nine: so where
 * the quotient may be a product with an inverse, one pass takes a quarter less time.  The bound keeps an infinite root's inverse 0. */
V_INLINE vf adam(const numbers *x, vf w, vf g, state *s, bool decoupled, bool inverts)
{
    g = decoupled ? g : with_decay(x, g, w);
    w = decoupled ? v_fnma(x->shrink, w, w) : w;
    moments(x, g, s);
    if (inverts)
        return v_fnma(s->a, v_inverse(v_min(v_set(1e37f), v_fma(v_sqrt(s->b), x->slope, x->base))), w);
    return v_sub(w, v_div(v_mul(x->length, s->a), v_fma(v_sqrt(s->b), x->root, x->epsilon)));
}

V_INLINE vf nadam(const numbers *x, vf w, vf g, state *s, bool decoupled)
{
    g = decoupled ? g : with_decay(x, g, w);
    w = decoupled ? v_fnma(x->shrink, w, w) : w;
    moments(x, g, s);
    return v_sub(w, v_div(v_fma(x->look, s->a, v_mul(x->now, g)), v_fma(v_sqrt(s->b), x->root, x->epsilon)));
}

V_INLINE vf rmsprop(const numbers *x, vf w, vf g, state *s, bool centered, bool momentum)
{
    g = with_decay(x, g, w);
    s->a = v_fma(x->keep2, s->a, v_mul(x->take2, v_mul(g, g)));
    vf square = s->a, *buffer = centered ? &s->c : &s->b;
    if (centered) {
        s->b = v_fma(x->keep2, s->b, v_mul(x->take2, g));
        square = v_max(v_zero(), v_fnma(s->b, s->b, square));
    }
    g = v_div(g, v_add(v_sqrt(square), x->epsilon));
    if (momentum)
        g = *buffer = v_fma(x->keep1, *buffer, g);
    return v_fnma(x->rate, g, w);
}

V_INLINE vf adagrad(const numbers *x, vf w, vf g, state *s)
{
    g = with_decay(x, g, w);
    s->a = v_fma(g, g, s->a);
    return v_sub(w, v_div(v_mul(x->rate, g), v_add(v_sqrt(s->a), x->epsilon)));
}

V_INLINE vf adadelta(const numbers *x, vf w, vf g, state *s)
{
    g = with_decay(x, g, w);
    s->a = v_fma(x->keep2, s->a, v_mul(x->take2, v_mul(g, g)));
    g = v_mul(g, v_div(v_sqrt(v_add(s->b, x->epsilon)), v_sqrt(v_add(s->a, x->epsilon))));
    s->b = v_fma(x->keep2, s->b, v_mul(x->take2, v_mul(g, g)));
    return v_fnma(x->rate, g, w);
}

/* --- A stretch of one group ------------------------------------------------------------------------------------------- */

/* The arrays at a stretch; new states that nobody asked for are NULL. */
typedef struct arrays {
    const float *w, *g, *old[AS_OPT_MAX_STATES];
    float       *new_w, *new[AS_OPT_MAX_STATES];
} arrays;

V_INLINE vf   some(const float *p, int64_t i, int n) { return n == VW ? v_load(p + i) : v_load_n(p + i, n); }
V_INLINE void put(float *p, int64_t i, int n, vf x)
{
    if (n == VW)
        v_store(p + i, x);
    else
        v_store_n(p + i, n, x);
}

/* n elements from i; `n_states_` and the form of the formula are constants for the compiler. */
#define PIECE(n_states_, formula_, as_is_, n_)                                                                                 \
    {                                                                                                                          \
        vf    w = some(at->w, i, n_), g = gradient_of(x, some(at->g, i, n_), as_is_);                                          \
        state s = {(n_states_) > 0 ? some(at->old[0], i, n_) : v_zero(), (n_states_) > 1 ? some(at->old[1], i, n_) : v_zero(), \
                   (n_states_) > 2 ? some(at->old[2], i, n_) : v_zero()};                                                      \
        put(at->new_w, i, n_, formula_);                                                                                       \
        if ((n_states_) > 0 && at->new[0])                                                                                     \
            put(at->new[0], i, n_, s.a);                                                                                       \
        if ((n_states_) > 1 && at->new[1])                                                                                     \
            put(at->new[1], i, n_, s.b);                                                                                       \
        if ((n_states_) > 2 && at->new[2])                                                                                     \
            put(at->new[2], i, n_, s.c);                                                                                       \
    }
/* Whole vectors, then the rest. */
#define STRETCH_AS(n_states_, formula_, as_is_)      \
    {                                                \
        int64_t i = begin;                           \
        for (; i + VW <= end; i += VW)               \
            PIECE(n_states_, formula_, as_is_, VW)   \
        int left = (int)(end - i);                   \
        if (left)                                    \
            PIECE(n_states_, formula_, as_is_, left) \
    }
#define STRETCH(n_states_, formula_) STRETCH_AS(n_states_, formula_, false)

static void sgd_stretch(const as_opt *o, const as_opt_step *now, const numbers *x, const arrays *at, int64_t begin, int64_t end)
{
    if (o->momentum == 0.0)
        STRETCH(0, sgd(x, w, g, &s, false, false, false))
    else if (now->is_first && o->nesterov)
        STRETCH(1, sgd(x, w, g, &s, true, true, true))
    else if (now->is_first)
        STRETCH(1, sgd(x, w, g, &s, true, false, true))
    else if (o->nesterov)
        STRETCH(1, sgd(x, w, g, &s, true, true, false))
    else
        STRETCH(1, sgd(x, w, g, &s, true, false, false))
}

static void rmsprop_stretch(const as_opt *o, const numbers *x, const arrays *at, int64_t begin, int64_t end)
{
    if (o->centered && o->momentum != 0.0)
        STRETCH(3, rmsprop(x, w, g, &s, true, true))
    else if (o->centered)
        STRETCH(2, rmsprop(x, w, g, &s, true, false))
    else if (o->momentum != 0.0)
        STRETCH(2, rmsprop(x, w, g, &s, false, true))
    else
        STRETCH(1, rmsprop(x, w, g, &s, false, false))
}

/* The common case has loops of its own: nothing happens to the gradient before the formula. */
static void adam_stretch(const as_opt *o, const numbers *x, const arrays *at, int64_t begin, int64_t end)
{
    if (!x->inverts && o->decoupled)
        STRETCH(2, adam(x, w, g, &s, true, false))
    else if (!x->inverts)
        STRETCH(2, adam(x, w, g, &s, false, false))
    else if (o->decoupled && x->as_is)
        STRETCH_AS(2, adam(x, w, g, &s, true, true), true)
    else if (o->decoupled)
        STRETCH(2, adam(x, w, g, &s, true, true))
    else if (x->as_is)
        STRETCH_AS(2, adam(x, w, g, &s, false, true), true)
    else
        STRETCH(2, adam(x, w, g, &s, false, true))
}

static void nadam_stretch(const as_opt *o, const numbers *x, const arrays *at, int64_t begin, int64_t end)
{
    if (o->decoupled)
        STRETCH(2, nadam(x, w, g, &s, true))
    else
        STRETCH(2, nadam(x, w, g, &s, false))
}

static void stretch(const as_opt *o, const as_opt_step *now, const numbers *x, const arrays *at, int64_t begin, int64_t end)
{
    switch (o->kind) {
    case AS_OPT_SGD: sgd_stretch(o, now, x, at, begin, end); break;
    case AS_OPT_RMSPROP: rmsprop_stretch(o, x, at, begin, end); break;
    case AS_OPT_ADAGRAD: STRETCH(1, adagrad(x, w, g, &s)) break;
    case AS_OPT_ADADELTA: STRETCH(2, adadelta(x, w, g, &s)) break;
    case AS_OPT_ADAM: adam_stretch(o, x, at, begin, end); break;
    case AS_OPT_NADAM: nadam_stretch(o, x, at, begin, end); break;
    }
}

/* --- A part -------------------------------------------------------------------------------------------------------- */

static arrays arrays_of(const as_kernel_args *args, const as_opt *o)
{
    arrays at = {.w = args->in[AS_OPT_W].data, .g = args->in[AS_OPT_G].data, .new_w = args->out[AS_OPT_NEW_W].data};
    for (int j = 0; j < o->n_states - o->has_product; j++) {
        at.old[j] = args->in[AS_OPT_STATE + j].data;
        at.new[j] = AS_OPT_NEW_STATE + j < args->ctx->n_out ? args->out[AS_OPT_NEW_STATE + j].data : NULL;
    }
    return at;
}

static void copy(float *to, const float *from, int64_t begin, int64_t end)
{
    if (to && to != from && end > begin)
        memcpy(to + begin, from + begin, (size_t)(end - begin) * sizeof *to);
}

static void scalars_write(const as_kernel_args *args, const as_opt *o, const as_opt_step *now)
{
    const float *rates = args->in[AS_OPT_RATES].data;
    if (args->ctx->n_out > AS_OPT_USED)
        for (int k = 0; k < o->n_groups; k++)
            ((float *)args->out[AS_OPT_USED].data)[k] = now->skip ? 0.0f : (float)((double)rates[k] * now->rate_factor);
    if (args->ctx->n_out > AS_OPT_SKIPPED)
        *(int64_t *)args->out[AS_OPT_SKIPPED].data = now->skip;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_opt  o;
    int64_t begin, end;
    if (*(const int64_t *)args->in[AS_OPT_STEP].data < 0 || as_opt_read(NULL, args->ctx, &o) != ASSAY_OK) {
        if (part == 0) /* it has the message */
            *args->status = args->ctx->op->eval(args->env, args->ctx, args->in, args->out);
        return;
    }
    as_opt_step  now = as_opt_begin(&o, args->ctx, args->in);
    arrays       at = arrays_of(args, &o);
    const float *rates = args->in[AS_OPT_RATES].data, *decays = args->in[AS_OPT_DECAYS].data;
    if (part == 0)
        scalars_write(args, &o, &now);
    as_share(o.n, GRAIN, part, n_parts, &begin, &end);
    if (now.skip) {
        copy(at.new_w, at.w, begin, end);
        for (int j = 0; j < o.n_states - o.has_product; j++)
            copy(at.new[j], at.old[j], begin, end);
        return;
    }
    for (int k = 0; k < o.n_groups; k++) {
        int64_t from = o.starts ? o.starts[k] : 0, to = as_opt_group_end(&o, k);
        from = from > begin ? from : begin;
        to = to < end ? to : end;
        if (from >= to)
            continue;
        numbers x = numbers_of(&o, &now, (double)rates[k] * now.rate_factor, (double)decays[k]);
        stretch(&o, &now, &x, &at, from, to);
    }
}

/* Nadam's product, when no part reads the old one any more: both may have one place. */
static void finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)n_parts, (void)scratch;
    as_opt o;
    if (part != 0 || *(const int64_t *)args->in[AS_OPT_STEP].data < 0 || as_opt_read(NULL, args->ctx, &o) != ASSAY_OK)
        return;
    if (o.has_product && args->ctx->n_out == AS_OPT_NEW_STATE + o.n_states)
        *(double *)args->out[args->ctx->n_out - 1].data = as_opt_begin(&o, args->ctx, args->in).product;
}

static int64_t shares(const as_node_ctx *n) { return (as_shape_count(&n->in[AS_OPT_W].shape) + GRAIN - 1) / GRAIN; }

static const char *const also[] = {"assay.Sgd", "assay.RmsProp", "assay.AdaGrad", "assay.AdaDelta", "assay.Nadam", NULL};

/* The dtypes are the operator's rule: f32, and f64 for the product. */
static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 0; i < n->n_in; i++)
        if (as_in_has(n, i) && n->in[i].layout != AS_LAYOUT_ROW_MAJOR) {
            snprintf(why, why_size, "input %d is not row-major", i);
            return false;
        }
    return true;
}

#define IN_PLACE_OF                                                                                                      \
    {                                                                                                                    \
        [AS_OPT_NEW_W] = AS_OPT_W + 1, [AS_OPT_NEW_STATE] = AS_OPT_STATE + 1, [AS_OPT_NEW_STATE + 1] = AS_OPT_STATE + 2, \
        [AS_OPT_NEW_STATE + 2] = AS_OPT_STATE + 3                                                                        \
    }
