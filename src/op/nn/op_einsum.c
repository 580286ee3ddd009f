/* op_einsum.c - sums of products over named axes: "ij,jk->ik" is a matrix product.
 *
 * Letters name axes; "..." stands for the axes that have no name and broadcast.  A letter twice in one input takes the diagonal.
 * Without "->" the result has the unnamed axes and then the letters that occur once, in alphabetical order. */
#include <ctype.h>
#include <string.h>

#include "op/reduce/reduce.h"

#define N_LETTERS AS_EINSUM_LETTERS
#define N_LABELS  AS_EINSUM_LABELS

static const as_attr_def attrs[] = {{.name = "equation", .kind = AS_ATTR_TEXT, .required = true}, {0}};

typedef as_einsum_term term;
typedef as_einsum      equation;

static int letter_of(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1; }

/* Reads one term up to a comma, an arrow or the end; `rank` tells how many axes "..." stands for, or `unnamed` when that is
 * known. */
static assay_status term_read(assay_env *env, const as_node_ctx *n, const char **at, int rank, int unnamed, term *out)
{
    term        t = {0};
    const char *p = *at;
    int         letters = 0, dots = 0;
    for (const char *q = p; *q && *q != ',' && *q != '-'; q++)
        letters += letter_of(*q) >= 0;
    if (rank >= 0)
        unnamed = rank - letters;
    for (; *p && *p != ',' && *p != '-'; p++) {
        if (*p == ' ')
            continue;
        int label = letter_of(*p);
        if (label < 0 && (strncmp(p, "...", 3) || dots++))
            return as_refuse(env, n, "equation has an unexpected '%c' at place %zu", isprint((unsigned char)*p) ? *p : '?',
                             (size_t)(p - as_attr_text(n, "equation", "")));
        int count = label < 0 ? unnamed : 1;
        if (t.rank + count > AS_MAX_RANK)
            return as_refuse(env, n, "a term of the equation has more than %d axes", AS_MAX_RANK);
        for (int i = 0; i < count; i++)
            t.label[t.rank++] = label < 0 ? N_LABELS - count + i : label;
        p += label < 0 ? 2 : 0;
    }
    if (rank >= 0 && t.rank != rank)
        return as_refuse(env, n, "a term of the equation names %d axes of an input of rank %d", t.rank, rank);
    *at = p;
    *out = t;
    return ASSAY_OK;
}

/* Adds the axes of one input to the table of sizes. */
static assay_status sizes_join(assay_env *env, const as_node_ctx *n, int i, equation *e)
{
    const as_shape *x = &n->in[i].shape;
    for (int a = 0; a < x->rank; a++) {
        int      label = e->in[i].label[a];
        int64_t *size = &e->size[label];
        bool     named = label < N_LETTERS;
        if (e->seen[label] == 0 || (!named && *size == 1))
            *size = x->dim[a];
        else if (*size != x->dim[a] && (named || x->dim[a] != 1))
            return as_refuse(env, n, "input %d is %s: axis %d has size %lld and the equation needs %lld", i, AS_SHOW(x), a,
                             (long long)x->dim[a], (long long)*size);
        e->seen[label]++;
    }
    return ASSAY_OK;
}

static assay_status output_implied(assay_env *env, const as_node_ctx *n, equation *e)
{
    for (int pass = 0; pass < 2; pass++)
        for (int label = pass ? 0 : N_LETTERS; label < (pass ? N_LETTERS : N_LABELS); label++)
            if (pass ? e->seen[label] == 1 : e->seen[label] > 0) {
                if (e->out.rank == AS_MAX_RANK)
                    return as_refuse(env, n, "the result of the equation has more than %d axes", AS_MAX_RANK);
                e->out.label[e->out.rank++] = label;
            }
    return ASSAY_OK;
}

