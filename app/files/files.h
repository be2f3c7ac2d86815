// SPDX-License-Identifier: Apache-2.0
// The only place that reads the user's files. A file is refused with one clear message.
#pragma once

#include <string>
#include <string_view>

#include "app/files/config_names.h"
#include "planner/search/space.h"
#include "reports/records/origin.h"
#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/record/json.h"

namespace meshwright::app {

// Throws InputError: missing, a directory, unreadable, larger than 64 MiB, not JSON (with line and
// column).
std::string read_text_file(const std::string& path);
Json read_json_file(const std::string& path);

// The same, read once; its fingerprint goes into `origin` under `name`.
Json read_input(const std::string& name, const std::string& file, reports::Origin& origin);

// Below, the fingerprint of what was read goes into `origin`, where there is one, under the name as
// it was typed. Each file is read once: it may be a pipe.

// A model file of ours or a Hugging Face config.json.
Model load_model(const std::string& path, reports::Origin* origin = nullptr);
// What of a cluster may stand in a file of its own, beside it or in `folder` of the configs.
struct ClusterPart {
  const char* key;
  const char* folder;
};
inline constexpr ClusterPart kDevicePart{"device", "hardware"};
inline constexpr ClusterPart kFrameworkPart{"framework", "frameworks"};
// The file that a cluster file means by this name of a part: beside it, else the shipped file of
// that name, so that a copied cluster still finds its device.
std::string file_of_part(const std::string& name, const ClusterPart& part,
                         const std::string& cluster_file);

// A cluster file (its "device" and "framework" may name files beside it) or a measured profile. A
// bare name such as h100-512 is looked for in configs/clusters. `not_measured` gets what a profile
// says that it has no measurement of.
// What people read in place of a cluster that was asked for by its file: the name of the machine.
// Empty for a shipped name, which they know.
std::string cluster_label(const std::string& path, const Cluster& cluster);
Cluster load_cluster(const std::string& path, std::vector<std::string>* not_measured = nullptr,
                     reports::Origin* origin = nullptr);
// A framework file, a name from configs/frameworks, or none: software that nothing is known of.
inline constexpr std::string_view kUnknownSoftware = "none";
Framework load_framework(const std::string& path, reports::Origin* origin = nullptr);
Json read_job(const std::string& path, reports::Origin* origin = nullptr);
// What the file does not say is as in `defaults`: Framework::defaults.
Job load_job(const std::string& path, const Job& defaults = {});

// A layout file, or text such as "tp=8,pp=4".
planner::StatedLayout load_stated_layout(const std::string& path_or_text, const Layout& defaults);
// What a message about such a layout names: its file, or the option.
std::string layout_source(const std::string& path_or_text);

}  // namespace meshwright::app
