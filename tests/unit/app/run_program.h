// SPDX-License-Identifier: Apache-2.0
// Runs the built program as a user would and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace meshwright::test {

struct ProgramResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// Arguments are passed as they are, without a shell.
ProgramResult run_program(const std::vector<std::string>& arguments);
// Standard output goes to this file, or is closed where its name is empty; `out` stays empty.
ProgramResult run_program_into(const std::string& out, const std::vector<std::string>& arguments);

// Standard output and error go to this file; the caller waits for the process.
int start_program(const std::vector<std::string>& arguments, const std::string& out);

// Words of a command and more of them.
std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more);

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
