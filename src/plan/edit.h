/* edit.h - how passes change a bound graph: look around, replace a node, insert one.
 *
 * Nodes are ordered so that inputs come before use; insertions must keep this order.  Contexts are always complete: every edit
 * infers the shapes of its results, and an edit that fails leaves the graph unchanged. */
#ifndef AS_PLAN_EDIT_H
#define AS_PLAN_EDIT_H

#include "plan/plan.h"

/* --- Looking ------------------------------------------------------------------------------------- */

bool as_edit_is_output(const as_graph *g, int value);
/* How many inputs of living nodes read the value; a graph output counts once more. */
int as_edit_readers(const as_graph *g, int value);
/* The node that reads the value, if it is the only living reader, reads it once, and the value is not a graph output; otherwise
 * -1. */
int as_edit_only_reader(const as_graph *g, int value);
/* True when the value depends only on parameters and constants, so that its producer is a set-up step; false also when a few
 * nodes are not enough to tell. */
bool               as_edit_is_steady(const as_graph *g, int value);
static inline bool as_edit_is(const as_bound_node *node, const char *op)
{
    return !node->dead && !__builtin_strcmp(node->ctx.op->name, op);
}

/* These searches take time quadratic in the graph's size; a larger graph is left unchanged, and the note says so. */
enum { AS_EDIT_MAX_NODES = 20000 };
bool as_edit_is_too_large(const as_graph *g, as_pass_note *note);

/* --- Changing ------------------------------------------------------------------------------------- */

/* The new form of a node.  Attributes are copied, but what they point to must live as long as the graph. */
typedef struct as_edit {
    const char    *op, *name; /* name NULL: keeps the node's, or is made up for a new one */
    const char    *module;    /* NULL: keeps the node's; of a new one: none */
    const int     *in;
    int            n_in; /* value ids, -1: absent */
    const as_attr *attrs;
    int            n_attrs;
    int            out; /* its output value, whose shape and dtype must stay the same; -1: a new value with `layout` */
    as_layout      layout;
    const int     *more; /* further output values, which exist; NULL: none */
    int            n_more;
} as_edit;

/* The name of a node that also does the work of another: "layer4.1.conv2" and "layer4.1.bn2" are "layer4.1.conv2+bn2".  A long
 * name is cut and only says that there is more.  NULL: no memory. */
const char *as_edit_name_join(as_arena *arena, const char *name, const char *part);
/* Replaces node `id` by the edit.  If edit->out is a different value than before, the old producer of that value
 * must be dead already, and the node's old output must have no readers left. */
assay_status as_edit_replace(assay_env *env, as_graph *g, int id, const as_edit *edit);
/* A new node right before node `before` (n_nodes: at the end); ids from `before` on grow by one.  *value: its output. */
assay_status as_edit_insert(assay_env *env, as_graph *g, int before, const as_edit *edit, int *value);
/* Every living node that reads `from` now reads `to` instead (graph outputs do not change). */
void as_edit_rewire(as_graph *g, int from, int to);
/* Updates a living node's context after the layouts or constants of its values changed. */
void as_edit_refresh(as_graph *g, int id);
/* The context that the node would have, without changing the graph: to ask a device about it.  Lives in the graph's arena. */
assay_status as_edit_try(assay_env *env, const as_graph *g, const as_edit *edit, as_node_ctx *out);
/* True when the device has a kernel for it that is faster than the reference code. */
bool as_edit_is_taken(assay_env *env, const as_pass_ctx *ctx, as_arena *arena, const as_node_ctx *n);

#endif
