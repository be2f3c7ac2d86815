// SPDX-License-Identifier: Apache-2.0
#include "app/files/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "app/console/terminal.h"
#include "app/files/descriptor.h"
#include "app/files/temporary_file.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kPipeReaderComesWithin = 5s;

std::string reason_of(int error) { return std::strerror(error); }

// Where a write to `path` ends up. Throws InputError for links that lead in a circle.
fs::path target_of(const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux follows them
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!fs::is_symlink(fs::symlink_status(target, error))) return target;
    const fs::path next = fs::read_symlink(target, error);
    if (error) break;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  throw InputError(path, "", "cannot be written: too many symbolic links");
}

bool is_replaceable(const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  return !fs::exists(status) || fs::is_regular_file(status);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

[[noreturn]] void fail(const std::string& path, int error) {
  throw SystemError(fmt::format("{}: cannot be written: {}", path, reason_of(error)));
}

// A pipe is opened when its reader has come; waiting for one for ever would hang.
int open_through(const fs::path& target) {
  const auto deadline = std::chrono::steady_clock::now() + kPipeReaderComesWithin;
  for (;;) {
    const int fd = ::open(target.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    if (fd >= 0 || errno != ENXIO || std::chrono::steady_clock::now() > deadline) return fd;
    std::this_thread::sleep_for(20ms);
  }
}

void write_through(const std::string& path, const fs::path& target, const std::string& content) {
  const Descriptor file(open_through(target));
  if (!file.is_open()) {
    if (errno == ENXIO) throw SystemError(path + ": cannot be written: no process reads this pipe");
    fail(path, errno);
  }
  int error = file.write_all(content);
  if (error == EPIPE) return;  // its reader has seen enough
  if (error == 0) error = file.flush();
  if (error != 0) fail(path, error);
}

}  // namespace

void check_writable(const std::string& path) {
  if (path == "-") return;
  const fs::path target = target_of(path);
  std::error_code error;
  if (fs::is_directory(target, error))
    throw InputError(path, "", "is a directory; expected a file name");
  const fs::path folder = folder_of(target);
  if (!fs::is_directory(folder, error)) {
    throw InputError(path, "",
                     fmt::format("cannot be written: there is no folder {}", folder.string()));
  }
  const bool needs_folder = is_replaceable(target);
  if ((needs_folder && ::access(folder.c_str(), W_OK) != 0) ||
      (fs::exists(target, error) && ::access(target.c_str(), W_OK) != 0)) {
    throw InputError(path, "", fmt::format("cannot be written: {}", reason_of(errno)));
  }
}

void check_new_file(const std::string& path) {
  check_writable(path);
  std::error_code error;
  if (is_kept(path) && fs::exists(path, error)) {
    throw InputError(path, "", "already exists; expected a new file name");
  }
}

bool is_kept(const std::string& path) { return path != "-" && is_replaceable(target_of(path)); }

bool written_since(const std::string& path, fs::file_time_type begin) {
  std::error_code missing;
  const auto written = fs::last_write_time(path, missing);
  return !missing && written >= begin;
}

bool same_file(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return a == b;
  std::error_code error;
  const fs::path first = target_of(a);
  const fs::path second = target_of(b);
  if (fs::is_character_file(first, error)) return false;
  if (fs::exists(first, error) && fs::exists(second, error)) {
    return fs::equivalent(first, second, error);
  }
  return fs::weakly_canonical(first, error) == fs::weakly_canonical(second, error);
}

void write_file_atomically(const std::string& path, const std::string& content) {
  if (path == "-") {
    print_text(content);
    return;
  }
  const fs::path target = target_of(path);
  if (!is_replaceable(target)) {
    write_through(path, target, content);
    return;
  }
  if (const int error = TemporaryFile(target).become_target(content); error != 0) {
    fail(path, error);
  }
}

}  // namespace meshwright::app
