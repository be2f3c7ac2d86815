// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

[[noreturn]] void refuse_change(const std::string& text, const WhatIfParameterText& parameter) {
  const std::string unit =
      parameter.unit.empty() ? "" : fmt::format(" or {}=400{}", parameter.name, parameter.unit);
  throw InputError(
      "--what-if", "",
      fmt::format("\"{}\" must have a factor, a percentage or a positive value", text),
      fmt::format("use for example {}=0.5x or {}=+20%{}", parameter.name, parameter.name, unit));
}

// The factor that "0.5x", "+20%", "400" or "400GB/s" stand for.
double factor_of(const std::string& value, const std::string& text,
                 const WhatIfParameterText& parameter, double today) {
  const char* begin = value.data() + (value.starts_with('+') ? 1 : 0);
  const char* end = value.data() + value.size();
  double number = 0.0;
  const auto [rest, error] = std::from_chars(begin, end, number);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  double factor = 0.0;
  if (unit == "x") {
    factor = number;
  } else if (unit == "%") {
    factor = 1.0 + number / 100.0;
  } else if ((unit.empty() || unit == parameter.unit) && today > 0.0) {
    factor = number / today;
  }
  if (error != std::errc() || !(factor > 0.0) || factor > 1e9) refuse_change(text, parameter);
  return factor;
}

// Efficiencies are shares of the device's peak. A plan's own what-ifs go up to the peak and are
// written with six digits, which may lie above it.
void check_physics(const Change& change, const std::string& text) {
  const double after = change.before * change.factor;
  constexpr double kRounding = 1e-5;
  if (!text_of(change.parameter).of_peak || after <= 1.0 + kRounding) return;
  throw InputError("--what-if", "",
                   fmt::format("\"{}\" would be {} of the peak, at most 1 is possible: a factor "
                               "of {}",
                               text, number_text(after, 3), number_text(1.0 / change.before, 3)),
                   "peak_flops asks for another device");
}

Change change_of(const std::string& text, const Scenario& scenario) {
  const std::size_t equals = text.find('=');
  const WhatIfParameter parameter = parameter_named(text.substr(0, equals));
  const WhatIfParameterText& words = text_of(parameter);
  if (equals == std::string::npos) refuse_change(text, words);
  Change change{.parameter = parameter, .before = value_of(parameter, scenario)};
  change.factor = factor_of(text.substr(equals + 1), text, words, change.before);
  check_physics(change, text);
  change.after = value_of(parameter, scaled(scenario, parameter, change.factor));
  return change;
}

std::string conditions(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) {
    const WhatIfParameterText& words = text_of(change.parameter);
    append_to_list(
        text, " and ",
        fmt::format("{} at {} instead of {}{}{}", words.label, number_text(change.after),
                    number_text(change.before), words.unit.empty() ? "" : " ", words.unit));
  }
  return text;
}

// Cost of the whole training, if tokens and price are stated.
std::string cost_text(const WhatIf& answer) {
  if (!answer.needs || !answer.needs->cost) return "";
  const bool compares = answer.needs_today && answer.needs_today->cost;
  return fmt::format(
      " The training's steps cost {}{}. Failures, checkpoints and spare nodes are not included.",
      number_text(*answer.needs->cost),
      compares ? " instead of " + number_text(*answer.needs_today->cost) : "");
}

std::string time_text(const WhatIf& answer, const Estimate& today) {
  const std::string before = number_text(today.step_time.value());
  if (answer.step_time_change == 0.0) return fmt::format(" A step still takes {} s.", before);
  return fmt::format(" A step takes {} s instead of {} s ({} %).",
                     number_text(answer.winner->step_time.value()), before,
                     signed_number_text(100.0 * answer.step_time_change, 3));
}

std::string sentence_of(const WhatIf& answer, const Estimate& today) {
  const std::string with = "With " + conditions(answer.changes) + ", ";
  if (!answer.winner) return with + "no layout fits.";
  const std::string costs = time_text(answer, today) + cost_text(answer);
  if (!answer.winner_changes) {
    return fmt::format("{}the best layout stays {}.{}", with, brief_name(today.layout), costs);
  }
  const std::string old = answer.base_winner
                              ? fmt::format("Layout #1 of this plan would take {} s.",
                                            number_text(answer.base_winner->step_time.value()))
                              : "Layout #1 of this plan could not run.";
  return fmt::format("{}the best layout is {}.{} {}", with, brief_name(answer.winner->layout),
                     costs, old);
}

// Where the network is faster than a device's way to it, the collective model takes the way.
std::string network_cap_text(const WhatIf& answer, const Cluster& cluster) {
  const bool moved =
      std::any_of(answer.changes.begin(), answer.changes.end(), [](const Change& change) {
        return change.parameter == WhatIfParameter::inter_node_bandwidth;
      });
  const Device& device = only_device(cluster);
  const BytesPerSecond sustained =
      cluster.inter_node.bandwidth * cluster.inter_node.bandwidth_fraction;
  const bool capped = cluster.nics_beside_fabric() && cluster.num_nodes > 1 &&
                      device.host_link.value() > 0.0 && sustained > device.host_link;
  if (!moved || !capped) return "";
  return fmt::format(
      " The network could take {} GB/s from a device. Its PCIe link sends at most {} GB/s "
      "(host_link_gb_per_s of {}).",
      number_text(sustained / gigabytes_per_second(1)),
      number_text(device.host_link / gigabytes_per_second(1)), device.name);
}

}  // namespace

std::vector<Change> changes_from_text(const std::string& text, const Scenario& scenario) {
  std::vector<Change> changes;
  for (const std::string& change : split(text, ',')) {
    changes.push_back(change_of(change, scenario));
  }
  return changes;
}

Scenario changed(Scenario scenario, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    scenario = scaled(std::move(scenario), change.parameter, change.factor);
  }
  return scenario;
}

WhatIf what_if(const Plan& plan, const SearchOptions& search_options, const std::string& text) {
  WhatIf answer;
  answer.text = text;
  answer.changes = changes_from_text(text, plan);
  const Scenario scenario = changed(plan, answer.changes);
  SearchOptions best = search_options;
  best.top = 1;
  const Plan other = search(scenario, best);
  if (!other.ranked.empty()) {
    const Estimate& winner = other.ranked.front();
    answer.winner = Timed{winner.layout, winner.step_time, winner.peak_memory()};
  }
  if (plan.ranked.empty()) return answer;
  const Estimate& today = plan.ranked.front();
  answer.base_winner = best_of(scenario, {today.layout}, search_options.memory_headroom);
  answer.winner_changes = !answer.winner || answer.winner->layout != today.layout;
  answer.needs_today = training_cost(plan.job, plan.cluster, today.step_time);
  if (answer.winner) {
    answer.step_time_change = answer.winner->step_time / today.step_time - 1.0;
    answer.needs = training_cost(scenario.job, scenario.cluster, answer.winner->step_time);
  }
  answer.sentence = sentence_of(answer, today) + network_cap_text(answer, scenario.cluster);
  return answer;
}

}  // namespace meshwright::planner
