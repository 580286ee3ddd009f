/* op_tfidfvectorizer.c - how often each n-gram of a list appears in each row, as a count, or weighted.  Items of an n-gram may be some places
 * apart.  For integers; text is refused. */
#include <string.h>

#include "op/composed.h"

static const as_attr_def attrs[] = {
    {.name = "max_gram_length", .kind = AS_ATTR_INT, .required = true},
    {.name = "max_skip_count", .kind = AS_ATTR_INT, .required = true},
    {.name = "min_gram_length", .kind = AS_ATTR_INT, .required = true},
    {.name = "mode", .kind = AS_ATTR_TEXT, .required = true},
    {.name = "ngram_counts", .kind = AS_ATTR_INTS, .required = true},
    {.name = "ngram_indexes", .kind = AS_ATTR_INTS, .required = true},
    {.name = "pool_int64s", .kind = AS_ATTR_INTS},
    {.name = "pool_strings", .kind = AS_ATTR_TEXTS},
    {.name = "weights", .kind = AS_ATTR_FLOATS},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_attr *counts = as_attr_find(n, "ngram_counts"), *indexes = as_attr_find(n, "ngram_indexes"),
                  *pool = as_attr_find(n, "pool_int64s"), *weights = as_attr_find(n, "weights");
    const as_shape *x = &n->in[0].shape;
    const char     *mode = as_attr_text(n, "mode", "");
    int64_t shortest = as_attr_int(n, "min_gram_length", 1), longest = as_attr_int(n, "max_gram_length", 1), columns = 0, grams = 0;
    if (as_attr_find(n, "pool_strings"))
        return as_fail(env, ASSAY_UNSUPPORTED,
                       "TfIdfVectorizer '%s': pool_strings is a list of texts; tensors of the type string are not supported",
                       n->name ? n->name : "");
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64)));
    if (x->rank != 1 && x->rank != 2)
        return as_refuse(env, n, "X is %s and must be [items] or [rows, items]", AS_SHOW(x));
    if (!pool || shortest < 1 || longest < shortest || longest > (int64_t)counts->n || as_attr_int(n, "max_skip_count", 0) < 0 ||
        as_attr_int(n, "max_skip_count", 0) > INT32_MAX)
        return as_refuse(env, n,
                         "pool_int64s is missing, or the lengths of n-grams (%lld to %lld) or max_skip_count are out of range",
                         (long long)shortest, (long long)longest);
    if (strcmp(mode, "TF") && strcmp(mode, "IDF") && strcmp(mode, "TFIDF"))
        return as_refuse(env, n, "mode is '%.40s' and must be TF, IDF or TFIDF", mode);
    for (size_t i = 0; i < counts->n; i++) {
        int64_t begin = counts->ints[i], end = i + 1 < counts->n ? counts->ints[i + 1] : (int64_t)pool->n;
        if (begin < 0 || end < begin || end > (int64_t)pool->n || (end - begin) % (int64_t)(i + 1))
            return as_refuse(env, n, "ngram_counts[%zu] does not fit the pool of %zu items", i, pool->n);
        grams += (end - begin) / (int64_t)(i + 1);
    }
    for (size_t i = 0; i < indexes->n; i++) {
        if (indexes->ints[i] < 0 || indexes->ints[i] > INT32_MAX)
            return as_refuse(env, n, "ngram_indexes[%zu] is %lld", i, (long long)indexes->ints[i]);
        columns = indexes->ints[i] + 1 > columns ? indexes->ints[i] + 1 : columns;
    }
    if ((int64_t)indexes->n != grams || (weights && weights->n && weights->n != indexes->n))
        return as_refuse(env, n, "%lld n-grams have %zu indexes and %zu weights", (long long)grams, indexes->n,
                         weights ? weights->n : 0);
    out[0] = as_info(AS_F32, x->rank == 1 ? &AS_SHAPE(columns) : &AS_SHAPE(x->dim[0], columns));
    return ASSAY_OK;
}

