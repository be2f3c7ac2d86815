// SPDX-License-Identifier: Apache-2.0
// Files that an input names inside itself: they are inputs, too, and no output may replace them.
// Nothing where the input cannot be read, or is a pipe, which can be read only once.
#pragma once

#include <string>
#include <vector>

namespace meshwright::app {

// Files that a cluster names: its device and its framework.
std::vector<std::string> files_in_cluster(const std::string& path);
// Files that measured runs name: models, frameworks, clusters, and the files that those name.
std::vector<std::string> files_in_measurements(const std::string& path);

}  // namespace meshwright::app
