/* lbfgs.c - directions by the two-loop recursion over the last pairs (s, y), lengths by a search that brackets and then zooms
 * (Nocedal and Wright, Numerical Optimization, 7.4 and 3.5), with the constants and the stops of PyTorch's. */
#include "train/lbfgs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define C1            1e-4 /* sufficient decrease */
#define C2            0.9  /* curvature */
#define MIN_CURVATURE 1e-10
#define MIN_BRACKET   1e-9

enum { MAX_TRIES = 25, N_BUFFERS = 4 };

struct as_lbfgs {
    as_lbfgs_options options;
    as_arena         arena;
    assay_env       *env;
    int64_t          n;
    /* What a checkpoint keeps. */
    double  n_iterations, length, gamma, n_pairs;
    double *d, *last_g;  /* the direction, and the gradient where it was made */
    double *s, *y, *rho; /* pairs, the oldest first: s and y have `history` rows */
    double *g, *try_w;   /* the gradient at w; where a search looks */
    double *alpha;       /* of the recursion */
    double *buffers[N_BUFFERS];
};

size_t as_lbfgs_bytes_per_parameter(const as_lbfgs_options *options)
{
    return (2 * (size_t)options->history + 4 + N_BUFFERS) * sizeof(double);
}

assay_status as_lbfgs_new(assay_env *env, const as_lbfgs_options *options, int64_t n, as_lbfgs **out)
{
    as_lbfgs *l = calloc(1, sizeof *l);
    size_t    count = (size_t)n, pairs = (size_t)options->history;
    bool      ok = l && pairs <= SIZE_MAX / sizeof(double) / (count ? count : 1);
    if (ok) {
        *l = (as_lbfgs){.options = *options, .env = env, .n = n, .gamma = 1.0};
        l->d = AS_TAKE(&l->arena, double, count);
        l->last_g = AS_TAKE(&l->arena, double, count);
        l->g = AS_TAKE(&l->arena, double, count);
        l->try_w = AS_TAKE(&l->arena, double, count);
        l->s = AS_TAKE(&l->arena, double, pairs *count);
        l->y = AS_TAKE(&l->arena, double, pairs *count);
        l->rho = AS_TAKE(&l->arena, double, pairs);
        l->alpha = AS_TAKE(&l->arena, double, pairs);
        ok = l->d && l->last_g && l->g && l->try_w && l->s && l->y && l->rho && l->alpha;
        for (int i = 0; ok && i < N_BUFFERS; i++)
            ok = (l->buffers[i] = AS_TAKE(&l->arena, double, count)) != NULL;
    }
    if (!ok) {
        as_lbfgs_free(l);
        return as_fail(env, ASSAY_NO_MEMORY, "lbfgs: not enough memory for %lld parameters with a history of %d", (long long)n,
                       options->history);
    }
    *out = l;
    return ASSAY_OK;
}

void as_lbfgs_free(as_lbfgs *l)
{
    if (l)
        as_arena_drop(&l->arena);
    free(l);
}

/* --- Vectors ------------------------------------------------------------------------------------------------------------- */

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add(double *to, double k, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += k * from[i];
}

static double largest(const double *a, int64_t n)
{
    double max = 0.0;
    for (int64_t i = 0; i < n; i++)
        max = fabs(a[i]) > max || isnan(a[i]) ? fabs(a[i]) : max;
    return max;
}

static double sizes(const double *a, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += fabs(a[i]);
    return sum;
}

/* --- The line search -------------------------------------------------------------------------------------------------------- */

/* A place on the line: length, loss, slope along the direction, gradient. */
typedef struct point {
    double  t, f, slope;
    double *g;
} point;

typedef struct search {
    as_lbfgs     *l;
    const double *w;
    as_lbfgs_eval eval;
    void         *arg;
    point         start;
    int           n_tries, n_evaluations;
} search;

/* A buffer that none of the points uses. */
static double *buffer_free(const as_lbfgs *l, const double *a, const double *b, const double *c)
{
    for (int i = 0; i < N_BUFFERS; i++)
        if (l->buffers[i] != a && l->buffers[i] != b && l->buffers[i] != c)
            return l->buffers[i];
    return NULL;
}

static assay_status look(search *s, double t, double *g, point *out)
{
    as_lbfgs *l = s->l;
    double    f = NAN;
    for (int64_t i = 0; i < l->n; i++)
        l->try_w[i] = s->w[i] + t * l->d[i];
    AS_TRY(s->eval(s->arg, l->try_w, &f, g));
    s->n_evaluations++;
    *out = (point){.t = t, .f = f, .slope = dot(g, l->d, l->n), .g = g};
    return ASSAY_OK;
}

