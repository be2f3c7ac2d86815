// SPDX-License-Identifier: Apache-2.0
// Result of an executed layout.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/job.h"
#include "sim/base/trial_mode.h"
#include "sim/base/units.h"
#include "sim/layout/layout.h"
#include "sim/step/estimate.h"

namespace meshwright {

struct ObservedTerm {
  TermKind kind = TermKind::forward_compute;
  Seconds time;  // median over steps, of the rank that waited least for others: its time in a
                 // collective is the transfer's
};

// A transfer as rank 0 counted it.
struct CountedTransfer : Transfer {
  std::optional<Seconds> time{};  // seconds of all calls of a step, waits included
};

// Events of one rank since the start of the step.
struct ObservedInterval {
  int rank = 0;
  TermKind kind = TermKind::host;
  std::string name;      // name of the transfer; empty: the whole term
  int micro_batch = -1;  // -1: none
  int chunk = 0;         // chunk of the rank's stage
  Seconds begin, end;
};

// What the host's speed was taken with.
enum class HostTimeReference {
  points,      // some products and kernels of the profile, before and after the layout's steps
  model_step,  // a step of the model that each rank runs alone, between the layout's steps
};
inline constexpr std::array kHostTimeReferenceNames{
    EnumName{HostTimeReference::points, "products_and_kernels"},
    EnumName{HostTimeReference::model_step, "step_of_the_model"}};

// Another program that ran on the cores of a trial.
struct OtherProgram {
  std::string name;
  double cores = 0.0;  // core seconds a second
  int core = -1;       // last seen on; -1: it used several
  bool operator==(const OtherProgram&) const = default;
};

struct Observation {
  Layout layout;       // the plan's
  Layout run_layout;   // the executed layout; equal to `layout` if the ranks could run all of it
  int run_layers = 0;  // layers of the model that were executed
  int run_num_moe_experts = 0;             // experts of them; 0: the model's
  int run_global_batch_size = 0;           // sequences per step that were executed; 0: the job's
  std::optional<Precision> run_precision;  // none: the job's
  int ranks = 0;                           // ranks that ran
  int steps = 0;                           // timed steps
  bool complete = true;                    // everything of the plan's layout was run
  std::vector<std::string> not_run;        // parts that were not executed, in words
  Seconds step_time;  // median over steps of the slowest rank; a prompt, or one decoded position
  Seconds step_time_p10, step_time_p90, step_time_min;
  double step_time_drift = 0.0;  // median of the later half of the steps over the earlier's, less 1
  // Time of a reference around the steps over its time in the device's profile; none: no profile
  // was at hand.
  std::optional<double> host_time_ratio;
  HostTimeReference host_time_reference = HostTimeReference::points;
  std::optional<OtherProgram> other_program;  // the one that used most; none: none used much
  int runs = 1;  // 2: the first was noisy, and the calmer of both is this
  std::vector<ObservedTerm> terms;
  std::vector<CountedTransfer> counted;  // by collective
  Bytes peak_memory;   // largest rank: the most that the trial itself had in use at once
  double loss = 0.0;   // after the last step
  std::string device;  // "cpu", "cuda"
  TrialMode mode = TrialMode::training;
  double tokens_per_second = 0.0;  // tokens per second of all ranks; 0: not measured
  std::vector<ObservedInterval>
      intervals;        // intervals of the last step on all ranks; empty unless asked for
  std::string failure;  // empty, or why the run ended early
};

// The job with numbers of this format; with fp32 and tf32 gradients have 32 bits, too.
Job with_precision(Job job, Precision precision);

// The model with the layers and experts that were run; fewer experts stand in no groups.
Model model_as_run(Model model, const Observation& o);

// Standard error of the median step, as a share of it: sqrt(pi/2) sigma / sqrt(n) of a normal
// sample, with sigma = (p90 - p10) / 2.563. 0 for fewer than 4 steps, which give no estimate.
double step_time_error(const Observation& o);

// Limits of a disturbed run, which tells little about its layout. The error of the median may be
// half of the 10 % that a prediction may be off. The drift of the steps, and the change of the
// host's speed since calibration, may be all of these 10 %.
inline constexpr double kMostStepTimeError = 0.05;
inline constexpr double kMostStepTimeDrift = 0.1;
inline constexpr double kMostHostDrift = 0.1;
// The largest of the three, each over its limit.
double noise_of(const Observation& o);
inline bool is_noisy(const Observation& o) { return noise_of(o) > 1.0; }
// Of two runs of a layout, returns the second if it ended and was less noisy, else the first. The
// result states the number of runs.
Observation calmer_of(Observation first, Observation second);

// "24 % slower than calibrated", "as fast as calibrated": what a host_time_ratio says.
std::string host_speed_words(double host_time_ratio);
// "median +-6 %, drift +12 %, host 24 % slower than calibrated, calmer of 2 runs": how far a run
// may be off.
std::string noise_words(double step_time_error, double step_time_drift,
                        std::optional<double> host_time_ratio, int runs);
std::string noise_words(const Observation& o);
// "another program (stress) used 98 % of core 1", "... used 1.6 cores": of `program`.
std::string other_program_words(const OtherProgram& program);

}  // namespace meshwright
