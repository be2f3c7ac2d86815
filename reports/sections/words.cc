// SPDX-License-Identifier: Apache-2.0
// Assumptions of the plan (the job in words, the plan's notes) and the glossary.
#include <fmt/format.h>

#include <array>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"
#include "sim/block/parameters.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

struct GlossaryWord {
  std::string_view word, meaning;
};

constexpr std::array kGlossary{
    GlossaryWord{"tp", "Tensor-parallel size: each layer's matrices are cut over this many GPUs."},
    GlossaryWord{"pp", "Pipeline-parallel size: the layers are cut into this many stages."},
    GlossaryWord{"vpp", "Virtual pipeline size: chunks of layers that one stage holds."},
    GlossaryWord{"dp", "Data-parallel size: copies of the model that work on different sequences."},
    GlossaryWord{"cp", "Context-parallel size: each sequence is cut over this many GPUs."},
    GlossaryWord{"ep", "Expert-parallel size: the experts are spread over this many GPUs."},
    GlossaryWord{"mbs", "Micro-batch size: sequences that go through the pipeline together."},
    GlossaryWord{"sp", "Sequence parallelism: norms and dropout are cut along the sequence."},
    GlossaryWord{"zero", "ZeRO stage: 1 shards the optimizer, 2 also gradients, 3 also weights."},
    GlossaryWord{"recompute",
                 "Activations that are computed again in backward instead of being kept."},
    GlossaryWord{"pipeline bubble", "Time in which a stage waits for the others."},
    GlossaryWord{"MFU", kMfuConvention},
    GlossaryWord{"1σ", "One standard deviation: two of three values lie within it."},
    GlossaryWord{"rank", "One process with one GPU."},
    GlossaryWord{"layout #1", "The layout that the plan ranks first."},
    GlossaryWord{"Pareto",
                 "A layout is on the Pareto front if no other is faster and needs less memory."},
    GlossaryWord{"intra node, inter node",
                 "Over the links inside a node; over the network between nodes."},
    GlossaryWord{"GEMM", "Product of two matrices: most of a transformer's work."},
    GlossaryWord{"payload", "The array passed to a collective, as nccl-tests counts its size."},
    GlossaryWord{"sent", "Bytes that one rank sends over its link for a collective."},
    GlossaryWord{
        "90 % interval",
        "Where nine of ten measured step times are expected, if the spreads of the terms are "
        "right and independent."},
    GlossaryWord{"measured", "Timed on this kind of machine, at this size."},
    GlossaryWord{"interpolated", "Between two sizes that were timed."},
    GlossaryWord{"fitted", "From a formula fitted to timings."},
    GlossaryWord{"extrapolated", "Beyond the largest or smallest size, or group, that was timed."},
    GlossaryWord{"datasheet", "From the vendor's numbers, with a customary efficiency."},
    GlossaryWord{"assumed", "A stated assumption, with no measurement or datasheet behind it."},
};

const Record<GlossaryEntry>& glossary_entry_record() {
  return described([](Record<GlossaryEntry>& r) {
    r.about("A word of the page.");
    r.rows<&GlossaryEntry::word, &GlossaryEntry::meaning>();
    r.named("GlossaryEntry").all_required();
  });
}

void assumptions_rows(Record<Report>& r) {
  r.row<&Report::assumptions>();
  r.row<&Report::glossary>(glossary_entry_record);
}

std::vector<std::string> assumptions_of(const planner::Plan& plan) {
  const Job& job = plan.job;
  std::vector<std::string> all{
      fmt::format("Model: {} B parameters in {} layers, hidden size {}.",
                  number_text(static_cast<double>(total_parameters(plan.model)) / 1e9),
                  plan.model.num_layers, plan.model.hidden_size),
      fmt::format("Batch: {} sequences of {} tokens per step.", count_text(job.global_batch_size),
                  count_text(job.seq_length)),
      fmt::format("Number formats: GEMM operands {}, gradients {}, {} with moments in {} and {}.",
                  name_of(job.precision), name_of(job.gradient_precision), name_of(job.optimizer),
                  name_of(job.exp_avg_precision), name_of(job.exp_avg_sq_precision)),
      fmt::format("Attention: {} kernel, {}.", name_of(job.attention_kernel),
                  job.causal ? "causal" : "not causal"),
      "The interval treats the errors of different terms as independent, and those inside a term "
      "as shared."};
  all.insert(all.end(), plan.notes.begin(), plan.notes.end());
  return all;
}

void fill_assumptions(Report& report, const ReportContents& contents) {
  report.assumptions = assumptions_of(contents.plan);
  for (const GlossaryWord& word : kGlossary) {
    report.glossary.push_back(
        {std::string(word.word), with_device_noun(word.meaning, contents.plan.cluster)});
  }
}

std::string assumptions_page(const Report& report) {
  std::string glossary = "<dl class=\"glossary\">\n";
  for (const GlossaryEntry& entry : report.glossary) {
    glossary += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html::escape(entry.word),
                            html::escape(entry.meaning));
  }
  return html::section("assumptions", "Assumptions", html::list(report.assumptions)) +
         html::section("glossary", "Words", glossary + "</dl>\n");
}

}  // namespace

extern const ReportSection kAssumptionsSection;
constexpr ReportSection kAssumptionsSection{.rows = assumptions_rows,
                                            .fill = fill_assumptions,
                                            .page = assumptions_page,
                                            .id = "assumptions",
                                            .word = "Assumptions"};

}  // namespace meshwright::reports
