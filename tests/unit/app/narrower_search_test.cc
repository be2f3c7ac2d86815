// SPDX-License-Identifier: Apache-2.0
// No restriction of the searched axes makes the best answer more than 1 % faster, for every shipped
// model on every shipped cluster: one pair of 11 with every change, all in the night.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "app/files/files.h"
#include "planner/search/search_layouts.h"
#include "sim/layout/short_name.h"
#include "tests/paths.h"

namespace meshwright::planner {
namespace {

std::vector<std::string> shipped(const std::string& folder) {
  namespace fs = std::filesystem;
  std::set<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/" + folder)) {
    names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

// Few GPUs, so that memory binds and the night is long enough.
Scenario scenario_of(const std::string& model, const std::string& cluster_name) {
  constexpr int kGpus = 32;
  Cluster cluster = app::load_cluster(cluster_name);
  cluster.num_nodes = std::clamp(kGpus / cluster.gpus_per_node, 1, cluster.num_nodes);
  Job job = cluster.framework.defaults.job;
  job.global_batch_size = 64;
  return {app::load_model(model), cluster, job};
}

struct Restriction {
  std::string_view name;
  void (*narrow)(SearchSpace&);
};

constexpr Restriction kNoTensorNoStages{"--tp 1 --pp 1 --zero 3", [](SearchSpace& space) {
                                          space[&Layout::tensor_parallel_size] = {1};
                                          space[&Layout::pipeline_parallel_size] = {1};
                                          space[&Layout::zero_stage] = {3};
                                        }};

template <auto field, auto value>
constexpr auto only = [](SearchSpace& space) { space[field] = {value}; };
constexpr std::array kRestrictions{
    Restriction{"--pp 4", only<&Layout::pipeline_parallel_size, 4>},
    Restriction{"--recompute none",
                only<&Layout::recompute_granularity, RecomputeGranularity::none>},
    Restriction{"--tp 2", only<&Layout::tensor_parallel_size, 2>},
    Restriction{"--optimizer-offload true", only<&Layout::optimizer_offload, true>},
    Restriction{"--pp 2", only<&Layout::pipeline_parallel_size, 2>},
    Restriction{"--mbs 2", only<&Layout::micro_batch_size, 2>},
    Restriction{"--recompute full",
                only<&Layout::recompute_granularity, RecomputeGranularity::full>},
    Restriction{"--pp 8", only<&Layout::pipeline_parallel_size, 8>},
    Restriction{"--zero 0", only<&Layout::zero_stage, 0>},
    Restriction{"--tp 8", only<&Layout::tensor_parallel_size, 8>},
    Restriction{"--sp false", only<&Layout::sequence_parallel, false>}};

TEST(NarrowerSearch, IsNeverFaster) {
  const bool all = std::getenv("MESHWRIGHT_NIGHTLY") != nullptr;
  constexpr std::size_t kOneOf = 47, kOfEach = 2;  // prime: models meet other clusters
  // Something on the host, or uneven stages, count from 1 % on.
  constexpr double kLeast = 0.99 - 1e-9;
  std::size_t pair = 0;
  int compared = 0, on_host = 0, uneven = 0;
  for (const std::string& model : shipped("models")) {
    for (const std::string& cluster : shipped("clusters")) {
      const std::size_t number = pair++;
      if (!all && number % kOneOf != 0) continue;
      const Scenario scenario = scenario_of(model, cluster);
      SearchOptions options;
      options.tables = shared_tables(scenario);
      const Bytes limit = usable_memory(scenario, options);
      const auto best = fastest_layout(scenario, options, limit);
      if (best) {
        on_host += best->layout.optimizer_offload || offloads_activations(best->layout) ? 1 : 0;
        uneven += best->layout.pipeline_layout ? 1 : 0;
      }
      std::vector<Restriction> restrictions{kNoTensorNoStages};
      for (std::size_t i = 0; i < (all ? kRestrictions.size() : kOfEach); ++i) {
        restrictions.push_back(kRestrictions[(number / kOneOf + i) % kRestrictions.size()]);
      }
      for (const Restriction& restriction : restrictions) {
        SearchOptions narrow = options;
        restriction.narrow(narrow.space);
        const auto found = fastest_layout(scenario, narrow, limit);
        if (!found) continue;
        ASSERT_TRUE(best) << model << " on " << cluster << " " << restriction.name;
        EXPECT_GE(found->step_time, best->step_time * kLeast)
            << model << " on " << cluster << " " << restriction.name << ": "
            << short_name(found->layout) << " is faster than " << short_name(best->layout);
        ++compared;
      }
    }
  }
  fmt::print("{} compared, {} of the best on the host, {} uneven\n", compared, on_host, uneven);
  EXPECT_GT(compared, 200);
  EXPECT_GT(on_host, 0);
  EXPECT_GT(uneven, 0);
}

}  // namespace
}  // namespace meshwright::planner
