// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/model_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/block/indexer.h"
#include "sim/block/layer.h"
#include "sim/block/parameters.h"
#include "sim/block/recurrent.h"
#include "sim/operators/operators.h"
#include "sim/serving/kv_cache.h"

namespace meshwright::planner {
namespace {

std::string mixer_name(const Model& model, LayerKind kind) {
  if (!kind.mixer || model.num_attention_heads == 0) return "";
  if (kind.linear_attention) {
    const std::string mixer(recurrent_mixer(model)->plural);
    return kind.attention_beside ? mixer + " beside attention" : mixer;
  }
  if (kind.sliding_window) {
    return fmt::format("attention in {} of {}",
                       model.sliding_window_in_chunks ? "chunks" : "a window",
                       model.sliding_window);
  }
  const SeenEntries seen = seen_entries(model, kind);
  if (model.compressed_attention) {
    return fmt::format("{} attention (1 entry of {} tokens)",
                       kind.without_indexer ? "heavily compressed" : "compressed sparse",
                       seen.rate);
  }
  const std::string attention = model.mla ? "latent attention" : "attention";
  if (seen.most == 0) return attention;
  return fmt::format("{} to {} positions{}", attention, seen.most,
                     kind.without_indexer ? " of another layer's indexer" : "");
}

std::string mlp_name(LayerKind kind) {
  if (!kind.mlp) return "";
  return kind.mixture_of_experts ? "experts" : "MLP";
}

std::string part_name(const Model& model, const LayerPart& part, LayerKind kind) {
  if (part.experts > 0) return "routed experts";
  switch (part.module) {
    case Module::router:
      return "router";
    case Module::experts:
      return "latent projections of experts";
    case Module::shared_expert:
      return "shared experts";
    case Module::mlp:
      return "MLP";
    case Module::norm:
    case Module::layer_norm:
      if (part.inputs == 0) return "norms";
      [[fallthrough]];
    default:
      break;
  }
  if (part.forward_only) return "indexers";
  const bool softmax = part.names != nullptr && part.names->product.starts_with("attention.");
  if (part.module == Module::norm && part.inputs > 0) return "hyper-connections";
  if (kind.linear_attention && !softmax) return std::string(recurrent_mixer(model)->plural);
  return model.mla ? "latent attention" : "attention";
}

void add(std::vector<ModelPart>& parts, const std::string& name, std::int64_t parameters) {
  if (parameters == 0) return;
  const auto known = std::find_if(parts.begin(), parts.end(),
                                  [&](const ModelPart& part) { return part.name == name; });
  if (known != parts.end()) {
    known->parameters += parameters;
  } else {
    parts.push_back({name, parameters});
  }
}

void add_layers(ModelDescription& found, const Model& model) {
  LayerCounts counts;
  for (int i = 0; i < model.num_layers; ++i) counts.of(layer_kind(model, i)) += 1;
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    const LayerKind kind = layer_kind_of(k);
    const int layers = static_cast<int>(counts.of(kind));
    if (layers == 0) continue;
    found.kinds.push_back({mixer_name(model, kind), mlp_name(kind), layers});
    for (const LayerPart& part : layer_parts(model, kind)) {
      add(found.parts, part_name(model, part, kind),
          layers * (part.weights() + part.copies() * (part.cut_numbers + part.whole_numbers)));
    }
  }
}

void add_cache(ModelDescription& found, const Model& model) {
  const CachedLayers layers = cached_layers(model, 1);
  if (has_kv_layout(model)) {
    const TokenBytes token = kv_stage_bytes(model, KvCacheFormat::bf16, 1);
    found.cache_per_token = token.full;
    found.window_cache_per_token = token.window;
  }
  if (layers.linear > 0) found.state_per_sequence = state_layer_bytes(model) * layers.linear;
}

void add_flops(ModelDescription& found, const Model& model) {
  constexpr double kForwardShare = 1.0 / 3.0;  // backward is two products of each
  Job job;
  job.global_batch_size = 1;
  for (const int length : {1, 4096, 32768, 131072}) {
    const bool known =
        model.max_position_embeddings == 0 || length <= model.max_position_embeddings;
    if (!known) continue;
    job.seq_length = length;
    found.flops.push_back({length, model_flops(model, job, true) * (kForwardShare / length)});
  }
}

}  // namespace

ModelDescription describe(const Model& model) {
  ModelDescription found;
  found.parameters = total_parameters(model);
  found.active_parameters = active_parameters(model);
  if (model.mtp_num_layers > 0) {
    found.mtp_parameters = model.mtp_num_layers * mtp_layer_parameters(model).total();
  }
  add(found.parts, "embedding", embedding_parameters(model, model.vocab_size));
  add_layers(found, model);
  const std::int64_t norm = head_parameters(model, 0);
  const LayerPart streams = final_streams(model);
  const std::int64_t joining = streams.weights() + streams.whole_numbers;
  add(found.parts, "norms", norm - joining);
  add(found.parts, "hyper-connections", joining);
  add(found.parts, "head", head_parameters(model, model.vocab_size) - norm);
  add_cache(found, model);
  add_flops(found, model);
  return found;
}

}  // namespace meshwright::planner
