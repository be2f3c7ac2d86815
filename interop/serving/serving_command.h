// SPDX-License-Identifier: Apache-2.0
// Commands of a script that start an inference engine, bare or inside docker, env or srun, and
// those that send requests to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/values.h"
#include "interop/serving/serving_launch.h"
#include "interop/shell/named_file.h"
#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// Where an engine's options begin in a command.
struct EngineCommand {
  EngineKind engine = EngineKind::vllm;
  std::size_t first = 0;      // word behind the program
  bool model_stands = false;  // the first word that is no option is the model
  std::string image;          // of a container; empty: none is named
  bool nim = false;           // its variables state its options
};
std::optional<EngineCommand> engine_command(const ShellCommand& command);

// "v0.5.9-cu129" of "lmsysorg/sglang:v0.5.9-cu129" -> "0.5.9"; empty: no number with a dot.
std::string version_in_image(const std::string& image);
// Tells whether an image is one of NVIDIA's NIMs, whose variables state what it runs.
bool is_nim(const std::string& image);
// The engine that an image contains by its name.
std::optional<EngineKind> engine_of_image(const std::string& image);
// The role of a pool that the name of an object or service states.
PoolRole role_in(const std::string& name);

struct ScriptContext {
  std::string_view text;  // of the script
  const ShellScript& script;
  const std::string& file;
  const ReadNamedFile& read;
  std::vector<Value> environment{};  // of a container: names as keys
  std::vector<Value> options{};      // that stand beside the command, and are weaker
  std::string image{};               // whose tag states the engine's version
};
// Adds the pool of one command to the launch; `base` is what a manifest says of it already.
void add_pool(const ShellCommand& command, const EngineCommand& engine, const LaunchedPool& base,
              const ScriptContext& context, ServingLaunch& launch);
// The load of vllm bench serve or sglang.bench_serving.
void read_client(const ShellCommand& command, const ScriptContext& context, ServingLaunch& launch);
// All commands of a script, and what stands around them. Returns whether one starts an engine.
bool read_engine_script(const ScriptContext& context, const LaunchedPool& base,
                        ServingLaunch& launch);

}  // namespace meshwright::interop
