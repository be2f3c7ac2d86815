// SPDX-License-Identifier: Apache-2.0
// A training step on GPUs gives the loss that the same step gives on CPU cores.
//
// Tolerance: fp32 sums of up to 128 numbers in another order, and the cpu backend's fast
// exponentials (1e-6 each), through 4 layers and two optimizer steps: 1e-4 of a loss of about
// ln 96 = 4.6. A missing collective changes it by far more than that.
#include "calibrate/trial/trial.h"

#include <gmock/gmock.h>

#include "tests/device/machine.h"
#include "tests/ranks/small_models.h"

namespace meshwright::calibrate {
namespace {

constexpr double kTolerance = 5e-4;

std::vector<Layout> layouts(int ranks) {
  if (ranks == 1) {
    Layout layers, modules;  // on the host
    layers.cpu_offloading_num_layers = 3;
    layers.optimizer_offload = true;
    modules.offload_modules = {kOffloadQkvLinear | kOffloadCoreAttention};
    return {Layout{}, layers, modules};
  }
  Layout tensor, sequence, pipeline, data, zero;
  tensor.tensor_parallel_size = 2;
  sequence = tensor;
  sequence.sequence_parallel = true;
  pipeline.pipeline_parallel_size = 2;
  data.data_parallel_size = 2;
  zero = data;
  zero.zero_stage = 1;
  return {tensor, sequence, pipeline, data, zero};
}

class TrialOnGpus : public OnGpuRanks {
 protected:
  static Observation on_gpus(const Layout& layout, Precision precision,
                             const Model& model = small_model()) {
    GpuMachine& m = gpu_machine();
    return run_trial(model, small_job(precision), layout, *m.compute, *m.world, kOptions);
  }
  static Observation on_cores(const Layout& layout, const Model& model = small_model()) {
    static const auto compute = open_backend("cpu").make_compute(0);
    static const auto world = open_backend("mpi").make_world(*compute);
    return run_trial(model, small_job(Precision::fp32), layout, *compute, *world, kOptions);
  }
  inline static const TrialOptions kOptions{
      .warmup_steps = 1, .steps = 2, .time_limit_seconds = 600.0};
};

TEST_F(TrialOnGpus, LossIsThatOfCpuCoresUnderEveryLayout) {
  for (const Layout& layout : layouts(gpu_machine().world->size())) {
    const Observation gpu = on_gpus(layout, Precision::fp32), cpu = on_cores(layout);
    if (gpu_machine().world->rank() != 0) continue;
    EXPECT_EQ(gpu.failure, "");
    EXPECT_EQ(gpu.device, "cuda");
    EXPECT_GT(gpu.loss, 1.0);
    EXPECT_NEAR(gpu.loss, cpu.loss, kTolerance)
        << "tp" << layout.tensor_parallel_size << " pp" << layout.pipeline_parallel_size;
    EXPECT_GT(gpu.step_time, seconds(0.0));
  }
}

TEST_F(TrialOnGpus, LlamasLossIsThatOfCpuCores) {
  for (const Layout& layout : layouts(gpu_machine().world->size())) {
    const Observation gpu = on_gpus(layout, Precision::fp32, small_llama());
    const Observation cpu = on_cores(layout, small_llama());
    if (gpu_machine().world->rank() != 0) continue;
    EXPECT_EQ(gpu.failure, "");
    EXPECT_NEAR(gpu.loss, cpu.loss, kTolerance) << "tp" << layout.tensor_parallel_size;
  }
}

// The last rank may take 64 KiB, in which not even the weights lie. The next layout runs.
TEST_F(TrialOnGpus, AFullGpuIsTheAnswerOfTheLayout) {
  GpuMachine& m = gpu_machine();
  const int last = m.world->size() - 1;
  TrialOptions options = kOptions;
  if (m.world->rank() == last) options.memory_limit = kibibytes(64);
  for (const Layout& layout : layouts(m.world->size())) {
    const Observation full =
        run_trial(small_model(), small_job(Precision::fp32), layout, *m.compute, *m.world, options);
    EXPECT_THAT(full.failure,
                testing::HasSubstr("out of memory on rank " + std::to_string(last) + ": "));
    EXPECT_EQ(on_gpus(layout, Precision::fp32).failure, "");
  }
}

TEST_F(TrialOnGpus, ExpertsLossIsThatOfCpuCores) {
  Layout layout;
  layout.data_parallel_size = layout.expert_parallel_size = gpu_machine().world->size();
  const Observation gpu = on_gpus(layout, Precision::fp32, small_moe());
  const Observation cpu = on_cores(layout, small_moe());
  if (gpu_machine().world->rank() != 0) return;
  EXPECT_EQ(gpu.failure, "");
  EXPECT_NEAR(gpu.loss, cpu.loss, kTolerance);
}

TEST_F(TrialOnGpus, DecodingBehindACacheRuns) {
  TrialOptions options = kOptions;
  options.mode = TrialMode::decode;
  options.decode_tokens = 3;
  Layout layout;
  layout.tensor_parallel_size = gpu_machine().world->size();
  GpuMachine& m = gpu_machine();
  const Observation o =
      run_trial(small_llama(), small_job(Precision::fp32), layout, *m.compute, *m.world, options);
  EXPECT_EQ(o.failure, "");
  EXPECT_GT(o.tokens_per_second, 0.0);
}

// bf16 has 8 bits: a rounding changes a number by 2^-8 at most, and some 160 in series change a
// logit (up to 1.2) by 2^-8 sqrt(160) of it (tests/ranks/sixteen_bits_test.cc).
TEST_F(TrialOnGpus, Bf16LossIsCloseToFp32UnderEveryLayout) {
  for (const Layout& layout : layouts(gpu_machine().world->size())) {
    const Observation bf16 = on_gpus(layout, Precision::bf16), cpu = on_cores(layout);
    if (gpu_machine().world->rank() != 0) continue;
    EXPECT_EQ(bf16.failure, "");
    EXPECT_EQ(bf16.run_precision, Precision::bf16);
    EXPECT_NEAR(bf16.loss, cpu.loss, 0.06)
        << "tp" << layout.tensor_parallel_size << " pp" << layout.pipeline_parallel_size;
  }
}

}  // namespace
}  // namespace meshwright::calibrate
