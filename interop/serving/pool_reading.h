// SPDX-License-Identifier: Apache-2.0
// Options of one engine process, one by one, into the pool that it starts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/values.h"
#include "interop/serving/serving_launch.h"
#include "interop/serving/serving_options.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

// Values of a configuration as vLLM and SGLang take them: a map is one option, whose value is JSON.
// `is_member` tells which dotted keys belong to a map.
using IsMember = std::function<bool(std::string_view key)>;
std::vector<Value> grouped_options(
    const std::vector<Value>& values,
    const IsMember& is_member = [](std::string_view) { return true; });

class PoolReading {
 public:
  // `files` finds configurations that options name.
  PoolReading(ServingLaunch& launch, LaunchedPool& pool, const ReadNamedFile& files)
      : launch_(launch), pool_(pool), files_(files) {}

  void model(const Value& value);
  [[nodiscard]] bool has_tensor_size() const { return has_tensor_size_; }
  [[nodiscard]] bool has_model() const { return has_model_; }
  // In their order; a later one overrules.
  void options(const std::vector<Value>& values);
  // What follows from several options together. Once, at the end.
  void finish();

 private:
  void option(const Value& value, int depth);
  void apply(const ServingOption& option, const Value& value, int depth);
  void nodes(OptionUse use, const Value& value);
  void sizes(OptionUse use, const Value& value);
  void limits(OptionUse use, const Value& value);
  void formats(OptionUse use, const Value& value);
  void drafts(OptionUse use, const Value& value);
  void role(const Value& value);
  void transfer(const Value& value);
  void exchange(const Value& value);
  void configuration(const Value& value, int depth);
  void speculation(const Value& value);
  void compilation(const Value& value);
  void compilation_part(const std::string& key, const Value& part, const Value& whole);
  void model_overrides(const Value& value);

  void note(const char* field, const std::string& said, const Value& value);
  void pass(const Value& value, std::string_view why);
  void refuse(const Value& value, const std::string& why, OptionEffect effect = OptionEffect::cost);

  ServingLaunch& launch_;
  LaunchedPool& pool_;
  const ReadNamedFile& files_;
  int tensor_ = 1, data_ = 1, experts_ = 0;
  bool data_attention_ = false, drafts_ = false, draft_tokens_said_ = false, has_model_ = false,
       has_tensor_size_ = false;
};

}  // namespace meshwright::interop
