// SPDX-License-Identifier: Apache-2.0
// Writes how a service is started: a script of commands for each host, a Kubernetes manifest, or a
// Dynamo graph. Two pools get their router. read_serving reads each back as the same pools.
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

// Pools, engine, engine_version, model, weights, prefix_caching and async_scheduling of the launch
// are written. Images are the engine's public ones with that version, or the nearest before it.
// Throws InputError: the engine has no option for a size or a format, or the form cannot start a
// replica on these hosts.
std::string write_serving(const ServingLaunch& launch, ServingForm form,
                          const ServingHosts& hosts = {});

}  // namespace meshwright::interop
