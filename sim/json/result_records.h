// SPDX-License-Identifier: Apache-2.0
// The rows of what sim answers and of what a trial observed: keys and what they mean. Writing,
// reading and schemas follow from them (record.h). Amounts are in base units.
#pragma once

#include "sim/record/record.h"
#include "sim/step/estimate.h"
#include "sim/step/observation.h"

namespace meshwright {

// A text that a transfer views: it lasts as long as the program.
Kind<std::string_view> lasting_text();

const Record<Term>& term_record();
const Record<StageMemory>& stage_memory_record();
const Record<Transfer>& transfer_record();
const Record<Volume>& volume_record();
const Record<PublishedOrders>& published_orders_record();
const Record<Estimate>& estimate_record();
const Record<Observation>& observation_record();

}  // namespace meshwright
