/* tell_outputs_basic.c - the outputs of a run on one screen: shapes, the range of the values, the first values, and the files
 * written. */
#include <math.h>
#include <string.h>

#include "lab/calls.h"
#include "lab/tell.h"

enum { MAX_OUTPUTS = 12, FIRST_VALUES = 4 };

typedef struct range {
    double  min, max, sum;
    int64_t n, n_odd; /* n_odd: not finite */
} range;

static range range_of(const as_view *v)
{
    range   r = {.min = INFINITY, .max = -INFINITY};
    int64_t n = as_shape_count(&v->shape);
    for (int64_t i = 0; i < n; i++) {
        double x = as_view_get(v, i);
        if (!isfinite(x)) {
            r.n_odd++;
            continue;
        }
        r.min = fmin(r.min, x), r.max = fmax(r.max, x);
        r.sum += x;
        r.n++;
    }
    return r;
}

static const char *first_say(as_brief *b, const as_view *v)
{
    int64_t     n = as_shape_count(&v->shape);
    const char *text = "";
    for (int64_t i = 0; i < n && i < FIRST_VALUES; i++)
        text = as_brief_say(b, "%s%s%.3g", text, i ? " " : "", as_view_get(v, i));
    return n > FIRST_VALUES ? as_brief_say(b, "%s ...", text) : text;
}

static int64_t output_row(as_brief *b, as_brief_table *t, const char *name, const as_view *v)
{
    char          shape[128];
    range         r = range_of(v);
    as_brief_row *row = as_brief_row_add(b, t, name);
    row->cells[1] = as_brief_say(b, "%s%s", as_dtype_name(v->dtype), as_shape_show(&v->shape, shape, sizeof shape));
    row->cells[2] = r.n ? as_brief_say(b, "%.3g", r.min) : "-";
    row->cells[3] = r.n ? as_brief_say(b, "%.3g", r.sum / (double)r.n) : "-";
    row->cells[4] = r.n ? as_brief_say(b, "%.3g", r.max) : "-";
    row->cells[5] = first_say(b, v);
    row->role = r.n_odd ? AS_CHART_BAD : AS_CHART_MAIN;
    return r.n_odd;
}

static void files_add(as_brief *b, const as_answer_files *files)
{
    const char *text = "";
    for (int i = 0; i < files->n; i++)
        text = as_brief_say(b, "%s%s%s to %s", text, i ? ", " : "", files->name[i], files->path[i]);
    if (files->n)
        as_brief_text_add(b, as_brief_say(b, "Written: %s.", text));
}

void as_outputs_brief(const assay_instance *instance, const as_answer_files *files, double ns, as_brief *b)
{
    static const char *const columns[] = {"Output", "shape", "min", "mean", "max", "first values", NULL};
    const assay_plan        *plan = instance->plan;
    const assay_model       *model = plan->model;
    int64_t                  n_odd = 0;
    char                     time[64];
    *b = (as_brief){.title = model->name, .settings = "", .level = AS_LEVEL_NOTE};
    b->settings = as_plan_say(plan, b);
    as_brief_number_add(b, "Time", NULL, as_brief_say(b, "%s", as_show(time, sizeof time, ns, "ns")),
                        "one run with its set-up; assay profile measures it");
    as_brief_table *t = as_brief_table_add(b, columns);
    t->left[1] = t->left[5] = true;
    for (int i = 0; i < model->n_outputs && i < MAX_OUTPUTS; i++) {
        as_view v = as_instance_answer(instance, i);
        n_odd += output_row(b, t, model->values[model->outputs[i]].name, &v);
    }
    if (model->n_outputs > MAX_OUTPUTS)
        t->note = as_brief_say(b, "%d more: --report detailed", model->n_outputs - MAX_OUTPUTS);
    if (n_odd)
        as_brief_check_add(b, AS_LEVEL_BAD, as_brief_say(b, "%lld values are infinite or not a number", (long long)n_odd));
    as_brief_trust_make(b);
    files_add(b, files);
    as_brief_hint_add(b, "--output FILE", "npy");
    as_brief_hint_add(b, "--json FILE", "all values");
    as_brief_hint_add(b, "--report detailed", "first values");
}
