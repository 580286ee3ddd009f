/* tx_folded.c - folded stacks, "run;segment;conv1 1234", self time in nanoseconds: for flame graphs.  A trace of memory events alone gives bytes
 * that were alive at the peak. */
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"

/* A semicolon separates frames, so that a name has none. */
static void name_write(as_sink *s, const char *name)
{
    for (const char *semicolon; (semicolon = strchr(name, ';')); name = semicolon + 1) {
        as_sink_bytes(s, name, (size_t)(semicolon - name));
        as_sink_bytes(s, ",", 1);
    }
    as_sink_text(s, name);
}

static bool has_time(const as_scene *v)
{
    for (size_t i = 0; i < v->n_nodes; i++)
        if (v->nodes[i].self[AS_SCENE_TIME])
            return true;
    return false;
}

static assay_status save(assay_env *env, as_scene *v, FILE *file)
{
    as_scene_value value = v->has_memory && !has_time(v) ? AS_SCENE_PEAK : AS_SCENE_TIME;
    as_sink       *s = malloc(sizeof *s);
    uint32_t      *path = malloc((v->n_nodes + 1) * sizeof *path);
    bool           ok = s && path;
    if (ok) {
        s->file = file;
        s->n = 0;
    }
    for (size_t i = 0; ok && i < v->n_nodes; i++) {
        size_t depth = 0;
        if (!v->nodes[i].self[value])
            continue;
        for (uint32_t at = (uint32_t)i; at != UINT32_MAX; at = v->nodes[at].parent)
            path[depth++] = v->nodes[at].name;
        while (depth-- > 0) {
            name_write(s, v->names[path[depth]].name);
            as_sink_bytes(s, depth ? ";" : " ", 1);
        }
        as_sink_u64(s, v->nodes[i].self[value]);
        as_sink_bytes(s, "\n", 1);
    }
    if (ok)
        as_sink_flush(s);
    free(s);
    free(path);
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "folded: not enough memory for %zu stacks", v->n_nodes);
}

const as_trace_export as_tx_folded = {.key = "folded", .what = "folded stacks", .scope = AS_SCOPE_SUMS, .write = save};
