// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/sockets.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

// An address of this host, of either family.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress any_address(int family, std::uint16_t port) {
  SocketAddress address;
  address.storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
    address.size = sizeof(sockaddr_in6);
  } else {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
    address.size = sizeof(sockaddr_in);
  }
  return address;
}

// Empty, with the reason in errno, where it cannot listen.
Socket listener_of(int family, std::uint16_t port) {
  Socket listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.descriptor() < 0) return listener;
  const int no = 0, yes = 1;
  if (family == AF_INET6) {
    setsockopt(listener.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  setsockopt(listener.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  SocketAddress any = any_address(family, port);
  const bool listens = bind(listener.descriptor(), any.get(), any.size) == 0 &&
                       listen(listener.descriptor(), SOMAXCONN) == 0;
  return listens ? std::move(listener) : Socket();
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);  // getsockname, getpeername

// Numeric address of one side of a connection.
std::string address_text(const Socket& connection, NameOf name_of) {
  SocketAddress address;
  name_of(connection.descriptor(), address.get(), &address.size);
  AddressText text{};
  getnameinfo(address.get(), address.size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

}  // namespace

Socket open_listener(std::uint16_t port, const std::vector<int>& families) {
  for (const int family : families) {
    Socket listener = listener_of(family, port);
    if (listener.descriptor() >= 0) return listener;
    if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) break;
  }
  throw SystemError(fmt::format("cannot listen on port {}: {}", port, std::strerror(errno)));
}

std::uint16_t port_of(const Socket& listener) {
  SocketAddress bound;
  getsockname(listener.descriptor(), bound.get(), &bound.size);
  return bound.storage.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6*>(&bound.storage)->sin6_port)
             : ntohs(reinterpret_cast<const sockaddr_in*>(&bound.storage)->sin_port);
}

bool is_loopback(const std::string& address) {
  constexpr std::uint32_t kLoopbackNet = 127;
  in6_addr six{};
  if (inet_pton(AF_INET6, address.c_str(), &six) == 1) {
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == kLoopbackNet;
    return mapped || IN6_IS_ADDR_LOOPBACK(&six);
  }
  in_addr four{};
  return inet_pton(AF_INET, address.c_str(), &four) == 1 &&
         ntohl(four.s_addr) >> 24 == kLoopbackNet;
}

std::string reachable_address(const std::string& theirs, const std::string& first) {
  return is_loopback(theirs) ? first : theirs;
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string own_address(const Socket& connection) { return address_text(connection, getsockname); }

std::string peer_address(const Socket& connection) { return address_text(connection, getpeername); }

void send_at_once(const Socket& connection) {
  const int yes = 1;
  setsockopt(connection.descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace meshwright::calibrate
