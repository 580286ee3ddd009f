/* metrics.c - counts, sums and scores over batches.
 *
 * Counts are integers and sums are double in the order of the examples, so the batches' sizes do not matter either.  The area under the
 * curve needs every score: these are kept, a float per class and example. */
#include "train/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

typedef struct scored {
    float   score;
    int32_t is_it; /* the example is of the class */
} scored;

struct as_metrics {
    as_metric_list list;
    as_metrics_for of;
    int64_t        n_seen;    /* examples, or numbers */
    int64_t       *confusion; /* [label][answer] */
    int64_t        n_top[AS_MAX_MEASURES];
    double         sum_error;
    /* Of targets and errors, for R2: Welford's mean and squares. */
    double   mean, squares, square_errors;
    float   *scores; /* [example][class], where the area is wanted */
    int32_t *labels;
    int64_t  capacity;
    scored  *sorting;
};

/* --- Reading ---------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    as_measure  kind;
} names[] = {
    {"accuracy", AS_MEASURE_ACCURACY}, {"precision", AS_MEASURE_PRECISION}, {"recall", AS_MEASURE_RECALL}, {"f1", AS_MEASURE_F1},
    {"auc", AS_MEASURE_AUC},           {"confusion", AS_MEASURE_CONFUSION}, {"r2", AS_MEASURE_R2},         {"mae", AS_MEASURE_MAE}};

static const char *name_of(as_measure kind)
{
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (names[i].kind == kind)
            return names[i].name;
    return "top";
}

static bool item_read(const char *text, as_measure *kind, int *k)
{
    int64_t n;
    *k = 0;
    if (!strncmp(text, "top", 3) && as_parse_i64(text + 3, &n) && n >= 1 && n <= 1000000) {
        *kind = AS_MEASURE_TOP;
        *k = (int)n;
        return true;
    }
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (!strcmp(names[i].name, text)) {
            *kind = names[i].kind;
            return true;
        }
    return false;
}

assay_status as_metric_list_parse(assay_env *env, const char *text, as_metric_list *out)
{
    as_metric_list list = {.n = 0};
    for (const char *at = text;; at++) {
        char   word[32];
        size_t length = strcspn(at, ",");
        bool   fits = length < sizeof word;
        memcpy(word, at, fits ? length : 0);
        word[fits ? length : 0] = 0;
        if (list.n == AS_MAX_MEASURES)
            return as_fail(env, ASSAY_BAD_INPUT, "metrics: \"%s\" has more than %d", text, AS_MAX_MEASURES);
        if (!fits || !item_read(word, &list.items[list.n].kind, &list.items[list.n].k))
            return as_fail(
                env, ASSAY_BAD_INPUT,
                "metrics: unknown metric \"%.*s\"; known: accuracy, top5 (any k), precision, recall, f1, auc, confusion, r2, mae",
                (int)length, at);
        for (int i = 0; i < list.n; i++)
            if (list.items[i].kind == list.items[list.n].kind && list.items[i].k == list.items[list.n].k)
                return as_fail(env, ASSAY_BAD_INPUT, "metrics: \"%s\" is given twice", word);
        list.n++;
        at += length;
        if (!*at)
            break;
    }
    *out = list;
    return ASSAY_OK;
}

/* --- A new one ----------------------------------------------------------------------------------------------------------- */

static bool is_of_numbers(as_measure kind) { return kind == AS_MEASURE_R2 || kind == AS_MEASURE_MAE; }

static bool wants(const as_metrics *m, as_measure kind)
{
    for (int i = 0; i < m->list.n; i++)
        if (m->list.items[i].kind == kind)
            return true;
    return false;
}

static assay_status no_memory(assay_env *env, const char *what)
{
    return as_fail(env, ASSAY_NO_MEMORY, "metrics: not enough memory for %s", what);
}

