/* sec_executive.c - the run in one minute: score, issues, findings, highlights, what to try; each sentence with what it is made of. */
#include <string.h>

#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const keys[] = {"executive.score", NULL};
    static const struct {
        const char *kind, *title;
        as_level    level;
    } kinds[] = {{"issue", "Critical issues", AS_LEVEL_WARN},
                 {"finding", "Key findings", AS_LEVEL_NOTE},
                 {"highlight", "Highlights", AS_LEVEL_GOOD},
                 {"recommendation", "Top recommendations", AS_LEVEL_NOTE}};
    const as_table *t = as_facts_table_find(f, "executive", "sentences");
    if (!t)
        return;
    as_doc_heading(d, "executive", "In short");
    as_pick_facts(d, f, AS_BLOCK_FACTS, keys);
    for (size_t k = 0; k < AS_COUNT(kinds); k++) {
        int n = 0;
        for (int i = 0; i < t->n_rows; i++)
            n += !strcmp(as_words_at(t, i, "kind"), kinds[k].kind);
        if (!n)
            continue;
        as_doc_text(d, "%s:", kinds[k].title);
        as_pick_sentences(d, t, "kind", kinds[k].kind, kinds[k].level);
    }
}

const as_section as_sec_executive = {.name = "executive", .order = 11, .write = write_section, .part = AS_PART_EXECUTIVE};
