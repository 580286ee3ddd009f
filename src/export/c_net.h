/* c_net.h - a liquid network on its way to C source: its one node read, its weights as floats, and golden vectors.
 * Private to export/. */
#ifndef AS_EXPORT_C_NET_H
#define AS_EXPORT_C_NET_H

#include "model/model.h"
#include "op/cell/cfc.h"
#include "op/cell/ltc.h"

enum { AS_C_STEPS = 32 /* golden ones */ };

/* A layer y = W x + b; of a sparse one only the weights that a mask keeps, row after row. */
typedef struct as_c_linear {
    char           name[48];      /* name of its tables in the source */
    int64_t        rows, cols, n; /* n: weights kept */
    const float   *w, *b;         /* b NULL: none */
    const int64_t *from, *start;  /* column of each kept weight, where each row begins (rows + 1); NULL: dense */
} as_c_linear;

typedef struct as_c_net {
    as_arena     arena;
    const char  *name, *source;
    bool         libm, is_ltc;
    int64_t      n_in, n_units, n_out;
    as_cfc       cfc;
    as_ltc_net   ltc;
    as_c_linear  memory_in, memory_rec, fc, backbone[AS_CFC_MAX_BACKBONE], head[AS_CFC_MAX_CELLS][4];
    const float *w_tau[AS_CFC_MAX_CELLS], *a[AS_CFC_MAX_CELLS];
    bool         has_memory, has_fc;
    /* Golden: computed by the operator's own reference code, starting from zero states. */
    float *x, *timespans, *y, *h, *c;
} as_c_net;

/* Refuses, by name, models that are not a single assay.CfC or assay.LTC, and weights that are not finite. */
assay_status as_c_net_read(assay_env *env, const assay_model *model, uint64_t seed, as_c_net *out);
void         as_c_net_drop(as_c_net *net);

/* --- Writing ---------------------------------------------------------------------------------------- */

/* A constant of type float; buf holds 48. */
const char *as_c_number(char *buf, float value);
/* "static const float name[n] = {...};" with every value exact. */
void as_c_floats(FILE *f, const char *name, const float *values, int64_t n);
void as_c_indices(FILE *f, const char *name, const int64_t *values, int64_t n);
void as_c_linear_tables(FILE *f, const as_c_linear *l);
/* "    dense(y, ...);" or sparse(...). */
void as_c_linear_call(FILE *f, const as_c_linear *l, const char *y, const char *x);
/* The functions of linear layers and the memory cell, as far as the network needs them. */
void as_c_functions(FILE *f, const as_c_net *net);
/* The functions that it needs, from libm or our own; includes sigmoid and what our own need. */
typedef struct as_c_uses {
    bool exp, sigmoid, tanh, erf;
} as_c_uses;
void as_c_math(FILE *f, const as_c_net *net, const as_c_uses *uses);
void as_c_memory(FILE *f, const as_c_net *net);
/* Members of the state's struct besides h and c. */
void as_c_cfc_members(FILE *f, const as_c_net *net);
void as_c_ltc_members(FILE *f, const as_c_net *net);
/* Tables and the step. */
void as_c_cfc(FILE *f, const as_c_net *net);
bool as_c_ltc(FILE *f, const as_c_net *net); /* false: no memory */

#endif
