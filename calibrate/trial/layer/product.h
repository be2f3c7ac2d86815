// SPDX-License-Identifier: Apache-2.0
// Matrix products in the number format of the job. Those of weight gradients may be left for later.
#pragma once

#include <string_view>

#include "calibrate/trial/ranks/context.h"

namespace meshwright::calibrate {

// c = a b, a is m x k, b is k x n.
GemmCall product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                 float* c);

// A product on the job's number format. Operands are fp32 in memory; a 16-bit format gets copies of
// them, and fp32 results. Where the device does not multiply the format, the copies are fp32 with
// its numbers. Matrices of a batch follow each other without gaps where the call has no
// stride.
void multiply(const TrialContext& context, GemmCall call);
// Operand of a GEMM that is this rank's piece of the sequence.
struct SequencePiece {
  const void* GemmCall::*operand = nullptr;  // null: there is none
  std::int64_t cols = 0;
  std::string_view name;  // of its gather
};
// The same in backward, with a whole sequence in place of the piece.
void multiply_gathered(const TrialContext& context, GemmCall call, const SequencePiece& piece);
// The same of a weight's gradient, which may be left for later; a piece is gathered then, too. What
// the call reads keeps its numbers until the micro-batch is through.
void multiply_for_weight(const TrialContext& context, const GemmCall& call,
                         const SequencePiece& piece = {});

}  // namespace meshwright::calibrate
