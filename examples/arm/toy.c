/* toy.c - your own program as a candidate of a comparison: a dot product; with -DEXTRA=20 it has 20 % more elements.
 *
 *     cc -O2 -I../../include -o old toy.c && cc -O2 -I../../include -DEXTRA=20 -o new toy.c
 *     assay compare --bin ./old ./new
 *
 * `./old 1000` makes 1000 calls and ends, for tools that can only time whole programs. */
#include "assay_arm.h" /* first: it asks for POSIX */

#include <stdlib.h>

#ifndef EXTRA
#define EXTRA 0
#endif
enum { N = 4096, N_ALL = N + N * EXTRA / 100 };

typedef struct dot {
    float x[N_ALL], y[N_ALL], sum;
} dot;

static void call(void *arg)
{
    dot  *d = arg;
    float sum = 0;
    for (int i = 0; i < N_ALL; i++)
        sum += d->x[i] * d->y[i];
    d->sum = sum;
}

static uint64_t hash(void *arg)
{
    dot *d = arg;
    call(d);
    return assay_arm_hash(0, &d->sum, sizeof d->sum);
}

int main(int argc, char **argv)
{
    static dot d;
    assay_arm  arm = {
         .name = "dot", .call = call, .arg = &d, .hash = hash, .flops = 2.0 * N_ALL, .bytes = 2.0 * sizeof(float) * N_ALL};
    for (int i = 0; i < N; i++) { /* elements beyond N stay zero: more work, but the same answer */
        d.x[i] = 1.0f / (float)(i + 1);
        d.y[i] = (float)(i % 7) - 3.0f;
    }
    for (long n = argc > 1 ? atol(argv[1]) : 0; n > 0; n--)
        call(&d);
    return argc > 1 ? d.sum != d.sum : assay_arm_serve_all(&arm);
}
