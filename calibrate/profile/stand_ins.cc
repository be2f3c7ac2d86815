// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/stand_ins.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/quadrature.h"

namespace meshwright::calibrate {
namespace {

// fp8's best measured share of its peak is 0.70 to 0.76 where bf16's is 0.80 (ml-engineering's
// table of largest products): a stand-in may be off by so much.
constexpr double kStandInSpread = 0.2;

bool in_tensor_cores(Precision precision) { return precision != Precision::fp32; }

// The measured format whose rate is nearest; null where none of the tensor cores was measured.
const GemmModel* nearest(const std::vector<GemmModel>& models, Precision wanted) {
  const GemmModel* best = nullptr;
  const auto distance = [&](const GemmModel& m) {
    return std::abs(std::log(rate_over_sixteen_bits(m.precision) / rate_over_sixteen_bits(wanted)));
  };
  for (const GemmModel& model : models) {
    if (!in_tensor_cores(model.precision) || model.points.empty()) continue;
    if (best == nullptr || distance(model) < distance(*best)) best = &model;
  }
  return best;
}

GemmModel stand_in(const GemmModel& measured, Precision wanted) {
  GemmModel model = measured;
  model.precision = wanted;
  model.points.clear();
  model.peak *= rate_over_sixteen_bits(wanted) / rate_over_sixteen_bits(measured.precision);
  model.relative_spread = in_quadrature(measured.relative_spread, kStandInSpread);
  model.provenance = Provenance::assumed;
  return model;
}

}  // namespace

double rate_over_sixteen_bits(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 1.0 / 16.0;
    case Precision::tf32:
      return 0.5;
    case Precision::fp16:
    case Precision::bf16:
      return 1.0;
    case Precision::fp8:
      return 2.0;
    case Precision::fp4:
      return 4.0;
  }
  return 1.0;
}

std::vector<Precision> tensor_core_formats(std::string_view architecture) {
  using enum Precision;
  if (architecture == "ampere") return {tf32, fp16, bf16};
  if (architecture == "ada" || architecture == "hopper") return {tf32, fp16, bf16, fp8};
  if (architecture == "blackwell") return {tf32, fp16, bf16, fp8, fp4};
  return {};
}

void add_stand_ins(Device& device) {
  std::vector<Precision> formats = tensor_core_formats(device.architecture);
  if (formats.empty()) return;
  formats.push_back(Precision::fp32);
  const std::vector<GemmModel> stated = device.gemm;
  for (const Precision format : formats) {
    const bool known = std::any_of(stated.begin(), stated.end(),
                                   [&](const GemmModel& m) { return m.precision == format; });
    const GemmModel* measured = known ? nullptr : nearest(stated, format);
    if (measured != nullptr) device.gemm.push_back(stand_in(*measured, format));
  }
}

}  // namespace meshwright::calibrate