assay_status as_metrics_new(assay_env *env, const as_metric_list *list, const as_metrics_for *of, as_metrics **out)
{
    enum { MOST_CLASSES = 30000 };
    bool classes = of->n_classes > 0, table = false;
    for (int i = 0; i < list->n; i++) {
        as_measure kind = list->items[i].kind;
        if (is_of_numbers(kind) == classes)
            return as_fail(env, ASSAY_BAD_INPUT, "metrics: %s is for %s, and this network gives %s", name_of(kind),
                           classes ? "numbers" : "classes", classes ? "classes" : "numbers");
        if (kind == AS_MEASURE_TOP && list->items[i].k > of->n_classes)
            return as_fail(env, ASSAY_BAD_INPUT, "metrics: top%d of %lld classes is always right", list->items[i].k,
                           (long long)of->n_classes);
        table |= classes && kind != AS_MEASURE_TOP && kind != AS_MEASURE_ACCURACY;
    }
    if (table && of->n_classes > MOST_CLASSES)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "metrics: with %lld classes only accuracy and top are counted, at most %d have a table",
                       (long long)of->n_classes, MOST_CLASSES);
    as_metrics *m = calloc(1, sizeof *m);
    if (!m)
        return no_memory(env, "the counts");
    m->list = *list;
    m->of = *of;
    if (table && !(m->confusion = calloc((size_t)(of->n_classes * of->n_classes), sizeof *m->confusion))) {
        as_metrics_free(m);
        return no_memory(env, "the confusion matrix");
    }
    *out = m;
    return ASSAY_OK;
}

void as_metrics_free(as_metrics *m)
{
    if (!m)
        return;
    free(m->confusion);
    free(m->scores);
    free(m->labels);
    free(m->sorting);
    free(m);
}

void as_metrics_reset(as_metrics *m)
{
    if (m->confusion)
        memset(m->confusion, 0, (size_t)(m->of.n_classes * m->of.n_classes) * sizeof *m->confusion);
    memset(m->n_top, 0, sizeof m->n_top);
    m->n_seen = 0;
    m->sum_error = m->mean = m->squares = m->square_errors = 0.0;
}

/* --- Numbers ------------------------------------------------------------------------------------------------------------------ */

static void number_add(as_metrics *m, double y, double t)
{
    double before = t - m->mean, error = t - y;
    m->n_seen++;
    m->mean += before / (double)m->n_seen;
    m->squares += before * (t - m->mean);
    m->square_errors += error * error;
    m->sum_error += fabs(error);
}

/* --- Classes ------------------------------------------------------------------------------------------------------------------- */

/* One example: its scores are `step` elements apart from the first. */
typedef struct example {
    const as_view *outputs;
    int64_t        first, step, n; /* n 1: a logit of two classes */
} example;

static double score_of(const example *e, int64_t class)
{
    if (e->n == 1) { /* class 1 has the logit, class 0 its opposite: one is above 0 when the other is below */
        double logit = as_view_get(e->outputs, e->first);
        return class ? logit : -logit;
    }
    return as_view_get(e->outputs, e->first + class * e->step);
}

/* The first of the largest; a NaN is never the largest, so of NaNs alone it is class 0. */
static int64_t answer_of(const example *e, int64_t n_classes)
{
    int64_t best = 0;
    if (e->n == 1) /* a logit of 0 or NaN does not say class 1 */
        return as_view_get(e->outputs, e->first) > 0.0;
    for (int64_t c = 1; c < n_classes; c++) {
        double now = score_of(e, c), high = score_of(e, best);
        best = now > high || (isnan(high) && !isnan(now)) ? c : best;
    }
    return best;
}

/* How many classes come before the label: larger scores, and among equals the earlier ones. */
static int64_t rank_of(const example *e, int64_t n_classes, int64_t label)
{
    double  own = score_of(e, label);
    int64_t rank = 0;
    for (int64_t c = 0; c < n_classes; c++) {
        double other = score_of(e, c);
        rank += c != label && (other > own || (other == own && c < label) || (isnan(own) && !isnan(other)));
    }
    return rank;
}

static assay_status scores_keep(assay_env *env, as_metrics *m, const example *e, int64_t label)
{
    int64_t classes = m->of.n_classes;
    if (m->n_seen == m->capacity) {
        int64_t more = m->capacity ? m->capacity * 2 : 1024;
        float  *scores = realloc(m->scores, (size_t)(more * classes) * sizeof *scores);
        m->scores = scores ? scores : m->scores;
        int32_t *labels = scores ? realloc(m->labels, (size_t)more * sizeof *labels) : NULL;
        m->labels = labels ? labels : m->labels;
        scored *sorting = labels ? realloc(m->sorting, (size_t)more * sizeof *sorting) : NULL;
        m->sorting = sorting ? sorting : m->sorting;
        if (!sorting)
            return no_memory(env, "the scores that the area under the curve needs");
        m->capacity = more;
    }
    for (int64_t c = 0; c < classes; c++)
        m->scores[m->n_seen * classes + c] = (float)score_of(e, c);
    m->labels[m->n_seen] = (int32_t)label;
    return ASSAY_OK;
}

