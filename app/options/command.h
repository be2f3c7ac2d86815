// SPDX-License-Identifier: Apache-2.0
// A sub-command: its options, the files that they name, and what it does. Because a command says
// which files it reads and writes, one place refuses an output that is an input before any work.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/console/call.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace meshwright::app {

class Command {
 public:
  explicit Command(CLI::App& options) : options_(&options) {}

  [[nodiscard]] CLI::App& options() const { return *options_; }

  // Options that name files. A bare name may be one in `folder` of the configs.
  CLI::Option* reads(const std::string& name, std::string& path, const std::string& help,
                     const std::string& folder = "");
  CLI::Option* reads(const std::string& name, std::vector<std::string>& paths,
                     const std::string& help);
  CLI::Option* writes(const std::string& name, std::string& path, const std::string& help);
  // Never an older file.
  CLI::Option* writes_new(const std::string& name, std::string& path, const std::string& help);
  // Files whose names follow from options; `name` stands in the message.
  using Paths = std::function<std::vector<std::string>()>;
  void also_reads(const std::string& name, Paths paths);
  void also_writes(const std::string& name, Paths paths);

  // An option that would be ignored is refused instead.
  void only_with(const std::string& name, const std::string& other);
  void never_with(const std::string& name, const std::vector<std::string>& others);
  // The same by a value of another option: `needs` is that option and value.
  void only_where(const std::string& name, const std::string& needs, std::function<bool()> holds);

  // Its answer is the exit code.
  void runs(std::function<int(const Call&)> run) { run_ = std::move(run); }

 private:
  friend class Commands;
  struct Files {
    std::string name;
    Paths paths;
    bool never_replaced = false;
  };
  struct Condition {
    std::string name, needs;
    std::function<bool()> holds;
  };
  // Throws InputError.
  void check_files() const;
  void check_conditions() const;

  CLI::App* options_;
  std::vector<Files> reads_, writes_;
  std::vector<Condition> conditions_;
  std::function<int(const Call&)> run_;
};

// The option's number is finite and more than 0.
CLI::Option* must_be_positive(CLI::Option* option);

class Commands {
 public:
  explicit Commands(CLI::App& program) : program_(&program) {}

  Command& add(const std::string& name, const std::string& help);
  Command& add_below(Command& parent, const std::string& name, const std::string& help);
  // The one that was parsed.
  [[nodiscard]] int run(const Call& call) const;

 private:
  Command& add_to(CLI::App& parent, const std::string& name, const std::string& help);

  CLI::App* program_;
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace meshwright::app
