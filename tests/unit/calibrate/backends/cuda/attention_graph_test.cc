// SPDX-License-Identifier: Apache-2.0
// The graph of fused attention, its descriptors, and whether cuDNN's heuristic names an engine for
// it. No GPU is needed: cuDNN takes a device that is only described. It wants a driver library, for
// which the CUDA Toolkit's stub stands in; this program holds no other test, since the stub stays.
#include "calibrate/backends/cuda/attention_graph.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/backends/cuda/cudnn_graph.h"
#include "calibrate/backends/cuda/cudnn_library.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

// 2 sequences of 1,024 positions, 16 query heads of 128, 4 key-value heads.
AttentionCall grouped_call(bool backward) {
  AttentionCall call;
  call.batch = 2;
  call.heads = 16;
  call.query_groups = 4;
  call.positions = 1024;
  call.head_dim = 128;
  call.backward = backward;
  return call;
}

const GraphTensor& tensor_of(const AttentionGraph& graph, AttentionOperand operand) {
  const auto found = std::find_if(graph.tensors.begin(), graph.tensors.end(),
                                  [&](const GraphTensor& t) { return t.operand == operand; });
  EXPECT_NE(found, graph.tensors.end());
  return *found;
}

std::int64_t count(const AttentionGraph& graph, GraphOperation::Kind kind) {
  return std::count_if(graph.operations.begin(), graph.operations.end(),
                       [&](const GraphOperation& o) { return o.kind == kind; });
}
std::int64_t count(const AttentionGraph& graph, cudnnPointwiseMode_t mode) {
  return std::count_if(graph.operations.begin(), graph.operations.end(),
                       [&](const GraphOperation& o) {
                         return o.kind == GraphOperation::Kind::pointwise && o.pointwise == mode;
                       });
}

// Keys lie as (batch, group, position, width): 4 * 1024 * 128 numbers a sequence, 128 a position.
// The product wants them as width x positions, so the last two sizes and strides change places.
TEST(AttentionGraph, KeysAreTransposedByTheirStrides) {
  const AttentionGraph graph = attention_graph(grouped_call(false));
  const GraphTensor& keys = tensor_of(graph, AttentionOperand::k);
  EXPECT_EQ(keys.sizes, (std::array<std::int64_t, 4>{2, 4, 128, 1024}));
  EXPECT_EQ(keys.strides, (std::array<std::int64_t, 4>{524'288, 131'072, 1, 128}));
  const GraphTensor& values = tensor_of(graph, AttentionOperand::v);
  EXPECT_EQ(values.sizes, (std::array<std::int64_t, 4>{2, 4, 1024, 128}));
  EXPECT_EQ(values.strides, (std::array<std::int64_t, 4>{524'288, 131'072, 128, 1}));
  EXPECT_EQ(tensor_of(graph, AttentionOperand::statistics).sizes,
            (std::array<std::int64_t, 4>{2, 16, 1024, 1}));
}

TEST(AttentionGraph, ForwardHasTwoProductsAndBackwardFive) {
  using Kind = GraphOperation::Kind;
  EXPECT_EQ(count(attention_graph(grouped_call(false)), Kind::product), 2);
  EXPECT_EQ(count(attention_graph(grouped_call(true)), Kind::product), 5);
}

// Rows that see a key have an index of at least the key's.
TEST(AttentionGraph, TheMaskComparesRowsWithColumns) {
  for (const bool backward : {false, true}) {
    AttentionCall call = grouped_call(backward);
    const AttentionGraph causal = attention_graph(call);
    std::vector<std::int64_t> axes;
    std::vector<std::int64_t> compared;
    for (const GraphOperation& o : causal.operations) {
      if (o.axis) {
        axes.push_back(*o.axis);
        compared.push_back(o.y);
      }
      if (o.kind != GraphOperation::Kind::pointwise || o.pointwise != CUDNN_POINTWISE_CMP_GE) {
        continue;
      }
      EXPECT_EQ((std::vector<std::int64_t>{o.x, o.b}), compared);
    }
    EXPECT_EQ(axes, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(count(causal, CUDNN_POINTWISE_BINARY_SELECT), 1);
    call.causal = false;
    EXPECT_EQ(count(attention_graph(call), CUDNN_POINTWISE_BINARY_SELECT), 0);
    EXPECT_EQ(count(attention_graph(call), CUDNN_POINTWISE_GEN_INDEX), 0);
  }
}

// Gradients of shared keys and values are sums over the heads that share them.
TEST(AttentionGraph, GradientsOfSharedKeysAreSummed) {
  using Kind = GraphOperation::Kind;
  AttentionCall call = grouped_call(true);
  EXPECT_EQ(count(attention_graph(call), Kind::reduction), 3);  // do * o, dv and dk
  call.query_groups = call.heads;
  EXPECT_EQ(count(attention_graph(call), Kind::reduction), 1);
}

// Each value is written before it is read, and but for results each is read.
TEST(AttentionGraph, OperationsStandInTheOrderOfTheirInputs) {
  for (const bool backward : {false, true}) {
    const AttentionGraph graph = attention_graph(grouped_call(backward));
    std::vector<bool> known(graph.tensors.size() + 1, false);
    for (const GraphTensor& t : graph.tensors) {
      known[static_cast<std::size_t>(t.id)] = t.operand.has_value();
    }
    for (const GraphOperation& o : graph.operations) {
      for (const std::int64_t input : {o.x, o.b, o.t}) {
        if (input == 0) continue;
        EXPECT_TRUE(known[static_cast<std::size_t>(input)]) << input;
      }
      known[static_cast<std::size_t>(o.y)] = true;
    }
    EXPECT_EQ(std::count(known.begin() + 1, known.end(), false), 0);
  }
}

class CudnnGraph : public testing::Test {
 protected:
  void SetUp() override {
    // cuDNN looks for libcuda.so.1 and finds a library of that name that is open already.
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      dlopen(MESHWRIGHT_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL);
    }
    if (!cudnn_library().why_missing.empty()) GTEST_SKIP() << cudnn_library().why_missing;
  }
};

