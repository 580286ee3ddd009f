/* load.c - runs from files: traces and run JSON. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/file.h"

void assay_facts_free_all(assay_facts **facts, size_t n)
{
    for (size_t i = 0; facts && i < n; i++)
        assay_facts_free(facts[i]);
    free(facts);
}

static assay_status trace_load(assay_env *env, const char *path, assay_facts ***out, size_t *n)
{
    assay_trace  *trace = NULL;
    assay_facts **one = calloc(1, sizeof *one);
    if (!one)
        return as_fail(env, ASSAY_NO_MEMORY, "report: %s: not enough memory for its facts", path);
    assay_status status = assay_trace_load(env, path, &trace);
    if (status == ASSAY_OK)
        status = assay_analyse(env, trace, one);
    if (status == ASSAY_OK) {
        one[0]->record = trace;
        *out = one, *n = 1;
        return ASSAY_OK;
    }
    assay_trace_free(trace);
    free(one);
    return status;
}

/* The first byte tells the kind of file: JSON begins with a brace (or white space before one), a trace with its magic. */
assay_status assay_facts_load(assay_env *env, const char *path, assay_facts ***out, size_t *n)
{
    as_map map;
    size_t at = 0;
    AS_TRY(as_map_open(env, "report", path, 0, &map));
    while (at < map.bytes && map.data[at] && strchr(" \t\r\n", map.data[at]))
        at++;
    bool         is_json = at < map.bytes && map.data[at] == '{';
    assay_status status = is_json ? as_facts_parse_all(env, path, (const char *)map.data, map.bytes, out, n) : ASSAY_OK;
    as_map_close(&map);
    return is_json ? status : trace_load(env, path, out, n);
}
