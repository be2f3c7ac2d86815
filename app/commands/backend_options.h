// SPDX-License-Identifier: Apache-2.0
// What the commands that start ranks share.
#pragma once

#include <string>
#include <vector>

namespace meshwright::app {

// --mpirun-args as mpirun gets them.
std::vector<std::string> words(const std::string& text);
// Throws InputError for an unknown backend, SystemError for one that cannot be used here.
void check_backend(const std::string& backend);

}  // namespace meshwright::app
