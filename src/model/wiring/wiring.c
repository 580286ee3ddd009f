/* wiring.c - the four wirings, drawn in the order of the reference, so that the same seed gives the same synapses. */
#include "model/wiring/wiring.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "model/graph/maker.h"

/* A line of text can ask for any number of neurons; a matrix is at most this large. */
#define MAX_UNITS  8192
#define MAX_INPUTS 1048576
#define MAX_CELLS  (INT64_C(1) << 28)

static const char *const kind_names[] = {"full", "random", "ncp", "autoncp", NULL};

/* --- The arguments: keys ------------------------------------------------------------------------- */

typedef enum key_type { KEY_COUNT, KEY_SEED, KEY_SHARE, KEY_BOOL } key_type;

#define OF(kind_) (1u << AS_WIRING_##kind_)

static const struct key {
    const char *name;
    key_type    type;
    unsigned    kinds, needed; /* bits of as_wiring_kind: the kinds that have it, the kinds that need it */
    size_t      at;            /* in as_wiring_spec */
} keys[] = {
    {"units", KEY_COUNT, OF(FULL) | OF(RANDOM) | OF(AUTONCP), OF(FULL) | OF(RANDOM) | OF(AUTONCP), offsetof(as_wiring_spec, units)},
    {"out", KEY_COUNT, OF(FULL) | OF(RANDOM) | OF(AUTONCP), OF(AUTONCP), offsetof(as_wiring_spec, out)},
    {"inter", KEY_COUNT, OF(NCP), OF(NCP), offsetof(as_wiring_spec, inter)},
    {"command", KEY_COUNT, OF(NCP), OF(NCP), offsetof(as_wiring_spec, command)},
    {"motor", KEY_COUNT, OF(NCP), OF(NCP), offsetof(as_wiring_spec, motor)},
    {"sensory_fanout", KEY_COUNT, OF(NCP), OF(NCP), offsetof(as_wiring_spec, sensory_fanout)},
    {"inter_fanout", KEY_COUNT, OF(NCP), OF(NCP), offsetof(as_wiring_spec, inter_fanout)},
    {"recurrent_command", KEY_COUNT, OF(NCP), OF(NCP), offsetof(as_wiring_spec, recurrent_command)},
    {"motor_fanin", KEY_COUNT, OF(NCP), OF(NCP), offsetof(as_wiring_spec, motor_fanin)},
    {"sparsity", KEY_SHARE, OF(RANDOM) | OF(AUTONCP), 0, offsetof(as_wiring_spec, sparsity)},
    {"seed", KEY_SEED, OF(FULL) | OF(RANDOM) | OF(NCP) | OF(AUTONCP), 0, offsetof(as_wiring_spec, seed)},
    {"self", KEY_BOOL, OF(FULL), 0, offsetof(as_wiring_spec, self_connections)},
};

/* The reference's defaults. */
static as_wiring_spec spec_standard(as_wiring_kind kind)
{
    bool is_ncp = kind == AS_WIRING_NCP || kind == AS_WIRING_AUTONCP;
    return (as_wiring_spec){.kind = kind,
                            .sparsity = kind == AS_WIRING_AUTONCP ? 0.5 : 0.0,
                            .seed = is_ncp ? 22222 : 1111,
                            .self_connections = kind == AS_WIRING_FULL};
}

static assay_status fail_kind(assay_env *env, const char *name)
{
    char hint[96];
    return as_fail(env, ASSAY_NOT_FOUND, "wiring '%s': unknown name%s; known: full, random, ncp, autoncp", name,
                   as_hint(hint, sizeof hint, name, kind_names, '\''));
}

static assay_status fail_key(assay_env *env, as_wiring_kind kind, const char *key)
{
    char   list[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < AS_COUNT(keys); i++)
        if (keys[i].kinds & 1u << kind)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", keys[i].name);
    return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: it has no key '%s'; its keys: %s", kind_names[kind], key, list);
}

