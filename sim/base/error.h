// SPDX-License-Identifier: Apache-2.0
// The two kinds of exception; app/program.cc alone turns them into text and an exit code.
//
// InputError: something the user gave is wrong (exit code 2). SystemError: a device, MPI, NCCL or
// operating-system call failed (exit code 3). An expected outcome (a layout that does not fit) is a
// value, never an exception. A bug of ours is an assertion.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace meshwright {

// A zero byte would end a message for whoever reads what().
inline std::string without_zero_bytes(std::string text) {
  std::replace(text.begin(), text.end(), '\0', '?');
  return text;
}

class InputError : public std::runtime_error {
 public:
  // where: file, flag or "standard input". pointer: JSON pointer inside it, or empty.
  // what: what is wrong with which value, and what is allowed. hint: what to do, or empty.
  InputError(const std::string& where, const std::string& pointer, const std::string& what,
             std::string hint = "")
      : std::runtime_error(
            without_zero_bytes(where + (pointer.empty() ? "" : ": " + pointer) + ": " + what)),
        hint_(std::move(hint)) {}
  explicit InputError(const std::string& what, std::string hint = "")
      : std::runtime_error(without_zero_bytes(what)), hint_(std::move(hint)) {}

  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

class SystemError : public std::runtime_error {
 public:
  explicit SystemError(const std::string& what, std::string hint = "")
      : std::runtime_error(what), hint_(std::move(hint)) {}

  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

// For states that no user input can produce.
inline void invariant(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("internal error: ") + what);
}

}  // namespace meshwright
