/* unroll.h - V_UNROLL before a loop unrolls it completely.
 *
 * Compilers keep an array of vectors in registers only where every loop over it is unrolled. gcc -O2 does not do that by itself;
 * clang does it too late when asked for a number of copies ("GCC unroll"), so it is asked for all.  Not under a sanitiser: with its
 * checks of every access unrolled, clang would take minutes. */
#ifndef AS_BACKEND_CPU_UNROLL_H
#define AS_BACKEND_CPU_UNROLL_H

#ifdef __clang__
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define V_UNROLL
#else
#define V_UNROLL _Pragma("clang loop unroll(full)")
#endif
#else
#define V_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
