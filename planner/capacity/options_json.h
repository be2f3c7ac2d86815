// SPDX-License-Identifier: Apache-2.0
// The part "capacity" of a job file, and lists of prices.
#pragma once

#include <string>
#include <vector>

#include "planner/capacity/options.h"
#include "sim/record/json.h"
#include "sim/record/record.h"

namespace meshwright::planner {

// Values of a job file; the command line overrides them. Empty: not stated.
struct CapacitySection {
  std::string model;
  std::vector<std::string> clusters;
  std::vector<int> gpus;
  std::vector<int> global_batch_sizes;
  std::string prices;  // a file, or a name of configs/prices
  CapacityOptions options;
};

const Record<CapacitySection>& capacity_record();
const Record<PriceList>& prices_record();

// `job`: the whole job file; without the part, defaults. A number alone is stated; with an interval
// it is {"value", "low", "high", "basis", "source"}. Throws InputError.
CapacitySection capacity_section(const Json& job, const std::string& file);

// Schema "meshwright.prices/1". Throws InputError.
PriceList prices_from_json(const Json& json, const std::string& file);

}  // namespace meshwright::planner
