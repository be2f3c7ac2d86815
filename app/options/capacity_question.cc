// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "app/files/config_names.h"
#include "app/files/files.h"
#include "app/options/answer_options.h"
#include "app/options/capacity_options.h"
#include "app/options/command.h"
#include "planner/capacity/options_json.h"
#include "planner/search/objective.h"
#include "planner/search/space.h"
#include "planner/shared_cluster/service_options_json.h"
#include "sim/base/error.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/links.h"
#include "sim/hardware/node_count.h"

namespace meshwright::app {
namespace {

std::vector<int> sorted(std::vector<int> counts) {
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

// "configs/clusters/h100-512.json" is h100-512.
std::string short_name_of(const std::string& cluster) {
  return std::filesystem::path(cluster).stem().string();
}

// Parts of the first node, or whole nodes.
std::vector<int> counts_around(const Cluster& cluster, std::initializer_list<double> factors) {
  std::vector<int> counts;
  for (const double factor : factors) {
    const int count = static_cast<int>(cluster.num_gpus() * factor);
    if (has_count(cluster, count)) counts.push_back(count);
  }
  return counts;
}

planner::PriceList prices_named(const std::string& name, reports::Origin& origin) {
  const std::string file = require_config(name, "prices");
  return planner::prices_from_json(read_input("prices", file, origin), file);
}

planner::Date date_of(const char* flag, const std::string& text) {
  if (const auto date = planner::date_from_text(text)) return *date;
  throw InputError(flag, "", fmt::format("must be a day such as 2027-03-31 (got \"{}\")", text));
}

double days_of(const std::string& text) {
  double days = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), days);
  const bool good =
      error == std::errc() && end == text.data() + text.size() && days > 0.0 && std::isfinite(days);
  if (good) return days;
  throw InputError(
      "--deadline", "",
      fmt::format("must be days above 0, or a day such as 2027-03-31 (got \"{}\")", text));
}

void apply_dates(planner::CapacityOptions& options, const MoneyOptions& money) {
  planner::CapacityLimits& limits = options.limits;
  if (!money.start.empty()) options.start = date_of("--start", money.start);
  if (!money.deadline.empty()) {
    const bool day = money.deadline.size() > 4 && money.deadline[4] == '-';
    limits.deadline.reset();
    limits.deadline_days.reset();
    if (day) {
      limits.deadline = date_of("--deadline", money.deadline);
    } else {
      limits.deadline_days = days_of(money.deadline);
    }
  }
  if (!limits.deadline) return;
  if (!options.start) {
    throw InputError("--deadline", "",
                     fmt::format("{} is a date, but the first day of the run is missing",
                                 planner::date_text(*limits.deadline)),
                     "add --start 2027-01-04, or set \"start\" in the job's \"capacity\"");
  }
  if (planner::days_between(*options.start, *limits.deadline) < 0.0) {
    throw InputError("--deadline", "",
                     fmt::format("{} is before the start, {}", planner::date_text(*limits.deadline),
                                 planner::date_text(*options.start)));
  }
}

// A training length that nobody stated keeps to no limit.
void check_tokens(const planner::CapacityQuestion& question) {
  const planner::CapacityLimits& limits = question.options.limits;
  const bool limited = limits.deadline || limits.deadline_days || limits.budget ||
                       question.options.day_worth.has_value();
  if (question.train_tokens || !limited) return;
  throw InputError("--train-tokens", "", "is required with --deadline, --budget or --day-worth",
                   "add --train-tokens, or set \"train_tokens\" in the job");
}

// A stated value keeps the relative interval.
void apply_value(planner::Ranged& range, const std::optional<double>& value) {
  if (!value) return;
  range = range.value > 0.0 ? planner::times(range, *value / range.value) : planner::stated(*value);
  range.basis = "stated";
}

void apply_run_inputs(planner::CapacityOptions& options, const MoneyOptions& money) {
  planner::FailureOptions& failures = options.failures;
  if (money.restart_time) {
    const double all = failures.detection_seconds.value + failures.restart_seconds.value;
    const double share = all > 0.0 ? failures.detection_seconds.value / all : 0.0;
    apply_value(failures.detection_seconds, share * *money.restart_time);
    apply_value(failures.restart_seconds, (1.0 - share) * *money.restart_time);
  }
  planner::CheckpointOptions& checkpoint = options.checkpoint;
  if (money.save_time) checkpoint.asynchronous = true;
  apply_value(checkpoint.pause_seconds, money.save_time);
  apply_value(checkpoint.storage_gb_per_s_per_node, money.storage);
  apply_value(options.power.pue, money.pue);
  if (money.spare_nodes) failures.spare_nodes = money.spare_nodes;
  if (money.step_factor) options.step_factor = *money.step_factor;
  if (money.day_worth) options.day_worth = money.day_worth;
  if (money.lead_time_days) options.lead_time_days = money.lead_time_days;
}

void apply_money(planner::CapacityOptions& options, const MoneyOptions& money,
                 const std::string& prices_of_job, reports::Origin& origin) {
  const std::string& prices = money.prices.empty() ? prices_of_job : money.prices;
  if (!prices.empty()) options.prices = prices_named(prices, origin);
  if (money.failure_rate) {
    planner::Ranged& rate = options.failures.per_thousand_node_days;
    rate = planner::times(rate, *money.failure_rate / rate.value);
    rate.source = "stated; the relative interval is that of: " + rate.source;
  }
  const auto replace = [](std::optional<double>& mine, const std::optional<double>& asked) {
    if (asked) mine = asked;
  };
  apply_dates(options, money);
  apply_run_inputs(options, money);
  replace(options.limits.budget, money.budget);
  replace(options.limits.max_megawatts, money.max_megawatts);
}

// One price for all: no list says otherwise.
void apply_price(planner::CapacityQuestion& question, const std::optional<double>& price) {
  if (!price) return;
  question.options.prices.prices.clear();
  for (planner::ClusterCase& asked : question.clusters) asked.cluster.price_per_gpu_hour = price;
}

void check_budget(const planner::CapacityQuestion& question) {
  const planner::CapacityOptions& options = question.options;
  if (!options.limits.budget && !options.day_worth) return;
  const char* flag = options.limits.budget ? "--budget" : "--day-worth";
  for (const planner::ClusterCase& asked : question.clusters) {
    if (planner::price_of(options.prices, asked.name, asked.cluster)) continue;
    throw InputError(
        flag, "", fmt::format("needs a price; {} has none", asked.name),
        with_device_noun("add --price 2.5 (per GPU-hour) or --prices FILE", asked.cluster));
  }
}

planner::ClusterCase case_of(const std::string& name, const Inputs& inputs) {
  check_links(inputs.cluster);
  return {.name = short_name_of(name),
          .cluster = inputs.cluster,
          .job = inputs.job,
          .note = inputs.note,
          .file = name};
}

std::vector<planner::StatedLayout> layouts_of(const std::vector<std::string>& texts,
                                              const planner::ClusterCase& first) {
  std::vector<planner::StatedLayout> layouts;
  for (const std::string& text : texts) {
    layouts.push_back(load_stated_layout(text, default_layout(first.cluster)));
  }
  return layouts;
}

int batch_of(const std::string& text) {
  int batch = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), batch);
  const bool good = error == std::errc() && end == text.data() + text.size() && batch >= 1 &&
                    batch <= 100'000'000;
  if (good) return batch;
  throw InputError(
      "--global-batch-size", "",
      fmt::format("must be sequences from 1 to 100000000, or \"schedule\" (got \"{}\")", text));
}

