/* wiring_picture.h - a picture of a wiring: layers from left to right, sensory, inter, command, motor. */
#ifndef AS_LAB_WIRING_PICTURE_H
#define AS_LAB_WIRING_PICTURE_H

#include <stdio.h>

#include "model/wiring/wiring.h"

/* BAD_INPUT when there are too many synapses for a picture; the SVG lives in the arena. */
assay_status as_wiring_svg(assay_env *env, const as_wiring *w, const char *title, as_arena *arena, const char **out);
/* For Graphviz; of any size. */
void as_wiring_dot(FILE *file, const as_wiring *w);
/* Two tables of + and -: sources by row.  For few units. */
void as_wiring_table(FILE *file, const as_wiring *w);

#endif
