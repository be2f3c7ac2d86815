// SPDX-License-Identifier: Apache-2.0
#include "app/output_file.h"

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

#include "app/terminal.h"
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

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  // Some file systems say only now that the disk is full.
  [[nodiscard]] int close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

// 0, or the error.
int write_all(int fd, const std::string& content) {
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return 0;
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
  Descriptor file(open_through(target));
  if (file.get() < 0) {
    if (errno == ENXIO) throw SystemError(path + ": cannot be written: nobody reads this pipe");
    fail(path, errno);
  }
  const int error = write_all(file.get(), content);
  if (error == EPIPE) return;  // its reader has seen enough
  if (error != 0) fail(path, error);
  if (file.close() != 0) fail(path, errno);
}

// 0, or the error. A file that is replaced keeps who may read it.
int write_new(const std::string& temporary, const fs::path& target, const std::string& content) {
  ::unlink(temporary.c_str());  // of a killed run; what a link there points to stays untouched
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return errno;
  struct stat old {};
  if (::stat(target.c_str(), &old) == 0) ::fchmod(file.get(), old.st_mode & 0777);
  if (const int error = write_all(file.get(), content); error != 0) return error;
  return file.close() == 0 ? 0 : errno;
}

}  // namespace

void check_writable(const std::string& path) {
  if (path == "-") return;
  const fs::path target = target_of(path);
  std::error_code error;
  if (fs::is_directory(target, error))
    throw InputError(path, "", "is a directory; name a file to write");
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
  if (path != "-" && fs::exists(path, error) && is_replaceable(path)) {
    throw InputError(path, "", "exists; name a new file");
  }
}

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
  const std::string temporary = fmt::format("{}.{}.tmp", target.string(), ::getpid());
  int error = write_new(temporary, target, content);
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  fail(path, error);
}

}  // namespace meshwright::app
