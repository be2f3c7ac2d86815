// SPDX-License-Identifier: Apache-2.0
#include "app/commands/catalog/reference_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sim/base/text.h"
#include "sim/rules/rules.h"
#include "sim/serving/rules.h"

namespace meshwright::app {
namespace {

bool is_help(const CLI::Option& option) { return option.check_lname("help"); }

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (text.names.empty()) text.names.push_back(option.get_name());
  if (option.get_items_expected_max() > 0) text.value = option.get_type_name();
  text.help = option.get_description();
  text.required = option.get_required();
  return text;
}

std::vector<CommandText::Group> groups_of(const CLI::App& command) {
  std::vector<CommandText::Group> groups;
  for (const std::string& name : command.get_groups()) {
    CommandText::Group group{name, {}};
    for (const CLI::Option* option : command.get_options(
             [&](const CLI::Option* o) { return o->get_group() == name && !is_help(*o); })) {
      group.options.push_back(option_text(*option));
    }
    if (!name.empty() && !group.options.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

CommandText text_of(const CLI::App& command, const std::string& name) {
  CommandText text{name, command.get_description(), groups_of(command), {}};
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string whole = name.empty() ? below->get_name() : name + " " + below->get_name();
    text.commands.push_back(text_of(*below, whole));
  }
  return text;
}

// Commands that are asked for by themselves, first to last.
template <typename Visit>
void for_each_command(const CommandText& command, const Visit& visit) {
  if (!command.name.empty()) visit(command);
  for (const CommandText& below : command.commands) for_each_command(below, visit);
}

// Markdown reads none of it as markup.
std::string escaped(const std::string& text) {
  std::string plain = text;
  for (const char* mark : {"|", "*", "<"}) plain = replaced(plain, mark, "\\" + std::string(mark));
  return plain;
}

// roff: a backslash, a dash, and a line that begins with a point.
std::string roff(const std::string& text) {
  const std::string plain = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  return plain.starts_with('.') || plain.starts_with('\'') ? "\\&" + plain : plain;
}

std::string names_of(const OptionText& option) {
  return fmt::format("{}{}", fmt::join(option.names, ", "),
                     option.value.empty() ? "" : " " + option.value);
}

std::vector<std::string> all_options(const CommandText& command) {
  std::vector<std::string> names{"--help"};
  for (const CommandText::Group& group : command.groups) {
    for (const OptionText& option : group.options) {
      for (const std::string& name : option.names) {
        if (name.starts_with("--")) names.push_back(name);
      }
    }
  }
  return names;
}

std::vector<std::string> words_below(const CommandText& command) {
  std::vector<std::string> words;
  for (const CommandText& below : command.commands) {
    words.push_back(below.name.substr(below.name.find_last_of(' ') + 1));
  }
  return words;
}

// Shell code of both completions: options and commands of what was typed so far, and the shipped
// names of --model, --cluster, --job and --framework.
std::string shell_words(const CommandText& program) {
  std::string cases =
      fmt::format("    '') words='{} --help --version' ;;\n", fmt::join(words_below(program), " "));
  for_each_command(program, [&](const CommandText& command) {
    std::vector<std::string> words = words_below(command);
    for (const std::string& name : all_options(command)) words.push_back(name);
    cases += fmt::format("    '{}') words='{}' ;;\n", command.name, fmt::join(words, " "));
  });
  return cases;
}

constexpr std::string_view kShippedNames =
    R"sh(_meshwright_names() {
  local program configs file
  program=$(command -v meshwright) || return
  configs=${MESHWRIGHT_CONFIGS:-$(dirname "$(dirname "$(readlink -f "$program")")")/share/meshwright/configs}
  for file in "$configs/$1"/*.json; do
    [ -e "$file" ] && basename "$file" .json
  done
}
)sh";

std::string words_function(const CommandText& program) {
  return fmt::format(
      "_meshwright_words() {{\n  local words=\n  case \"$1\" in\n{}  esac\n  echo \"$words\"\n}}\n",
      shell_words(program));
}

// "import measurements"|..., as a shell's case has them.
std::string two_word_commands(const CommandText& program) {
  std::vector<std::string> names;
  for_each_command(program, [&](const CommandText& command) {
    if (command.name.find(' ') != std::string::npos) names.push_back('"' + command.name + '"');
  });
  return fmt::format("{}", fmt::join(names, "|"));
}

}  // namespace

CommandText command_text(const CLI::App& program) { return text_of(program, ""); }

std::string reference_markdown(const CommandText& program) {
  std::string page = fmt::format(
      "# Command line\n\nWritten by `meshwright reference` from the texts of `--help`.\n\n{}\n\n"
      "| command | purpose |\n|---|---|\n",
      replaced(program.help, "\n", " "));
  for_each_command(program, [&](const CommandText& command) {
    page += fmt::format("| [`{0}`](#meshwright-{1}) | {2} |\n", command.name,
                        replaced(command.name, " ", "-"), escaped(command.help));
  });
  for_each_command(program, [&](const CommandText& command) {
    page += fmt::format("\n## meshwright {}\n\n{}.\n", command.name, escaped(command.help));
    for (const CommandText::Group& group : command.groups) {
      page += fmt::format("\n| {} | |\n|---|---|\n", group.name);
      for (const OptionText& option : group.options) {
        page += fmt::format("| `{}` | {}{} |\n", replaced(names_of(option), "|", "\\|"),
                            option.required ? "Required. " : "", escaped(option.help));
      }
    }
  });
  return page;
}

std::string rules_markdown() {
  std::string page = fmt::format(
      "# Rules of a layout\n\nWritten by `meshwright reference --format rules`. A layout is valid "
      "if "
      "it meets all {} rules, which are checked in this order. `meshwright explain RULE` prints "
      "one.\n",
      all_rules().size());
  const auto add = [&](const auto& rules) {
    for (const auto& rule : rules) {
      page += fmt::format("\n## {}\n\n{}\n\n- Reason: {}\n- Remedy: {}\n", rule.name,
                          rule.requirement, rule.reason, rule.remedy);
    }
  };
  add(all_rules());
  page +=
      "\n# Rules of a service\n\nAn inference engine starts a replica that meets all of these.\n";
  add(serving_rules());
  add(serving_memory_rules());
  return page;
}

std::string reference_man(const CommandText& program, const std::string& version) {
  std::string page = fmt::format(
      ".TH MESHWRIGHT 1 \"\" \"meshwright {}\"\n.SH NAME\nmeshwright \\- planner of parallel "
      "layouts "
      "for distributed transformers\n.SH SYNOPSIS\n.B meshwright\n.I COMMAND\n[OPTIONS]\n"
      ".SH DESCRIPTION\n{}\n.SH COMMANDS\n",
      version, roff(program.help));
  for_each_command(program, [&](const CommandText& command) {
    page += fmt::format(".SS meshwright {}\n{}.\n", command.name, roff(command.help));
    for (const CommandText::Group& group : command.groups) {
      for (const OptionText& option : group.options) {
        page += fmt::format(".TP\n.B {}\n{}\n", roff(names_of(option)), roff(option.help));
      }
    }
  });
  return page +
         ".SH EXIT STATUS\n0 success, 1 no layout fits or a gate failed, 2 wrong usage or "
         "input,\n3 "
         "device, MPI or NCCL failure or a failed write, 130 or 143 interrupted.\n";
}

std::string bash_completion(const CommandText& program) {
  return fmt::format(
      R"sh(# bash completion of meshwright
{0}{1}_meshwright() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=
  [ "$COMP_CWORD" -gt 1 ] && command=${{COMP_WORDS[1]}}
  case "$command ${{COMP_WORDS[2]}}" in {2}) command="$command ${{COMP_WORDS[2]}}" ;; esac
  case "$before" in
    --model|--cluster|--job|--framework)
      COMPREPLY=($(compgen -W "$(_meshwright_names "${{before#--}}s")" -- "$current") $(compgen -f -- "$current"))
      return ;;
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$(_meshwright_words "$command")" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$(_meshwright_words "$command")" -- "$current") $(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F _meshwright meshwright
)sh",
      kShippedNames, words_function(program), two_word_commands(program));
}

std::string zsh_completion(const CommandText& program) {
  return fmt::format(
      R"sh(#compdef meshwright
{0}{1}local before=${{words[CURRENT-1]}} command=
[ "$CURRENT" -gt 2 ] && command=${{words[2]}}
case "$command ${{words[3]}}" in {2}) command="$command ${{words[3]}}" ;; esac
case "$before" in
  --model|--cluster|--job|--framework) compadd -- ${{=$(_meshwright_names "${{before#--}}s")}} ;;
  *) compadd -- ${{=$(_meshwright_words "$command")}} ;;
esac
_files
)sh",
      kShippedNames, words_function(program), two_word_commands(program));
}

}  // namespace meshwright::app
