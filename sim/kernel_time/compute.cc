// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/compute.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/error.h"
#include "sim/base/spread.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright {
namespace {

// Queries that one block of a fused attention kernel works on (FlashAttention-2, 3.3).
constexpr double kAttentionBlock = 128.0;
// Backward of fused attention over forward, in FLOPs (flash-attention benchmarks count 2.5).
constexpr double kDefaultAttentionFraction = 0.4;

// Share of the memory's rate at which a scan's bytes move, and its spread: flash-linear-attention's
// gated delta rule, 4,096 tokens and more, takes 0.55 of it on H100 (398 shapes) and 0.44 on B200
// (104), tenths from 0.32 to 0.82 (AISimulate tables, SGLang 0.5.17).
constexpr double kScanFraction = 0.5;
constexpr double kScanSpread = 0.35;
// Of scans that nobody's table has: Mamba-2's and lightning attention's.
constexpr double kUnmeasuredScanSpread = 0.5;
// Kimi delta attention moves its bytes at the memory's rate, and each multiprocessor works through
// so many a second (321 shapes of 4,096 tokens and more, AISimulate tables, SGLang's chunk_kda). By
// the other three chips' median H100 is missed by 6 % in the median, H200 by 5, B200 by 15, GB200
// by 8 (tests/unit/sim/kernel_time/scan_time_test.cc).
constexpr double kKimiDeltaBytes = 26.0e9;
constexpr double kKimiDeltaSpread = 0.2;

double streaming_rate(const Device& device) {
  return device.memory_bandwidth.value() * device.memory_bandwidth_fraction;
}

// A rate for the nearest head width; widths between two entries take the narrower one's. Devices
// without rates for the version take the fastest kernel's.
const AttentionRate* attention_rate(const Device& device, std::int64_t head_dim, int version) {
  const AttentionRate* best = nullptr;
  for (const AttentionRate& rate : device.attention) {
    if (rate.version != version) continue;
    const bool nearer =
        best == nullptr || std::abs(rate.head_dim - head_dim) < std::abs(best->head_dim - head_dim);
    if (nearer) best = &rate;
  }
  return best != nullptr || version == 0 ? best : attention_rate(device, head_dim, 0);
}

struct AttentionCall {
  const Operator& op;
  Flops work;
  Bytes traffic;
  bool forward = true;
};

Cost attention_cost(const AttentionCall& call, Precision precision, const Device& device,
                    int version) {
  const auto& [op, work, traffic, forward] = call;
  if (work.value() <= 0.0) return {};
  const AttentionRate* rate = attention_rate(device, op.k, version);
  const AttentionRate assumed{.forward_fraction = kDefaultAttentionFraction,
                              .backward_fraction = kDefaultAttentionFraction,
                              .relative_spread = kUnknownAttentionSpread,
                              .provenance = Provenance::assumed};
  if (rate == nullptr) rate = &assumed;
  const auto batch = static_cast<double>(op.batch), m = static_cast<double>(op.m);
  // Forward FLOPs are 4 * batch * m * keys * width; causal masks show as fewer keys.
  const double keys = op.forward_flops.value() / (4.0 * batch * m * static_cast<double>(op.k));
  const double blocks =
      batch * std::ceil(m / kAttentionBlock) / static_cast<double>(device.num_multiprocessors);
  const double tail = forward ? rate->forward_tail_waves : rate->backward_tail_waves;
  const double fill = keys / (keys + rate->ramp_keys) * blocks / (blocks + tail);
  const double fraction = forward ? rate->forward_fraction : rate->backward_fraction;
  const GemmModel& gemm = gemm_model_for(device, precision);
  const double format = op.narrow ? rate->fp8_time_factor : 1.0;
  const Seconds compute = work / (gemm.peak * fraction * fill) * format;
  const Seconds memory = traffic / bytes_per_second(streaming_rate(device));
  return {device.kernel_launch + std::max(compute, memory), rate->relative_spread,
          rate->provenance};
}

// log2 of the rate, linear over log2 of the traffic between two points; the nearest point's
// outside.
Cost interpolated_kernel(const KernelRate& kernel, Bytes traffic, const Device& device) {
  const auto after = std::find_if(kernel.points.begin(), kernel.points.end(),
                                  [&](const KernelPoint& p) { return p.traffic >= traffic; });
  const bool inside =
      after != kernel.points.end() && (after != kernel.points.begin() || after->traffic == traffic);
  const KernelPoint& high = after == kernel.points.end() ? kernel.points.back() : *after;
  const KernelPoint& low = inside && after != kernel.points.begin() ? *std::prev(after) : high;
  const double way = low.traffic < high.traffic
                         ? std::log(traffic / low.traffic) / std::log(high.traffic / low.traffic)
                         : 1.0;
  const BytesPerSecond rate = low.rate * std::pow(high.rate / low.rate, way);
  return {device.kernel_launch + traffic / rate,
          std::max(low.relative_spread, high.relative_spread),
          inside ? kernel.provenance : Provenance::extrapolated};
}

// Batched products of two activations have two input gradients and no weight; a frozen weight has
// no gradient.
BackwardCost gemm_backward(const Operator& op, Precision precision, const Device& device) {
  if (op.frozen && op.backward_flops.value() <= 0.0) return {};  // an indexer runs forward alone
  const Cost input = gemm_cost({op.batch, op.m, op.k, op.n}, precision, device);
  if (op.frozen) return {input, {}};
  const GemmShape second = op.transposed_second ? GemmShape{op.batch, op.n, op.k, op.m}
                                                : GemmShape{op.batch, op.k, op.n, op.m};
  const Cost weight = gemm_cost(second, precision, device);
  if (op.has_weight) return {input, weight};
  return {input + weight, {}};
}

}  // namespace

