/* schedule.c - reads schedules and computes rates. */
#include "train/schedule.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define PLATEAU_THRESHOLD 1e-4 /* of the best loss: a smaller improvement is none */

/* --- Reading ------------------------------------------------------------------------------------------------------------- */

typedef enum argument { NOTHING, LENGTH, UNTIL, EVERY, PERIOD, FACTOR, TIMES, FLOOR, PATIENCE } argument;

typedef struct word {
    const char      *name;
    as_schedule_kind kind;
    argument         args[3];
    int              n_needed; /* the others may be left out */
    const char      *usage;
} word;

static const word words[] = {
    {"constant", AS_SCHEDULE_CONSTANT, {NOTHING}, 0, "constant"},
    {"warmup", AS_SCHEDULE_WARMUP, {LENGTH}, 1, "warmup LENGTH"},
    {"stable", AS_SCHEDULE_STABLE, {UNTIL}, 1, "stable UNTIL"},
    {"linear", AS_SCHEDULE_LINEAR, {FLOOR}, 0, "linear [FLOOR]"},
    {"cosine", AS_SCHEDULE_COSINE, {FLOOR}, 0, "cosine [FLOOR]"},
    {"decay", AS_SCHEDULE_DECAY, {FLOOR}, 0, "decay [FLOOR]"},
    {"step", AS_SCHEDULE_STEP, {EVERY, FACTOR}, 2, "step EVERY FACTOR"},
    {"exponential", AS_SCHEDULE_EXPONENTIAL, {FACTOR}, 1, "exponential FACTOR"},
    {"restarts", AS_SCHEDULE_RESTARTS, {PERIOD, TIMES, FLOOR}, 1, "restarts LENGTH [TIMES] [FLOOR]"},
    {"plateau", AS_SCHEDULE_PLATEAU, {FACTOR, PATIENCE, FLOOR}, 2, "plateau FACTOR PATIENCE [FLOOR]"},
};

enum { MAX_TOKENS = 6, TOKEN_BYTES = 32 };

typedef struct tokens {
    char text[MAX_TOKENS][TOKEN_BYTES];
    int  n;
} tokens;

static assay_status piece_split(assay_env *env, const char *text, size_t length, tokens *out)
{
    *out = (tokens){.n = 0};
    for (size_t i = 0; i < length;) {
        size_t size = 0;
        while (i < length && isspace((unsigned char)text[i]))
            i++;
        while (i + size < length && !isspace((unsigned char)text[i + size]))
            size++;
        if (!size)
            break;
        if (out->n == MAX_TOKENS || size >= TOKEN_BYTES)
            return as_fail(env, ASSAY_BAD_INPUT, "schedule: \"%.*s\" has too many words or too long ones", (int)length, text);
        memcpy(out->text[out->n++], text + i, size);
        i += size;
    }
    if (!out->n)
        return as_fail(env, ASSAY_BAD_INPUT, "schedule: a piece is empty; write for example \"warmup 200 > cosine 1e-5\"");
    return ASSAY_OK;
}

/* 200, 200s, 5e, 20%. */
static bool length_read(const char *text, as_length_unit otherwise, as_length *out)
{
    char   number[TOKEN_BYTES];
    size_t n = strlen(text);
    if (!n)
        return false;
    memcpy(number, text, n + 1);
    char unit = number[n - 1];
    out->unit = unit == '%' ? AS_LENGTH_SHARE : unit == 'e' ? AS_LENGTH_EPOCHS : unit == 's' ? AS_LENGTH_STEPS : otherwise;
    if (unit == '%' || unit == 'e' || unit == 's')
        number[n - 1] = 0;
    if (!as_parse_f64(number, &out->amount) || out->amount <= 0.0)
        return false;
    out->amount /= unit == '%' ? 100.0 : 1.0;
    if (out->unit == AS_LENGTH_SHARE)
        return out->amount <= 1.0;
    return out->unit != AS_LENGTH_STEPS || out->amount == floor(out->amount);
}

static assay_status bad(assay_env *env, const char *name, const char *what, const char *text, const char *must)
{
    return as_fail(env, ASSAY_BAD_INPUT, "schedule: %s of \"%s\" is \"%s\" and must be %s", what, name, text, must);
}

