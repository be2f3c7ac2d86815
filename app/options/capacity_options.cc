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
                  "Clusters to compare, separated by commas: files, profiles, or names from "
                  "configs/clusters. Default: the job's")
      ->delimiter(',')
      ->expected(1, kMostClusters)
      ->group(kGrid);
  options
      .add_option("--gpus", texts.gpus,
                  "GPU counts to compare, for example 4096,8192. Counts between them are tried "
                  "where a limit lies there. Default: the job's, else a quarter to four times the "
                  "first cluster")
      ->delimiter(',')
      ->expected(1, kMostCounts)
      ->check(CLI::Range(1, 10'000'000).description(""))
      ->group(kGrid);
  options
      .add_option("--global-batch-size", texts.global_batch_sizes,
                  "Global batch sizes to compare, in sequences, for example 512,1024. "
                  "\"schedule\" is the job's batch schedule. Default: the job's")
      ->delimiter(',')
      ->expected(1, kMostCounts)
      ->group(kGrid);
  options
      .add_flag("--fixed-gpus", texts.fixed_gpus,
                "Only the counts of --gpus. Default: counts around a limit are tried, too")
      ->group(kGrid);
  options
      .add_flag("--fixed-batch", texts.fixed_batch,
                "Keep the batch on every count. Default: a count that does not divide it takes a "
                "multiple near it")
      ->group(kGrid);
  options
      .add_option("--layout", texts.layouts,
                  "Skip the search and use this layout for every row, or one layout per batch "
                  "phase. The data-parallel size is set to use all GPUs")
      ->group(kGrid);
  options
      .add_option("--what-if", texts.what_ifs,
                  "Also compute every row with a changed input, for example "
                  "inter_node_bandwidth=0.5x")
      ->group(kGrid);
  options.add_flag("--rows-only", texts.rows_only, "Skip levers and what-ifs")->group(kGrid);
}

}  // namespace

void add_money_options(Command& command, MoneyOptions& money) {
  CLI::App& options = command.options();
  command
      .reads("--prices", money.prices,
             "Price list: a file or a name from configs/prices. Default: the job's", "prices")
      ->group(kMoney);
  const auto add = [&](const char* name, std::optional<double>& value, const char* help) {
    last_counts(must_be_positive(options.add_option(name, value, help)))->group(kMoney);
  };
  add("--failure-rate", money.failure_rate,
      "Failures per 1,000 node-days, for nodes of 8 GPUs. A stated rate keeps the "
      "relative interval of the default. Default: 4 (2.3 to 6.5)");
  add("--restart-time", money.restart_time,
      "Seconds from a failure to the next step, without loading the checkpoint. Keeps the relative "
      "interval. Default: 600 (300 to 1200)");
  add("--save-time", money.save_time,
      "Seconds for which a checkpoint stops training. Default: 10, saved asynchronously");
  add("--storage", money.storage,
      "Storage bandwidth in GB/s per node of 8 GPUs. Keeps the relative interval. Default: 1 "
      "(0.25 to 2)");
  last_counts(options.add_option("--spares", money.spare_nodes,
                                 "Spare nodes of 8 GPUs to pay for. Default: enough 99 % of the "
                                 "time"))
      ->check(CLI::Range(0, 1'000'000).description(""))
      ->group(kMoney);
  add("--pue", money.pue,
      "Power usage effectiveness of the site. Keeps the relative interval. Default: 1.2 (1.1 to "
      "1.5)");
  add("--step-factor", money.step_factor,
      "Expected step time / predicted step time, for example 1.07. Default: 1");
  add("--day-worth", money.day_worth,
      "Worth of each day that the run ends earlier, in the currency of the prices. Recommends the "
      "least cost plus days x worth");
  add("--lead-time", money.lead_time_days,
      "Days from the order of the GPUs to the first day of the run");
  last_counts(options.add_option(
                  "--start", money.start,
                  "First day of the run, for example 2027-01-04. The output then shows calendar "
                  "dates"))
      ->group(kMoney);
  last_counts(options.add_option(
                  "--deadline", money.deadline,
                  "Deadline in days, or a date with --start. Compared with the 90th percentile "
                  "(P90)"))
      ->group(kMoney);
  add("--budget", money.budget,
      "Budget in the currency of the prices. Compared with the 90th percentile (P90)");
  add("--max-power", money.max_megawatts, "Highest power in megawatts");
}

void add_capacity_options(Command& command, CapacityTexts& texts) {
  command.reads("--model", texts.inputs.model,
                "Model: a meshwright file, a Hugging Face config.json, or a name from "
                "configs/models. Default: the job's",
                "models");
  add_framework_option(command, texts.inputs.framework);
  add_job_options(command, texts.inputs);
  add_grid_options(command, texts);
  add_money_options(command, texts.money);
  CLI::App& options = command.options();
  last_counts(must_be_positive(options.add_option(
                  "--price", texts.money.price,
                  "Price per GPU-hour on every cluster. Default: that of --prices, else the "
                  "cluster's")))
      ->group(kMoney);
  last_counts(options.add_option("--max-gpus", texts.max_gpus, "Largest number of GPUs"))
      ->check(CLI::Range(1, 10'000'000).description(""))
      ->group(kMoney);
  options.add_option("--headroom,--memory-headroom", texts.headroom,
                     "Device memory to leave free, for example 10%. Default: 5%");
  add_space_options(options, texts.space);
}

std::string capacity_command(const Call& call) {
  // Stated with each entry, or no option of `capacity`; each takes the words up to the next option.
  constexpr std::array<std::string_view, 16> kLeftOut{
      "--fixed-gpus", "--fixed-batch",  "--cluster",  "--gpus",       "--global-batch-size",
      "--layout",     "--what-if",      "--out",      "--format",     "--objective",
      "--top",        "--ranking-only", "--max-step", "--max-memory", "--max-cost",
      "--rows-only"};
  return call
      .as("capacity",
          [&](const std::string& option) {
            return std::find(kLeftOut.begin(), kLeftOut.end(), option) == kLeftOut.end();
          })
      .text();
}

}  // namespace meshwright::app
