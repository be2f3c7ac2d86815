// SPDX-License-Identifier: Apache-2.0
// Every value of every shipped config is replaced by values that do not belong there. A reader
// either takes the file or refuses it with one message that names it: no crash, no other exception,
// no hang. What a reader took, estimate() answers with finite numbers or a reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "app/files/files.h"
#include "sim/base/error.h"
#include "sim/json/records.h"
#include "sim/json/serving_records.h"
#include "sim/record/without_key.h"
#include "sim/step/estimate.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;
std::vector<std::string> configs(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(app::configs_directory() + "/" + folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

const std::vector<Json>& intruders() {
  static const std::vector<Json> values{nullptr,
                                        true,
                                        -1,
                                        0,
                                        1,
                                        3,
                                        2147483648LL,
                                        9.3e18,
                                        1e308,
                                        1e-308,
                                        "",
                                        "8",
                                        "</script>\u2028",
                                        Json::array(),
                                        Json::array({1, "x"}),
                                        Json::object(),
                                        {{"a", 1}}};
  return values;
}

// Calls `visit` with each copy of `whole` in which one value is another, missing, or joined by an
// unknown neighbour.
void for_each_mutation(const Json& whole,
                       const std::function<void(const Json&, const std::string&)>& visit) {
  const Json flat = whole.flatten();
  for (const auto& [path, value] : flat.items()) {
    const Json::json_pointer pointer(path);
    for (const Json& intruder : intruders()) {
      Json copy = whole;
      copy[pointer] = intruder;
      visit(copy, fmt::format("{} = {}", path, intruder.dump()));
    }
    Json copy = whole;
    Json& parent = copy[pointer.parent_pointer()];
    if (!parent.is_object()) continue;
    parent = without_key(parent, pointer.back());
    visit(copy, path + " missing");
    parent["no_such_key"] = 1;
    visit(copy, path + " with an unknown neighbour");
  }
}

bool finite(const Outcome& outcome) {
  const auto* estimate = std::get_if<Estimate>(&outcome);
  return estimate == nullptr ||
         (std::isfinite(estimate->step_time.value()) && estimate->step_time.value() > 0.0 &&
          std::isfinite(estimate->peak_memory().value()));
}

// A file without what training does not read: hundreds of rows of inference kernels. Each file is
// read once for its thousands of mutations.
const Json& read_for_training(const std::string& path) {
  static std::map<std::string, Json> known;
  const auto [entry, fresh] = known.try_emplace(path);
  if (!fresh) return entry->second;
  const Json whole = app::read_json_file(path);
  return entry->second = whole.contains("inference") ? without_key(whole, "inference") : whole;
}

template <typename Read>
void mutate(const Json& whole, const std::string& file, const Read& read_and_use) {
  for_each_mutation(whole, [&](const Json& mutated, const std::string& what) {
    SCOPED_TRACE(file + ": " + what);
    try {
      read_and_use(mutated, file);
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "not an input error: " << error.what();
    }
  });
}

// Reads every mutation of the folder's files; `use` puts what was read to use.
template <typename Read, typename Use>
void mutate_folder(const std::string& folder, const Read& read, const Use& use) {
  for (const std::string& path : configs(folder)) {
    const std::string file = fs::path(path).filename().string();
    mutate(read_for_training(path), file,
           [&](const Json& mutated, const std::string& name) { use(read(mutated, name)); });
  }
}

Layout small_layout() {
  Layout layout;
  layout.tensor_parallel_size = 2;
  layout.data_parallel_size = 4;
  layout.sequence_parallel = true;
  layout.zero_stage = 1;
  return layout;
}

TEST(ConfigMutation, AModelIsReadOrRefusedAndEstimatedFinitely) {
  const Cluster cluster = scaled_to(app::load_cluster("h100-8"), 8);
  const Job job = app::load_job("pretrain-4k");
  mutate_folder(
      "models", [](const Json& j, const std::string& file) { return model_from_json(j, file); },
      [&](const Model& model) {
        if (model.num_layers > 1000)
          return;  // legal, but a sweep of those takes a night of its own
        EXPECT_TRUE(finite(estimate({model, cluster, job}, small_layout())));
      });
}

TEST(ConfigMutation, AJobIsReadOrRefusedAndEstimatedFinitely) {
  const Cluster cluster = scaled_to(app::load_cluster("h100-8"), 8);
  const Model model = app::load_model("llama-2-7b");
  mutate_folder(
      "jobs", [](const Json& j, const std::string& file) { return job_from_json(j, file); },
      [&](const Job& job) {
        EXPECT_TRUE(finite(estimate({model, cluster, job}, small_layout())));
      });
}

TEST(ConfigMutation, AClusterIsReadOrRefusedAndEstimatedFinitely) {
  const Model model = app::load_model("llama-2-7b");
  const Job job = app::load_job("pretrain-4k");
  const fs::path folder = fs::path(app::configs_directory()) / "clusters";
  mutate_folder(
      "clusters",
      [&](const Json& j, const std::string& file) {
        Json whole = j;
        for (const char* part : {"device", "framework"}) {
          if (!j.is_object() || !j.contains(part) || !j[part].is_string()) continue;
          const fs::path path = folder / j[part].get<std::string>();
          if (fs::is_regular_file(path)) whole[part] = read_for_training(path.string());
        }
        return cluster_from_json(whole, file);
      },
      [&](const Cluster& cluster) {
        if (cluster.num_gpus() % 8 != 0) return;
        EXPECT_TRUE(finite(estimate({model, cluster, job}, small_layout())));
      });
}

TEST(ConfigMutation, ADeviceIsReadOrRefusedAndEstimatedFinitely) {
  const Model model = app::load_model("llama-2-7b");
  const Job job = app::load_job("pretrain-4k");
  Cluster cluster = scaled_to(app::load_cluster("h100-8"), 8);
  mutate_folder(
      "hardware", [](const Json& j, const std::string& file) { return device_from_json(j, file); },
      [&](const Device& device) {
        cluster.device = device;
        EXPECT_TRUE(finite(estimate({model, cluster, job}, small_layout())));
      });
}

// One row of each list is enough: the rows of a list are read alike.
TEST(ConfigMutation, ARateOfInferenceKernelsIsReadOrRefused) {
  Json rates = app::read_json_file(app::configs_directory() + "/hardware/h100-sxm-80gb.json")
                   .at("inference");
  for (Json& list : rates) {
    if (list.is_array()) list = Json::array({list.at(0)});
  }
  ASSERT_GE(rates.size(), 6U);
  mutate(rates, "h100-sxm-80gb.json", [](const Json& mutated, const std::string& file) {
    inference_rates_from_json(mutated, file, "");
  });
}

}  // namespace
}  // namespace meshwright
