// SPDX-License-Identifier: Apache-2.0
#include "app/console/progress.h"

#include <fmt/format.h>

#include <utility>

#include "sim/base/number_text.h"

namespace meshwright::app {

Progress::Progress(std::string what, Show show, std::chrono::milliseconds patience)
    : show_(std::move(show)),
      what_(std::move(what)),
      thread_([this, patience] { run(patience); }) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Progress::now_at(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Progress::run(std::chrono::milliseconds patience) {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kBetweenLines(500);
  const auto begin = steady_clock::now();
  std::unique_lock lock(mutex_);
  const auto ended_by = [&](steady_clock::time_point then) {
    return wake_.wait_until(lock, then, [this] { return done_; });
  };
  if (ended_by(begin + patience)) return;
  do {
    const auto elapsed =
        std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - begin);
    show_(fmt::format("{}: {} s", what_, elapsed.count()));
  } while (!ended_by(steady_clock::now() + kBetweenLines));
  show_("");
}

std::string long_wait_text(std::chrono::duration<double> first, std::size_t searches,
                           std::string_view shorter) {
  constexpr double kNoticed = 5.0;  // seconds
  const double all = first.count() * static_cast<double>(searches);
  if (!(all > kNoticed)) return "";
  return fmt::format("{} more searches may take {} s; {} skips them.", searches,
                     number_text(all, 2), shorter);
}

}  // namespace meshwright::app
