/* loss_case.h - the cases of the losses of numbers and of their gradients, which differ in what they answer alone. */
#ifndef AS_OP_TRAIN_LOSS_CASE_H
#define AS_OP_TRAIN_LOSS_CASE_H

#include "op/rules.h"
#include "op/train/loss.h"

/* y, then the target; the gradients read 3 as the gradient of the loss. */
#define LOSS_VALUES 0.5, -2, 3, 0.25, -1, 1.5, 1, 0, 0, 0.25, 1, 1
/* Of how many rows the mean is. */
#define ROWS(n)                                          \
    {                                                    \
        .dtype = AS_I64, .ints = (const int64_t[]) { n } \
    }
#define ONE(type)          \
    {                      \
        .dtype = AS_##type \
    }

/* want, want_rows: arrays, the mean of all rows and that of two of three; kinks: there are places without a derivative among the values; then
 * the attributes, n of them. */
#define LOSS_CASES(want_, want_rows, kinks, n, ...)                                                                               \
    {.name = "by formula",                                                                                                        \
     .n_in = 2,                                                                                                                   \
     .in = {AS_IN(F32, 3, 2), AS_IN(F32, 3, 2)},                                                                                  \
     .n_attrs = n,                                                                                                                \
     .attrs = {__VA_ARGS__},                                                                                                      \
     .given = (const double[]){LOSS_VALUES},                                                                                      \
     .want = want_,                                                                                                               \
     .n_want = 1,                                                                                                                 \
     .no_grad = kinks},                                                                                                           \
        {.name = "two of three rows",                                                                                             \
         .n_in = 3,                                                                                                               \
         .in = {AS_IN(F32, 3, 2), AS_IN(F32, 3, 2), ROWS(2)},                                                                     \
         .n_attrs = n,                                                                                                            \
         .attrs = {__VA_ARGS__},                                                                                                  \
         .given = (const double[]){LOSS_VALUES},                                                                                  \
         .want = want_rows,                                                                                                       \
         .n_want = 1,                                                                                                             \
         .no_grad = kinks},                                                                                                       \
        {.name = "scalar", .n_in = 2, .in = {ONE(F32), ONE(F32)}},                                                                \
        {.name = "7x9", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 7, 9)}, .lo = -4, .hi = 4},                                \
        {.name = "rows of 15x17", .n_in = 3, .in = {AS_IN(F32, 15, 17), AS_IN(F32, 15, 17), ROWS(11)}, .lo = -4, .hi = 4},        \
        {.name = "shards and a rest", .n_in = 2, .in = {AS_IN(F32, 9003), AS_IN(F32, 9003)}, .lo = -3, .hi = 3, .no_grad = true}, \
        {.name = "f64", .n_in = 2, .in = {AS_IN(F64, 5, 3), AS_IN(F64, 5, 3)}},                                                   \
        {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 33), AS_IN(F16, 33)}},                                                       \
    {                                                                                                                             \
        .name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 3), AS_IN(F32, 0, 3)}, .no_grad = true /* the mean of nothing is NaN */  \
    }

/* want: of y, all rows; want_target: of the target, two of three rows. */
#define LOSS_GRAD_CASES(want_, want_target, n, ...)                                                           \
    {.name = "by formula",                                                                                    \
     .n_in = 3,                                                                                               \
     .in = {AS_IN(F32, 3, 2), AS_IN(F32, 3, 2), ONE(F32)},                                                    \
     .n_attrs = n,                                                                                            \
     .attrs = {__VA_ARGS__},                                                                                  \
     .given = (const double[]){LOSS_VALUES, 3},                                                               \
     .want = want_,                                                                                           \
     .n_want = 6},                                                                                            \
        {.name = "of the target, two of three rows",                                                          \
         .n_in = 4,                                                                                           \
         .in = {AS_IN(F32, 3, 2), AS_IN(F32, 3, 2), ONE(F32), ROWS(2)},                                       \
         .n_attrs = n + 1,                                                                                    \
         .attrs = {AS_ATTR_I("of_target", 1), __VA_ARGS__},                                                   \
         .given = (const double[]){LOSS_VALUES, 3},                                                           \
         .want = want_target,                                                                                 \
         .n_want = 6},                                                                                        \
        {.name = "7x9", .n_in = 3, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 7, 9), ONE(F32)}, .lo = -4, .hi = 4},  \
        {.name = "rows of 15x17",                                                                             \
         .n_in = 4,                                                                                           \
         .in = {AS_IN(F32, 15, 17), AS_IN(F32, 15, 17), ONE(F32), ROWS(11)},                                  \
         .lo = -4,                                                                                            \
         .hi = 4},                                                                                            \
        {.name = "many", .n_in = 3, .in = {AS_IN(F32, 9003), AS_IN(F32, 9003), ONE(F32)}, .lo = -3, .hi = 3}, \
        {.name = "f64", .n_in = 3, .in = {AS_IN(F64, 5, 3), AS_IN(F64, 5, 3), ONE(F64)}},                     \
    {                                                                                                         \
        .name = "empty", .n_in = 3, .in = { AS_IN(F32, 0, 3), AS_IN(F32, 0, 3), ONE(F32) }                    \
    }

#endif
