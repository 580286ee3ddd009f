/* contrib.c - what the operators of com.microsoft share. */
#include "op/contrib/contrib.h"

#include <string.h>

int as_b_dequantize(as_builder *b, int x, int scale, int zero) { return AS_MAKE(b, "DequantizeLinear", x, scale, zero); }
int as_b_quantize(as_builder *b, int x, int scale, int zero) { return AS_MAKE(b, "QuantizeLinear", x, scale, zero); }

assay_status as_b_quantized_two(as_builder *b, const as_node_ctx *n, const char *op, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n, AS_INPUT_BIT(0) | AS_INPUT_BIT(1) | AS_INPUT_BIT(3) | AS_INPUT_BIT(4) | AS_INPUT_BIT(6)));
    int x = as_b_dequantize(b, in[0], in[1], as_in_or_none(n, in, 2)),
        y = as_b_dequantize(b, in[3], in[4], as_in_or_none(n, in, 5));
    out[0] = as_b_quantize(b, AS_MAKE(b, op, x, y), in[6], as_in_or_none(n, in, 7));
    return ASSAY_OK;
}

assay_status as_need(assay_env *env, const as_node_ctx *n, uint64_t inputs)
{
    for (int i = 0; i < 64; i++)
        if ((inputs & AS_INPUT_BIT(i)) && !as_in_has(n, i))
            return as_refuse(env, n, "input %d is absent, and it needs it", i);
    return ASSAY_OK;
}

int as_attrs_without(const as_node_ctx *n, const char *const *names, as_attr *out, int max)
{
    int count = 0;
    for (int i = 0; i < n->n_attrs && count < max; i++) {
        bool known = false;
        for (const char *const *name = names; *name; name++)
            known |= !strcmp(*name, n->attrs[i].name);
        if (!known)
            out[count++] = n->attrs[i];
    }
    return count;
}

static double param(const as_node_ctx *n, size_t i, const char *alone, double otherwise)
{
    const as_attr *list = as_attr_find(n, "activation_params");
    return list && list->n > i ? list->floats[i] : as_attr_float(n, alone, otherwise);
}

assay_status as_b_activation(as_builder *b, const as_node_ctx *n, int x, int *out)
{
    static const char *const plain[] = {"Relu", "Tanh", "Sigmoid", "HardSwish"};
    const char              *word = as_attr_text(n, "activation", "");
    *out = x;
    if (!*word)
        return ASSAY_OK;
    for (size_t i = 0; i < AS_COUNT(plain); i++)
        if (!strcmp(plain[i], word)) {
            *out = AS_MAKE(b, word, x);
            return ASSAY_OK;
        }
    if (!strcmp(word, "LeakyRelu"))
        *out = AS_MAKE_WITH(b, word, AS_WITH(AS_ATTR_F("alpha", param(n, 0, "activation_alpha", 0.01))), x);
    else if (!strcmp(word, "Clip"))
        *out = AS_MAKE(b, word, x, as_b_like(b, x, param(n, 0, "activation_alpha", -3.402823466e38)),
                       as_b_like(b, x, param(n, 1, "activation_beta", 3.402823466e38)));
    else if (!strcmp(word, "HardSigmoid"))
        *out = AS_MAKE_WITH(b, word,
                            AS_WITH(AS_ATTR_F("alpha", param(n, 0, "activation_alpha", 0.2)),
                                    AS_ATTR_F("beta", param(n, 1, "activation_beta", 0.5))),
                            x);
    else
        return as_refuse(b->env, n, "the activation '%.40s' is not supported", word);
    return ASSAY_OK;
}

static int channels_move(as_builder *b, const as_node_ctx *n, int x, bool to_first)
{
    int     rank = as_b_info(b, x).shape.rank;
    int64_t perm[AS_MAX_RANK] = {0};
    if (!as_attr_int(n, "channels_last", 0) || rank < 3)
        return x;
    for (int i = 1; i < rank; i++)
        perm[i] = to_first ? (i == 1 ? rank - 1 : i - 1) : (i == rank - 1 ? 1 : i + 1);
    return as_b_transpose(b, x, perm, rank);
}

int as_b_channels_first(as_builder *b, const as_node_ctx *n, int x) { return channels_move(b, n, x, true); }
int as_b_channels_back(as_builder *b, const as_node_ctx *n, int x) { return channels_move(b, n, x, false); }

int as_b_integer_product(as_builder *b, int x, int x_scale, int x_zero, int y, int y_scale, int y_zero, int bias)
{
    int sums = AS_MAKE(b, "MatMulInteger", x, y, x_zero, y_zero);
    if (bias >= 0)
        sums = AS_MAKE(b, "Add", sums, bias);
    return AS_MAKE(b, "Mul", as_b_cast(b, sums, as_b_info(b, x_scale).dtype), AS_MAKE(b, "Mul", x_scale, y_scale));
}

int as_b_layernorm(as_builder *b, int x, int gamma, int beta, double epsilon, int *mean, int *inverse)
{
    int     outs[3] = {-1, -1, -1}, in[] = {x, gamma, beta};
    as_attr attrs[] = {AS_ATTR_I("axis", -1), AS_ATTR_F("epsilon", epsilon)};
    int     y = b->node(b, "LayerNormalization", in, 3, attrs, 2, outs, mean || inverse ? 3 : 1);
    if (mean)
        *mean = outs[1];
    if (inverse)
        *inverse = outs[2];
    return y;
}

int as_b_rmsnorm(as_builder *b, int x, int gamma, double epsilon, int *inverse)
{
    if (inverse) {
        int square = as_b_reduce(b, "ReduceMean", AS_MAKE(b, "Mul", x, x), as_b_info(b, x).shape.rank - 1, true);
        *inverse = as_b_cast(b, AS_MAKE(b, "Reciprocal", AS_MAKE(b, "Sqrt", as_b_plus(b, square, epsilon))), AS_F32);
    }
    return AS_MAKE_WITH(b, "RMSNormalization", AS_WITH(AS_ATTR_I("axis", -1), AS_ATTR_F("epsilon", epsilon)), x, gamma);
}

int as_b_mask_bias(as_builder *b, int mask, double filter, as_dtype dtype)
{
    int seen = as_b_info(b, mask).dtype == AS_BOOL ? mask : as_b_with(b, "Greater", mask, 0.0);
    return AS_MAKE(b, "Where", seen, as_b_scalar(b, dtype, 0.0), as_b_scalar(b, dtype, filter));
}
