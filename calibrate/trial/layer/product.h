// SPDX-License-Identifier: Apache-2.0
// Matrix products in the number format of the job. Those of weight gradients may be left for later.
#pragma once

#include <string_view>

#include "calibrate/trial/ranks/context.h"

namespace meshwright::calibrate {

// A GEMM whose operands each have a format of their own in memory.
struct MixedGemmCall : GemmCall {
  Precision format_a = Precision::fp32, format_b = Precision::fp32;

  void set_a(ConstNumbers numbers) {
    a = numbers.data;
    format_a = numbers.format;
  }
  void set_b(ConstNumbers numbers) {
    b = numbers.data;
    format_b = numbers.format;
  }
};

// c = a b, a is m x k, b is k x n.
MixedGemmCall product(std::int64_t m, std::int64_t n, std::int64_t k, ConstNumbers a,
                      ConstNumbers b, float* c);

// A product on the job's number format, with an fp32 result. Operands of that format are read as
// they are; fp32 ones are copied into it first. Where the device does not multiply the format, all
// are copied into fp32 numbers that it has. Matrices of a batch follow each other without gaps
// where the call has no stride.
void multiply(const TrialContext& context, MixedGemmCall call);
// Operand of a GEMM that is this rank's piece of the sequence.
struct SequencePiece {
  enum class Operand { none, a, b };
  Operand operand = Operand::none;
  std::int64_t cols = 0;
  std::string_view name;  // of its gather
};
// The same in backward, with a whole sequence in place of the piece.
void multiply_gathered(const TrialContext& context, MixedGemmCall call, const SequencePiece& piece);
// The same of a weight's gradient, which may be left for later; a piece is gathered then, too. What
// the call reads keeps its numbers until the micro-batch is through.
void multiply_for_weight(const TrialContext& context, const MixedGemmCall& call,
                         const SequencePiece& piece = {});

}  // namespace meshwright::calibrate