static assay_status value_read(assay_env *env, const struct key *key, const char *text, as_wiring_spec *spec)
{
    char   *at = (char *)spec + key->at;
    int64_t whole = 0;
    double  share = 0;
    bool    on = false;
    switch (key->type) {
    case KEY_COUNT:
    case KEY_SEED:
        if (!as_parse_i64(text, &whole) || whole < 0 || (key->type == KEY_COUNT && whole == 0 && !strcmp(key->name, "out")))
            return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: %s=%s must be a whole number, %s or more", kind_names[spec->kind],
                           key->name, text, strcmp(key->name, "out") ? "0" : "1");
        memcpy(at, &whole, sizeof whole); /* a count or a seed: both have 64 bits */
        return ASSAY_OK;
    case KEY_SHARE:
        if (!as_parse_f64(text, &share))
            return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: %s=%s is not a number", kind_names[spec->kind], key->name, text);
        memcpy(at, &share, sizeof share);
        return ASSAY_OK;
    case KEY_BOOL:
        if (!as_parse_bool(text, &on))
            return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: %s=%s must be 0 or 1", kind_names[spec->kind], key->name, text);
        memcpy(at, &on, sizeof on);
        return ASSAY_OK;
    }
    return ASSAY_INTERNAL;
}

/* "key=value", cut in place; `given` has one bit per key. */
static assay_status item_read(assay_env *env, char *item, as_wiring_spec *spec, unsigned *given)
{
    char *equals = strchr(item, '=');
    if (!equals || equals == item || !equals[1])
        return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: '%s' is not of the form key=value", kind_names[spec->kind], item);
    *equals = '\0';
    for (size_t i = 0; i < AS_COUNT(keys); i++) {
        if (strcmp(keys[i].name, item) || !(keys[i].kinds & 1u << spec->kind))
            continue;
        if (*given & 1u << i)
            return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: the key '%s' is given twice", kind_names[spec->kind], item);
        *given |= 1u << i;
        return value_read(env, &keys[i], equals + 1, spec);
    }
    return fail_key(env, spec->kind, item);
}

static assay_status spec_check(assay_env *env, const as_wiring_spec *spec);

assay_status as_wiring_parse(assay_env *env, const char *text, as_wiring_spec *out)
{
    char     copy[512], *rest;
    unsigned given = 0;
    int      kind = 0;
    if (strlen(text) >= sizeof copy)
        return as_fail(env, ASSAY_BAD_INPUT, "wiring: a description of %zu characters is too long; the limit is %zu", strlen(text),
                       sizeof copy - 1);
    memcpy(copy, text, strlen(text) + 1);
    rest = strchr(copy, ':');
    if (rest)
        *rest++ = '\0';
    while (kind_names[kind] && strcmp(kind_names[kind], copy))
        kind++;
    if (!kind_names[kind])
        return fail_kind(env, copy);
    as_wiring_spec spec = spec_standard((as_wiring_kind)kind);
    while (rest) {
        char *comma = strchr(rest, ',');
        if (comma)
            *comma = '\0';
        AS_TRY(item_read(env, rest, &spec, &given));
        rest = comma ? comma + 1 : NULL;
    }
    for (size_t i = 0; i < AS_COUNT(keys); i++)
        if (keys[i].needed & 1u << kind && !(given & 1u << i))
            return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: the key '%s' is missing", kind_names[kind], keys[i].name);
    AS_TRY(spec_check(env, &spec));
    *out = spec;
    return ASSAY_OK;
}

/* --- The arguments: the reference's checks -------------------------------------------------------- */

static assay_status count_check(assay_env *env, const as_wiring_spec *spec, const char *what, int64_t n, int64_t min)
{
    if (n >= min && n <= MAX_UNITS)
        return ASSAY_OK;
    return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: %s=%" PRId64 " must be from %" PRId64 " to %d", kind_names[spec->kind], what,
                   n, min, MAX_UNITS);
}

static assay_status one_layer_check(assay_env *env, const as_wiring_spec *s)
{
    AS_TRY(count_check(env, s, "units", s->units, 1));
    if (s->out < 0 || s->out > s->units)
        return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: out=%" PRId64 " must be from 1 to its %" PRId64 " units",
                       kind_names[s->kind], s->out, s->units);
    if (s->kind == AS_WIRING_RANDOM && !(s->sparsity >= 0.0 && s->sparsity < 1.0))
        return as_fail(env, ASSAY_BAD_INPUT, "wiring random: sparsity=%.17g must be at least 0 and below 1", s->sparsity);
    return ASSAY_OK;
}