static assay_status arg_read(assay_env *env, const word *w, argument kind, const char *text, as_schedule_piece *p)
{
    static const char length[] = "a number of steps (200), epochs (5e) or a share (20%)";
    switch (kind) {
    case NOTHING: break;
    case LENGTH: return length_read(text, AS_LENGTH_STEPS, &p->length) ? ASSAY_OK : bad(env, w->name, "the length", text, length);
    case PERIOD: return length_read(text, AS_LENGTH_STEPS, &p->every) ? ASSAY_OK : bad(env, w->name, "the length", text, length);
    case EVERY:
        return length_read(text, AS_LENGTH_EPOCHS, &p->every)
                   ? ASSAY_OK
                   : bad(env, w->name, "the interval", text, "a number of epochs (30) or steps (500s) or a share (20%)");
    case UNTIL:
        if (length_read(text, AS_LENGTH_SHARE, &p->length) && p->length.unit == AS_LENGTH_SHARE)
            return ASSAY_OK;
        return bad(env, w->name, "the end", text, "a share of the whole run, as 0.8 or 80%");
    case FACTOR:
        if (as_parse_f64(text, &p->factor) && p->factor > 0.0 && p->factor <= 1.0)
            return ASSAY_OK;
        return bad(env, w->name, "the factor", text, "more than 0 and at most 1");
    case TIMES:
        if (as_parse_f64(text, &p->factor) && p->factor >= 1.0)
            return ASSAY_OK;
        return bad(env, w->name, "the growth", text, "at least 1");
    case FLOOR:
        if (as_parse_f64(text, &p->floor) && p->floor >= 0.0)
            return ASSAY_OK;
        return bad(env, w->name, "the floor", text, "a rate of at least 0");
    case PATIENCE:
        if (as_parse_f64(text, &p->patience) && p->patience >= 0.0 && p->patience == floor(p->patience))
            return ASSAY_OK;
        return bad(env, w->name, "the patience", text, "a whole number of evaluations");
    }
    return ASSAY_OK;
}

static const word *word_find(const char *name)
{
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (!strcmp(words[i].name, name))
            return &words[i];
    return NULL;
}

static assay_status word_unknown(assay_env *env, const char *name)
{
    char all[160] = "";
    for (size_t i = 0; i < AS_COUNT(words); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", words[i].name);
    return as_fail(env, ASSAY_BAD_INPUT, "schedule: unknown piece \"%s\"; known: %s", name, all);
}

static assay_status piece_read(assay_env *env, const char *text, size_t length, as_schedule_piece *out)
{
    tokens t;
    AS_TRY(piece_split(env, text, length, &t));
    const word       *w = word_find(t.text[0]);
    as_schedule_piece p = {.factor = 1.0};
    if (!w)
        return word_unknown(env, t.text[0]);
    p.kind = w->kind;
    int n_args = t.n - 1, most = 0;
    while (most < 3 && w->args[most] != NOTHING)
        most++;
    if (n_args >= 1 && !strcmp(t.text[t.n - 1], "for"))
        return as_fail(env, ASSAY_BAD_INPUT, "schedule: \"%s ... for\" has no length", w->name);
    if (n_args >= 2 && !strcmp(t.text[t.n - 2], "for")) {
        if (p.kind == AS_SCHEDULE_WARMUP || p.kind == AS_SCHEDULE_STABLE)
            return as_fail(env, ASSAY_BAD_INPUT, "schedule: \"%s\" has its own length and takes no \"for\"", w->name);
        AS_TRY(arg_read(env, w, LENGTH, t.text[t.n - 1], &p));
        n_args -= 2;
    }
    if (n_args < w->n_needed || n_args > most)
        return as_fail(env, ASSAY_BAD_INPUT, "schedule: \"%.*s\" has %d numbers; write: %s", (int)length, text, n_args, w->usage);
    for (int i = 0; i < n_args; i++)
        AS_TRY(arg_read(env, w, w->args[i], t.text[i + 1], &p));
    *out = p;
    return ASSAY_OK;
}

assay_status as_schedule_parse(assay_env *env, const char *text, as_schedule *out)
{
    as_schedule s = {.n_pieces = 0};
    double      shares = 0.0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ">");
        if (s.n_pieces == AS_SCHEDULE_PIECES)
            return as_fail(env, ASSAY_BAD_INPUT, "schedule: \"%s\" has more than %d pieces", text, AS_SCHEDULE_PIECES);
        as_schedule_piece *p = &s.pieces[s.n_pieces++];
        AS_TRY(piece_read(env, at, length, p));
        at += length;
        if (p->length.unit == AS_LENGTH_SHARE)
            shares = p->kind == AS_SCHEDULE_STABLE ? fmax(shares, p->length.amount) : shares + p->length.amount;
        if (shares > 1.0 + 1e-9)
            return as_fail(env, ASSAY_BAD_INPUT, "schedule: the pieces of \"%s\" last longer than 100 %% of the run", text);
        if (!*at)
            break;
        if (p->length.unit == AS_LENGTH_REST)
            return as_fail(env, ASSAY_BAD_INPUT,
                           "schedule: \"%.*s\" lasts until the end, and a piece follows; give it a length: \"for 20%%\"",
                           (int)length, at - length);
    }
    *out = s;
    return ASSAY_OK;
}

