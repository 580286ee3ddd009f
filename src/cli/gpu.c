/* gpu.c - the word gpu in a list of devices becomes the name of the first GPU of this machine. */
#include <string.h>

#include "backend/backend.h"
#include "cli/cli.h"

assay_status as_gpu_resolve(assay_env *env, const char *list, char *out, size_t size)
{
    as_gpu gpu = {.name = ""};
    size_t used = 0;
    for (const char *at = list;; at++) {
        size_t      n = strcspn(at, ","), length = n;
        const char *word = at;
        if (n == 3 && !strncmp(at, "gpu", 3)) {
            if (!*gpu.name) {
                AS_TRY(as_gpu_find(env, as_be_table, &gpu));
                fprintf(stderr, "assay: gpu is %s (%s)\n", gpu.name, gpu.text);
            }
            word = gpu.name;
            length = strlen(word);
        }
        int added = snprintf(out + used, size - used, "%.*s%s", (int)length, word, at[n] ? "," : "");
        if (added < 0 || (size_t)added >= size - used)
            return as_fail(env, ASSAY_BAD_INPUT, "device: a list of %zu bytes is too long", strlen(list));
        used += (size_t)added;
        at += n;
        if (!*at)
            return ASSAY_OK;
    }
}
