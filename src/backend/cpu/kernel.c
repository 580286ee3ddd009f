/* kernel.c - which kernel a node gets, and why not the others. */
#include "backend/cpu/kernel.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"

static bool operand_ok(const as_tensor_info *t, const char *side, int i, bool must_be_f32, char *why, size_t why_size)
{
    if (t->dtype == AS_NONE)
        return true;
    if (t->dtype != AS_F32 && (must_be_f32 || as_dtype_is_float(t->dtype))) {
        snprintf(why, why_size, "%s %d is %s, needs f32", side, i, as_dtype_name(t->dtype));
        return false;
    }
    if (t->layout != AS_LAYOUT_ROW_MAJOR) {
        snprintf(why, why_size, "%s %d is not row-major", side, i);
        return false;
    }
    return true;
}

/* Checks input 0 and output 0 even when they are not floats: an f32 kernel does not take an i32 Add, but it does take
 * a ReduceSum with i64 axes. */
bool as_kernel_f32_only(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 0; i < n->n_in; i++)
        if (!operand_ok(&n->in[i], "input", i, i == 0, why, why_size))
            return false;
    for (int i = 0; i < n->n_out; i++)
        if (!operand_ok(&n->out[i], "output", i, i == 0, why, why_size))
            return false;
    return true;
}

static bool is_like(const as_tensor_info *t, const as_tensor_info *y, const char *side, int i, char *why, size_t why_size)
{
    if (t->dtype == AS_NONE)
        return true;
    if (t->dtype != AS_F32)
        snprintf(why, why_size, "%s %d is %s, needs f32", side, i, as_dtype_name(t->dtype));
    else if (!as_shape_same(&t->shape, &y->shape))
        snprintf(why, why_size, "%s %d is %s, needs the output's %s", side, i, as_shape_show(&t->shape, (char[96]){0}, 96),
                 as_shape_show(&y->shape, (char[96]){0}, 96));
    else if (t->layout != y->layout)
        snprintf(why, why_size, "%s %d has another layout than output 0", side, i);
    else
        return true;
    return false;
}

bool as_kernel_flat(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 0; i < n->n_in; i++)
        if (!is_like(&n->in[i], &n->out[0], "input", i, why, why_size))
            return false;
    for (int i = 0; i < n->n_out; i++)
        if (!is_like(&n->out[i], &n->out[0], "output", i, why, why_size))
            return false;
    return true;
}

/* --- The rule of choice ----------------------------------------------------------------------- */

bool as_kernel_is_for(const as_kernel *k, const char *op)
{
    for (const char *const *also = k->also; also && *also; also++)
        if (!strcmp(*also, op))
            return true;
    return !strcmp(k->op, "*") || !strcmp(k->op, op);
}

/* NULL when the kernel could run the node, else why it cannot, in `why`. */
static const char *hindrance(const as_kernel *k, const as_node_ctx *n, unsigned isa, unsigned masked, char *why, size_t why_size)
{
    char     names[64], said[200] = "no reason given";
    unsigned missing = k->isa & ~isa;
    if (missing) {
        bool by_hand = (missing & ~masked) == 0;
        snprintf(why, why_size, "needs %s, which %s", as_isa_show(missing, names, sizeof names),
                 by_hand ? "ASSAY_CPU switches off" : "this CPU lacks");
        return why;
    }
    if (!k->accepts(n, said, sizeof said)) {
        snprintf(why, why_size, "refused: %s", said);
        return why;
    }
    return NULL;
}

static bool is_better(const as_kernel *a, const as_kernel *b)
{
    return !b || a->rank > b->rank || (a->rank == b->rank && strcmp(a->name, b->name) < 0);
}

static bool are_compared(const as_kernel *a, const as_kernel *b) { return a->cost && b->cost && a->isa == b->isa; }

/* Of those that are compared with the first winner by cost, the cheapest; the first winner itself when others only cost as much. */
static const as_kernel *cheapest(const as_kernel *const *table, const as_node_ctx *n, unsigned isa, unsigned masked,
                                 const as_kernel *first)
{
    const as_kernel *best = first;
    char             why[256];
    for (const as_kernel *const *k = table; first && first->cost && *k; k++) {
        if (*k == first || !as_kernel_is_for(*k, n->op->name) || !are_compared(*k, first) ||
            hindrance(*k, n, isa, masked, why, sizeof why))
            continue;
        double cost = (*k)->cost(n), least = best->cost(n);
        if (cost < least || (cost == least && best != first && is_better(*k, best)))
            best = *k;
    }
    return best;
}

