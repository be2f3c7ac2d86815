// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "calibrate/trial/inference_step.h"
#include "calibrate/trial/layer/experts.h"
#include "calibrate/trial/ranks/await_all.h"
#include "calibrate/trial/ranks/out_of_memory.h"
#include "calibrate/trial/samples.h"
#include "calibrate/trial/trial_step.h"

namespace meshwright::calibrate {
namespace {

// Warm-up and timed steps; as many again, and once more, where they show a noisy host. All ranks
// stop together: the time that decides is the slowest rank's, and all know all ranks' times. A
// reference, if any, runs around each timed step.
// Ends with the step in which some rank ran out of memory, which `failure` then says.
template <typename Step>
Samples run_steps(Step& step, Communicator& ranks, const TrialOptions& options, bool same_calls,
                  TermKind at_end, SpeedReference* reference, std::string& failure) {
  Samples samples(at_end);
  double spent = 0.0;
  step.recorder().keep_intervals(options.keep_intervals);
  int steps = options.warmup_steps + options.steps;
  const int most = steps + options.most_repeats * options.steps;
  double before = 0.0;  // the reference's ratio; 0: not run yet
  for (int i = 0; i < steps; ++i) {
    const bool enough = !samples.empty() && spent > options.time_limit_seconds;
    if (enough) break;
    const bool warm = i >= options.warmup_steps;
    if (reference != nullptr && warm && before == 0.0) before = reference->time_ratio();
    ranks.barrier();
    step.run();
    failure = out_of_memory_of_any(ranks, step.out_of_memory());
    if (!failure.empty()) return samples;
    spent += ranks.host_max(step.recorder().step_seconds());
    if (warm || spent > options.time_limit_seconds) {
      samples.add(step.recorder(), ranks, same_calls);
      if (reference != nullptr) {
        const double after = reference->time_ratio();
        samples.add_slowdown(before == 0.0 ? after : 0.5 * (before + after));
        before = after;
      }
    }
    const bool last = i + 1 == steps && steps < most;
    if (last && samples.is_noisy()) steps += options.steps;
  }
  return samples;
}

template <typename Step>
void observe(Step& step, Communicator& ranks, const TrialOptions& options, int passes,
             Observation& o, SpeedReference* reference = nullptr) {
  // Stages differ, and so does what falls into a shard of the tensor ranks' replicated gradients.
  const bool same_calls = o.run_layout.pipeline_parallel_size == 1 &&
                          !(shards_by_unit(o.run_layout) && o.run_layout.tensor_parallel_size > 1);
  const bool is_pipeline = o.run_layout.pipeline_parallel_size > 1;
  const TermKind at_end = is_pipeline ? TermKind::pipeline_bubble : TermKind::host;
  o.failure = out_of_memory_of_any(ranks, step.out_of_memory());  // of its weights
  if (!o.failure.empty()) return;
  const Samples samples = run_steps(step, ranks, options, same_calls, at_end, reference, o.failure);
  if (!o.failure.empty()) return;
  samples.describe(o, passes);
  o.counted = samples.counted(step.recorder().transfers(), passes);
  o.peak_memory = bytes(ranks.host_max(step.peak_memory().value()));
  if (options.keep_intervals) o.intervals = gathered_intervals(step.recorder(), ranks);
}

StepOptions step_options(const TrialOptions& options) {
  return {.learning_rate = static_cast<float>(options.learning_rate),
          .seed = options.seed,
          .memory_limit = options.memory_limit.value_or(Arena::no_limit()),
          .moe_router_force_load_balancing = options.moe_router_force_load_balancing};
}

bool on_cores(const Compute& compute) {
  return compute.describe().device_kind() == DeviceKind::cpu;
}

void train_on(Communicator& ranks, const Model& model, const Job& job, Compute& compute,
              const TrialOptions& options, Observation& o) {
  const GroupCommunicators groups(o.run_layout, ranks);
  if (!on_cores(compute)) groups.connect(compute);
  // Once more: what the groups took is no longer free.
  o.failure = lacks_memory(trial_memory(model, job, o.run_layout), compute, ranks);
  if (!o.failure.empty()) return;
  TrialStep step(model, job, o.run_layout, compute, ranks, groups, step_options(options));
  std::unique_ptr<SpeedReference> reference;
  if (options.speed_reference) reference = options.speed_reference(o.run_layout, compute, ranks);
  observe(step, ranks, options, 1, o, reference.get());
  if (!o.failure.empty()) return;
  const double tokens = static_cast<double>(job.global_batch_size) * job.seq_length;
  o.tokens_per_second = tokens / o.step_time.value();
  o.loss = ranks.host_max(step.loss());  // zero away from the last stage and all equal on it
  if (!std::isfinite(o.loss)) o.failure = "the loss is not a finite number";
}

void infer_on(Communicator& ranks, const Model& model, const Job& job, Compute& compute,
              const TrialOptions& options, Observation& o) {
  const bool decodes = options.mode == TrialMode::decode;
  Job prompt = job;
  if (decodes) prompt.seq_length -= options.decode_tokens;
  InferenceStep step(model, prompt, o.run_layout, compute, ranks, step_options(options),
                     decodes ? options.decode_tokens : 0);
  observe(step, ranks, options, decodes ? options.decode_tokens : 1, o);
  if (!o.failure.empty()) return;
  const double tokens =
      static_cast<double>(o.run_layout.micro_batch_size) * (decodes ? 1 : job.seq_length);
  o.tokens_per_second = tokens / o.step_time.value();
}

Precision precision_of(const Job& job, const Compute& compute, const TrialOptions& options) {
  return options.precision.value_or(on_cores(compute) ? Precision::fp32 : job.precision);
}

// Cores that do not multiply bf16 multiply its numbers in fp32.
bool has_format(const Compute& compute, Precision format) {
  return compute.supports(format) || (on_cores(compute) && format == Precision::bf16);
}

std::string lacks_format(const Compute& compute, const Job& job) {
  for (const Precision format : {job.precision, message_formats(job).gradients}) {
    if (has_format(compute, format)) continue;
    return fmt::format("{} does not compute in {}", compute.describe().name, name_of(format));
  }
  return "";
}

std::string unsupported(const Model& model, const Job& job, const Layout& layout,
                        const TrialOptions& options) {
  if (options.mode == TrialMode::training) return trial_unsupported(model, job, layout);
  const int decoded = options.mode == TrialMode::decode ? options.decode_tokens : 0;
  return inference_unsupported(model, job, layout, decoded);
}

}  // namespace

Observation run_trial(const Model& model, const Job& asked, const Layout& layout, Compute& compute,
                      Communicator& world, const TrialOptions& options) {
  const Job job = with_precision(asked, precision_of(asked, compute, options));
  const bool trains = options.mode == TrialMode::training;
  RunnableLayout runnable = trains ? runnable_layout(model, job, layout, world.size(),
                                                     {world.sends_alone(), world.calls_block()})
                                   : runnable_inference_layout(model, job, layout, world.size());
  Observation o;
  o.layout = layout;
  o.run_layout = runnable.layout;
  o.run_layers = runnable.num_layers;
  o.run_num_moe_experts = runnable.num_moe_experts;
  o.run_global_batch_size = runnable.global_batch_size;
  o.ranks = world_size(runnable.layout);
  o.run_precision = job.precision;
  o.not_run = std::move(runnable.not_run);
  if (job.precision != asked.precision) {
    o.not_run.push_back(
        fmt::format("{} ({} was run)", name_of(asked.precision), name_of(job.precision)));
  }
  if (trains && !on_cores(compute) && model.moe && host_routes_tokens(model, o.run_layout)) {
    o.not_run.emplace_back("routing of tokens on the device (the host routes them)");
  }
  o.complete = o.not_run.empty();
  o.mode = options.mode;
  o.device = compute.describe().kind;
  o.failure = unsupported(model, asked, layout, options);
  if (o.failure.empty()) o.failure = lacks_format(compute, job);
  const Model run_model = model_as_run(model, o);
  Job run_job = job;
  run_job.global_batch_size = runnable.global_batch_size;
  if (o.failure.empty() && trains) {
    o.failure = lacks_memory(trial_memory(run_model, run_job, o.run_layout), compute, world);
  }
  if (!o.failure.empty()) return o;

  // All ranks need no communicator beside the world's.
  const bool takes_part = world.rank() < o.ranks;
  std::unique_ptr<Communicator> some;
  if (o.ranks < world.size()) some = world.split(takes_part ? 0 : kNoGroup, world.rank());
  Communicator& ranks = some == nullptr ? world : *some;
  if (takes_part) (trains ? train_on : infer_on)(ranks, run_model, run_job, compute, options, o);
  await_all(world);
  return o;
}

}  // namespace meshwright::calibrate
