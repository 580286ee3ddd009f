/* ncp_layers.c - wirings from zoo keys, and torch's initialisation. */
#include "model/zoo/ncp_layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph/maker.h"

enum { MAX_INPUTS = 1 << 16, MAX_UNITS = 1 << 14 };

bool as_ncp_real(as_maker *m, const as_zoo_args *args, const char *key, double lo, double hi, double *out)
{
    const char *text = as_zoo_text(args, key);
    char       *end = NULL;
    double      x = text ? strtod(text, &end) : 0.0;
    if (!text || end == text || *end || !(x >= lo && x <= hi)) {
        as_maker_fail(m, "%s=%s must be a number from %g to %g", key, text ? text : "", lo, hi);
        return false;
    }
    *out = x;
    return true;
}

bool as_ncp_flag(as_maker *m, const as_zoo_args *args, const char *key) { return as_zoo_int(m, args, key, 0, 1) != 0; }

/* --- Wirings -------------------------------------------------------------------------------------- */

static const struct {
    const char    *name;
    as_wiring_kind kind;
} kinds[] = {
    {"full", AS_WIRING_FULL},
    {"random", AS_WIRING_RANDOM},
    {"ncp", AS_WIRING_NCP},
    {"autoncp", AS_WIRING_AUTONCP},
};

/* Refuses a key that has no effect in this wiring: ignoring it would hide a mistake. */
static bool keys_fit(as_maker *m, const as_zoo_args *args, const char *wiring, const char *const *keys)
{
    for (; *keys; keys++)
        if (as_zoo_is_given(args, *keys)) {
            as_maker_fail(m, "%s=%s does not apply with wiring=%s", *keys, as_zoo_text(args, *keys), wiring);
            return false;
        }
    return true;
}

static bool spec_read(as_maker *m, const as_zoo_args *args, const char *name, as_wiring_spec *s)
{
    static const char *const of_ncp[] = {"inter",        "command",           "motor",       "sensory_fanout",
                                         "inter_fanout", "recurrent_command", "motor_fanin", NULL};
    static const char *const of_others[] = {"units", "out", "sparsity", NULL}, *const of_random[] = {"sparsity", NULL};
    bool one_layer = s->kind == AS_WIRING_FULL || s->kind == AS_WIRING_RANDOM;
    s->self_connections = s->kind == AS_WIRING_FULL;
    s->seed = 1111;
    if (!one_layer || as_zoo_is_given(args, "wiring_seed"))
        s->seed = (uint64_t)as_zoo_int(m, args, "wiring_seed", 0, one_layer ? INT64_MAX : UINT32_MAX);
    if (s->kind == AS_WIRING_NCP) {
        int64_t *to[] = {&s->inter,        &s->command,           &s->motor,      &s->sensory_fanout,
                         &s->inter_fanout, &s->recurrent_command, &s->motor_fanin};
        for (int i = 0; of_ncp[i]; i++)
            *to[i] = as_zoo_int(m, args, of_ncp[i], 0, MAX_UNITS);
        return keys_fit(m, args, name, of_others) && !as_maker_failed(m);
    }
    s->units = as_zoo_int(m, args, "units", 1, MAX_UNITS);
    s->out = as_zoo_int(m, args, "out", 0, MAX_UNITS);
    if (s->kind == AS_WIRING_AUTONCP && !s->out)
        s->out = s->units / 4 > 1 ? s->units / 4 : 1;
    if (s->kind != AS_WIRING_FULL)
        as_ncp_real(m, args, "sparsity", 0.0, 1.0, &s->sparsity);
    return (s->kind != AS_WIRING_FULL || keys_fit(m, args, name, of_random)) && keys_fit(m, args, name, of_ncp) &&
           !as_maker_failed(m);
}

bool as_ncp_wiring(as_maker *m, const as_zoo_args *args, as_wiring *out, bool *has)
{
    static const char *const of_wirings[] = {
        "sparsity",     "wiring_seed",       "inter",       "command", "motor", "sensory_fanout",
        "inter_fanout", "recurrent_command", "motor_fanin", NULL};
    const char    *name = as_zoo_text(args, "wiring");
    int64_t        n_inputs = as_zoo_int(m, args, "input", 1, MAX_INPUTS);
    as_wiring_spec spec = {0};
    size_t         k = 0;
    *has = strcmp(name, "none") != 0;
    if (!*has)
        return keys_fit(m, args, name, of_wirings) && !as_maker_failed(m);
    while (k < AS_COUNT(kinds) && strcmp(kinds[k].name, name))
        k++;
    if (k == AS_COUNT(kinds)) {
        as_maker_fail(m, "wiring=%s must be one of none, full, random, ncp, autoncp", name);
        return false;
    }
    spec.kind = kinds[k].kind;
    if (!spec_read(m, args, name, &spec))
        return false;
    assay_env *env = as_maker_env(m);
    if (as_wiring_make(env, &spec, (int)n_inputs, as_maker_arena(m), out) == ASSAY_OK)
        return true;
    char why[256];
    snprintf(why, sizeof why, "%s", env ? assay_message(env) : "the wiring cannot be built");
    as_maker_fail(m, "%s", why);
    return false;
}

/* --- torch's initial values ---------------------------------------------------------------------------------- */

/* One fused multiply-add, as in torch's own build: a separate multiplication and addition differ in the last bit. */
void as_torch_uniform(as_mt19937 *g, double bound, float *out, int64_t n)
{
    float lo = (float)-bound, hi = (float)bound;
    for (int64_t i = 0; i < n; i++)
        out[i] = fmaf(as_mt19937_uniform(g), hi - lo, lo);
}

/* kaiming_uniform with a = sqrt(5), rounded in the same order as torch. */
double as_torch_linear_bound(int64_t fan_in)
{
    double a = sqrt(5.0), gain = sqrt(2.0 / (1.0 + a * a));
    return sqrt(3.0) * (gain / sqrt((double)fan_in));
}

double as_torch_xavier_bound(int64_t fan_in, int64_t fan_out) { return sqrt(3.0) * sqrt(2.0 / (double)(fan_in + fan_out)); }

static double normal(as_mt19937 *g)
{
    double u = 1.0 - (double)as_mt19937_uniform(g), v = (double)as_mt19937_uniform(g);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586477 * v);
}

/* Gram-Schmidt, twice for accuracy; columns that vanish are drawn again. */
void as_torch_orthogonal(as_mt19937 *g, float *out, int64_t rows, int64_t cols)
{
    for (int64_t c = 0; c < cols; c++) {
        double length = 0.0;
        do {
            for (int64_t r = 0; r < rows; r++)
                out[r * cols + c] = (float)normal(g);
            for (int pass = 0; pass < 2; pass++) {
                for (int64_t k = 0; k < c; k++) {
                    double dot = 0.0;
                    for (int64_t r = 0; r < rows; r++)
                        dot += (double)out[r * cols + k] * (double)out[r * cols + c];
                    for (int64_t r = 0; r < rows; r++)
                        out[r * cols + c] -= (float)(dot * (double)out[r * cols + k]);
                }
                length = 0.0;
                for (int64_t r = 0; r < rows; r++)
                    length += (double)out[r * cols + c] * (double)out[r * cols + c];
                length = sqrt(length);
                for (int64_t r = 0; length > 1e-6 && r < rows; r++)
                    out[r * cols + c] = (float)((double)out[r * cols + c] / length);
            }
        } while (!(length > 1e-6));
    }
}
