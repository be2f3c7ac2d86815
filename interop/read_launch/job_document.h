// SPDX-License-Identifier: Apache-2.0
// The launch inside a scheduler's job: Kubernetes (PyTorchJob, MPIJob, TrainJob, JobSet, Job, Pod,
// Volcano), RayJob, dstack, SkyPilot, and any other document with a command.
#pragma once

#include <optional>
#include <string>

#include "interop/read_launch/launch_text.h"

namespace meshwright::interop {

struct JobDocument {
  std::string script;  // its commands, each word in the line that it has in the document
  Values counts;       // "num_nodes" and "gpus_per_node", where the job says them as numbers
};

// Nothing: it holds no command that starts a training.
std::optional<JobDocument> job_document(const LaunchText& text);

}  // namespace meshwright::interop
