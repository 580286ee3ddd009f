/* keep.c - which value of a limit is kept after it was measured again: the best that was ever seen cleanly. */
#include <math.h>
#include <string.h>

#include "roof/roof.h"

bool as_roof_is_clean(const as_trace_roof *roof) { return roof->n_clean >= AS_CHUNKS_CLEAN; }

/* How much worse b is than a, as a share; below 0 when it is better.  For a time, lower is better. */
static double worse_by(const as_trace_roof *a, const as_trace_roof *b)
{
    bool is_time = !strcmp(a->unit, "ns");
    return is_time ? 1.0 - a->value / b->value : 1.0 - b->value / a->value;
}

as_trace_roof as_roof_best(const as_trace_roof *kept, const as_trace_roof *fresh)
{
    if (!kept)
        return *fresh;
    if (!as_roof_is_clean(fresh))
        return *kept;
    double        gap = worse_by(kept, fresh);
    as_trace_roof best = gap < 0.0 ? *fresh : *kept;
    best.level_bytes = fresh->level_bytes;
    best.on_the_spot = fresh->on_the_spot;
    best.today = gap > AS_ROOF_NOISE ? fresh->value : (double)NAN;
    if (fabs(gap) <= AS_ROOF_NOISE) /* they agree: it is enough that one of them is clean */
        best.disturbed = kept->disturbed && fresh->disturbed;
    return best;
}

static bool text_take(as_roofs *r, as_trace_roof *roof)
{
    roof->name = as_arena_text(&r->arena, roof->name);
    roof->unit = as_arena_text(&r->arena, roof->unit);
    roof->device = as_arena_text(&r->arena, roof->device);
    roof->source = as_arena_text(&r->arena, roof->source);
    return roof->name && roof->unit && roof->device && roof->source;
}

assay_status as_roofs_merge(assay_env *env, as_roofs *r, const as_roofs *kept)
{
    as_trace_roof *list = AS_TAKE(&r->arena, as_trace_roof, r->n + kept->n + 1);
    int            n = 0;
    bool           ok = list != NULL;
    for (int i = 0; ok && i < kept->n; i++) { /* in their order, so that the order in the file stays the same */
        const as_trace_roof *fresh = as_roofs_find(r, kept->list[i].name);
        list[n] = fresh ? as_roof_best(&kept->list[i], fresh) : kept->list[i];
        ok = text_take(r, &list[n++]);
    }
    for (int i = 0; ok && i < r->n; i++)
        if (!as_roofs_find(kept, r->list[i].name))
            list[n++] = r->list[i];
    if (!ok)
        return as_fail(env, ASSAY_NO_MEMORY, "limits: not enough memory for %d limits", r->n + kept->n);
    r->list = list;
    r->n = n;
    return ASSAY_OK;
}
