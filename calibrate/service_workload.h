// SPDX-License-Identifier: Apache-2.0
// What a calibration should measure besides so that a service of a model is predicted from measured
// shapes: products with few rows, as decode steps have, and chunks of prompts, with the all-reduces
// of tensor ranks that follow them.
#pragma once

#include <array>
#include <vector>

#include "calibrate/sweep.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

// Rows of a step: sequences that decode, and chunks of prompts.
inline constexpr std::array kServedRows{1, 2, 4, 8, 16, 32, 64, 128, 512};

inline constexpr std::array kServedKernelRows{1, 8, 64};
// Keys that a sequence sees. The trial takes keys by 64 (paged_attention.h): these are in the
// middle.
inline constexpr std::array kServedContexts{32, 160, 288, 480, 2016};
inline constexpr std::array kServedChunks{32, 96, 224};  // new tokens of a prompt

// Adds them to `workload`, and puts them before what it has. `tensor_sizes`: ranks of a replica,
// those that cut the heads. Each number of rows weighs the same, and so does each size. Messages
// have `number_bytes` a number.
void add_service(Workload& workload, const Model& model, const std::vector<int>& tensor_sizes,
                 double number_bytes);

}  // namespace meshwright::calibrate
