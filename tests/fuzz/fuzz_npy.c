/* fuzz_npy.c - any bytes as an .npy file: refused with a sentence, or every element can be touched. */
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
    as_tensor tensor;
    env->message[0] = '\0';
    if (as_npy_parse(env, "fuzz.npy", data, size, &tensor) != ASSAY_OK) {
        if (strncmp(assay_message(env), "npy: fuzz.npy: ", 15))
            abort();
        return 0;
    }
    int64_t         count = as_shape_count(&tensor.view.shape);
    volatile double sum = 0;
    for (int64_t i = 0; i < count && i < TOUCH_MAX; i++)
        sum = sum + as_view_get(&tensor.view, i) + (double)as_view_get_i64(&tensor.view, count - 1 - i);
    as_tensor_drop(&tensor);
    return 0;
}
