// SPDX-License-Identifier: Apache-2.0
#include "app/runs/launched_service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "app/files/checkpoint_names.h"
#include "app/files/config_synonym.h"
#include "app/files/files.h"
#include "app/files/serving_files.h"
#include "interop/serving/gone_options.h"
#include "interop/serving/read_serving.h"
#include "interop/shell/shell_cause.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/serving/weights.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

void assume(interop::ServingLaunch& launch, const std::string& field, const std::string& value,
            const std::string& why) {
  launch.assumed.push_back({field, value, why, {}});
}

// The shipped model of a checkpoint's name or folder. Empty: there is none.
std::string shipped_model_of(const std::string& checkpoint) {
  return config_synonym(checkpoint_name(checkpoint), "models");
}

std::string model_of(interop::ServingLaunch& launch, const std::string& stated) {
  if (!stated.empty()) return stated;
  const fs::path config = fs::path(launch.model) / "config.json";
  std::error_code none;
  if (!launch.model.empty() && fs::is_regular_file(config, none)) return config.string();
  const bool known = !launch.model.empty() && !contains(launch.model, "$");
  const std::string found = known ? shipped_model_of(launch.model) : "";
  if (found.empty()) {
    const auto fact = std::find_if(launch.read.begin(), launch.read.end(),
                                   [](const interop::Fact& one) { return one.field == "model"; });
    throw InputError(
        fact == launch.read.end() ? "--model" : fact->place.text(), "",
        fmt::format("no shipped model has the shape of \"{}\"", interop::shortened(launch.model)),
        "pass --model with a name of configs/models or the checkpoint's config.json");
  }
  assume(launch, "model", found, fmt::format("the shape of {}", launch.model));
  return found;
}

template <typename Enum, std::size_t N>
std::optional<Enum> named(const std::array<EnumName<Enum>, N>& names, const std::string& word) {
  for (const auto& entry : names) {
    if (entry.name == word) return entry.value;
  }
  return std::nullopt;
}

WeightFormat weights_of(interop::ServingLaunch& launch, const std::string& stated,
                        const ServedModel& served) {
  if (!stated.empty()) {
    const auto format = named(kWeightFormatNames, stated);
    if (!format) {
      throw InputError("--weights", "", fmt::format("unknown format \"{}\"", stated),
                       "bf16, fp8, fp8_block, mxfp8, int4, mxfp4 or nvfp4");
    }
    return *format;
  }
  // Engines say "fp8" of blocks, too.
  const bool blocks =
      launch.weights == WeightFormat::fp8 && served.weights == WeightFormat::fp8_block;
  if (launch.weights && !blocks) return *launch.weights;
  auto found =
      served.weights ? served.weights : format_in_name(launch.model, served.model.moe.has_value());
  std::string from = served.weights ? served.weights_from : "name";
  // A shipped model states its format where it is published quantized, and names of others do.
  if (!found && served.weights_from.empty() && !launch.quantized_checkpoint &&
      !says_unknown_format(launch.model)) {
    found = WeightFormat::bf16;
    from = shipped_model_of(launch.model).empty() ? "no other format in the name"
                                                  : "published checkpoint";
  }
  if (!found) {
    throw InputError("--weights", "",
                     fmt::format("is required: the launch does not say the format of {}'s weights",
                                 launch.model),
                     "its config.json has quantization_config, or none for bf16");
  }
  assume(launch, "weights", std::string(name_of(*found)),
         fmt::format("{} of {}", from, launch.model));
  return *found;
}

std::string engine_of(interop::ServingLaunch& launch, const std::string& stated) {
  if (!stated.empty()) return stated;
  const std::string kind(name_of(launch.engine));
  std::string found = nearest_engine(kind, launch.engine_version);
  assume(launch, "engine", found,
         launch.engine_version.empty()
             ? "the newest that is shipped: the launch does not say its version"
             : fmt::format("the shipped version nearest to {}", launch.engine_version));
  return found;
}

