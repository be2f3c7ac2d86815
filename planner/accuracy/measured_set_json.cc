// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/measured_set_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "planner/accuracy/unstated.h"
#include "sim/json/records.h"
#include "sim/record/reader.h"
#include "sim/record/without_key.h"

namespace meshwright::planner {
namespace {

constexpr std::string_view kSetSchema = "meshwright.measurements/1";
constexpr std::size_t kMostRuns = 10'000;

StatedKeys keys_of(const Json& json) {
  StatedKeys keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  return keys;
}

// This format says "recompute" and "zb-h1" where a layout file says recompute_granularity and
// zb_h1.
Json in_our_words(Json layout) {
  if (!layout.is_object()) return layout;
  if (layout.contains("recompute")) {
    const Json granularity = layout["recompute"];
    layout["recompute_granularity"] = granularity;
    layout = without_key(std::move(layout), "recompute");
  }
  if (layout.contains("schedule") && layout["schedule"].is_string()) {
    auto name = layout["schedule"].get<std::string>();
    std::replace(name.begin(), name.end(), '-', '_');
    layout["schedule"] = name;
  }
  return layout;
}

class RunReader {
 public:
  RunReader(const std::string& file, const NamedRecords& named, const MeasuredWhere& where)
      : file_(file), named_(named), where_(where) {}

  MeasuredRun read(const Json& json, const std::string& pointer) {
    ObjectReader reader(json, file_, pointer);
    MeasuredRun run;
    run.id = reader.required_string("id");
    run.group = reader.required_string("group");
    run.source = reader.optional_string("source", "");
    run.model = model(reader);
    const int gpus = reader.required_int("gpus");
    const Cluster stated = cluster(reader);
    run.cluster = scaled_to(where_.cluster ? *where_.cluster : stated, gpus);
    read_framework(reader, run.cluster);
    run.job = job(reader, run);
    run.layout = layout(reader, run, gpus);
    read_measured(run, reader.required_object("measured"));
    reader.finish();
    return run;
  }

 private:
  // A file that a run names; when it is wrong, the run is named, too.
  template <typename Load>
  static auto load_named(const ObjectReader& run, const char* key, const std::string& name,
                         const Load& load) {
    try {
      return load(name);
    } catch (const InputError& error) {
      run.fail(key, error.what(), error.hint());
    }
  }

  [[nodiscard]] Model model(ObjectReader& run) const {
    const Json& json = run.member("model");
    if (json.is_string()) return load_named(run, "model", json.get<std::string>(), named_.model);
    return named_.inline_model(json, run.file(), run.pointer_to("model"));
  }

  Cluster cluster(ObjectReader& run) {
    const Json& json = run.member("cluster");
    if (!json.is_string()) return cluster_from_json(json, run.file(), run.pointer_to("cluster"));
    const auto name = json.get<std::string>();
    const auto found = clusters_.find(name);
    if (found != clusters_.end()) return found->second;
    return clusters_.emplace(name, load_named(run, "cluster", name, named_.cluster)).first->second;
  }

  // The run's own framework, or its cluster's.
  void read_framework(ObjectReader& run, Cluster& cluster) const {
    if (run.has("framework") || where_.framework) cluster.framework_assumed = false;
    if (run.has("framework")) {
      const std::string name = run.required_string("framework");
      if (!where_.framework) {
        cluster.framework = load_named(run, "framework", name, named_.framework);
      }
    }
    if (where_.framework) cluster.framework = *where_.framework;
  }

  static Job job(ObjectReader& run, const MeasuredRun& read) {
    const Json& json = run.member("job");
    const Job job =
        job_from_json(json, run.file(), run.pointer_to("job"), read.cluster.framework.defaults.job);
    return with_unstated(job, keys_of(json), read.model);
  }

  static Layout layout(ObjectReader& run, const MeasuredRun& read, int gpus) {
    const Json json = in_our_words(run.member("layout"));
    const Layout layout = layout_from_json(json, run.file(), run.pointer_to("layout"),
                                           read.cluster.framework.defaults.layout);
    return with_unstated(layout, keys_of(json), read.model, read.job, gpus);
  }

  static void read_measured(MeasuredRun& run, ObjectReader measured) {
    constexpr NumberRange kPositive{0.0, 1e300, true};
    run.status = measured.optional_enum("status", RunStatus::ok, kRunStatusNames);
    if (measured.has("step_seconds")) {
      run.step_time = seconds(measured.required_number("step_seconds", kPositive));
    }
    if (measured.has("peak_memory_bytes")) {
      run.peak_memory = bytes(measured.required_number("peak_memory_bytes", kPositive));
    }
    measured.finish();
  }

  const std::string& file_;
  const NamedRecords& named_;
  const MeasuredWhere& where_;
  std::map<std::string, Cluster> clusters_;
};

}  // namespace

MeasuredSet measured_set_from_json(const Json& json, const std::string& file,
                                   const NamedRecords& named, const MeasuredWhere& where) {
  ObjectReader reader(json, file);
  const std::string schema = reader.required_string("schema");
  if (schema != kSetSchema) {
    reader.fail("schema", fmt::format("must be \"{}\", is \"{}\"", kSetSchema, schema));
  }
  MeasuredSet set;
  set.name = reader.required_string("name");
  set.source = reader.optional_string("source", "");
  set.assumed = reader.optional_string("assumed", "");
  const Json& runs = reader.required_array("runs");
  if (runs.size() > kMostRuns) {
    reader.fail("runs", fmt::format("holds {} runs; at most {} are read", runs.size(), kMostRuns));
  }
  RunReader run_reader(file, named, where);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    set.runs.push_back(run_reader.read(runs[i], fmt::format("/runs/{}", i)));
  }
  reader.finish();
  return set;
}

}  // namespace meshwright::planner