static const char *loss(as_arena *arena, const as_node_ctx *n, const as_kernel *k, const as_kernel *winner)
{
    if (are_compared(k, winner) && k->cost(n) != winner->cost(n))
        return as_arena_printf(arena, "estimated to take %.2f times as long as %s", k->cost(n) / winner->cost(n), winner->name);
    if (k->rank > winner->rank)
        return as_arena_printf(arena, "rank %d is above %s's %d, which is estimated to be faster than the best rank", k->rank,
                               winner->name, winner->rank);
    if (k->rank < winner->rank)
        return as_arena_printf(arena, "rank %d is below %s's %d", k->rank, winner->name, winner->rank);
    return as_arena_printf(arena, "rank %d is also %s's, which comes first by name", k->rank, winner->name);
}

static assay_status no_room(assay_env *env, const as_node_ctx *n)
{
    return as_fail(env, ASSAY_NO_MEMORY, "cpu: not enough memory for the reasons of the kernel choice for %s '%s'", n->op->name,
                   n->name ? n->name : "");
}

static void winner_ask(const as_kernel *k, const as_node_ctx *n, int n_parts, as_choice *out)
{
    out->kernel = k;
    out->name = k->name;
    out->slow = !strcmp(k->op, "*");
    out->in_place = k->in_place;
    out->packed_alone = k->packed_alone;
    memcpy(out->in_place_of, k->in_place_of, sizeof out->in_place_of);
    if (k->scratch_bytes)
        out->scratch_bytes = k->scratch_bytes(n, n_parts);
    if (k->issued)
        out->issued = k->issued(n);
    for (int i = 0; k->packed_bytes && i < (int)AS_COUNT(out->packed_bytes) && i < n->n_in; i++)
        out->packed_bytes[i] = k->packed_bytes(n, i);
    for (int i = 0; k->reads_in_place && i < (int)AS_COUNT(out->packed_bytes) && i < n->n_in; i++)
        out->read_in_place |= (unsigned)k->reads_in_place(n, i) << i;
}

assay_status as_kernel_choose(assay_env *env, const as_kernel *const *table, const as_node_ctx *n, unsigned isa, unsigned masked,
                              int n_parts, as_arena *arena, as_choice *out)
{
    const as_kernel *winner = NULL;
    char             why[256];
    int              n_known = 0;
    for (const as_kernel *const *k = table; *k; k++) {
        if (!as_kernel_is_for(*k, n->op->name))
            continue;
        n_known++;
        if (!hindrance(*k, n, isa, masked, why, sizeof why) && is_better(*k, winner))
            winner = *k;
    }
    const as_kernel *by_rank = winner;
    winner = cheapest(table, n, isa, masked, winner);

    as_choice choice = {0};
    choice.refused = AS_TAKE(arena, as_trace_refusal, n_known);
    if (!choice.refused)
        return no_room(env, n);
    for (const as_kernel *const *k = table; *k; k++) {
        if (!as_kernel_is_for(*k, n->op->name) || *k == winner)
            continue;
        const char *hindered = hindrance(*k, n, isa, masked, why, sizeof why);
        const char *text = hindered ? as_arena_text(arena, hindered) : loss(arena, n, *k, winner);
        if (!text)
            return no_room(env, n);
        choice.refused[choice.n_refused++] = (as_trace_refusal){.kernel = (*k)->name, .why = text};
    }

    if (winner) {
        winner_ask(winner, n, n_parts, &choice);
        choice.why = winner != by_rank  ? as_arena_printf(arena, "%s; estimated to be faster than %s", winner->why, by_rank->name)
                     : choice.n_refused ? as_arena_printf(arena, "%s; rank %d is the highest that fits", winner->why, winner->rank)
                                        : as_arena_printf(arena, "%s; the only kernel for %s", winner->why, n->op->name);
    } else if (!n_known) {
        choice.why = as_arena_printf(arena, "there is no kernel for %s", n->op->name);
    } else {
        choice.why =
            as_arena_printf(arena, "none of %d kernels fits; %s: %s", n_known, choice.refused[0].kernel, choice.refused[0].why);
    }
    if (!choice.why)
        return no_room(env, n);
    *out = choice;
    return ASSAY_OK;
}