// The job's, beside its schedule; or those that are typed, with the schedule where they name it.
std::vector<int> batches_of(const CapacityTexts& texts, const planner::CapacitySection& section,
                            planner::CapacityOptions& options) {
  if (texts.global_batch_sizes.empty()) return section.global_batch_sizes;
  std::vector<int> batches;
  bool scheduled = false;
  for (const std::string& text : texts.global_batch_sizes) {
    if (text == "schedule") {
      scheduled = true;
    } else {
      batches.push_back(batch_of(text));
    }
  }
  if (scheduled && options.schedule.empty()) {
    throw InputError("--global-batch-size", "", "asks for the schedule, but the job has none",
                     "add \"schedule\" to the job's \"capacity\"");
  }
  if (!scheduled) options.schedule.clear();
  return batches;
}

std::optional<planner::StatedLayout> reference_layout_of(
    const planner::CapacityQuestion& question) {
  const auto& reference = question.options.reference;
  if (!reference || reference->layout.empty()) return std::nullopt;
  return layouts_of({reference->layout}, question.clusters.front()).front();
}

template <typename T>
T first_stated(const T& typed, const T& of_job) {
  return typed.empty() ? of_job : typed;
}

[[noreturn]] void refuse_missing(const char* flag, const char* what, const char* key) {
  throw InputError(flag, "", fmt::format("is missing: {}", what),
                   fmt::format("add the option, or set \"{}\" in the job's \"capacity\"", key));
}

}  // namespace

