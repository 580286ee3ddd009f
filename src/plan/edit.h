/* edit.h - how passes change a bound graph: look around, replace a node, insert one.
 *
 * Nodes stand in an order in which inputs come before use; whatever a pass inserts must keep it.  Contexts are complete at all
 * times: every edit infers the shapes of what it makes, and an edit that fails leaves the graph as it was. */
#ifndef AS_PLAN_EDIT_H
#define AS_PLAN_EDIT_H

#include "plan/plan.h"

/* --- Looking ------------------------------------------------------------------------------------- */

bool as_edit_is_output(const as_graph *g, int value);
/* How many inputs of living nodes read the value; a graph output counts once more. */
int as_edit_readers(const as_graph *g, int value);
/* The one living node that reads the value, exactly once, when it is no graph output; else -1. */
int as_edit_only_reader(const as_graph *g, int value);
/* True when the value depends on parameters and constants alone, so that its producer is a prologue step; false also when that
 * cannot be seen within a few nodes. */
bool               as_edit_is_steady(const as_graph *g, int value);
static inline bool as_edit_is(const as_bound_node *node, const char *op)
{
    return !node->dead && !__builtin_strcmp(node->ctx.op->name, op);
}

/* Looking around takes time with the square of the graph's size; a larger graph is left as it is, and the note says so. */
enum { AS_EDIT_MAX_NODES = 20000 };
bool as_edit_is_too_large(const as_graph *g, as_pass_note *note);

/* --- Changing ------------------------------------------------------------------------------------- */

/* A node as it should become.  Attributes are copied, and what they point to must live as long as the graph. */
typedef struct as_edit {
    const char    *op, *name; /* name NULL: keeps the node's, or is made up for a new one */
    const char    *module;    /* NULL: keeps the node's; of a new one: none */
    const int     *in;
    int            n_in; /* value ids, -1: absent */
    const as_attr *attrs;
    int            n_attrs;
    int            out; /* value that it gives; its shape and dtype must stay; -1: a new one, layout as `layout` says */
    as_layout      layout;
} as_edit;

/* The name of a node that does the work of another, too: "layer4.1.conv2" and "layer4.1.bn2" are "layer4.1.conv2+bn2".  A name that has
 * become long only says that there is more.  NULL: no memory. */
const char *as_edit_name_join(as_arena *arena, const char *name, const char *part);
/* Node `id` becomes the edit (one output).  Where edit->out is another value than before, that value's old producer must be dead
 * by now, and the node's own old output must have no readers left. */
assay_status as_edit_replace(assay_env *env, as_graph *g, int id, const as_edit *edit);
/* A new node right before node `before` (n_nodes: at the end); ids from `before` on grow by one.  *value: what it gives. */
assay_status as_edit_insert(assay_env *env, as_graph *g, int before, const as_edit *edit, int *value);
/* Every input of a living node that reads `from` reads `to` from now on (not graph outputs). */
void as_edit_rewire(as_graph *g, int from, int to);
/* A living node's context follows its values after their layouts or constants changed. */
void as_edit_refresh(as_graph *g, int id);
/* What the node would be, without changing anything: for asking a device.  Lives in the graph's arena. */
assay_status as_edit_try(assay_env *env, const as_graph *g, const as_edit *edit, as_node_ctx *out);
/* True when the device has a kernel for it that is better than the slow truth. */
bool as_edit_is_taken(assay_env *env, const as_pass_ctx *ctx, as_arena *arena, const as_node_ctx *n);

#endif
