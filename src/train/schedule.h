/* schedule.h - the learning rate as a pure function of the step: "warmup 200 > cosine 1e-5".  Private to train/.
 *
 * A text has one or more pieces with '>' between them.  Each begins with the rate that the one before ended with, the first with the
 * optimiser's.  The last lasts until the end; any other needs a length: `for LENGTH`, which all pieces take, or that of warmup and
 * stable.  With s and L the piece's own step, from 0, and its length, and e = s / steps per epoch:
 *
 *   constant                         the rate stays
 *   warmup LENGTH                    rate (s + 1) / LENGTH
 *   stable UNTIL                     the rate stays until that share of the whole run: 0.8 or 80%
 *   linear FLOOR                     from the rate to the floor: rate + (FLOOR - rate) s / L
 *   cosine FLOOR                     FLOOR + (rate - FLOOR) (1 + cos(pi s / L)) / 2
 *   decay FLOOR                      FLOOR + (rate - FLOOR) (1 - sqrt(s / L))
 *   step EVERY FACTOR                rate FACTOR^floor(s / EVERY); EVERY counts epochs (30), or steps (500s)
 *   exponential FACTOR               rate FACTOR^e
 *   restarts LENGTH [TIMES] [FLOOR]  cosines, each TIMES as long as the one before (1 when not given)
 *   plateau FACTOR PATIENCE [FLOOR]  times FACTOR whenever more than PATIENCE validation losses in a row were not lower than the
 *                                    best by 1e-4 of it
 *
 * A LENGTH is a number of steps (200 or 200s), epochs (5e) or a share of the whole run (20%).  A FLOOR is a rate, 0 when not given. */
#ifndef AS_TRAIN_SCHEDULE_H
#define AS_TRAIN_SCHEDULE_H

#include "base/env.h"

typedef enum as_schedule_kind {
    AS_SCHEDULE_CONSTANT,
    AS_SCHEDULE_WARMUP,
    AS_SCHEDULE_STABLE,
    AS_SCHEDULE_LINEAR,
    AS_SCHEDULE_COSINE,
    AS_SCHEDULE_DECAY,
    AS_SCHEDULE_STEP,
    AS_SCHEDULE_EXPONENTIAL,
    AS_SCHEDULE_RESTARTS,
    AS_SCHEDULE_PLATEAU
} as_schedule_kind;

typedef enum as_length_unit { AS_LENGTH_REST, AS_LENGTH_STEPS, AS_LENGTH_EPOCHS, AS_LENGTH_SHARE } as_length_unit;
typedef struct as_length {
    as_length_unit unit;
    double         amount; /* a share: of 1 */
} as_length;

enum { AS_SCHEDULE_PIECES = 8 };

typedef struct as_schedule_piece {
    as_schedule_kind kind;
    as_length        length; /* of the piece; stable: where it ends */
    as_length        every;  /* step, restarts */
    double           factor, floor, patience;
} as_schedule_piece;

typedef struct as_schedule {
    as_schedule_piece pieces[AS_SCHEDULE_PIECES];
    int               n_pieces;
} as_schedule;

typedef struct as_schedule_loss {
    int64_t step; /* that had been done when it was measured */
    double  loss;
} as_schedule_loss;

typedef struct as_schedule_at {
    int64_t                 step; /* from 0 */
    int64_t                 total, steps_per_epoch;
    double                  base;   /* the optimiser's rate */
    const as_schedule_loss *losses; /* on validation data, in order; only plateau reads them */
    int                     n_losses;
} as_schedule_at;

assay_status as_schedule_parse(assay_env *env, const char *text, as_schedule *out);
double       as_schedule_rate(const as_schedule *s, const as_schedule_at *at);
bool         as_schedule_wants_losses(const as_schedule *s); /* a plateau is among its pieces */

#endif
