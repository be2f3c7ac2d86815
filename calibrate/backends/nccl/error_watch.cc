// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/error_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "calibrate/backends/rank_line.h"

namespace meshwright::calibrate {
namespace {

constexpr auto kInterval = std::chrono::seconds(1);

struct Member {
  int rank = 0;
  std::string host;
};

class Watch {
 public:
  Watch() {
    std::thread([this] { run(); }).detach();
  }
  void add(ncclComm_t communicator, const Member& member) {
    const std::lock_guard lock(mutex_);
    watched_[communicator] = member;
  }
  void remove(ncclComm_t communicator) {
    const std::lock_guard lock(mutex_);
    watched_.erase(communicator);
  }

 private:
  void run() {
    for (;; std::this_thread::sleep_for(kInterval)) {
      const std::lock_guard lock(mutex_);
      for (const auto& [communicator, member] : watched_) check(communicator, member);
    }
  }

  static void check(ncclComm_t communicator, const Member& member) {
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(communicator, &state) != ncclSuccess) return;
    if (state == ncclSuccess || state == ncclInProgress) return;
    const char* detail = ncclGetLastError(communicator);
    const std::string cause = fmt::format("NCCL: {}{}{}", ncclGetErrorString(state),
                                          detail == nullptr || *detail == '\0' ? "" : ": ",
                                          detail == nullptr ? "" : detail);
    const std::string line = rank_failure_line(member.rank, member.host, cause) + "\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    _exit(kSystemFailure);  // which tears down what is on the device
  }

  std::mutex mutex_;
  std::map<ncclComm_t, Member> watched_;
};

// Lives as long as the process: its thread does.
Watch& watch() {
  static Watch* const instance = new Watch;
  return *instance;
}

}  // namespace

void watch_errors(ncclComm_t communicator, int rank, const std::string& host) {
  watch().add(communicator, {.rank = rank, .host = host});
}

void unwatch_errors(ncclComm_t communicator) { watch().remove(communicator); }

}  // namespace meshwright::calibrate
