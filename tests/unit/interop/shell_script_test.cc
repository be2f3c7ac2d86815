// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/shell/shell_arithmetic.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words_of_last(const std::string& text,
                                       const std::map<std::string, std::string>& known = {}) {
  const ShellScript script = read_shell_script(text, "train.sh", known);
  std::vector<std::string> words;
  for (const MarkedText& word : script.commands.back().words) words.push_back(word.text());
  return words;
}

std::string shell_error(const std::string& text) {
  return error_of([&] { read_shell_script(text, "train.sh"); });
}

TEST(ShellScript, ArraysVariablesAndContinuationsBecomeWords) {
  EXPECT_THAT(
      words_of_last("A=( --x 1 # one\n  --y \"two words\"\n)\nB=3\nrun \"${A[@]}\" \\\n  --z $B\n"),
      ElementsAre("run", "--x", "1", "--y", "two words", "--z", "3"));
}

TEST(ShellScript, AStringIsPartedAtItsBlanksWithoutQuotesOnly) {
  EXPECT_THAT(words_of_last("A=\" --x 1 \\\n --y 2 \"\nrun $A \"$A\""),
              ElementsAre("run", "--x", "1", "--y", "2", " --x 1  --y 2 "));
}

TEST(ShellScript, PartsOfAWordStayTogether) {
  EXPECT_THAT(words_of_last("A='b c'\nrun x${A}y z"), ElementsAre("run", "xb", "cy", "z"));
  EXPECT_THAT(words_of_last("A=(1 2)\nrun \"x${A[@]}y\""), ElementsAre("run", "x1", "2y"));
  EXPECT_THAT(words_of_last("A=\nrun $A \"$A\" end"), ElementsAre("run", "", "end"));
}

TEST(ShellScript, BashMinusCIsRead) {
  EXPECT_THAT(words_of_last("export CMD=\"go.py --x 1\"\nsrun bash -c 'torchrun $CMD'\n"
                            "true"),
              ElementsAre("true"));
  const ShellScript script =
      read_shell_script("export CMD=\"go.py --x 1\"\nsrun bash -c 'torchrun $CMD'\n", "t");
  ASSERT_EQ(script.commands.size(), 2U);
  EXPECT_EQ(script.commands[0].words.size(), 4U);  // torchrun go.py --x 1
}

TEST(ShellScript, LinesGoThroughVariables) {
  const ShellScript script = read_shell_script("A=\"\n--x\n1\"\n\nrun $A", "t");
  EXPECT_EQ(script.commands.back().words[0].line(), 5);
  EXPECT_EQ(script.commands.back().words[1].line(), 2);
}

TEST(ShellScript, WhatTheScriptDoesNotSetStaysAsTyped) {
  const ShellScript script = read_shell_script("run --x $X $(date) $1 ${Y:-4}", "t");
  const auto& words = script.commands.back().words;
  EXPECT_EQ(words[2].text(), "$X");
  EXPECT_TRUE(words[2].unknown());
  EXPECT_EQ(words[3].text(), "$(date)");
  EXPECT_TRUE(words[4].unknown());
  EXPECT_EQ(words[5].text(), "4");
  ASSERT_EQ(script.taken_defaults.size(), 1U);
  EXPECT_EQ(script.taken_defaults[0].name, "Y");
  EXPECT_EQ(script.why_unknown.at("X"), "the file does not set it");
}

// Its blanks part no words: what it prints is not known.
TEST(ShellScript, TheOutputOfACommandIsOneWord) {
  const ShellScript script =
      read_shell_script("A=$(cat f | tr a b)\nrun $A $(test 4 && echo 30) --x 1", "t");
  const auto& words = script.commands.back().words;
  ASSERT_EQ(words.size(), 5U);
  EXPECT_EQ(words[1].text(), "$(cat f | tr a b)");
  EXPECT_EQ(words[2].text(), "$(test 4 && echo 30)");
  EXPECT_EQ(words[3].text(), "--x");
}

// srun states the nodes of its step, and of a launch whose script has no header.
TEST(ShellScript, SrunStatesTheNodesOfItsScript) {
  const std::string launch =
      " --gpus-per-node=h100:8 bash -c 'run $SLURM_NNODES --a 1 --b 2 --c 3 --d 4 --e 5'\n";
  for (const char* nodes : {"-N 4", "-N4", "--nodes=4"}) {
    const ShellScript script =
        read_shell_script(std::string("srun ") + nodes + launch + "echo $SLURM_NNODES\n", "t");
    ASSERT_EQ(script.commands.size(), 3U) << nodes;
    EXPECT_EQ(script.commands[0].words[1].text(), "4") << nodes;
    EXPECT_TRUE(script.commands[2].words[1].unknown()) << nodes;
    EXPECT_EQ(script.slurm.at("--nodes"), "4") << nodes;
    EXPECT_EQ(script.slurm.at("--gpus-per-node"), "h100:8") << nodes;
  }
  const ShellScript prepared =
      read_shell_script("#SBATCH --nodes=8\nsrun -N 1 bash -c 'mkdir x'\nsrun -N 2" + launch, "t");
  EXPECT_EQ(prepared.slurm.at("--nodes"), "8");
  EXPECT_FALSE(read_shell_script("srun -N 1 bash -c 'mkdir x'\n", "t").slurm.contains("--nodes"));
}

