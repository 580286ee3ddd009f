/* wiring_graph.c - a wiring as a graph: degrees, components, paths.
 *
 * Paths are found with sets of bits, 64 neurons per word: a step of a breadth-first search is then an OR of rows, and 8192
 * neurons take seconds; with lists they took minutes. */
#include "model/wiring/wiring.h"

#include <stdlib.h>

#include "base/text.h"

/* --- Degrees ------------------------------------------------------------------------------------------ */

/* Over the rows (sources) of a matrix when by_row, else over its columns. */
static as_degrees degrees_of(const int8_t *cells, int n_rows, int n_cols, bool by_row)
{
    as_degrees d = {.min = n_rows > n_cols ? n_rows : n_cols};
    int64_t    sum = 0;
    int        n = by_row ? n_rows : n_cols;
    for (int i = 0; i < n; i++) {
        int degree = 0;
        for (int k = 0; k < (by_row ? n_cols : n_rows); k++)
            degree += cells[by_row ? (size_t)i * (size_t)n_cols + (size_t)k : (size_t)k * (size_t)n_cols + (size_t)i] != 0;
        d.min = degree < d.min ? degree : d.min;
        d.max = degree > d.max ? degree : d.max;
        sum += degree;
    }
    d.mean = (double)sum / n;
    return d;
}

/* --- Components and paths ------------------------------------------------------------------------------ */

static int root_of(int *parents, int i)
{
    while (parents[i] != i)
        i = parents[i] = parents[parents[i]];
    return i;
}

static int weak_count(const int8_t *links, int n, int *parents)
{
    int count = n;
    for (int i = 0; i < n; i++)
        parents[i] = i;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            if (!links[(size_t)i * (size_t)n + (size_t)k])
                continue;
            int a = root_of(parents, i), b = root_of(parents, k);
            count -= a != b;
            parents[a] = b;
        }
    return count;
}

typedef struct search {
    int       n;
    size_t    n_words;
    uint64_t *rows;  /* neurons that are one synapse away */
    uint64_t *reach; /* neurons that are any number of synapses away, including itself */
    uint64_t *front, *next;
} search;

/* Fills reach of `from` and adds its paths. */
static void search_from(search *s, int from, as_graph_shape *out, double *sum)
{
    uint64_t *reach = s->reach + (size_t)from * s->n_words;
    int       n_reached = 1;
    for (size_t i = 0; i < s->n_words; i++)
        reach[i] = s->front[i] = 0;
    reach[from / 64] = s->front[from / 64] = UINT64_C(1) << from % 64;
    for (int length = 1, n_new = 1; n_new && n_reached < s->n; length++) {
        for (size_t i = 0; i < s->n_words; i++)
            s->next[i] = 0;
        for (size_t word = 0; word < s->n_words; word++)
            for (uint64_t bits = s->front[word]; bits; bits &= bits - 1) {
                const uint64_t *row = s->rows + (word * 64 + (size_t)__builtin_ctzll(bits)) * s->n_words;
                for (size_t i = 0; i < s->n_words; i++)
                    s->next[i] |= row[i];
            }
        n_new = 0;
        for (size_t i = 0; i < s->n_words; i++) {
            s->front[i] = s->next[i] & ~reach[i];
            reach[i] |= s->front[i];
            n_new += __builtin_popcountll(s->front[i]);
        }
        n_reached += n_new;
        *sum += (double)n_new * length;
        if (n_new && length > out->path_max)
            out->path_max = length;
    }
    out->n_pairs += n_reached - 1;
}

static bool bit(const uint64_t *sets, size_t n_words, int set, int i)
{
    return sets[(size_t)set * n_words + (size_t)i / 64] >> i % 64 & 1;
}

/* A strong component is counted at its first neuron. */
static int strong_count(const search *s)
{
    int count = 0;
    for (int i = 0; i < s->n; i++) {
        int k = 0;
        while (k < i && !(bit(s->reach, s->n_words, i, k) && bit(s->reach, s->n_words, k, i)))
            k++;
        count += k == i;
    }
    return count;
}

assay_status as_graph_measure(assay_env *env, const int8_t *links, int n, as_graph_shape *out)
{
    size_t    words = ((size_t)n + 63) / 64, cells = (size_t)n * words;
    int      *parents = malloc((size_t)n * sizeof *parents);
    uint64_t *sets = calloc(2 * cells + 2 * words, sizeof *sets);
    if (!parents || !sets) {
        free(parents);
        free(sets);
        return as_fail(env, ASSAY_NO_MEMORY, "wiring: not enough memory to search the paths of %d neurons", n);
    }
    search s = {
        .n = n, .n_words = words, .rows = sets, .reach = sets + cells, .front = sets + 2 * cells, .next = sets + 2 * cells + words};
    as_graph_shape shape = {.in = degrees_of(links, n, n, false), .out = degrees_of(links, n, n, true)};
    double         sum = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (links[(size_t)i * (size_t)n + (size_t)k])
                s.rows[(size_t)i * words + (size_t)k / 64] |= UINT64_C(1) << k % 64;
    for (int i = 0; i < n; i++)
        search_from(&s, i, &shape, &sum);
    shape.path_mean = shape.n_pairs ? sum / (double)shape.n_pairs : 0;
    shape.n_weak = weak_count(links, n, parents);
    shape.n_strong = strong_count(&s);
    free(parents);
    free(sets);
    *out = shape;
    return ASSAY_OK;
}

/* --- A wiring ------------------------------------------------------------------------------------------- */

static void sign_count(as_signs *a, as_signs *b, int8_t sign)
{
    a->excitatory += sign > 0;
    b->excitatory += sign > 0;
    a->inhibitory += sign < 0;
    b->inhibitory += sign < 0;
}

assay_status as_wiring_measure(assay_env *env, const as_wiring *w, as_wiring_facts *out)
{
    as_wiring_facts f = {0};
    size_t          n = (size_t)w->n_units;
    AS_TRY(as_graph_measure(env, w->adjacency, w->n_units, &f.neurons));
    for (int to = 0; to < w->n_units; to++) {
        as_neuron target = as_wiring_type(w, to);
        for (int from = 0; from < w->n_units; from++)
            sign_count(&f.by_type[as_wiring_type(w, from)][target], &f.internal, w->adjacency[(size_t)from * n + (size_t)to]);
        for (int from = 0; from < w->n_inputs; from++)
            sign_count(&f.by_type[AS_SOURCE_SENSORY][target], &f.sensory, w->sensory[(size_t)from * n + (size_t)to]);
    }
    f.sensory_out = degrees_of(w->sensory, w->n_inputs, w->n_units, true);
    f.sensory_in = degrees_of(w->sensory, w->n_inputs, w->n_units, false);
    f.crc = as_crc32(0, w->adjacency, n * n);
    f.sensory_crc = as_crc32(0, w->sensory, (size_t)w->n_inputs * n);
    *out = f;
    return ASSAY_OK;
}
