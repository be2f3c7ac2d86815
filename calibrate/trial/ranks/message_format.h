// SPDX-License-Identifier: Apache-2.0
// What the numbers of a message are when a step runs in 16 bits.
//
// On the device weights are kept in both formats. What only products read has 16 bits: outputs of
// norms and activations, probabilities of attention, and gradients of both. The residual stream,
// results of products and gradients of weights have 32. Where a job's format has 16, activations
// and their gradients, and weights that are gathered, travel in it, and what arrives has its
// numbers; gradients of weights travel in the job's gradient format. Loss and softmax travel in 32
// bits (Megatron-LM); so do, where the job's router computes in fp32, probabilities and the outputs
// that the allgather dispatcher adds up, as the ledger has them (sim/volume).
#pragma once

#include <string_view>

#include "calibrate/backends/compute.h"
#include "calibrate/trial/ranks/arena.h"
#include "sim/base/job.h"

namespace meshwright::calibrate {

// Tells whether numbers of this format are stored and sent in 16 bits.
constexpr bool has_sixteen_bits(Precision format) { return bytes_per_element(format) == 2.0; }

// The trial's own, which no ledger has: the sum of squared differences.
inline constexpr std::string_view kMeanSquareAllReduce = "mean square all-reduce";

struct MessageFormats {
  Precision activations = Precision::fp32;
  Precision weights = Precision::fp32;
  Precision gradients = Precision::fp32;  // of weights
  Precision router = Precision::fp32;     // of probabilities, and what they weigh
};

// All fp32 where the job's products are fp32 or tf32.
MessageFormats message_formats(const Job& job);

// Format of the ledger's transfer of this name (sim/block/transfer_names.h). An unknown name has
// the format of activations.
Precision format_of(std::string_view transfer, const MessageFormats& formats);

// Where this rank's messages are converted.
struct MessageEdge {
  Compute& compute;
  Arena& arena;
  MessageFormats formats;
};

}  // namespace meshwright::calibrate
