/* make_traces.c - writes the test traces in every format into a directory, and on standard output what each of them must add up to:
 * "NAME nanoseconds flops bytes". */
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"
#include "export/test_traces.h"

static void all_write(assay_env *env, const char *dir, const char *name, assay_trace *t, const uint64_t sums[3])
{
    char path[4096];
    for (const as_trace_export *const *tx = as_tx_table; *tx; tx++) {
        snprintf(path, sizeof path, "%s/%s.%s", dir, name, (*tx)->key);
        if (assay_trace_export(env, t, (*tx)->key, path) == ASSAY_OK)
            continue;
        fprintf(stderr, "make_traces: %s: %s\n", path, assay_message(env));
        exit(1);
    }
    printf("%s %llu %llu %llu\n", name, (unsigned long long)sums[0], (unsigned long long)sums[1], (unsigned long long)sums[2]);
    assay_trace_free(t);
}

int main(int argc, char **argv)
{
    assay_env *env;
    if (argc != 2 || assay_env_new(&env) != ASSAY_OK)
        return 2;
    all_write(env, argv[1], "network", test_network(env, 1, 5, false), (uint64_t[]){5000, 5 * 1300, 5 * 200});
    all_write(env, argv[1], "threads", test_network(env, 0.4087, 3, true), (uint64_t[]){1226, 3 * 1300, 3 * 200});
    all_write(env, argv[1], "code", test_code(env), (uint64_t[]){1050, 2 * 640, 2 * 128});
    all_write(env, argv[1], "looks", test_looks(env, 200), (uint64_t[]){200000000, 0, 0});
    all_write(env, argv[1], "memory", test_memory(env), (uint64_t[]){0, 0, 0});
    all_write(env, argv[1], "big", test_network(env, 1, 100000, false), (uint64_t[]){100000000, 130000000, 20000000});
    all_write(env, argv[1], "empty", test_trace(env, 1), (uint64_t[]){0, 0, 0});
    assay_env_free(env);
    return 0;
}
