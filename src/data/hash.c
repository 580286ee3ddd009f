/* hash.c - the name of a data set's content, for checkpoints. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/reader.h"

#define WHOLE_BYTES ((uint64_t)64 << 20)
enum { PIECE_BYTES = 65536, N_PLACES = 256 };

static assay_status add_piece(assay_env *env, as_sha256 *h, const as_data_file *file, uint64_t at, uint64_t n, uint8_t *buffer)
{
    while (n) {
        size_t piece = n < PIECE_BYTES ? (size_t)n : PIECE_BYTES;
        AS_TRY(as_data_file_get(env, "hash", file, at, piece, buffer));
        as_sha256_add(h, buffer, piece);
        at += piece;
        n -= piece;
    }
    return as_cancelled(env) ? as_fail(env, ASSAY_CANCELLED, "data: %s: stopped while it was hashed", file->path) : ASSAY_OK;
}

static assay_status add_file(assay_env *env, as_sha256 *h, const as_data_file *file, uint8_t *buffer, as_data_hash *out)
{
    char head[64];
    out->bytes += file->bytes;
    as_sha256_add(h, head, (size_t)snprintf(head, sizeof head, "file of %" PRIu64 " bytes\n", file->bytes));
    if (file->bytes <= WHOLE_BYTES) {
        out->bytes_hashed += file->bytes;
        return add_piece(env, h, file, 0, file->bytes, buffer);
    }
    out->is_sampled = true;
    for (uint64_t i = 0; i <= N_PLACES + 1; i++) { /* the first is the start, the last the end */
        uint64_t at = (file->bytes - PIECE_BYTES) / (N_PLACES + 1) * i;
        AS_TRY(add_piece(env, h, file, i == N_PLACES + 1 ? file->bytes - PIECE_BYTES : at, PIECE_BYTES, buffer));
        out->bytes_hashed += PIECE_BYTES;
    }
    return ASSAY_OK;
}

assay_status as_data_hash_make(assay_env *env, const as_data *data, as_data_hash *out)
{
    const as_source *source = data->source;
    as_data_hash     hash = {0};
    as_sha256        h;
    as_text          head = {0};
    uint8_t         *buffer = malloc(PIECE_BYTES);
    as_text_printf(&head, "assay data 1\n%s\n%s\n", source->reader->name, source->canonical.data ? source->canonical.data : "");
    as_text_printf(&head, "examples %" PRId64 " classes %" PRId64 "\n", source->n, source->n_classes);
    /* Which examples a part has. */
    for (const as_data *part = data; part->parent; part = part->parent)
        as_text_printf(&head, "part %" PRId64 " %" PRId64 " %016" PRIx64 "\n", part->first, part->n,
                       part->is_shuffled ? part->order.key[0] : 0);
    assay_status status = head.failed || !buffer ? as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for a hash") : ASSAY_OK;
    if (status == ASSAY_OK) {
        as_sha256_start(&h);
        as_sha256_add(&h, head.data, head.length);
        for (int i = 0; i < source->n_files && status == ASSAY_OK; i++)
            status = add_file(env, &h, &source->files[i], buffer, &hash);
        as_sha256_finish(&h, hash.hex);
    }
    as_text_drop(&head);
    free(buffer);
    if (status == ASSAY_OK)
        *out = hash;
    return status;
}
