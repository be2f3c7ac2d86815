// SPDX-License-Identifier: Apache-2.0
#include "app/options/value_names.h"

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "app/options/typed_numbers.h"

namespace meshwright::app {
namespace {

struct ValueName {
  // One blank before and after each option.
  std::string_view options;
  std::string_view name;
};

// An option has the same value in every command that takes it; `import cluster` and `diff` name
// files in the same way.
constexpr ValueName kNames[] = {
    {" --out --onto --check --plot --profile --trace --launch-out --measurements-out --refit-out "
     "--fit-out --fit-on --spreads-out --from --log --map --trials --learn --compare --import "
     "plan trials dataset profiles before after table files --lengths --arrivals points ",
     "FILE"},
    {" --data --engines ", "FOLDER"},
    {" --model --cluster --framework --engine --job --prices --device cluster list ", "NAME|FILE"},
    {" --for ", "MODEL[,JOB]"},
    {" --layout --versus ", "LAYOUT"},
    {" subject ", "RULE|FILE"},
    {" name --target --objective --table --fabric ", "NAME"},
    {" --format ", "FORMAT"},
    {" --precision --weights --kv-cache ", "FORMAT"},
    {" --backend ", "BACKEND"},
    {" --expert-exchange ", "NAME"},
    {" --mode ", "MODE"},
    {" --budget ", "TIME|MONEY"},
    {" --rank-timeout --max-step --ttft --tpot --e2e ", "TIME"},
    {" --max-memory ", "BYTES"},
    {" --headroom --max-error --memory-fraction --acceptance --random-range-ratio "
     "--prefix-hit-rate ",
     "SHARE"},
    {" --max-drift --percentile ", "PERCENT"},
    {" --time-limit --restart-time --save-time ", "SECONDS"},
    {" --start ", "DATE"},
    {" --lead-time ", "DAYS"},
    {" --storage ", "GB/S"},
    {" --deadline ", "DAYS|DATE"},
    {" --price --max-cost --day-worth ", "MONEY"},
    {" --max-power ", "MEGAWATTS"},
    {" --nic-gbit ", "GBIT/S"},
    {" --failure-rate --rate ", "RATE"},
    {" --what-if ", "INPUT=CHANGE"},
    {" --fail-if ", "CONDITION"},
    {" --set ", "NAME=VALUE"},
    {" --args --mpirun-args ", "ARGUMENTS"},
    {" --log-pattern ", "PATTERN"},
    {" --leave-out ", "WHAT"},
    {" --group-by ", "GROUPING"},
    {" --group ", "AXIS=N,..."},
    {" --fit --schedule --cp-comm --recompute --recompute-modules --moe-dispatcher "
     "--moe-flex-backend --cuda-graphs --offload-modules --rank-order ",
     "NAME,..."},
    {" --sp --scatter-gather --overlap-grad-reduce --overlap-param-gather --tp-overlap "
     "--overlap-p2p --ep-overlap --optimizer-offload --count-embedding-and-loss ",
     "BOOL,..."},
    {" --pipeline-layout ", "LAYERS"},
    {" --tp --pp --vpp --cp --ep --etp --mbs --zero --zero-shard --recompute-layers "
     "--offload-layers --first-stage-layers --last-stage-layers --global-batch-size ",
     "N,..."},
};

std::string_view name_of(const std::string& option) {
  for (const ValueName& entry : kNames) {
    if (entry.options.find(" " + option + " ") != std::string_view::npos) return entry.name;
  }
  return {};
}

// A range stands behind the type: "INT:INT in [1 - 8]".
bool takes(const CLI::Option& option, const char* type) {
  return option.get_type_name().rfind(type, 0) == 0;
}

void name_value(CLI::Option& option, const std::string& command) {
  if (option.get_items_expected_max() == 0) return;
  const std::string longest =
      option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
  std::string_view name = name_of(longest);
  if (longest == "--budget") name = command == "calibrate" ? "TIME" : "MONEY";
  if (takes(option, "INT")) {
    name = option.get_items_expected_max() > 1 ? "N,..." : "N";
    take_typed_number(option, TypedNumber::count);
  } else if (takes(option, "FLOAT") && (name.empty() || longest == "--rate")) {
    take_typed_number(option, name.empty() ? TypedNumber::amount : TypedNumber::rate);
    if (name.empty()) name = "NUMBER";
  }
  if (!name.empty()) option.type_name(std::string(name));
}

}  // namespace

void name_values(CLI::App& program) {
  for (CLI::Option* option : program.get_options()) name_value(*option, program.get_name());
  for (CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    name_values(*command);
  }
}

}  // namespace meshwright::app
