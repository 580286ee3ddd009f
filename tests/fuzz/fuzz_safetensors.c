/* fuzz_safetensors.c - any bytes as a safetensors file: refused with a sentence, or every element can be
 * touched and every tensor is found by its name. */
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOUCH_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_env *env; /* kept over all inputs: only its message changes */
    if (!env && assay_env_new(&env) != ASSAY_OK)
        abort();
    as_safetensors file;
    env->message[0] = '\0';
    if (as_safetensors_parse(env, "fuzz.st", data, size, &file) != ASSAY_OK) {
        if (strncmp(assay_message(env), "safetensors: fuzz.st: ", 22))
            abort();
        return 0;
    }
    volatile double sum = 0;
    int64_t         left = TOUCH_MAX;
    for (size_t t = 0; t < file.n_items; t++) {
        const as_view *view = as_safetensors_find(&file, file.items[t].name);
        if (view != &file.items[t].view)
            abort();
        int64_t count = as_shape_count(&view->shape);
        for (int64_t i = 0; i < count && left > 0; i++, left--)
            sum = sum + as_view_get(view, i) + (double)as_view_get_i64(view, count - 1 - i);
    }
    as_safetensors_drop(&file);
    return 0;
}
