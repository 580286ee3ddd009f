/* attention.h - scaled dot-product attention out of products, masks and Softmax: what the attention operators share.
 * Only composed operators include it. */
#ifndef AS_OP_ATTENTION_H
#define AS_OP_ATTENTION_H

#include "op/composed.h"

typedef struct as_attention {
    int      q, k, v;        /* [B, heads, Sq, D], [B, kv heads, Sk, D], [B, kv heads, Sk, Dv]; kv heads divides heads */
    double   scale, softcap; /* softcap 0: none */
    int      bias;           /* added to the scores, which it broadcasts to; -1: none */
    int      allowed;        /* bool, broadcasts to the scores: which keys a query sees; -1: all */
    bool     may_be_empty;   /* a query may see no key, and then gives 0 */
    as_dtype softmax_as;     /* AS_NONE: as the scores are */
    int      raw, capped, biased, probs, y; /* results: the scores at every stage, [B, heads, Sq, Sk], and y [B, heads, Sq, Dv] */
} as_attention;

/* Builds it; the results are set. */
void as_b_attention(as_builder *b, as_attention *a);

/* [B, S, heads * D] as [B, heads, S, D], and back. */
int as_b_heads_split(as_builder *b, int x, int64_t heads);
int as_b_heads_join(as_builder *b, int x);
/* Checks that x has rank 3 and `heads` divides its last size. */
assay_status as_heads_check(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t heads);

/* Which keys a query sees by position: key j of query i when lo <= j - (i + offset) <= hi; -1 where that is all.  `offset` is an i64
 * value that broadcasts to [B, 1, Sq, Sk], or -1 for the number `begin`. */
typedef struct as_band {
    int64_t n_queries, n_keys, begin;
    int     offset;
    bool    has_low, has_high;
    int64_t low, high;
} as_band;
int as_b_band(as_builder *b, const as_band *band);
/* And of two bool values, either of which may be -1. */
int as_b_both(as_builder *b, int x, int y);

/* Turns pairs of the last axis of x [B, heads, S, D] by angles whose cos and sin are [B or 1, 1, S, dim / 2]; elements from `dim` on
 * stay as they are. */
int as_b_rotate(as_builder *b, int x, int cos, int sin, int64_t dim, bool interleaved);

#endif
