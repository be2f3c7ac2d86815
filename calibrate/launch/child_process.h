// SPDX-License-Identifier: Apache-2.0
// Runs one program and waits, without a shell: stdout inherited, stderr read and passed through
// line by line, stdin empty. SIGINT, SIGTERM and SIGHUP are handed on to it. It dies when we do.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace meshwright::calibrate {

struct ChildOptions {
  std::vector<std::string> command;                              // the first is a path
  std::vector<std::pair<std::string, std::string>> environment;  // set beside our own
  double time_limit_seconds = 0.0;                               // 0: none
  double grace_seconds = 8.0;  // between asking it to end (or its first failure) and SIGKILL
};

struct ChildEnd {
  int wait_status = 0;  // of waitpid
  bool timed_out = false;
  int signal = 0;  // that interrupted us; 0: none
};

enum class LineUse {
  pass_on,
  keep,    // for us alone
  failure  // passed on; the child has failed and has grace_seconds left
};

struct ChildEvents {
  std::function<LineUse(std::string_view)> stderr_line;
  // Asked some times a second; once it says yes the child is told to end.
  std::function<bool()> must_end = [] { return false; };
};

ChildEnd run_child(const ChildOptions& options, const ChildEvents& events);

}  // namespace meshwright::calibrate
