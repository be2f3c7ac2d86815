// SPDX-License-Identifier: Apache-2.0
// Writes how a service is started: a script of commands, a Kubernetes Deployment a pool, or a
// Dynamo graph. read_serving reads each back as the same pools. The format of the weights is the
// checkpoint's and is not written.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "interop/serving/replica_hosts.h"

namespace meshwright::interop {

enum class ServingForm : std::uint8_t { command, kubernetes, dynamo };
inline constexpr std::array kServingFormNames{EnumName{ServingForm::command, "command"},
                                              EnumName{ServingForm::kubernetes, "kubernetes"},
                                              EnumName{ServingForm::dynamo, "dynamo"}};

// Pools, engine, engine_version, model, prefix_caching and async_scheduling of the launch are
// written. `image`: of containers; empty: the engine's public one with that version. Throws
// InputError: the engine has no option for a size, or the form cannot start a replica on these
// hosts.
std::string write_serving(const ServingLaunch& launch, ServingForm form,
                          const ServingHosts& hosts = {}, const std::string& image = "");

}  // namespace meshwright::interop
