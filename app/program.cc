// SPDX-License-Identifier: Apache-2.0
#include "app/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <sstream>

#include "app/commands/commands.h"
#include "app/console/build.h"
#include "app/console/exit_code.h"
#include "app/console/memory_stream.h"
#include "app/console/terminal.h"
#include "app/options/command.h"
#include "app/options/option_synonyms.h"
#include "app/options/value_names.h"
#include "calibrate/backends/backend.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/utf8.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

void print_error(const std::string& what, const std::string& hint) {
  say("meshwright: error: {}\n", what);
  if (!hint.empty()) say("  hint: {}\n", hint);
}

// CLI11 says which argument it could not place; the nearest known name is the better half of the
// answer.
std::string usage_hint(const CLI::App& app, const std::string& message) {
  const CLI::App* command = &app;
  for (const CLI::App* sub : app.get_subcommands()) command = sub;
  std::vector<std::string> known;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  if (command == &app) {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(sub->get_name());
    }
  }
  const std::size_t start = message.find_last_of(": ");
  const std::string near =
      start == std::string::npos ? "" : did_you_mean(message.substr(start + 1), known);
  const std::string help =
      fmt::format("run meshwright {}--help", command == &app ? "" : command->get_name() + " ");
  return near.empty() ? help : fmt::format("{} ({})", near, help);
}

// The commands that `app` has under it.
std::vector<const CLI::App*> commands_under(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The words as CLI11 reads them: own names of options, and help where nothing was asked. CLI11 asks
// for a sub-command when it gets one that it does not know.
std::vector<std::string> understood(const CLI::App& app, std::vector<std::string> words) {
  constexpr std::array<std::string_view, 4> kVersionWords{"-v", "-V", "version", "--version"};
  if (!words.empty() && words.front() == "help") words.front() = "--help";
  if (words.size() > 1 && words.front() == "--help") std::swap(words[0], words[1]);
  if (words.empty()) return {"--help"};
  if (std::find(kVersionWords.begin(), kVersionWords.end(), words.front()) != kVersionWords.end()) {
    return {"--version"};
  }
  const CLI::App* command = &app;
  std::size_t depth = 0;
  while (depth < words.size() && !commands_under(*command).empty()) {
    if (words[depth] == "--help" || words[depth] == "-h") return words;
    std::vector<std::string> known;
    const CLI::App* found = nullptr;
    for (const CLI::App* sub : commands_under(*command)) {
      known.push_back(sub->get_name());
      if (sub->get_name() == words[depth]) found = sub;
    }
    if (found == nullptr && command->get_require_subcommand_min() == 0) break;
    if (found == nullptr) {
      const std::string prefix = command == &app ? "" : command->get_name() + " ";
      throw InputError(fmt::format("unknown command \"{}{}\"; expected one of {}", prefix,
                                   words[depth], fmt::join(known, ", ")),
                       words[depth].starts_with('-') ? "write the command before its options"
                                                     : did_you_mean(words[depth], known));
    }
    command = found;
    ++depth;
  }
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(depth);
  const std::vector<std::string> rest{begin, words.end()};
  const std::vector<std::string> own = with_own_options(*command, rest);
  words.erase(begin, words.end());
  words.insert(words.end(), own.begin(), own.end());
  if (own.empty() && command->get_require_subcommand_min() > 0) words.emplace_back("--help");
  return words;
}

// CLI11's message, where it speaks of its own matters.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error,
                          const std::vector<std::string>& words) {
  const std::string text = error.what();
  if (error.get_name() == "ArgumentMismatch" && contains(text, " required ")) {
    return text.substr(0, text.find(':')) + ": needs a value";
  }
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return text;
  const CLI::App* command = &app;
  for (const CLI::App* sub : app.get_subcommands()) command = sub;
  for (const std::string& word : words) {
    const std::string option = word.substr(0, word.find('='));
    if (!word.starts_with('-') || command->get_option_no_throw(option) != nullptr) continue;
    return fmt::format("unknown option of meshwright {}: {}", command->get_name(), option);
  }
  return text;
}

