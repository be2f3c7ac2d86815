// SPDX-License-Identifier: Apache-2.0
#include "app/files/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/console/terminal.h"
#include "app/files/checkpoint_names.h"
#include "app/files/config_names.h"
#include "calibrate/imported/database.h"
#include "interop/huggingface.h"
#include "interop/huggingface_weights.h"
#include "reports/records/sha256.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/base/utf8.h"
#include "sim/json/layout_line.h"
#include "sim/json/records.h"
#include "sim/json/serving_records.h"
#include "sim/record/parse.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMebibyte = 1'048'576;
constexpr std::uintmax_t kLargestInput = 64 * kMebibyte;
constexpr std::uintmax_t kLargestDatabase = 1024 * kMebibyte;
constexpr int kLongestSilenceSeconds = 5;

std::vector<std::string> names_beside(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

void check_readable(const std::string& path, std::uintmax_t largest = kLargestInput) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) {
    throw InputError(path, "", fmt::format("cannot be read: {}", error.message()));
  }
  if (!fs::exists(status)) {
    throw InputError(path, "", "no such file",
                     did_you_mean(fs::path(path).filename().string(), names_beside(path)));
  }
  if (fs::is_directory(status)) throw InputError(path, "", "is a directory; expected a JSON file");
  if (!fs::is_regular_file(status)) return;  // a pipe has no size
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > largest) {
    throw InputError(path, "",
                     fmt::format("is too large (got {} MiB; expected at most {} MiB)",
                                 size / kMebibyte, largest / kMebibyte));
  }
}

// Older profiles hold a guess, from memory bandwidth, in place of a link that was not measured.
Cluster without_guesses(Cluster cluster) {
  for (Link* link : {&cluster.intra_node, &cluster.inter_node}) {
    if (link->provenance == Provenance::assumed && link->curves.empty()) *link = Link{};
  }
  return cluster;
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const auto& text : list) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

[[noreturn]] void fail_read(const std::string& path) {
  throw InputError(path, "", fmt::format("cannot be read: {}", std::strerror(errno)));
}

// An open file, closed at the end. Opening a pipe that nobody writes to would never return without
// O_NONBLOCK.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (file_ < 0) fail_read(path);
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // The next bytes; 0 at the end.
  std::size_t read(char* buffer, std::size_t size) const {
    wait();
    const ssize_t got = ::read(file_, buffer, size);
    if (got < 0) fail_read(path_);
    return static_cast<std::size_t>(got);
  }

 private:
  void wait() const {
    pollfd waited{.fd = file_, .events = POLLIN, .revents = 0};
    if (::poll(&waited, 1, 1000 * kLongestSilenceSeconds) != 0) return;
    throw InputError(
        path_, "",
        fmt::format("timed out: this pipe sent nothing for {} s", kLongestSilenceSeconds),
        "start the writer first, or use a file");
  }

  const std::string& path_;
  int file_;
};

void check_text(const std::string& text, const std::string& path) {
  const auto wrong = first_byte_not_utf8(text);
  if (!wrong) return;
  const auto lines =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*wrong), '\n');
  throw InputError(path, "",
                   fmt::format("line {}: byte 0x{:02x} is not UTF-8 text", lines + 1,
                               static_cast<unsigned char>(text[*wrong])),
                   "save the file as UTF-8");
}

// Largest size of a file that begins so.
std::uintmax_t largest_of(const std::string& start) {
  return calibrate::is_database(start) ? kLargestDatabase : kLargestInput;
}

std::string read_bytes(const std::string& path, bool may_be_database) {
  check_readable(path, may_be_database ? kLargestDatabase : kLargestInput);
  const OpenFile file(path);
  std::string bytes;
  char buffer[65536];
  while (const std::size_t got = file.read(buffer, sizeof buffer)) {
    bytes.append(buffer, got);
    const std::uintmax_t largest = may_be_database ? largest_of(bytes) : kLargestInput;
    if (bytes.size() > largest) {
      throw InputError(path, "", fmt::format("is larger than {} MiB", largest / kMebibyte));
    }
  }
  return bytes;
}

}  // namespace

std::string read_text_file(const std::string& path) {
  std::string text = read_bytes(path, false);
  check_text(text, path);
  return text;
}

std::string read_measurements(const std::string& path) {
  std::string bytes = read_bytes(path, true);
  if (!calibrate::is_database(bytes)) check_text(bytes, path);
  return bytes;
}

Json read_json_file(const std::string& path) { return parse_json(read_text_file(path), path); }

std::string read_text_input(const std::string& name, const std::string& file,
                            reports::Origin* origin, const std::string& typed) {
  std::string text = read_text_file(file);
  if (origin == nullptr) return text;
  const std::string& as_named = typed.empty() ? file : typed;
  const auto is_known = [&](const reports::InputFile& known) {
    return known.name == name && known.file == as_named;
  };
  if (std::none_of(origin->inputs.begin(), origin->inputs.end(), is_known)) {
    origin->inputs.push_back({.name = name, .file = as_named, .sha256 = reports::sha256(text)});
  }
  return text;
}

