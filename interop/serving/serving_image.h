// SPDX-License-Identifier: Apache-2.0
// Published images of the inference engines and of Dynamo. A tag that does not exist starts
// nothing.
#pragma once

#include <string>

#include "interop/serving/replica_hosts.h"

namespace meshwright::interop {

// Of the launch's version, for the hosts' devices. A version that was not published: the latest.
std::string engine_image(const ServingLaunch& launch, const ServingHosts& hosts);

struct DynamoImage {
  std::string name, release, engine_version;
};
// Of the newest release whose engine is not newer than the launch's, else of the oldest.
DynamoImage dynamo_image(const ServingLaunch& launch);

}  // namespace meshwright::interop
