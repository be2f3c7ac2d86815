// SPDX-License-Identifier: Apache-2.0
// Arguments, sourced files, expansions, patterns and arithmetic of scripts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/shell/shell_arithmetic.h"
#include "interop/shell/shell_glob.h"
#include "tests/unit/error_of.h"
#include "tests/unit/interop/shell_last_command.h"

namespace meshwright::interop {
namespace {

using testing::HasSubstr;

TEST(ShellArguments, AreReadWhenTheyAreGiven) {
  EXPECT_EQ(
      last_command("A=$2\nrun $1 $A ${3} ${4:-d} \"$@\" $#", with_arguments({"a", "b c", "3"})),
      "run a b c 3 d a b c 3 3");
  EXPECT_EQ(
      last_command("run ${10}", with_arguments({"1", "2", "3", "4", "5", "6", "7", "8", "9", "x"})),
      "run x");
  EXPECT_EQ(last_command("X=$1; shift\nrun $X $1 $*", with_arguments({"a", "b", "c"})),
            "run a b b c");
  EXPECT_EQ(last_command("shift 2\nrun $1", with_arguments({"a", "b", "c"})), "run c");
  EXPECT_EQ(last_command("if [ $# -lt 2 ]; then A=1; else A=2; fi; run $A", with_arguments({"a"})),
            "run 1");
  ShellInputs inputs;
  inputs.variables = {{"1", "dlc"}, {"2", "A3B"}};
  EXPECT_EQ(last_command("run $1 ${2} $3; run $1 $2", inputs), "run dlc A3B");
  EXPECT_EQ(last_command("set -- a b; run $2"), "run b");
}

TEST(ShellArguments, AreUnknownOtherwise) {
  const ShellScript script = read_shell_script("TP=$6\nshift\nrun $TP $1 \"$@\"", "train.sh");
  EXPECT_EQ(last_command(script), "run $6 $2 $@");
  EXPECT_EQ(script.why_unknown.at("6"), "it is the script's argument 6: --args gives them");
  EXPECT_EQ(script.why_unknown.at("2"), "it is the script's argument 2: --args gives them");
  EXPECT_EQ(script.why_unknown.at("TP"),
            "it is the script's argument 6, line 1: --args gives them");
  const ShellScript shifted = read_shell_script(
      "while [ $# -gt 0 ]; do\n  case $1 in --tp) TP=$2; shift 2;; *) shift;; esac\ndone\nrun $TP "
      "$1",
      "train.sh", with_arguments({"--pp", "2", "--tp", "4"}));
  EXPECT_EQ(last_command(shifted), "run $TP $1");
  EXPECT_EQ(last_command("f() { run $1; }", with_arguments({"a"})), "run $1");
}

ShellInputs with_files(std::map<std::string, std::string> files) {
  ShellInputs inputs;
  inputs.read = [files = std::move(files)](const std::string& name) -> std::optional<std::string> {
    const auto found = files.find(name);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
  return inputs;
}

TEST(ShellSource, AFileIsAPartOfTheScript) {
  const std::map<std::string, std::string> files{{"models/x.sh", "N=4\nA=(--layers $N)\nfoo\n"}};
  for (const std::string name :
       {"models/x.sh", "\"${SCRIPT_DIR}/models/x.sh\"", "$(dirname \"$0\")/models/x.sh",
        "$( cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd )/models/x.sh"}) {
    const ShellScript script =
        read_shell_script("\nsource " + name + "\nrun ${A[@]}", "train.sh", with_files(files));
    EXPECT_EQ(last_command(script), "run --layers 4") << name;
    EXPECT_EQ(script.commands.back().words[1].line(), 2);
  }
  const std::map<std::string, std::string> beside{{"x.sh", "N=4\n"}};
  EXPECT_EQ(last_command(". $HERE/models/x.sh\nrun $N", with_files(beside)), "run 4");
  EXPECT_EQ(last_command("N=1\nif [ $U ]; then . x.sh; fi\nrun $N", with_files(beside)), "run $N");
}

TEST(ShellSource, AFileThatIsNotThereIsNamed) {
  const ShellScript script =
      read_shell_script("\n. ~/env.sh\nsource models/${SIZE}.sh\nrun", "train.sh", with_files({}));
  ASSERT_EQ(script.not_sourced.size(), 2U);
  EXPECT_EQ(script.not_sourced[0].name, "~/env.sh");
  EXPECT_EQ(script.not_sourced[0].line, 2);
  EXPECT_EQ(script.not_sourced[1].name, "models/${SIZE}.sh");
}

TEST(ShellSource, AFileThatSourcesItselfIsReadOnce) {
  EXPECT_EQ(last_command(". x.sh\nrun $A", with_files({{"x.sh", ". x.sh\n. x.sh\nA=1\n"}})),
            "run 1");
  std::map<std::string, std::string> files;
  for (char c = 'a'; c < 'z'; ++c) {
    files[std::string(1, c)] = fmt::format(". {0}\n. {0}\n", static_cast<char>(c + 1));
  }
  EXPECT_THAT(error_of([&] { read_shell_script(". a\n", "t", with_files(files)); }),
              HasSubstr("nested more than 20 deep"));
}

TEST(ShellExpansion, OperatorsInBraces) {
  const std::string begin = "X=a/b/c.d.e\nE=\nA=(x yy z)\nrun ";
  const auto value = [&](const std::string& typed) {
    return last_command(begin + typed).substr(4);
  };
  EXPECT_EQ(value("${X:+--on $X} ${E:+no} ${E+yes}"), "--on a/b/c.d.e yes");
  EXPECT_EQ(value("${X:?no} ${UNSET:?no}"), "a/b/c.d.e ${UNSET}");
  EXPECT_EQ(value("${A[0]} ${A[1]} ${A[$E]}"), "x yy ${A[$E]}");
  EXPECT_EQ(value("${#A[@]} ${#X} ${#A} ${#UNSET}"), "3 9 1 ${#UNSET}");
  EXPECT_EQ(value("${X%.*} ${X%%.*} ${X#*/} ${X##*/}"), "a/b/c.d a/b/c b/c.d.e c.d.e");
  EXPECT_EQ(value("${X%?} ${X%z} ${X#[a]}"), "a/b/c.d. a/b/c.d.e ${X#[a]}");
  EXPECT_EQ(value("${X/./_} ${X//./_} ${X//\\//} ${X/*/b}"),
            "a/b/c_d.e a/b/c_d_e abc.d.e ${X/*/b}");
  EXPECT_EQ(value("${X^^} ${X,,} ${X:0:2}"), "A/B/C.D.E a/b/c.d.e ${X:0:2}");
  EXPECT_EQ(value("${UNSET:+x} $((${#A[@]} * 2))"), "${UNSET:+x} 6");
  EXPECT_EQ(value("${Q:-\"8 9\"}"), "8 9");
}

TEST(ShellGlob, MatchesInTimeThatGrowsSlowly) {
  EXPECT_TRUE(ShellGlob("a*b?d*").matches("axxbcbcd"));
  EXPECT_TRUE(ShellGlob("\\*").matches("*"));
  EXPECT_FALSE(ShellGlob("\\*").matches("x"));
  EXPECT_TRUE(ShellGlob("***").matches(""));
  EXPECT_FALSE(ShellGlob("?").matches(""));
  EXPECT_FALSE(ShellGlob("*a*a*a*a*a*a*a*b").matches(std::string(20'000, 'a')));
}

TEST(ShellArithmetic, ComparesAndConnects) {
  const auto none = [](const std::string&) { return std::string(); };
  EXPECT_EQ(shell_arithmetic("3 > 2 && 1 + 1 == 2", none), 1);
  EXPECT_EQ(shell_arithmetic("!(3 <= 2) || N", none), 1);
  EXPECT_EQ(shell_arithmetic("N && 0", none), 0);
  EXPECT_FALSE(shell_arithmetic("N || 0", none));
  EXPECT_FALSE(shell_arithmetic("$1 * 2", none));
  EXPECT_FALSE(shell_arithmetic("N && (", none));
}

}  // namespace
}  // namespace meshwright::interop
