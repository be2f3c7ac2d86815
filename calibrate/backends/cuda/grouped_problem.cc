// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/grouped_gemm.h"

namespace meshwright::calibrate::cuda {

GroupedProblem::GroupedProblem(const GroupedGemmCall& call) : transpose_first(call.transpose_b) {
  std::int64_t before = 0;  // rows of the experts before
  for (std::size_t expert = 0; expert < call.rows.size(); ++expert) {
    const std::int64_t rows = call.rows[expert];
    if (rows > 0) {
      m.push_back(call.n);
      n.push_back(rows);
      k.push_back(call.k);
      first_ld.push_back(call.transpose_b ? call.k : call.n);
      second_ld.push_back(call.k);
      result_ld.push_back(call.n);
      sizes.push_back(1);
      alpha.push_back(1.0F);
      beta.push_back(0.0F);
      first_offset.push_back(static_cast<std::int64_t>(expert) * call.n * call.k);
      second_offset.push_back(before * call.k);
      result_offset.push_back(before * call.n);
    }
    before += rows;
  }
}

}  // namespace meshwright::calibrate::cuda
