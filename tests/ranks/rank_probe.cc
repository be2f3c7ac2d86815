// SPDX-License-Identifier: Apache-2.0
// What the ranks of the tests run: each collective with numbers whose result is known, or an end
// that a launcher has to notice. Exit code 0: everything was right.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/backends/backend.h"
#include "calibrate/backends/bf16.h"
#include "calibrate/launch/rank_failure.h"
#include "calibrate/launch/rank_place.h"
#include "calibrate/launch/rank_progress.h"
#include "calibrate/launch/reporting_communicator.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

class Expectations {
 public:
  explicit Expectations(int rank) : rank_(rank) {}
  void equal(const std::string& what, double is, double expected) {
    if (is == expected) return;
    ++failures_;
    fmt::print(stderr, "rank {}: {} is {}, expected {}\n", rank_, what, is, expected);
  }
  [[nodiscard]] int exit_code() const { return failures_ == 0 ? 0 : 1; }

 private:
  int rank_;
  int failures_ = 0;
};

// Rank r holds 10*r + i + 1 at index i, small whole numbers: every sum is exact in fp32.
std::vector<float> numbers(int rank, int count) {
  std::vector<float> result;
  for (int i = 0; i < count; ++i) result.push_back(static_cast<float>(10 * rank + i + 1));
  return result;
}

void check_reductions(Communicator& world, Expectations& expect) {
  const int n = world.size(), me = world.rank();
  // Sum over r of 10*r + i + 1 = 10*n(n-1)/2 + n(i+1).
  std::vector<float> data = numbers(me, 5);
  world.all_reduce(data.data(), 5, Reduction::sum);
  for (int i = 0; i < 5; ++i) {
    expect.equal("all_reduce sum", data[i], 5.0 * n * (n - 1) + n * (i + 1));
  }
  data = numbers(me, 5);
  world.all_reduce(data.data(), 5, Reduction::max);
  for (int i = 0; i < 5; ++i) expect.equal("all_reduce max", data[i], 10 * (n - 1) + i + 1);
  // Rank r keeps elements 3r..3r+2 of the sum.
  const std::vector<float> whole = numbers(me, 3 * n);
  std::vector<float> share(3);
  world.reduce_scatter(whole.data(), share.data(), 3);
  for (int i = 0; i < 3; ++i) {
    expect.equal("reduce_scatter", share[i], 5.0 * n * (n - 1) + n * (3 * me + i + 1));
  }
}

// Rank r holds 2^-r at each of 5 places, as bf16: sums of up to 8 ranks have 8 bits and are exact.
// One of 1 and 2^-8, half of the last bit, is rounded to the even 1.
void check_sixteen_bits(Communicator& world, Expectations& expect) {
  const int n = world.size(), me = world.rank();
  const std::uint16_t mine = bf16_of(std::ldexp(1.0F, -me));
  std::vector<std::uint16_t> data(5, mine), whole(3 * n, mine), share(3);
  world.all_reduce(Numbers(data.data(), Precision::bf16), 5, Reduction::sum);
  world.reduce_scatter({whole.data(), Precision::bf16}, Numbers(share.data(), Precision::bf16), 3);
  const double sum = 2.0 - std::ldexp(1.0, 1 - n);
  for (const std::uint16_t v : data) expect.equal("bf16 all_reduce", float_of_bf16(v), sum);
  for (const std::uint16_t v : share) expect.equal("bf16 reduce_scatter", float_of_bf16(v), sum);
  data.assign(5, bf16_of(me == 0 ? 1.0F : std::ldexp(1.0F, -8)));
  if (n == 2) {
    world.all_reduce(Numbers(data.data(), Precision::bf16), 5, Reduction::sum);
    expect.equal("bf16 rounding", float_of_bf16(data[4]), 1.0);
  }
  // An odd number of them to each rank.
  for (int i = 0; i < 3 * n; ++i) whole[i] = static_cast<std::uint16_t>(100 * me + i);
  std::vector<std::uint16_t> all(3 * n);
  world.all_gather({whole.data(), Precision::bf16}, Numbers(all.data(), Precision::bf16), 3);
  expect.equal("bf16 all_gather", all[3 * n - 1], 100 * (n - 1) + 2);
  world.all_to_all({whole.data(), Precision::bf16}, Numbers(all.data(), Precision::bf16), 3);
  expect.equal("bf16 all_to_all", all[3 * n - 1], 100 * (n - 1) + 3 * me + 2);
  const std::vector<std::int64_t> counts(n, 3);
  world.all_to_all_v({whole.data(), Precision::bf16}, counts, Numbers(all.data(), Precision::bf16),
                     counts);
  expect.equal("bf16 all_to_all_v", all[3 * n - 1], 100 * (n - 1) + 3 * me + 2);
  world.send({whole.data(), Precision::bf16}, 3, (me + 1) % n);
  world.receive(Numbers(share.data(), Precision::bf16), 3, (me + n - 1) % n);
  world.wait_sends();
  expect.equal("bf16 receive", share[2], 100 * ((me + n - 1) % n) + 2);
}

