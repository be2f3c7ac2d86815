// SPDX-License-Identifier: Apache-2.0
// Conditions of a pipeline schedule. The numbers are the schedule's traits.
#pragma once

#include "sim/base/text.h"
#include "sim/rules/rule_row.h"
#include "sim/schedule/traits.h"

namespace meshwright {

inline bool goes_in_groups(const Layout& l) {
  return traits(l.schedule).groups_of_stages && l.virtual_pipeline_parallel_size > 1 &&
         l.pipeline_engine == PipelineEngine::megatron;
}
inline int fewest_micro_batches(const Layout& l) {
  const int pp = l.pipeline_parallel_size;
  if (l.pipeline_engine == PipelineEngine::nanotron && l.schedule == kDefaultSchedule) {
    return pp - 1;
  }
  return traits(l.schedule).fewest_micro_batches.of(pp);
}

// The names of the schedules that a framework states.
inline std::string stated_schedules(const Framework& framework) {
  std::string names;
  for (const auto& [schedule, name] : kPipelineScheduleNames) {
    if (framework.pipeline.has(schedule)) append_to_list(names, ", ", name);
  }
  return names;
}

inline constexpr RuleRow kScheduleRules[]{
    {.name = "framework_has_schedule",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const Framework* framework = in.devices.framework;
       const bool has = framework == nullptr || in.layout.pipeline_parallel_size == 1 ||
                        framework->pipeline.has(in.layout.schedule);
       return has ? CheckResult{} : missed(1, 0);
     },
     .requirement = "The schedule must be one that the framework has.",
     .reason = "The framework's file lists its schedules (pipeline.schedules), with their source.",
     .remedy = "Use one of its schedules, or name another framework.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           const Framework& framework = *in.devices.framework;
           return fmt::format("schedule is {}; {} has {}", name_of(in.layout.schedule),
                              framework.name, stated_schedules(framework));
         }},
    {.name = "interleaving_needs_pipeline",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       if (!goes_in_groups(in.layout)) return std::nullopt;
       return must_be_at_least(in.layout.pipeline_parallel_size,
                               in.layout.overlap_p2p_comm ? 2 : 3);
     },
     .requirement =
         "Interleaving needs pipeline_parallel_size > 1, and > 2 unless overlap_p2p_comm is on.",
     .reason = "With one stage there is nothing to interleave; with two and no overlap the same "
               "two ranks would exchange several messages in one batch (Megatron-LM "
               "arguments.py).",
     .remedy = "Set virtual_pipeline_parallel_size to 1, use more stages, or turn "
               "overlap_p2p_comm on.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format(
               "schedule {} with overlap_p2p_comm {} needs pipeline_parallel_size "
               "{} or more, it is {}",
               name_of(in.layout.schedule), on_or_off(in.layout.overlap_p2p_comm), whole(m.needed),
               in.layout.pipeline_parallel_size);
         }},
    {.name = "interleaving_needs_micro_batches_multiple_of_pipeline",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       if (!goes_in_groups(in.layout)) return std::nullopt;
       return must_divide(in.micro_batches(), in.layout.pipeline_parallel_size);
     },
     .requirement = "With the interleaved schedule, the number of micro-batches must be a multiple "
                    "of pipeline_parallel_size.",
     .reason = "Micro-batches pass through the chunks in groups of one per stage (Narayanan 2021, "
               "arXiv 2104.04473, section 2.2), and a last group of fewer is refused (Megatron-LM "
               "00611e6, schedules.py, with microbatch_group_size_per_vp_stage at its default, "
               "pipeline_parallel_size).",
     .remedy = "Change micro_batch_size, data_parallel_size or the global batch so that it is.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "the number of micro-batches, {}, is not divisible by pipeline_parallel_size {}",
               in.micro_batches(), in.layout.pipeline_parallel_size);
         }},
    {.name = "schedule_needs_pipeline",
     .part = RulePart::sizes,
     .check =
         [](const RuleInput& in) {
           return must_be_at_least(in.layout.pipeline_parallel_size,
                                   traits(in.layout.schedule).fewest_stages);
         },
     .requirement = "Schedules that split the backward pass need pipeline_parallel_size > 1.",
     .reason = "They fill the bubble between stages; one stage has none (Qi 2023, arXiv "
               "2401.10241).",
     .remedy = "Use schedule 1f1b, or more stages.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format("schedule {} needs pipeline_parallel_size {} or more, it is {}",
                              name_of(in.layout.schedule), whole(m.needed), whole(m.available));
         }},
    {.name = "schedule_fixes_virtual_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const ScheduleTraits& t = traits(in.layout.schedule);
       const int chunks = in.layout.virtual_pipeline_parallel_size;
       if (in.layout.pipeline_engine != PipelineEngine::megatron && chunks > 1) {
         return missed(1, chunks);
       }
       if (chunks < t.fewest_chunks) return missed(t.fewest_chunks, chunks);
       return chunks > t.most_chunks ? CheckResult{missed(t.most_chunks, chunks)} : std::nullopt;
     },
     .requirement =
         "virtual_pipeline_parallel_size must be 2 for a schedule that folds the model or runs it "
         "from both ends, at least 2 for interleaved, and 1 for every other schedule.",
     .reason = "ZB-V folds the model so that each stage holds two chunks (arXiv 2405.15362), "
               "DualPipe holds one chunk of each direction (arXiv 2412.19437); only the "
               "interleaved schedule has a free number.",
     .remedy = "Set virtual_pipeline_parallel_size as the schedule needs, or choose another "
               "schedule.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           const Layout& l = in.layout;
           const bool engine = l.pipeline_engine != PipelineEngine::megatron && m.needed == 1;
           return fmt::format(
               "{} needs virtual_pipeline_parallel_size {}{}, it is {}",
               engine ? fmt::format("pipeline_engine {}", name_of(l.pipeline_engine))
                      : fmt::format("schedule {}", name_of(l.schedule)),
               whole(m.needed),
               traits(l.schedule).any_number_of_chunks() && !engine ? " or more" : "",
               l.virtual_pipeline_parallel_size);
         }},
    {.name = "schedule_needs_micro_batches",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const int micro_batches = in.micro_batches();
       if (micro_batches == 0) return std::nullopt;  // the batch's rule
       if (const CheckResult result =
               must_be_at_least(micro_batches, fewest_micro_batches(in.layout))) {
         return result;
       }
       return must_divide(micro_batches, traits(in.layout.schedule).micro_batches_multiple_of);
     },
     .requirement = "The number of micro-batches must be at least p for zb_h1, 2p-1 for zb_h2, 2p "
                    "for a schedule that folds the model or runs it from both ends, even for the "
                    "latter, with p stages; p-1 for 1f1b with pipeline_engine nanotron.",
     .reason = "With fewer, the warm-up does not fill: ZB-H2 keeps 2p-1 micro-batches in flight "
               "(arXiv 2401.10241), a V schedule fills two chunks per stage (arXiv 2405.15362), "
               "DualPipe feeds half of them from each end (deepseek-ai/DualPipe README).",
     .remedy = "Use smaller micro-batches, fewer stages or data ranks, or schedule 1f1b.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           const Layout& l = in.layout;
           const bool few = m.available < m.needed;
           return fmt::format(
               "schedule {} with pipeline_parallel_size {} needs {} {}{}, there are {}",
               name_of(l.schedule), l.pipeline_parallel_size, few ? "at least" : "a multiple of",
               whole(m.needed), " micro-batches", in.micro_batches());
         }},
    {.name = "dualpipe_needs_even_pipeline",
     .part = RulePart::sizes,
     .check =
         [](const RuleInput& in) {
           return must_divide(in.layout.pipeline_parallel_size,
                              traits(in.layout.schedule).stages_multiple_of);
         },
     .requirement = "dualpipe needs an even pipeline_parallel_size.",
     .reason = "Stage r and stage p-1-r hold the same two chunks, so stages come in pairs "
               "(deepseek-ai/DualPipe README).",
     .remedy = "Use an even number of stages.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format(
               "schedule {} needs a pipeline_parallel_size that is a multiple of {}, it is {}",
               name_of(in.layout.schedule), whole(m.needed), whole(m.available));
         }},
};

}  // namespace meshwright
