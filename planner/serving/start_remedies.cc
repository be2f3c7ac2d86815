// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/start_remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "planner/serving/serving_search.h"
#include "sim/base/number_text.h"

namespace meshwright::planner {
namespace {

// The tensor ranks as many times as before. Experts that lay over all ranks still do.
ReplicaLayout widened(ReplicaLayout layout, int factor) {
  layout.tensor_parallel_size *= factor;
  if (layout.expert_parallel_size > 1) layout.expert_parallel_size *= factor;
  return layout;
}

// "a", "a or b", "a, b or c".
std::string either(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::vector<std::string> changes_that_suffice(const ServingScenario& s,
                                              const ReplicaOptions& options,
                                              const std::optional<ServingLoad>& load,
                                              double longest) {
  const auto suffices = [&](const ReplicaOptions& changed) {
    return !refused(s, Deployment{{changed, 1}, {}}, load);
  };
  std::vector<std::string> found;
  ReplicaOptions shorter = options;
  shorter.max_model_len = static_cast<int>(std::min<double>(longest, options.max_model_len));
  if (shorter.max_model_len > 0 && suffices(shorter)) {
    found.push_back(fmt::format("max_model_len {}", count_text(shorter.max_model_len)));
  }
  const int domain = tensor_domain(s.cluster);
  for (int factor = 2; factor * meshwright::num_gpus(options.layout) <= domain; factor *= 2) {
    ReplicaOptions wider = options;
    wider.layout = widened(options.layout, factor);
    if (!suffices(wider)) continue;
    found.push_back(fmt::format("tensor size {}", wider.layout.tensor_parallel_size));
    break;
  }
  for (const WeightFormat format : {WeightFormat::fp8, WeightFormat::int4}) {
    if (options.weights.format != WeightFormat::bf16) break;  // a published checkpoint is as it is
    ReplicaOptions narrower = options;
    narrower.weights = usual_scheme(format, s.model);
    if (!suffices(narrower)) continue;
    found.push_back(fmt::format("{} weights", name_of(format)));
    break;
  }
  ReplicaOptions narrower = options;
  narrower.kv_cache = KvCacheFormat::fp8;
  if (options.kv_cache == KvCacheFormat::bf16 && suffices(narrower)) {
    found.emplace_back("an fp8 cache");
  }
  return found;
}

}  // namespace

std::string remedy_of(const RefusedPool& refusal, const ServingScenario& s,
                      const Deployment& deployment, const std::optional<ServingLoad>& load) {
  const ServingRuleRow& rule = *refusal.violation.rule;
  const auto rows = serving_memory_rules();
  const bool of_memory =
      std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return &row == &rule; });
  if (!of_memory) return std::string(rule.remedy);
  const ReplicaOptions& options = options_of(refusal, deployment);
  const ReplicaMemory memory = replica_memory(s.model, only_device(s.cluster), s.engine, options);
  const auto changes = changes_that_suffice(s, options, load, memory.longest_request());
  if (changes.empty()) return std::string(rule.remedy);
  return fmt::format("Enough by itself: {}.", either(changes));
}

}  // namespace meshwright::planner
