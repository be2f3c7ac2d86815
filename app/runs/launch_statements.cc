// SPDX-License-Identifier: Apache-2.0
#include "app/runs/launch_statements.h"

#include <fmt/format.h>

#include "interop/read_launch/read_launch.h"
#include "sim/base/error.h"

namespace meshwright::app {

interop::ReadNamedFile reader_of(const interop::LaunchFiles& files) {
  return [&files](const std::string& name) -> std::optional<std::string> {
    const auto found = files.named.find(name);
    return found == files.named.end() ? std::nullopt : std::optional(found->second);
  };
}

void refuse_unused_statements(const LaunchedRun& run, const std::string& text,
                              const std::string& file) {
  const auto counts = [&](const interop::LaunchHints& others) {
    try {
      return run.launch != interop::read_launch(text, file, others, reader_of(run.files));
    } catch (const InputError&) {
      return true;
    }
  };
  interop::LaunchHints others = run.hints;
  for (const auto& [name, value] : run.hints.variables) {
    others.variables.erase(name);
    if (!counts(others)) {
      throw InputError(
          "--set", "",
          fmt::format("{}={} changes nothing: the launch reads the same without it", name, value),
          "leave it out, or use a name that the launch reads");
    }
    others.variables[name] = value;
  }
  others.arguments.reset();
  if (run.hints.arguments && !counts(others)) {
    throw InputError("--args", "", "changes nothing: the launch uses no arguments");
  }
}

void refuse_other_vocabulary(const LaunchedRunOptions& options, const Model& model) {
  if (options.vocab_size == 0 || options.vocab_size == model.vocab_size) return;
  throw InputError(
      "--vocab-size", "",
      fmt::format("is {}, but {} has {}", options.vocab_size,
                  options.model.empty() ? "the launch" : options.model, model.vocab_size),
      "leave the option out, or change the launch or the model's file");
}

}  // namespace meshwright::app
