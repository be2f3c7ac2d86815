// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "sim/base/text.h"
#include "sim/json/input_records.h"
#include "sim/json/layout_line.h"
#include "sim/json/records.h"
#include "sim/layout/fields.h"
#include "sim/record/reader.h"

namespace meshwright {
namespace {

template <typename T>
Kind<T> kind_of(const Field<T>& field) {
  return {
      {.read = [&field](ObjectReader& reader, const std::string& key,
                        T& value) { value = reader.optional_enum(key, value, field.values.names); },
       .write = [&field](Json& json, const std::string& key,
                         const T& value) { json[key] = value_text(field, value); },
       .schema = [&field] { return choice_schema(words_of_names(field.values.names)); }}};
}

Kind<int> kind_of(const Field<int>& field) {
  return kind::integer({field.values.low, field.values.high});
}

Kind<bool> kind_of(const Field<bool>& /*field*/) { return kind::flag(); }

void read_order(ObjectReader& reader, const std::string& key, RankOrder& order) {
  const std::string text = reader.required_string(key);
  const auto fail = [&] {
    reader.fail(key, fmt::format("must name tp, cp, ep, dp and pp once each (got \"{}\")", text),
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
}

Kind<RankOrder> kind_of(const Field<RankOrder>& field) {
  return {{.read = read_order,
           .write = [&field](Json& json, const std::string& key,
                             const RankOrder& order) { json[key] = value_text(field, order); },
           .schema = [base = kind::text()] { return base.schema(); }}};
}

Kind<PipelineLayout> kind_of(const Field<PipelineLayout>& field) {
  return {{.read =
               [](ObjectReader& reader, const std::string& key, PipelineLayout& value) {
                 const auto read = read_pipeline_layout(reader.required_string(key));
                 if (const auto* wrong = std::get_if<std::string>(&read)) {
                   reader.fail(key, "is no list of stages: " + *wrong,
                               "Megatron-LM's --pipeline-model-parallel-layout, such as "
                               "\"Et*4|(t*4|)*14tmL\"");
                 }
                 value = std::get<PipelineLayout>(read);
               },
           .write = [&field](Json& json, const std::string& key,
                             const PipelineLayout& value) { json[key] = value_text(field, value); },
           .schema = [base = kind::text()] { return base.schema(); }}};
}

template <typename Module>
Kind<ModuleSet<Module>> kind_of(const Field<ModuleSet<Module>>& field) {
  using Modules = ModuleSet<Module>;
  return {{.read =
               [&field](ObjectReader& reader, const std::string& key, Modules& value) {
                 Modules modules;
                 for (const Json& item : reader.required_array(key)) {
                   const auto found = modules_named(
                       field, item.is_string() ? item.get<std::string>() : std::string());
                   if (!found) {
                     reader.fail(key, fmt::format("holds {}, allowed are {}", item.dump(),
                                                  fmt::join(joined_words(value_text(field, {0xff})),
                                                            ", ")));
                   }
                   modules.bits |= found->bits;
                 }
                 value = modules;
               },
           .write =
               [&field](Json& json, const std::string& key, const Modules& modules) {
                 json[key] = modules.bits == 0 ? Json::array()
                                               : Json(joined_words(value_text(field, modules)));
               },
           .schema =
               [&field] {
                 std::vector<std::string_view> words = words_of_names(field.values.names);
                 words.push_back("mlp_act");  // moe_act in older files
                 return Json{{"type", "array"}, {"items", choice_schema(words)}};
               }}};
}

// The software's default, which `layout` holds, where it can matter.
template <typename T>
T default_value(const Field<T>& field, const Layout& layout) {
  if (field.implied != nullptr) return field.implied(layout);
  const bool matters = field.unasked == nullptr || field.unasked(layout).open;
  return matters ? layout.*field.member : Layout{}.*field.member;
}

// Name of the field that a word of a layout's text sets; empty if there is none.
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

const Record<Layout>& layout_record() {
  static const Record<Layout> record = [] {
    Record<Layout> rows(
        "How a step is spread over devices, in Megatron-LM's words. Everything has a default.");
    for_each_field([&](const auto& field) {
      rows.row(field.member, field.name, kind_of(field), field.documentation);
      rows.default_from(
          [&field](Layout& layout) { layout.*field.member = default_value(field, layout); });
    });
    return rows.named("Layout");
  }();
  return record;
}

Layout layout_from_json(const Json& json, const std::string& file, const std::string& pointer,
                        const Layout& defaults) {
  return layout_record().read(json, file, pointer, defaults);
}

Json to_json(const Layout& layout) { return layout_record().write(layout); }

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
