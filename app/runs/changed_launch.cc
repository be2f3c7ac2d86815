// SPDX-License-Identifier: Apache-2.0
#include "app/runs/changed_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "app/files/output_file.h"
#include "app/runs/launch_statements.h"
#include "interop/read_launch/read_launch.h"
#include "interop/write_launch/launch_target.h"
#include "sim/base/error.h"
#include "sim/layout/fields.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

std::set<std::string> differing_fields(const Layout& a, const Layout& b) {
  std::set<std::string> fields;
  for (const FieldDifference& difference : differences(a, b)) fields.emplace(difference.name);
  return fields;
}

std::vector<interop::LaunchSetting> settings_of(const LaunchedRun& run, const Layout& layout,
                                                bool spellings) {
  return interop::layout_settings(run.launch, {run.scenario, layout}, spellings);
}

// The run as its launch says it: a log may have had another batch.
LaunchedRun as_launched(LaunchedRun run) {
  settle_launch(run, run.files.file);
  return run;
}

LaunchedRun read_again(LaunchedRun run, const interop::LaunchFiles& files) {
  run.launch = interop::read_launch(files.text, files.file, run.hints, reader_of(files));
  settle_launch(run, files.file);
  return run;
}

// The first change of a name with its last value; what is as before is none.
void add_changes(std::vector<interop::LaunchChange>& all,
                 const std::vector<interop::LaunchChange>& more) {
  for (const interop::LaunchChange& change : more) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& each) { return each.name == change.name; });
    if (found == all.end()) {
      all.push_back(change);
    } else {
      found->after = change.after;
      found->value_after = change.value_after;
    }
  }
  std::erase_if(all, [](const interop::LaunchChange& change) {
    return change.before == change.after && change.value_before == change.value_after;
  });
}

// What the changed launch says otherwise; empty: it is the layout, and the same job and model.
std::string why_not(const LaunchedRun& said, const LaunchedRun& run, const Layout& layout) {
  const auto others = differences(said.layout, layout);
  if (!others.empty()) {
    return fmt::format("the launch has no word for {} {}", others.front().name, others.front().b);
  }
  Job job = said.scenario.job;
  // Megatron-LM's option for remainders stands beside offload, and says nothing of that optimizer.
  if (layout.optimizer_offload) {
    job.store_param_remainders = run.scenario.job.store_param_remainders;
  }
  if (!(job == run.scenario.job)) return "the change would reach beyond the layout";
  if (!(said.launch.model == run.launch.model)) return "the change would reach the model";
  return "";
}

// Rounds of changes: the first is in words that are there, later ones correct what follows from
// other words, such as chunks from layers of each.
constexpr int kRounds = 4;

void change(ChangedLaunch& changed, const LaunchedRun& run, const Layout& layout) {
  LaunchedRun said = run;
  for (int round = 0; round < kRounds; ++round) {
    const bool adds = round > 0 || !interop::is_fine_tuning(run.launch.target);
    const auto changes = interop::change_launch(
        changed.files, said.launch, run.hints, settings_of(said, said.layout, !adds),
        settings_of(run, layout, !adds), differing_fields(said.layout, layout), adds);
    if (changes.empty() && round > 0) break;
    add_changes(changed.changes, changes);
    said = read_again(run, changed.files);
    changed.refusal = why_not(said, run, layout);
    if (changed.refusal.empty()) return;
  }
}

// The text with a file's name replaced wherever it stands whole.
std::string with_name(std::string text, const std::string& name, const std::string& other) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const bool whole = at == 0 || !is_part(text[at - 1]);
    if (whole) text.replace(at, name.size(), other);
    at += whole ? other.size() : 1;
  }
  return text;
}

// conf/zero.json of new.sh is conf/new.zero.json.
std::string name_beside(const std::string& name, const std::string& out) {
  const fs::path path(name);
  return (path.parent_path() / (fs::path(out).stem().string() + "." + path.filename().string()))
      .string();
}

}  // namespace

ChangedLaunch changed_launch(const LaunchedRun& run, const Layout& layout) {
  ChangedLaunch changed{.files = run.files};
  const LaunchedRun launched = as_launched(run);
  if (run.files.text.empty()) {
    changed.refusal = "the launch is known from its log only";
  } else if (interop::launch_target(interop::words_of_layout(run.launch)) == nullptr) {
    changed.refusal = fmt::format("nothing is written for {}", run.launch.target);
  } else {
    try {
      change(changed, launched, layout);
    } catch (const InputError& error) {
      changed.refusal = fmt::format("the changed launch is not read: {}", error.what());
    }
  }
  if (!changed.refusal.empty()) {
    changed.changes = interop::launch_changes(settings_of(launched, launched.layout, false),
                                              settings_of(launched, layout, false));
  }
  return changed;
}

std::vector<std::string> write_launch(const LaunchedRun& run, const interop::LaunchFiles& files,
                                      const std::string& out) {
  std::vector<std::string> written{out};
  std::string text = files.text;
  const fs::path to = fs::absolute(out).parent_path();
  for (const auto& [name, content] : files.named) {
    const bool changes = content != run.files.named.at(name);
    const std::string other = changes ? name_beside(name, out) : name;
    const fs::path path = to / other;
    if (!changes && fs::exists(path)) continue;
    if (changes) text = with_name(text, name, other);
    std::error_code none;  // writing says what is wrong
    fs::create_directories(path.parent_path(), none);
    write_file_atomically(path.string(), content);
    written.push_back(path.string());
  }
  write_file_atomically(out, text);
  return written;
}

}  // namespace meshwright::app
