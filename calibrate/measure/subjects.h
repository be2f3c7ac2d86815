// SPDX-License-Identifier: Apache-2.0
// What points are of, in words, and of what there are none: a profile and every plan made of it say
// so.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// "products in bf16", "kernel softmax", "all_reduce between nodes".
std::string subject_of(const MeasuredPoint& point);

// The subjects of what was planned and of which nothing was measured.
std::vector<std::string> not_measured(const std::vector<MeasuredPoint>& planned,
                                      const std::vector<MeasuredPoint>& measured);

// Subjects, each once, that no point measures.
std::vector<std::string> still_missing(const std::vector<std::string>& subjects,
                                       const std::vector<MeasuredPoint>& points);

}  // namespace meshwright::calibrate
