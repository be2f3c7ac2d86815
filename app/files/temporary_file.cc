// SPDX-License-Identifier: Apache-2.0
#include "app/files/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace meshwright::app {
namespace {

constexpr int kMostWriters = 100;  // of one file at once

// The number tells writers of one file apart. A name has at most 255 bytes.
std::filesystem::path numbered(const std::filesystem::path& target, int number) {
  const std::string name = target.filename().string().substr(0, 200);
  return target.parent_path() / fmt::format(".{}.{}.meshwright-tmp", name, number);
}

bool lock(const Descriptor& file) { return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

// Tells whether the path still names what was opened: another process may have removed or replaced
// it.
bool names(const std::filesystem::path& path, const Descriptor& file) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void remove_if_abandoned(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.is_open() && lock(file) && names(path, file)) ::unlink(path.c_str());
}

}  // namespace

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

int TemporaryFile::open_numbered(int number) {
  const std::filesystem::path path = numbered(target_, number);
  remove_if_abandoned(path);
  file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file_.is_open()) return errno;
  // Between its making and its locking another process may have taken it for abandoned. Where a
  // file system has no locks, none is ever taken for that.
  const bool was_locked = lock(file_) || errno == EWOULDBLOCK;
  if (was_locked && !names(path, file_)) return EEXIST;
  path_ = path;
  return 0;
}

int TemporaryFile::open_new() {
  int error = EEXIST;
  for (int number = 1; error == EEXIST && number <= kMostWriters; ++number) {
    error = open_numbered(number);
  }
  return error;
}

// Only root may give a file away, and that resets the mode.
void TemporaryFile::take_owner_and_mode() const {
  struct stat old {};
  if (::stat(target_.c_str(), &old) != 0) return;
  [[maybe_unused]] const int not_root = ::fchown(file_.get(), old.st_uid, old.st_gid);
  ::fchmod(file_.get(), old.st_mode & 0777);
}

int TemporaryFile::become_target(const std::string& content) {
  if (const int error = open_new(); error != 0) return error;
  take_owner_and_mode();
  if (const int error = file_.write_all(content); error != 0) return error;
  if (const int error = file_.flush(); error != 0) return error;
  if (::rename(path_.c_str(), target_.c_str()) != 0) return errno;
  path_.clear();
  return 0;
}

}  // namespace meshwright::app
