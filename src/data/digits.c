/* digits.c - drawn digits: ten glyphs at any place, upright or slanted, with noise.
 *
 * There are few ways to draw a digit (120 in 8x8, 1920 in 28x28), all with the same chance, and the noise is normal and independent per
 * pixel: so the chance of each class given an image is a finite sum, and the least loss is known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/synthetic.h"

enum { GLYPH_H = 7, GLYPH_W = 5, N_SLANTS = 3, N_DIGITS = 10, MAX_PIXELS = 28 * 28 };

/* Rows from the top; the highest of 5 bits is the left pixel. */
static const uint8_t glyphs[N_DIGITS][GLYPH_H] = {
    {0x0e, 0x11, 0x11, 0x15, 0x11, 0x11, 0x0e}, {0x04, 0x0c, 0x14, 0x04, 0x04, 0x04, 0x1f},
    {0x0e, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1f}, {0x1e, 0x01, 0x01, 0x0e, 0x01, 0x01, 0x1e},
    {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}, {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e},
    {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e}, {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08},
    {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}, {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c},
};

static int64_t scale_of(int64_t size) { return size == 8 ? 1 : 3; }
static int64_t places_x(int64_t size)
{
    return size - (GLYPH_W + 2) * scale_of(size) + 1;
} /* a slant needs a column on each side */
static int64_t places_y(int64_t size) { return size - GLYPH_H * scale_of(size) + 1; }

/* slant: -1, 0, 1: the upper two rows go to the right, the lower two to the left */
static void draw(int64_t size, int64_t digit, int64_t dy, int64_t dx, int64_t slant, float *out)
{
    int64_t scale = scale_of(size);
    memset(out, 0, (size_t)(size * size) * sizeof *out);
    for (int64_t row = 0; row < GLYPH_H; row++) {
        int64_t shift = row < 2 ? slant : row >= GLYPH_H - 2 ? -slant : 0;
        for (int64_t col = 0; col < GLYPH_W; col++) {
            if (!(glyphs[digit][row] >> (GLYPH_W - 1 - col) & 1))
                continue;
            for (int64_t y = 0; y < scale; y++)
                for (int64_t x = 0; x < scale; x++)
                    out[(dy + row * scale + y) * size + dx + (col + 1 + shift) * scale + x] = 1;
        }
    }
}

static void shapes(const as_synthetic *s, as_shape *x, as_shape *timespans, as_shape *y)
{
    *x = AS_SHAPE(1, s->size, s->size);
    *timespans = (as_shape){.rank = -1};
    *y = (as_shape){0};
}

static void make(const as_synthetic *s, int64_t example, float *x, float *timespans, void *y)
{
    (void)timespans;
    as_dice dice = as_dice_of(s, example);
    int64_t digit = as_dice_below(&dice, N_DIGITS), dy = as_dice_below(&dice, places_y(s->size)),
            dx = as_dice_below(&dice, places_x(s->size));
    draw(s->size, digit, dy, dx, as_dice_below(&dice, N_SLANTS) - 1, x);
    for (int64_t i = 0; i < s->size * s->size && s->noise > 0; i++)
        x[i] += (float)(s->noise * as_dice_normal(&dice));
    *(int64_t *)y = digit;
}

/* -ln p(class | x): over all ways to draw, by the distance of each to the image. */
static double surprise(const as_synthetic *s, const float *x, int64_t class)
{
    int64_t ways = places_y(s->size) * places_x(s->size) * N_SLANTS, n = s->size * s->size;
    double  per_digit[N_DIGITS], *near = malloc((size_t)ways * sizeof *near);
    float   drawn[MAX_PIXELS];
    if (!near)
        return NAN;
    for (int64_t digit = 0; digit < N_DIGITS; digit++) {
        for (int64_t way = 0; way < ways; way++) {
            double sum = 0;
            draw(s->size, digit, way / (N_SLANTS * places_x(s->size)), way / N_SLANTS % places_x(s->size), way % N_SLANTS - 1,
                 drawn);
            for (int64_t i = 0; i < n; i++)
                sum += (double)(x[i] - drawn[i]) * (double)(x[i] - drawn[i]);
            near[way] = -sum / (2 * s->noise * s->noise);
        }
        per_digit[digit] = as_log_sum(near, ways);
    }
    free(near);
    return as_log_sum(per_digit, N_DIGITS) - per_digit[class];
}

const as_generator as_generator_digits = {.name = "digits",
                                          .help = "drawn digits in 8x8 or 28x28 pixels",
                                          .keys = "size",
                                          .n = 2000,
                                          .noise = 0.2,
                                          .size = 8,
                                          .classes = N_DIGITS,
                                          .is_class = true,
                                          .shapes = shapes,
                                          .make = make,
                                          .surprise = surprise,
                                          .n_surprises = 200};