// KAITO's choice (pkg/model/interface.go): a copy on each GPU if the checkpoint is below half of
// one's memory, else tensor ranks on the GPUs of a node and a stage on each node.
void share_gpus(interop::ServingLaunch& launch, const ServingScenario& s) {
  for (interop::LaunchedPool& pool : launch.pools) {
    if (pool.operator_gpus == 0) continue;
    ReplicaOptions whole = pool.options;
    whole.weights = s.options.weights;
    whole.layout = {};
    const bool small =
        replica_weights(s.model, whole).total() < only_device(s.cluster).memory * 0.5;
    ReplicaLayout& layout = pool.options.layout;
    const bool copies = small && pool.nodes <= 1;
    if (pool.data_by_operator && copies) layout.data_parallel_size = pool.operator_gpus;
    if (pool.tensor_by_operator && !copies) layout.tensor_parallel_size = pool.operator_gpus;
    if (!copies && pool.nodes > 1) layout.pipeline_parallel_size = pool.nodes;
    pool.tensor_by_operator = pool.data_by_operator = false;
    assume(launch, "layout", short_name(layout), "KAITO shares out the GPUs so");
    check_gpus(launch);
  }
}

planner::ServingPool pool_of(const interop::LaunchedPool& launched, const ServingScenario& s) {
  planner::ServingPool pool{launched.options, launched.replicas};
  pool.options.weights = s.options.weights;
  pool.options.role = launched.role;
  ReplicaLayout& layout = pool.options.layout;
  if (!s.model.moe) {
    // Data ranks without experts are replicas that exchange nothing.
    pool.replicas *= layout.data_parallel_size;
    layout.data_parallel_size = 1;
    layout.expert_parallel_size = 1;
  }
  pool.options = with_defaults(pool.options, s.engine, only_device(s.cluster), s.model);
  return pool;
}

void read_load(LaunchedService& service, const LaunchedServiceOptions& o) {
  service.load = service.launch.load;
  const bool stated = o.concurrency || o.rate || o.input || o.output;
  if (!stated) return;
  ServingLoad load = service.load.value_or(ServingLoad{});
  if (o.input || o.output) {
    load.lengths.kind = LengthKind::fixed;
    load.lengths.input = o.input.value_or(load.lengths.input);
    load.lengths.output = o.output.value_or(load.lengths.output);
  }
  if (o.rate) {
    load.kind = LoadKind::open_loop;
    load.request_rate = *o.rate;
  } else if (o.concurrency) {
    load.kind = LoadKind::closed_loop;
    load.concurrency = *o.concurrency;
  } else if (!service.launch.load) {
    throw InputError("--concurrency", "", "is missing: the launch does not say its load",
                     "give --concurrency USERS or --rate REQUESTS_PER_SECOND");
  }
  service.load = load;
}

}  // namespace

bool starts_service(const std::string& file) {
  std::error_code none;
  return !file.empty() && fs::is_regular_file(file, none) &&
         interop::names_serving_engine(read_text_file(file));
}

std::vector<interop::ServingLaunch> read_services(const std::string& file,
                                                  const std::vector<std::string>& variables,
                                                  const std::string& arguments,
                                                  reports::Origin& origin) {
  interop::ShellInputs inputs;
  for (const std::string& text : variables) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError("--set", "", fmt::format("must be NAME=VALUE (got \"{}\")", text));
    }
    inputs.variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (!arguments.empty()) inputs.arguments = split_words(arguments);
  inputs.read = [&](const std::string& name) -> std::optional<std::string> {
    const fs::path beside = fs::path(file).parent_path() / name;
    std::error_code none;
    if (!fs::is_regular_file(beside, none)) return std::nullopt;
    return read_text_input("launch's file", beside.string(), &origin);
  };
  std::vector<interop::ServingLaunch> services(1);
  services.front() = interop::read_serving(read_text_input("launch", file, &origin), file, inputs);
  const std::vector<interop::ServingLaunch> more = std::exchange(services.front().more, {});
  services.insert(services.end(), more.begin(), more.end());
  return services;
}

