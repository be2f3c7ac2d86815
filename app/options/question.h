// SPDX-License-Identifier: Apache-2.0
// What an answer is about. Every answer opens with it, so that no number is read as the answer to
// another question; what the user did not ask for is marked as a default.
#pragma once

#include <string>
#include <vector>

#include "app/options/inputs.h"
#include "sim/layout/layout.h"

namespace meshwright::app {

// Two lines: model, cluster, GPUs and framework; the job.
std::string question_text(const Inputs& inputs);

// The layout that the user named, on so many GPUs of the inputs' cluster. Without a data-parallel
// size it takes all of them; with one, and without --gpus, the cluster is cut to what it needs.
// Throws InputError when it needs more GPUs than there are.
Layout layout_on(Inputs& inputs, const InputOptions& options, const std::string& path_or_text);

}  // namespace meshwright::app
