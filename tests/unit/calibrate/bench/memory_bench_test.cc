// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/memory_bench.h"

#include <gmock/gmock.h>

#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

using testing::ElementsAre;

std::vector<std::string> copies_asked_for(HostDirection direction) {
  IdleCompute compute;
  const auto bench = make_host_link_bench(compute, kibibytes(4), direction);
  EXPECT_EQ(bench->check(), "");
  compute.asked.clear();
  bench->start(2);
  return compute.asked;
}

TEST(HostLink, EachWayAndBothAtOnceAreAskedForWithoutWaiting) {
  EXPECT_THAT(copies_asked_for(HostDirection::to_device), ElementsAre("upload", "upload"));
  EXPECT_THAT(copies_asked_for(HostDirection::to_host),
              ElementsAre("start_download", "start_download"));
  EXPECT_THAT(copies_asked_for(HostDirection::both), ElementsAre("both_ways", "both_ways"));
}

// Hands over from memory of the device's own making, which pageable memory is not.
class Pinned : public IdleCompute {
 public:
  std::vector<const void*> pinned, uploaded_from;
  void* allocate_host(std::size_t size) override {
    pinned.push_back(IdleCompute::allocate_host(size));
    return const_cast<void*>(pinned.back());
  }
  void upload(void* device, const void* host, std::size_t size) override {
    uploaded_from.push_back(host);
    IdleCompute::upload(device, host, size);
  }
};

TEST(HostLink, TheHostsMemoryIsPinned) {
  Pinned compute;
  const auto bench = make_host_link_bench(compute, kibibytes(4), HostDirection::to_device);
  bench->start(1);
  EXPECT_THAT(compute.pinned, testing::Contains(compute.uploaded_from.back()));
}

class Forgetful : public IdleCompute {
 public:
  void start_download(void*, const void*, std::size_t) override {}
};

TEST(HostLink, NumbersThatDoNotArriveAreNoticed) {
  Forgetful compute;
  EXPECT_THAT(make_host_link_bench(compute, kibibytes(4), HostDirection::to_host)->check(),
              testing::HasSubstr("download"));
}

}  // namespace
}  // namespace meshwright::calibrate
