// SPDX-License-Identifier: Apache-2.0
// A service as its launch file says it, and what is predicted of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/records/origin.h"
#include "sim/base/units.h"
#include "sim/record/record.h"

namespace meshwright::reports {

// One word of a launch file: what it says of which field, or why it is passed over or refused.
struct LaunchWord {
  std::string field{}, value{}, said{}, why{}, file{};
  int line = 0;
};

struct BetterService {
  std::string deployment{};
  int gpus = 0;
  int max_num_seqs = 0, max_num_batched_tokens = 0;
  Seconds ttft{}, tpot{};
  double tokens_per_second_per_gpu = 0;
};

// A quantity of a benchmark's result, and what is predicted of the same load.
struct MeasuredLatency {
  std::string result{};    // its name
  std::string quantity{};  // "ttft_mean": seconds; "output_tps": tokens per second
  double measured = 0, predicted = 0;
  double low = 0, high = 0;  // 90 % interval of the prediction
};

struct ServingReviewFile {
  Origin origin{};
  std::vector<std::string> notes{};
  std::string form{}, engine{}, engine_version{}, model{};
  std::vector<LaunchWord> read{}, assumed{}, passed_over{}, not_understood{};
  // Of a judged service.
  std::string verdict{};  // "not_judged", "refused", "fits", "does_not_fit"
  std::string deployment{}, device{}, reason{};
  int gpus = 0;
  std::optional<double> kv_tokens{}, largest_batch{}, measured_kv_tokens{};
  // Simulated, with 90 % intervals: at the percentile, or means.
  std::optional<Seconds> ttft{}, ttft_low{}, ttft_high{}, tpot{}, tpot_low{}, tpot_high{};
  double percentile = 0;
  std::optional<bool> meets_limits{};  // empty: no limit is stated, or no load
  std::optional<double> tokens_per_second_per_gpu{};
  std::vector<BetterService> better{};
  std::vector<MeasuredLatency> measured{};
};
const Record<ServingReviewFile>& serving_review_record();

}  // namespace meshwright::reports