bool as_schedule_wants_losses(const as_schedule *s)
{
    for (int i = 0; i < s->n_pieces; i++)
        if (s->pieces[i].kind == AS_SCHEDULE_PLATEAU)
            return true;
    return false;
}

/* --- Rates ---------------------------------------------------------------------------------------------------------------- */

static double in_steps(const as_length *l, const as_schedule_at *at)
{
    switch (l->unit) {
    case AS_LENGTH_REST: return HUGE_VAL;
    case AS_LENGTH_STEPS: return l->amount;
    case AS_LENGTH_EPOCHS: return l->amount * (double)at->steps_per_epoch;
    case AS_LENGTH_SHARE: return l->amount * (double)at->total;
    }
    return 0.0;
}

/* How often the rate was reduced by what was measured after `first` steps and until `until`. */
static double plateau_cuts(const as_schedule_piece *p, const as_schedule_at *at, double first, double until)
{
    double best = HUGE_VAL, n_cuts = 0.0, n_bad = 0.0;
    for (int i = 0; i < at->n_losses; i++) {
        const as_schedule_loss *l = &at->losses[i];
        if ((double)l->step <= first || (double)l->step > until)
            continue;
        if (l->loss < best - PLATEAU_THRESHOLD * (best < HUGE_VAL ? fabs(best) : 0.0)) {
            best = l->loss;
            n_bad = 0.0;
        } else if (++n_bad > p->patience) {
            n_cuts++;
            n_bad = 0.0;
        }
    }
    return n_cuts;
}

static double cosine(double from, double floor_, double share)
{
    return floor_ + 0.5 * (from - floor_) * (1.0 + cos(M_PI * share));
}

static double restarts(const as_schedule_piece *p, double from, double s, double period)
{
    if (p->factor == 1.0)
        return cosine(from, p->floor, fmod(s, period) / period);
    while (s >= period) { /* each is longer than the one before: few of them fit */
        s -= period;
        period *= p->factor;
    }
    return cosine(from, p->floor, s / period);
}

/* The rate of a piece that began at step `first` with the rate `from` and lasts `length`, at its own step s. */
static double piece_rate(const as_schedule_piece *p, const as_schedule_at *at, double first, double from, double s, double length)
{
    double share = length > 0.0 ? fmin(1.0, s / length) : 1.0, every = in_steps(&p->every, at);
    double epoch = at->steps_per_epoch > 0 ? s / (double)at->steps_per_epoch : 0.0;
    switch (p->kind) {
    case AS_SCHEDULE_CONSTANT:
    case AS_SCHEDULE_STABLE: return from;
    case AS_SCHEDULE_WARMUP: return from * fmin(1.0, (s + 1.0) / length);
    case AS_SCHEDULE_LINEAR: return from + (p->floor - from) * share;
    case AS_SCHEDULE_COSINE: return cosine(from, p->floor, share);
    case AS_SCHEDULE_DECAY: return p->floor + (from - p->floor) * (1.0 - sqrt(share));
    case AS_SCHEDULE_STEP: return every > 0.0 ? from * pow(p->factor, floor(s / every)) : from;
    case AS_SCHEDULE_EXPONENTIAL: return from * pow(p->factor, epoch);
    case AS_SCHEDULE_RESTARTS: return every > 0.0 ? restarts(p, from, s, every) : from;
    case AS_SCHEDULE_PLATEAU: return fmax(fmin(from, p->floor), from * pow(p->factor, plateau_cuts(p, at, first, first + s)));
    }
    return from;
}

double as_schedule_rate(const as_schedule *s, const as_schedule_at *at)
{
    double first = 0.0, rate = at->base, step = (double)at->step, total = (double)at->total;
    for (int i = 0; i < s->n_pieces; i++) {
        const as_schedule_piece *p = &s->pieces[i];
        double                   end = p->kind == AS_SCHEDULE_STABLE ? in_steps(&p->length, at) : first + in_steps(&p->length, at);
        bool                     rest = p->length.unit == AS_LENGTH_REST;
        end = rest ? fmax(total, first) : fmax(end, first);
        if (rest || step < end)
            return piece_rate(p, at, first, rate, step - first, end - first);
        rate = piece_rate(p, at, first, rate, end - first, end - first);
        first = end;
    }
    return rate;
}
