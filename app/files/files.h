// SPDX-License-Identifier: Apache-2.0
// The only place that reads the user's files. A file is refused with one clear message.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/files/config_names.h"
#include "planner/search/space.h"
#include "reports/records/origin.h"
#include "sim/base/job.h"
#include "sim/base/serving_formats.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/record/json.h"

namespace meshwright::app {

// Throws InputError: missing, a directory, unreadable, larger than 64 MiB, not JSON (with line and
// column).
std::string read_text_file(const std::string& path);
// Another tool's measurements: text as above, or the bytes of an SQLite database of up to 1 GiB.
std::string read_measurements(const std::string& path);
Json read_json_file(const std::string& path);

// Below, the fingerprint of what was read goes into `origin`, where there is one, under the name as
// it was typed. Each file is read once: it may be a pipe.

// `typed`: the file as the user named it, if not `file`.
std::string read_text_input(const std::string& name, const std::string& file,
                            reports::Origin* origin, const std::string& typed = "");
Json read_input(const std::string& name, const std::string& file, reports::Origin& origin,
                const std::string& typed = "");

// A model file of ours or a Hugging Face config.json.
Model load_model(const std::string& path, reports::Origin* origin = nullptr);
// The same for a service, with the format of the stored weights, and what states it: the
// "quantization_config (fp8)" of a config.json, the "name" of a checkpoint, or the "published
// checkpoint" of a shipped model. Empty: nothing does. A config.json's may be unknown here.
struct ServedModel {
  Model model;
  std::optional<WeightFormat> weights{};
  std::string weights_from{};
};
// `checkpoint`: the name by which a launch asks for a shipped model, if not `path`.
ServedModel load_served_model(const std::string& path, reports::Origin* origin = nullptr,
                              const std::string& checkpoint = "");
// Part of a cluster that may be in a file of its own, next to the cluster or in `folder` of
// configs.
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

// Name of the machine, shown in place of a cluster's file. Empty for a shipped name.
std::string cluster_label(const std::string& path, const Cluster& cluster);
// Reads a cluster file, whose "device" and "framework" may name files next to it, or a measured
// profile. A bare name such as h100-512 is searched in configs/clusters. `not_measured` gets the
// measurements that a profile lacks. `most_gpus` are the most devices that are asked for: a file
// that states a bottleneck, which no message of so many passes, is refused.
Cluster load_cluster(const std::string& path, std::vector<std::string>* not_measured = nullptr,
                     reports::Origin* origin = nullptr, std::optional<int> most_gpus = {});
// A framework file, a name from configs/frameworks, or none: software that nothing is known of.
inline constexpr std::string_view kUnknownSoftware = "none";
Framework load_framework(const std::string& path, reports::Origin* origin = nullptr);
Json read_job(const std::string& path, reports::Origin* origin = nullptr);
// Reads a job. Values that the file does not state are those of `defaults` (Framework::defaults).
Job load_job(const std::string& path, const Job& defaults = {});

// A layout file, or text such as "tp=8,pp=4".
planner::StatedLayout load_stated_layout(const std::string& path_or_text, const Layout& defaults);
// Name of such a layout in messages: its file, or the option.
std::string layout_source(const std::string& path_or_text);

}  // namespace meshwright::app
