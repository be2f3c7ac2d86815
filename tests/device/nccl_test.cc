// SPDX-License-Identifier: Apache-2.0
// Each collective with whole numbers whose result is known. Rank r holds 10 r + i + 1 at index i.
#include <numeric>

#include "calibrate/bench/bench.h"
#include "calibrate/bench/collective_bench.h"
#include "calibrate/sweep.h"
#include "tests/device/machine.h"

namespace meshwright::calibrate {
namespace {

class Nccl : public OnGpuRanks {
 protected:
  Compute& compute() { return *gpu_machine().compute; }
  Communicator& world() { return *gpu_machine().world; }

  std::vector<float> downloaded(const DeviceArray& array) {
    std::vector<float> host(array.bytes() / sizeof(float));
    compute().download(host.data(), array.data(), array.bytes());
    return host;
  }
  std::unique_ptr<DeviceArray> numbers(int rank, std::size_t count) {
    std::vector<float> host(count);
    std::iota(host.begin(), host.end(), static_cast<float>(10 * rank + 1));
    auto array = std::make_unique<DeviceArray>(compute(), count * sizeof(float));
    compute().upload(array->data(), host.data(), array->bytes());
    return array;
  }
};

// The calibrator's own check of every result, over all ranks.
TEST_F(Nccl, EveryCollectiveGivesWhatItsDefinitionSays) {
  if (world().size() < 2) GTEST_SKIP() << "one rank";
  for (const Collective collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
        Collective::all_to_all, Collective::broadcast, Collective::send_recv}) {
    for (const Bytes size : {kibibytes(1), mebibytes(4)}) {
      const Bytes whole = whole_payload(size, world().size());
      for (const bool cold : {false, true}) {
        EXPECT_EQ(make_collective_bench(compute(), world(), collective, whole, cold)->check(), "");
      }
    }
  }
}

TEST_F(Nccl, MaximumAndSumOverTheRanks) {
  const int n = world().size();
  const auto data = numbers(world().rank(), 5);
  world().all_reduce(data->floats(), 5, Reduction::max);
  EXPECT_EQ(downloaded(*data)[2], static_cast<float>(10 * (n - 1) + 3));
  world().all_reduce(data->floats(), 5, Reduction::sum);
  EXPECT_EQ(downloaded(*data)[2], static_cast<float>(n * (10 * (n - 1) + 3)));
}

// Whole numbers up to 256 have 8 bits: sums of bf16 are exact here, and an odd count of them is.
TEST_F(Nccl, SixteenBitsAreSummedAndMoved) {
  const int n = world().size(), me = world().rank();
  const auto wide = numbers(me, 5);
  const DeviceArray half(compute(), 5 * 2), all(compute(), static_cast<std::size_t>(n) * 5 * 2);
  const DeviceArray back(compute(), static_cast<std::size_t>(n) * 5 * sizeof(float));
  compute().convert(half.data(), Precision::bf16, wide->floats(), 5);
  world().all_gather({half.data(), Precision::bf16}, Numbers(all.data(), Precision::bf16), 5);
  compute().widen(back.floats(), all.data(), Precision::bf16, static_cast<std::int64_t>(n) * 5);
  EXPECT_EQ(downloaded(back).back(), static_cast<float>(10 * (n - 1) + 5));
  world().all_reduce(Numbers(half.data(), Precision::bf16), 5, Reduction::sum);
  compute().widen(back.floats(), half.data(), Precision::bf16, 5);
  EXPECT_EQ(downloaded(back)[2], static_cast<float>(5 * n * (n - 1) + 3 * n));
}

// Both send first and receive then, more than NCCL buffers: blocking sends would never end.
TEST_F(Nccl, NeighboursThatSendToEachOtherBothArrive) {
  if (world().size() != 2) GTEST_SKIP() << "needs two ranks";
  constexpr std::size_t kCount = std::size_t{16} << 20U;
  const int me = world().rank();
  const auto mine = numbers(me, kCount);
  const DeviceArray theirs(compute(), kCount * sizeof(float));
  world().send(mine->floats(), kCount, 1 - me);
  world().receive(theirs.floats(), kCount, 1 - me);
  world().wait_sends();
  EXPECT_EQ(downloaded(theirs)[2], static_cast<float>(10 * (1 - me) + 3));
}

TEST_F(Nccl, CollectivesFollowTheDevicesWorkWithoutWaitingOnTheHost) {
  const auto data = numbers(world().rank(), 5);
  compute().add(data->floats(), data->floats(), data->floats(), 5);
  world().all_reduce(data->floats(), 5, Reduction::max);
  compute().add(data->floats(), data->floats(), data->floats(), 5);
  EXPECT_EQ(downloaded(*data)[0], static_cast<float>(4 * (10 * (world().size() - 1) + 1)));
}

TEST_F(Nccl, SplitOrdersRanksByKey) {
  const int n = world().size(), me = world().rank();
  const auto reversed = world().split(0, n - me);
  EXPECT_EQ(reversed->rank(), n - 1 - me);
  const auto data = numbers(me, 3);
  reversed->broadcast(data->floats(), 3, 0);  // rank 0 there is rank n - 1 here
  EXPECT_EQ(downloaded(*data)[0], static_cast<float>(10 * (n - 1) + 1));
  const auto alone = world().split(me, 0);
  EXPECT_EQ(alone->size(), 1);
  alone->all_reduce(data->floats(), 3, Reduction::sum);
  EXPECT_EQ(downloaded(*data)[0], static_cast<float>(10 * (n - 1) + 1));
}

TEST_F(Nccl, HostValuesGoThroughMpi) {
  const int n = world().size(), me = world().rank();
  EXPECT_EQ(world().host_max(me), n - 1);
  std::vector<int> all(static_cast<std::size_t>(n));
  world().host_gather(&me, all.data(), sizeof me);
  EXPECT_EQ(all.back(), n - 1);
  int value = me + 5;
  world().host_broadcast(&value, sizeof value, 0);
  EXPECT_EQ(value, 5);
  world().barrier();
}

}  // namespace
}  // namespace meshwright::calibrate
