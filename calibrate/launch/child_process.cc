// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "calibrate/launch/rank_place.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

using ProcessClock = std::chrono::steady_clock;

[[noreturn]] void fail_call(const char* call) {
  throw SystemError(fmt::format("{} failed: {}", call, std::strerror(errno)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// SIGINT and its kin arrive as data on a descriptor while this lives, so no global handler is
// needed.
class SignalQueue {
 public:
  SignalQueue() : signals_(signal_set()), fd_(open_queue(signals_, before_)) {}
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  ~SignalQueue() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const sigset_t& mask_before() const { return before_; }
  // The next signal, or 0.
  [[nodiscard]] int take() const {
    signalfd_siginfo info{};
    if (read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return 0;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  // A signal is ignored under nohup, or in a shell's background job. A blocked signal would still
  // arrive.
  static bool is_ignored(int signal) {
    struct sigaction now {};
    return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
  }
  static sigset_t signal_set() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) {
      if (!is_ignored(signal)) sigaddset(&set, signal);
    }
    return set;
  }
  static int open_queue(const sigset_t& signals, sigset_t& before) {
    if (sigprocmask(SIG_BLOCK, &signals, &before) != 0) fail_call("sigprocmask");
    const int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) fail_call("signalfd");
    return fd;
  }

  sigset_t signals_;
  sigset_t before_{};
  Descriptor fd_;
};

struct Arguments {
  std::vector<std::string> storage;
  std::vector<char*> pointers;
  explicit Arguments(std::vector<std::string> texts) : storage(std::move(texts)) {
    for (std::string& text : storage) pointers.push_back(text.data());
    pointers.push_back(nullptr);
  }
};

Arguments environment_for(const ChildOptions& options) {
  Environment merged = process_environment();
  for (const auto& [name, value] : options.environment) merged[name] = value;
  std::vector<std::string> texts;
  for (const auto& [name, value] : merged) texts.push_back(name + "=" + value);
  return Arguments(std::move(texts));
}

// Between fork and exec only async-signal-safe calls are allowed.
[[noreturn]] void become(char* const* command, char* const* environment, int stderr_fd,
                         const sigset_t& mask, pid_t parent) {
  setpgid(0, 0);  // a terminal's Ctrl-C reaches us alone; we hand it on once
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(stderr_fd, STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execve(command[0], command, environment);
  _exit(127);
}

class Child {
 public:
  Child(const ChildOptions& options, const ChildEvents& events)
      : options_(options), events_(events), start_(ProcessClock::now()) {}

  ChildEnd run() {
    const int stderr_fd = start();
    const Descriptor errors(stderr_fd);
    while (!ended_) {
      std::array<pollfd, 2> watched{pollfd{errors.get(), POLLIN, 0},
                                    pollfd{signals_.fd(), POLLIN, 0}};
      if (stderr_closed_) watched[0].fd = -1;
      poll(watched.data(), watched.size(), 100);
      if (watched[0].revents != 0) pass_stderr(errors.get());
      handle_signals();
      enforce_limits();
      reap();
    }
    // A rank that outlives mpirun may keep the pipe open: read what is there, do not wait for more.
    pass_stderr(errors.get());
    print(partial_);
    return end_;
  }

 private:
  int start() {
    std::array<int, 2> pipe_fds{};
    if (pipe2(pipe_fds.data(), O_CLOEXEC) != 0) fail_call("pipe2");
    Descriptor write_end(pipe_fds[1]);
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    Arguments command(options_.command);
    Arguments environment = environment_for(options_);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) fail_call("fork");
    if (pid_ == 0) {
      become(command.pointers.data(), environment.pointers.data(), pipe_fds[1],
             signals_.mask_before(), parent);
    }
    setpgid(pid_, pid_);
    return pipe_fds[0];
  }

  void pass_stderr(int fd) {
    std::array<char, 4096> buffer{};
    for (;;) {
      const ssize_t n = read(fd, buffer.data(), buffer.size());
      if (n == 0) stderr_closed_ = true;
      if (n <= 0) return;
      take_lines(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
    }
  }

  void take_lines(std::string_view text) {
    partial_ += text;
    std::size_t begin = 0;
    for (std::size_t end = partial_.find('\n'); end != std::string::npos;
         end = partial_.find('\n', begin)) {
      take_line(std::string_view(partial_).substr(begin, end + 1 - begin));
      begin = end + 1;
    }
    partial_.erase(0, begin);
  }

  void take_line(std::string_view line) {
    const LineUse use = events_.stderr_line(line.substr(0, line.size() - 1));
    if (use != LineUse::keep) print(line);
    if (use == LineUse::failure) start_grace();
  }

  static void print(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }

  // SIGPIPE: nobody reads our stderr any more.
  void handle_signals() {
    for (int signal = signals_.take(); signal != 0; signal = signals_.take()) {
      if (signal == SIGCHLD) continue;
      end_.signal = signal;
      ask_to_end(signal == SIGPIPE ? SIGTERM : signal);
    }
  }

  void ask_to_end(int signal) {
    kill(pid_, signal);
    start_grace();
  }

  void start_grace() {
    if (!grace_start_) grace_start_ = ProcessClock::now();
  }

  void enforce_limits() {
    const auto passed = [](ProcessClock::time_point since, double limit) {
      return std::chrono::duration<double>(ProcessClock::now() - since).count() > limit;
    };
    if (!end_.timed_out && options_.time_limit_seconds > 0 &&
        passed(start_, options_.time_limit_seconds)) {
      end_.timed_out = true;
      ask_to_end(SIGTERM);
    }
    if (!grace_start_ && events_.must_end()) ask_to_end(SIGTERM);
    if (grace_start_ && passed(*grace_start_, options_.grace_seconds)) {
      kill(-pid_, SIGKILL);
    }
  }

  void reap() {
    if (waitpid(pid_, &end_.wait_status, WNOHANG) == pid_) ended_ = true;
  }

  const ChildOptions& options_;
  const ChildEvents& events_;
  SignalQueue signals_;
  ProcessClock::time_point start_;
  std::optional<ProcessClock::time_point> grace_start_;
  std::string partial_;
  ChildEnd end_;
  pid_t pid_ = -1;
  bool stderr_closed_ = false;
  bool ended_ = false;
};

}  // namespace

ChildEnd run_child(const ChildOptions& options, const ChildEvents& events) {
  return Child(options, events).run();
}

}  // namespace meshwright::calibrate
