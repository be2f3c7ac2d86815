// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/app/run_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "app/console/memory_stream.h"
#include "app/program.h"
#include "tests/paths.h"

namespace meshwright::test {
namespace {

namespace fs = std::filesystem;

// The program's name and its arguments.
std::vector<std::string> words_of(const std::vector<std::string>& arguments) {
  return with({MESHWRIGHT_PROGRAM}, arguments);
}

// As main() gets them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const std::string& out,
                         const std::string& err) {
  const int out_file = out.empty() ? -1 : ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err_file = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  // The tests may run under nohup or in a shell's background; the program is asked without.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  out.empty() ? ::close(STDOUT_FILENO) : ::dup2(out_file, STDOUT_FILENO);
  ::dup2(err_file, STDERR_FILENO);
  std::vector<std::string> words = words_of(arguments);
  ::execv(MESHWRIGHT_PROGRAM, pointers_to(words).data());
  ::_exit(127);
}

bool opens_backends(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments.front();
  return command == "calibrate" || command == "trial" || command == "--version";
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments) {
  if (opens_backends(arguments)) {
    const TemporaryFolder folder;
    const std::string out = folder.path("out");
    ProgramResult result = run_program_into(out, arguments);
    result.out = content_of(out);
    return result;
  }
  const app::MemoryStream out, err;
  std::vector<std::string> words = words_of(arguments);
  const int code = app::run(static_cast<int>(words.size()), pointers_to(words).data(),
                            {.out = out.stream(), .err = err.stream()});
  return {.exit_code = code, .out = out.content(), .err = err.content()};
}

ProgramResult run_program_into(const std::string& out, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string err = folder.path("err");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(arguments, out, err);
  int status = 0;
  ::waitpid(child, &status, 0);
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.err = content_of(err);
  return result;
}

int start_program(const std::vector<std::string>& arguments, const std::string& out) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(arguments, out, out);
  return child;
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string program() { return MESHWRIGHT_PROGRAM; }

std::string config(const std::string& name) {
  return std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/" + name;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "meshwright-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& content) const {
  std::ofstream(path(name), std::ios::binary) << content;
  return path(name);
}

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path_))
    found.push_back(entry.path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace meshwright::test
