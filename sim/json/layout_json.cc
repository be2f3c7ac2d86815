// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sim/json/reader.h"
#include "sim/json/records.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright {
namespace {

constexpr IntRange kSize{1, 1'000'000};
constexpr IntRange kSizeOrNone{0, 1'000'000};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

RankOrder rank_order_from(ObjectReader& reader, const RankOrder& otherwise) {
  if (!reader.has("rank_order")) return otherwise;
  const std::string text = reader.required_string("rank_order");
  const auto fail = [&] {
    reader.fail("rank_order",
                fmt::format("must name tp, cp, ep, dp and pp once each, is \"{}\"", text),
                "innermost first: \"tp-cp-ep-dp-pp\"");
  };
  const std::vector<std::string> words = split(text, '-');
  RankOrder order = otherwise;
  unsigned seen = 0;
  if (words.size() != order.size()) fail();
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const auto& entry : kAxisNames) {
      if (entry.name != words[i]) continue;
      order[i] = entry.value;
      seen |= 1U << static_cast<unsigned>(entry.value);
    }
  }
  if (seen != 0x1fU) fail();
  return order;
}

std::uint8_t recompute_modules_from(ObjectReader& reader, std::uint8_t otherwise) {
  if (!reader.has("recompute_modules")) return otherwise;
  unsigned modules = 0;
  for (const nlohmann::json& item : reader.required_array("recompute_modules")) {
    unsigned found = 0;
    for (const auto& entry : kRecomputeModuleNames) {
      if (item.is_string() && item.get<std::string>() == entry.name) found = entry.value;
    }
    if (found == 0) {
      std::string allowed;
      for (const auto& entry : kRecomputeModuleNames) {
        allowed += allowed.empty() ? "" : ", ";
        allowed += entry.name;
      }
      reader.fail("recompute_modules",
                  fmt::format("holds {}, allowed are {}", item.dump(), allowed));
    }
    modules |= found;
  }
  return static_cast<std::uint8_t>(modules);
}

void read_sizes(ObjectReader& r, Layout& l) {
  const auto size = [&](std::string_view key, int& field) {
    field = r.optional_int(key, field, kSize);
  };
  const auto size_or_none = [&](std::string_view key, int& field) {
    field = r.optional_int(key, field, kSizeOrNone);
  };
  size("tensor_parallel_size", l.tensor_parallel_size);
  size("pipeline_parallel_size", l.pipeline_parallel_size);
  size("virtual_pipeline_parallel_size", l.virtual_pipeline_parallel_size);
  size("data_parallel_size", l.data_parallel_size);
  size("context_parallel_size", l.context_parallel_size);
  size("expert_parallel_size", l.expert_parallel_size);
  size_or_none("expert_tensor_parallel_size", l.expert_tensor_parallel_size);
  size("micro_batch_size", l.micro_batch_size);
  size_or_none("num_layers_in_first_pipeline_stage", l.num_layers_in_first_pipeline_stage);
  size_or_none("num_layers_in_last_pipeline_stage", l.num_layers_in_last_pipeline_stage);
  l.zero_stage = r.optional_int("zero_stage", l.zero_stage, {0, 3});
  size_or_none("zero_shard_size", l.zero_shard_size);
  size_or_none("recompute_num_layers", l.recompute_num_layers);
  size_or_none("hierarchical_context_parallel_size", l.hierarchical_context_parallel_size);
  size_or_none("cpu_offloading_num_layers", l.cpu_offloading_num_layers);
}

void read_switches(ObjectReader& r, Layout& l) {
  const auto flag = [&](std::string_view key, bool& field) { field = r.optional_bool(key, field); };
  flag("sequence_parallel", l.sequence_parallel);
  flag("account_for_embedding_in_pipeline_split", l.account_for_embedding_in_pipeline_split);
  flag("account_for_loss_in_pipeline_split", l.account_for_loss_in_pipeline_split);
  flag("scatter_gather_p2p", l.scatter_gather_p2p);
  flag("overlap_grad_reduce", l.overlap_grad_reduce);
  flag("overlap_param_gather", l.overlap_param_gather);
  flag("tp_comm_overlap", l.tp_comm_overlap);
  flag("overlap_p2p_comm", l.overlap_p2p_comm);
  flag("optimizer_offload", l.optimizer_offload);
}

// Short forms of the command line, and the fields that they stand for.
struct ShortKey {
  std::string_view name;
  std::string_view field;
};
constexpr std::array kShortKeys{ShortKey{"tp", "tensor_parallel_size"},
                                ShortKey{"pp", "pipeline_parallel_size"},
                                ShortKey{"vpp", "virtual_pipeline_parallel_size"},
                                ShortKey{"dp", "data_parallel_size"},
                                ShortKey{"cp", "context_parallel_size"},
                                ShortKey{"ep", "expert_parallel_size"},
                                ShortKey{"etp", "expert_tensor_parallel_size"},
                                ShortKey{"mbs", "micro_batch_size"},
                                ShortKey{"sp", "sequence_parallel"},
                                ShortKey{"zero", "zero_stage"},
                                ShortKey{"shard", "zero_shard_size"},
                                ShortKey{"recompute", "recompute_granularity"},
                                ShortKey{"first", "num_layers_in_first_pipeline_stage"},
                                ShortKey{"last", "num_layers_in_last_pipeline_stage"},
                                ShortKey{"hcp", "hierarchical_context_parallel_size"},
                                ShortKey{"offload", "cpu_offloading_num_layers"},
                                ShortKey{"order", "rank_order"}};

