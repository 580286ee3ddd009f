/* metrics.h - how good a network's answers are, over any number of batches: "accuracy,top5,f1,auc,r2,mae,confusion".  Private to train/.
 *
 * Classes: outputs [N, C, d...] are scores, targets [N, d...] integer labels (or floats of the shape of the outputs: the class is that
 * of the largest).  One output per example ([N] or [N, 1]) with targets 0 and 1 is a binary classifier whose scores are above 0 for
 * class 1: logits.  Numbers: targets have the shape of the outputs.  The same batches in the same order give the same bits. */
#ifndef AS_TRAIN_METRICS_H
#define AS_TRAIN_METRICS_H

#include "tensor/tensor.h"

typedef enum as_measure {
    AS_MEASURE_ACCURACY,
    AS_MEASURE_TOP,       /* top<k>: the label is among the k largest scores */
    AS_MEASURE_PRECISION, /* these three: the mean over classes, and one number per class */
    AS_MEASURE_RECALL,
    AS_MEASURE_F1,
    AS_MEASURE_AUC, /* area under the receiver operating curve: one class against the rest, the mean over classes */
    AS_MEASURE_CONFUSION,
    AS_MEASURE_R2,
    AS_MEASURE_MAE
} as_measure;

enum { AS_MAX_MEASURES = 16 };

typedef struct as_metric_list {
    struct {
        as_measure kind;
        int        k; /* of top<k> */
    } items[AS_MAX_MEASURES];
    int n;
} as_metric_list;

/* "accuracy,top5": BAD_INPUT with a sentence that lists what exists. */
assay_status as_metric_list_parse(assay_env *env, const char *text, as_metric_list *out);

typedef struct as_metrics as_metrics;

/* n_classes: 0 for numbers; 2 for a binary classifier with one output.  ignore: the label that counts nowhere (has_ignore). */
typedef struct as_metrics_for {
    int64_t n_classes;
    bool    has_ignore;
    int64_t ignore;
} as_metrics_for;

assay_status as_metrics_new(assay_env *env, const as_metric_list *list, const as_metrics_for *of, as_metrics **out);
void         as_metrics_free(as_metrics *m);
void         as_metrics_reset(as_metrics *m);
/* The first n_rows rows (axis 0) of both; those after them only fill up the batch. */
assay_status as_metrics_add(assay_env *env, as_metrics *m, const as_view *outputs, const as_view *targets, int64_t n_rows);

typedef struct as_measured {
    char   name[24]; /* "accuracy", "top5", "f1" */
    double value;    /* NaN: not defined for these examples, and why says so */
    char   why[96];
} as_measured;

int64_t     as_metrics_count(const as_metrics *m);  /* examples (or numbers) that counted */
as_measured as_metrics_value(as_metrics *m, int i); /* item i of the list; confusion's is the accuracy that it shows */
/* One class's: precision, recall, f1 or auc; NaN where the class never occurred. */
double as_metrics_of_class(as_metrics *m, as_measure kind, int64_t class);
/* Examples of class `label` that were taken for `answer`. */
int64_t as_metrics_confusion(const as_metrics *m, int64_t label, int64_t answer);

#endif
