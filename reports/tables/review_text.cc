// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/review_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/questions/explanation.h"
#include "reports/tables/table_text.h"
#include "reports/tables/tables.h"
#include "reports/tables/wrapped_text.h"
#include "reports/text/memory_fit_text.h"
#include "reports/text/text.h"
#include "sim/base/number_text.h"
#include "sim/block/parameters.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

std::string heading(const std::string& text) { return "\n" + text + "\n"; }

std::string question(const ReviewedRun& r) {
  const std::string& framework = r.cluster.framework.name;
  return fmt::format(
      "{} run: {} ({} parameters) on {} x {}, {}; {} tokens per sequence, {} "
      "sequences per step, {}; predicted as {}.\n",
      r.launch.target, r.model.name, si_text(static_cast<double>(total_parameters(r.model))),
      r.cluster.num_gpus(), only_device(r.cluster).name, short_name(r.layout), r.job.seq_length,
      r.job.global_batch_size, name_of(r.job.precision),
      framework.empty() ? "unknown software" : framework);
}

std::string text_of(const FilePlace& place) {
  return place.line > 0 ? fmt::format("{}:{}", place.file, place.line) : place.file;
}

std::string effect_text(const NotUnderstood& item) {
  if (item.off) return " Its value changes nothing.";
  if (item.effect == "unknown") return " Its effect on the answer is unknown.";
  if (item.effect == "none") return "";
  if (item.effect == "cost") return " The answer ignores it.";
  return fmt::format(" It may change {}; the answer ignores it.", item.effect);
}

std::string environment_text(const ReviewedRun& r) {
  const auto& notes = r.launch.environment;
  if (notes.empty()) return "";
  const bool slower = r.step_error && *r.step_error < 0.0 && !r.inside_interval;
  std::string text = heading("environment");
  for (const EnvironmentNote& note : notes) {
    const bool first = slower && note.slows && &note == &notes.front();
    text += fmt::format("  {}{}={} ({}): {}. Not included in the prediction.\n",
                        first ? "First suspect: " : "", note.name, note.value, text_of(note.place),
                        note.effect);
  }
  return text;
}

std::string facts_text(const LaunchFacts& launch) {
  std::string text = heading("read");
  for (const LaunchFact& fact : launch.read) {
    text +=
        fmt::format("  {} {}: {} ({})\n", fact.field, fact.value, fact.said, text_of(fact.place));
  }
  if (!launch.assumed.empty()) text += heading("assumed");
  for (const LaunchFact& fact : launch.assumed) {
    text += fmt::format("  {} {}: {}\n", fact.field, fact.value, fact.said);
  }
  if (!launch.not_understood.empty()) text += heading("not understood, or not modelled");
  for (const NotUnderstood& item : launch.not_understood) {
    text += fmt::format("  {} ({}): {}.{}\n", item.said, text_of(item.place), item.why,
                        effect_text(item));
  }
  if (!launch.harmless.empty()) {
    text += fmt::format("  {} more change neither time nor memory.\n", launch.harmless.size());
  }
  return text;
}

std::string fit_text(const ReviewedRun& r) {
  const Bytes memory = only_device(r.cluster).memory;
  const std::vector<std::string> without = left_out(r);
  const std::string label =
      without.empty() ? "" : fmt::format(", without {}", fmt::join(without, ", "));
  std::string text = heading("does it fit?");
  if (r.violation && is_close(r)) {
    text += fmt::format("  Uncertain{}: {}.\n", label, r.sentence);
    if (!r.smallest_change.empty()) {
      text += fmt::format("  It fits with more margin with {}.\n", r.smallest_change);
    }
  } else if (r.violation) {
    text += fmt::format("  No{} ({}): {}.\n", label, rule_text(r.violation->rule).name, r.sentence);
    if (!r.smallest_change.empty()) {
      text += fmt::format("  It would fit with {}.\n", r.smallest_change);
    }
  } else {
    text += fmt::format("  {}{}: {} of {} on the stage with the highest use.\n",
                        is_close(r) ? "Uncertain" : "Yes", label,
                        memory_text(r.estimate->peak_memory()), memory_text(memory));
  }
  if (is_close(r)) text += fmt::format("  {}\n", uncertain_fit_text(*r.estimate, r.cluster));
  const auto& items = r.launch.not_understood;
  const auto unknown = std::count_if(items.begin(), items.end(), [](const NotUnderstood& item) {
    return item.effect == "unknown";
  });
  if (unknown > 0) {
    text += fmt::format("  Unknown options: {}. The answer is valid only if they change no cost.\n",
                        unknown);
  }
  if (r.eager_peak && !r.violation) {
    text += fmt::format(
        "  {}: the launch does not set the attention kernel. Eager attention stores "
        "the scores and needs {}.\n",
        needs_fused_attention(r) ? "It fits only with FlashAttention or SDPA"
                                 : "FlashAttention or SDPA is assumed",
        memory_text(*r.eager_peak));
  }
  if (r.log && r.log->out_of_memory) {
    text += fmt::format("  The run did not fit: the log reports out of memory at line {}.\n",
                        r.log->out_of_memory_line);
  }
  return text;
}

std::string error_text(double error) {
  return fmt::format("{} %", signed_number_text(100.0 * error, 3));
}