interop::ServingLaunch read_service(const std::string& file, reports::Origin& origin) {
  std::vector<interop::ServingLaunch> services = read_services(file, {}, "", origin);
  if (services.size() == 1) return std::move(services.front());
  throw InputError(file, "",
                   fmt::format("starts {} services, and one is asked for", services.size()),
                   "give a file with one of them");
}

LaunchedService launched_service(interop::ServingLaunch launch, const LaunchedServiceOptions& o,
                                 reports::Origin& origin) {
  LaunchedService service;
  service.launch = std::move(launch);
  interop::ServingLaunch& l = service.launch;
  ServingScenario& s = service.scenario;
  const ServedModel served = load_served_model(model_of(l, o.model), &origin, l.model);
  s.model = served.model;
  if (!has_kv_layout(s.model)) {
    throw InputError("--model", "", "has no known key-value layout");
  }
  s.cluster = load_serving_cluster(o.cluster, &origin);
  service.cluster_name = fs::path(o.cluster).stem().string();
  s.engine = load_engine(engine_of(l, o.engine), &origin);
  if (s.engine.kind != l.engine) {
    throw InputError("--engine", "",
                     fmt::format("must be a version of {} (got {})", interop::title_of(l.engine),
                                 s.engine.name));
  }
  if (l.async_scheduling && *l.async_scheduling != s.engine.host.overlapped) {
    s.engine = with_overlap(s.engine, *l.async_scheduling);
    assume(l, "host", "another version's",
           "host times of the nearest shipped version that schedules so");
  }
  s.options.weights = usual_scheme(weights_of(l, o.weights, served), s.model);
  share_gpus(l, s);
  if (!l.kv_cache_said) assume(l, "kv_cache", "bf16", "the launch does not say it: the model's");
  for (const interop::LaunchedPool& launched : l.pools) {
    int& positions = s.model.max_position_embeddings;
    if (l.longer_positions) positions = std::max(positions, launched.options.max_model_len);
    s.engine.custom_all_reduce = s.engine.custom_all_reduce && launched.custom_all_reduce;
    if (launched.graph_max_batch > 0 && launched.role != interop::PoolRole::prefill) {
      s.engine.graph_max_batch = launched.graph_max_batch;
      for (EngineTier& tier : s.engine.tiers) tier.graph_max_batch = 0;
    }
  }
  for (const interop::LaunchedPool& launched : l.pools) {
    planner::ServingPool pool = pool_of(launched, s);
    if (launched.role == interop::PoolRole::prefill && l.pools.size() > 1) {
      service.deployment.prefill = pool;
    } else {
      service.deployment.pool = pool;
      s.options.kv_cache = pool.options.kv_cache;
    }
  }
  read_load(service, o);
  return service;
}

std::string why_no_start(const interop::ServingLaunch& launch, const std::string& engine) {
  std::vector<std::string> reasons;
  const auto add = [&](const interop::Place& place, const std::string& said, std::string why) {
    const std::string line = place.line > 0 ? fmt::format("line {}: ", place.line) : "";
    reasons.push_back(fmt::format("{}{}: {}.", line, said, why));
  };
  for (const interop::NotUnderstood& one : launch.cannot_start) add(one.place, one.said, one.why);
  const bool is_said = engine.empty() && interop::is_at_least(launch.engine_version, "0");
  const auto version = [&] {
    if (is_said) return launch.engine_version;
    return load_engine(engine.empty() ? nearest_engine(std::string(name_of(launch.engine)), "")
                                      : engine)
        .version;
  };
  bool any = false;
  for (const interop::GoneOption& one : launch.gone) {
    if (!interop::is_at_least(version(), one.release)) continue;
    any = true;
    add(one.place, one.said,
        fmt::format("{} {} has no such option, which was gone by {}",
                    interop::title_of(launch.engine), version(), one.release));
  }
  if (any && !is_said && engine.empty()) {
    reasons.emplace_back(
        "The launch does not say its version, and the newest shipped one is taken; "
        "--engine names another.");
  }
  return fmt::format("{}", fmt::join(reasons, " "));
}

}  // namespace meshwright::app
