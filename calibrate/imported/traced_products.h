// SPDX-License-Identifier: Apache-2.0
// GEMMs of a trace, whichever tool wrote it: an operator that states the sizes of its inputs, and
// the kernels that ran for it. Equal shapes have the median of their times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/imported/imported.h"
#include "sim/record/json.h"

namespace meshwright::calibrate {

// Which input of PyTorch's operator is the first factor; none: the operator is no product.
std::optional<std::size_t> first_factor(const std::string& name);

// Shape of a product operator whose inputs have these sizes, a list of lists. None: the operator is
// no product, or its sizes are not those of one.
std::optional<GemmShape> traced_shape(const std::string& name, const Json& dims);

// Tells whether a kernel is a GEMM of cuBLAS, CUTLASS, hipBLASLt or Triton's templates.
bool is_gemm_kernel(const std::string& name);
// Number format of a GEMM kernel by its name. None: the name does not say it.
std::optional<Precision> kernel_precision(const std::string& name);

// Times of products, by format and shape.
class ProductTimes {
 public:
  void add(Precision precision, const GemmShape& shape, Seconds time);
  void write_points(Imported& result) const;

 private:
  using Key = std::tuple<Precision, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, std::vector<double>> seconds_;
};

}  // namespace meshwright::calibrate