/* The minimum of the cubic through two points with their slopes, inside [low, high]; the middle when it has none. */
static double cubic(const point *a, const point *b, double low, double high)
{
    const point *left = a->t <= b->t ? a : b, *right = a->t <= b->t ? b : a;
    double       d1 = a->slope + b->slope - 3.0 * (a->f - b->f) / (a->t - b->t), square = d1 * d1 - a->slope * b->slope;
    if (!(square >= 0.0))
        return (low + high) / 2.0;
    double d2 = sqrt(square);
    double at = right->t - (right->t - left->t) * ((right->slope + d2 - d1) / (right->slope - left->slope + 2.0 * d2));
    return fmin(fmax(at, low), high);
}

static bool too_high(const search *s, const point *p) { return p->f > s->start.f + C1 * p->t * s->start.slope; }
static bool flat_enough(const search *s, const point *p) { return fabs(p->slope) <= -C2 * s->start.slope; }

/* Goes on until a point is good (`done`) or an interval holds one. */
static assay_status bracket(search *s, double t, point *a, point *b, bool *done)
{
    point last = s->start, now;
    *done = false;
    AS_TRY(look(s, t, buffer_free(s->l, NULL, NULL, NULL), &now));
    for (; s->n_tries < MAX_TRIES; s->n_tries++) {
        if (too_high(s, &now) || (s->n_tries > 1 && now.f >= last.f) || (!flat_enough(s, &now) && now.slope >= 0.0)) {
            *a = last;
            *b = now;
            return ASSAY_OK;
        }
        if (flat_enough(s, &now)) {
            *a = *b = now;
            *done = true;
            return ASSAY_OK;
        }
        double  next = cubic(&last, &now, now.t + 0.01 * (now.t - last.t), now.t * 10.0);
        double *g = buffer_free(s->l, now.g, last.g, NULL);
        last = now;
        AS_TRY(look(s, next, g, &now));
    }
    *a = s->start;
    *b = now;
    return ASSAY_OK;
}

/* A length too near an end of the interval is moved inside, at once when the one before was too near, too. */
static double moved_inside(double t, double low, double high, bool *was_near)
{
    double margin = 0.1 * (high - low);
    if (fmin(high - t, t - low) >= margin) {
        *was_near = false;
        return t;
    }
    if (!*was_near && t < high && t > low) {
        *was_near = true;
        return t;
    }
    *was_near = false;
    return fabs(t - high) < fabs(t - low) ? high - margin : low + margin;
}

/* low and high: the ends with the lower and the higher loss. */
static assay_status zoom(search *s, double d_max, point *low, point *high)
{
    bool was_near = false;
    for (; s->n_tries < MAX_TRIES && !(fabs(high->t - low->t) * d_max < MIN_BRACKET); s->n_tries++) {
        point  now;
        double from = fmin(low->t, high->t), to = fmax(low->t, high->t);
        double t = moved_inside(cubic(low, high, from, to), from, to, &was_near);
        AS_TRY(look(s, t, buffer_free(s->l, low->g, high->g, NULL), &now));
        if (too_high(s, &now) || now.f >= low->f) {
            *high = now;
            if (high->f < low->f) {
                point other = *low;
                *low = *high;
                *high = other;
            }
            continue;
        }
        bool done = flat_enough(s, &now);
        if (!done && now.slope * (high->t - low->t) >= 0.0)
            *high = *low;
        *low = now;
        if (done) {
            s->n_tries++;
            break;
        }
    }
    return ASSAY_OK;
}

static assay_status search_run(search *s, double t, point *out)
{
    point a, b;
    bool  done;
    AS_TRY(bracket(s, t, &a, &b, &done));
    bool swap = b.f < a.f;
    if (swap) {
        point other = a;
        a = b;
        b = other;
    }
    if (!done)
        AS_TRY(zoom(s, largest(s->l->d, s->l->n), &a, &b));
    *out = a;
    return ASSAY_OK;
}

/* --- Directions --------------------------------------------------------------------------------------------------------- */

/* Keeps the last move when the loss curves upwards along it. */
static void pair_keep(as_lbfgs *l)
{
    int64_t n = l->n;
    double  curvature = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double y = l->g[i] - l->last_g[i];
        curvature += y * (l->length * l->d[i]);
        square += y * y;
    }
    if (!(curvature > MIN_CURVATURE))
        return;
    int pairs = (int)l->n_pairs;
    if (pairs == l->options.history) {
        pairs--;
        memmove(l->s, l->s + n, (size_t)pairs * (size_t)n * sizeof *l->s);
        memmove(l->y, l->y + n, (size_t)pairs * (size_t)n * sizeof *l->y);
        memmove(l->rho, l->rho + 1, (size_t)pairs * sizeof *l->rho);
    }
    for (int64_t i = 0; i < n; i++) {
        l->s[pairs * n + i] = l->length * l->d[i];
        l->y[pairs * n + i] = l->g[i] - l->last_g[i];
    }
    l->rho[pairs] = 1.0 / curvature;
    l->gamma = curvature / square;
    l->n_pairs = pairs + 1;
}

