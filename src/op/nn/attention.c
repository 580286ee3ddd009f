/* attention.c - attention and rotary positions as simpler operators. */
#include "op/nn/attention.h"

#include <math.h>

int as_b_both(as_builder *b, int x, int y)
{
    if (x < 0 || y < 0)
        return x < 0 ? y : x;
    return AS_MAKE(b, "And", x, y);
}

int as_b_band(as_builder *b, const as_band *band)
{
    if (!band->has_low && !band->has_high)
        return -1;
    int query = AS_TO_SHAPE(b, as_b_count(b, band->n_queries), band->n_queries, 1);
    int at = band->offset >= 0 ? AS_MAKE(b, "Add", query, band->offset) : as_b_with(b, "Add", query, (double)band->begin);
    int key = as_b_count(b, band->n_keys);
    int high = band->has_high ? AS_MAKE(b, "LessOrEqual", key, as_b_with(b, "Add", at, (double)band->high)) : -1;
    int low = band->has_low ? AS_MAKE(b, "GreaterOrEqual", key, as_b_with(b, "Add", at, (double)band->low)) : -1;
    return as_b_both(b, high, low);
}

assay_status as_heads_check(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t heads)
{
    const as_shape *x = &n->in[i].shape;
    if (x->rank != 3 || heads < 1 || x->dim[2] % heads)
        return as_refuse(env, n, "%s is %s with %lld heads: it must be [batch, sequence, heads * size]", what, AS_SHOW(x),
                         (long long)heads);
    return ASSAY_OK;
}

int as_b_heads_split(as_builder *b, int x, int64_t heads)
{
    int64_t batch = as_b_dim(b, x, 0), length = as_b_dim(b, x, 1), size = as_b_dim(b, x, 2) / heads;
    return AS_TURN(b, AS_TO_SHAPE(b, x, batch, length, heads, size), 0, 2, 1, 3);
}

int as_b_heads_join(as_builder *b, int x)
{
    int64_t batch = as_b_dim(b, x, 0), heads = as_b_dim(b, x, 1), length = as_b_dim(b, x, 2), size = as_b_dim(b, x, 3);
    return AS_TO_SHAPE(b, AS_TURN(b, x, 0, 2, 1, 3), batch, length, heads * size);
}

/* The queries that share a head of keys stand one after the other: a product per head of keys, and no key is repeated. */
static int grouped(as_builder *b, int x, int64_t kv_heads)
{
    int64_t batch = as_b_dim(b, x, 0), heads = as_b_dim(b, x, 1), length = as_b_dim(b, x, 2), size = as_b_dim(b, x, 3);
    return heads == kv_heads || kv_heads < 1 ? x : AS_TO_SHAPE(b, x, batch, kv_heads, heads / kv_heads * length, size);
}

static int ungrouped(as_builder *b, int x, int64_t heads, int64_t length)
{
    return AS_TO_SHAPE(b, x, as_b_dim(b, x, 0), heads, length, as_b_dim(b, x, 3));
}

static int scores(as_builder *b, const as_attention *a)
{
    as_dtype dtype = as_b_info(b, a->q).dtype;
    bool     is_narrow = dtype == AS_F16 || dtype == AS_BF16; /* the root of the scale on both sides keeps 16 bits in range */
    double   each = is_narrow ? sqrt(a->scale) : a->scale;
    int      q = as_b_with(b, "Mul", a->q, each), k = is_narrow ? as_b_with(b, "Mul", a->k, each) : a->k;
    int64_t  heads = as_b_dim(b, a->q, 1), length = as_b_dim(b, a->q, 2);
    int      product = AS_MAKE(b, "MatMul", grouped(b, q, as_b_dim(b, a->k, 1)), AS_TURN(b, k, 0, 1, 3, 2));
    return ungrouped(b, product, heads, length);
}

void as_b_attention(as_builder *b, as_attention *a)
{
    as_dtype dtype = as_b_info(b, a->q).dtype;
    int64_t  heads = as_b_dim(b, a->q, 1), length = as_b_dim(b, a->q, 2);
    a->raw = a->capped = scores(b, a);
    if (a->softcap > 0.0)
        a->capped = as_b_with(b, "Mul", AS_MAKE(b, "Tanh", as_b_with(b, "Div", a->raw, a->softcap)), a->softcap);
    a->biased = a->bias >= 0 ? AS_MAKE(b, "Add", a->capped, a->bias) : a->capped;
    if (a->allowed >= 0)
        a->biased = AS_MAKE(b, "Where", a->allowed, a->biased, as_b_like(b, a->biased, -INFINITY));
    int last = as_b_cast(b, a->biased, a->softmax_as == AS_NONE ? dtype : a->softmax_as), probs = as_b_softmax(b, last, -1);
    if (a->may_be_empty) {
        int most = as_b_reduce(b, "ReduceMax", last, 3, true);
        probs = AS_MAKE(b, "Where", as_b_with(b, "Equal", most, -INFINITY), as_b_like(b, probs, 0.0), probs);
    }
    a->probs = as_b_cast(b, probs, dtype);
    a->y = ungrouped(b, AS_MAKE(b, "MatMul", grouped(b, a->probs, as_b_dim(b, a->v, 1)), a->v), heads, length);
}

int as_b_rotate(as_builder *b, int x, int cos, int sin, int64_t dim, bool interleaved)
{
    int64_t size = as_b_dim(b, x, 3), half = dim / 2;
    int     turned = dim < size ? as_b_cut(b, x, 3, 0, dim, 1) : x, rest = dim < size ? as_b_cut(b, x, 3, dim, size, 1) : -1;
    int     first = interleaved ? as_b_cut(b, turned, 3, 0, dim, 2) : as_b_cut(b, turned, 3, 0, half, 1);
    int     second = interleaved ? as_b_cut(b, turned, 3, 1, dim, 2) : as_b_cut(b, turned, 3, half, dim, 1);
    int     real = AS_MAKE(b, "Sub", AS_MAKE(b, "Mul", cos, first), AS_MAKE(b, "Mul", sin, second));
    int     imag = AS_MAKE(b, "Add", AS_MAKE(b, "Mul", sin, first), AS_MAKE(b, "Mul", cos, second));
    int     both;
    if (interleaved) {
        as_shape shape = as_b_info(b, turned).shape;
        both = as_b_reshape(b, as_b_join(b, 4, as_b_wider(b, real, 4), as_b_wider(b, imag, 4)), &shape);
    } else {
        both = as_b_join(b, 3, real, imag);
    }
    return rest < 0 ? both : as_b_join(b, 3, both, rest);
}
