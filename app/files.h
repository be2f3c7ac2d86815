// SPDX-License-Identifier: Apache-2.0
// The only place that reads and writes the user's files. A file is refused with one clear message;
// an output is written beside its name and renamed, so that it is whole or not there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright::app {

// Throws InputError: missing, a directory, unreadable, larger than 64 MiB, not JSON (with line and
// column).
std::string read_text_file(const std::string& path);
nlohmann::json read_json_file(const std::string& path);

// Throws InputError when the file cannot be written; `path` "-" is standard output.
void write_file_atomically(const std::string& path, const std::string& content);
// Fails now, before hours of work, when `path` could not be written later. Creates nothing.
void check_writable(const std::string& path);
// The same, and refuses a path that exists: for what must never replace an older file.
void check_new_file(const std::string& path);

// A model file of ours or a Hugging Face config.json.
Model load_model(const std::string& path);
// A cluster file (its "device" and "framework" may name files beside it) or a measured profile. A
// bare name such as h100-512 is looked for in configs/clusters.
Cluster load_cluster(const std::string& path);
Job load_job(const std::string& path);
// A layout file, or text such as "tp=8,pp=4".
Layout load_layout(const std::string& path_or_text);

// Directory of the shipped configs: MESHWRIGHT_CONFIGS, else beside the program's installation,
// else the source tree it was built from.
std::string configs_directory();

}  // namespace meshwright::app
