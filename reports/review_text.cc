// SPDX-License-Identifier: Apache-2.0
#include "app/commands/review_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/options/output.h"
#include "planner/questions/explanation.h"
#include "reports/tables.h"
#include "reports/text.h"
#include "sim/base/text.h"
#include "sim/json/records.h"
#include "sim/layout/short_name.h"
#include "sim/model/parameters.h"

namespace meshwright::app {
namespace {

using planner::BetterLayout;
using planner::Review;

std::string heading(const std::string& text) { return "\n" + text + "\n"; }

std::string question(const ReviewedRun& r) {
  const Scenario& s = r.run.scenario;
  const std::string& framework = s.cluster.framework.name;
  return fmt::format(
      "{} run: {} ({} parameters) on {} x {}, {}; {} tokens a sequence, {} sequences a step, {}; "
      "priced as {}.\n",
      r.run.launch.target, s.model.name,
      reports::si_text(static_cast<double>(total_parameters(s.model))), s.cluster.num_gpus(),
      only_device(s.cluster).name, short_name(r.run.layout), s.job.seq_length,
      s.job.global_batch_size, name_of(s.job.precision),
      framework.empty() ? "software that nothing is known of" : framework);
}

// What may change the answer and is not in it.
std::string without_text(const interop::LaunchRecord& launch) {
  std::string list;
  for (const interop::NotUnderstood& item : launch.not_understood) {
    if (interop::changes_answer(item.effect) && !item.off) append_to_list(list, ", ", item.said);
  }
  return list;
}

std::size_t count_unknown(const interop::LaunchRecord& launch) {
  return static_cast<std::size_t>(
      std::count_if(launch.not_understood.begin(), launch.not_understood.end(),
                    [](const interop::NotUnderstood& item) {
                      return item.effect == interop::OptionEffect::unknown && !item.off;
                    }));
}

std::string effect_text(const interop::NotUnderstood& item) {
  using enum interop::OptionEffect;
  if (item.off) return " Its value changes nothing.";
  if (item.effect == unknown) return " Whether it changes the answer is not known.";
  if (item.effect == none) return "";
  if (item.effect == cost) return " The answer is without it.";
  return fmt::format(" It may change {}: the answer is without it.", name_of(item.effect));
}

std::string environment_text(const ReviewedRun& r) {
  const auto& notes = r.run.launch.environment;
  if (notes.empty()) return "";
  const Review& review = r.review;
  const bool slower = review.step_error && *review.step_error < 0.0 && !review.inside_interval;
  std::string text = heading("environment");
  for (const interop::EnvironmentNote& note : notes) {
    const bool first = slower && note.slows && &note == &notes.front();
    text += fmt::format("  {}{}={} ({}): {}. Not priced.\n", first ? "First suspect: " : "",
                        note.name, note.value, note.place.text(), note.effect);
  }
  return text;
}

std::string facts_text(const interop::LaunchRecord& launch) {
  std::string text = heading("read");
  for (const interop::Fact& fact : launch.read) {
    text += fmt::format("  {} {}: {} ({})\n", fact.field, fact.value, fact.said, fact.place.text());
  }
  if (!launch.assumed.empty()) text += heading("assumed");
  for (const interop::Fact& fact : launch.assumed) {
    text += fmt::format("  {} {}: {}\n", fact.field, fact.value, fact.said);
  }
  if (!launch.not_understood.empty()) text += heading("not understood, or not modelled");
  for (const interop::NotUnderstood& item : launch.not_understood) {
    text += fmt::format("  {} ({}): {}.{}\n", item.said, item.place.text(), item.why,
                        effect_text(item));
  }
  if (!launch.harmless.empty()) {
    text += fmt::format("  {} more change neither time nor memory.\n", launch.harmless.size());
  }
  return text;
}

// The prediction of memory is no sharper than this.
constexpr double kMemoryMargin = 0.03;

bool needs_fused_attention(const ReviewedRun& r) {
  return r.review.eager_peak && !r.review.violation &&
         *r.review.eager_peak > only_device(r.run.scenario.cluster).memory * (1.0 - kMemoryMargin);
}

bool is_close(const ReviewedRun& r) {
  if (!r.review.estimate) return false;
  const Bytes memory = only_device(r.run.scenario.cluster).memory;
  return std::abs(r.review.estimate->peak_memory() / memory - 1.0) <= kMemoryMargin;
}

std::string fit_text(const ReviewedRun& r) {
  const Review& review = r.review;
  const Bytes memory = only_device(r.run.scenario.cluster).memory;
  const std::string without = without_text(r.run.launch);
  const std::string label = without.empty() ? "" : fmt::format(", without {}", without);
  std::string text = heading("does it fit?");
  if (review.violation && is_close(r)) {
    text += fmt::format("  Uncertain{}: {}.\n", label, review.sentence);
    if (!review.smallest_change.empty()) {
      text += fmt::format("  It is surer with {}.\n", review.smallest_change);
    }
  } else if (review.violation) {
    text += fmt::format("  No{} ({}): {}.\n", label, rule_text(review.violation->rule).name,
                        review.sentence);
    if (!review.smallest_change.empty()) {
      text += fmt::format("  Would with {}.\n", review.smallest_change);
    }
  } else {
    text += fmt::format(
        "  {}{}: {} of {} on the fullest stage.\n", is_close(r) ? "Uncertain" : "Yes", label,
        reports::memory_text(review.estimate->peak_memory()), reports::memory_text(memory));
  }
  if (is_close(r)) {
    text +=
        "  This is within 3 % of the limit, and uncertain in both directions: it may run or run "
        "out of memory.\n";
  }
  if (const std::size_t unknown = count_unknown(r.run.launch); unknown > 0) {
    text += fmt::format(
        "  Options that are not known: {}. The answer holds if they change no cost.\n", unknown);
  }
  if (review.eager_peak && !review.violation) {
    text += fmt::format(
        "  {}: the launch does not say which attention runs. Eager attention stores the scores and "
        "needs {}.\n",
        needs_fused_attention(r) ? "It fits only with FlashAttention or SDPA"
                                 : "FlashAttention or SDPA is assumed",
        reports::memory_text(*review.eager_peak));
  }
  if (r.run.measured.out_of_memory) {
    text += fmt::format("  It did not: the log is out of memory at line {}.\n",
                        r.run.log->out_of_memory_line);
  }
  return text;
}

std::string error_text(double error) {
  return fmt::format("{} %", signed_number_text(100.0 * error, 3));
}

std::string measured_text(const ReviewedRun& r) {
  const Review& review = r.review;
  if (!review.estimate) return "";
  const Estimate& found = *review.estimate;
  std::string text = heading("predicted and measured");
  if (!r.run.log_refused.empty()) {
    text += fmt::format("  The log is not used: {}.\n", r.run.log_refused);
  }
  text += fmt::format(
      "  step: predicted {} (90 % between {} and {})", reports::seconds_text(found.step_time),
      reports::seconds_text(found.step_time_low), reports::seconds_text(found.step_time_high));
  if (r.run.steps) {
    const interop::MeasuredSteps& m = *r.run.steps;
    text += fmt::format(
        ", measured {} (median of {} steps after {} of warm-up; p10 {}, p90 {}{}{}): {}, {} the "
        "interval",
        reports::seconds_text(m.median), m.used, m.warm_up, reports::seconds_text(m.p10),
        reports::seconds_text(m.p90),
        m.other_batch > 0 ? fmt::format("; {} steps of other batches left out", m.other_batch) : "",
        m.restarts > 0 ? fmt::format("; {} restarts", m.restarts) : "",
        error_text(*review.step_error), review.inside_interval ? "inside" : "outside");
  }
  const double tokens = static_cast<double>(r.run.scenario.job.global_batch_size) *
                        r.run.scenario.job.seq_length / r.run.scenario.cluster.num_gpus();
  text += fmt::format(".\n  tokens a second and device: predicted {}",
                      number_text(found.tokens_per_second_per_gpu));
  if (r.run.measured.step_time) {
    text += fmt::format(", measured {}", number_text(tokens / r.run.measured.step_time->value()));
  }
  text += fmt::format(".\n  MFU: predicted {} %",
                      number_text(100.0 * found.model_flops_utilization, 3));
  if (r.run.measured.step_time) {
    text += fmt::format(", measured {} %",
                        number_text(100.0 * found.model_flops_utilization *
                                        (found.step_time / *r.run.measured.step_time),
                                    3));
  }
  text += fmt::format(".\n  {}\n  memory that is {}: predicted {}", reports::kMfuConvention,
                      r.run.memory_is_reserved ? "reserved" : "allocated",
                      reports::memory_text(review.printed_peak));
  if (r.run.measured.peak_memory) {
    text += fmt::format(", measured {}: {}", reports::memory_text(*r.run.measured.peak_memory),
                        error_text(*review.memory_error));
  }
  return text + ".\n";
}

std::string terms_text(const ReviewedRun& r) {
  if (!r.review.estimate) return "";
  std::string text = heading("where the predicted step goes");
  text += table_text(reports::terms_table(*r.review.estimate));
  for (const planner::MeasuredPart& part : r.review.parts) {
    text += fmt::format("  timer {} ({}): predicted {}, measured {}: {}\n", part.name, part.meaning,
                        reports::seconds_text(part.predicted), reports::seconds_text(part.measured),
                        error_text(part.predicted / part.measured - 1.0));
  }
  if (r.run.log && r.run.log_refused.empty() && r.review.parts.empty()) {
    text +=
        r.run.launch.target.starts_with("Megatron")
            ? "  The log has no timers to hold terms against: --timing-log-level 1 prints them.\n"
            : "  The log has no timers to hold terms against.\n";
  }
  return text;
}

std::string change_text(const interop::LaunchChange& change) {
  const auto said = [](bool is, const std::string& value) {
    return !is ? std::string("not there") : value.empty() ? std::string("on") : value;
  };
  return fmt::format("      {}: {} -> {}\n", change.name, said(change.before, change.value_before),
                     said(change.after, change.value_after));
}

std::string indented(const std::string& lines) {
  std::string text;
  bool begins = true;
  for (const char c : lines) {
    if (begins) text += "  ";
    begins = c == '\n';
    text += c;
  }
  return text;
}

std::string better_text(const ReviewedRun& r) {
  const Review& review = r.review;
  std::string text = heading("better layouts");
  if (review.better.empty()) {
    text += fmt::format(
        "  None of {} layouts that fit is predicted to be 0.5 % faster or more, and can be said to "
        "{}.\n",
        reports::count_text(review.statistics.fitting), r.run.launch.target);
  }
  for (std::size_t i = 0; i < review.better.size(); ++i) {
    const BetterLayout& better = review.better[i];
    text += fmt::format("  {}. {}{}: {} predicted, {} of memory", i + 1,
                        short_name(better.estimate.layout),
                        better.same_sizes ? " (the same sizes)" : "",
                        reports::seconds_text(better.estimate.step_time),
                        reports::memory_text(better.estimate.peak_memory()));
    if (!review.violation) {
      text += fmt::format("; {} % less than the launched one, and faster with {} %",
                          number_text(100.0 * (1.0 - better.predicted_ratio), 3),
                          number_text(100.0 * better.probability_faster, 3));
    }
    if (better.expected_step && !review.violation) {
      text += fmt::format("; from what was measured it should take {}",
                          reports::seconds_text(*better.expected_step));
    }
    text += "\n";
    if (!better.effects.empty()) {
      text += indented(planner::effects_text(better.effects, review.estimate->step_time));
    }
    if (!r.changes[i].empty()) text += "    to change:\n";
    for (const interop::LaunchChange& change : r.changes[i]) text += change_text(change);
  }
  for (const auto& [why, count] : review.not_expressible) {
    text += fmt::format("  {} faster ones cannot be said to {}: {}.\n", count, r.run.launch.target,
                        why);
  }
  return text;
}

Json place_json(const interop::Place& place) {
  return {{"file", place.file}, {"line", place.line}};
}

Json launch_json(const interop::LaunchRecord& launch) {
  Json json{{"target", launch.target}, {"framework", launch.framework}};
  for (const auto& [key, facts] :
       {std::pair{"read", &launch.read}, std::pair{"assumed", &launch.assumed}}) {
    json[key] = Json::array();
    for (const interop::Fact& fact : *facts) {
      json[key].push_back({{"field", fact.field},
                           {"value", fact.value},
                           {"said", fact.said},
                           {"place", place_json(fact.place)}});
    }
  }
  json["not_understood"] = Json::array();
  for (const interop::NotUnderstood& item : launch.not_understood) {
    json["not_understood"].push_back(
        {{"said", item.said},
         {"why", item.why},
         {"place", place_json(item.place)},
         {"effect", item.off ? "none" : std::string(name_of(item.effect))}});
  }
  json["harmless"] = launch.harmless;
  json["environment"] = Json::array();
  for (const interop::EnvironmentNote& note : launch.environment) {
    json["environment"].push_back({{"name", note.name},
                                   {"value", note.value},
                                   {"effect", note.effect},
                                   {"slows", note.slows},
                                   {"place", place_json(note.place)}});
  }
  return json;
}

Json measured_json(const LaunchedRun& run) {
  Json json = Json::object();
  json["out_of_memory"] = run.measured.out_of_memory;
  if (run.steps) {
    json["step_seconds"] = run.steps->median.value();
    json["step_seconds_p10"] = run.steps->p10.value();
    json["step_seconds_p90"] = run.steps->p90.value();
    json["steps"] = run.steps->used;
    json["warm_up_steps"] = run.steps->warm_up;
    json["steps_of_other_batches"] = run.steps->other_batch;
    json["restarts"] = run.steps->restarts;
  }
  if (run.measured.peak_memory) json["peak_memory_bytes"] = run.measured.peak_memory->value();
  for (const auto& [name, time] : run.measured.timers) json["timers_seconds"][name] = time.value();
  return json;
}

Json change_json(const interop::LaunchChange& change) {
  Json json{{"name", change.name}};
  json["before"] = change.before ? Json(change.value_before) : Json();
  json["after"] = change.after ? Json(change.value_after) : Json();
  return json;
}

Json better_json(const BetterLayout& better, const std::vector<interop::LaunchChange>& changes,
                 bool compared) {
  Json json{{"layout", to_json(better.estimate.layout)},
            {"line", short_name(better.estimate.layout)},
            {"same_sizes", better.same_sizes},
            {"step_seconds", better.estimate.step_time.value()},
            {"step_seconds_low", better.estimate.step_time_low.value()},
            {"step_seconds_high", better.estimate.step_time_high.value()},
            {"peak_memory_bytes", better.estimate.peak_memory().value()}};
  if (compared) {
    json["predicted_ratio"] = better.predicted_ratio;
    json["probability_faster"] = better.probability_faster;
  }
  if (better.expected_step && compared)
    json["expected_step_seconds"] = better.expected_step->value();
  json["changes"] = Json::array();
  for (const interop::LaunchChange& change : changes)
    json["changes"].push_back(change_json(change));
  return json;
}

}  // namespace

std::string review_text(const ReviewedRun& r) {
  std::string text =
      question(r) + facts_text(r.run.launch) + environment_text(r) + fit_text(r) + measured_text(r);
  text = wrapped(text) + terms_text(r) + wrapped(better_text(r));
  if (!r.changed_launch.empty()) {
    text += heading("the fastest, launched (variables are put in; the rest of the script stays)") +
            r.changed_launch;
  }
  if (!r.run.note.empty()) text += wrapped("\nnote: " + r.run.note + "\n");
  return text;
}

Json review_json(const ReviewedRun& r, const reports::Origin& origin) {
  Json json{{"schema", "meshwright.review/1"}};
  json.update(reports::origin_record().write(origin));
  json["launch"] = launch_json(r.run.launch);
  json["model"] = to_json(r.run.scenario.model);
  json["cluster"] = to_json(r.run.scenario.cluster);
  json["job"] = to_json(r.run.scenario.job);
  json["layout"] = to_json(r.run.layout);
  if (!r.run.note.empty()) json["notes"] = {r.run.note};
  const Review& review = r.review;
  json["fits"] = !review.violation;
  json["uncertain"] = is_close(r) || needs_fused_attention(r);
  json["without"] = Json::array();
  for (const interop::NotUnderstood& item : r.run.launch.not_understood) {
    if (interop::changes_answer(item.effect) && !item.off) json["without"].push_back(item.said);
  }
  if (review.eager_peak) json["eager_attention_peak_bytes"] = review.eager_peak->value();
  if (!r.run.log_refused.empty()) json["log_refused"] = r.run.log_refused;
  if (review.violation) {
    json["violation"] = {{"rule", rule_text(review.violation->rule).name},
                         {"sentence", review.sentence},
                         {"smallest_change", review.smallest_change}};
  }
  if (review.estimate) {
    json["estimate"] = to_json(*review.estimate);
    json["printed_peak_bytes"] = review.printed_peak.value();
  }
  json["measured"] = r.run.log && r.run.log_refused.empty() ? measured_json(r.run) : Json();
  if (review.step_error) {
    json["step_error"] = *review.step_error;
    json["inside_interval"] = review.inside_interval;
  }
  if (review.memory_error) json["memory_error"] = *review.memory_error;
  json["parts"] = Json::array();
  for (const planner::MeasuredPart& part : review.parts) {
    json["parts"].push_back({{"timer", part.name},
                             {"meaning", part.meaning},
                             {"predicted_seconds", part.predicted.value()},
                             {"measured_seconds", part.measured.value()}});
  }
  json["better"] = Json::array();
  for (std::size_t i = 0; i < review.better.size(); ++i) {
    json["better"].push_back(better_json(review.better[i], r.changes[i], !review.violation));
  }
  json["layouts_searched"] = review.statistics.enumerated;
  json["not_expressible"] = Json::object();
  for (const auto& [why, count] : review.not_expressible) json["not_expressible"][why] = count;
  json["changed_launch"] = r.changed_launch;
  return json;
}

}  // namespace meshwright::app
