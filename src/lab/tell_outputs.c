/* tell_outputs.c - the outputs of a run, as text and as JSON. */
#include "base/json.h"
#include "lab/tell.h"

enum { SHOWN_VALUES = 16 };

static const char *name_of(const assay_instance *instance, int i)
{
    const assay_model *model = instance->plan->model;
    return model->values[model->outputs[i]].name;
}

static void output_print(const char *name, const as_view *v, FILE *file)
{
    char    shape[128];
    int64_t n = as_shape_count(&v->shape), width = v->shape.rank ? v->shape.dim[v->shape.rank - 1] : 1;
    fprintf(file, "%s: %s%s\n", name, as_dtype_name(v->dtype), as_shape_show(&v->shape, shape, sizeof shape));
    if (width <= 0)
        return;
    int64_t rows = n / width;
    for (int64_t r = 0; r < rows && r < SHOWN_VALUES; r++) {
        fprintf(file, " ");
        for (int64_t c = 0; c < width && c < SHOWN_VALUES; c++)
            fprintf(file, " %.7g", as_view_get(v, r * width + c));
        fprintf(file, "%s\n", width > SHOWN_VALUES ? " ..." : "");
    }
    if (rows > SHOWN_VALUES)
        fprintf(file, "  ... %lld rows in total; --output FILE writes them\n", (long long)rows);
}

void as_outputs_print(const assay_instance *instance, FILE *file)
{
    for (int i = 0; i < instance->plan->model->n_outputs; i++) {
        as_view v = as_instance_answer(instance, i);
        output_print(name_of(instance, i), &v, file);
    }
}

static void output_write(as_json *w, const char *name, const as_view *v)
{
    as_json_object(w);
    as_json_key_text(w, "name", name);
    as_json_key_text(w, "dtype", as_dtype_name(v->dtype));
    as_json_key(w, "shape");
    as_json_array(w);
    for (int k = 0; k < v->shape.rank; k++)
        as_json_i64(w, v->shape.dim[k]);
    as_json_array_end(w);
    as_json_key(w, "values");
    as_json_array(w);
    for (int64_t k = 0; k < as_shape_count(&v->shape); k++)
        as_json_f64(w, as_view_get(v, k));
    as_json_array_end(w);
    as_json_object_end(w);
}

void as_outputs_json(const assay_instance *instance, FILE *file)
{
    const assay_model *model = instance->plan->model;
    as_json            w;
    as_json_start(&w, file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.outputs/1");
    as_json_key_text(&w, "model", model->source);
    as_json_key(&w, "outputs");
    as_json_array(&w);
    for (int i = 0; i < model->n_outputs; i++) {
        as_view v = as_instance_answer(instance, i);
        output_write(&w, name_of(instance, i), &v);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
}
