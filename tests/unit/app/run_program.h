// SPDX-License-Identifier: Apache-2.0
// Asks the program as a user would and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace meshwright::test {

struct ProgramResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// In this process, which is quick; in one of its own where backends are opened or ranks started.
ProgramResult run_program(const std::vector<std::string>& arguments);
// In a process of its own, without a shell. Standard output goes to this file, or is closed where
// its name is empty; `out` stays empty.
ProgramResult run_program_into(const std::string& out, const std::vector<std::string>& arguments);

// Standard output and error go to this file; the caller waits for the process.
int start_program(const std::vector<std::string>& arguments, const std::string& out);

// Words of a command and more of them.
std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more);

// The program's path.
std::string program();

// A file of the shipped configs.
std::string config(const std::string& name);

std::string content_of(const std::string& path);

// A folder of this test's own, empty at the start and removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& content) const;
  // Names in the folder, sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::string path_;
};

}  // namespace meshwright::test
