// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/core_wait.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace meshwright::calibrate {
namespace {

constexpr double kLeastOfASpan = 0.01;  // of a span that a thread had its core

// The file of one thread, open for its life: opening it takes longer than a short kernel.
class ThreadStatistics {
 public:
  ThreadStatistics() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  ThreadStatistics(const ThreadStatistics&) = delete;
  ThreadStatistics& operator=(const ThreadStatistics&) = delete;
  ~ThreadStatistics() {
    if (file_ >= 0) close(file_);
  }
  [[nodiscard]] std::string text() const {
    std::array<char, 96> line{};
    const ssize_t size = file_ < 0 ? 0 : pread(file_, line.data(), line.size(), 0);
    return size > 0 ? std::string(line.data(), static_cast<std::size_t>(size)) : std::string();
  }

 private:
  int file_;
};

}  // namespace

double queued_seconds(const std::string& schedstat) {
  std::istringstream fields(schedstat);
  double ran = 0, queued = 0;
  return fields >> ran >> queued ? queued * 1e-9 : 0.0;
}

double seconds_without_core() {
  thread_local const ThreadStatistics statistics;
  return queued_seconds(statistics.text());
}

double without_wait(double taken, double waited) {
  return std::max(taken - waited, kLeastOfASpan * taken);
}

}  // namespace meshwright::calibrate
