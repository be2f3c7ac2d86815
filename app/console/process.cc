// SPDX-License-Identifier: Apache-2.0
#include "app/console/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace meshwright::app {
namespace {

// Shells add this to a signal's number to form the exit code of a process that the signal ended.
constexpr int kSignalled = 128;

void end(int signal) { ::_exit(interrupted(signal)); }

// A handler, not SIG_IGN: the programs that we start get their default back.
void pass_over(int) {}

// Without it the first file that is opened would become standard output. A file that is opened for
// reading only refuses a write, as a closed stream does.
void keep_open(int fd) {
  if (::fcntl(fd, F_GETFD) >= 0) return;
  const int opened = ::open("/dev/null", O_RDONLY);  // the lowest that is free
  if (opened >= 0 && opened != fd) {
    ::dup2(opened, fd);
    ::close(opened);
  }
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;  // nohup, or a shell's background job
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

int interrupted(int signal) { return kSignalled + (signal == SIGINT ? SIGINT : SIGTERM); }

void prepare_process() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) keep_open(fd);
  handle(SIGINT, end);
  handle(SIGTERM, end);
  handle(SIGHUP, end);
  handle(SIGPIPE, pass_over);
  ::signal(SIGCHLD, SIG_DFL);  // whoever ignored it did not want to lose our ranks' ends
}

}  // namespace meshwright::app
