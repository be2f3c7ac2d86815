// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/json/reader.h"
#include "sim/json/records.h"
#include "sim/model/model.h"
#include "sim/model/parameters.h"

namespace meshwright {
namespace {

constexpr std::string_view kModelSchema = "meshwright.model/1";
constexpr IntRange kSize{1, 1'000'000'000};
constexpr IntRange kSizeOrNone{0, 1'000'000'000};
constexpr IntRange kLayers{1, 100'000};

void check_schema(ObjectReader& reader) {
  const std::string given = reader.optional_string("schema", std::string(kModelSchema));
  if (given == kModelSchema) return;
  reader.fail("schema", fmt::format("must be \"{}\", is \"{}\"", kModelSchema, given));
}

// "configs/models/llama-3-8b.json": llama-3-8b.
std::string stem_of(std::string_view file) {
  const std::size_t slash = file.find_last_of('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file.substr(0, file.find_last_of('.')));
}

// Groups are equal, and those that a token may choose from hold all of its experts.
void check_groups(ObjectReader& reader, const MixtureOfExperts& moe) {
  const int groups = moe.moe_router_num_groups, chosen = moe.moe_router_group_topk;
  if (groups == 0) return;
  if (moe.num_moe_experts % groups != 0) {
    reader.fail("moe_router_num_groups",
                fmt::format("must divide num_moe_experts {}, is {}", moe.num_moe_experts, groups));
  }
  if (chosen == 0 || chosen * (moe.num_moe_experts / groups) < moe.moe_router_topk) {
    reader.fail("moe_router_group_topk",
                fmt::format("must leave moe_router_topk {} experts to choose, is {}",
                            moe.moe_router_topk, chosen));
  }
}

MixtureOfExperts read_moe(ObjectReader reader, const Model& model) {
  MixtureOfExperts moe;
  moe.num_moe_experts = reader.required_int("num_moe_experts", kSize);
  moe.moe_router_topk = reader.required_int("moe_router_topk", {1, moe.num_moe_experts});
  moe.moe_ffn_hidden_size =
      reader.optional_int("moe_ffn_hidden_size", model.ffn_hidden_size, kSize);
  moe.moe_shared_expert_intermediate_size =
      reader.optional_int("moe_shared_expert_intermediate_size", 0, kSizeOrNone);
  moe.num_first_dense_layers =
      reader.optional_int("num_first_dense_layers", 0, {0, model.num_layers});
  moe.moe_layer_interval = reader.optional_int("moe_layer_interval", 1, kLayers);
  moe.moe_expert_capacity_factor = reader.optional_number("moe_expert_capacity_factor", 0.0);
  moe.moe_expert_bias = reader.optional_bool("moe_expert_bias", false);
  moe.moe_router_bias = reader.optional_bool("moe_router_bias", false);
  moe.moe_router_num_groups =
      reader.optional_int("moe_router_num_groups", 0, {0, moe.num_moe_experts});
  moe.moe_router_group_topk =
      reader.optional_int("moe_router_group_topk", 0, {0, moe.moe_router_num_groups});
  check_groups(reader, moe);
  reader.finish();
  return moe;
}

LatentAttention read_mla(ObjectReader reader) {
  LatentAttention mla;
  mla.q_lora_rank = reader.optional_int("q_lora_rank", 0, kSizeOrNone);
  mla.kv_lora_rank = reader.required_int("kv_lora_rank", kSize);
  mla.qk_head_dim = reader.required_int("qk_head_dim", kSize);
  mla.qk_pos_emb_head_dim = reader.required_int("qk_pos_emb_head_dim", kSizeOrNone);
  mla.v_head_dim = reader.required_int("v_head_dim", kSize);
  reader.finish();
  return mla;
}

void read_attention_shape(ObjectReader& reader, Model& model) {
  const int heads = reader.optional_int("num_attention_heads", 0, kSizeOrNone);
  model.num_attention_heads = heads;
  model.num_query_groups = reader.optional_int("num_query_groups", heads, {0, heads});
  model.sliding_window = reader.optional_int("sliding_window", 0, kSizeOrNone);
  model.sliding_window_interval = reader.optional_int("sliding_window_interval", 1, kLayers);
  if (heads == 0) {
    if (reader.has("mla")) reader.fail("mla", "needs num_attention_heads, 1 or more");
    model.kv_channels = reader.optional_int("kv_channels", 0, {0, 0});
    return;
  }
  if (model.num_query_groups == 0 || heads % model.num_query_groups != 0) {
    reader.fail("num_query_groups", fmt::format("must divide num_attention_heads {}, is {}", heads,
                                                model.num_query_groups));
  }
  if (!reader.has("kv_channels") && model.hidden_size % heads != 0) {
    reader.fail("kv_channels", fmt::format("is missing, and hidden_size {} does not divide by "
                                           "num_attention_heads {}",
                                           model.hidden_size, heads));
  }
  model.kv_channels = reader.optional_int("kv_channels", model.hidden_size / heads, kSize);
  if (reader.has("mla")) model.mla = read_mla(reader.required_object("mla"));
}

void read_embedding(ObjectReader& reader, Model& model) {
  model.vocab_size = reader.optional_int("vocab_size", 0, kSizeOrNone);
  model.max_position_embeddings = reader.optional_int("max_position_embeddings", 0, kSizeOrNone);
  model.position_embedding =
      reader.optional_enum("position_embedding", model.position_embedding, kPositionEmbeddingNames);
  const bool learned = model.position_embedding == PositionEmbedding::learned;
  if (learned && model.vocab_size > 0 && model.max_position_embeddings == 0) {
    reader.fail("max_position_embeddings",
                "must be the number of learned positions, 1 or more, when position_embedding is "
                "\"learned\" (the default)",
                "models with rotary positions set \"position_embedding\": \"rope\"");
  }
  model.embedding_layer_norm = reader.optional_bool("embedding_layer_norm", false);
  model.tied_embeddings = reader.optional_bool("tied_embeddings", model.tied_embeddings);
}

void read_switches(ObjectReader& reader, Model& model) {
  const auto read = [&reader](std::string_view key, bool& value) {
    value = reader.optional_bool(key, value);
  };
  model.activation = reader.optional_enum("activation", model.activation, kActivationNames);
  model.normalization =
      reader.optional_enum("normalization", model.normalization, kNormalizationNames);
  read("add_bias_linear", model.add_bias_linear);
  read("add_qkv_bias", model.add_qkv_bias);
  read("qk_layernorm", model.qk_layernorm);
  read("qk_layernorm_all_heads", model.qk_layernorm_all_heads);
  read("post_layer_norms", model.post_layer_norms);
  read("parallel_attention_mlp", model.parallel_attention_mlp);
  read("parallel_shared_layer_norm", model.parallel_shared_layer_norm);
  read("attention_sinks", model.attention_sinks);
  model.rotary_mscale = reader.optional_number("rotary_mscale", 1.0, {0.0, 1e3, true});
  model.activation_func_clamp_value =
      reader.optional_number("activation_func_clamp_value", 0.0, {0.0, 1e9});
}

Json moe_json(const MixtureOfExperts& moe) {
  Json json;
  json["num_moe_experts"] = moe.num_moe_experts;
  json["moe_router_topk"] = moe.moe_router_topk;
  json["moe_ffn_hidden_size"] = moe.moe_ffn_hidden_size;
  json["moe_shared_expert_intermediate_size"] = moe.moe_shared_expert_intermediate_size;
  json["num_first_dense_layers"] = moe.num_first_dense_layers;
  json["moe_layer_interval"] = moe.moe_layer_interval;
  json["moe_expert_capacity_factor"] = moe.moe_expert_capacity_factor;
  json["moe_expert_bias"] = moe.moe_expert_bias;
  json["moe_router_bias"] = moe.moe_router_bias;
  json["moe_router_num_groups"] = moe.moe_router_num_groups;
  json["moe_router_group_topk"] = moe.moe_router_group_topk;
  return json;
}

Json mla_json(const LatentAttention& mla) {
  Json json;
  json["q_lora_rank"] = mla.q_lora_rank;
  json["kv_lora_rank"] = mla.kv_lora_rank;
  json["qk_head_dim"] = mla.qk_head_dim;
  json["qk_pos_emb_head_dim"] = mla.qk_pos_emb_head_dim;
  json["v_head_dim"] = mla.v_head_dim;
  return json;
}

}  // namespace

Model model_from_json(const Json& json, const std::string& file, const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  check_schema(reader);
  Model model;
  model.name = reader.optional_string("name", stem_of(file));
  model.num_layers = reader.required_int("num_layers", kLayers);
  model.hidden_size = reader.required_int("hidden_size", kSize);
  const std::int64_t four_times = std::min(std::int64_t{4} * model.hidden_size, kSize.high);
  model.ffn_hidden_size =
      reader.optional_int("ffn_hidden_size", static_cast<int>(four_times), kSize);
  read_attention_shape(reader, model);
  read_embedding(reader, model);
  read_switches(reader, model);
  model.mtp_num_layers = reader.optional_int("mtp_num_layers", 0, {0, 100'000});
  if (reader.has("moe")) model.moe = read_moe(reader.required_object("moe"), model);
  reader.finish({"source"});
  if (!is_countable(model)) {
    throw InputError(file, pointer, "describes more than 10^18 parameters",
                     "compare the sizes with the published ones");
  }
  return model;
}

Json to_json(const Model& model) {
  Json json;
  json["schema"] = kModelSchema;
  json["name"] = model.name;
  json["num_layers"] = model.num_layers;
  json["hidden_size"] = model.hidden_size;
  json["ffn_hidden_size"] = model.ffn_hidden_size;
  json["num_attention_heads"] = model.num_attention_heads;
  json["num_query_groups"] = model.num_query_groups;
  json["kv_channels"] = model.kv_channels;
  json["vocab_size"] = model.vocab_size;
  json["max_position_embeddings"] = model.max_position_embeddings;
  json["activation"] = name_of(model.activation);
  json["normalization"] = name_of(model.normalization);
  json["position_embedding"] = name_of(model.position_embedding);
  json["add_bias_linear"] = model.add_bias_linear;
  json["add_qkv_bias"] = model.add_qkv_bias;
  json["qk_layernorm"] = model.qk_layernorm;
  if (model.qk_layernorm_all_heads) json["qk_layernorm_all_heads"] = true;
  json["post_layer_norms"] = model.post_layer_norms;
  json["embedding_layer_norm"] = model.embedding_layer_norm;
  json["parallel_attention_mlp"] = model.parallel_attention_mlp;
  json["parallel_shared_layer_norm"] = model.parallel_shared_layer_norm;
  json["attention_sinks"] = model.attention_sinks;
  if (model.rotary_mscale != 1.0) json["rotary_mscale"] = model.rotary_mscale;
  json["activation_func_clamp_value"] = model.activation_func_clamp_value;
  json["tied_embeddings"] = model.tied_embeddings;
  json["sliding_window"] = model.sliding_window;
  json["sliding_window_interval"] = model.sliding_window_interval;
  json["mtp_num_layers"] = model.mtp_num_layers;
  if (model.moe) json["moe"] = moe_json(*model.moe);
  if (model.mla) json["mla"] = mla_json(*model.mla);
  return json;
}

}  // namespace meshwright