TEST(ShellScript, AVariableUnderAConditionIsNotKnown) {
  const ShellScript script =
      read_shell_script("A=1\nif [ -n \"$B\" ]; then\n  A=2\nfi\nrun $A\n", "t");
  EXPECT_TRUE(script.commands.back().words[1].unknown());
  EXPECT_THAT(script.why_unknown.at("A"),
              HasSubstr("under a condition on B, line 3 (B: the file does not set it)"));
}

TEST(ShellScript, DescriptorsAreNoWords) {
  EXPECT_THAT(words_of_last("run --x 8 2>&1 > log", {}), ElementsAre("run", "--x", "8"));
  EXPECT_THAT(words_of_last("C=\"run --x 8\"\neval $C 2>err", {}), ElementsAre("run", "--x", "8"));
  EXPECT_THAT(words_of_last("run --x 8 >log", {}), ElementsAre("run", "--x", "8"));
}

// Earlier options are kept. A number to which something is added stays unknown.
TEST(ShellScript, OptionsAddedUnderAConditionAreLeftOut) {
  const ShellScript script = read_shell_script(
      "A=(--x 1)\nN=1\nif [ -n \"$B\" ]; then\n  A+=(--y 2)\n  N+=1\nfi\nA+=(--z)\nrun ${A[@]} "
      "$N\n",
      "t");
  std::vector<std::string> words;
  for (const MarkedText& word : script.commands.back().words) words.push_back(word.text());
  EXPECT_THAT(words, ElementsAre("run", "--x", "1", "--z", "$N"));
  ASSERT_EQ(script.left_out.size(), 1U);
  EXPECT_EQ(script.left_out[0].words, "--y 2");
  EXPECT_EQ(script.left_out[0].line, 4);
}

TEST(ShellScript, NamedVariablesOverrule) {
  EXPECT_THAT(words_of_last("A=1\nrun $A $B", {{"A", "7"}, {"B", "8"}}),
              ElementsAre("run", "7", "8"));
}

TEST(ShellScript, SlurmsHeaderSetsTheNodes) {
  const ShellScript script = read_shell_script(
      "#!/bin/bash\n#SBATCH --nodes=48\n#SBATCH --gres=gpu:8\nrun $SLURM_NNODES", "t");
  EXPECT_EQ(script.commands.back().words[1].text(), "48");
  EXPECT_EQ(script.slurm.at("--gres"), "gpu:8");
}

TEST(ShellScript, HereDocumentsAreKeptAndNotRun) {
  const ShellScript script = read_shell_script("A=2\ncat <<EOT > $F\n{\"x\": $A}\nEOT\nrun", "t");
  ASSERT_EQ(script.here_documents.size(), 1U);
  EXPECT_EQ(script.here_documents[0].text.text(), "{\"x\": 2}\n");
  EXPECT_EQ(script.commands.back().words.front().text(), "run");
}

TEST(ShellScript, ByteOrderMarksAndCarriageReturnsAreNothing) {
  EXPECT_THAT(words_of_last("\xEF\xBB\xBF"
                            "A=1\r\nrun $A \\\r\n --x\r\n"),
              ElementsAre("run", "1", "--x"));
}

TEST(ShellScript, WhatIsNotClosedIsNamedByItsLine) {
  EXPECT_THAT(shell_error("a\nA=(1\n"), HasSubstr("train.sh:2: the array"));
  EXPECT_THAT(shell_error("run \"x"), HasSubstr("train.sh:1: the quote"));
  EXPECT_THAT(shell_error("cat <<E\nx"), HasSubstr("here-document"));
  EXPECT_THAT(shell_error("run ${A"), HasSubstr("never closed"));
}

TEST(ShellScript, DoublingVariablesEndAtALimit) {
  std::string text = "A=0123456789\n";
  for (int i = 0; i < 40; ++i) text += "A=$A$A\n";
  EXPECT_THAT(shell_error(text), HasSubstr("4 MiB"));
}

TEST(ShellArithmetic, IsThatOfWholeNumbers) {
  const auto none = [](const std::string&) { return std::string(); };
  const auto six = [](const std::string& name) { return std::string(name == "N" ? "6" : ""); };
  EXPECT_EQ(shell_arithmetic("2+3*4", none), 14);
  EXPECT_EQ(shell_arithmetic("($N * 8) / 5 % 4", six), 1);  // 48 / 5 = 9, 9 % 4 = 1
  EXPECT_EQ(shell_arithmetic("N-10", six), -4);
  EXPECT_FALSE(shell_arithmetic("1/0", none));
  EXPECT_FALSE(shell_arithmetic("M", none));
  EXPECT_FALSE(shell_arithmetic("2**3", none));
}

TEST(ShellScript, UnsetAndReadMakeVariablesUnknown) {
  const ShellScript script = read_shell_script(
      "export NCCL_ALGO=Ring\nunset NCCL_ALGO\nread -r -d '' A <<'X'\n--x 1\nX\nrun $A\n", "t");
  EXPECT_FALSE(script.exported.contains("NCCL_ALGO"));
  EXPECT_EQ(script.why_unknown.at("A"), "it is read from an input, line 3");
}

}  // namespace
}  // namespace meshwright::interop
