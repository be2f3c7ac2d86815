// SPDX-License-Identifier: Apache-2.0
// meshwright serve read: the words of a launch file, without a verdict.
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/serving/serve_commands.h"
#include "app/commands/serving/service_review_text.h"
#include "app/console/exit_code.h"
#include "app/options/command.h"
#include "app/runs/launched_service.h"

namespace meshwright::app {
namespace {

using reports::ServingReviewFile;

struct ServeReadOptions {
  std::string from, arguments;
  std::vector<std::string> variables;
  OutputOptions output;
};

int run_serve_read(const ServeReadOptions& o, const Call& call) {
  std::vector<ServingReviewFile> files;
  reports::Origin origin = call.origin();
  bool understood = true;
  for (const interop::ServingLaunch& launch :
       read_services(o.from, o.variables, o.arguments, origin)) {
    ServingReviewFile& file = files.emplace_back();
    file.origin = origin;
    file.verdict = "not_judged";
    file.reason = why_no_start(launch, "");
    add_launch(file, launch);
    understood = understood && launch.not_understood.empty() && file.reason.empty();
  }
  write_service_reviews(files, o.output);
  return understood ? kDone : kGateFailed;
}

}  // namespace

void add_serve_read(Commands& commands, Command& serve) {
  auto options = std::make_shared<ServeReadOptions>();
  Command& command = commands.add_below(
      serve, "read", "What a launch command or manifest of an inference engine says, word by word");
  command.reads("launch", options->from, "Script, command or Kubernetes manifest")->required();
  command.options().add_option("--set", options->variables,
                               "Variable of the script that is set elsewhere: NAME=VALUE. May be "
                               "repeated");
  command.options().add_option("--args", options->arguments, "Arguments of the script");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_serve_read(*options, call); });
}

}  // namespace meshwright::app
