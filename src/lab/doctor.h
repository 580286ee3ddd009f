/* doctor.h - everything that can be measured on this machine, and why the rest cannot. */
#ifndef AS_LAB_DOCTOR_H
#define AS_LAB_DOCTOR_H

#include <stdio.h>

#include "base/env.h"

/* One JSON object, "assay.doctor/1" (the verb `doctor`). */
assay_status as_doctor_write(assay_env *env, FILE *file);

#endif
