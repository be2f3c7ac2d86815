// SPDX-License-Identifier: Apache-2.0
// One layout's transfers, as meshwright volume answers.
#pragma once

#include <string>
#include <vector>

#include "reports/records/origin.h"
#include "sim/record/record.h"
#include "sim/volume/volume.h"

namespace meshwright::reports {

struct VolumeAnswer {
  Origin origin{};
  Model model{};
  Job job{};
  std::vector<std::string> defaults{};  // values that the user did not set
  Layout layout{};
  Volume volume{};
  PublishedOrders published_orders{};
};
const Record<VolumeAnswer>& volume_answer_record();

}  // namespace meshwright::reports
