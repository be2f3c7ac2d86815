// SPDX-License-Identifier: Apache-2.0
// Processes that know each other by number and exchange small values of the host: clocks,
// decisions, names.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace meshwright::calibrate {

// Name of this process's host.
inline std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown-host";
}

class HostRanks {
 public:
  HostRanks() = default;
  HostRanks(const HostRanks&) = delete;
  HostRanks& operator=(const HostRanks&) = delete;
  virtual ~HostRanks() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::string host() const = 0;  // of this rank
  // Ranks of the same color form a group, ordered by key. Collective over these ranks.
  [[nodiscard]] virtual std::unique_ptr<HostRanks> split_ranks(int color, int key) = 0;

  virtual void barrier() = 0;
  virtual void host_broadcast(void* data, std::size_t bytes, int root) = 0;
  virtual double host_max(double value) = 0;
  virtual void host_gather(const void* in, void* out,
                           std::size_t bytes_per_rank) = 0;  // to every rank

  // Ends every rank of the job, now, with this exit code.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

}  // namespace meshwright::calibrate