std::string field_of(const std::string& key) {
  for (const ShortKey& entry : kShortKeys) {
    if (entry.name == key) return std::string(entry.field);
  }
  return key;
}

Json value_of(const std::string& field, const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const bool number =
      !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == text.npos;
  if (number) return std::stoi(text);
  if (field == "recompute_modules") return split(text, '+');
  return text;
}

}  // namespace

Layout layout_from_json(const nlohmann::json& json, const std::string& file,
                        const std::string& pointer) {
  ObjectReader r(json, file, pointer);
  Layout l;
  read_sizes(r, l);
  read_switches(r, l);
  l.schedule = r.optional_enum("schedule", implied_schedule(l.virtual_pipeline_parallel_size),
                               kPipelineScheduleNames);
  l.pipeline_engine = r.optional_enum("pipeline_engine", l.pipeline_engine, kPipelineEngineNames);
  l.recompute_granularity =
      r.optional_enum("recompute_granularity", l.recompute_granularity, kRecomputeGranularityNames);
  l.recompute_method =
      r.optional_enum("recompute_method", l.recompute_method, kRecomputeMethodNames);
  l.recompute_modules = recompute_modules_from(r, l.recompute_modules);
  l.cp_comm_type = r.optional_enum("cp_comm_type", l.cp_comm_type, kContextParallelAlgorithmNames);
  l.rank_order = rank_order_from(r, l.rank_order);
  r.finish();
  return l;
}

Json to_json(const Layout& l) {
  Json modules = Json::array();
  for (const auto& entry : kRecomputeModuleNames) {
    if ((l.recompute_modules & entry.value) != 0) modules.push_back(entry.name);
  }
  return {{"tensor_parallel_size", l.tensor_parallel_size},
          {"pipeline_parallel_size", l.pipeline_parallel_size},
          {"virtual_pipeline_parallel_size", l.virtual_pipeline_parallel_size},
          {"data_parallel_size", l.data_parallel_size},
          {"context_parallel_size", l.context_parallel_size},
          {"expert_parallel_size", l.expert_parallel_size},
          {"expert_tensor_parallel_size", l.expert_tensor_parallel_size},
          {"sequence_parallel", l.sequence_parallel},
          {"micro_batch_size", l.micro_batch_size},
          {"schedule", name_of(l.schedule)},
          {"pipeline_engine", name_of(l.pipeline_engine)},
          {"num_layers_in_first_pipeline_stage", l.num_layers_in_first_pipeline_stage},
          {"num_layers_in_last_pipeline_stage", l.num_layers_in_last_pipeline_stage},
          {"account_for_embedding_in_pipeline_split", l.account_for_embedding_in_pipeline_split},
          {"account_for_loss_in_pipeline_split", l.account_for_loss_in_pipeline_split},
          {"scatter_gather_p2p", l.scatter_gather_p2p},
          {"zero_stage", l.zero_stage},
          {"zero_shard_size", l.zero_shard_size},
          {"recompute_granularity", name_of(l.recompute_granularity)},
          {"recompute_method", name_of(l.recompute_method)},
          {"recompute_num_layers", l.recompute_num_layers},
          {"recompute_modules", modules},
          {"cp_comm_type", name_of(l.cp_comm_type)},
          {"hierarchical_context_parallel_size", l.hierarchical_context_parallel_size},
          {"overlap_grad_reduce", l.overlap_grad_reduce},
          {"overlap_param_gather", l.overlap_param_gather},
          {"tp_comm_overlap", l.tp_comm_overlap},
          {"overlap_p2p_comm", l.overlap_p2p_comm},
          {"optimizer_offload", l.optimizer_offload},
          {"cpu_offloading_num_layers", l.cpu_offloading_num_layers},
          {"rank_order", name_of(l.rank_order)}};
}

Layout layout_from_text(const std::string& text) {
  const std::string where = "layout \"" + text + "\"";
  Json json = Json::object();
  if (text.empty()) return Layout{};
  for (const std::string& item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    const std::string field = field_of(item.substr(0, equals));
    if (field.empty()) {
      throw InputError(where, "", "has an empty part", "write name=value, separated by commas");
    }
    if (json.contains(field)) throw InputError(where, "/" + field, "is given twice");
    json[field] =
        equals == std::string::npos ? Json(true) : value_of(field, item.substr(equals + 1));
  }
  return layout_from_json(nlohmann::json::parse(json.dump()), where);
}

}  // namespace meshwright
