// SPDX-License-Identifier: Apache-2.0
// The pipeline layout that a list says.
#pragma once

#include <string_view>
#include <variant>

#include "sim/layout/pipeline_layout.h"

namespace meshwright {

inline PipelineLayout listed(std::string_view text) {
  return std::get<PipelineLayout>(read_pipeline_layout(text));
}

}  // namespace meshwright
