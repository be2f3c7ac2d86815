// SPDX-License-Identifier: Apache-2.0
// Says on a terminal what a long search is at, and for how long: "searching layouts: 3 s".
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "app/console/terminal.h"

namespace meshwright::app {

// What is said before `searches` more searches, each about as long as the first one; empty: they
// take 5 s at most, which nobody needs to be told. `shorter`: the option that leaves them out.
std::string long_wait_text(std::chrono::duration<double> first, std::size_t searches,
                           std::string_view shorter);

// Shows nothing before `patience` is over, then a line that changes every half second, and takes it
// away at its end. Nothing else may be printed while it lives. `show`: where the lines go.
class Progress {
 public:
  using Show = std::function<void(std::string_view)>;
  explicit Progress(std::string what, Show show = show_progress,
                    std::chrono::milliseconds patience = std::chrono::seconds(2));
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void now_at(std::string what);

 private:
  void run(std::chrono::milliseconds patience);

  Show show_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string what_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace meshwright::app