static void direction(as_lbfgs *l)
{
    int64_t n = l->n;
    if (l->n_iterations == 1.0) {
        l->n_pairs = 0.0;
        l->gamma = 1.0;
    } else {
        pair_keep(l);
    }
    int pairs = (int)l->n_pairs;
    for (int64_t i = 0; i < n; i++)
        l->d[i] = -l->g[i];
    for (int k = pairs - 1; k >= 0; k--) {
        l->alpha[k] = l->rho[k] * dot(l->s + k * n, l->d, n);
        add(l->d, -l->alpha[k], l->y + k * n, n);
    }
    for (int64_t i = 0; i < n; i++)
        l->d[i] *= l->gamma;
    for (int k = 0; k < pairs; k++)
        add(l->d, l->alpha[k] - l->rho[k] * dot(l->y + k * n, l->d, n), l->s + k * n, n);
}

assay_status as_lbfgs_step(as_lbfgs *l, double *w, as_lbfgs_eval eval, void *arg, as_lbfgs_report *out)
{
    const as_lbfgs_options *o = &l->options;
    double                  loss = NAN;
    as_lbfgs_report         r = {.n_evaluations = 1, .length = l->length};
    AS_TRY(eval(arg, w, &loss, l->g));
    r.loss_before = r.loss_after = loss;
    r.max_grad = largest(l->g, l->n);
    bool flat = r.max_grad <= o->tolerance_grad;
    while (!flat && r.n_iterations < o->max_iterations) {
        r.n_iterations++;
        l->n_iterations++;
        direction(l);
        memcpy(l->last_g, l->g, (size_t)l->n * sizeof *l->g);
        l->length = l->n_iterations == 1.0 ? fmin(1.0, 1.0 / sizes(l->g, l->n)) * o->rate : o->rate;
        double slope = dot(l->g, l->d, l->n), before = loss;
        if (slope > -o->tolerance_change)
            break;
        point  end;
        search s = {.l = l, .w = w, .eval = eval, .arg = arg, .start = {.t = 0.0, .f = loss, .slope = slope, .g = l->last_g}};
        AS_TRY(search_run(&s, l->length, &end));
        memcpy(l->g, end.g, (size_t)l->n * sizeof *l->g);
        add(w, end.t, l->d, l->n);
        loss = r.loss_after = end.f;
        r.length = l->length = end.t;
        r.n_evaluations += s.n_evaluations;
        r.max_grad = largest(l->g, l->n);
        flat = r.max_grad <= o->tolerance_grad;
        if (r.n_evaluations >= o->max_evaluations || end.t * largest(l->d, l->n) <= o->tolerance_change ||
            fabs(loss - before) < o->tolerance_change)
            break;
    }
    if (out)
        *out = r;
    return ASSAY_OK;
}

/* --- State ------------------------------------------------------------------------------------------------------------------ */

enum { N_SCALARS = 4 };

size_t as_lbfgs_state_count(const as_lbfgs *l)
{
    size_t pairs = (size_t)l->options.history;
    return N_SCALARS + (size_t)l->n * (2 + 2 * pairs) + pairs;
}

/* One walk over the parts for both directions. */
static void state_move(const as_lbfgs *l, double *scalars[N_SCALARS], double *block, bool get)
{
    size_t  pairs = (size_t)l->options.history, n = (size_t)l->n;
    double *parts[] = {l->d, l->last_g, l->s, l->y, l->rho};
    size_t  counts[] = {n, n, pairs * n, pairs * n, pairs};
    for (int i = 0; i < N_SCALARS; i++, block++)
        *(get ? block : scalars[i]) = *(get ? scalars[i] : block);
    for (size_t i = 0; i < AS_COUNT(parts); block += counts[i++])
        memcpy(get ? block : parts[i], get ? parts[i] : block, counts[i] * sizeof *block);
}

void as_lbfgs_state_get(const as_lbfgs *l, double *out)
{
    as_lbfgs now = *l;
    state_move(&now, (double *[]){&now.n_iterations, &now.length, &now.gamma, &now.n_pairs}, out, true);
}

void as_lbfgs_state_set(as_lbfgs *l, const double *in)
{
    state_move(l, (double *[]){&l->n_iterations, &l->length, &l->gamma, &l->n_pairs}, (double *)(uintptr_t)in, false);
    double most = l->options.history;
    l->n_pairs = l->n_pairs >= 0.0 && l->n_pairs <= most ? floor(l->n_pairs) : 0.0; /* a block from a file can hold anything */
}
