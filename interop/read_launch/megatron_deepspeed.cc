// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/megatron_deepspeed.h"

#include <optional>

#include "interop/read_launch/document.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

std::optional<std::string> text_of(const std::string& name, const ShellScript& script,
                                   const ReadNamedFile& read) {
  for (const HereDocument& document : script.here_documents) {
    if (document.file.text() == name) return document.text.text();
  }
  return read ? read(name) : std::nullopt;
}

bool is_on_host(Values& json, const char* key) {
  const Value* device = json.find(key);
  return device != nullptr && device->words.size() == 1 && device->words.front() != "none";
}

void add_option(Values& options, const Value& from, const std::string& key,
                std::vector<std::string> words) {
  Value value = from;
  value.key = key;
  value.words = std::move(words);
  value.used = false;
  options.add(std::move(value));
}

}  // namespace

void read_deepspeed_file(Values& options, const ShellScript& script, const ReadNamedFile& read,
                         LaunchRecord& record) {
  const Value* named = options.find("deepspeed_config");
  if (named == nullptr || named->words.size() != 1) return;
  const Value option = *named;  // options grows
  const auto not_read = [&](const std::string& why) {
    record.not_understood.push_back(
        {.said = option.said, .why = why, .place = option.place, .effect = OptionEffect::memory});
  };
  const auto text = text_of(option.words.front(), script, read);
  if (!text) return not_read("the file is not there to be read");
  Values json;
  try {
    json = values_of_json(*text, option.words.front());
  } catch (const InputError&) {
    return not_read("the file holds what is not known, and is not read");
  }
  if (const Value* stage = json.find("zero_optimization.stage")) {
    add_option(options, *stage, "zero_stage", stage->words);
  }
  if (is_on_host(json, "zero_optimization.offload_optimizer.device")) {
    add_option(options, *json.find("zero_optimization.offload_optimizer.device"),
               "optimizer_cpu_offload", {"true"});
  }
  if (is_on_host(json, "zero_optimization.offload_param.device")) {
    const Value& device = *json.find("zero_optimization.offload_param.device");
    record.not_understood.push_back({.said = device.said,
                                     .why = "weights on the host are not modelled",
                                     .place = device.place,
                                     .effect = OptionEffect::memory});
  }
}

}  // namespace meshwright::interop
