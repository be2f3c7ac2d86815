// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/socket_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "sim/base/error.h"
#include "tests/unit/calibrate/backends/nccl/ranks_as_threads.h"

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;

TEST(SocketRanks, GatherBroadcastAndMaximum) {
  on_ranks(4, [](SocketRanks& ranks) {
    const int mine = 10 * ranks.rank();
    std::array<int, 4> all{};
    ranks.host_gather(&mine, all.data(), sizeof mine);
    EXPECT_THAT(all, ElementsAre(0, 10, 20, 30));
    int told = mine;
    ranks.host_broadcast(&told, sizeof told, 2);
    EXPECT_EQ(told, 20);
    EXPECT_EQ(ranks.host_max(-1.0 * ranks.rank()), 0.0);
    EXPECT_FALSE(ranks.host().empty());
  });
}

// Two groups, even and odd, last rank first: of 5 ranks the even ones are 4, 2, 0.
TEST(SocketRanks, SplitOrdersByKeyAndGroupsTalkApart) {
  on_ranks(5, [](SocketRanks& ranks) {
    const auto part = ranks.split_ranks(ranks.rank() % 2, -ranks.rank());
    const bool even = ranks.rank() % 2 == 0;
    ASSERT_EQ(part->size(), even ? 3 : 2);
    EXPECT_EQ(part->rank(), even ? (4 - ranks.rank()) / 2 : (3 - ranks.rank()) / 2);
    EXPECT_EQ(part->host_max(ranks.rank()), even ? 4.0 : 3.0);
    const auto alone = part->split_ranks(part->rank(), 0);
    EXPECT_EQ(alone->size(), 1);
    EXPECT_EQ(alone->host_max(7.0), 7.0);
  });
}

TEST(SocketRanks, ARankThatIsGoneEndsTheExchange) {
  on_ranks(3, [](SocketRanks& ranks) {
    if (ranks.rank() == 2) return;
    EXPECT_THROW(ranks.barrier(), SystemError);
  });
}

TEST(SocketRanks, RanksThatDoNotComeAreCounted) {
  const MeetingPoint point{
      .address = "127.0.0.1", .port = free_port(), .patience = std::chrono::seconds(1)};
  try {
    (void)SocketRanks::meet(0, 2, point);
    FAIL() << "nobody else was there";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("1 of 2 ranks came to 127.0.0.1"));
  }
  EXPECT_THROW((void)SocketRanks::meet(1, 2, point), SystemError);
}

// A port scanner, or another job.
TEST(SocketRanks, AStrangerIsNotTakenForARank) {
  const MeetingPoint point{.address = "127.0.0.1", .port = free_port()};
  std::thread first([&] { EXPECT_EQ(SocketRanks::meet(0, 2, point)->host_max(1.0), 2.0); });
  Socket stranger(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(point.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  while (connect(stranger.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) !=
         0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(send(stranger.descriptor(), "GET / HTTP/1.0\r\n\r\n", 18, 0), 18);
  EXPECT_EQ(SocketRanks::meet(1, 2, point)->host_max(2.0), 2.0);
  first.join();
}

// What a kernel without IPv6 says to every call: the family is not there.
TEST(SocketRanks, ListenOnIpv4WhereThereIsNoIpv6) {
  constexpr int kNoFamily = -1;
  const Socket listener = open_listener(0, {kNoFamily, AF_INET});
  Socket caller(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_of(listener));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_NE(address.sin_port, 0);
  EXPECT_EQ(connect(caller.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THROW((void)open_listener(0, {kNoFamily}), SystemError);
}

// The next family would share the port with the program that has it.
TEST(SocketRanks, APortThatIsTakenIsAnError) {
  const Socket taken = open_listener(0);
  EXPECT_THROW((void)open_listener(port_of(taken)), SystemError);
}

TEST(SocketRanks, OtherHostsReachNoLoopbackAddress) {
  for (const char* here : {"127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.1.1"}) {
    EXPECT_TRUE(is_loopback(here)) << here;
  }
  for (const char* elsewhere :
       {"10.0.0.1", "128.0.0.1", "fd00::7f", "fe80::1%eth0", "node-127", ""}) {
    EXPECT_FALSE(is_loopback(elsewhere)) << elsewhere;
  }
}

// Rank 0's host has the address 10.0.0.1 and calls itself 127.0.1.1.
TEST(SocketRanks, ALoopbackAddressMeansTheHostOfTheFirstRank) {
  EXPECT_EQ(reachable_address("127.0.0.1", "10.0.0.1"), "10.0.0.1");    // from another host
  EXPECT_EQ(reachable_address("127.0.0.1", "127.0.1.1"), "127.0.1.1");  // on that host
  EXPECT_EQ(reachable_address("10.0.0.2", "127.0.1.1"), "10.0.0.2");    // from there to another
  EXPECT_EQ(reachable_address("10.0.0.2", "10.0.0.1"), "10.0.0.2");
}

// Kubernetes names of 66 characters and more are common. This one is 127.0.0.1 in octal; of its
// first 63 characters no address can be made.
TEST(SocketRanks, ALongAddressIsNotCut) {
  const std::string address = std::string(56, '0') + "0177.0.0.1";
  on_ranks(
      3,
      [](SocketRanks& ranks) {
        const auto part = ranks.split_ranks(0, ranks.rank());
        EXPECT_EQ(part->host_max(ranks.rank()), 2.0);
      },
      address);
}

TEST(SocketRanks, NoPortFollowsTheLastOne) {
  setenv("RANK", "0", 1);
  setenv("WORLD_SIZE", "1", 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", "65535", 1);
  EXPECT_THROW((void)meet_as_torchrun_says(), SystemError);
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
}

TEST(SocketRanks, TorchrunsVariablesSayWhereToMeet) {
  EXPECT_THROW((void)meet_as_torchrun_says(), SystemError);
  const int port = free_port();
  setenv("RANK", "0", 1);
  setenv("WORLD_SIZE", "1", 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", std::to_string(port - 1).c_str(), 1);
  EXPECT_EQ(meet_as_torchrun_says()->size(), 1);
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
}

}  // namespace
}  // namespace meshwright::calibrate
