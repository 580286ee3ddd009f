/* fuzz_data_spec.c - any text as a spec, as --preprocess and as --loader: refused with a sentence, or what it names can be described. */
#include "tests/fuzz/data_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_env        *env = fuzz_env();
    as_loader_options loader = as_loader_training(4, 1);
    as_data_options   o = {.mmap = true};
    as_data          *opened = NULL;
    char             *text = malloc(size + 1), line[256];
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (as_preprocess_parse(env, text, &o.preprocess) != ASSAY_OK && strncmp(assay_message(env), "preprocess: ", 12))
        abort();
    if (as_loader_options_parse(env, text, &loader) != ASSAY_OK && strncmp(assay_message(env), "loader: ", 8))
        abort();
    o.preprocess = (as_preprocess){0};
    if (as_data_open(env, text, &o, &opened) == ASSAY_OK) {
        as_data_show(opened, line, sizeof line);
        if (as_data_count(opened) < 1)
            abort();
        as_data_free(opened);
    } else if (opened || strncmp(assay_message(env), "data: ", 6))
        abort();
    free(text);
    return 0;
}
