// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/stated_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

std::string plain_key_of(std::string key) {
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

bool names_variable(const Values& document, const std::string& name) {
  return std::any_of(document.all().begin(), document.all().end(), [&](const Value& value) {
    return std::any_of(value.words.begin(), value.words.end(), [&](const std::string& word) {
      return contains(word, "${" + name) || contains(word, "$" + name) ||
             contains(word, "env:" + name);
    });
  });
}

// Scripts' variables are in capitals, keys are not.
bool is_of_a_script(const std::string& name) {
  return std::any_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isupper(c) != 0; });
}

// The document's keys that are `name`, or end with it behind a section.
std::vector<std::string> keys_named(const Values& document, const std::string& name) {
  const std::string plain = plain_key_of(name);
  std::vector<std::string> exact, ending;
  for (const Value& value : document.all()) {
    const std::string key = plain_key_of(value.key);
    std::vector<std::string>* const found = key == plain                 ? &exact
                                            : key.ends_with("." + plain) ? &ending
                                                                         : nullptr;
    if (found == nullptr) continue;
    if (std::find(found->begin(), found->end(), value.key) == found->end()) {
      found->push_back(value.key);
    }
  }
  return exact.empty() ? ending : exact;
}

// Where a key goes that the document lacks; a null of YAML is not there. Empty: nowhere.
std::string new_key(const Values& document, const std::string& name) {
  if (contains(name, ".")) return name;
  const bool has_model =
      std::any_of(document.all().begin(), document.all().end(),
                  [](const Value& value) { return value.key.starts_with("model."); });
  return has_model ? "model." + name : name;
}

}  // namespace

std::vector<std::string> stated_words(const std::string& text) {
  // A list of lists, or of layers ("[0]*3+[1]*58"), is one word.
  const bool pattern = contains(text, "*") || std::count(text.begin(), text.end(), '[') > 1;
  if (pattern) return {replaced(replaced(text, "'", ""), "\"", "")};
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (c == '[' || c == '\'' || c == '"') continue;
    if (c == ',' || c == ']') {
      if (!word.empty()) words.push_back(std::exchange(word, ""));
    } else if (c != ' ') {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(word);
  const bool none = words.size() == 1 && (words.front() == "null" || words.front() == "None");
  return none ? std::vector<std::string>{} : words;
}

void take_stated_length(LaunchRecord& record, const LaunchHints& hints) {
  if (!hints.seq_length) return;
  const std::string stated = std::to_string(*hints.seq_length);
  for (const Fact& fact : record.read) {
    if (fact.field != "seq_length" || fact.value == stated) continue;
    throw InputError(
        "--seq-length", "",
        fmt::format("is {}, but the launch says {} ({})", stated, fact.said, fact.place.text()),
        "leave the option out, or change the launch");
  }
  std::erase_if(record.assumed, [&](const Fact& fact) {
    return fact.field == "seq_length" && fact.value != stated;
  });
  const bool is_there = std::any_of(record.read.begin(), record.read.end(),
                                    [](const Fact& fact) { return fact.field == "seq_length"; }) ||
                        std::any_of(record.assumed.begin(), record.assumed.end(),
                                    [](const Fact& fact) { return fact.said == kNamedBeside; });
  if (!is_there) record.assumed.push_back({"seq_length", stated, kNamedBeside, {}});
  record.job.seq_length = *hints.seq_length;
  record.job_fields.emplace_back("seq_length");
}

Values with_stated(const Values& document, const LaunchHints& hints) {
  if (hints.variables.empty()) return document;
  Values out;
  std::vector<std::string> replaced_keys;
  std::vector<Value> stated;
  for (const auto& [name, text] : hints.variables) {
    const std::vector<std::string> keys = keys_named(document, name);
    if (keys.empty() && (names_variable(document, name) || is_of_a_script(name))) continue;
    if (keys.size() > 1) {
      throw InputError("--set", "",
                       fmt::format("{} ends several keys: {}", name, fmt::join(keys, ", ")),
                       "state the whole key");
    }
    Value value;
    value.key = keys.empty() ? new_key(document, name) : keys.front();
    value.words = stated_words(text);
    value.said = fmt::format("--set {}={}", name, text);
    value.place = {"--set", 0, 0};
    replaced_keys.push_back(value.key);
    if (!value.words.empty()) stated.push_back(std::move(value));
  }
  for (const Value& value : document.all()) {
    const bool gone =
        std::find(replaced_keys.begin(), replaced_keys.end(), value.key) != replaced_keys.end();
    if (!gone) out.add(value);
  }
  for (Value& value : stated) out.add(std::move(value));
  return out;
}

}  // namespace meshwright::interop