void check_movements(Communicator& world, Expectations& expect) {
  const int n = world.size(), me = world.rank();
  const std::vector<float> mine = numbers(me, 3 * n);
  std::vector<float> all(3 * n);
  world.all_gather(mine.data(), all.data(), 3);
  for (int r = 0; r < n; ++r) {
    for (int i = 0; i < 3; ++i) expect.equal("all_gather", all[3 * r + i], 10 * r + i + 1);
  }
  world.all_to_all(mine.data(), all.data(), 3);
  for (int r = 0; r < n; ++r) {
    for (int i = 0; i < 3; ++i) {
      expect.equal("all_to_all", all[3 * r + i], 10 * r + 3 * me + i + 1);
    }
  }
  std::vector<float> data = numbers(me, 3);
  world.broadcast(data.data(), 3, n - 1);
  expect.equal("broadcast", data[2], 10 * (n - 1) + 3);
  // Both neighbours at once, larger than any eager limit: send must not block.
  constexpr int kCount = 1 << 20;
  const std::vector<float> out(kCount, static_cast<float>(me));
  std::vector<float> in(kCount);
  world.send(out.data(), kCount, (me + 1) % n);
  world.receive(in.data(), kCount, (me + n - 1) % n);
  world.wait_sends();
  expect.equal("receive", in.back(), (me + n - 1) % n);
}

void check_host_values(Communicator& world, Expectations& expect) {
  const int n = world.size(), me = world.rank();
  expect.equal("host_max", world.host_max(me), n - 1);
  std::int64_t decision = 100 + me;
  world.host_broadcast(&decision, sizeof decision, 0);
  expect.equal("host_broadcast", static_cast<double>(decision), 100);
  std::vector<int> ranks(n);
  world.host_gather(&me, ranks.data(), sizeof me);
  for (int r = 0; r < n; ++r) expect.equal("host_gather", ranks[r], r);
}

// Even and odd ranks apart, in reversed order: the last one of a color becomes its rank 0.
void check_split(Communicator& world, Expectations& expect) {
  const int n = world.size(), me = world.rank();
  const auto half = world.split(me % 2, -me);
  const int members = (n + 1 - me % 2) / 2;
  expect.equal("split size", half->size(), members);
  expect.equal("split rank", half->rank(), members - 1 - me / 2);
  std::vector<float> one{1.0F};
  half->all_reduce(one.data(), 1, Reduction::sum);
  expect.equal("all_reduce of a half", one[0], members);
}

int check_collectives(Communicator& world) {
  Expectations expect(world.rank());
  check_reductions(world, expect);
  check_sixteen_bits(world, expect);
  check_movements(world, expect);
  check_host_values(world, expect);
  check_split(world, expect);
  return expect.exit_code();
}

// The others wait in a collective that can never complete.
int end_badly(Communicator& world, const std::string& how) {
  world.barrier();
  if (world.rank() == 1) {
    if (how == "kill") std::raise(SIGKILL);
    if (how == "exit") _exit(7);
    if (how == "abort") {
      fmt::print(stderr, "{}\n", rank_failure_line(1, world.host(), "the device is on fire"));
      world.abort(3);
    }
  }
  if (how == "hang") std::this_thread::sleep_for(std::chrono::minutes(5));
  world.barrier();
  return 0;
}

// Rank 1 is stopped, or hangs, or takes longer than the timeout for something that may take long;
// the others wait for it in an all-reduce of 1 KiB.
int stand_still(Communicator& world, const std::string& how) {
  std::vector<float> data(256);
  world.all_reduce(data.data(), 256, Reduction::sum);
  if (world.rank() == 1) {
    if (how == "stop") std::raise(SIGSTOP);
    if (how == "loop") {
      begin_operation({.name = "product"});
      std::this_thread::sleep_for(std::chrono::minutes(5));
    }
    if (how == "work") {
      begin_operation({.name = "product", .slow = seconds(60)});
      std::this_thread::sleep_for(std::chrono::seconds(5));
    }
  }
  world.all_reduce(data.data(), 256, Reduction::sum);
  return 0;
}

// Rank 1 works for twice as long as a rank with a GPU may wait in one collective; rank 0 has
// nothing to do.
int idle_rank(Communicator& world) {
  watch_device(DeviceKind::gpu);
  for (int i = 0; world.rank() == 1 && i < 16; ++i) {
    begin_operation({.name = "product"});
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  const WaitForOthers idle;
  world.barrier();
  return 0;
}

// A message to a rank that does not exist: MPI's own error becomes ours.
int send_to_nobody(Communicator& world) {
  const float value = 1.0F;
  try {
    world.send(&value, 1, world.size());
  } catch (const SystemError& error) {
    return std::string(error.what()).find("MPI_Isend failed: MPI_ERR_RANK") == 0 ? 0 : 1;
  }
  return 1;
}

int run(const std::string& what) {
  Backend& cpu = open_backend("cpu");
  const auto compute = cpu.make_compute(0);
  const auto place = find_rank_place(process_environment());
  const bool stands = what == "stop" || what == "loop" || what == "work" || what == "idle";
  if (place && stands) report_progress(*place, seconds(2));
  const auto world = reporting(open_backend("mpi").make_world(*compute));
  if (!place || place->rank != world->rank() || place->size != world->size()) return 1;
  if (what == "collectives") return check_collectives(*world);
  if (what == "error") return send_to_nobody(*world);
  if (what == "idle") return idle_rank(*world);
  if (stands) return stand_still(*world, what);
  return end_badly(*world, what);
}

}  // namespace
}  // namespace meshwright::calibrate

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  return meshwright::calibrate::run(argv[1]);
}
