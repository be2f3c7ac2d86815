// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/await_all.h"

#include "calibrate/launch/rank_progress.h"

namespace meshwright::calibrate {

void await_all(Communicator& world) {
  const WaitForOthers idle;
  world.barrier();
}

}  // namespace meshwright::calibrate
