/* stat_student.c - Student's quantile. */
#include <math.h>

#include "analysis/stat/stat.h"

/* The incomplete beta function inverted by halving. */
double as_student(double tail, double freedom)
{
    double lo = 0, hi = 1e6;
    for (int i = 0; i < 200; i++) {
        double t = (lo + hi) / 2, above = exp(as_log_beta_cdf(freedom / (freedom + t * t), freedom / 2, 0.5)) / 2;
        *(above > tail ? &lo : &hi) = t;
    }
    return hi;
}
