// SPDX-License-Identifier: Apache-2.0
// The part "service" of a job file: a service that shares the cluster with the training.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/shared_cluster/load_curve.h"
#include "sim/base/enum_names.h"
#include "sim/base/serving_formats.h"

namespace meshwright::planner {

// Which GPUs the training uses.
enum class TrainingGpus {
  fixed,   // those that are free in every hour
  elastic  // those that are free in the hour; it restarts from a checkpoint when they change
};
inline constexpr std::array kTrainingGpusNames{EnumName{TrainingGpus::fixed, "fixed"},
                                               EnumName{TrainingGpus::elastic, "elastic"}};
constexpr std::string_view name_of(TrainingGpus v) { return name_in(kTrainingGpusNames, v); }

// Time until a new replica serves: weights loaded, kernels compiled, graphs captured. Assumed: no
// public number was found for these engines; state your own.
inline constexpr double kReplicaStartSeconds = 300.0;

struct ServiceOptions {
  std::string model{};
  std::string engine = "vllm-0.32";
  std::optional<WeightFormat> weights{};  // none: the checkpoint's
  KvCacheFormat kv_cache = KvCacheFormat::bf16;
  int isl = 1024, osl = 1024;    // tokens of a prompt and of its answer
  double prefix_hit_rate = 0.0;  // share of a prompt
  std::optional<double> ttft_seconds{}, tpot_seconds{}, e2e_seconds{};  // targets
  double percentile = 0.0;                                              // of TTFT, TPOT; 0: means
  std::vector<int> tensor_parallel_size{}, pipeline_parallel_size{};    // empty: searched
  LoadCurve load_curve{};
  int least_replicas = 1;
  std::optional<double> replica_start_seconds{};  // nothing: kReplicaStartSeconds
  int least_release_hours = 1;  // GPUs go back to the training for so long, or not at all
  TrainingGpus training_gpus = TrainingGpus::fixed;
  bool operator==(const ServiceOptions&) const = default;
  [[nodiscard]] double start_seconds() const {
    return replica_start_seconds.value_or(kReplicaStartSeconds);
  }
};

}  // namespace meshwright::planner
