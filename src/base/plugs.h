/* plugs.h - what the build left out, and why.  The rooms declare the tables of what is built in. */
#ifndef AS_BASE_PLUGS_H
#define AS_BASE_PLUGS_H

typedef struct as_left_out {
    const char *plug, *why;
} as_left_out;

extern const as_left_out as_left_out_table[]; /* ends with a NULL plug */

/* "gcc 12.2.0, -O2 ..., x86_64-linux, address" */
extern const char as_build_text[];

#endif