static assay_status ncp_check(assay_env *env, const as_wiring_spec *s)
{
    AS_TRY(count_check(env, s, "inter", s->inter, 1));
    AS_TRY(count_check(env, s, "command", s->command, 1));
    AS_TRY(count_check(env, s, "motor", s->motor, 1));
    AS_TRY(count_check(env, s, "inter+command+motor", s->inter + s->command + s->motor, 3));
    if (s->motor_fanin > s->command)
        return as_fail(env, ASSAY_BAD_INPUT, "wiring ncp: motor_fanin=%" PRId64 " is more than the %" PRId64 " command neurons",
                       s->motor_fanin, s->command);
    if (s->sensory_fanout > s->inter)
        return as_fail(env, ASSAY_BAD_INPUT, "wiring ncp: sensory_fanout=%" PRId64 " is more than the %" PRId64 " inter neurons",
                       s->sensory_fanout, s->inter);
    if (s->inter_fanout > s->command)
        return as_fail(env, ASSAY_BAD_INPUT, "wiring ncp: inter_fanout=%" PRId64 " is more than the %" PRId64 " command neurons",
                       s->inter_fanout, s->command);
    if (s->motor_fanin < 0 || s->sensory_fanout < 0 || s->inter_fanout < 0)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "wiring ncp: sensory_fanout=%" PRId64 ", inter_fanout=%" PRId64 " and motor_fanin=%" PRId64
                       " may not be negative",
                       s->sensory_fanout, s->inter_fanout, s->motor_fanin);
    if (s->recurrent_command < 0 || s->recurrent_command > MAX_CELLS)
        return as_fail(env, ASSAY_BAD_INPUT, "wiring ncp: recurrent_command=%" PRId64 " must be from 0 to %" PRId64,
                       s->recurrent_command, (int64_t)MAX_CELLS);
    return ASSAY_OK;
}

static assay_status auto_check(assay_env *env, const as_wiring_spec *s)
{
    AS_TRY(count_check(env, s, "units", s->units, 1));
    AS_TRY(count_check(env, s, "out", s->out, 1));
    if (s->out >= s->units - 2)
        return as_fail(env, ASSAY_BAD_INPUT, "wiring autoncp: out=%" PRId64 " must be below units-2, which is %" PRId64, s->out,
                       s->units - 2);
    if (!(s->sparsity >= 0.1 && s->sparsity <= 1.0))
        return as_fail(env, ASSAY_BAD_INPUT, "wiring autoncp: sparsity=%.17g must be from 0.1 to 1", s->sparsity);
    return ASSAY_OK;
}

static assay_status spec_check(assay_env *env, const as_wiring_spec *spec)
{
    bool is_ncp = spec->kind == AS_WIRING_NCP || spec->kind == AS_WIRING_AUTONCP;
    if (is_ncp && spec->seed > UINT32_MAX) /* its generator takes 32 bits */
        return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: seed=%" PRIu64 " must be from 0 to %" PRIu32, kind_names[spec->kind],
                       spec->seed, UINT32_MAX);
    return spec->kind == AS_WIRING_NCP ? ncp_check(env, spec) : is_ncp ? auto_check(env, spec) : one_layer_check(env, spec);
}

/* The numbers that follow from units, out and sparsity; computed in doubles and truncated, because 1 - 0.9 is less than 0.1. */
static void auto_fill(as_wiring_spec *s)
{
    double  density = 1.0 - s->sparsity;
    int64_t rest = s->units - s->out;
    s->motor = s->out;
    s->command = (int64_t)(0.4 * (double)rest);
    if (s->command < 1)
        s->command = 1;
    s->inter = rest - s->command;
    int64_t sensory = (int64_t)((double)s->inter * density), commands = (int64_t)((double)s->command * density);
    int64_t recurrent = (int64_t)((double)s->command * density * 2);
    s->sensory_fanout = sensory > 1 ? sensory : 1;
    s->inter_fanout = s->motor_fanin = commands > 1 ? commands : 1;
    s->recurrent_command = recurrent > 1 ? recurrent : 1;
}

/* --- Full and random: PCG64 --------------------------------------------------------------------------- */

static int8_t sign_of_three(as_pcg64 *g) { return as_pcg64_below(g, 2) ? 1 : -1; /* of -1, +1, +1 */ }

static void full_draw(as_wiring *w)
{
    as_pcg64 g;
    as_pcg64_seed(&g, w->spec.seed);
    for (int from = 0; from < w->n_units; from++)
        for (int to = 0; to < w->n_units; to++)
            if (from != to || w->spec.self_connections)
                w->adjacency[(size_t)from * (size_t)w->n_units + (size_t)to] = sign_of_three(&g);
    for (size_t i = 0; i < (size_t)w->n_inputs * (size_t)w->n_units; i++)
        w->sensory[i] = sign_of_three(&g);
}

