/* kernel.h - what a CPU kernel is.  One kernel per file: k_<op>_<dtype>_<isa>.c exports as_k_<op>_<dtype>_<isa>.
 *
 * A kernel does one share of one node: run(args, part, n_parts, scratch), called by every thread at once, with a barrier
 * after it.  It must give the same bits for every n_parts: the split must not change the order of any sum.  Files whose
 * name ends in _avx2, _avx512, _vnni, _neon or _dotprod are compiled for that instruction set and must not run without it. */
#ifndef AS_BACKEND_CPU_KERNEL_H
#define AS_BACKEND_CPU_KERNEL_H

#include "base/pool.h"
#include "op/op.h"

enum as_isa {
    AS_ISA_SCALAR = 0,
    AS_ISA_AVX2 = 1,
    AS_ISA_AVX512 = 2,
    AS_ISA_NEON = 4,
    AS_ISA_F16C = 8,
    AS_ISA_VNNI = 16,   /* of AVX-512: sums of four products of bytes */
    AS_ISA_DOTPROD = 32 /* the same of NEON */
};

typedef struct as_kernel_args {
    const as_node_ctx *ctx;
    const as_view     *in; /* absent: data NULL */
    const as_view     *out;
    const void *const *packed; /* packed form of input i, or NULL */
    uint64_t           step;   /* of the run: keys random operators */
    /* For those that can fail (the reference code, Gather, LTC with its gradient, and LSTM, GRU and RNN with lengths): part 0 alone leaves its message in env and
     * sets *status, and no later step of the segment runs.  All others ignore both. */
    assay_env    *env;
    assay_status *status;
} as_kernel_args;

typedef struct as_kernel {
    const char        *name; /* "gemm_f32_scalar" */
    const char        *op;   /* "Gemm"; "*": any op */
    const char *const *also; /* further operators that it computes, NULL-terminated; NULL: none */
    unsigned           isa;  /* the CPU must have all of these bits */
    int                rank; /* among those that accept, the highest wins, unless `cost` says otherwise */
    /* An estimate, from shapes alone, of how long the node takes; NULL: none.  Of the kernels for one instruction set that have one, the
     * least wins, whatever their ranks.  It does not know the threads: kernels that add in another order would give other bits. */
    double (*cost)(const as_node_ctx *n);
    const char *why; /* "packed 6x16 tiles" */
    /* Bit i: the only output may share the memory of input i, when both have the same dtype, shape and layout: every element is
     * read before it is written, by the part that writes it. */
    unsigned in_place;
    /* The same for a node with any number of outputs: output k may share the memory of input in_place_of[k] - 1, all of them at
     * once; 0: none. */
    uint8_t in_place_of[AS_N_IN_PLACE];
    /* False: `why` gets the reason. */
    bool (*accepts)(const as_node_ctx *n, char *why, size_t why_size);
    size_t (*scratch_bytes)(const as_node_ctx *n, int n_parts); /* NULL: none; per call, for all parts */
    as_cost (*issued)(const as_node_ctx *n);                    /* NULL: the op's cost */
    /* Packing of constant inputs, once per parameter version; NULL: none. */
    size_t (*packed_bytes)(const as_node_ctx *n, int input);
    void (*pack)(const as_kernel_args *args, int input, void *packed, int part, int n_parts);
    /* True: where input i changes in every run, run() without its packed form costs less than packing it; NULL: never. */
    bool (*reads_in_place)(const as_node_ctx *n, int input);
    void (*run)(const as_kernel_args *args, int part, int n_parts, void *scratch);
    bool packed_alone; /* of an input that is packed, run() reads the packed form alone: what it was made of need not be kept */
    int64_t (*shares)(const as_node_ctx *n); /* how many parts can have work; NULL: all */
    /* Work that remains after every part has run, with the same scratch, again split into parts; NULL: none. */
    void (*finish)(const as_kernel_args *args, int part, int n_parts, void *scratch);
} as_kernel;

extern const as_kernel *const as_k_table[];
bool                          as_kernel_is_for(const as_kernel *k, const char *op); /* by op, also or "*" */

/* What this CPU has, minus what ASSAY_CPU masks ("-avx2,-f16c"); read once when the device opens. avx2 stands for AVX2
 * with FMA, avx512 for F, BW, DQ and VL, vnni for that of AVX-512. */
unsigned as_isa_here(void);
unsigned as_isa_cpu(void); /* nothing masked */
/* The bits that a text such as "-avx2,-f16c" masks; NULL and "" mask none. */
assay_status as_isa_mask(assay_env *env, const char *text, unsigned *out);
const char  *as_isa_show(unsigned isa, char *buf, size_t size); /* "avx2 f16c"; "scalar" for none */
const char  *as_cpu_name(char *buf, size_t size);               /* "AMD EPYC 7763 64-Core Processor" */

/* The rule of choice: among the kernels in the table (NULL-terminated) whose isa is in `isa` and which accept the node, the
 * highest rank wins, and the first by name among equals; then, if that has a cost, the one with the least cost for its instruction set.  Every other kernel of the op gets its reason; `masked` only affects
 * its wording.  The arena holds the text. */
struct as_choice;
assay_status as_kernel_choose(assay_env *env, const as_kernel *const *table, const as_node_ctx *n, unsigned isa, unsigned masked,
                              int n_parts, as_arena *arena, struct as_choice *out);

/* Shared by the plain kernels: refuses unless every operand is row-major, and input 0, output 0 and every other present
 * float operand are f32. */
bool as_kernel_f32_only(const as_node_ctx *n, char *why, size_t why_size);
/* Shared by kernels that walk memory from end to end: refuses unless every present operand is f32 and has output 0's shape and
 * layout. */
bool as_kernel_flat(const as_node_ctx *n, char *why, size_t why_size);

#endif
