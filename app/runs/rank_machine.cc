// SPDX-License-Identifier: Apache-2.0
#include "app/runs/rank_machine.h"

#include <fmt/format.h>

#include <memory>

#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "calibrate/launch/rank_cores.h"
#include "calibrate/launch/rank_failure.h"
#include "calibrate/launch/rank_hosts.h"
#include "calibrate/launch/rank_progress.h"
#include "calibrate/launch/reporting_communicator.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

std::unique_ptr<calibrate::Compute> open_device(calibrate::Backend& backend, int local_rank) {
  const std::string reason = backend.unavailable();
  if (!reason.empty()) throw SystemError("backend " + backend.name() + ": " + reason);
  return backend.make_compute(local_rank);
}

std::unique_ptr<calibrate::Communicator> open_world(calibrate::Backend& network,
                                                    calibrate::Compute& compute,
                                                    const calibrate::RankPlace& place) {
  calibrate::begin_operation({.name = "start of MPI", .slow = seconds(60), .waits = true});
  auto world = calibrate::reporting(network.make_world(compute, place.starter()));
  const std::string wrong = wrong_world(place, world->size());
  if (!wrong.empty()) throw SystemError(wrong);
  return world;
}

// Collective.
void warn_of_few_cores(calibrate::Communicator& world) {
  const auto ranks = calibrate::cores_of_ranks(world);
  const std::string words = calibrate::few_cores_words(calibrate::cores_of_hosts(ranks));
  if (world.rank() == 0 && !words.empty()) say("warning: {}\n", words);
}

}  // namespace

std::string wrong_world(const calibrate::RankPlace& place, int world_size) {
  if (place.size == 0 || place.size == world_size) return "";
  return fmt::format(
      "{} started {} ranks, but MPI sees {}; they share no process manager. Use srun "
      "--mpi=pmix, or the mpirun of the MPI that this program was built with",
      place.launcher, place.size, world_size);
}

int on_rank_machine(const std::string& backend, const calibrate::RankPlace& place, Seconds timeout,
                    const std::function<int(RankMachine&)>& work) {
  calibrate::report_progress(place, timeout);
  std::unique_ptr<calibrate::Compute> compute;
  std::unique_ptr<calibrate::Communicator> world;
  try {
    calibrate::Backend& device = calibrate::open_backend(backend);
    compute = open_device(device, place.local_rank);
    calibrate::watch_device(compute->describe().device_kind());
    calibrate::Backend& network =
        calibrate::open_backend(calibrate::communication_module(backend, place.size));
    world = open_world(network, *compute, place);
    if (backend == "cuda") warn_of_few_cores(*world);
    RankMachine machine{device, network, *compute, *world};
    return work(machine);
  } catch (const std::exception& error) {
    const int rank = world == nullptr ? place.rank : world->rank();
    const std::string host = world == nullptr ? calibrate::host_name() : world->host();
    say("{}\n", calibrate::rank_failure_line(rank, host, error.what()));
    if (world != nullptr) world->abort(kSystemFailure);
    return kSystemFailure;
  }
}

}  // namespace meshwright::app