/* Draws `n_draws` signs per pair; the last one stays. */
static bool random_fill(as_pcg64 *g, int8_t *cells, int64_t n, double sparsity, int n_draws)
{
    int64_t  k = (int64_t)rint((double)n * (1.0 - sparsity));
    int64_t *chosen = malloc(((size_t)k + 1) * sizeof *chosen);
    bool     ok = chosen && as_pcg64_choose(g, n, k, chosen);
    for (int64_t i = 0; ok && i < k; i++)
        for (int d = 0; d < n_draws; d++)
            cells[chosen[i]] = sign_of_three(g);
    free(chosen);
    return ok;
}

static bool random_draw(as_wiring *w)
{
    as_pcg64 g;
    as_pcg64_seed(&g, w->spec.seed);
    /* The reference writes each sensory synapse twice. */
    return random_fill(&g, w->adjacency, (int64_t)w->n_units * w->n_units, w->spec.sparsity, 1) &&
           random_fill(&g, w->sensory, (int64_t)w->n_inputs * w->n_units, w->spec.sparsity, 2);
}

/* --- NCP: MT19937 --------------------------------------------------------------------------------------- */

/* A range of neurons (or inputs) with consecutive numbers. */
typedef struct span {
    int first, n;
} span;

typedef struct ncp_draw {
    as_mt19937 g;
    int64_t   *order; /* space for the largest range */
    bool      *is_hit;
} ncp_draw;

/* Afterwards order[0..] starts with the chosen ones, counted from 0. */
static void choose(ncp_draw *d, int n)
{
    for (int i = 0; i < n; i++)
        d->order[i] = i;
    as_mt19937_shuffle(&d->g, d->order, (size_t)n);
}

static int8_t sign_of_two(ncp_draw *d) { return as_mt19937_below(&d->g, 1) ? 1 : -1; }

/* Each of `many` chooses n_each of `few`; then each of `few` that was not chosen chooses n_repair of `many`.  The index of a
 * cell is many * step_many + few * step_few, whichever of the two is the source. */
static void layer_draw(ncp_draw *d, int8_t *cells, span many, size_t step_many, span few, size_t step_few, int64_t n_each,
                       int64_t n_repair)
{
    memset(d->is_hit, 0, (size_t)few.n);
    for (int i = 0; i < many.n; i++) {
        choose(d, few.n);
        for (int64_t k = 0; k < n_each; k++) {
            d->is_hit[d->order[k]] = true;
            cells[(size_t)(many.first + i) * step_many + (size_t)(few.first + d->order[k]) * step_few] = sign_of_two(d);
        }
    }
    for (int i = 0; i < few.n; i++) {
        if (d->is_hit[i])
            continue;
        choose(d, many.n);
        for (int64_t k = 0; k < n_repair; k++)
            cells[(size_t)(many.first + d->order[k]) * step_many + (size_t)(few.first + i) * step_few] = sign_of_two(d);
    }
}

static int64_t clip(int64_t value, int64_t hi) { return value < 1 ? 1 : value > hi ? hi : value; }

static void recurrent_draw(ncp_draw *d, as_wiring *w, span command)
{
    for (int64_t i = 0; i < w->spec.recurrent_command; i++) {
        uint32_t from = (uint32_t)command.first + as_mt19937_below(&d->g, (uint32_t)command.n - 1);
        uint32_t to = (uint32_t)command.first + as_mt19937_below(&d->g, (uint32_t)command.n - 1);
        w->adjacency[(size_t)from * (size_t)w->n_units + to] = sign_of_two(d);
    }
}

static bool ncp_draw_all(as_wiring *w)
{
    const as_wiring_spec *s = &w->spec;
    span                  input = {0, w->n_inputs}, motor = {0, w->n_motor}, command = {w->n_motor, w->n_command},
         inter = {w->n_motor + w->n_command, w->n_inter};
    size_t   row = (size_t)w->n_units, most = row > (size_t)w->n_inputs ? row : (size_t)w->n_inputs;
    ncp_draw d = {.order = malloc(most * sizeof *d.order), .is_hit = malloc(most * sizeof *d.is_hit)};
    bool     ok = d.order && d.is_hit;
    if (ok) {
        as_mt19937_seed(&d.g, (uint32_t)s->seed);
        layer_draw(&d, w->sensory, input, row, inter, 1, s->sensory_fanout,
                   clip(w->n_inputs * s->sensory_fanout / s->inter, w->n_inputs));
        /* The upper end is command, not inter, as in the reference; inter_fanout <= command keeps it below inter. */
        layer_draw(&d, w->adjacency, inter, row, command, 1, s->inter_fanout,
                   clip(s->inter * s->inter_fanout / s->command, s->command));
        recurrent_draw(&d, w, command);
        layer_draw(&d, w->adjacency, motor, 1, command, row, s->motor_fanin,
                   clip(s->motor * s->motor_fanin / s->command, s->motor));
    }
    free(d.order);
    free(d.is_hit);
    return ok;
}

