// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/socket_ranks.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "calibrate/backends/nccl/socket_barrier.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

// First message of a rank. A connection that sends something else is a stranger.
struct Greeting {
  std::uint32_t magic = 0x4d574b31;
  std::int32_t rank = 0, size = 0;
};

[[noreturn]] void fail(const std::string& what) {
  throw SystemError(fmt::format("{}: {}", what, std::strerror(errno)));
}

void write_all(const Socket& to, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = send(to.descriptor(), at, bytes, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("another rank has closed its connection");
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void read_all(const Socket& from, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t done = recv(from.descriptor(), at, bytes, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) throw SystemError("another rank has closed its connection");
    if (done < 0) fail("a connection to another rank");
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

// Empty when nobody answers there, yet.
Socket try_to_connect(const MeetingPoint& point) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  const std::string port = std::to_string(point.port);
  if (getaddrinfo(point.address.c_str(), port.c_str(), &wanted, &found) != 0) return Socket();
  Socket connection;
  for (const addrinfo* a = found; a != nullptr && connection.descriptor() < 0; a = a->ai_next) {
    Socket attempt(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol));
    if (connect(attempt.descriptor(), a->ai_addr, a->ai_addrlen) == 0) {
      connection = std::move(attempt);
    }
  }
  freeaddrinfo(found);
  return connection;
}

// Empty when nobody has come by then.
Socket accept_until(const Socket& listener, Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd waiting{listener.descriptor(), POLLIN, 0};
  if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) <= 0) return Socket();
  return Socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
}

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 0 || value > 65535) return std::nullopt;
  return static_cast<int>(value);
}

}  // namespace

SocketRanks::SocketRanks(int rank, int size, std::string address, std::string first)
    : rank_(rank), size_(size), address_(std::move(address)), first_(std::move(first)) {}

SocketRanks::~SocketRanks() = default;

std::unique_ptr<SocketRanks> SocketRanks::meet(int rank, int size, const MeetingPoint& point) {
  return rank == 0 ? listen_for(open_listener(point.port), size, point)
                   : connect_to(rank, size, point);
}

