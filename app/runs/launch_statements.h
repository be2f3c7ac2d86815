// SPDX-License-Identifier: Apache-2.0
// What the user states beside a launch counts, or is refused.
#pragma once

#include "app/runs/launched_run.h"
#include "interop/shell/named_file.h"

namespace meshwright::app {

// The files that the launch names, as they were read; `files` must outlive it.
interop::ReadNamedFile reader_of(const interop::LaunchFiles& files);

// Throws InputError: --set or --args, without which the launch of `text` reads the same.
void refuse_unused_statements(const LaunchedRun& run, const std::string& text,
                              const std::string& file);
// Throws InputError: --vocab-size, where launch or --model says another.
void refuse_other_vocabulary(const LaunchedRunOptions& options, const Model& model);

}  // namespace meshwright::app
