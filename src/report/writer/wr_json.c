/* wr_json.c - the facts themselves: one run as assay.run/1, several as assay.runs/1. */
#include "report/report.h"

static assay_status write_doc(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                              const as_write_settings *s, FILE *file)
{
    (void)docs, (void)s;
    as_json w;
    as_json_start(&w, file, true);
    if (n == 1) {
        AS_TRY(as_facts_write(env, facts[0], &w));
    } else {
        as_json_object(&w);
        as_json_key_text(&w, "schema", "assay.runs/1");
        as_json_key(&w, "runs");
        as_json_array(&w);
        for (size_t i = 0; i < n; i++)
            AS_TRY(as_facts_write(env, facts[i], &w));
        as_json_array_end(&w);
        as_json_object_end(&w);
    }
    as_json_finish(&w);
    return ASSAY_OK;
}

const as_writer as_wr_json = {
    .name = "json", .suffix = ".json", .help = "the facts, complete, for programs (docs/run-json.md)", .write = write_doc};
