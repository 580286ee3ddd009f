/* cache_model.c - the arithmetic of cache_model.h; checked against cachegrind, docs/cache-model.md has the error. */
#include "analysis/trace/cache_model.h"

#include <math.h>
#include <string.h>

double as_cache_width(const char *kernel)
{
    static const struct {
        const char *suffix;
        double      bytes;
    } widths[] = {{"avx512", 64}, {"avx2", 32}, {"neon", 16}};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        if (strstr(kernel, widths[i].suffix))
            return widths[i].bytes;
    return 4;
}

/* Rows of a register tile: each vector of weights that is loaded serves so many of them. */
#define TILE_ROWS 6.0
/* Below this the step reads its operands once or twice: it streams. */
#define REUSES 4.0

static bool reuses(const as_trace_step *s)
{
    double bytes = (double)s->bytes_read + (double)s->bytes_written;
    return bytes > 0 && (double)s->flops / bytes * 4 > REUSES;
}

/* Kernels that walk a sequence read their weights once per step of it. */
static bool is_cell(const as_trace_step *s)
{
    static const char *const ops[] = {"CfC", "Cfc", "LTC", "Ltc", "LSTM", "GRU", "RNN"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strstr(s->op ? s->op : "", ops[i]))
            return true;
    return false;
}

/* How often a run uses each weight, and in how many passes over them. */
static double uses_of(const as_trace_step *s)
{
    return s->weight_bytes ? fmax(1, (double)s->flops / 2 / ((double)s->weight_bytes / 4)) : TILE_ROWS;
}

static double passes_of(const as_trace_step *s, uint64_t batch)
{
    return is_cell(s) && batch ? fmax(1, uses_of(s) / (double)batch) : 1;
}

/* Accesses per multiply-add of a vector: the weights, shared by the rows of the tile, half a broadcast, and with few rows the sums, too. */
static double loads_of(const as_trace_step *s, uint64_t batch)
{
    double rows = fmin(fmax(uses_of(s) / passes_of(s, batch), 1), TILE_ROWS);
    return 1 / rows + 0.5 + (rows < TILE_ROWS ? 1 : 0);
}

static double accesses_of(const as_trace_step *s, double width, uint64_t batch)
{
    double bytes = (double)s->bytes_read + (double)s->bytes_written, once = bytes / width;
    double flops = s->issued_flops ? (double)s->issued_flops : (double)s->flops;
    double elements = width / (s->is_f64 ? 8 : s->is_i8 ? 1 : 4);
    return reuses(s) || s->weight_bytes ? fmax(once, flops / 2 / elements * loads_of(s, batch)) : once;
}

/* Bytes that a level of `size` bytes fetches for the step. */
static double traffic(const as_trace_step *s, double size, double run_bytes, uint64_t batch)
{
    double bytes = (double)s->bytes_read + (double)s->bytes_written, set = fmax((double)s->working_set_bytes, 1);
    if (run_bytes <= size)
        return 0;
    if (set > size)
        bytes += (passes_of(s, batch) - 1) * (double)s->weight_bytes;
    if (set <= size || !reuses(s))
        return bytes;
    return fmax(bytes, (double)s->flops * 4 / sqrt(size / 12));
}

bool as_cache_model_step(const as_limits *limits, const as_trace_step *s, double run_bytes, uint64_t batch, as_cache_flow *out)
{
    as_cache_flow f = {.accesses = accesses_of(s, as_cache_width(s->kernel), batch)};
    for (int i = 0; i < limits->n_levels && f.n_levels < AS_CACHE_LEVELS; i++)
        if (limits->level[i].bytes) {
            double lines = traffic(s, (double)limits->level[i].bytes, run_bytes, batch) / AS_CACHE_LINE;
            double most = f.n_levels ? f.misses[f.n_levels - 1] : f.accesses; /* a level fetches no more than reaches it */
            f.misses[f.n_levels++] = fmin(lines, most);
        }
    if (!f.n_levels)
        return false;
    *out = f;
    return true;
}

void as_cache_flow_add(as_cache_flow *sum, const as_cache_flow *f)
{
    sum->accesses += f->accesses;
    sum->n_levels = sum->n_levels > f->n_levels ? sum->n_levels : f->n_levels;
    for (int i = 0; i < f->n_levels; i++)
        sum->misses[i] += f->misses[i];
}

double as_cache_hit(const as_cache_flow *f, int level)
{
    if (level >= f->n_levels)
        return NAN;
    double reach = level ? f->misses[level - 1] : f->accesses;
    return reach > 0 ? 1 - f->misses[level] / reach : (double)NAN;
}

double as_cache_hit_any(const as_cache_flow *f)
{
    return f->n_levels && f->accesses > 0 ? 1 - f->misses[f->n_levels - 1] / f->accesses : (double)NAN;
}
