// SPDX-License-Identifier: Apache-2.0
// Folders for what Open MPI leaves behind when it is killed: its session files and the shared
// memory of the ranks. Removed when the ranks have ended, or, where we were killed, at the next
// start.
//
// The folder itself is locked by its owner and by the mpirun that inherits the descriptor: a folder
// whose lock can be had belongs to nobody any more.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace meshwright::calibrate {

class ScratchFolder {
 public:
  // In `parent`; path() is empty when none can be made there. Removes what killed runs of this user
  // left in `parent`.
  explicit ScratchFolder(const std::string& parent);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;
};

// Environment that tells Open MPI 4 and 5 to use these folders.
std::vector<std::pair<std::string, std::string>> scratch_environment(const ScratchFolder& sessions,
                                                                     const ScratchFolder& memory);

}  // namespace meshwright::calibrate
