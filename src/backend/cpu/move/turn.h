/* turn.h - Transpose and Relayout as walks. */
#ifndef AS_BACKEND_CPU_TURN_H
#define AS_BACKEND_CPU_TURN_H

#include "backend/cpu/walk.h"

/* From the layout of the input to the layout of the output. */
as_walk as_turn_of(const as_node_ctx *n);

#endif
