/* doctor.h - everything that can be measured on this machine, and why not the rest. */
#ifndef AS_LAB_DOCTOR_H
#define AS_LAB_DOCTOR_H

#include <stdio.h>

#include "base/env.h"
#include "report/brief.h"

/* One JSON object, "assay.doctor/1" (the verb `doctor`). */
assay_status as_doctor_write(assay_env *env, FILE *file);
/* The same for people: on one screen, or all of it. */
assay_status as_doctor_brief(assay_env *env, as_brief *b);
assay_status as_doctor_print(assay_env *env, FILE *file);

#endif
