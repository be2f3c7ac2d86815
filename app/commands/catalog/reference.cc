// SPDX-License-Identifier: Apache-2.0
// meshwright reference: the command line as a page, a manual page or a shell's completion, and the
// rules of a layout as a page.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "app/commands/catalog/reference_text.h"
#include "app/commands/commands.h"
#include "app/console/build.h"
#include "app/console/exit_code.h"
#include "app/files/output_file.h"
#include "app/options/command.h"

namespace meshwright::app {
namespace {

enum class ReferenceForm { markdown, man, bash, zsh, rules };

std::string text_in(ReferenceForm form, const CommandText& program) {
  switch (form) {
    case ReferenceForm::markdown:
      return reference_markdown(program);
    case ReferenceForm::man:
      return reference_man(program, kVersion);
    case ReferenceForm::bash:
      return bash_completion(program);
    case ReferenceForm::zsh:
      return zsh_completion(program);
    case ReferenceForm::rules:
      return rules_markdown();
  }
  return {};
}

}  // namespace

void add_reference(Commands& commands) {
  auto form = std::make_shared<ReferenceForm>(ReferenceForm::markdown);
  auto out = std::make_shared<std::string>("-");
  Command& command = commands.add(
      "reference", "Print the command line or the rules as a page, manual page or completion");
  const std::map<std::string, ReferenceForm> forms{{"markdown", ReferenceForm::markdown},
                                                   {"man", ReferenceForm::man},
                                                   {"bash", ReferenceForm::bash},
                                                   {"zsh", ReferenceForm::zsh},
                                                   {"rules", ReferenceForm::rules}};
  command.options()
      .add_option("--format", *form,
                  "Output format: markdown, man (manual page), bash or zsh (completions), or rules "
                  "(the rules "
                  "of a layout). Default: markdown")
      ->transform(CLI::CheckedTransformer(forms).description(""));
  command.writes("--out", *out, "File to write. Default: standard output");
  command.runs([form, out, &options = command.options()](const Call&) {
    write_file_atomically(*out, text_in(*form, command_text(*options.get_parent())));
    return kDone;
  });
}

}  // namespace meshwright::app