static assay_status example_add(assay_env *env, as_metrics *m, const example *e, int64_t label)
{
    int64_t classes = m->of.n_classes, answer = answer_of(e, classes);
    if (label < 0 || label >= classes)
        return as_fail(env, ASSAY_BAD_INPUT, "metrics: a label is %lld and there are %lld classes", (long long)label,
                       (long long)classes);
    if (wants(m, AS_MEASURE_AUC))
        AS_TRY(scores_keep(env, m, e, label));
    if (m->confusion)
        m->confusion[label * classes + answer]++;
    for (int i = 0; i < m->list.n; i++)
        if (m->list.items[i].kind == AS_MEASURE_TOP)
            m->n_top[i] += rank_of(e, classes, label) < m->list.items[i].k;
        else if (m->list.items[i].kind == AS_MEASURE_ACCURACY)
            m->n_top[i] += answer == label;
    m->n_seen++;
    return ASSAY_OK;
}

/* The class of example i: an integer label, a float 0 or 1 of a binary one, or the largest of floats of the outputs' shape. */
static bool label_read(const as_metrics *m, const as_view *targets, const example *e, int64_t i, int64_t *label)
{
    if (!as_dtype_is_float(targets->dtype)) {
        *label = as_view_get_i64(targets, i);
        return !(m->of.has_ignore && *label == m->of.ignore);
    }
    if (e->n == 1) {
        *label = as_view_get(targets, i) > 0.5;
        return true;
    }
    example t = *e;
    t.outputs = targets;
    *label = answer_of(&t, m->of.n_classes);
    return true;
}

static assay_status shapes_refuse(assay_env *env, const as_view *outputs, const as_view *targets)
{
    char a[96], b[96];
    return as_fail(env, ASSAY_BAD_INPUT, "metrics: outputs %s%s do not go with targets %s%s", as_dtype_name(outputs->dtype),
                   as_shape_show(&outputs->shape, a, sizeof a), as_dtype_name(targets->dtype),
                   as_shape_show(&targets->shape, b, sizeof b));
}

static int64_t per_row(const as_view *v)
{
    return v->shape.rank && v->shape.dim[0] ? as_shape_count(&v->shape) / v->shape.dim[0] : 1;
}

static assay_status classes_add(assay_env *env, as_metrics *m, const as_view *outputs, const as_view *targets, int64_t n_rows)
{
    int64_t each = per_row(outputs), of_targets = per_row(targets), classes = m->of.n_classes;
    bool    is_float = as_dtype_is_float(targets->dtype), one = classes == 2 && outputs->shape.rank <= 2 && each == 1;
    int64_t in_line = one ? 1 : classes, inner = each / in_line;
    if (each % in_line || (!one && (outputs->shape.rank < 2 || outputs->shape.dim[1] != classes)) ||
        of_targets != (is_float && !one ? each : inner))
        return shapes_refuse(env, outputs, targets);
    for (int64_t i = 0; i < n_rows * inner; i++) {
        example e = {.outputs = outputs, .first = i / inner * each + i % inner, .step = inner, .n = in_line};
        int64_t label;
        if (label_read(m, targets, &e, i, &label))
            AS_TRY(example_add(env, m, &e, label));
    }
    return ASSAY_OK;
}

assay_status as_metrics_add(assay_env *env, as_metrics *m, const as_view *outputs, const as_view *targets, int64_t n_rows)
{
    int64_t rows = outputs->shape.rank ? outputs->shape.dim[0] : 1;
    if (n_rows < 0 || n_rows > rows || (targets->shape.rank ? targets->shape.dim[0] : 1) != rows)
        return shapes_refuse(env, outputs, targets);
    if (m->of.n_classes)
        return classes_add(env, m, outputs, targets, n_rows);
    if (as_shape_count(&outputs->shape) != as_shape_count(&targets->shape))
        return shapes_refuse(env, outputs, targets);
    for (int64_t i = 0; i < n_rows * per_row(outputs); i++)
        number_add(m, as_view_get(outputs, i), as_view_get(targets, i));
    return ASSAY_OK;
}

/* --- Values ------------------------------------------------------------------------------------------------------------------ */

int64_t as_metrics_count(const as_metrics *m) { return m->n_seen; }

int64_t as_metrics_confusion(const as_metrics *m, int64_t label, int64_t answer)
{
    return m->confusion ? m->confusion[label * m->of.n_classes + answer] : 0;
}

