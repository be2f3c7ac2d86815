// SPDX-License-Identifier: Apache-2.0
// torchtitan's settings by dotted keys, wherever they stand: in a TOML file, in a configuration of
// its registry, or on a command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"

namespace meshwright::interop {

// TOML ended with v0.2.2 (2026-02); since then a Python function of config_registry.py is named.
// early_registry: a command with options that ended before 0.3.0.
enum class TitanForm { toml, early_registry, registry };

// Fills the record from settings; of two of one key the last counts.
void read_torchtitan_values(Values values, const LaunchHints& hints, TitanForm form,
                            LaunchRecord& record);

// The name of a configuration that torchtitan ships; empty: none of that name is known here.
// "llama3_8b", "llama3_8b.toml", "train_configs/llama3_8b.toml"; debug_model.toml is named by its
// model's folder.
std::string titan_configuration(std::string_view name);
// Its values, each said by `said` at `place`.
Values titan_values(const std::string& configuration, const std::string& said, const Place& place);
std::string titan_configuration_names();

}  // namespace meshwright::interop
