// SPDX-License-Identifier: Apache-2.0
#include "reports/comparison_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "reports/comparison_text.h"
#include "reports/json_at.h"
#include "reports/text.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/hardware/device.h"

namespace meshwright::reports {
namespace {

// Every leaf of an input by its JSON pointer.
std::map<std::string, Json> leaves(const Json& report) {
  std::map<std::string, Json> all;
  for (const char* part : {"model", "job", "cluster"}) {
    const Json flat = part_at(report, part).flatten();
    for (const auto& [pointer, value] : flat.items()) {
      all[fmt::format("/{}{}", part, pointer)] = value;
    }
  }
  for (const char* key : {"tool_version", "command"}) {
    all[fmt::format("/plan/{}", key)] = part_at(part_at(report, "plan"), key);
  }
  return all;
}

Json different_inputs(const std::vector<Json>& reports) {
  std::vector<std::map<std::string, Json>> all;
  std::set<std::string> pointers;
  for (const Json& report : reports) {
    all.push_back(leaves(report));
    for (const auto& [pointer, value] : all.back()) pointers.insert(pointer);
  }
  Json json = Json::array();
  for (const std::string& pointer : pointers) {
    Json values = Json::array();
    for (const auto& leaf : all) {
      const auto found = leaf.find(pointer);
      values.push_back(found == leaf.end() ? Json() : found->second);
    }
    const bool same = std::all_of(values.begin(), values.end(),
                                  [&](const Json& value) { return value == values.front(); });
    if (same) continue;
    json.push_back(
        {{"pointer", pointer}, {"words", words_of_pointer(pointer)}, {"values", values}});
  }
  return json;
}

// Of one report: a number, and its ends where the record has them.
struct Value {
  Json middle{}, low{}, high{};
};

struct Quantity {
  std::string_view name, label, unit;
  double size = 1.0;  // of the unit
  Value (*of)(const Json& report) = nullptr;
};

const Json& summary_of(const Json& report) { return part_at(report, "summary"); }

// The capacity answer's row of the plan.
const Json& ranking_row_of(const Json& report) {
  static const Json nothing;
  const Json& capacity = part_at(report, "capacity");
  for (const char* which : {"planned", "recommended"}) {
    for (const Json& row : part_at(capacity, "rows")) {
      const std::string id = text_at(row, "id");
      if (!id.empty() && id == text_at(capacity, which)) return row;
    }
  }
  return nothing;
}

template <const char* kKey>
Value from_summary(const Json& report) {
  return {part_at(summary_of(report), kKey)};
}
template <const char* kKey>
Value from_row(const Json& report) {
  const Json& q = part_at(ranking_row_of(report), kKey);
  if (!q.is_object()) return {q};
  return {part_at(q, "p50"), part_at(q, "p10"), part_at(q, "p90")};
}
Value step_of(const Json& report) {
  const Json& s = summary_of(report);
  return {part_at(s, "step_time_seconds"), part_at(s, "step_time_low_seconds"),
          part_at(s, "step_time_high_seconds")};
}
// Days of a training that nobody stated say nothing.
Value days_of(const Json& report) {
  static constexpr char kDays[] = "days";
  return flag_at(part_at(report, "capacity"), "tokens_stated") ? from_row<kDays>(report) : Value{};
}

constexpr char kGpus[] = "gpus", kTokensPerStep[] = "tokens_per_step",
               kPerGpu[] = "tokens_per_second_per_gpu", kMfu[] = "model_flops_utilization",
               kPeak[] = "peak_memory_bytes", kMemory[] = "memory_capacity_bytes",
               kEffective[] = "effective_tokens_per_second", kGpuHours[] = "gpu_hours",
               kCost[] = "cost", kEnergy[] = "energy_mwh", kGoodput[] = "goodput";
constexpr std::array kQuantities{
    Quantity{"gpus", "GPUs", "", 1.0, from_summary<kGpus>},
    Quantity{"days", "time to train", "days", 1.0, days_of},
    Quantity{"effective_tokens_per_second", "tokens/s, failures counted", "M/s", 1e6,
             from_row<kEffective>},
    Quantity{"cost", "cost", "M", 1e6, from_row<kCost>},
    Quantity{"gpu_hours", "GPU-hours", "M", 1e6, from_row<kGpuHours>},
    Quantity{"energy_mwh", "energy", "MWh", 1.0, from_row<kEnergy>},
    Quantity{"goodput", "goodput", "%", 0.01, from_row<kGoodput>},
    Quantity{"step_time_seconds", "step time", "s", 1.0, step_of},
    Quantity{"tokens_per_step", "tokens per step", "M", 1e6, from_summary<kTokensPerStep>},
    Quantity{"tokens_per_second_per_gpu", "tokens/s/GPU", "", 1.0, from_summary<kPerGpu>},
    Quantity{"model_flops_utilization", "MFU", "%", 0.01, from_summary<kMfu>},
    Quantity{"peak_memory_bytes", "peak memory", "GiB", gibibytes(1).value(), from_summary<kPeak>},
    Quantity{"memory_capacity_bytes", "memory capacity", "GiB", gibibytes(1).value(),
             from_summary<kMemory>}};

// Against the first; null where either has none.
Json reference_change_of(const Json& first, const Json& mine) {
  if (!first.is_number() || !mine.is_number() || first.get<double>() == 0.0) return {};
  return (mine.get<double>() / first.get<double>() - 1.0) * 100.0;
}

Json with_changes(Json json) {
  json["change_percent"] = Json::array();
  for (const Json& value : json["values"]) {
    json["change_percent"].push_back(reference_change_of(json["values"].front(), value));
  }
  return json;
}

Json quantities(const std::vector<Json>& reports, std::string_view noun) {
  Json json = Json::array();
  for (const Quantity& quantity : kQuantities) {
    Json one{{"name", quantity.name},   {"label", replaced(quantity.label, "GPU", noun)},
             {"unit", quantity.unit},   {"unit_size", quantity.size},
             {"values", Json::array()}, {"low", Json::array()},
             {"high", Json::array()}};
    bool any = false;
    for (const Json& report : reports) {
      const Value value = quantity.of(report);
      const auto number = [](const Json& n) { return n.is_number() ? n : Json(); };
      one["values"].push_back(number(value.middle));
      one["low"].push_back(number(value.low));
      one["high"].push_back(number(value.high));
      any = any || value.middle.is_number();
    }
    if (any) json.push_back(with_changes(std::move(one)));
  }
  return json;
}

using NameOf = std::function<std::string(const Json&)>;
using ValueOf = std::function<Json(const Json&)>;

// The lists' elements by name, in the order of first appearance: [{"name", "values"}].
Json by_name(const std::vector<Json>& lists, const NameOf& name_of, const ValueOf& value_of) {
  std::vector<std::string> names;
  std::vector<std::map<std::string, Json>> values(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!lists[i].is_array()) continue;
    for (const Json& element : lists[i]) {
      const std::string name = name_of(element);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      values[i].try_emplace(name, value_of(element));
    }
  }
  Json json = Json::array();
  for (const std::string& name : names) {
    Json row{{"name", name}, {"values", Json::array()}};
    for (auto& mine : values) {
      const auto found = mine.find(name);
      row["values"].push_back(found == mine.end() ? Json() : found->second);
    }
    json.push_back(with_changes(std::move(row)));
  }
  return json;
}

ValueOf member(const char* key) {
  return [key](const Json& element) { return part_at(element, key); };
}
NameOf by_key(const char* key) {
  return [key](const Json& element) { return text_at(element, key); };
}

std::vector<Json> each(const std::vector<Json>& reports,
                       const std::function<Json(const Json&)>& list_of) {
  std::vector<Json> lists;
  for (const Json& report : reports) lists.push_back(list_of(report));
  return lists;
}

Json winner(const Json& report) {
  const Json& ranked = part_at(report, "ranked");
  return ranked.is_array() && !ranked.empty() ? ranked.front() : Json();
}

// Without those that are nothing in all.
Json present(const Json& rows) {
  Json json = Json::array();
  for (const Json& row : rows) {
    const bool any = std::any_of(row["values"].begin(), row["values"].end(), [](const Json& v) {
      return v.is_number() && v.get<double>() != 0.0;
    });
    if (any) json.push_back(row);
  }
  return json;
}

Json terms(const std::vector<Json>& reports) {
  return present(by_name(each(reports, [](const Json& r) { return part_at(winner(r), "terms"); }),
                         by_key("name"), member("seconds")));
}

// The parts of the fullest stage's memory, as a list.
Json fullest_stage(const Json& report) {
  Json fullest;
  double most = -1.0;
  for (const Json& stage : part_at(part_at(report, "memory"), "stages")) {
    if (number_at(stage, "total_bytes") <= most) continue;
    most = number_at(stage, "total_bytes");
    fullest = stage;
  }
  Json parts = Json::array();
  if (!fullest.is_object()) return parts;
  for (const auto& [key, value] : fullest.items()) {
    if (key.ends_with("_bytes") && key != "total_bytes") {
      parts.push_back({{"name", key.substr(0, key.size() - 6)}, {"bytes", value}});
    }
  }
  return parts;
}

Json volume(const std::vector<Json>& reports) {
  const NameOf name = [](const Json& group) {
    return fmt::format("{} ({})", text_at(group, "group"), text_at(group, "tier"));
  };
  return by_name(
      each(reports, [](const Json& r) { return part_at(part_at(r, "volume"), "groups"); }), name,
      member("sent_bytes"));
}

// The layouts that any report shows at the top: rank and time in each.
Json ranking(const std::vector<Json>& reports) {
  const auto lists = each(reports, [](const Json& r) { return part_at(r, "ranked"); });
  const Json ranks = by_name(lists, by_key("short_name"), member("rank"));
  const Json times = by_name(lists, by_key("short_name"), member("step_time_seconds"));
  Json json = Json::array();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    bool shown = false;
    for (std::size_t k = 0; k < reports.size(); ++k) {
      const Json& rank = ranks[i]["values"][k];
      shown = shown || (rank.is_number() && rank.get<double>() <= number_at(reports[k], "top"));
    }
    if (!shown) continue;
    json.push_back({{"layout", ranks[i]["name"]},
                    {"ranks", ranks[i]["values"]},
                    {"step_time_seconds", times[i]["values"]}});
  }
  return json;
}

