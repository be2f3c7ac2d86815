// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace meshwright::calibrate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "meshwright-ranks-";

// A descriptor that holds the folder's lock, or -1: it is gone, or somebody's.
int lock_of(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) return -1;
  struct stat found {};
  const bool mine = fstat(fd, &found) == 0 && found.st_nlink > 0 && found.st_uid == geteuid();
  if (mine && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  close(fd);
  return -1;
}

void remove_abandoned(const std::string& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const int lock = lock_of(entry.path().string());
    if (lock < 0) continue;
    fs::remove_all(entry.path(), error);
    close(lock);
  }
}

}  // namespace

// Between its making and its locking another run may take a new folder for an abandoned one: then
// there is none, and Open MPI's own places do.
ScratchFolder::ScratchFolder(const std::string& parent) {
  remove_abandoned(parent);
  std::string pattern = parent + "/" + std::string(kPrefix) + "XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) return;
  lock_ = lock_of(pattern);
  if (lock_ >= 0) path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code gone_already;
  fs::remove_all(path_, gone_already);
  close(lock_);
}

std::vector<std::pair<std::string, std::string>> scratch_environment(const ScratchFolder& sessions,
                                                                     const ScratchFolder& memory) {
  std::vector<std::pair<std::string, std::string>> result;
  if (!sessions.path().empty()) {
    result.emplace_back("OMPI_MCA_orte_tmpdir_base", sessions.path());
    result.emplace_back("PRTE_MCA_prte_tmpdir_base", sessions.path());
  }
  if (!memory.path().empty()) {
    result.emplace_back("OMPI_MCA_btl_vader_backing_directory", memory.path());
    result.emplace_back("OMPI_MCA_btl_sm_backing_directory", memory.path());
  }
  return result;
}

}  // namespace meshwright::calibrate
