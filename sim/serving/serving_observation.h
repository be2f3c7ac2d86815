// SPDX-License-Identifier: Apache-2.0
// Result of a service that was executed: its requests, its steps, and what its ranks moved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/job.h"
#include "sim/serving/simulation.h"
#include "sim/serving/step.h"
#include "sim/volume/volume.h"

namespace meshwright {

// One step of one replica.
struct ObservedServingStep {
  int replica = 0;
  Seconds begin{};  // since the run's
  Seconds time{};
  EngineStep step{};
  double kv_blocks = 0;       // of the cache, in use
  Bytes sent{};               // by one rank; with pipeline stages by one of each
  bool bytes_as_said = true;  // every transfer is the ledger's (step_volume.h)
};

// A transfer of one rank over all steps of a run, beside the ledger's. With pipeline stages of one
// rank of each, added up.
struct ServedTransfer {
  Transfer counted{};  // payload: mean of a call
  double said_calls = 0;
  Bytes said_payload{};  // of all calls
  Seconds time{};        // of all calls, waits included
};

// A prompt's cache on its way from the pool that computed it to the replica that decodes.
struct ObservedHandover {
  int request = 0;            // of the load
  Seconds ready{};            // the prompt was computed
  Seconds begin{};            // the replica had room, and began to receive
  Seconds end{};              // the cache was in its blocks
  Bytes received{};           // by one rank
  bool bytes_as_said = true;  // of every rank (kv_transfer.h, kv_rank_bytes)
};

// The pool that computes prompts, where there is one.
struct ServedPrefillPool {
  ReplicaOptions options{};
  int replicas = 1;
  std::int64_t kv_blocks = 0;  // of a replica's cache
  bool operator==(const ServedPrefillPool&) const = default;
};

struct ServingObservation {
  ReplicaOptions options{};            // of the replicas
  int replicas = 1, run_replicas = 1;  // of the deployment, and those that ran
  int ranks = 0;
  Precision precision = Precision::fp32;  // of products, activations and messages
  std::int64_t kv_blocks = 0;             // of a replica's cache
  Bytes kv_cache{};                       // of one rank
  Bytes peak_memory{};                    // of the rank that used most
  std::string device{};                   // "cpu", "cuda"
  std::vector<std::string> not_run{};     // parts that were not executed, in words
  std::string failure{};                  // empty, or why nothing ran
  // The host's times around the run over those of its profile: the median over all steps, and over
  // those of each kind; none: not looked at.
  std::optional<double> host_time_ratio{};
  std::optional<HostTimeRatios> host_time_ratios{};
  std::vector<int> requests{};  // places in the load of those that ran
  ServingRun run{};             // timings in that order
  std::vector<ObservedServingStep> steps{};
  std::vector<ServedTransfer> transfers{};  // of the first replica
  // Disaggregated: options and replicas above are of the decode pool. Steps have the replicas of
  // the prefill pool first.
  std::optional<ServedPrefillPool> prefill{};
  std::vector<ObservedHandover> handovers{};
  [[nodiscard]] bool of_prefill_pool(const ObservedServingStep& step) const {
    return prefill && step.replica < prefill->replicas;
  }
};

// Records as numbers in a row, for files and for messages between ranks, and back.
inline constexpr std::size_t kRequestTimingNumbers = 5;
std::vector<double> numbers_of(const RequestTiming& t);
RequestTiming request_timing_of(std::span<const double> numbers);
inline constexpr std::size_t kServingStepNumbers = 11;
std::vector<double> numbers_of(const ObservedServingStep& s);
ObservedServingStep serving_step_of(std::span<const double> numbers);

// Median time of the steps that only decode; 0 of none.
Seconds median_decode_step(const ServingObservation& o);

}  // namespace meshwright
