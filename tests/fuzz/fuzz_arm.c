/* fuzz_arm.c - any bytes as a line of the protocol, for both sides: refused with a sentence that a terminal can show, or read into values
 * that can be used.  The first byte chooses the kind of line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/arm_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_SHOTS = 3 };

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static bool is_amount(double v) { return v >= 0.0 && isfinite(v); }

static assay_status block(assay_env *env, const char *line, size_t n, bool by_cpu)
{
    as_shot      shots[N_SHOTS];
    uint32_t     switches;
    assay_status status = as_arm_read_block(env, "fuzz", line, n, by_cpu, N_SHOTS, shots, &switches);
    for (int i = 0; i < N_SHOTS && status == ASSAY_OK; i++)
        demand(is_amount((double)shots[i].wall_ns) && (is_amount((double)shots[i].cpu_ns) || (!by_cpu && isnan(shots[i].cpu_ns))));
    return status;
}

static assay_status greeting(assay_env *env, const char *line, size_t n)
{
    as_arm_greeting g;
    assay_status    status = as_arm_read_greeting(env, "fuzz", line, n, &g);
    if (status == ASSAY_OK)
        demand(*g.name && memchr(g.name, 0, sizeof g.name));
    return status;
}

static assay_status launch(assay_env *env, const char *line, size_t n)
{
    double       first[3];
    bool         has_first;
    assay_status status = as_arm_read_launch(env, "fuzz", line, n, first, &has_first);
    if (status == ASSAY_OK && has_first)
        demand(is_amount(first[0]) && is_amount(first[1]) && is_amount(first[2]));
    return status;
}

static assay_status ledger(assay_env *env, const char *line, size_t n)
{
    as_ledger    l;
    assay_status status = as_arm_read_ledger(env, "fuzz", line, n, &l);
    if (status == ASSAY_OK)
        demand(!(l.flops < 0 || l.bytes < 0 || l.allocations < 0 || l.launches < 0 || l.peak_bytes < 0));
    return status;
}

static assay_status request(assay_env *env, const char *line, size_t n)
{
    as_arm_request r;
    assay_status   status = as_arm_read_request(env, line, n, &r);
    if (status == ASSAY_OK && r.verb == AS_ARM_BLOCK)
        demand(r.calls >= 1 && r.calls <= AS_ARM_MAX_CALLS && r.n_shots >= 1 && r.n_shots <= AS_ARM_MAX_SHOTS);
    return status;
}

static assay_status any(assay_env *env, char kind, const char *line, size_t n)
{
    uint64_t hash;
    switch (kind) {
    case 'g': return greeting(env, line, n);
    case 'l': return launch(env, line, n);
    case 'c': return block(env, line, n, true);
    case 'w': return block(env, line, n, false);
    case 'h': return as_arm_read_hash(env, "fuzz", line, n, &hash);
    case 'b': return ledger(env, line, n);
    default: return request(env, line, n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_env *env; /* kept over all inputs: only its message changes */
    if (!env && assay_env_new(&env) != ASSAY_OK)
        abort();
    if (!size)
        return 0;
    env->message[0] = '\0';
    if (any(env, (char)data[0], (const char *)data + 1, size - 1) == ASSAY_OK)
        return 0;
    demand(*env->message);
    for (const char *c = env->message; *c; c++)
        demand((unsigned char)*c >= ' ' && *c != 127);
    return 0;
}
