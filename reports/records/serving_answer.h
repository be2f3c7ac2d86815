// SPDX-License-Identifier: Apache-2.0
// One replica of an inference engine, as meshwright serve estimate answers.
#pragma once

#include <string>
#include <vector>

#include "reports/records/origin.h"
#include "sim/record/record.h"
#include "sim/serving/estimate.h"

namespace meshwright::reports {

struct ServingAnswer {
  Origin origin{};
  std::vector<std::string> notes{};
  Model model{};
  Cluster cluster{};
  InferenceRates inference{};
  Engine engine{};
  ServingBatch batch{};
  ServingEstimate estimate{};
};
const Record<ServingAnswer>& serving_answer_record();

}  // namespace meshwright::reports
