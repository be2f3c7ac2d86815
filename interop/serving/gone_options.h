// SPDX-License-Identifier: Apache-2.0
// Options that engines had and have no longer. With one an engine stops before it starts. Read from
// the packages of the releases: vLLM 0.9.2, 0.10.2, 0.12, 0.14, 0.17, 0.19, 0.22, 0.24, 0.28 and
// 0.32, SGLang's eleven from 0.5.5 to 0.5.23. A release between two of them may lack an option,
// too.
#pragma once

#include <string_view>

#include "sim/hardware/inference_rates.h"

namespace meshwright::interop {

// The first of these releases without the option; empty: all have it, or none had.
std::string_view release_without(EngineKind engine, std::string_view option);

// Whether a version such as "0.19.1" is that release or a later one. A text without numbers is not.
bool is_at_least(std::string_view version, std::string_view release);

}  // namespace meshwright::interop
