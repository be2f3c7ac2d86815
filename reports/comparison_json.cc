// SPDX-License-Identifier: Apache-2.0
#include "reports/comparison_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports {
namespace {

Json member(const Json& json, const std::string& key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found == json.end() ? Json() : *found;
}

// A record that its schema admits may still lack what another part of it promises.
std::string text_at(const Json& json, const std::string& key) {
  const Json text = member(json, key);
  return text.is_string() ? text.get<std::string>() : "";
}

double number_at(const Json& json, const std::string& key) {
  const Json number = member(json, key);
  return number.is_number() ? number.get<double>() : 0.0;
}

// Every leaf of an input by its JSON pointer.
std::map<std::string, Json> leaves(const Json& report) {
  std::map<std::string, Json> all;
  for (const char* part : {"model", "job", "cluster"}) {
    const Json flat = member(report, part).flatten();
    for (const auto& [pointer, value] : flat.items()) {
      all[fmt::format("/{}{}", part, pointer)] = value;
    }
  }
  for (const char* key : {"tool_version", "command"}) {
    all[fmt::format("/plan/{}", key)] = member(member(report, "plan"), key);
  }
  return all;
}

Json different_inputs(const Json& before, const Json& after) {
  const auto a = leaves(before);
  const auto b = leaves(after);
  std::set<std::string> pointers;
  for (const auto& [pointer, value] : a) pointers.insert(pointer);
  for (const auto& [pointer, value] : b) pointers.insert(pointer);
  Json json = Json::array();
  for (const std::string& pointer : pointers) {
    const Json x = a.count(pointer) != 0 ? a.at(pointer) : Json();
    const Json y = b.count(pointer) != 0 ? b.at(pointer) : Json();
    if (x != y) json.push_back({{"input", pointer}, {"before", x}, {"after", y}});
  }
  return json;
}

// Numbers of one name in both; null where one has none.
Json pair_of(const std::string& name, const Json& before, const Json& after) {
  Json json{{"name", name}, {"before", before}, {"after", after}, {"change", nullptr}};
  if (before.is_number() && after.is_number()) {
    json["change"] = after.get<double>() - before.get<double>();
  }
  return json;
}

struct Quantity {
  std::string_view key;  // in a report's summary
  std::string_view words;
  double unit = 1.0;
};
constexpr double kGibibyte = 1073741824.0;
constexpr std::array kQuantities{
    Quantity{"gpus", "GPUs"},
    Quantity{"tokens_per_step", "tokens a step"},
    Quantity{"step_time_seconds", "step time, s"},
    Quantity{"step_time_low_seconds", "step time, low end of the interval, s"},
    Quantity{"step_time_high_seconds", "step time, high end of the interval, s"},
    Quantity{"tokens_per_second_per_gpu", "tokens/s/GPU"},
    Quantity{"model_flops_utilization", "MFU, %", 0.01},
    Quantity{"peak_memory_bytes", "peak memory, GiB", kGibibyte},
    Quantity{"memory_capacity_bytes", "memory capacity, GiB", kGibibyte},
    Quantity{"train_seconds", "time to train, days", 86400.0},
    Quantity{"gpu_hours", "GPU-hours"},
    Quantity{"cost", "cost"}};

Json quantities(const Json& before, const Json& after) {
  Json json = Json::array();
  for (const Quantity& quantity : kQuantities) {
    const std::string key(quantity.key);
    const Json x = member(member(before, "summary"), key);
    const Json y = member(member(after, "summary"), key);
    if (!x.is_null() || !y.is_null()) json.push_back(pair_of(key, x, y));
  }
  return json;
}

// Pairs of the lists' elements: those with the same name, in the order of first appearance.
template <typename NameOf, typename ValueOf>
Json paired(const Json& before, const Json& after, const NameOf& name_of, const ValueOf& value_of) {
  std::vector<std::string> names;
  std::map<std::string, Json> a, b;
  const auto collect = [&](const Json& list, std::map<std::string, Json>& values) {
    if (!list.is_array()) return;
    for (const Json& element : list) {
      const std::string name = name_of(element);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      if (values.count(name) == 0) values[name] = value_of(element);
    }
  };
  collect(before, a);
  collect(after, b);
  Json json = Json::array();
  for (const std::string& name : names) json.push_back(pair_of(name, a[name], b[name]));
  return json;
}

Json winner(const Json& report) {
  const Json ranked = member(report, "ranked");
  return ranked.is_array() && !ranked.empty() ? ranked.front() : Json();
}

// Without those that are nothing in both.
Json present(const Json& pairs) {
  Json json = Json::array();
  for (const Json& pair : pairs) {
    if (pair["before"] != 0.0 || pair["after"] != 0.0) json.push_back(pair);
  }
  return json;
}

Json terms(const Json& before, const Json& after) {
  return present(paired(
      member(winner(before), "terms"), member(winner(after), "terms"),
      [](const Json& t) { return text_at(t, "name"); },
      [](const Json& t) { return member(t, "seconds"); }));
}

// The parts of the fullest stage's memory, as a list.
Json fullest_stage(const Json& report) {
  Json fullest;
  double most = -1.0;
  for (const Json& stage : member(member(report, "memory"), "stages")) {
    if (number_at(stage, "total_bytes") <= most) continue;
    most = number_at(stage, "total_bytes");
    fullest = stage;
  }
  Json parts = Json::array();
  if (!fullest.is_object()) return parts;
  for (const auto& [key, value] : fullest.items()) {
    const bool part = key.size() > 6 && key.substr(key.size() - 6) == "_bytes";
    if (part) parts.push_back({{"name", key.substr(0, key.size() - 6)}, {"bytes", value}});
  }
  return parts;
}

Json memory(const Json& before, const Json& after) {
  return present(paired(
      fullest_stage(before), fullest_stage(after),
      [](const Json& part) { return text_at(part, "name"); },
      [](const Json& part) { return member(part, "bytes"); }));
}

Json volume(const Json& before, const Json& after) {
  return paired(
      member(member(before, "volume"), "groups"), member(member(after, "volume"), "groups"),
      [](const Json& group) {
        return fmt::format("{} ({})", text_at(group, "group"), text_at(group, "tier"));
      },
      [](const Json& group) { return member(group, "sent_bytes"); });
}

// The layouts that either report shows at the top: rank and time in both.
Json ranking(const Json& before, const Json& after) {
  const auto name = [](const Json& l) { return text_at(l, "short_name"); };
  const Json ranks = paired(member(before, "ranked"), member(after, "ranked"), name,
                            [](const Json& l) { return member(l, "rank"); });
  const Json times = paired(member(before, "ranked"), member(after, "ranked"), name,
                            [](const Json& l) { return member(l, "step_time_seconds"); });
  const auto shown = [](const Json& rank, const Json& report) {
    return rank.is_number() && rank.get<double>() <= number_at(report, "top");
  };
  Json json = Json::array();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Json& rank = ranks[i];
    if (!shown(rank["before"], before) && !shown(rank["after"], after)) continue;
    json.push_back({{"layout", rank["name"]},
                    {"rank_before", rank["before"]},
                    {"rank_after", rank["after"]},
                    {"step_time_before_seconds", times[i]["before"]},
                    {"step_time_after_seconds", times[i]["after"]}});
  }
  return json;
}

