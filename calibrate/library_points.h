// SPDX-License-Identifier: Apache-2.0
// Points of kernels that only some devices' libraries have: fused attention, grouped products of
// experts, casts to fp8. They are planned where the device says that it has them.
//
// Without a model: causal attention of 16 heads over 16,384 tokens with sequences of 1,024 to
// 8,192, for heads of 64 and 128; products of 8 experts of 4,096 x 2,048. With one: its shapes, and
// attention of the same heads at those lengths, which say how short sequences slow it down.
#pragma once

#include <functional>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/measure/attention_shape.h"
#include "calibrate/measure/points.h"
#include "sim/base/job.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

struct SweepLimits;
struct Workload;

// What the library kernels of this machine's devices can do.
struct LibraryAbilities {
  std::function<bool(const AttentionShape&, Precision)> attends = [](const AttentionShape&,
                                                                     Precision) { return false; };
  std::function<bool(Precision)> groups_products = [](Precision) { return false; };
  bool casts_to_fp8 = false;
};

// Collective, as are its functions: a kernel is there where every rank has it.
LibraryAbilities library_abilities(Compute& compute, Communicator& world);

std::vector<MeasuredPoint> library_points(const Workload& workload, const SweepLimits& limits);

// A model's own attention on one tensor rank, unless it is latent.
void add_attention_demand(Workload& workload, const Model& model, const Job& job, int tensor_size,
                          int micro_batch_size);

}  // namespace meshwright::calibrate
