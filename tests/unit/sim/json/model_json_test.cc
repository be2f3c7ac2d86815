// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/json/records.h"
#include "tests/unit/error_of.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

Model read_model(const std::string& text) {
  return model_from_json(Json::parse(text), "models/small.json");
}

std::string model_error(const std::string& text) {
  return error_and_hint_of([&] { read_model(text); });
}

// {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, <more>}
std::string small(const std::string& more) {
  return R"({"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, )" + more + "}";
}

Model everything() {
  Model model = read_model(small(R"("vocab_size": 100, "position_embedding": "rope")"));
  model.name = "everything";
  model.num_query_groups = 2;
  model.activation = Activation::geglu;
  model.normalization = Normalization::rms_norm;
  model.add_bias_linear = false;
  model.add_qkv_bias = model.qk_layernorm = model.post_layer_norms = true;
  model.qk_layernorm_all_heads = true;
  model.embedding_layer_norm = model.parallel_attention_mlp = true;
  model.parallel_shared_layer_norm = model.attention_sinks = true;
  model.rotary_mscale = 1.35;
  model.tied_embeddings = false;
  model.sliding_window = 16;
  model.sliding_window_interval = 2;
  model.mtp_num_layers = 1;
  model.moe = MixtureOfExperts{8, 2, 32, 48, 1, 2, 1.25, true, true};
  model.mla = LatentAttention{24, 16, 8, 4, 12};
  return model;
}

TEST(ModelJson, RoundTripKeepsEveryField) {
  const Model model = everything();
  EXPECT_EQ(read_model(to_json(model).dump()), model);
}

TEST(ModelJson, RoundTripWithoutAttentionOrVocabulary) {
  const Model toy = read_model(R"({"num_layers": 1, "hidden_size": 100, "ffn_hidden_size": 32})");
  EXPECT_EQ(toy.num_attention_heads, 0);
  EXPECT_EQ(toy.kv_channels, 0);
  EXPECT_EQ(read_model(to_json(toy).dump()), toy);
}

TEST(ModelJson, AbsentSizesFollowFromTheOthers) {
  const Model model = read_model(small(R"("source": "a paper", "schema": "meshwright.model/1")"));
  EXPECT_EQ(model.name, "small");
  EXPECT_EQ(model.ffn_hidden_size, 4 * 64);
  EXPECT_EQ(model.num_query_groups, 4);
  EXPECT_EQ(model.kv_channels, 64 / 4);
}

TEST(ModelJson, UnknownKeyNamesTheNearest) {
  const std::string error = model_error(small(R"("num_query_group": 2)"));
  EXPECT_THAT(error, HasSubstr("models/small.json: /num_query_group"));
  EXPECT_THAT(error, HasSubstr("use \"num_query_groups\""));
  EXPECT_THAT(
      model_error(small(R"("moe": {"num_moe_experts": 4, "moe_router_topk": 1, "topk": 2})")),
      HasSubstr("/moe/topk"));
}

TEST(ModelJson, SizesMustBePositiveIntegers) {
  EXPECT_THAT(model_error(R"({"num_layers": 0, "hidden_size": 64})"), HasSubstr("/num_layers"));
  EXPECT_THAT(model_error(R"({"num_layers": -3, "hidden_size": 64})"), HasSubstr("-3"));
  EXPECT_THAT(model_error(R"({"num_layers": 2})"), HasSubstr("/hidden_size: is required"));
  EXPECT_THAT(model_error(R"({"num_layers": 2, "hidden_size": "64"})"), HasSubstr("/hidden_size"));
  EXPECT_THAT(model_error(R"({"num_layers": 2, "hidden_size": 64.5})"), HasSubstr("/hidden_size"));
  EXPECT_THAT(model_error(small(R"("ffn_hidden_size": 0)")), HasSubstr("/ffn_hidden_size"));
  EXPECT_THAT(model_error(small(R"("vocab_size": -1)")), HasSubstr("/vocab_size"));
  EXPECT_THAT(model_error("[1]"), HasSubstr("must be an object"));
}

TEST(ModelJson, NotANumberIsRefused) {
  Json json = Json::parse(small(R"("moe": {"num_moe_experts": 4,
                                                     "moe_router_topk": 1})"));
  json["moe"]["moe_expert_capacity_factor"] = std::nan("");
  EXPECT_THROW(model_from_json(json, "f"), InputError);
  json["moe"].erase("moe_expert_capacity_factor");
  json["hidden_size"] = std::nan("");
  EXPECT_THROW(model_from_json(json, "f"), InputError);
}

TEST(ModelJson, HeadsMustDivide) {
  EXPECT_THAT(model_error(small(R"("num_query_groups": 3)")), HasSubstr("must divide"));
  EXPECT_THAT(model_error(small(R"("num_query_groups": 8)")), HasSubstr("/num_query_groups"));
  EXPECT_THAT(model_error(R"({"num_layers": 1, "hidden_size": 64, "num_attention_heads": 7})"),
              HasSubstr("/kv_channels"));
  EXPECT_THAT(model_error(small(R"("moe": {"num_moe_experts": 4, "moe_router_topk": 5})")),
              HasSubstr("/moe/moe_router_topk"));
}

TEST(ModelJson, EnumsAndSchemaNameWhatIsAllowed) {
  EXPECT_THAT(model_error(small(R"("activation": "swigl")")), HasSubstr("use \"swiglu\""));
  EXPECT_THAT(model_error(small(R"("schema": "meshwright.model/2")")),
              HasSubstr("this version reads \"meshwright.model/1\""));
}

TEST(ModelJson, LearnedPositionsNeedTheirNumber) {
  EXPECT_THAT(model_error(small(R"("vocab_size": 100)")), HasSubstr("/max_position_embeddings"));
}

TEST(ModelJson, ImpossibleSizesAreAnErrorNotAnOverflow) {
  EXPECT_THAT(model_error(R"({"num_layers": 100000, "hidden_size": 1000000000})"),
              HasSubstr("10^18 parameters"));
}

}  // namespace
}  // namespace meshwright
