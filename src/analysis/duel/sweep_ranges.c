/* sweep_ranges.c - table "ranges" of the group "sweep": which candidate wins from which value to which. */
#include "analysis/duel/duel_facts.h"

typedef struct range {
    int         from, to, arm; /* rows, both included; the candidate: -1 none */
    const char *how;           /* "won", "same": no difference that matters, "unclear": the best estimate is not certain */
} range;

static range range_at(const as_sweep *s, int row)
{
    bool proved;
    int  best = as_sweep_winner(s, row, &proved);
    bool same = best >= 0 && !proved && as_sweep_same(s, row, best) >= 0;
    return (range){.from = row,
                   .to = row,
                   .arm = proved ? best : -1,
                   .how = best < 0 ? "unclear"
                          : proved ? "won"
                          : same   ? "same"
                                   : "unclear"};
}

static void range_add(assay_facts *f, as_table *t, const as_sweep *s, const range *r)
{
    as_facts_row(f, t,
                 (as_cell[]){{.text = s->rows[r->from].label},
                             {.text = s->rows[r->to].label},
                             {.text = r->arm >= 0 ? s->arms[r->arm] : "-"},
                             {.text = r->how},
                             {.metric = as_metric_counted((uint64_t)(r->to - r->from + 1), "1", "rows")}});
}

void as_sweep_ranges_add(assay_facts *f, as_fact_group *g, const as_sweep *s)
{
    static const char *const columns[] = {"from|from", "to|to", "winner|winner", "how|how", "rows|values", NULL};
    as_table                *t = as_facts_table(f, g, "ranges", "Who wins where", columns);
    range                    now = range_at(s, 0);
    for (int row = 1; row < s->n_rows; row++) {
        range next = range_at(s, row);
        if (next.arm == now.arm && next.how == now.how) {
            now.to = row;
            continue;
        }
        range_add(f, t, s, &now);
        now = next;
    }
    range_add(f, t, s, &now);
}