std::unique_ptr<SocketRanks> SocketRanks::listen_for(const Socket& listener, int size,
                                                     const MeetingPoint& point) {
  constexpr char kHere[] = "127.0.0.1";  // the listener takes both families
  std::unique_ptr<SocketRanks> ranks(new SocketRanks(0, size, kHere, kHere));
  ranks->peers_.resize(static_cast<std::size_t>(size));
  const auto deadline = Clock::now() + point.patience;
  for (int here = 1; here < size;) {
    Socket peer = accept_until(listener, deadline);
    if (peer.descriptor() < 0) {
      throw SystemError(fmt::format("{} of {} ranks came to {} port {} within {} s", here, size,
                                    point.address, point.port, point.patience.count()));
    }
    const timeval soon{.tv_sec = 5, .tv_usec = 0}, any{};
    setsockopt(peer.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    Greeting greeting{.magic = 0};
    const ssize_t got = recv(peer.descriptor(), &greeting, sizeof greeting, MSG_WAITALL);
    setsockopt(peer.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &any, sizeof any);
    const bool ours = got == sizeof greeting && greeting.magic == Greeting{}.magic &&
                      greeting.size == size && greeting.rank > 0 && greeting.rank < size;
    if (!ours) continue;
    Socket& place = ranks->peers_[static_cast<std::size_t>(greeting.rank)];
    if (place.descriptor() >= 0) {
      throw SystemError(fmt::format("two processes say that they are rank {}", greeting.rank));
    }
    send_at_once(peer);
    place = std::move(peer);
    ++here;
  }
  return ranks;
}

std::unique_ptr<SocketRanks> SocketRanks::connect_to(int rank, int size,
                                                     const MeetingPoint& point) {
  const auto deadline = Clock::now() + point.patience;
  Socket leader = try_to_connect(point);
  while (leader.descriptor() < 0) {
    if (Clock::now() > deadline) {
      throw SystemError(fmt::format("rank 0 does not answer at {} port {} within {} s",
                                    point.address, point.port, point.patience.count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    leader = try_to_connect(point);
  }
  send_at_once(leader);
  const Greeting greeting{.rank = rank, .size = size};
  write_all(leader, &greeting, sizeof greeting);
  std::unique_ptr<SocketRanks> ranks(
      new SocketRanks(rank, size, own_address(leader), peer_address(leader)));
  ranks->peers_.push_back(std::move(leader));
  return ranks;
}

// Everybody listens, says where, and goes to the first of its color.
std::unique_ptr<HostRanks> SocketRanks::split_ranks(int color, int key) {
  struct Offer {
    int color = 0, key = 0, rank = 0;
    std::uint16_t port = 0;
    AddressText address{};
  };
  const Socket listener = open_listener(0);
  Offer mine{.color = color, .key = key, .rank = rank_, .port = port_of(listener)};
  std::copy_n(address_.begin(), std::min(address_.size(), mine.address.size() - 1),
              mine.address.begin());
  std::vector<Offer> group(static_cast<std::size_t>(size_));
  host_gather(&mine, group.data(), sizeof mine);
  std::erase_if(group, [&](const Offer& o) { return o.color != color; });
  std::sort(group.begin(), group.end(), [](const Offer& a, const Offer& b) {
    return std::pair(a.key, a.rank) < std::pair(b.key, b.rank);
  });
  const auto own =
      std::find_if(group.begin(), group.end(), [&](const Offer& o) { return o.rank == rank_; });
  const int size = static_cast<int>(group.size());
  const MeetingPoint point{.address = reachable_address(group.front().address.data(), first_),
                           .port = group.front().port};
  if (own == group.begin()) return listen_for(listener, size, point);
  return connect_to(static_cast<int>(own - group.begin()), size, point);
}

void SocketRanks::host_gather(const void* in, void* out, std::size_t bytes_per_rank) {
  char* all = static_cast<char*>(out);
  const std::size_t whole = bytes_per_rank * static_cast<std::size_t>(size_);
  if (rank_ > 0) {
    write_all(peers_.front(), in, bytes_per_rank);
    read_all(peers_.front(), all, whole);
    return;
  }
  std::memcpy(all, in, bytes_per_rank);
  for (std::size_t r = 1; r < peers_.size(); ++r) {
    read_all(peers_[r], all + r * bytes_per_rank, bytes_per_rank);
  }
  for (std::size_t r = 1; r < peers_.size(); ++r) write_all(peers_[r], all, whole);
}

void SocketRanks::host_broadcast(void* data, std::size_t bytes, int root) {
  std::vector<char> all(bytes * static_cast<std::size_t>(size_));
  host_gather(data, all.data(), bytes);
  std::memcpy(data, all.data() + bytes * static_cast<std::size_t>(root), bytes);
}

double SocketRanks::host_max(double value) {
  std::vector<double> all(static_cast<std::size_t>(size_));
  host_gather(&value, all.data(), sizeof value);
  return *std::max_element(all.begin(), all.end());
}

// Ranks that left one after the other would begin a sample one after the other.
void SocketRanks::barrier() {
  constexpr int kFewRanks = 4;
  constexpr std::chrono::seconds kPatience{10};
  if (size_ > kFewRanks && !asked_for_barrier_) {
    asked_for_barrier_ = true;
    barrier_ = SocketBarrier::connect(*this, address_, first_, kPatience);
  }
  if (barrier_) {
    barrier_->wait();
  } else {
    host_max(0.0);
  }
}

// The others see that the connection is closed, in their next exchange.
void SocketRanks::abort(int exit_code) { std::_Exit(exit_code); }

std::unique_ptr<SocketRanks> meet_as_torchrun_says() {
  const char* address = std::getenv("MASTER_ADDR");
  const auto rank = number_in("RANK"), size = number_in("WORLD_SIZE");
  const auto theirs = number_in("MASTER_PORT"), ours = number_in("MESHWRIGHT_PORT");
  if (address == nullptr || !rank || !size || (!theirs && !ours)) {
    throw SystemError(
        "torchrun's variables are not all there: RANK, WORLD_SIZE, MASTER_ADDR, "
        "MASTER_PORT");
  }
  const int port = ours ? *ours : *theirs + 1;
  if (port > UINT16_MAX) {
    throw SystemError("MASTER_PORT is 65535, and no port follows it",
                      "set MESHWRIGHT_PORT to a free port, the same on all ranks");
  }
  return SocketRanks::meet(*rank, *size,
                           {.address = address, .port = static_cast<std::uint16_t>(port)});
}

}  // namespace meshwright::calibrate
