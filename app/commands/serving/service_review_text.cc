// SPDX-License-Identifier: Apache-2.0
#include "app/commands/serving/service_review_text.h"

#include <fmt/format.h>

#include <iterator>
#include <set>

#include "app/console/terminal.h"
#include "app/files/output_file.h"
#include "reports/sections/service_text.h"
#include "sim/base/number_text.h"

namespace meshwright::app {
namespace {

using reports::LaunchWord;
using reports::ServingReviewFile;

std::vector<LaunchWord> words_of(const std::vector<interop::Fact>& facts) {
  std::vector<LaunchWord> words;
  for (const interop::Fact& fact : facts) {
    words.push_back({fact.field, fact.value, fact.said, "", fact.place.file, fact.place.line});
  }
  return words;
}

reports::Table words_table(const char* title, const std::vector<LaunchWord>& words) {
  reports::Table table{title,
                       {{"line", "line", ""},
                        {"said", "in the file", ""},
                        {"field", "field", ""},
                        {"value", "value", ""},
                        {"why", "why", ""}},
                       {}};
  for (const LaunchWord& word : words) {
    const auto cell = [](const std::string& text) {
      return text.empty() ? reports::Cell() : reports::Cell(text);
    };
    table.rows.push_back({word.line > 0 ? reports::Cell(double(word.line)) : reports::Cell(),
                          cell(word.said), cell(word.field), cell(word.value), cell(word.why)});
  }
  return reports::without_empty_columns(std::move(table));
}

reports::Table better_table(const ServingReviewFile& file) {
  reports::Table table{"deployments on as many GPUs that give more tokens",
                       {{"deployment", "deployment", ""},
                        {"gpus", "GPUs", ""},
                        {"max_num_seqs", "sequences", ""},
                        {"max_num_batched_tokens", "tokens a step", ""},
                        {"ttft_ms", "TTFT", "ms"},
                        {"tpot_ms", "TPOT", "ms"},
                        {"tokens_per_second_per_gpu", "tok/s/GPU", ""}},
                       {}};
  for (const reports::BetterService& one : file.better) {
    table.rows.push_back({one.deployment, double(one.gpus), double(one.max_num_seqs),
                          double(one.max_num_batched_tokens), one.ttft / milliseconds(1),
                          one.tpot / milliseconds(1), one.tokens_per_second_per_gpu});
  }
  return table;
}

reports::Table measured_table(const ServingReviewFile& file) {
  reports::Table table{"measured and predicted",
                       {{"result", "result", ""},
                        {"quantity", "quantity", ""},
                        {"measured", "measured", ""},
                        {"predicted", "predicted", ""},
                        {"low", "low", ""},
                        {"high", "high", ""},
                        {"error_percent", "error", "%", 3}},
                       {}};
  for (const reports::MeasuredLatency& one : file.measured) {
    table.rows.push_back({one.result, one.quantity, one.measured, one.predicted, one.low, one.high,
                          (one.predicted / one.measured - 1.0) * 100.0});
  }
  return table;
}

std::vector<reports::Table> tables_of(const ServingReviewFile& file) {
  std::vector<reports::Table> tables;
  const auto add = [&](const char* name, reports::Table table) {
    if (!table.rows.empty()) tables.push_back(named(name, std::move(table)));
  };
  add("measured", measured_table(file));
  add("better", better_table(file));
  add("read", words_table("read", file.read));
  add("assumed", words_table("assumed", file.assumed));
  add("passed_over", words_table("changes nothing", file.passed_over));
  add("not_understood", words_table("not understood", file.not_understood));
  return tables;
}

std::string summary_of(const ServingReviewFile& f) {
  if (f.verdict == "not_judged") {
    return fmt::format("{} of {}, {}: {} words read, {} change nothing, {} not understood.\n{}",
                       f.form, f.engine, f.model.empty() ? "no model" : f.model, f.read.size(),
                       f.passed_over.size(), f.not_understood.size(),
                       f.reason.empty() ? "" : f.reason + "\n");
  }
  const char* verdict = f.verdict == "fits"      ? "fits"
                        : f.verdict == "refused" ? "refused by the engine"
                                                 : "does not fit";
  // Without a layout the engine stops at its words.
  std::string text = f.deployment.empty()
                         ? fmt::format("{} of {}, {}: {}.\n", f.form, f.engine, f.model, verdict)
                         : fmt::format("{} by {} on {} x {}: {}.\n", f.model, f.deployment, f.gpus,
                                       f.device, verdict);
  if (!f.reason.empty()) text += f.reason + "\n";
  if (f.kv_tokens) {
    text +=
        fmt::format("Cache: {} tokens an attention group", count_text(std::int64_t(*f.kv_tokens)));
    if (f.measured_kv_tokens) {
      text += fmt::format("; the log says {} (error {} %)",
                          count_text(std::int64_t(*f.measured_kv_tokens)),
                          number_text((*f.kv_tokens / *f.measured_kv_tokens - 1.0) * 100.0, 3));
    }
    text += fmt::format("; {} requests run together on a replica.\n",
                        number_text(f.largest_batch.value_or(0.0), 4));
  }
  if (f.tpot) {
    text += fmt::format("Predicted{}: TTFT {}, TPOT {}, {} output tokens/s a GPU.\n",
                        f.percentile > 0 ? " p" + number_text(f.percentile) : " means",
                        reports::latency_range_text({*f.ttft, *f.ttft_low, *f.ttft_high}),
                        reports::latency_range_text({*f.tpot, *f.tpot_low, *f.tpot_high}),
                        number_text(f.tokens_per_second_per_gpu.value_or(0.0), 4));
    if (f.meets_limits) {
      text += *f.meets_limits ? "It meets the limits.\n" : "It misses the limits.\n";
    }
    text +=
        f.better.empty()
            ? "No deployment on as many GPUs gives more tokens.\n"
            : fmt::format("Better: {}, {} output tokens/s a GPU.\n", f.better.front().deployment,
                          number_text(f.better.front().tokens_per_second_per_gpu, 4));
  }
  return text;
}

}  // namespace

void add_launch(ServingReviewFile& file, const interop::ServingLaunch& launch) {
  file.form = launch.form;
  file.engine = interop::title_of(launch.engine);
  file.engine_version = launch.engine_version;
  file.model = launch.model;
  file.read = words_of(launch.read);
  file.assumed = words_of(launch.assumed);
  for (const interop::PassedOver& one : launch.passed_over) {
    file.passed_over.push_back({"", "", one.said, one.why, one.place.file, one.place.line});
  }
  for (const interop::NotUnderstood& one : launch.not_understood) {
    file.not_understood.push_back({one.key, "", one.said, one.why, one.place.file, one.place.line});
  }
}

void write_service_reviews(const std::vector<ServingReviewFile>& files,
                           const OutputOptions& output) {
  std::string text;
  std::vector<reports::Table> all;
  for (const ServingReviewFile& file : files) {
    std::vector<reports::Table> tables = tables_of(file);
    if (output.format == Format::table) {
      text += (text.empty() ? "" : "\n") + wrapped(summary_of(file)) + "\n" +
              tables_text(tables, Format::table);
    }
    if (output.format == Format::json) {
      text += reports::serving_review_record().write(file).dump(2) + "\n";
    }
    std::move(tables.begin(), tables.end(), std::back_inserter(all));
  }
  if (output.format == Format::table) {
    write_file_atomically(output.out, text);
  } else {
    write_output(output, all, text);
  }
  std::set<std::string> said;
  for (const ServingReviewFile& file : files) {
    for (const std::string& note : file.notes) {
      if (said.insert(note).second) say("note: {}\n", note);
    }
  }
}

}  // namespace meshwright::app
