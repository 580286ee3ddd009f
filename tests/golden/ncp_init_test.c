/* ncp_init_test.c - the first weights of CfC and LTC networks against those of torch, bit for bit.
 *
 * Every number is zlib.crc32() of the bytes of one tensor of the state of a model of ncps 1.0.1, made after torch.manual_seed(0)
 * with torch 1.13.1 on x86-64.  Not here: masks and reversal potentials, which the wiring decides, and the recurrent map of a mixed
 * memory, which comes from LAPACK. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/model.h"
#include "tests/runner/test.h"

enum { MOST_TENSORS = 24 };

typedef struct golden {
    const char *spec;
    struct {
        const char *name;
        uint32_t    crc;
    } tensors[MOST_TENSORS];
} golden;

static const golden goldens[] = {
    {"cfc:input=3,units=4,backbone_units=5,backbone_layers=2",
     {
         {"rnn_cell.backbone.0.weight", 0x60aa20bdu},
         {"rnn_cell.backbone.0.bias", 0xcb3ab106u},
         {"rnn_cell.backbone.2.weight", 0xa290df6au},
         {"rnn_cell.backbone.2.bias", 0xe4c556ddu},
         {"rnn_cell.ff1.weight", 0xec2d43a1u},
         {"rnn_cell.ff1.bias", 0xd7782652u},
         {"rnn_cell.ff2.weight", 0x1a975bb3u},
         {"rnn_cell.ff2.bias", 0x3c904119u},
         {"rnn_cell.time_a.weight", 0x64909f09u},
         {"rnn_cell.time_a.bias", 0x6240e16du},
         {"rnn_cell.time_b.weight", 0x81de1191u},
         {"rnn_cell.time_b.bias", 0xdf4658edu},
     }},
    {"cfc:input=20,units=64,backbone_units=64,backbone_layers=2",
     {
         {"rnn_cell.backbone.0.weight", 0xd2493a42u},
         {"rnn_cell.backbone.0.bias", 0x0dd1e445u},
         {"rnn_cell.backbone.2.weight", 0xc5613460u},
         {"rnn_cell.backbone.2.bias", 0xd9fbe240u},
         {"rnn_cell.ff1.weight", 0x9682c39au},
         {"rnn_cell.ff1.bias", 0xa72a123au},
         {"rnn_cell.ff2.weight", 0xc44833f2u},
         {"rnn_cell.ff2.bias", 0x6d578c6eu},
         {"rnn_cell.time_a.weight", 0x46d41471u},
         {"rnn_cell.time_a.bias", 0x8b3349a2u},
         {"rnn_cell.time_b.weight", 0x7a60bee0u},
         {"rnn_cell.time_b.bias", 0xb28388beu},
     }},
    {"cfc:input=3,units=4,backbone_units=5,mode=pure",
     {
         {"rnn_cell.w_tau", 0x891f0fd8u},
         {"rnn_cell.A", 0x192d43fdu},
         {"rnn_cell.backbone.0.weight", 0x23a20ffau},
         {"rnn_cell.backbone.0.bias", 0xcb3ab106u},
         {"rnn_cell.ff1.weight", 0x1c76d6e1u},
         {"rnn_cell.ff1.bias", 0x15c57175u},
     }},
    {"cfc:input=3,units=4,backbone_units=5,mode=no_gate,proj=2",
     {
         {"rnn_cell.backbone.0.weight", 0xbcf88d0cu},
         {"rnn_cell.backbone.0.bias", 0xcb3ab106u},
         {"rnn_cell.ff1.weight", 0xca4e1f40u},
         {"rnn_cell.ff1.bias", 0x15c57175u},
         {"rnn_cell.ff2.weight", 0xc4fc2fd1u},
         {"rnn_cell.ff2.bias", 0x6873010fu},
         {"rnn_cell.time_a.weight", 0xb2a08b0eu},
         {"rnn_cell.time_a.bias", 0x5280b9e1u},
         {"rnn_cell.time_b.weight", 0xb8c5f1beu},
         {"rnn_cell.time_b.bias", 0xce3b24ceu},
         {"fc.weight", 0x873694c9u},
         {"fc.bias", 0x0362e49cu},
     }},
    {"cfc:input=20,units=64,out=16,wiring=autoncp",
     {
         {"rnn_cell.layer_0.ff1.weight", 0xd09092f7u},    {"rnn_cell.layer_0.ff1.bias", 0x8450efa7u},
         {"rnn_cell.layer_0.ff2.weight", 0xc35a90a2u},    {"rnn_cell.layer_0.ff2.bias", 0x029e63f5u},
         {"rnn_cell.layer_0.time_a.weight", 0x2b8f2cceu}, {"rnn_cell.layer_0.time_a.bias", 0x32af0505u},
         {"rnn_cell.layer_0.time_b.weight", 0x32d5220eu}, {"rnn_cell.layer_0.time_b.bias", 0x8fc74720u},
         {"rnn_cell.layer_1.ff1.weight", 0x1016aa36u},    {"rnn_cell.layer_1.ff1.bias", 0x26df0486u},
         {"rnn_cell.layer_1.ff2.weight", 0x84deff94u},    {"rnn_cell.layer_1.ff2.bias", 0x49f696a9u},
         {"rnn_cell.layer_1.time_a.weight", 0x6741671fu}, {"rnn_cell.layer_1.time_a.bias", 0x153aaa6cu},
         {"rnn_cell.layer_1.time_b.weight", 0x8ca57fdbu}, {"rnn_cell.layer_1.time_b.bias", 0x4d84c2c4u},
         {"rnn_cell.layer_2.ff1.weight", 0xdf269f90u},    {"rnn_cell.layer_2.ff1.bias", 0x09fe6fa5u},
         {"rnn_cell.layer_2.ff2.weight", 0xd71bf5f7u},    {"rnn_cell.layer_2.ff2.bias", 0xba1fe85au},
         {"rnn_cell.layer_2.time_a.weight", 0xbdae4c8bu}, {"rnn_cell.layer_2.time_a.bias", 0x5b495042u},
         {"rnn_cell.layer_2.time_b.weight", 0x7d86aeb9u}, {"rnn_cell.layer_2.time_b.bias", 0x08a6ff3eu},
     }},
    {"cfc:input=3,units=4,backbone_units=5,mixed_memory=1",
     {
         {"rnn_cell.backbone.0.weight", 0xbcf88d0cu},
         {"rnn_cell.backbone.0.bias", 0xcb3ab106u},
         {"rnn_cell.ff1.weight", 0xca4e1f40u},
         {"rnn_cell.ff1.bias", 0x15c57175u},
         {"rnn_cell.ff2.weight", 0xc4fc2fd1u},
         {"rnn_cell.ff2.bias", 0x6873010fu},
         {"rnn_cell.time_a.weight", 0xb2a08b0eu},
         {"rnn_cell.time_a.bias", 0x5280b9e1u},
         {"rnn_cell.time_b.weight", 0xb8c5f1beu},
         {"rnn_cell.time_b.bias", 0xce3b24ceu},
         {"lstm.input_map.weight", 0x83ee7dcdu},
         {"lstm.input_map.bias", 0x741801eeu},
     }},
    {"ltc:input=3,units=4,out=2,wiring=full",
     {
         {"rnn_cell.gleak", 0x1e4b8d6au},
         {"rnn_cell.vleak", 0xa22f6f5cu},
         {"rnn_cell.cm", 0xde613a30u},
         {"rnn_cell.sigma", 0x7572f3ceu},
         {"rnn_cell.mu", 0x5d6e5606u},
         {"rnn_cell.w", 0x0f1d7cb7u},
         {"rnn_cell.sensory_sigma", 0x4f9a4ca1u},
         {"rnn_cell.sensory_mu", 0x2606cdf3u},
         {"rnn_cell.sensory_w", 0xd77e9de3u},
         {"rnn_cell.input_w", 0xdc7c4e94u},
         {"rnn_cell.input_b", 0x7bd5c66fu},
         {"rnn_cell.output_w", 0xd5065190u},
         {"rnn_cell.output_b", 0x6522df69u},
     }},
    {"ltc:input=20,units=64,out=16,wiring=autoncp",
     {
         {"rnn_cell.gleak", 0xf4b570a4u},
         {"rnn_cell.vleak", 0x48c4267du},
         {"rnn_cell.cm", 0x18b115bcu},
         {"rnn_cell.sigma", 0x9c8afe69u},
         {"rnn_cell.mu", 0x1392964cu},
         {"rnn_cell.w", 0xd04d9194u},
         {"rnn_cell.sensory_sigma", 0x9d201c94u},
         {"rnn_cell.sensory_mu", 0x550ef069u},
         {"rnn_cell.sensory_w", 0x74b6bf57u},
         {"rnn_cell.input_w", 0x2037218au},
         {"rnn_cell.input_b", 0x8e2318e6u},
         {"rnn_cell.output_w", 0xf700a42au},
         {"rnn_cell.output_b", 0x758d6336u},
     }},
};

static uint32_t crc_of(const as_value *v)
{
    size_t count = 1;
    for (int k = 0; k < v->dims.rank; k++)
        count *= (size_t)v->dims.dim[k].size;
    return as_crc32(0, v->data, count * sizeof(float));
}

Test(ncp_init, weights_from_a_seed_are_torchs_to_the_last_bit)
{
    for (size_t i = 0; i < AS_COUNT(goldens); i++) {
        const golden  *g = &goldens[i];
        assay_env     *env = NULL;
        assay_options *options = NULL;
        assay_model   *model = NULL;
        expect(assay_env_new(&env) == ASSAY_OK);
        expect_ok(env, assay_options_new(env, &options));
        expect_ok(env, assay_options_set(env, options, "seed", "0"));
        expect_ok(env, assay_model_load(env, g->spec, options, &model));
        for (int k = 0; k < MOST_TENSORS && g->tensors[k].name; k++) {
            int id = as_model_value_find(model, g->tensors[k].name);
            if (id < 0 || crc_of(&model->values[id]) != g->tensors[k].crc)
                fail("%s: %s is not as torch draws it", g->spec, g->tensors[k].name);
        }
        assay_model_free(model);
        assay_options_free(options);
        assay_env_free(env);
    }
}