Json rejections(const Json& before, const Json& after) {
  return paired(
      member(before, "rejections"), member(after, "rejections"),
      [](const Json& r) { return text_at(r, "rule"); },
      [](const Json& r) { return member(r, "count"); });
}

std::string layouts_sentence(const Json& before, const Json& after) {
  const std::string a = text_at(winner(before), "brief_name");
  const std::string b = text_at(winner(after), "brief_name");
  const bool same = text_at(member(before, "summary"), "short_name") ==
                    text_at(member(after, "summary"), "short_name");
  return same ? fmt::format("The winner stays {}.", a)
              : fmt::format("The winner was {} and is {}.", a, b);
}

std::string sentence(const Json& before, const Json& after) {
  const bool fits_before = member(before, "summary").is_object();
  const bool fits_after = member(after, "summary").is_object();
  if (!fits_before && !fits_after) return "No layout fits in either report.";
  if (!fits_before) return "No layout fitted before; now one does.";
  if (!fits_after) return "A layout fitted before; now none does.";
  const Json a = member(before, "summary");
  const Json b = member(after, "summary");
  const double x = number_at(a, "tokens_per_second_per_gpu") * number_at(a, "gpus");
  const double y = number_at(b, "tokens_per_second_per_gpu") * number_at(b, "gpus");
  const double change = x > 0.0 ? y / x - 1.0 : 0.0;
  std::string text = fmt::format(
      "{}: {} tokens/s in all before, {} after; a step takes {} instead of {}. {}",
      change == 0.0 ? "The same throughput"
                    : fmt::format("{} {} throughput", percent_text(std::abs(change)),
                                  change > 0.0 ? "more" : "less"),
      si_text(x, 4), si_text(y, 4), seconds_text(seconds(number_at(b, "step_time_seconds"))),
      seconds_text(seconds(number_at(a, "step_time_seconds"))), layouts_sentence(before, after));
  const bool same_work = member(a, "tokens_per_step") == member(b, "tokens_per_step");
  const bool apart =
      number_at(a, "step_time_high_seconds") < number_at(b, "step_time_low_seconds") ||
      number_at(b, "step_time_high_seconds") < number_at(a, "step_time_low_seconds");
  if (same_work && change != 0.0 && !apart) {
    text += " The intervals of the two step times overlap: the predictions cannot tell them apart.";
  }
  return text;
}

