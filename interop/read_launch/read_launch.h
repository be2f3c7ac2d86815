// SPDX-License-Identifier: Apache-2.0
// Reads a launch line, script, configuration or log of any supported software. The format follows
// from the text, not from the file's name.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

// Throws InputError: a text that is none of them, or as the format's own reader says.
LaunchRecord read_launch(std::string_view text, const std::string& file, const LaunchHints& hints,
                         const ReadNamedFile& read = {});

// One format each, for tests.
LaunchRecord read_torchtitan(std::string_view text, const std::string& file,
                             const LaunchHints& hints);
LaunchRecord read_nanotron(std::string_view text, const std::string& file,
                           const LaunchHints& hints);
LaunchRecord read_nemo(std::string_view text, const std::string& file, const LaunchHints& hints);
// The same of values that stood elsewhere, on a command line.
void read_nemo_values(Values nemo, const std::string& file, const LaunchHints& hints,
                      LaunchRecord& record);
LaunchRecord read_llm_foundry(std::string_view text, const std::string& file,
                              const LaunchHints& hints);
// DeepSpeed's JSON.
LaunchRecord read_deepspeed(std::string_view text, const std::string& file,
                            const LaunchHints& hints);
// accelerate's YAML.
LaunchRecord read_accelerate(std::string_view text, const std::string& file,
                             const LaunchHints& hints);
// A script whose command names a file of DeepSpeed or accelerate.
LaunchRecord read_trainer_script(std::string_view text, const std::string& file,
                                 const LaunchHints& hints, const ReadNamedFile& read);

// Tells whether a log says by itself how it was launched.
bool log_says_launch(std::string_view log);

}  // namespace meshwright::interop
