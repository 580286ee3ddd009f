/* ps_einsum_test.c - which equations become products, and that the answer stays. */
#include <math.h>

#include "plan/edit.h"
#include "plan/test_fixture.h"

typedef struct sum {
    const char *equation;
    int         n_in;
    as_shape    in[3];
    bool        rewritten;
} sum;

/* The answer of the plan, which the caller frees. */
static float *answer(const sum *s, bool compiled, int64_t *count, int *n_einsum)
{
    fixture f;
    int     in[3];
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    as_attr   equation = AS_ATTR_S("equation", s->equation);
    for (int i = 0; i < s->n_in; i++) {
        as_dims dims;
        as_dims_of_shape(&s->in[i], &dims);
        in[i] = as_maker_input(m, (const char *[]){"a", "b", "c"}[i], AS_F32, &dims);
    }
    as_maker_output(m, as_maker_node(m, "Einsum", "sum", in, s->n_in, &equation, 1, NULL, 1, NULL));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_set(&f, "compile", compiled ? "on" : "off");
    fixture_plan(&f);
    *n_einsum = 0;
    for (int i = 0; i < f.plan->graph.n_nodes; i++)
        *n_einsum += as_edit_is(&f.plan->graph.nodes[i], "Einsum");
    fixture_instance(&f);
    fixture_step(&f);
    as_view y = as_instance_output(f.instance, 0);
    float  *copy = malloc(as_view_bytes(&y) + 4);
    expect(copy != NULL);
    memcpy(copy, y.data, as_view_bytes(&y));
    *count = as_shape_count(&y.shape);
    fixture_close(&f);
    return copy;
}

Test(einsum_pass, products_and_sums_have_the_same_answer_and_no_einsum)
{
    static const sum sums[] = {
        {"ij,jk->ik", 2, {AS_SHAPE(5, 7), AS_SHAPE(7, 3)}, true},
        {"ij,jk->ki", 2, {AS_SHAPE(5, 7), AS_SHAPE(7, 3)}, true},
        {"bhid,bhjd->bhij", 2, {AS_SHAPE(2, 3, 5, 4), AS_SHAPE(2, 3, 6, 4)}, true},
        {"bhij,bhjd->bihd", 2, {AS_SHAPE(2, 3, 5, 6), AS_SHAPE(2, 3, 6, 4)}, true},
        {"bsh,hn->bsn", 2, {AS_SHAPE(2, 3, 8), AS_SHAPE(8, 5)}, true},
        {"bshd,hdm->bsm", 2, {AS_SHAPE(2, 3, 4, 5), AS_SHAPE(4, 5, 6)}, true},
        {"nctkv,kvw->nctw", 2, {AS_SHAPE(2, 3, 2, 3, 4), AS_SHAPE(3, 4, 4)}, true},
        {"bchw,bkhw->bck", 2, {AS_SHAPE(2, 3, 4, 5), AS_SHAPE(2, 6, 4, 5)}, true},
        {"ijk,kl->jl", 2, {AS_SHAPE(3, 4, 5), AS_SHAPE(5, 6)}, true}, /* i is summed before */
        {"ij,kl->il", 2, {AS_SHAPE(3, 4), AS_SHAPE(5, 6)}, true},     /* j and k alone */
        {"i,j->ji", 2, {AS_SHAPE(3), AS_SHAPE(5)}, true},
        {"i,i->", 2, {AS_SHAPE(40), AS_SHAPE(40)}, true},
        {"bi,bi->b", 2, {AS_SHAPE(4, 9), AS_SHAPE(4, 9)}, true},
        {"...ij,...jk", 2, {AS_SHAPE(2, 3, 4, 5), AS_SHAPE(2, 3, 5, 6)}, true},
        {"...ij,jk->...ik", 2, {AS_SHAPE(2, 3, 4, 5), AS_SHAPE(5, 6)}, true},
        {"ijk->kj", 1, {AS_SHAPE(3, 4, 5)}, true},
        {"ij->ij", 1, {AS_SHAPE(3, 4)}, true},
        {"ij->", 1, {AS_SHAPE(3, 4)}, true},
        {"...ij,...jk->...ik", 2, {AS_SHAPE(2, 1, 4, 5), AS_SHAPE(2, 3, 5, 6)}, false}, /* broadcasts */
        {"ii->i", 1, {AS_SHAPE(4, 4)}, false},                                          /* a diagonal */
        {"ij,jk,kl->il", 3, {AS_SHAPE(2, 3), AS_SHAPE(3, 4), AS_SHAPE(4, 5)}, false},
    };
    for (size_t i = 0; i < AS_COUNT(sums); i++) {
        int     n_on, n_off;
        int64_t n, n_want;
        float  *got = answer(&sums[i], true, &n, &n_on), *want = answer(&sums[i], false, &n_want, &n_off);
        expect_eq(n, n_want);
        expect_eq(n_off, 1);
        if ((n_on == 0) != sums[i].rewritten)
            fail("%s: %d nodes are Einsum", sums[i].equation, n_on);
        for (int64_t k = 0; k < n; k++)
            if (!(fabsf(got[k] - want[k]) <= 1e-5f * (1.0f + fabsf(want[k]))))
                fail("%s: element %lld is %g, expected %g", sums[i].equation, (long long)k, (double)got[k], (double)want[k]);
        free(got);
        free(want);
    }
}
