// SPDX-License-Identifier: Apache-2.0
#include "app/options/capacity_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "app/files/config_names.h"
#include "app/files/inner_files.h"
#include "app/options/command.h"

namespace meshwright::app {
namespace {

constexpr const char* kGrid = "Grid";
constexpr const char* kMoney = "Money, failures and limits";
constexpr int kMostCounts = 32;
constexpr int kMostClusters = 8;

// Each cluster, and what it names.
std::vector<std::string> cluster_files(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    files.push_back(find_config(name, "clusters"));
    for (std::string& inner : files_in_cluster(name)) files.push_back(std::move(inner));
  }
  return files;
}

CLI::Option* last_counts(CLI::Option* option) {
  return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_grid_options(Command& command, CapacityTexts& texts) {
  CLI::App& options = command.options();
  command.also_reads("--cluster", [&texts] { return cluster_files(texts.clusters); });
  options
      .add_option("--cluster", texts.clusters,
                  "Clusters to compare: files, measured profiles, or names from configs/clusters; "
                  "default: the job's")
      ->delimiter(',')
      ->expected(1, kMostClusters)
      ->group(kGrid);
  options
      .add_option("--gpus", texts.gpus,
                  "GPU counts to compare: 4096,8192,16384; default: the job's, else a quarter to "
                  "four times the first cluster")
      ->delimiter(',')
      ->expected(1, kMostCounts)
      ->check(CLI::Range(1, 10'000'000).description(""))
      ->group(kGrid);
  options
      .add_option("--global-batch-size", texts.global_batch_sizes,
                  "Global batches to compare, in sequences: 512,1024; \"schedule\" is the job's "
                  "schedule, which may stand beside batches; default: the job's")
      ->delimiter(',')
      ->expected(1, kMostCounts)
      ->group(kGrid);
  options
      .add_option("--layout", texts.layouts,
                  "Nothing is searched: this layout for all, or one a phase of the schedule; "
                  "data-parallel ranks fill the GPUs")
      ->group(kGrid);
  options
      .add_option("--what-if", texts.what_ifs,
                  "Every row under changed inputs, as of plan: inter_node_bandwidth=0.5x")
      ->group(kGrid);
  options.add_flag("--rows-only", texts.rows_only, "Without levers and what-ifs")->group(kGrid);
}

}  // namespace

void add_money_options(Command& command, MoneyOptions& money) {
  CLI::App& options = command.options();
  command
      .reads("--prices", money.prices,
             "Prices of GPU-hours: a file or a name from configs/prices; default: the job's",
             "prices")
      ->group(kMoney);
  const auto add = [&](const char* name, std::optional<double>& value, const char* help) {
    last_counts(must_be_positive(options.add_option(name, value, help)))->group(kMoney);
  };
  add("--failure-rate", money.failure_rate,
      "Failures per 1,000 node-days of nodes of 8 GPUs; default: 4, from 2.3 to 6.5, which keeps "
      "its width");
  last_counts(options.add_option("--start", money.start,
                                 "Day on which the run begins, such as 2027-01-04: ends are days "
                                 "of the calendar then"))
      ->group(kMoney);
  last_counts(options.add_option("--deadline", money.deadline,
                                 "Days that 9 of 10 runs must keep to, or with --start a day: "
                                 "2027-03-31"))
      ->group(kMoney);
  add("--budget", money.budget, "Money that 9 of 10 runs must keep to, in the prices' currency");
  add("--max-power", money.max_megawatts, "Megawatts at most");
}

void add_capacity_options(Command& command, CapacityTexts& texts) {
  command.reads("--model", texts.inputs.model,
                "Model: a file of ours, a Hugging Face config.json, or a name from configs/models; "
                "default: the job's",
                "models");
  add_framework_option(command, texts.inputs.framework);
  add_job_options(command, texts.inputs);
  add_grid_options(command, texts);
  add_money_options(command, texts.money);
  CLI::App& options = command.options();
  last_counts(must_be_positive(options.add_option(
                  "--price", texts.money.price,
                  "Price per GPU-hour on every cluster; default: of --prices, else the cluster's")))
      ->group(kMoney);
  last_counts(options.add_option("--max-gpus", texts.max_gpus, "GPUs at most"))
      ->check(CLI::Range(1, 10'000'000).description(""))
      ->group(kMoney);
  options.add_option("--headroom,--memory-headroom", texts.headroom,
                     "Share of the device's memory to leave free; default: 5%, for fragmentation");
  add_space_options(options, texts.space);
}

std::string capacity_command(const Call& call) {
  // Stated with each entry, or no option of `capacity`; each takes the words up to the next option.
  constexpr std::array<std::string_view, 14> kLeftOut{
      "--cluster",  "--gpus",       "--global-batch-size", "--layout",   "--what-if",
      "--out",      "--format",     "--objective",         "--top",      "--ranking-only",
      "--max-step", "--max-memory", "--max-cost",          "--rows-only"};
  return call
      .as("capacity",
          [&](const std::string& option) {
            return std::find(kLeftOut.begin(), kLeftOut.end(), option) == kLeftOut.end();
          })
      .text();
}

}  // namespace meshwright::app
