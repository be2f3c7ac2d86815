// SPDX-License-Identifier: Apache-2.0
#include "app/options/answer_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "app/options/command.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::app {
namespace {

constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;
constexpr const char* kGroup = "Answers";

std::string objective_help() {
  std::string text = "Quantity to rank by: ";
  for (const planner::ObjectiveText& objective : planner::all_objectives()) {
    if (!text.ends_with(' ')) text += ", ";
    text += objective.name;
  }
  return text + ". Default: step_time";
}

std::string what_if_help() {
  std::string names;
  for (const planner::WhatIfParameterText& parameter : planner::all_parameters()) {
    append_to_list(names, ", ", parameter.name);
  }
  return "Also plan with a changed input, for example inter_node_bandwidth=0.5x, =+20% "
         "or =400 (in its unit). Separate several by commas or repeat the option. "
         "Inputs: " +
         names;
}

}  // namespace

double amount_of(const std::string& flag, const std::string& text,
                 const std::vector<UnitFactor>& units) {
  double number = 0.0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string unit(rest, static_cast<std::size_t>(end - rest));
  for (const UnitFactor& known : units) {
    if (error == std::errc() && number >= 0.0 && unit == known.unit) return number * known.factor;
  }
  std::string examples;
  for (const UnitFactor& known : units) {
    if (known.unit.empty()) continue;
    append_to_list(examples, " or ", fmt::format("5{}", known.unit));
  }
  throw InputError(flag, "",
                   fmt::format("must be an amount such as {} (got \"{}\")", examples, text));
}

void add_answer_options(CLI::App& command, AnswerTexts& texts) {
  command.add_option("--objective", texts.objective, objective_help())->group(kGroup);
  command
      .add_option("--max-memory", texts.max_memory,
                  "Largest memory use per device, for example 72GiB. Default: the device's "
                  "memory less --headroom")
      ->group(kGroup);
  command
      .add_option("--headroom,--memory-headroom", texts.headroom,
                  "Device memory to leave free, for example 10%. Default: 5%, or 0% with "
                  "--max-memory")
      ->group(kGroup);
  command
      .add_option("--max-step", texts.max_step, "Longest step to accept, for example 3s or 800ms")
      ->group(kGroup);
  must_be_positive(
      command.add_option("--max-cost", texts.max_cost,
                         "Highest cost of the training; needs --price and --train-tokens"))
      ->group(kGroup);
  must_be_positive(
      command.add_option("--price", texts.price,
                         "Price per GPU-hour. Default: the cluster's price, if it has one"))
      ->group(kGroup);
  command.add_option("--what-if", texts.what_ifs, what_if_help())->group(kGroup);
  command
      .add_flag("--ranking-only", texts.no_answers,
                "Skip confidence, sensitivity and crossover points")
      ->excludes(command.get_option("--what-if"))
      ->group(kGroup);
}

namespace {

// A limit of zero is met by nothing.
double limit_of(const std::string& flag, const std::string& text,
                const std::vector<UnitFactor>& units) {
  const double limit = amount_of(flag, text, units);
  if (limit > 0.0) return limit;
  throw InputError(flag, "", fmt::format("must be above 0 (got \"{}\")", text));
}

}  // namespace

planner::AnswerOptions answer_options_of(const AnswerTexts& texts) {
  planner::AnswerOptions options;
  options.objective = planner::objective_named(texts.objective);
  if (!texts.max_memory.empty()) {
    options.limits.max_memory =
        bytes(limit_of("--max-memory", texts.max_memory, {{"GiB", kGibi}, {"GB", 1e9}}));
  }
  if (!texts.headroom.empty()) {
    options.limits.headroom = amount_of("--headroom", texts.headroom, {{"%", 0.01}, {"", 0.01}});
  }
  if (!texts.max_step.empty()) {
    options.limits.max_step =
        seconds(limit_of("--max-step", texts.max_step, {{"s", 1.0}, {"ms", 1e-3}}));
  }
  if (texts.max_cost > 0.0) options.limits.max_cost = texts.max_cost;
  options.what_ifs = texts.what_ifs;
  return options;
}

}  // namespace meshwright::app
