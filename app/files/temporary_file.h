// SPDX-License-Identifier: Apache-2.0
// A file beside the one that it will become: written whole, then renamed onto it.
//
// It is locked (flock) while it is written. The file of a killed run has a free lock, so the next
// write of the same name removes it. A file that another process writes is kept, in this container
// or in another.
#pragma once

#include <filesystem>
#include <string>

#include "app/files/descriptor.h"

namespace meshwright::app {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::filesystem::path target) : target_(std::move(target)) {}
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // 0, or the error. The target gets `content`, and keeps its owner and who may read it.
  [[nodiscard]] int become_target(const std::string& content);

 private:
  [[nodiscard]] int open_new();
  [[nodiscard]] int open_numbered(int number);
  void take_owner_and_mode() const;

  std::filesystem::path target_;
  std::filesystem::path path_;  // empty: there is none
  Descriptor file_;
};

}  // namespace meshwright::app
