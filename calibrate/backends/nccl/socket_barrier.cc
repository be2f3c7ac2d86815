// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/socket_barrier.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <utility>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

// Where a rank waits for those before it.
struct Door {
  std::uint16_t port = 0;
  AddressText address{};
};

// First message to a door.
struct Hello {
  std::uint32_t magic = 0x4d574b42;
  std::int32_t round = 0;
};

// Empty where this host lets nobody listen: then no rank has the barrier.
Socket open_door() {
  try {
    return open_listener(0);
  } catch (const SystemError&) {
    return Socket();
  }
}

bool ready(const Socket& which, short what, Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd waiting{which.descriptor(), what, 0};
  return left > 0 && poll(&waiting, 1, static_cast<int>(left)) > 0;
}

bool connected(const Socket& attempt, const addrinfo& to, Clock::time_point deadline) {
  if (connect(attempt.descriptor(), to.ai_addr, to.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS || !ready(attempt, POLLOUT, deadline)) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(attempt.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

void block(const Socket& connection) {
  send_at_once(connection);
  const int flags = fcntl(connection.descriptor(), F_GETFL);
  fcntl(connection.descriptor(), F_SETFL, flags & ~O_NONBLOCK);
}

// Empty where nobody is reached.
Socket reach(const Door& door, const std::string& first, Clock::time_point deadline) {
  if (door.address.front() == '\0') return Socket();
  const std::string address = reachable_address(door.address.data(), first);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  const std::string port = std::to_string(door.port);
  if (getaddrinfo(address.c_str(), port.c_str(), &wanted, &found) != 0) return Socket();
  Socket connection;
  for (const addrinfo* a = found; a != nullptr && connection.descriptor() < 0; a = a->ai_next) {
    Socket attempt(
        socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol));
    if (connected(attempt, *a, deadline)) connection = std::move(attempt);
  }
  freeaddrinfo(found);
  if (connection.descriptor() >= 0) block(connection);
  return connection;
}

bool send_whole(const Socket& to, const void* data, std::size_t bytes) {
  ssize_t done = -1;
  while (done < 0) {
    done = send(to.descriptor(), data, bytes, MSG_NOSIGNAL);
    if (done < 0 && errno != EINTR) return false;
  }
  return done == static_cast<ssize_t>(bytes);
}

bool receive_whole(const Socket& from, void* data, std::size_t bytes) {
  ssize_t done = -1;
  while (done < 0) {
    done = recv(from.descriptor(), data, bytes, MSG_WAITALL);
    if (done < 0 && errno != EINTR) return false;
  }
  return done == static_cast<ssize_t>(bytes);
}

// Those who come to the door, by round; strangers are turned away. False where some are missing.
bool let_in(const Socket& door, std::vector<Socket>& from, Clock::time_point deadline) {
  for (std::size_t here = 0; here < from.size();) {
    if (!ready(door, POLLIN, deadline)) return false;
    Socket guest(accept4(door.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (guest.descriptor() < 0) continue;
    Hello hello{.magic = 0};
    if (!ready(guest, POLLIN, deadline) || !receive_whole(guest, &hello, sizeof hello)) continue;
    const auto round = static_cast<std::size_t>(hello.round);
    if (hello.magic != Hello{}.magic || hello.round < 0 || round >= from.size()) continue;
    if (from[round].descriptor() >= 0) continue;
    block(guest);
    from[round] = std::move(guest);
    ++here;
  }
  return true;
}

}  // namespace

int barrier_rounds(int ranks) {
  int rounds = 0;
  for (std::int64_t reached = 1; reached < ranks; reached *= 2) ++rounds;
  return rounds;
}

std::unique_ptr<SocketBarrier> SocketBarrier::connect(HostRanks& ranks, const std::string& address,
                                                      const std::string& first,
                                                      std::chrono::seconds patience) {
  auto barrier = std::make_unique<SocketBarrier>();
  const auto rounds = static_cast<std::size_t>(barrier_rounds(ranks.size()));
  barrier->from_.resize(rounds);
  const Socket door = open_door();
  Door mine;
  if (door.descriptor() >= 0) mine.port = port_of(door);
  if (address.size() < mine.address.size()) {
    std::copy(address.begin(), address.end(), mine.address.begin());
  }
  std::vector<Door> doors(static_cast<std::size_t>(ranks.size()));
  ranks.host_gather(&mine, doors.data(), sizeof mine);
  const auto deadline = Clock::now() + patience;
  bool whole = door.descriptor() >= 0;
  for (std::size_t round = 0; whole && round < rounds; ++round) {
    const auto next = (static_cast<std::size_t>(ranks.rank()) + (std::size_t{1} << round)) %
                      static_cast<std::size_t>(ranks.size());
    barrier->to_.push_back(reach(doors[next], first, deadline));
    const Hello hello{.round = static_cast<std::int32_t>(round)};
    whole = barrier->to_.back().descriptor() >= 0 &&
            send_whole(barrier->to_.back(), &hello, sizeof hello);
  }
  whole = whole && let_in(door, barrier->from_, deadline);
  if (ranks.host_max(whole ? 0.0 : 1.0) > 0.0) return nullptr;
  return barrier;
}

void SocketBarrier::wait() {
  for (std::size_t round = 0; round < to_.size(); ++round) {
    char here = 1;
    if (!send_whole(to_[round], &here, sizeof here) ||
        !receive_whole(from_[round], &here, sizeof here)) {
      throw SystemError("another rank has closed its connection");
    }
  }
}

}  // namespace meshwright::calibrate