static int by_score(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

/* The share of pairs (one of the class, one of another) in which the class's has the larger score; ties count half. */
static double area(as_metrics *m, int64_t class)
{
    int64_t classes = m->of.n_classes, n_it = 0;
    double  rank_sum = 0.0;
    for (int64_t i = 0; i < m->n_seen; i++) {
        m->sorting[i] = (scored){m->scores[i * classes + class], m->labels[i] == class};
        n_it += m->sorting[i].is_it;
        if (isnan(m->sorting[i].score))
            return NAN;
    }
    int64_t n_other = m->n_seen - n_it;
    if (!n_it || !n_other)
        return NAN;
    qsort(m->sorting, (size_t)m->n_seen, sizeof *m->sorting, by_score);
    for (int64_t i = 0; i < m->n_seen;) {
        int64_t end = i, here = 0;
        for (; end < m->n_seen && m->sorting[end].score == m->sorting[i].score; end++)
            here += m->sorting[end].is_it;
        rank_sum += (double)here * (double)(i + 1 + end) / 2.0; /* equal scores share the mean of their ranks */
        i = end;
    }
    return (rank_sum - (double)n_it * (double)(n_it + 1) / 2.0) / ((double)n_it * (double)n_other);
}

double as_metrics_of_class(as_metrics *m, as_measure kind, int64_t class)
{
    int64_t classes = m->of.n_classes, right, of_label = 0, of_answer = 0;
    if (kind == AS_MEASURE_AUC)
        return m->scores ? area(m, class) : NAN;
    if (!m->confusion)
        return NAN;
    right = m->confusion[class * classes + class];
    for (int64_t i = 0; i < classes; i++) {
        of_label += m->confusion[class * classes + i];
        of_answer += m->confusion[i * classes + class];
    }
    if (!of_label && !of_answer)
        return NAN;
    switch (kind) {
    case AS_MEASURE_PRECISION: return of_answer ? (double)right / (double)of_answer : 0.0;
    case AS_MEASURE_RECALL: return of_label ? (double)right / (double)of_label : 0.0;
    case AS_MEASURE_F1: return 2.0 * (double)right / (double)(of_label + of_answer);
    default: return NAN;
    }
}

/* The mean over the classes that occur, as label or as answer; of the area, over those with examples on both sides.  The area of two
 * classes is that of class 1. */
static double macro(as_metrics *m, as_measure kind)
{
    double  sum = 0.0;
    int64_t n = 0;
    if (kind == AS_MEASURE_AUC && m->of.n_classes == 2)
        return as_metrics_of_class(m, kind, 1);
    for (int64_t c = 0; c < m->of.n_classes; c++) {
        double value = as_metrics_of_class(m, kind, c);
        if (!isnan(value)) {
            sum += value;
            n++;
        }
    }
    return n ? sum / (double)n : NAN;
}

static double diagonal(const as_metrics *m)
{
    int64_t right = 0;
    for (int64_t c = 0; c < m->of.n_classes; c++)
        right += as_metrics_confusion(m, c, c);
    return (double)right / (double)m->n_seen;
}

as_measured as_metrics_value(as_metrics *m, int i)
{
    as_measure  kind = m->list.items[i].kind;
    as_measured out = {.value = NAN};
    if (kind == AS_MEASURE_TOP)
        snprintf(out.name, sizeof out.name, "top%d", m->list.items[i].k);
    else
        snprintf(out.name, sizeof out.name, "%s", name_of(kind));
    if (!m->n_seen) {
        snprintf(out.why, sizeof out.why, "there were no examples");
        return out;
    }
    switch (kind) {
    case AS_MEASURE_ACCURACY:
    case AS_MEASURE_TOP: out.value = (double)m->n_top[i] / (double)m->n_seen; break;
    case AS_MEASURE_CONFUSION: out.value = diagonal(m); break;
    case AS_MEASURE_PRECISION:
    case AS_MEASURE_RECALL:
    case AS_MEASURE_F1:
    case AS_MEASURE_AUC: out.value = macro(m, kind); break;
    case AS_MEASURE_MAE: out.value = m->sum_error / (double)m->n_seen; break;
    case AS_MEASURE_R2: out.value = m->squares > 0.0 ? 1.0 - m->square_errors / m->squares : NAN; break;
    }
    if (isnan(out.value))
        snprintf(out.why, sizeof out.why, "%s",
                 kind == AS_MEASURE_R2    ? "all targets are equal, or an answer is not a number"
                 : kind == AS_MEASURE_AUC ? "no class has examples on both sides, or a score is not a number"
                                          : "an answer is not a number");
    return out;
}