Json read_input(const std::string& name, const std::string& file, reports::Origin& origin,
                const std::string& typed) {
  return parse_json(read_text_input(name, file, &origin, typed), file);
}

namespace {

using Parse = Json (*)(const std::string& text, const std::string& file);

Json read_named(const char* name, const std::string& typed, const std::string& file,
                reports::Origin* origin, Parse parse = parse_json) {
  return parse(read_text_input(name, file, origin, typed), file);
}

// A Hugging Face config.json may hold Python's Infinity and NaN; a file of ours may not.
Json parse_model(const std::string& text, const std::string& file) {
  const std::string numbers = interop::without_non_numbers(text);
  if (numbers == text) return parse_json(text, file);
  Json config = parse_json(numbers, file);
  return interop::looks_like_huggingface(config) ? config : parse_json(text, file);
}

enum class ModelUse : std::uint8_t { training, service };

// ModelOpt writes what a config.json leaves out into hf_quant_config.json beside it.
void add_quantization_beside(const std::string& file, Json& config, reports::Origin* origin) {
  const fs::path beside = fs::path(file).parent_path() / "hf_quant_config.json";
  std::error_code none;
  if (!fs::is_regular_file(beside, none)) return;
  const Json said = read_named("quantization", beside.string(), beside.string(), origin);
  const Json quantization = said.is_object() ? said.value("quantization", Json()) : Json();
  if (quantization.is_object()) config["quantization_config"] = quantization;
}

ServedModel read_model(const std::string& path, ModelUse use, reports::Origin* origin,
                       const std::string& checkpoint = "") {
  const std::string file = require_config(path, "models");
  Json json = read_named("model", path, file, origin, parse_model);
  const bool foreign = interop::looks_like_huggingface(json);
  if (foreign && !json.contains("quantization_config")) add_quantization_beside(file, json, origin);
  ServedModel read{
      foreign ? interop::model_from_huggingface(json, file) : model_from_json(json, file), {}};
  if (read.model.name.empty()) read.model.name = fs::path(file).stem().string();
  if (!foreign) {
    if (file != path) {  // shipped
      read.weights = format_in_name(checkpoint, read.model.moe.has_value());
      const int positions = positions_in_name(checkpoint);
      if (positions > 0) read.model.max_position_embeddings = positions;
    }
    read.weights_from = read.weights ? "name" : "";
    if (!read.weights) read.weights = checkpoint_weights_from_json(json, file);
    if (read.weights && read.weights_from.empty()) read.weights_from = "published checkpoint";
    return read;
  }
  const bool trains = use == ModelUse::training;
  const std::string left_out = trains ? interop::not_modelled_of_huggingface(json)
                                      : interop::not_modelled_layers_of_huggingface(json);
  if (!left_out.empty()) say("{}: {}\n", path, left_out);
  const interop::StoredWeights stored = interop::stored_weights_of_huggingface(json);
  read.weights = stored.format;
  if (!stored.method.empty()) {
    read.weights_from = fmt::format("quantization_config ({})", stored.method);
  }
  return read;
}

}  // namespace

Model load_model(const std::string& path, reports::Origin* origin) {
  return read_model(path, ModelUse::training, origin).model;
}

ServedModel load_served_model(const std::string& path, reports::Origin* origin,
                              const std::string& checkpoint) {
  return read_model(path, ModelUse::service, origin, checkpoint.empty() ? path : checkpoint);
}

namespace {

// "h100" of "../hardware/h100.json".
std::string shipped_name(const std::string& name) {
  const fs::path path(name);
  return path.extension() == ".json" ? path.stem().string() : path.filename().string();
}

}  // namespace

std::string file_of_part(const std::string& name, const ClusterPart& part,
                         const std::string& cluster_file) {
  const fs::path beside = fs::path(cluster_file).parent_path() / name;
  std::error_code none;
  if (fs::is_regular_file(beside, none)) return beside.string();
  return find_config(shipped_name(name), part.folder);
}