std::string measured_text(const ReviewedRun& r) {
  if (!r.estimate) return "";
  const Estimate& found = *r.estimate;
  std::string text = heading("predicted and measured");
  if (!r.log_refused.empty()) {
    text += fmt::format("  The log is not used: {}.\n", r.log_refused);
  }
  text +=
      fmt::format("  step: predicted {} (90 % interval: {} to {})", seconds_text(found.step_time),
                  seconds_text(found.step_time_low), seconds_text(found.step_time_high));
  const LogFacts log = r.log.value_or(LogFacts{});
  if (log.step_time) {
    text += fmt::format(
        ", measured {} ({} log: median of {} steps after {} of warm-up; p10 {}, p90 {}{}{}): {}, "
        "{} "
        "the interval",
        seconds_text(*log.step_time), log.software, log.steps, log.warm_up_steps,
        seconds_text(*log.p10), seconds_text(*log.p90),
        log.steps_of_other_batches > 0
            ? fmt::format("; {} steps with other batches ignored", log.steps_of_other_batches)
            : "",
        log.restarts > 0 ? fmt::format("; {} restarts", log.restarts) : "",
        error_text(*r.step_error), r.inside_interval ? "inside" : "outside");
  }
  const double tokens =
      static_cast<double>(r.job.global_batch_size) * r.job.seq_length / r.cluster.num_gpus();
  text += fmt::format(".\n  tokens per second and device: predicted {}",
                      number_text(found.tokens_per_second_per_gpu));
  if (log.step_time) {
    text += fmt::format(", measured {}", number_text(tokens / log.step_time->value()));
  }
  text += fmt::format(".\n  MFU: predicted {} %",
                      number_text(100.0 * found.model_flops_utilization, 3));
  if (log.step_time) {
    text += fmt::format(
        ", measured {} %",
        number_text(100.0 * found.model_flops_utilization * (found.step_time / *log.step_time), 3));
  }
  text += fmt::format(".\n  {}\n  memory that is {}: predicted {}", kMfuConvention,
                      r.memory_is_reserved ? "reserved" : "allocated", memory_text(r.printed_peak));
  if (log.peak_memory) {
    text += fmt::format(", measured {}: {}", memory_text(*log.peak_memory),
                        error_text(*r.memory_error));
  } else if (log.other_memory) {
    text += fmt::format("; the log has only {} memory: {}",
                        r.memory_is_reserved ? "allocated" : "reserved",
                        memory_text(*log.other_memory));
  }
  return text + ".\n";
}

std::string terms_text(const ReviewedRun& r, std::size_t width) {
  if (!r.estimate) return "";
  std::string text = heading("where the predicted step goes");
  text += table_to_text(terms_table(r.estimate->terms, r.estimate->step_time), width);
  for (const planner::MeasuredPart& part : r.parts) {
    text += fmt::format("  timer {} ({}): predicted {}, measured {}: {}\n", part.name, part.meaning,
                        seconds_text(part.predicted), seconds_text(part.measured),
                        error_text(part.predicted / part.measured - 1.0));
  }
  if (r.log && r.parts.empty()) {
    text += r.launch.target.starts_with("Megatron")
                ? "  The log has no timers to compare the terms with; --timing-log-level 1 "
                  "prints them.\n"
                : "  The log has no timers to compare the terms with.\n";
  }
  return text;
}

std::string change_text(const SettingChange& change) {
  const auto said = [](const std::optional<std::string>& value) {
    return !value ? "not there" : value->empty() ? "on" : *value;
  };
  return fmt::format("      {}: {} -> {}\n", change.name, said(change.before), said(change.after));
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
  if (r.statistics.enumerated == 0) return "";  // not asked for
  std::string text = heading("better layouts");
  if (r.better.empty()) {
    text += fmt::format(
        "  None of {} layouts that fit is predicted to be at least 0.5 % faster and "
        "can be expressed for {}.\n",
        count_text(r.statistics.fitting), r.launch.target);
  }
  for (std::size_t i = 0; i < r.better.size(); ++i) {
    const planner::BetterLayout& better = r.better[i];
    text += fmt::format(
        "  {}. {}{}: {} predicted, {} of memory", i + 1, short_name(better.estimate.layout),
        better.same_sizes ? " (the same sizes)" : "", seconds_text(better.estimate.step_time),
        memory_text(better.estimate.peak_memory()));
    if (!r.violation) {
      text += fmt::format("; {} % less than the launched layout, faster with {} % probability",
                          number_text(100.0 * (1.0 - better.predicted_ratio), 3),
                          number_text(100.0 * better.probability_faster, 3));
    }
    if (better.expected_step && !r.violation) {
      text += fmt::format("; scaled to the measured step: {}", seconds_text(*better.expected_step));
    }
    text += "\n";
    if (!better.effects.empty()) {
      text += indented(planner::effects_text(better.effects, r.estimate->step_time));
    }
    if (!r.changes[i].empty()) text += "    to change:\n";
    for (const SettingChange& change : r.changes[i]) text += change_text(change);
  }
  for (const auto& [why, count] : r.not_expressible) {
    text += fmt::format("  {} faster layouts cannot be expressed for {}: {}.\n", count,
                        r.launch.target, why);
  }
  return text;
}

}  // namespace

std::string review_text(const ReviewedRun& r, std::size_t width) {
  std::string text = wrapped_text(
      question(r) + facts_text(r.launch) + environment_text(r) + fit_text(r) + measured_text(r),
      width);
  text += terms_text(r, width) + wrapped_text(better_text(r), width);
  if (!r.changed_launch.empty()) {
    text += "  --launch-out FILE writes the launch of the first; all else in it stays.\n";
  }
  for (const std::string& note : r.notes) text += wrapped_text("\nnote: " + note + "\n", width);
  return text;
}

}  // namespace meshwright::reports
