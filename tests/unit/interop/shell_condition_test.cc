// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/interop/shell_last_command.h"

namespace meshwright::interop {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Value of `A` after the text, if it was 1 before; "$A": unknown.
std::string a_behind(const std::string& text) {
  return last_command("A=1\n" + text + "\n: $A").substr(2);
}

TEST(ShellCondition, AKnownTestDecidesItsBranches) {
  EXPECT_EQ(a_behind("X=8B\nif [ $X = 8B ]; then A=2; elif [ $X = 9B ]; then A=3; else A=4; fi"),
            "2");
  EXPECT_EQ(a_behind("X=9B\nif [ $X = 8B ]; then A=2\nelif [ $X = 9B ]; then A=3; else A=4; fi"),
            "3");
  EXPECT_EQ(a_behind("X=7B\nif [ $X = 8B ]; then A=2\nelif [ $X = 9B ]\nthen A=3; else A=4; fi"),
            "4");
  EXPECT_EQ(a_behind("X=7B\nif test $X = 8B; then A=2; fi"), "1");
}

TEST(ShellCondition, BehindAnUndecidedBranchNothingIsSure) {
  EXPECT_EQ(a_behind("if [ $X = 1 ]; then A=2; else A=3; fi"), "$A");
  EXPECT_EQ(a_behind("if [ $X = 1 ]; then :; elif true; then A=3; else A=4; fi"), "$A");
  EXPECT_EQ(a_behind("if [ $X = 1 ]; then :; elif true; then :; else A=4; fi"), "1");  // dead
  EXPECT_EQ(a_behind("if false; then A=2; fi"), "1");
  EXPECT_EQ(a_behind("if [ $X = 1 ]; then if true; then A=2; fi; fi"), "$A");
  EXPECT_EQ(a_behind("if false; then if [ $X = 1 ]; then A=2; fi; else A=5; fi"), "5");
}

TEST(ShellCondition, TestsCompareTextsAndNumbers) {
  const auto holds = [](const std::string& test) {
    const std::string a = a_behind("N=8\nS=abc\nE=\nif " + test + "; then A=yes; else A=no; fi");
    return a == "$A" ? "unknown" : a;
  };
  EXPECT_EQ(holds("[ $N -eq 8 ]"), "yes");
  EXPECT_EQ(holds("[ $N -ne 8 ]"), "no");
  EXPECT_EQ(holds("[ $N -lt 10 ]"), "yes");
  EXPECT_EQ(holds("[ $N -le 7 ]"), "no");
  EXPECT_EQ(holds("[ $N -gt -1 -a $N -ge 8 ]"), "yes");
  EXPECT_EQ(holds("[ $N = 9 -o $S != abd ]"), "yes");
  EXPECT_EQ(holds("[ -n \"$S\" ]"), "yes");
  EXPECT_EQ(holds("[ -z \"$S\" ]"), "no");
  EXPECT_EQ(holds("[ ! -z \"$E\" ]"), "no");
  EXPECT_EQ(holds("[ \"$S\" ]"), "yes");
  EXPECT_EQ(holds("! [ \"$E\" ]"), "yes");
  EXPECT_EQ(holds("[ -f $S ]"), "unknown");
  EXPECT_EQ(holds("[ $N -eq ten ]"), "unknown");
  EXPECT_EQ(holds("grep -q x file"), "unknown");
  EXPECT_EQ(holds("[ 1 = 2 ] && grep -q x file"), "no");
  EXPECT_EQ(holds("grep -q x file && true"), "unknown");
  EXPECT_EQ(holds("[ \"$UNSET\" = 1 -a 1 = 2 ]"), "no");
}

TEST(ShellCondition, DoubleBracketsHavePatternsAndConnectives) {
  const auto holds = [](const std::string& test) {
    const std::string a =
        a_behind("N=8\nS=llama-8b\nE=\nif [[ " + test + " ]]; then A=yes; else A=no; fi");
    return a == "$A" ? "unknown" : a;
  };
  EXPECT_EQ(holds("$S == llama*"), "yes");
  EXPECT_EQ(holds("$S == \"llama*\""), "no");
  EXPECT_EQ(holds("$S != *-?b"), "no");
  EXPECT_EQ(holds("$S = *8b && $N -gt 4"), "yes");
  EXPECT_EQ(holds("( $N == 7 || $N == 8 ) && ! -n $E"), "yes");
  EXPECT_EQ(holds("$N -eq 4+4"), "yes");
  EXPECT_EQ(holds("a < b"), "yes");
  EXPECT_EQ(holds("a > b"), "no");
  EXPECT_EQ(holds("-v N"), "yes");
  EXPECT_EQ(holds("-v UNSET"), "unknown");
  EXPECT_EQ(holds("-z $UNSET || $N == 8"), "yes");
  EXPECT_EQ(holds("$S =~ ^(llama|gpt) && $N == 7"), "no");
  EXPECT_EQ(holds("$S =~ ^(llama|gpt)"), "unknown");
  EXPECT_EQ(holds("$N == 8 &&\n  $S == llama-8b"), "yes");
  EXPECT_EQ(holds("-e /tmp"), "unknown");
  EXPECT_EQ(holds("$S == [a-z]*"), "unknown");
}

TEST(ShellCondition, ArithmeticIsATest) {
  EXPECT_EQ(a_behind("N=8\nif (( N > 4 && N % 2 == 0 )); then A=2; fi"), "2");
  EXPECT_EQ(a_behind("N=8\nif (($N >= 9)); then A=2; fi"), "1");
  EXPECT_EQ(a_behind("if (( M > 1 )); then A=2; fi"), "$A");
  EXPECT_EQ(a_behind("((A++))"), "$A");
  EXPECT_EQ(a_behind("for ((i=0; i<4; i++)); do :; done"), "1");
}

TEST(ShellCondition, CaseTakesTheFirstPatternThatMatches) {
  const std::string cases =
      " in\n  7B|8B) A=2 ;;\n  # big\n  (7*) A=3;;\n  \"x y\")\n    A=4\n    ;;\n  *) A=5\nesac";
  EXPECT_EQ(a_behind("X=8B\ncase $X" + cases), "2");
  EXPECT_EQ(a_behind("X=70B\ncase \"$X\"" + cases), "3");
  EXPECT_EQ(a_behind("X='x y'\ncase \"${X}\"" + cases), "4");
  EXPECT_EQ(a_behind("X=z\ncase $X" + cases), "5");
  EXPECT_EQ(a_behind("case $UNSET" + cases), "$A");
  EXPECT_EQ(a_behind("case 1 in 1) if true; then A=2; fi;; *) A=3; esac; A+=0"), "20");
  EXPECT_EQ(a_behind("case 1 in 1) A=2;& 2) A=3;; esac"), "$A");
}

TEST(ShellCondition, AndOrFollowTheResultBefore) {
  EXPECT_EQ(a_behind("[ 1 = 1 ] && A=2"), "2");
  EXPECT_EQ(a_behind("[ 1 = 2 ] && A=2"), "1");
  EXPECT_EQ(a_behind("[ 1 = 2 ] || A=2"), "2");
  EXPECT_EQ(a_behind("[ 1 = 1 ] && A=2 || A=3"), "$A");  // an assignment counts as a command
  EXPECT_EQ(a_behind("[[ 1 == 2 ]] && A=2 || A=3"), "3");
  EXPECT_EQ(a_behind("[ $X = 1 ] && A=2"), "$A");
  EXPECT_EQ(a_behind("cd x && A=2"), "2");
  EXPECT_EQ(a_behind("cd x || A=2"), "$A");
  EXPECT_EQ(a_behind("cd x ||\n A=2"), "$A");
  EXPECT_EQ(a_behind("false && { A=2; B=3; }\n"), "1");
  EXPECT_EQ(a_behind("true && { A=2; B=3; }\n"), "2");
  EXPECT_EQ(a_behind("[ 1 = 2 ] && echo x\nA=2"), "2");
}

// A for loop over known words is read once for each, if its body starts nothing.
TEST(ShellCondition, GroupsAndKnownLoopsAreLiveAndFunctionsAndOtherLoopsAreNot) {
  EXPECT_EQ(a_behind("{ A=2; }"), "2");
  EXPECT_EQ(a_behind("( A=2 )"), "2");
  EXPECT_EQ(a_behind("f() { A=2; }"), "$A");
  EXPECT_EQ(a_behind("f ()\n{\n  if true; then A=2; fi\n}"), "$A");
  EXPECT_EQ(a_behind("for x in 1 2; do A=2; done"), "2");
  EXPECT_EQ(a_behind("for x in 3 4; do\n  for y in a b; do A=\"$A$x$y\"; done\ndone"), "13a3b4a4b");
  EXPECT_EQ(a_behind("for x in 3 4; do [ $x = 4 ] && A=$x; done"), "4");
  EXPECT_EQ(a_behind("for x in $LIST; do A=2; done"), "$A");
  EXPECT_EQ(a_behind("for x in 1 2; do A=2; torchrun t.py $x; done"), "$A");
  EXPECT_EQ(a_behind("for x in 1 2; do A=$x; break; done"), "$A");
  EXPECT_EQ(a_behind("while true; do if false; then A=2; fi; done"), "$A");
  EXPECT_EQ(a_behind("fi; done; esac; }\nA=2"), "2");
  EXPECT_EQ(a_behind("if false; then { A=2; fi\nA=3"), "3");
}

TEST(ShellCondition, NothingComesOfDeadCode) {
  const ShellScript script = read_shell_script(
      "if false; then\n  export A=1 B=${C:-2}\n  run $D \"${E[@]}\"\n  cat <<X\n$F\nX\n  . file\n"
      "  A+=(--x)\nfi\nrun",
      "train.sh");
  EXPECT_EQ(last_command(script), "run");
  EXPECT_THAT(script.exported, IsEmpty());
  EXPECT_THAT(script.taken_defaults, IsEmpty());
  EXPECT_THAT(script.why_unknown, IsEmpty());
  EXPECT_THAT(script.here_documents, IsEmpty());
  EXPECT_THAT(script.not_sourced, IsEmpty());
  EXPECT_THAT(script.left_out, IsEmpty());
  EXPECT_EQ(script.commands.size(), 2U);  // false, run
}

TEST(ShellCondition, AnUndecidedConditionNamesWhatIsInTheWay) {
  const auto why = [](const std::string& text) {
    return read_shell_script("A=1\n" + text, "train.sh").why_unknown.at("A");
  };
  EXPECT_EQ(why("SIZE=$2\nif [ $SIZE = 8B ]; then\n  A=2\nfi"),
            "it is set under a condition on SIZE, line 4 (SIZE: it is the script's argument 2, "
            "line 2)");
  EXPECT_EQ(why("case $3 in\n x) A=2;;\nesac"),
            "it is set under a condition on $3, line 3 ($3: it is the script's argument 3)");
  EXPECT_EQ(why("[ -f x ] && A=2"),
            "it is set under a condition on `[ -f x ]`, line 2 (line 2: files are not looked up)");
  EXPECT_EQ(why("if grep -q x y; then A=2; fi"),
            "it is set under a condition on `grep -q x y`, line 2 (line 2: commands are not run)");
  EXPECT_EQ(why("N=$(nproc)\nif [ $N -gt 8 ]; then A=2; fi"),
            "it is set under a condition on N, line 3 (N: commands are not run: $(nproc), line 2)");
  EXPECT_EQ(why("for i in $X; do\nA=2; done"),
            "it is set under a condition, line 3 (line 2: a loop)");
  EXPECT_EQ(why("f() {\nA=2; }"), "it is set under a condition, line 3 (line 2: the function f)");
  EXPECT_EQ(why("B=1\nif [ $1 = x ]; then B=2; fi\nif [ $B = 2 ]; then A=2; fi"),
            "it is set under a condition on B, line 4 ($1: it is the script's argument 1)");
}

std::vector<std::string> left_out(const std::string& text) {
  const ShellScript script = read_shell_script(text + "\nrun $CMD", "train.sh");
  std::vector<std::string> words{last_command(script)};
  for (const LeftOutOptions& options : script.left_out) {
    words.push_back(std::to_string(options.line) + ": " + options.words);
  }
  return words;
}

TEST(ShellCondition, WhatAVariableGainsUnderAConditionIsLeftOut) {
  const std::string begin = "CMD=\"go --x 1\"\nif [ $U ]; then\n";
  EXPECT_THAT(left_out(begin + "CMD=\"$CMD \\\n --wandb-project p\"\nfi"),
              ElementsAre("run go --x 1", "3: --wandb-project p"));
  EXPECT_THAT(left_out(begin + "CMD=\"nsys profile ${CMD} --profile\"\nfi"),
              ElementsAre("run go --x 1", "3: nsys profile --profile"));
  EXPECT_THAT(left_out(begin + "CMD+=\" more\"\nfi"), ElementsAre("run go --x 1", "3: more"));
  EXPECT_THAT(left_out("CMD=(go)\n\n[ $U ] && CMD=(\"${CMD[@]}\" --y 'a b')"),
              ElementsAre("run go", "3: --y a b"));
  EXPECT_THAT(left_out("CMD=(go)\n\n[ $U ] && CMD+=(x)"), ElementsAre("run go", "3: x"));
  EXPECT_THAT(left_out(begin + "CMD=\"$CMD\"\nfi"), ElementsAre("run go --x 1"));
  // The value itself would change.
  EXPECT_THAT(left_out(begin + "CMD=\"${CMD}0\"\nfi"), ElementsAre("run $CMD"));
  EXPECT_THAT(left_out(begin + "CMD=\"${CMD%1} 2\"\nfi"), ElementsAre("run $CMD"));
  EXPECT_THAT(left_out(begin + "CMD=\"$CMD; $CMD\"\nfi"), ElementsAre("run $CMD"));
}

// As in scripts of Apertus, a Llama of the same authors, and Pai-Megatron-Patch.
TEST(ShellCases, AnArrayInAScalarKeepsItsBlanks) {
  EXPECT_EQ(last_command("ARGS=(\n --num-layers 32\n --bf16\n)\nCMD=\"python3 go.py ${ARGS[@]}\"\n"
                         "srun bash -c \"RANK=\\$ID numactl $CMD\"\n"
                         "run $CMD"),
            "run python3 go.py --num-layers 32 --bf16");
}

TEST(ShellCases, ACommandThatIsExtendedUnderConditionsIsKept) {
  const ShellScript script = read_shell_script(
      "D=(--tp 1)\nCMD=\"go.py \\\n    ${D[@]} \\\n    --vocab-size 9\"\n"
      "if [ -n \"$WANDB_API_KEY\" ]; then\n  CMD=\"$CMD \\\n    --wandb-project p\"\nfi\n"
      "if [ \"$NSYS\" = true ]; then\n  CMD=\"nsys profile $CMD --profile\"\nfi\n"
      "srun -lu bash -c \"numactl $CMD\"\n",
      "train.sh");
  std::vector<std::string> words;
  for (const MarkedText& word : script.commands.front().words) words.push_back(word.text());
  EXPECT_THAT(words, ElementsAre("numactl", "go.py", "--tp", "1", "--vocab-size", "9"));
  ASSERT_EQ(script.left_out.size(), 2U);
  EXPECT_EQ(script.left_out[0].words, "--wandb-project p");
  EXPECT_EQ(script.left_out[0].why, "WANDB_API_KEY: the file does not set it");
  EXPECT_EQ(script.left_out[1].words, "nsys profile --profile");
}

TEST(ShellCases, ASizeIsChosenByAnArgument) {
  const std::string text =
      "ENV=$1\nMODEL_SIZE=$2\nTP=$3\nif [ $MODEL_SIZE = 8B ]; then\n  NUM_LAYERS=36\n"
      "elif [ $MODEL_SIZE = A3B ]; then\n  NUM_LAYERS=48\nfi\nrun --num-layers ${NUM_LAYERS} --tp "
      "${TP}";
  EXPECT_EQ(last_command(text, with_arguments({"dlc", "A3B", "4"})), "run --num-layers 48 --tp 4");
  ShellInputs inputs;
  inputs.variables = {{"MODEL_SIZE", "A3B"}};
  EXPECT_EQ(last_command(text, inputs), "run --num-layers 48 --tp $3");
}

}  // namespace
}  // namespace meshwright::interop
