// SPDX-License-Identifier: Apache-2.0
// Ranks on two hosts: a child process has two network namespaces, joined by a virtual cable.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/backends/nccl/socket_ranks.h"

namespace meshwright::calibrate {
namespace {

constexpr int kGood = 0, kWrong = 1, kNoNamespaces = 77;
constexpr std::uint16_t kPort = 23457;  // of a network of its own: free

bool write_file(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

// Root of a user namespace may make network namespaces and configure them.
bool become_root_of_a_network() {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  return write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", fmt::format("0 {} 1", user)) &&
         write_file("/proc/self/gid_map", fmt::format("0 {} 1", group));
}

bool succeeds(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

// A thread on the second host. Its network has the address 10.99.0.2, ours 10.99.0.1.
class SecondHost {
 public:
  explicit SecondHost(std::function<bool()> work) : work_(std::move(work)) {
    thread_ = std::thread([this] { run(); });
  }
  SecondHost(const SecondHost&) = delete;
  SecondHost& operator=(const SecondHost&) = delete;
  ~SecondHost() { thread_.join(); }

  // Lays the cable, from the first host's network. The work begins with it.
  bool connect() {
    const pid_t thread = network_.get_future().get();
    const bool laid =
        thread > 0 &&
        succeeds(fmt::format("ip link add mw0 type veth peer name mw1 netns {}", thread)) &&
        succeeds("ip link set lo up && ip address add 10.99.0.1/24 dev mw0 && ip link set mw0 up");
    cable_.set_value(laid);
    return laid;
  }
  bool has_worked() { return result_.get_future().get(); }

 private:
  void run() {
    network_.set_value(unshare(CLONE_NEWNET) == 0 ? gettid() : -1);
    const bool laid = cable_.get_future().get() &&
                      succeeds(
                          "ip link set lo up && ip address add 10.99.0.2/24 dev mw1 && "
                          "ip link set mw1 up");
    result_.set_value(laid && work_());
  }

  std::function<bool()> work_;
  std::promise<pid_t> network_;
  std::promise<bool> cable_, result_;
  std::thread thread_;
};

// Rank 0 stands alone, the others are one group. A name that torchrun gives is 127.0.1.1 on rank
// 0's own host, and its address elsewhere.
bool joins_group(int rank, const std::string& address_of_rank_0) {
  constexpr int kRanks = 3;
  const auto world = SocketRanks::meet(
      rank, kRanks,
      {.address = address_of_rank_0, .port = kPort, .patience = std::chrono::seconds(10)});
  const auto group = world->split_ranks(rank == 0 ? 0 : 1, rank);
  return group->size() == (rank == 0 ? 1 : 2) && group->host_max(rank) == (rank == 0 ? 0.0 : 2.0);
}

// More ranks than go through rank 0. Their barrier finds its way between the hosts, too.
bool has_barrier(int rank, const std::string& address_of_rank_0) {
  constexpr int kRanks = 6;
  const auto world = SocketRanks::meet(
      rank, kRanks,
      {.address = address_of_rank_0, .port = kPort, .patience = std::chrono::seconds(10)});
  world->barrier();
  return world->has_direct_barrier();
}

using RankWork = bool (*)(int rank, const std::string& address_of_rank_0);

// Ranks first, first + step, ... below `end` of one host. Threads stay in the network they are
// made in.
bool all_work(RankWork work, int first, int step, int end, const std::string& address) {
  std::vector<std::future<bool>> ranks;
  for (int rank = first; rank < end; rank += step) {
    ranks.push_back(std::async(std::launch::async, work, rank, address));
  }
  bool good = true;
  for (std::future<bool>& rank : ranks) good = rank.get() && good;
  return good;
}

int on_two_hosts(const std::function<bool()>& first_host,
                 const std::function<bool()>& second_host) {
  alarm(40);  // a rank that waits for one that does not come
  if (!become_root_of_a_network()) return kNoNamespaces;
  SecondHost second(second_host);
  if (!second.connect()) return kNoNamespaces;
  const bool first = first_host();
  return second.has_worked() && first ? kGood : kWrong;
}

// The child never returns into the test program.
[[noreturn]] void end_on_two_hosts(const std::function<bool()>& first_host,
                                   const std::function<bool()>& second_host) {
  try {
    _exit(on_two_hosts(first_host, second_host));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    _exit(kWrong);
  }
}

void expect_good_on_two_hosts(const std::function<bool()>& first_host,
                              const std::function<bool()>& second_host) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) end_on_two_hosts(first_host, second_host);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kNoNamespaces) {
    GTEST_SKIP() << "this machine lets us make no network namespaces, or has no ip";
  }
  EXPECT_EQ(WEXITSTATUS(status), kGood);
}

// Before: rank 2 waited 60 s for rank 1 at 127.0.0.1, its own host.
TEST(SocketRanks, AGroupOverTwoHostsMeetsThoughItsFirstRankCallsItselfLoopback) {
  expect_good_on_two_hosts([] { return all_work(joins_group, 0, 1, 2, "127.0.1.1"); },
                           [] { return all_work(joins_group, 2, 1, 3, "10.99.0.1"); });
}

// Before: ranks of the second host looked for rank 0 at 127.0.0.1, and all barriers went through
// rank 0, the first after 10 s.
TEST(SocketBarrier, FindsItsWayBetweenHostsThoughRankZeroCallsItselfLoopback) {
  expect_good_on_two_hosts([] { return all_work(has_barrier, 0, 2, 6, "127.0.1.1"); },
                           [] { return all_work(has_barrier, 1, 2, 6, "10.99.0.1"); });
}

}  // namespace
}  // namespace meshwright::calibrate