// Arguments are copied into outputs, which are UTF-8, so they must be UTF-8 too.
void check_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!first_byte_not_utf8(argv[i])) continue;
    throw InputError(fmt::format("argument {}, {}: is not UTF-8", i, argv[i]),
                     "rename the file, or use a link to it");
  }
}

// CLI11's help, where it was asked for.
int help(const CLI::App& app, const CLI::Success& asked) {
  std::ostringstream text;
  const int code = app.exit(asked, text, text);
  print_text(text.str());
  return code;
}

// Nothing: go on with the command; else the exit code.
std::optional<int> parse(CLI::App& app, const std::vector<std::string>& words) {
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp& e) {
    return help(app, e);
  } catch (const CLI::CallForAllHelp& e) {
    return help(app, e);
  } catch (const CLI::CallForVersion&) {
    print("{}", version_text());
    return kDone;
  } catch (const CLI::ParseError& e) {
    const std::string message = usage_message(app, e, words);
    print_error(message, usage_hint(app, message));
    return kWrongInput;
  }
}

}  // namespace

std::string version_text() {
  std::string text = fmt::format("meshwright {}\n", kVersion);
  for (const std::string& name : calibrate::built_modules()) {
    try {
      calibrate::Backend& backend = calibrate::open_backend(name);
      const std::string reason = backend.unavailable();
      text += fmt::format("  {:5} {}{}\n", name, backend.libraries(),
                          reason.empty() ? "" : " (not usable here: " + reason + ")");
    } catch (const SystemError& e) {
      text += fmt::format("  {:5} built, but cannot be opened: {}\n", name, e.what());
    }
  }
  return text;
}

namespace {

// Asks the program in this process.
Answered asked(std::vector<std::string> words) {
  words.insert(words.begin(), "meshwright");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const MemoryStream out, err;
  const int code = run(static_cast<int>(words.size()), pointers.data(),
                       {.out = out.stream(), .err = err.stream()});
  return {code, out.content(), err.content()};
}

int answer(int argc, char** argv) {
  CLI::App app{
      "Plan the parallel layout of a transformer training job before you submit it: "
      "predict step time,\nmemory and communication volume of each layout, rank "
      "them, and check the ranking with real runs.",
      "meshwright"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("meshwright"),
                       "Print the version and the backends");
  app.footer(
      "Exit codes: 0 success, 1 no layout fits or a gate failed, 2 wrong usage or "
      "input,\n3 device, MPI or NCCL failure or a failed write, 130 or 143 "
      "interrupted.");
  Commands commands(app);
  for (const auto add : kAddEach) add(commands);
  name_values(app);
  try {
    check_arguments(argc, argv);
    const std::vector<std::string> words = understood(app, {argv + 1, argv + argc});
    if (const auto ended = parse(app, words)) return *ended;
    return commands.run({words, asked});
  } catch (const InputError& e) {
    print_error(e.what(), e.hint());
    return kWrongInput;
  } catch (const SystemError& e) {
    print_error(e.what(), e.hint());
    return kSystemFailure;
  } catch (const std::bad_alloc&) {
    print_error("out of memory", "");
    return kSystemFailure;
  } catch (const std::exception& e) {
    print_error(fmt::format("internal error: {}", e.what()),
                "report this fault of the program with the command and its inputs");
    return kSystemFailure;
  }
}

}  // namespace

int run(int argc, char** argv, const Streams& streams) {
  const StreamsInUse in_use(streams);
  const int code = answer(argc, argv);
  const int failure = flush_standard_output();
  // A reader that has seen enough, such as head, is no failure.
  if (failure == 0 || failure == EPIPE) return code;
  print_error(fmt::format("standard output: cannot be written: {}", std::strerror(failure)), "");
  return kSystemFailure;
}

}  // namespace meshwright::app
