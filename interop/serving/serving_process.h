// SPDX-License-Identifier: Apache-2.0
// The lines of a shell that start one process of an engine, with the options of its pool.
#pragma once

#include <string>
#include <vector>

#include "interop/serving/serving_launch.h"

namespace meshwright::interop {

struct ServingProcess {
  std::string name;                    // of its YAML
  bool dynamo = false;                 // a worker of Dynamo
  int port = 0;                        // 0: none is stated
  std::vector<std::string> before{};   // variables and a launcher, in front of the program
  std::vector<std::string> options{};  // behind those of the pool: its node, its addresses
};
// Throws InputError: the engine has no option for a size.
std::vector<std::string> process_lines(const ServingLaunch& launch, const LaunchedPool& pool,
                                       const ServingProcess& process);

}  // namespace meshwright::interop