CapacityRequest capacity_request_of(const CapacityTexts& texts, reports::Origin& origin) {
  const Json job = texts.inputs.job.empty() ? Json() : read_job(texts.inputs.job, &origin);
  CapacityRequest request{.job_file = find_config(texts.inputs.job, "jobs")};
  const planner::CapacitySection section = planner::capacity_section(job, request.job_file);
  request.service = planner::service_section(job, request.job_file);
  const std::string model = first_stated(texts.inputs.model, section.model);
  if (model.empty()) refuse_missing("--model", "is required: the model to train", "model");
  const auto clusters = first_stated(texts.clusters, section.clusters);
  if (clusters.empty())
    refuse_missing("--cluster", "is required: the clusters to compare", "clusters");
  planner::CapacityQuestion& question = request.question;
  question.model = load_model(model, &origin);
  question.model_file = model;
  for (const std::string& name : clusters) {
    InputOptions asked = texts.inputs;
    asked.cluster = name;
    question.clusters.push_back(case_of(name, load_inputs(asked, question.model, job, &origin)));
    planner::ClusterCase& made = question.clusters.back();
    // Variants of one cluster may share its name; their files tell them apart.
    if (clusters.size() == 1) made.label = cluster_label(name, made.cluster);
  }
  const planner::ClusterCase& first = question.clusters.front();
  question.train_tokens = first.job.train_tokens;
  question.gpus = sorted(first_stated(texts.gpus, section.gpus));
  if (question.gpus.empty() && request.service) question.gpus = {first.cluster.num_gpus()};
  question.batch_follows = !texts.fixed_batch;
  question.refines = !texts.fixed_gpus;
  question.any_gpus = question.gpus.empty();
  if (question.any_gpus) question.gpus = counts_around(first.cluster, {0.25, 0.5, 1, 2, 4});
  question.options = section.options;
  question.global_batch_sizes = sorted(batches_of(texts, section, question.options));
  if (question.global_batch_sizes.empty() && question.options.schedule.empty()) {
    question.global_batch_sizes = {first.job.global_batch_size};
  }
  apply_money(question.options, texts.money, section.prices, origin);
  if (texts.max_gpus) question.options.limits.max_gpus = texts.max_gpus;
  apply_price(question, texts.money.price);
  check_budget(question);
  check_tokens(question);
  question.what_ifs = texts.what_ifs;
  question.layouts = layouts_of(texts.layouts, first);
  question.reference_layout = reference_layout_of(question);
  question.search.space = space_of(texts.space);
  planner::Limits limits;
  if (!texts.headroom.empty()) {
    limits.headroom = amount_of("--headroom", texts.headroom, {{"%", 0.01}, {"", 0.01}});
  }
  question.search.memory_headroom =
      planner::memory_headroom(limits, only_device(first.cluster), first.cluster.framework.memory);
  return request;
}

std::optional<planner::CapacityQuestion> capacity_question_of(const Inputs& inputs,
                                                              const InputOptions& asked,
                                                              const MoneyOptions& money,
                                                              const planner::SearchOptions& search,
                                                              reports::Origin& origin) {
  if (!inputs.job.train_tokens) return std::nullopt;
  planner::CapacitySection section = inputs.capacity;
  planner::CapacityQuestion question;
  question.model = inputs.model;
  question.clusters = {case_of(asked.cluster, inputs)};
  question.clusters.front().label = cluster_label(asked.cluster, inputs.cluster);
  question.train_tokens = inputs.job.train_tokens;
  question.gpus = asked.gpu_counts.size() > 1 ? sorted(asked.gpu_counts)
                                              : counts_around(inputs.cluster, {0.5, 1, 2});
  if (asked.gpu_counts.size() <= 1) question.asked_gpus = inputs.cluster.num_gpus();
  question.global_batch_sizes = {inputs.job.global_batch_size};
  question.options = section.options;
  question.with_schedule = false;
  question.reference_layout = reference_layout_of(question);
  apply_money(question.options, money, section.prices, origin);
  apply_price(question, money.price);
  check_budget(question);
  question.search = search;
  return question;
}

}  // namespace meshwright::app
