// SPDX-License-Identifier: Apache-2.0
// TCP sockets of either version of IP, and the addresses at which hosts reach each other.
#pragma once

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace meshwright::calibrate {

// An open file descriptor of a socket.
class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Listens on `port` of all addresses, 0: on a free one. Families are tried in this order; the next
// one where this host does not have one (IPv6 may be off). Throws SystemError.
Socket open_listener(std::uint16_t port, const std::vector<int>& families = {AF_INET6, AF_INET});
std::uint16_t port_of(const Socket& listener);

// A numeric address of IPv6 with its interface ("fe80::1%eth0") and the zero that ends it.
inline constexpr std::size_t kAddressLength = INET6_ADDRSTRLEN + IF_NAMESIZE + 1;
using AddressText = std::array<char, kAddressLength>;

// Numeric addresses of the two sides of a connection.
std::string own_address(const Socket& connection);
std::string peer_address(const Socket& connection);

// Sends small messages at once.
void send_at_once(const Socket& connection);

// Tells whether a numeric address is of this host's loopback: 127.0.0.0/8 (also as
// ::ffff:127.0.0.1) or ::1.
bool is_loopback(const std::string& address);

// Address at which this rank reaches another one, that sees itself at `theirs`; this rank reached
// the first one at `first`.
std::string reachable_address(const std::string& theirs, const std::string& first);

}  // namespace meshwright::calibrate