// "q3.report.json" is q3; names that stand twice are numbered.
std::vector<std::string> names_of(const std::vector<ComparedReport>& compared) {
  std::vector<std::string> names;
  for (const ComparedReport& one : compared) {
    std::string name = std::filesystem::path(one.file).stem().string();
    if (name.ends_with(".report")) name.resize(name.size() - 7);
    const auto before = std::count_if(names.begin(), names.end(), [&](const std::string& other) {
      return other == name || other.starts_with(name + " #");
    });
    names.push_back(before == 0 ? name : fmt::format("{} #{}", name, before + 1));
  }
  return names;
}

}  // namespace

namespace {
// Of a report's devices; older records are of GPUs.
std::string device_kind_of(const Json& report) {
  const std::string kind = text_at(part_at(report, "cluster"), "device_kind");
  return kind.empty() ? std::string(name_of(DeviceKind::gpu)) : kind;
}
}  // namespace

Json comparison_to_json(const std::vector<ComparedReport>& compared, const Origin& origin) {
  std::vector<Json> reports;
  for (const ComparedReport& one : compared) reports.push_back(one.record);
  const std::vector<std::string> names = names_of(compared);
  Json json = artefact(kComparisonSchema, origin);
  json["sentence"] = "";
  json["reports"] = Json::array();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    json["reports"].push_back({{"name", names[i]},
                               {"title", text_at(reports[i], "title")},
                               {"verdict", text_at(reports[i], "verdict")},
                               {"layout", text_at(winner(reports[i]), "brief_name")},
                               {"device_kind", device_kind_of(reports[i])},
                               {"fits", summary_of(reports[i]).is_object()}});
  }
  json["inputs_that_differ"] = different_inputs(reports);
  json["quantities"] = quantities(reports, device_noun(json));
  json["terms_seconds"] = terms(reports);
  json["fullest_stage_bytes"] =
      present(by_name(each(reports, fullest_stage), by_key("name"), member("bytes")));
  json["sent_bytes"] = volume(reports);
  json["ranking"] = ranking(reports);
  json["rejections"] =
      by_name(each(reports, [](const Json& r) { return part_at(r, "rejections"); }), by_key("rule"),
              member("count"));
  json["sentence"] = comparison_sentence(json);
  return json;
}

}  // namespace meshwright::reports
