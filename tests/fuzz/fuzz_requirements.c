/* fuzz_requirements.c - any bytes as a requirement profile: refused with a sentence, or rows that can be judged. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lab/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_env       *env;
    as_requirements *r = NULL;
    if (assay_env_new(&env) != ASSAY_OK)
        return 0;
    if (as_requirements_parse(env, "fuzz", (const char *)data, size, NULL, &r) != ASSAY_OK) {
        assert(!r && *assay_message(env));
    } else {
        assay_facts *f = as_facts_new(env);
        assert(r->n_rows > 0 && r->n_rows <= AS_MAX_REQUIREMENTS);
        as_require_judge(r, f);
        for (int i = 0; i < r->n_rows; i++)
            assert(r->rows[i].verdict != AS_ROW_UNJUDGED);
        assay_facts_free(f);
    }
    as_requirements_free(r);
    assay_env_free(env);
    return 0;
}