/* --- Making ---------------------------------------------------------------------------------------------- */

assay_status as_wiring_make(assay_env *env, const as_wiring_spec *spec, int n_inputs, as_arena *arena, as_wiring *out)
{
    AS_TRY(spec_check(env, spec));
    as_wiring w = {.spec = *spec, .n_inputs = n_inputs, .n_layers = 1};
    if (spec->kind == AS_WIRING_AUTONCP)
        auto_fill(&w.spec);
    if (spec->kind == AS_WIRING_AUTONCP || spec->kind == AS_WIRING_NCP) {
        w.n_inter = (int)w.spec.inter;
        w.n_command = (int)w.spec.command;
        w.n_motor = (int)w.spec.motor;
        w.n_layers = 3;
    } else {
        w.n_motor = (int)(spec->out ? spec->out : spec->units);
        w.n_inter = (int)spec->units - w.n_motor;
    }
    w.n_out = w.n_motor;
    w.n_units = w.n_inter + w.n_command + w.n_motor;
    if (n_inputs < 1 || n_inputs > MAX_INPUTS || (int64_t)n_inputs * w.n_units > MAX_CELLS)
        return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: %d inputs for %d units: there must be 1 to %" PRId64,
                       kind_names[spec->kind], n_inputs, w.n_units,
                       MAX_CELLS / w.n_units < MAX_INPUTS ? MAX_CELLS / w.n_units : (int64_t)MAX_INPUTS);
    w.adjacency = AS_TAKE(arena, int8_t, (size_t)w.n_units * (size_t)w.n_units);
    w.sensory = AS_TAKE(arena, int8_t, (size_t)n_inputs * (size_t)w.n_units);
    bool ok = w.adjacency && w.sensory;
    if (ok && spec->kind == AS_WIRING_FULL)
        full_draw(&w);
    else if (ok)
        ok = spec->kind == AS_WIRING_RANDOM ? random_draw(&w) : ncp_draw_all(&w);
    if (!ok)
        return as_fail(env, ASSAY_NO_MEMORY, "wiring %s: not enough memory for %d units and %d inputs", kind_names[spec->kind],
                       w.n_units, n_inputs);
    *out = w;
    return ASSAY_OK;
}

assay_status as_wiring_expect(assay_env *env, const as_wiring *w, int n_inputs)
{
    if (w->n_inputs == n_inputs)
        return ASSAY_OK;
    if (!w->n_inputs)
        return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: it is not built yet, so it cannot take %d inputs",
                       kind_names[w->spec.kind], n_inputs);
    return as_fail(env, ASSAY_BAD_INPUT, "wiring %s: it was built for %d inputs and cannot be built again for %d",
                   kind_names[w->spec.kind], w->n_inputs, n_inputs);
}

/* --- Queries ------------------------------------------------------------------------------------------------ */

as_neuron as_wiring_type(const as_wiring *w, int neuron)
{
    return neuron < w->n_motor ? AS_NEURON_MOTOR : neuron < w->n_motor + w->n_command ? AS_NEURON_COMMAND : AS_NEURON_INTER;
}

static int cells_count(const int8_t *cells, size_t n)
{
    int count = 0;
    for (size_t i = 0; i < n; i++)
        count += cells[i] != 0;
    return count;
}

int as_wiring_synapses(const as_wiring *w) { return cells_count(w->adjacency, (size_t)w->n_units * (size_t)w->n_units); }

int as_wiring_sensory_synapses(const as_wiring *w) { return cells_count(w->sensory, (size_t)w->n_inputs * (size_t)w->n_units); }

int as_wiring_layer(const as_wiring *w, int layer, int *neurons)
{
    const span layers[] = {{w->n_motor + w->n_command, w->n_inter}, {w->n_motor, w->n_command}, {0, w->n_motor}};
    if (layer < 0 || layer >= w->n_layers)
        return 0;
    span s = w->n_layers == 1 ? (span){0, w->n_units} : layers[layer];
    for (int i = 0; neurons && i < s.n; i++)
        neurons[i] = s.first + i;
    return s.n;
}
