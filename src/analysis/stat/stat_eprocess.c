/* stat_eprocess.c - deciding while measuring: the sign e-process and its parts. */
#include "analysis/stat/stat.h"

#include <math.h>

double as_log_sum_exp(double a, double b)
{
    double larger = fmax(a, b), smaller = fmin(a, b);
    if (isnan(a) || isnan(b))
        return NAN;
    return isinf(larger) ? larger : larger + log1p(exp(smaller - larger));
}

/* One step of Lentz's method, which keeps numerators and denominators from vanishing. */
typedef struct lentz {
    double value, c, d;
} lentz;

static double step(lentz *l, double numerator)
{
    const double tiny = 1e-300;
    l->d = 1 + numerator * l->d;
    l->c = 1 + numerator / l->c;
    l->d = 1 / (fabs(l->d) < tiny ? tiny : l->d);
    l->c = fabs(l->c) < tiny ? tiny : l->c;
    l->value *= l->c * l->d;
    return l->c * l->d;
}

/* The continued fraction of the incomplete beta function (Handbook of Mathematical Functions, 26.5.8) below its turning point,
 * where about sqrt(a) or sqrt(b) steps are enough. */
static double beta_fraction(double x, double a, double b)
{
    lentz  l = {1, 1, 0};
    double change = step(&l, -(a + b) * x / (a + 1)) - 1;
    for (double m = 1; m < 1e5 && fabs(change) > 1e-15; m++) {
        step(&l, m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
        change = step(&l, -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))) - 1;
    }
    return l.value;
}

double as_log_beta_cdf(double x, double a, double b)
{
    if (!(a > 0 && b > 0) || isnan(x))
        return NAN;
    if (x <= 0 || x >= 1)
        return x <= 0 ? -INFINITY : 0;
    if (x > (a + 1) / (a + b + 2))
        return log1p(-exp(as_log_beta_cdf(1 - x, b, a)));
    return a * log(x) + b * log1p(-x) - log(a) - as_log_beta(a, b) - log(beta_fraction(x, a, b));
}

/* The bet: the chance of a positive sign was drawn from a Beta(1/2, 1/2) restricted to above 1/2, against the coin.  Everything stays in
 * logarithms: a clamped tail once gave false alarms. */
double as_sign_e_log(int64_t k, int64_t n)
{
    if (n < 1 || 2 * k <= n || k > n)
        return -INFINITY;
    double up = (double)k + 0.5, down = (double)(n - k) + 0.5;
    return ((double)n + 1) * log(2) + as_log_beta(up, down) - as_log_beta(0.5, 0.5) + as_log_beta_cdf(0.5, down, up);
}

double as_look_share(int look, int *launches)
{
    static const struct {
        int    launches;
        double share;
    } looks[] = {{8, 0.1}, {12, 0.1}, {16, 0.2}, {24, 0.3}, {32, 0.3}};
    bool is_one = look >= 0 && look < (int)(sizeof looks / sizeof *looks);
    if (launches)
        *launches = is_one ? looks[look].launches : 0;
    return is_one ? looks[look].share : 0;
}
