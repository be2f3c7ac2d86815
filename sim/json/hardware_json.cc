// SPDX-License-Identifier: Apache-2.0
// Devices as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/hardware/device.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"
#include "sim/json/serving_records.h"

namespace meshwright {
namespace {

constexpr PointTable kGemmPoints{6, 5, "batch, m, n, k, seconds, relative spread"};

void read_gemm_points(ObjectReader& reader, const std::string& key,
                      std::vector<GemmPoint>& points) {
  points.clear();
  for (const std::vector<double>& row : read_points(reader, key, kGemmPoints)) {
    const auto size = [&](std::size_t c) {
      constexpr double kLargest = 1e12;
      const bool whole = row[c] <= kLargest && row[c] == std::floor(row[c]);
      if (!whole) {
        fail_point(reader, key, points.size(),
                   fmt::format("has a size of {}; must be whole", row[c]));
      }
      return static_cast<std::int64_t>(row[c]);
    };
    points.push_back({size(0), size(1), size(2), size(3), seconds(row[4]), row[5]});
  }
  const auto order = [](const GemmPoint& p) { return std::tie(p.m, p.n, p.k, p.batch); };
  std::stable_sort(points.begin(), points.end(),
                   [&](const GemmPoint& a, const GemmPoint& b) { return order(a) < order(b); });
}

void write_gemm_points(Json& json, const std::string& key, const std::vector<GemmPoint>& points) {
  Json& rows = json[key] = Json::array();
  for (const GemmPoint& p : points) {
    rows.push_back(Json::array({p.batch, p.m, p.n, p.k, p.time.value(), p.relative_spread}));
  }
}

const Record<GemmModel>& gemm_record() {
  return described([](Record<GemmModel>& r) {
    using G = GemmModel;
    r.about("How one number format multiplies matrices (sim/kernel_time/gemm_model.h).");
    r.row<&G::precision>(kPrecisionNames, "Format of the operands.");
    r.required();
    r.row<&G::peak>(kind::amount<FlopsPerSecond>(kTeraflops, kAboveZero),
                    "Dense peak of the datasheet.");
    r.required();
    r.row<&G::sustained_fraction>(kind::fraction(), "Share of the peak that large GEMMs reach.");
    r.row<&G::tile_m>(IntRange{1, 4096}, "Rows of the largest output tile.");
    r.row<&G::tile_n>(IntRange{1, 4096}, "Columns of the largest output tile.");
    r.row<&G::ramp_k>("Prologue and epilogue of a tile, in units of k.");
    r.row<&G::k_latency>(kNanoseconds, "Time of one step along k, whatever the tile's size.");
    r.row<&G::wave_quantization>(kind::fraction(true),
                                 "1: a wave that has begun costs a whole one; 0: only its share.");
    r.row<&G::split_latency>(kMicroseconds, "Time of the pass that adds the parts of a split k.");
    r.row<&G::relative_spread>("Residual of the fit, one standard deviation.");
    r.row<&G::provenance>(kProvenanceNames, "Where the numbers come from.");
    r.row<&G::points>(
        Kind<std::vector<GemmPoint>>{{.read = read_gemm_points,
                                      .write = write_gemm_points,
                                      .schema = [] { return points_schema(kGemmPoints); }}},
        "Measured GEMMs; they override the model near themselves.");
    r.omitted_at_default();
  });
}

const Record<GroupedGemmRate>& grouped_gemm_record() {
  return described([](Record<GroupedGemmRate>& r) {
    using G = GroupedGemmRate;
    r.about("How fast the products of a layer's experts run in one call.");
    r.row<&G::precision>(kPrecisionNames, "Number format.").required();
    r.row<&G::time_factor>(NumberRange{0.01, 100.0},
                           "Their time over that of one batched product of the same sizes.");
    r.required();
    r.row<&G::relative_spread>("Error of the factor, one standard deviation.");
  });
}

const Record<AttentionRate>& attention_record() {
  return described([](Record<AttentionRate>& r) {
    using A = AttentionRate;
    r.about("How fast fused attention runs for one width of a head.");
    r.row<&A::head_dim>(IntRange{1, 65536}, "Width of a head.");
    r.required();
    r.row<&A::version>(IntRange{0, 9},
                       "Version of FlashAttention; 0: the fastest kernel of the day.");
    r.row<&A::forward_fraction>(
        kind::fraction(), "Share of the GEMM peak forward, for long sequences and many heads.");
    r.required();
    r.row<&A::backward_fraction>(kind::fraction(), "The same backward.");
    r.required();
    r.row<&A::ramp_keys>("Keys at which half of the share is reached.");
    r.row<&A::forward_tail_waves>("Waves of blocks that the tail costs forward.");
    r.row<&A::backward_tail_waves>("Waves of blocks that the tail costs backward.");
    r.row<&A::fp8_time_factor>(NumberRange{0.1, 10.0},
                               "Time of the same attention in fp8 over that in 16 bits.");
    r.omitted_at_default();
    r.row<&A::relative_spread>("Error of the shares, one standard deviation.");
    r.row<&A::provenance>(kProvenanceNames, "Where the numbers come from.");
  });
}

const Record<KernelPoint>& kernel_point_record() {
  return described([](Record<KernelPoint>& r) {
    using P = KernelPoint;
    r.about("A measured rate of a kernel at one size.");
    r.row<&P::traffic>(kAboveZero, "Bytes that one launch reads and writes.");
    r.required();
    r.row<&P::rate>(kind::amount<BytesPerSecond>(kGigabytesPerSecond, kAboveZero),
                    "Bytes read and written per second.");
    r.required();
    r.row<&P::relative_spread>("Error of the rate, one standard deviation.");
  });
}

const Record<KernelRate>& kernel_record() {
  return described([](Record<KernelRate>& r) {
    using K = KernelRate;
    r.about("How fast a memory-bound kernel runs.");
    r.row<&K::kernel>("Name of the kernel (sim/operators/operators.h).");
    r.required();
    r.row<&K::rate>(kind::amount<BytesPerSecond>(kGigabytesPerSecond, kAboveZero),
                    "Bytes read and written per second.");
    r.required();
    r.row<&K::relative_spread>("Error of the rate, one standard deviation.");
    r.row<&K::provenance>(kProvenanceNames, "Where the rate comes from.");
    r.row<&K::points>(kernel_point_record, "Measured sizes, ascending.");
    r.omitted_at_default();
  });
}

const Record<StepRemainder>& step_remainder_record() {
  return described([](Record<StepRemainder>& r) {
    using S = StepRemainder;
    r.about("Time of a whole pass beyond the sum of its operators.");
    r.row<&S::pass>(kComputePassNames, "Pass of the step.");
    r.required();
    r.row<&S::tokens>("Tokens of the micro-batch that was run.");
    r.required();
    r.row<&S::share>(NumberRange{kLeastRemainderShare, kMostRemainderShare},
                     "Remainder over the operators' sum; below 0: the pass took less.");
    r.required();
    r.row<&S::relative_spread>("Error of the pass, one standard deviation.");
  });
}

// Where a GPU's file does not say: PyTorch 2.1's context takes 0.47 to 0.92 GiB (ml-engineering,
// bigscience), a communicator 0.53 to 0.67 on an A100 (nccl issue 964).
constexpr Bytes kContextMemory = gibibytes(0.75);
constexpr Bytes kCommunicatorMemory = gibibytes(0.6);

Record<Device> make_device_record() {
  using D = Device;
  const auto is_gpu = [](const D& d) { return d.kind == DeviceKind::gpu; };
  Record<D> r(
      "One GPU, or one core. Units are in the keys; each amount may be given in base units "
      "instead.");
  r.file_of({"meshwright.device/1"}, true);
  r.row<&D::name>("Name of the device.");
  r.required();
  r.row<&D::source>("Datasheet or measurement, with its date.");
  r.row<&D::kind>(kDeviceKindNames,
                  "A GPU or a core; default: a core where num_multiprocessors is 1.");
  r.default_from([](D& d, ObjectReader& reader) {  // files of before `kind` was written
    const bool core = reader.optional_int("num_multiprocessors", 0, {0, 100'000}) == 1;
    d.kind = core ? DeviceKind::cpu : DeviceKind::gpu;
  });
  r.row<&D::architecture>(
      "Chips of one architecture run kernels alike: ampere, hopper, blackwell ...");
  r.omitted_at_default();
  r.row<&D::num_multiprocessors>(IntRange{1, 100'000},
                                 "Streaming multiprocessors of a GPU; 1 for a core.");
  r.required();
  r.row<&D::memory>(kind::amount<Bytes>(kGibibytes, kAboveZero), "Memory that programs may use.");
  r.required();
  r.row<&D::context_memory>(kGibibytes,
                            "Memory that CUDA's context and its kernels take in each rank.");
  r.only_if(is_gpu).default_from([](D& d) { d.context_memory = kContextMemory; });
  r.row<&D::communicator_memory>(kGibibytes,
                                 "Memory that NCCL's buffers of one communicator take.");
  r.only_if(is_gpu).default_from([](D& d) { d.communicator_memory = kCommunicatorMemory; });
  r.row<&D::memory_bandwidth>(kind::amount<BytesPerSecond>(kGigabytesPerSecond, kAboveZero),
                              "Peak memory bandwidth.");
  r.required();
  r.row<&D::memory_bandwidth_fraction>(kind::fraction(),
                                       "Share of it that streaming kernels reach.");
  r.row<&D::memory_provenance>(kProvenanceNames, "Where the memory bandwidth comes from.");
  r.row<&D::kernel_launch>(kMicroseconds, "Device time between kernels.");
  r.row<&D::host_launch>(kMicroseconds, "Host time to submit one kernel.");
  r.row<&D::overlap_slowdown>(
      kind::fraction(true),
      "Share of a collective's time by which it slows compute that runs beside it.");
  r.row<&D::host_link>(kGigabytesPerSecond, "Bandwidth to the host's memory, one direction.");
  r.row<&D::sustained_clock_fraction>(kind::fraction(),
                                      "Clock in a long step over the clock of single GEMMs.");
  r.row<&D::time_jitter>(
      NumberRange{0.0, 10.0},
      "For cores: relative standard deviation of a kernel's time from call to call.");
  r.omitted_at_default();
  r.row<&D::power_watts>(kind::stated_number(), "Rated power; 0: not stated.");
  r.row<&D::gemm>(gemm_record, "One entry a number format, at least one.");
  r.required();
  r.check([](const D& d, ObjectReader& reader) {
    if (d.gemm.empty()) reader.fail("gemm", "must hold at least one number format");
  });
  r.row<&D::block_scaling>("GEMMs scale blocks of numbers (MXFP8, NVFP4).");
  r.row<&D::grouped_gemm>(
      grouped_gemm_record,
      "Products of experts in one call, one entry a number format that was measured.");
  r.omitted_at_default();
  r.row<&D::attention>(attention_record, "Rates of fused attention by width of a head.");
  r.omitted_at_default();
  r.row<&D::kernels>(kernel_record, "Rates of memory-bound kernels.");
  r.omitted_at_default();
  r.row<&D::step_remainders>(
      step_remainder_record,
      "Passes of a step that a calibration ran, beside the sums of their operators.");
  r.omitted_at_default();
  r.unread("inference", inference_rates_record().schema(),
           "Rates of the kernels of inference engines; serve alone reads them.");
  r.row<&D::limits>("cannot", limits_kind(), "What does not run on the device, and why.");
  r.omitted_at_default();
  return r;
}

}  // namespace

const Record<Device>& device_record() {
  static const Record<Device> record = make_device_record();
  return record;
}

Device device_from_json(const Json& json, const std::string& file, const std::string& pointer) {
  return device_record().read(json, file, pointer);
}

Json to_json(const Device& device) { return device_record().write(device); }

}  // namespace meshwright
