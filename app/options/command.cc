// SPDX-License-Identifier: Apache-2.0
#include "app/options/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/inner_files.h"
#include "app/files/output_file.h"
#include "calibrate/launch/rank_place.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::app {
namespace {

constexpr char kClusters[] = "clusters";
constexpr char kInside[] = " (named in it)";

struct NamedFile {
  std::string name, path;
};

template <typename Files>
std::vector<NamedFile> named_files(const Files& files) {
  std::vector<NamedFile> named;
  for (const auto& entry : files) {
    for (const std::string& path : entry.paths()) {
      if (!path.empty()) named.push_back({entry.name, path});
    }
  }
  return named;
}

// Only the first rank of a job writes files; the others may be on hosts without the folder.
bool is_writing_rank() {
  const auto place = calibrate::find_rank_place(calibrate::process_environment());
  return !place || place->rank == 0;
}

void refuse_if_same(const NamedFile& output, const NamedFile& other, const std::string& is) {
  if (!same_file(output.path, other.path)) return;
  throw InputError(output.name, "",
                   fmt::format("{} is also {} {}; writing it would overwrite that file",
                               output.path, is, other.name),
                   "use another file name");
}

}  // namespace

namespace {

// CLI11 names the option before what is wrong with its value.
std::string blank(const std::string& path) {
  const bool says_something = path.find_first_not_of(" \t\r\n") != std::string::npos;
  return says_something ? "" : "must be a file or a shipped name (got a blank)";
}

}  // namespace

CLI::Option* Command::reads(const std::string& name, std::string& path, const std::string& help,
                            const std::string& folder) {
  const std::string long_name = name.substr(name.rfind(',') + 1);  // "FILE,--from"
  also_reads(long_name, [&path, folder] { return std::vector{find_config(path, folder)}; });
  if (folder == kClusters) {
    also_reads(name + kInside, [&path] { return files_in_cluster(path); });
  }
  return options_->add_option(name, path, help)->check(blank);
}

CLI::Option* Command::reads(const std::string& name, std::vector<std::string>& paths,
                            const std::string& help) {
  also_reads(name, [&paths] { return paths; });
  return options_->add_option(name, paths, help)->check(blank);
}

CLI::Option* Command::writes(const std::string& name, std::string& path, const std::string& help) {
  also_writes(name, [&path] { return std::vector{path}; });
  return options_->add_option(name, path, help);
}

CLI::Option* Command::writes_new(const std::string& name, std::string& path,
                                 const std::string& help) {
  CLI::Option* option = writes(name, path, help);
  writes_.back().never_replaced = true;
  return option;
}

void Command::also_reads(const std::string& name, Paths paths) {
  reads_.push_back({name, std::move(paths)});
}

void Command::also_writes(const std::string& name, Paths paths) {
  writes_.push_back({name, std::move(paths)});
}

void Command::only_with(const std::string& name, const std::string& other) {
  options_->get_option(name)->needs(options_->get_option(other));
}

void Command::only_where(const std::string& name, const std::string& needs,
                         std::function<bool()> holds) {
  conditions_.push_back({name, needs, std::move(holds)});
}

void Command::check_conditions() const {
  for (const Condition& condition : conditions_) {
    if (options_->count(condition.name) == 0 || condition.holds()) continue;
    throw InputError(condition.name, "", "needs " + condition.needs);
  }
}

void Command::never_with(const std::string& name, const std::vector<std::string>& others) {
  for (const std::string& other : others) {
    options_->get_option(name)->excludes(options_->get_option(other));
  }
}

CLI::Option* must_be_positive(CLI::Option* option) {
  return option->check(CLI::Validator(
      [](const std::string& text) -> std::string {
        double value = 0.0;
        const char* end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, value);
        const bool good =
            error == std::errc() && rest == end && value > 0.0 && std::isfinite(value);
        return good ? "" : fmt::format("must be a number above 0 (got \"{}\")", text);
      },
      ""));
}

void Command::check_files() const {
  const std::vector<NamedFile> outputs = named_files(writes_);
  const bool none_is_file = std::all_of(outputs.begin(), outputs.end(),
                                        [](const NamedFile& output) { return output.path == "-"; });
  const std::vector<NamedFile> inputs =
      none_is_file ? std::vector<NamedFile>{} : named_files(reads_);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedFile& input : inputs) refuse_if_same(outputs[i], input, "the input");
    for (std::size_t j = 0; j < i; ++j) refuse_if_same(outputs[i], outputs[j], "the output");
  }
  if (!is_writing_rank()) return;
  for (const Files& files : writes_) {
    for (const std::string& path : files.paths()) {
      if (path.empty()) continue;
      files.never_replaced ? check_new_file(path) : check_writable(path);
    }
  }
}

Command& Commands::add(const std::string& name, const std::string& help) {
  return add_to(*program_, name, help);
}

Command& Commands::add_below(Command& parent, const std::string& name, const std::string& help) {
  return add_to(parent.options(), name, help);
}

Command& Commands::add_to(CLI::App& parent, const std::string& name, const std::string& help) {
  commands_.push_back(std::make_unique<Command>(*parent.add_subcommand(name, help)));
  return *commands_.back();
}

int Commands::run(const Call& call) const {
  const Command* asked = nullptr;
  for (const auto& command : commands_) {  // a sub-command's own come after it
    if (command->options().parsed() && command->run_) asked = command.get();
  }
  invariant(asked != nullptr, "a sub-command without its function");
  asked->check_conditions();
  asked->check_files();
  return asked->run_(call);
}

}  // namespace meshwright::app
