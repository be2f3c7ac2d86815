// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "sim/base/text.h"
#include "sim/json/layout_line.h"
#include "sim/json/reader.h"
#include "sim/json/records.h"
#include "sim/layout/fields.h"

namespace meshwright {
namespace {

template <typename T>
T value_from(ObjectReader& reader, const Field<T>& field, T unsaid) {
  return reader.optional_enum(field.name, unsaid, field.values.names);
}

int value_from(ObjectReader& reader, const Field<int>& field, int unsaid) {
  return reader.optional_int(field.name, unsaid, {field.values.low, field.values.high});
}

bool value_from(ObjectReader& reader, const Field<bool>& field, bool unsaid) {
  return reader.optional_bool(field.name, unsaid);
}

RankOrder value_from(ObjectReader& reader, const Field<RankOrder>& field, RankOrder order) {
  if (!reader.has(field.name)) return order;
  const std::string text = reader.required_string(field.name);
  const auto fail = [&] {
    reader.fail(field.name,
                fmt::format("must name tp, cp, ep, dp and pp once each, is \"{}\"", text),
                "innermost first: \"tp-cp-ep-dp-pp\"");
  };
  const std::vector<std::string> words = split(text, '-');
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

PipelineLayout value_from(ObjectReader& reader, const Field<PipelineLayout>& field,
                          PipelineLayout unsaid) {
  if (!reader.has(field.name)) return unsaid;
  const auto read = read_pipeline_layout(reader.required_string(field.name));
  if (const auto* wrong = std::get_if<std::string>(&read)) {
    reader.fail(field.name, "is no list of stages: " + *wrong,
                "Megatron-LM's --pipeline-model-parallel-layout, such as \"Et*4|(t*4|)*14tmL\"");
  }
  return std::get<PipelineLayout>(read);
}

template <typename Module>
ModuleSet<Module> value_from(ObjectReader& reader, const Field<ModuleSet<Module>>& field,
                             ModuleSet<Module> unsaid) {
  if (!reader.has(field.name)) return unsaid;
  ModuleSet<Module> modules;
  for (const Json& item : reader.required_array(field.name)) {
    const auto found =
        modules_named(field, item.is_string() ? item.get<std::string>() : std::string());
    if (!found) {
      reader.fail(field.name,
                  fmt::format("holds {}, allowed are {}", item.dump(),
                              fmt::join(joined_words(value_text(field, {0xff})), ", ")));
    }
    modules.bits |= found->bits;
  }
  return modules;
}

template <typename T>
Json json_of(const Field<T>& field, const T& value) {
  return value_text(field, value);
}
Json json_of(const Field<int>& /*field*/, int value) { return value; }
Json json_of(const Field<bool>& /*field*/, bool value) { return value; }
template <typename Module>
Json json_of(const Field<ModuleSet<Module>>& field, const ModuleSet<Module>& modules) {
  return modules.bits == 0 ? Json::array() : Json(joined_words(value_text(field, modules)));
}

// The software's default, which `layout` holds, where it can matter.
template <typename T>
T unsaid_value(const Field<T>& field, const Layout& layout) {
  if (field.implied != nullptr) return field.implied(layout);
  const bool matters = field.unasked == nullptr || field.unasked(layout).open;
  return matters ? layout.*field.member : Layout{}.*field.member;
}

// Of the field that a word of a line names; empty where it names none.
std::string field_named(std::string_view word) {
  std::string name;
  for_each_field([&](const auto& field) {
    if (word == field.name || word == field.short_name) name = field.name;
  });
  return name;
}

// Between commas, without those inside a list of stages: Megatron-LM's documentation writes them.
std::vector<std::string> parts_of_line(const std::string& text) {
  std::vector<std::string> parts;
  for (const std::string& part : split(text, ',')) {
    const bool of_a_list =
        !part.empty() && part.find_first_not_of("EtmL|()*0123456789") == std::string::npos;
    const bool after_a_list = !parts.empty() && parts.back().find('|') != std::string::npos;
    if (of_a_list && after_a_list) {
      parts.back() += part;
    } else {
      parts.push_back(part);
    }
  }
  return parts;
}

// A line's words in JSON.
class Line {
 public:
  Line(const std::string& text, const Layout& defaults)
      : where_("layout \"" + text + "\""), defaults_(defaults) {}

  void add(const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos)
      return set(word, word.substr(0, equals), word.substr(equals + 1));
    const std::size_t digits = word.find_last_not_of("0123456789") + 1;
    if (!field_named(word).empty() || digits == word.size()) return set(word, word, "true");
    set(word, word.substr(0, digits), word.substr(digits));
  }
  [[nodiscard]] LayoutLine read() const {
    LayoutLine line;
    line.layout = layout_from_json(json_, where_, "", defaults_);
    for (const auto& item : json_.items()) line.fields.push_back(item.key());
    return line;
  }
  [[noreturn]] void fail_empty() const {
    throw InputError(where_, "", "has an empty part", "write name=value, separated by commas");
  }

 private:
  void set(const std::string& word, const std::string& name, const std::string& value) {
    const std::string field = field_named(name);
    if (field.empty()) fail_unknown(word, name);
    const std::size_t colon = value.find(':');
    if (field != "recompute_granularity" || colon == std::string::npos) return put(field, value);
    const std::string detail = value.substr(colon + 1);
    put(field, value.substr(0, colon));
    if (value.substr(0, colon) != "full") return put("recompute_modules", detail);
    put("recompute_num_layers", detail);
    put("recompute_method", "block");
  }
  void put(const std::string& field, const std::string& text) {
    if (json_.contains(field)) throw InputError(where_, "/" + field, "is given twice");
    json_[field] = value_of(field, text);
  }
  static Json value_of(const std::string& field, const std::string& text) {
    if (text == "true" || text == "false") return text == "true";
    const bool number =
        !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == text.npos;
    if (number) return std::stoi(text);
    if (field == "recompute_modules" || field == "offload_modules") {
      return text.empty() ? Json::array() : Json(joined_words(text));
    }
    return text;
  }
  [[noreturn]] void fail_unknown(const std::string& word, const std::string& name) const {
    std::vector<std::string> known;
    std::vector<std::string> brief;
    for_each_field([&](const auto& field) {
      known.insert(known.end(), {std::string(field.short_name), std::string(field.name)});
      brief.emplace_back(field.short_name);
    });
    const std::string hint = did_you_mean(name, known, "\"");
    throw InputError(where_, "", fmt::format("\"{}\" names no field of a layout", word),
                     hint.empty() ? fmt::format("fields are {}", fmt::join(brief, ", ")) : hint);
  }

  std::string where_;
  const Layout& defaults_;
  Json json_ = Json::object();
};

}  // namespace

Layout layout_from_json(const Json& json, const std::string& file, const std::string& pointer,
                        const Layout& defaults) {
  ObjectReader reader(json, file, pointer);
  Layout layout = defaults;
  for_each_field([&](const auto& field) {
    layout.*field.member = value_from(reader, field, unsaid_value(field, layout));
  });
  reader.finish();
  return layout;
}

Json to_json(const Layout& layout) {
  Json json;
  for_each_field([&](const auto& field) {
    json[std::string(field.name)] = json_of(field, layout.*field.member);
  });
  return json;
}

LayoutLine layout_line_from_text(const std::string& text, const Layout& defaults) {
  Line line(text, defaults);
  if (text.empty() || text == "one rank") return line.read();
  for (const std::string& part : parts_of_line(text)) {
    bool empty = true;
    for (const std::string& word : split(part, ' ')) {
      if (word.empty()) continue;
      line.add(word);
      empty = false;
    }
    if (empty) line.fail_empty();
  }
  return line.read();
}

Layout layout_from_text(const std::string& text, const Layout& defaults) {
  return layout_line_from_text(text, defaults).layout;
}

}  // namespace meshwright