Cost kernel_cost(std::string_view kernel, Bytes traffic, const Device& device) {
  if (traffic.value() <= 0.0) return {};
  for (const KernelRate& rate : device.kernels) {
    if (rate.kernel != kernel) continue;
    if (!rate.points.empty()) return interpolated_kernel(rate, traffic, device);
    return {device.kernel_launch + traffic / rate.rate, rate.relative_spread, rate.provenance};
  }
  const BytesPerSecond streaming = bytes_per_second(streaming_rate(device));
  if (kernel == kernel::kKimiDelta) {
    const BytesPerSecond worked =
        bytes_per_second(kKimiDeltaBytes * std::max(1, device.num_multiprocessors));
    return {device.kernel_launch + traffic / streaming + traffic / worked, kKimiDeltaSpread,
            Provenance::assumed};
  }
  if (is_scan(kernel)) {
    const double spread = kernel == kernel::kDeltaRule ? kScanSpread : kUnmeasuredScanSpread;
    return {device.kernel_launch + traffic / (streaming * kScanFraction), spread,
            Provenance::assumed};
  }
  return {device.kernel_launch + traffic / streaming, kDatasheetRateSpread,
          device.memory_provenance};
}

Cost forward_cost(const Operator& op, Precision job_precision, const Device& device,
                  int flash_attention_version) {
  const Precision precision = compute_precision(op, job_precision);
  switch (op.kind) {
    case OperatorKind::gemm:
      return gemm_cost({op.batch, op.m, op.n, op.k}, precision, device);
    case OperatorKind::attention:
      return attention_cost({op, op.forward_flops, op.forward_bytes, true}, precision, device,
                            flash_attention_version);
    case OperatorKind::memory_bound:
      break;
  }
  return kernel_cost(op.kernel, op.forward_bytes, device);
}

BackwardCost backward_cost(const Operator& op, Precision job_precision, const Device& device,
                           int flash_attention_version) {
  const Precision precision = compute_precision(op, job_precision);
  switch (op.kind) {
    case OperatorKind::gemm:
      return gemm_backward(op, precision, device);
    case OperatorKind::attention:
      return {attention_cost({op, op.backward_flops, op.backward_bytes, false}, precision, device,
                             flash_attention_version),
              {}};
    case OperatorKind::memory_bound:
      break;
  }
  return {kernel_cost(op.kernel, op.backward_bytes, device), {}};
}

}  // namespace meshwright
