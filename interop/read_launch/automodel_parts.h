// SPDX-License-Identifier: Apache-2.0
// Parts of reading NeMo AutoModel's YAML.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "interop/read_launch/launch_reading.h"

namespace meshwright::interop {

// Sizes stand in distributed, whichever class it names.
inline constexpr std::array<const char*, 3> kAutomodelSections{
    "distributed.", "distributed_config.", "distributed.parallel_dims."};

// The first of these keys that says something; all count as used.
const Value* automodel_value(LaunchReading& r, std::initializer_list<std::string_view> keys);
// The same of a key in any of the sections of distribution.
const Value* distributed_value(LaunchReading& r, const std::string& key);

// Reads the model by its name, or by the sizes of a configuration class of transformers.
void read_automodel_model(LaunchReading& r, const LaunchHints& hints);
// Schedule and chunks, below a pipeline.
void read_automodel_pipeline(LaunchReading& r);
// Number formats, what the optimizer keeps, the loss and compilation.
void read_automodel_numbers(LaunchReading& r);
// LoRA.
void read_automodel_adapters(LaunchReading& r);

}  // namespace meshwright::interop