template <typename Value>
std::vector<Value> attribute(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, std::int64_t size) {
  std::vector<Value> values(static_cast<std::size_t>(size));
  std::int64_t written = 0;
  EXPECT_EQ(
      cudnn_library().get_attribute(descriptor.get(), name, type, size, &written, values.data()),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(written, size);
  return values;
}

TEST_F(CudnnGraph, DescriptorsSayWhatTheGraphSays) {
  for (const bool backward : {false, true}) {
    const AttentionGraph graph = attention_graph(grouped_call(backward));
    const GraphDescriptors described(graph, nullptr);
    EXPECT_EQ(described.operations().size(), graph.operations.size());
    for (const GraphTensor& t : graph.tensors) {
      const Descriptor& d = described.tensor(t.id);
      const auto sizes =
          attribute<std::int64_t>(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4);
      const auto strides =
          attribute<std::int64_t>(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4);
      EXPECT_TRUE(std::equal(sizes.begin(), sizes.end(), t.sizes.begin()));
      EXPECT_TRUE(std::equal(strides.begin(), strides.end(), t.strides.begin()));
      EXPECT_EQ(attribute<std::int64_t>(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1)[0],
                t.id);
      EXPECT_EQ(
          attribute<cudnnDataType_t>(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1)[0],
          t.type);
    }
  }
}

// A device as cuDNN writes its properties down (9.19): compute capability times 100, and so on.
std::string described_device(int capability, int multiprocessors, int shared_memory) {
  return R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
    "regsPerBlock": 65536, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
    "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
    "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
    "supportCoopLaunch": 1, "totalGlobalMem": 85000000000, "smClockRateKHz": 1980000,
    "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "cudaDeviceId": 0, "driverVer": 13000,
    "deviceName": "described", "deviceVer": )" +
         std::to_string(capability) +
         ", \"multiProcessorCount\": " + std::to_string(multiprocessors) +
         ", \"maxSharedMemoryPerBlockOptin\": " + std::to_string(shared_memory) + "}";
}

// An A100, an H100 and a B200. Names of engines change with versions; that there is one does not.
TEST_F(CudnnGraph, TheHeuristicNamesAnEngineForEachPassAndDevice) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr) {
    GTEST_SKIP() << "neither a driver nor the CUDA Toolkit's stub of one";
  }
  struct Described {
    int capability, multiprocessors, shared_memory;
  };
  for (const Described& d : {Described{800, 108, 166'912}, Described{900, 132, 232'448},
                             Described{1000, 148, 232'448}}) {
    Descriptor device;
    try {
      device =
          device_properties(described_device(d.capability, d.multiprocessors, d.shared_memory));
    } catch (const SystemError& error) {
      GTEST_SKIP() << "this cuDNN does not take a described device: " << error.what();
    }
    for (const bool backward : {false, true}) {
      for (const std::int64_t groups : {4, 16}) {
        AttentionCall call = grouped_call(backward);
        call.query_groups = groups;
        const GraphDescriptors graph(attention_graph(call), nullptr);
        const std::vector<Descriptor> engines = engine_configurations(graph, device.get(), 4);
        ASSERT_FALSE(engines.empty()) << d.capability << (backward ? " backward" : " forward");
        EXPECT_GE(engine_of(engines.front()), 0);
      }
    }
  }
}

// Engines know this one pattern: with a cosine in the exponential's place none fits.
TEST_F(CudnnGraph, AGraphThatIsNoAttentionHasNoEngine) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr) {
    GTEST_SKIP() << "neither a driver nor the CUDA Toolkit's stub of one";
  }
  Descriptor device;
  try {
    device = device_properties(described_device(900, 132, 232'448));
  } catch (const SystemError& error) {
    GTEST_SKIP() << "this cuDNN does not take a described device: " << error.what();
  }
  AttentionGraph graph = attention_graph(grouped_call(false));
  for (GraphOperation& o : graph.operations) {
    if (o.pointwise == CUDNN_POINTWISE_EXP) o.pointwise = CUDNN_POINTWISE_COS;
  }
  std::size_t engines = 0;
  try {
    const GraphDescriptors described(graph, nullptr);
    engines = engine_configurations(described, device.get(), 4).size();
  } catch (const SystemError&) {
    engines = 0;
  }
  EXPECT_EQ(engines, 0U);
}

}  // namespace
}  // namespace meshwright::calibrate::cuda