assay_status as_einsum_read(assay_env *env, const as_node_ctx *n, as_einsum *e)
{
    const char *p = as_attr_text(n, "equation", "");
    int         unnamed = 0;
    *e = (equation){0};
    for (int i = 0; i < n->n_in; i++) {
        AS_TRY(term_read(env, n, &p, n->in[i].shape.rank, 0, &e->in[i]));
        AS_TRY(sizes_join(env, n, i, e));
        if (i + 1 < n->n_in && *p++ != ',')
            return as_refuse(env, n, "equation '%s' has %d terms and there are %d inputs", as_attr_text(n, "equation", ""), i + 1,
                             n->n_in);
    }
    for (int label = N_LETTERS; label < N_LABELS; label++)
        unnamed += e->seen[label] > 0;
    if (!*p)
        return output_implied(env, n, e);
    if (p[0] != '-' || p[1] != '>')
        return as_refuse(env, n, "equation '%s' has more terms than the %d inputs, or no '->' where it is due",
                         as_attr_text(n, "equation", ""), n->n_in);
    p += 2;
    AS_TRY(term_read(env, n, &p, -1, unnamed, &e->out));
    if (*p)
        return as_refuse(env, n, "equation '%s' goes on after its result", as_attr_text(n, "equation", ""));
    for (int i = 0; i < e->out.rank; i++) {
        if (!e->seen[e->out.label[i]])
            return as_refuse(env, n, "the result names an axis that no input has, in '%s'", as_attr_text(n, "equation", ""));
        for (int j = 0; j < i; j++)
            if (e->out.label[i] == e->out.label[j])
                return as_refuse(env, n, "the result names an axis twice, in '%s'", as_attr_text(n, "equation", ""));
    }
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    equation e;
    for (int i = 0; i < n->n_in; i++)
        if (!as_in_has(n, i))
            return as_refuse(env, n, "input %d is absent", i);
    AS_TRY(as_rule_dtype(env, n, 0, n->n_in, AS_SET_REDUCE_NUMBER));
    AS_TRY(as_einsum_read(env, n, &e));
    as_shape y = {.rank = e.out.rank};
    for (int i = 0; i < y.rank; i++)
        y.dim[i] = e.size[e.out.label[i]];
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

/* By the definition, with all axes in one loop: per iteration a multiplication for each input but the first, and an addition.
 * Contracting pairs of inputs one after the other may take less. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    equation e;
    uint64_t points = (uint64_t)n->n_in;
    if (as_einsum_read(NULL, n, &e) != ASSAY_OK)
        return cost;
    for (int label = 0; label < N_LABELS; label++)
        if (e.seen[label])
            points = e.size[label] ? as_sat_mul(points, (uint64_t)e.size[label]) : 0;
    cost.flops = points;
    return cost;
}

/* The offset in input i when the labels are at `at`. */
static void place(const term *t, const as_shape *x, const int64_t *at, int64_t *index)
{
    for (int a = 0; a < t->rank; a++)
        index[a] = x->dim[a] == 1 ? 0 : at[t->label[a]];
}

static bool next(const int *labels, int count, const int64_t *size, int64_t *at)
{
    for (int i = count - 1; i >= 0; i--) {
        if (++at[labels[i]] < size[labels[i]])
            return true;
        at[labels[i]] = 0;
    }
    return false;
}

static int64_t flat(const as_shape *x, const int64_t *index)
{
    int64_t i = 0;
    for (int a = 0; a < x->rank; a++)
        i = i * x->dim[a] + index[a];
    return i;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    equation e;
    AS_TRY(as_einsum_read(env, n, &e));
    int     summed[N_LABELS], n_summed = 0;
    bool    empty = false, is_float = as_dtype_is_float(out[0].dtype);
    int64_t at[N_LABELS] = {0}, index[AS_MAX_RANK], count = as_shape_count(&out[0].shape);
    as_view y = as_view_bits(&out[0]);
    for (int label = 0; label < N_LABELS; label++) {
        bool kept = !e.seen[label];
        for (int i = 0; i < e.out.rank; i++)
            kept |= e.out.label[i] == label;
        if (!kept) {
            summed[n_summed++] = label;
            empty |= e.size[label] == 0;
        }
    }
    for (int64_t o = 0; o < count; o++, next(e.out.label, e.out.rank, e.size, at)) {
        double   sum = 0.0;
        uint64_t whole = 0;
        do {
            AS_GO_ON(env, n);
            double   product = 1.0;
            uint64_t bits = 1;
            for (int i = 0; i < n->n_in && !empty; i++) {
                as_view x = as_view_bits(&in[i]);
                place(&e.in[i], &x.shape, at, index);
                if (is_float)
                    product *= as_view_at(&x, index);
                else
                    bits *= (uint64_t)as_view_get_i64(&x, flat(&x.shape, index));
            }
            sum += empty ? 0.0 : product;
            whole += empty ? 0 : bits;
        } while (!empty && next(summed, n_summed, e.size, at));
        if (is_float)
            as_view_set(&y, o, sum);
        else
            as_view_set_i64(&y, o, (int64_t)as_bits_wrap(out[0].dtype, whole));
    }
    return ASSAY_OK;
}

#define EQUATION(text_) .n_attrs = 1, .attrs = {AS_ATTR_S("equation", text_)}

static const as_case cases[] = {
    /* By hand. */
    {.name = "product by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 2, 2)},
     EQUATION("ij, jk -> ik"),
     .given = (const double[]){1, 2, 3, 4, 5, 6, 7, 8},
     .want = (const double[]){19, 22, 43, 50},
     .n_want = 4},
    {.name = "trace by hand",
     .n_in = 1,
     .in = {AS_IN(I32, 2, 2)},
     EQUATION("ii"),
     .given = (const double[]){1, 2, 3, 4},
     .want = (const double[]){5},
     .n_want = 1},
    {.name = "diagonal by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 2)},
     EQUATION("...ii->...i"),
     .given = (const double[]){1, 2, 3, 4},
     .want = (const double[]){1, 4},
     .n_want = 2},
    /* By hand: the letters of the result in alphabetical order: a transpose. */
    {.name = "implied by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 2, 2)},
     EQUATION("ba"),
     .given = (const double[]){1, 2, 3, 4},
     .want = (const double[]){1, 3, 2, 4},
     .n_want = 4},
    {.name = "three inputs by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 2), AS_IN(F32, 2), AS_IN(F32, 2)},
     EQUATION("i,i,i->"),
     .given = (const double[]){1, 2, 3, 4, 5, 6},
     .want = (const double[]){63},
     .n_want = 1},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F32}}, EQUATION("->")},
    {.name = "batches", .n_in = 2, .in = {AS_IN(F32, 3, 5, 4), AS_IN(F32, 1, 4, 7)}, EQUATION("...ij,...jk->...ik")},
    {.name = "outer", .n_in = 2, .in = {AS_IN(F64, 3), AS_IN(F64, 5)}, EQUATION("i,j")},
    {.name = "of nothing", .n_in = 2, .in = {AS_IN(F32, 2, 0), AS_IN(F32, 0, 3)}, EQUATION("ij,jk")},
};

const as_op as_op_einsum = {
    .name = "Einsum",
    .min_in = 1,
    .max_in = AS_MAX_IN,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = NULL,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
