/* synthetic.h - private to data/: generators of examples, and random numbers for one example. */
#ifndef AS_DATA_SYNTHETIC_H
#define AS_DATA_SYNTHETIC_H

#include "data/reader.h"

/* The values of a spec; a generator says which it takes and what they are by default. */
typedef struct as_synthetic {
    const struct as_generator *generator;
    int64_t                    n, size, length, features, outputs, classes;
    double                     noise;
    uint64_t                   seed;
    size_t                     x_bytes, timespans_bytes; /* in the scratch: x, timespans, y */
} as_synthetic;

/* Random numbers of one example; the same in every thread. */
typedef struct as_dice {
    uint64_t seed;
    int64_t  example, block;
    uint32_t words[4];
    int      left;
} as_dice;

as_dice as_dice_of(const as_synthetic *s, int64_t example);
double  as_dice_uniform(as_dice *dice); /* [0,1) */
double  as_dice_normal(as_dice *dice);
int64_t as_dice_below(as_dice *dice, int64_t n);

typedef struct as_generator {
    const char *name, *help;
    const char *keys; /* which it takes besides n, noise and seed */
    int64_t     n;    /* defaults */
    double      noise;
    int64_t     size, length, features, outputs, classes;
    /* Shapes of x, timespans (rank -1: none) and y. */
    void (*shapes)(const as_synthetic *s, as_shape *x, as_shape *timespans, as_shape *y);
    bool is_class; /* y is i64 */
    void (*make)(const as_synthetic *s, int64_t example, float *x, float *timespans, void *y);
    /* -ln p(class | x) of an example, under the generator's own distribution.  NULL: not a class. */
    double (*surprise)(const as_synthetic *s, const float *x, int64_t class);
    int64_t n_surprises; /* of so many examples at most, because each costs time; 0: of all */
} as_generator;

extern const as_generator as_generator_digits; /* digits.c */

/* ln(sum of exp) of n values; overwrites nothing. */
double as_log_sum(const double *values, int64_t n);

#endif
