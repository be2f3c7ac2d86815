// SPDX-License-Identifier: Apache-2.0
// The files that are shipped: configs/models, clusters, jobs, hardware.
#pragma once

#include <string>
#include <vector>

namespace meshwright::app {

// Directory of the shipped configs: MESHWRIGHT_CONFIGS, else beside the program's installation,
// else the source tree it was built from.
std::string configs_directory();

// A file as the user named it; else <configs>/<folder>/<name>.json for a bare name. A folder of
// that name hides nothing.
std::string find_config(const std::string& path, const std::string& folder);
// The same, else the record that the name means (config_synonym.h, config_words.h), which is said
// once. Throws InputError with the nearest name and all there are when there is none.
enum class Reading { said, silent };
std::string require_config(const std::string& path, const std::string& folder,
                           Reading reading = Reading::said);

// Sorted, without ".json". Throws InputError when the folder is missing.
std::vector<std::string> config_names(const std::string& folder);

}  // namespace meshwright::app
