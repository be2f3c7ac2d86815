// SPDX-License-Identifier: Apache-2.0
// An open file, closed at the end.
#pragma once

#include <string>

namespace meshwright::app {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  void reset(int fd);
  // 0, or the error. Some file systems say only when a file is closed that the disk is full; it
  // stays open, and locked, for its owner.
  [[nodiscard]] int flush() const;
  // 0, or the error.
  [[nodiscard]] int write_all(const std::string& content) const;

 private:
  int fd_;
};

}  // namespace meshwright::app