namespace {

// The part is neither beside the cluster's file nor shipped.
[[noreturn]] void fail_part(const std::string& name, const ClusterPart& part,
                            const std::string& cluster_file) {
  const std::string stem = shipped_name(name);
  const std::vector<std::string> names = config_names(part.folder);
  const fs::path beside = fs::path(cluster_file).parent_path() / name;
  const std::string near = did_you_mean(stem, names);
  throw InputError(cluster_file, fmt::format("/{}", part.key),
                   fmt::format("\"{}\" not found: there is no file {}, and configs/{} has no {}",
                               name, beside.lexically_normal().string(), part.folder, stem),
                   fmt::format("{}use a path relative to this file, or a shipped name: {}",
                               near.empty() ? "" : near + " Or ", fmt::join(names, ", ")));
}

template <typename Check>
void read_part(Json& cluster, const ClusterPart& part, const std::string& file,
               const Check& check) {
  if (!cluster.is_object() || !cluster.contains(part.key) || !cluster[part.key].is_string()) return;
  const auto name = cluster[part.key].get<std::string>();
  const std::string from = file_of_part(name, part, file);
  std::error_code none;
  if (!fs::exists(from, none)) fail_part(name, part, file);
  try {
    cluster[part.key] = read_json_file(from);
    check(cluster[part.key], from);
  } catch (const InputError& error) {
    throw InputError(file, fmt::format("/{}", part.key), error.what(), error.hint());
  }
}

// A host's name alone says little: "AMD EPYC (host node1)".
Cluster with_machine_name(Cluster cluster, const Json& profile) {
  const Json machine = profile.value("machine", Json::object());
  const std::string host = machine.value("host", ""), cpu = machine.value("cpu", "");
  const bool by_host = only_device(cluster).kind == DeviceKind::cpu && cluster.name == host;
  if (by_host && !cpu.empty()) cluster.name = fmt::format("{} (host {})", cpu, host);
  return cluster;
}

}  // namespace

std::string cluster_label(const std::string& path, const Cluster& cluster) {
  const bool is_path = path.find('/') != std::string::npos || path.ends_with(".json");
  return is_path ? cluster.name : "";
}

namespace {

// A bottleneck that no message passes, on as many devices as are asked for, would change nothing.
void refuse_unused_switches(const Cluster& stated, int most_gpus, const std::string& file) {
  const Cluster c = most_gpus > stated.num_gpus() ? scaled_to(stated, most_gpus) : stated;
  const auto refuse = [&](const char* key, double ratio, const char* switches, const char* nodes,
                          int below) {
    throw InputError(
        file, fmt::format("/{}", key),
        fmt::format("is {}, but all {} nodes are below one {} ({} {}): it has no effect",
                    number_text(ratio, 4), c.num_nodes, switches, nodes, below),
        fmt::format("lower {}, or leave {} out", nodes, key));
  };
  if (c.spine_oversubscription > 1.0 && c.num_leaf_blocks() == 1) {
    refuse("spine_oversubscription", c.spine_oversubscription, "leaf switch", "nodes_per_leaf",
           c.nodes_per_leaf);
  }
  if (c.core_oversubscription > 1.0 && c.num_pods() == 1) {
    refuse("core_oversubscription", c.core_oversubscription, "set of spine switches",
           "nodes_per_pod", c.nodes_per_pod);
  }
}

}  // namespace

Cluster load_cluster(const std::string& path, std::vector<std::string>* not_measured,
                     reports::Origin* origin, std::optional<int> most_gpus) {
  const std::string file = require_config(path, "clusters");
  Json json = read_named("cluster", path, file, origin);
  if (json.is_object() && json.contains("schema") && json["schema"] == "meshwright.profile/1") {
    if (not_measured != nullptr && json.contains("not_measured")) {
      *not_measured = texts_of(json["not_measured"]);
    }
    ObjectReader profile(json, file);
    return with_machine_name(
        without_guesses(cluster_from_json(profile.member("cluster"), file, "/cluster")), json);
  }
  read_part(json, kDevicePart, file,
            [](const auto& part, const auto& from) { device_from_json(part, from); });
  read_part(json, kFrameworkPart, file,
            [](const auto& part, const auto& from) { framework_from_json(part, from); });
  Cluster cluster = cluster_from_json(json, file);
  if (cluster.name.empty()) cluster.name = fs::path(file).stem().string();
  if (most_gpus) refuse_unused_switches(cluster, *most_gpus, file);
  return cluster;
}

Framework load_framework(const std::string& path, reports::Origin* origin) {
  if (path == kUnknownSoftware) return {};
  const std::string file = require_config(path, "frameworks");
  Framework framework = framework_from_json(read_named("framework", path, file, origin), file);
  if (framework.name.empty()) framework.name = fs::path(file).stem().string();
  return framework;
}

Json read_job(const std::string& path, reports::Origin* origin) {
  return read_named("job", path, require_config(path, "jobs"), origin);
}

Job load_job(const std::string& path, const Job& defaults) {
  return job_from_json(read_job(path), find_config(path, "jobs"), "", defaults);
}

namespace {

bool is_layout_file(const std::string& path_or_text) {
  return path_or_text.find('=') == std::string::npos && contains(path_or_text, ".json");
}

}  // namespace

std::string layout_source(const std::string& path_or_text) {
  return is_layout_file(path_or_text) ? path_or_text : "--layout";
}

planner::StatedLayout load_stated_layout(const std::string& path_or_text, const Layout& defaults) {
  if (!is_layout_file(path_or_text)) {
    LayoutLine line = layout_line_from_text(path_or_text, defaults);
    return {line.layout, std::move(line.fields)};
  }
  const Json json = read_json_file(path_or_text);
  planner::StatedLayout stated{layout_from_json(json, path_or_text, "", defaults), {}};
  for (const auto& [key, value] : json.items()) stated.fields.push_back(key);
  return stated;
}

}  // namespace meshwright::app
