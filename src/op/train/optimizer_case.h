/* optimizer_case.h - words for the cases of the operators that update parameters. */
#ifndef AS_OP_TRAIN_OPTIMIZER_CASE_H
#define AS_OP_TRAIN_OPTIMIZER_CASE_H

#include <math.h>

#include "op/rules.h"
#include "op/train/optimizer.h"

#define STEP(t)                                          \
    {                                                    \
        .dtype = AS_I64, .ints = (const int64_t[]) { t } \
    }
#define NUMBER          \
    {                   \
        .dtype = AS_F32 \
    }
#define NONE             \
    {                    \
        .dtype = AS_NONE \
    }

#endif
