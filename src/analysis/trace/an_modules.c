/* an_modules.c - adds up the steps of a run by module, at the depth at which a few rows show where the time is spent. */
#include "analysis/analysis.h"

static void run(assay_facts *f, const assay_trace *t)
{
    static const char *const columns[] = {"name|module", "time|time",   "share|share", "flops|work",
                                          "bytes|bytes", "steps|steps", NULL};
    const as_table          *steps = as_facts_table_find(f, "layers", "steps"), *folded;
    as_fact_group           *g;
    (void)t;
    if (!steps || !as_modules_known(steps))
        return;
    if (!(folded = as_fold_modules(&f->arena, steps, 0))) {
        f->status = as_fail(f->env, ASSAY_NO_MEMORY, "analysis: not enough memory to fold %d steps by module", steps->n_rows);
        return;
    }
    g = as_facts_group(f, "layers", "Layers");
    as_table *table = as_facts_table(f, g, folded->key, folded->label, columns);
    for (int i = 0; i < folded->n_rows; i++)
        as_facts_row(f, table, &folded->cells[(size_t)i * (size_t)folded->n_columns]);
}

const as_analysis as_an_modules = {.name = "modules", .order = 31, .run = run};