/* Counts the places of one n-gram of `size` items in a row, for every distance of its items; single items have none. */
static int64_t count_of(const as_view *x, int64_t row, int64_t length, const int64_t *gram, int64_t size, int64_t distances)
{
    int64_t found = 0;
    for (int64_t d = 1; d <= (size == 1 ? 1 : distances); d++)
        for (int64_t first = 0; first + (size - 1) * d < length; first++) {
            int64_t k = 0;
            while (k < size && as_view_get_i64(x, row * length + first + k * d) == gram[k])
                k++;
            found += k == size;
        }
    return found;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    const as_attr *counts = as_attr_find(n, "ngram_counts"), *indexes = as_attr_find(n, "ngram_indexes"),
                  *pool = as_attr_find(n, "pool_int64s"), *weights = as_attr_find(n, "weights");
    const char *mode = as_attr_text(n, "mode", "");
    int         rank = in[0].shape.rank;
    int64_t     rows = rank == 1 ? 1 : in[0].shape.dim[0], length = in[0].shape.dim[rank - 1], columns = out[0].shape.dim[rank - 1];
    int64_t     distances = as_attr_int(n, "max_skip_count", 0) + 1;
    as_view_zero(&out[0]);
    for (int64_t row = 0; row < rows; row++) {
        size_t gram = 0;
        for (size_t i = 0; i < counts->n; i++) {
            int64_t size = (int64_t)i + 1, end = i + 1 < counts->n ? counts->ints[i + 1] : (int64_t)pool->n;
            bool    is_used = size >= as_attr_int(n, "min_gram_length", 1) && size <= as_attr_int(n, "max_gram_length", 1);
            for (int64_t at = counts->ints[i]; at < end; at += size, gram++) {
                AS_GO_ON(env, n);
                if (!is_used)
                    continue;
                int64_t column = indexes->ints[gram],
                        found = count_of(&in[0], row, length, &pool->ints[at], size, distances < length ? distances : length);
                double weight =
                    weights && weights->n && strcmp(mode, "TF") ? weights->floats[column < (int64_t)weights->n ? column : 0] : 1.0;
                double before =
                    strcmp(mode, "IDF") ? as_view_get(&out[0], row * columns + column) : 0.0; /* n-grams may share a column */
                if (found)
                    as_view_set(&out[0], row * columns + column, strcmp(mode, "IDF") ? before + (double)found * weight : weight);
            }
        }
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "counts",
     .n_in = 1,
     .in = {AS_IN(I64, 2, 4)},
     .n_attrs = 7,
     .attrs = {AS_ATTR_I("max_gram_length", 2), AS_ATTR_I("max_skip_count", 1), AS_ATTR_I("min_gram_length", 1),
               AS_ATTR_LIST("ngram_counts", 0, 3), AS_ATTR_LIST("ngram_indexes", 0, 1, 2, 3, 4),
               AS_ATTR_LIST("pool_int64s", 1, 2, 3, 1, 2, 3, 1), AS_ATTR_S("mode", "TF")},
     AS_GIVEN(1, 2, 3, 1, 3, 3, 1, 2),
     AS_WANT(2, 1, 1, 1, 1, 1, 1, 2, 1, 2)},
    /* By the ONNX reference evaluator. */
    {.name = "weights",
     .n_in = 1,
     .in = {AS_IN(I64, 2, 4)},
     .n_attrs = 8,
     .attrs = {AS_ATTR_I("max_gram_length", 2), AS_ATTR_I("max_skip_count", 1), AS_ATTR_I("min_gram_length", 1),
               AS_ATTR_LIST("ngram_counts", 0, 3), AS_ATTR_LIST("ngram_indexes", 0, 1, 2, 3, 4),
               AS_ATTR_LIST("pool_int64s", 1, 2, 3, 1, 2, 3, 1), AS_ATTR_S("mode", "TFIDF"),
               AS_ATTR_FLOAT_LIST("weights", 0.5, 1, 2, 3, 4)},
     AS_GIVEN(1, 2, 3, 1, 3, 3, 1, 2),
     AS_WANT(1, 1, 2, 3, 4, 0.5, 1, 4, 3, 8)},
    /* By the ONNX reference evaluator. */
    {.name = "present or not",
     .n_in = 1,
     .in = {AS_IN(I64, 2, 4)},
     .n_attrs = 8,
     .attrs = {AS_ATTR_I("max_gram_length", 2), AS_ATTR_I("max_skip_count", 1), AS_ATTR_I("min_gram_length", 1),
               AS_ATTR_LIST("ngram_counts", 0, 3), AS_ATTR_LIST("ngram_indexes", 0, 1, 2, 3, 4),
               AS_ATTR_LIST("pool_int64s", 1, 2, 3, 1, 2, 3, 1), AS_ATTR_S("mode", "IDF"),
               AS_ATTR_FLOAT_LIST("weights", 0.5, 1, 2, 3, 4)},
     AS_GIVEN(1, 2, 3, 1, 3, 3, 1, 2),
     AS_WANT(0.5, 1, 2, 3, 4, 0.5, 1, 2, 3, 4)},
};

const as_op as_op_tfidfvectorizer = {
    .name = "TfIdfVectorizer",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .known_in = 0,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