Cell cell_of(const Json& value, double unit = 1.0) {
  if (value.is_number()) return value.get<double>() / unit;
  if (value.is_null()) return std::monostate{};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<Cell> pair_row(std::string name, double unit, const Json& pair) {
  const bool relative = pair["change"].is_number() && pair["before"].get<double>() != 0.0;
  return {std::move(name), cell_of(pair["before"], unit), cell_of(pair["after"], unit),
          cell_of(pair["change"], unit),
          relative ? Cell(pair["change"].get<double>() / pair["before"].get<double>() * 100.0)
                   : Cell(std::monostate{})};
}

struct PairUnit {
  std::string key;   // "_ms"
  std::string name;  // "ms"
  double size = 1.0;
};

Table pairs_table(std::string title, const std::string& what, const PairUnit& unit,
                  const Json& pairs) {
  Table table{std::move(title),
              {{"name", what, ""},
               {"before" + unit.key, "before", unit.name},
               {"after" + unit.key, "after", unit.name},
               {"change" + unit.key, "change", unit.name, 3},
               {"change_percent", "change", "%", 3}},
              {}};
  for (const Json& pair : pairs) {
    table.rows.push_back(pair_row(spoken(pair["name"].get<std::string>()), unit.size, pair));
  }
  return table;
}

Table quantities_table(const Json& pairs) {
  Table table = pairs_table("The winners", "quantity", {}, Json::array());
  for (const Json& pair : pairs) {
    const auto* quantity =
        std::find_if(kQuantities.begin(), kQuantities.end(),
                     [&](const Quantity& q) { return q.key == pair["name"].get<std::string>(); });
    if (quantity == kQuantities.end()) continue;
    table.rows.push_back(pair_row(std::string(quantity->words), quantity->unit, pair));
  }
  return table;
}

// "/cluster/gpus_per_node" is "cluster: gpus per node".
std::string words_of_pointer(const std::string& pointer) {
  std::string words;
  for (const char c : pointer.substr(pointer.empty() ? 0 : 1)) {
    words += c == '/' ? ": " : std::string(1, c == '_' ? ' ' : c);
  }
  return words;
}

Table inputs_table(const Json& inputs) {
  Table table{"Inputs that differ",
              {{"input", "input", ""}, {"before", "before", ""}, {"after", "after", ""}},
              {}};
  const auto text = [](const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  for (const Json& input : inputs) {
    table.rows.push_back(
        {words_of_pointer(text(input["input"])), text(input["before"]), text(input["after"])});
  }
  return table;
}

Table ranking_table(const Json& ranking) {
  Table table{"Ranking",
              {{"layout", "layout", ""},
               {"rank_before", "rank before", ""},
               {"rank_after", "rank after", ""},
               {"step_time_before_seconds", "step before", "s"},
               {"step_time_after_seconds", "step after", "s"}},
              {}};
  for (const Json& row : ranking) {
    table.rows.push_back({cell_of(row["layout"]), cell_of(row["rank_before"]),
                          cell_of(row["rank_after"]), cell_of(row["step_time_before_seconds"]),
                          cell_of(row["step_time_after_seconds"])});
  }
  return table;
}

}  // namespace

Json comparison_to_json(const Json& before, const Json& after, const Origin& origin) {
  Json json = artefact(kComparisonSchema, origin);
  json["sentence"] = sentence(before, after);
  for (const auto& [name, report] : {std::pair{"before", &before}, std::pair{"after", &after}}) {
    json[name] = {{"title", member(*report, "title")}, {"verdict", member(*report, "verdict")}};
  }
  json["inputs_that_differ"] = different_inputs(before, after);
  json["quantities"] = quantities(before, after);
  json["terms_seconds"] = terms(before, after);
  json["fullest_stage_bytes"] = memory(before, after);
  json["sent_bytes"] = volume(before, after);
  json["ranking"] = ranking(before, after);
  json["rejections"] = rejections(before, after);
  return json;
}

std::vector<Table> comparison_tables(const Json& comparison) {
  std::vector<Table> all{inputs_table(comparison["inputs_that_differ"]),
                         quantities_table(comparison["quantities"]),
                         pairs_table("Terms of the winners' steps", "term", {"_ms", "ms", 1e-3},
                                     comparison["terms_seconds"]),
                         pairs_table("Memory of the fullest GPU", "part",
                                     {"_gib", "GiB", kGibibyte}, comparison["fullest_stage_bytes"]),
                         pairs_table("Sent by one GPU in a step", "group", {"_gb", "GB", 1e9},
                                     comparison["sent_bytes"]),
                         ranking_table(comparison["ranking"]),
                         pairs_table("Rejected layouts", "rule", {}, comparison["rejections"])};
  std::erase_if(all, [](const Table& table) { return table.rows.empty(); });
  return all;
}

}  // namespace meshwright::reports
