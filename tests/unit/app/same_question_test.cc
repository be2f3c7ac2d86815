// SPDX-License-Identifier: Apache-2.0
// The same question has the same answer, whichever command or spelling asks it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "app/console/call.h"
#include "app/files/checkpoint_names.h"
#include "app/files/config_synonym.h"
#include "app/files/files.h"
#include "calibrate/profile/profile_json.h"
#include "sim/base/text.h"
#include "sim/json/records.h"
#include "sim/layout/short_name.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

Json answer(const Words& words) {
  const ProgramResult result = run_program(with(words, {"--format", "json"}));
  EXPECT_EQ(result.exit_code, 0) << testing::PrintToString(words) << result.err;
  return result.exit_code == 0 ? Json::parse(result.out) : Json();
}

// Low end, middle and high end of a step.
std::vector<double> step_of(const Json& estimate) {
  return {estimate["step_time_low_seconds"].get<double>(),
          estimate["step_time_seconds"].get<double>(),
          estimate["step_time_high_seconds"].get<double>()};
}

std::vector<double> row_step(const Json& capacity) {
  const Json& step = capacity["capacity"]["rows"][0]["step_s"];
  return {step["low"].get<double>(), step["mid"].get<double>(), step["high"].get<double>()};
}

TEST(SameQuestion, PlanCapacityAndEstimateGiveOneStepWithOneRange) {
  const Words cluster{"--model", "llama-3-70b", "--cluster", "h100-512", "--gpus", "64"};
  for (const char* framework : {"", "megatron-core-2026", "torchtitan-2025", "none"}) {
    Words question = cluster;
    if (*framework != '\0') question = with(question, {"--framework", framework});
    const Json plan = answer(with(with({"plan", "--ranking-only"}, question), {}));
    const Json& winner = plan["ranked"][0];
    const Json capacity = answer(with({"capacity", "--rows-only"}, question));
    EXPECT_EQ(row_step(capacity), step_of(winner)) << framework;
    const Json estimate =
        answer(with(with({"estimate"}, question),
                    {"--layout", short_name(layout_from_json(winner["layout"], "plan"))}));
    EXPECT_EQ(step_of(estimate["estimate"]), step_of(winner)) << framework;
  }
}

TEST(SameQuestion, AStatedFrameworkNarrowsTheRangeOfAJob) {
  const auto width = [](const Words& more) {
    const std::vector<double> step = row_step(
        answer(with(split_words("capacity --job llama-3-405b --gpus 16384 --global-batch-size 2048 "
                                "--rows-only"),
                    more)));
    return step[2] / step[0];
  };
  EXPECT_LT(width({"--framework", "megatron-core-2026"}), 0.8 * width({}));
}

TEST(SameQuestion, WhatAProfileDoesNotMeasureIsSaidByEveryCommand) {
  const TemporaryFolder folder;
  calibrate::Profile measured;
  measured.cluster = app::load_cluster("h100-8");
  measured.cluster.name = "node1";
  measured.not_measured = {"all-to-all"};
  measured.machine = {
      .host = "node1", .cpu = "EPYC", .cores = 8, .memory = gibibytes(8), .kernel = "k"};
  const std::string profile = folder.write("profile.json", calibrate::to_json(measured).dump());
  const Words question{"--model", "llama-3-8b", "--cluster", profile};
  const Json plan = answer(with({"plan", "--ranking-only"}, question));
  const Json capacity = answer(with({"capacity", "--rows-only"}, question));
  const Json estimate = answer(with(with({"estimate"}, question), {"--layout", "tp=8,sp,zero=1"}));
  const std::string note = "Not measured on node1, modelled instead: all-to-all";
  for (const Json& document : {plan, capacity, estimate}) {
    EXPECT_THAT(document["notes"].dump(), HasSubstr(note));
  }
}

TEST(SameQuestion, APrintedLayoutIsReadAsItsRow) {
  const std::vector<Words> questions{
      {"--model", "llama-3-8b", "--cluster", "h100-8"},
      {"--model", "llama-3-8b", "--cluster", "h100-8", "--no-overlap-grad-reduce"},
      {"--model", "llama-3-8b", "--cluster", "h100-8", "--overlap-param-gather", "false"},
      {"--model", "llama-3-70b", "--cluster", "h100-512", "--gpus", "128", "--overlap-p2p",
       "false"},
      {"--model", "llama-3-8b", "--cluster", "h100-8", "--framework", "torchtitan-2025"},
      {"--model", "llama-3-8b", "--cluster", "h100-8", "--framework", "gpt-neox-2022"},
      {"--model", "llama-3-8b", "--cluster", "h100-8", "--framework", "megatron-lm-2021"},
      {"--model", "mixtral-8x7b", "--cluster", "h100-512", "--gpus", "64", "--moe-dispatcher",
       "alltoall"}};
  const auto is_of_the_space = [](const std::string& word) {
    return word.starts_with("--no-") || word.starts_with("--overlap") || word.starts_with("--moe");
  };
  for (const Words& question : questions) {
    const Json plan =
        answer(with(with({"plan", "--ranking-only", "--top", "4"}, question), {"--zero", "0,1,3"}));
    Words asked;
    for (std::size_t i = 0; i < question.size(); ++i) {
      if (is_of_the_space(question[i])) break;
      asked.push_back(question[i]);
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(6, plan["ranked"].size()); ++i) {
      const Json& row = plan["ranked"][i];
      const Layout layout = layout_from_json(row["layout"], "plan");
      const TemporaryFolder folder;
      for (const std::string& text :
           {short_name(layout), folder.write("layout.json", row["layout"].dump())}) {
        const Json estimate = answer(with(with({"estimate"}, asked), {"--layout", text}));
        EXPECT_EQ(step_of(estimate["estimate"]), step_of(row))
            << text << testing::PrintToString(question);
      }
    }
  }
}

TEST(SameQuestion, ASwitchThatIsOnAlreadyChangesNothing) {
  const Words question{"estimate",
                       "--model",
                       "llama-3-70b",
                       "--cluster",
                       "h100-512",
                       "--layout",
                       "tp=8,pp=4,vpp=5,dp=2,sp,zero=1"};
  const double today = answer(question)["estimate"]["step_time_seconds"].get<double>();
  for (const char* word : {"overlap_grad_reduce", "overlap_param_gather", "overlap_p2p_comm"}) {
    Words more = question;
    more.back() += std::string(",") + word;
    EXPECT_EQ(answer(more)["estimate"]["step_time_seconds"].get<double>(), today) << word;
    more.back() += "=false";
    EXPECT_GT(answer(more)["estimate"]["step_time_seconds"].get<double>(), today) << word;
  }
}

TEST(SameQuestion, ALayoutWithoutADataSizeIsTheSameToCapacityAndEstimate) {
  const Words question{"--model", "llama-3-8b", "--cluster", "h100-8",
                       "--gpus",  "8",          "--layout",  "tp=2,sp,zero=1"};
  EXPECT_EQ(row_step(answer(with({"capacity", "--rows-only"}, question))),
            step_of(answer(with({"estimate"}, question))["estimate"]));
}

// The words of the last "next: meshwright ..." line; empty: none.
Words next_of(const ProgramResult& result) {
  std::string last;
  for (const std::string& line : split_lines(result.err + "\n" + result.out)) {
    if (line.starts_with("next: ")) last = line.substr(6);
  }
  return last.empty() ? Words{} : app::Call::of_text(last).arguments;
}

TEST(NextCommand, EveryOneRunsAndAsksTheSameQuestion) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  const std::string model =
      folder.write("my model's.json", content_of(config("models/llama-3-8b.json")));
  const std::string plan_file = folder.path("a plan.json");
  const Words job{"--seq-length", "2048",        "--global-batch-size",
                  "64",           "--framework", "megatron-core-2025"};
  const Words question = with({"--model", model, "--cluster", "h100-512", "--gpus", "16"}, job);
  const Words layout{"--layout", "tp=2 pp=2 sp"};
  const std::vector<Words> commands{
      with({"plan", "--ranking-only"}, question),
      with({"plan", "--ranking-only", "--out", plan_file}, question),
      with(with({"estimate"}, question), layout),
      with(with({"volume"}, question), layout),
      {"volume", "--model", model, "--layout", "tp=2,dp=2"},
      with({"capacity", "--rows-only"}, question),
      with(with({"capacity", "--rows-only"}, question), layout),
      {"capacity", "--job", "llama-3-405b", "--rows-only", "--gpus", "16384"},
      {"model", "list"},
      {"cluster", "list"},
      {"cluster", "show", "h100-8"}};
  for (const Words& command : commands) {
    const ProgramResult first = run_program(command);
    ASSERT_EQ(first.exit_code, 0) << first.err;
    const Words next = next_of(first);
    ASSERT_FALSE(next.empty()) << testing::PrintToString(command);
    const ProgramResult second = run_program(next);
    EXPECT_EQ(second.exit_code, 0) << testing::PrintToString(next) << second.err;
  }
  std::filesystem::current_path(before);
  // The numbers that both commands show.
  const Words estimate = with(with({"estimate"}, question), layout);
  const Json mine = answer(estimate);
  const Json volume = answer(next_of(run_program(estimate)));
  EXPECT_EQ(mine["estimate"]["layout"], volume["layout"]);
  EXPECT_EQ(mine["job"], volume["job"]);
  const Words back = next_of(run_program(with(with({"volume"}, question), layout)));
  EXPECT_EQ(answer(back)["estimate"]["step_time_seconds"], mine["estimate"]["step_time_seconds"]);
  const Words rows = with({"capacity", "--rows-only"}, question);
  const Words plan = with(next_of(run_program(rows)), {"--ranking-only"});
  EXPECT_EQ(step_of(answer(plan)["ranked"][0]), row_step(answer(rows)));
}

TEST(NextCommand, WordsAreQuotedForAShell) {
  const app::Call call{{"plan", "--model", "it's a model.json", "--pipeline-layout", "Et|tL", ""}};
  EXPECT_EQ(call.text(),
            "meshwright plan --model 'it'\\''s a model.json' --pipeline-layout 'Et|tL' ''");
  EXPECT_EQ(app::Call::of_text(call.text()).arguments, call.arguments);
}

TEST(NoLayout, TheCauseIsNamedWithTheNearestSizesThatWork) {
  const Words question{"plan",     "--model", "llama-3-8b", "--cluster",
                       "h100-512", "--gpus",  "100000",     "--ranking-only"};
  const ProgramResult none = run_program(question);
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("(batch_divides_by_micro_batch_times_data)"));
  EXPECT_THAT(none.err, Not(HasSubstr("fits")));
  const std::string text = std::regex_replace(none.err, std::regex(R"(\s+)"), " ");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      text, found, std::regex(R"(Nearest valid global batches: (\d+).*GPU counts for.*: *(\d+))")))
      << text;
  EXPECT_EQ(run_program(with(question, {"--global-batch-size", found[1]})).exit_code, 0);
  Words fewer = question;
  fewer[6] = found[2];
  EXPECT_EQ(run_program(fewer).exit_code, 0) << fewer[6];
  EXPECT_EQ(run_program(next_of(none)).exit_code, 0);
  const ProgramResult rows =
      run_program(split_words("capacity --model llama-3-8b --cluster h100-512 --gpus 100000,512 "
                              "--rows-only --format csv"));
  EXPECT_THAT(rows.out, HasSubstr("Nearest valid global batches"));
}

TEST(NoLayout, ALimitOfZeroIsWrongAndALimitThatNothingMeetsIsNamed) {
  const Words question{"plan", "--model", "llama-3-8b", "--cluster", "h100-8", "--ranking-only"};
  for (const Words& limit : {Words{"--max-step", "0s"}, Words{"--max-memory", "0GiB"}}) {
    const ProgramResult refused = run_program(with(question, limit));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr(limit[0] + ": must be above 0"));
  }
  const ProgramResult none = run_program(with(question, {"--max-step", "1ms"}));
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("none meets the limits"));
  EXPECT_THAT(none.err, Not(HasSubstr("No layout")));
  EXPECT_EQ(run_program(next_of(none)).exit_code, 0);
}

TEST(WhatIf, ANetworkAboveTheDevicesPcieLinkNamesTheCap) {
  const auto answers = [](const char* change) {
    return run_program({"plan", "--model", "llama-3-8b", "--cluster", "h100-512", "--gpus", "16",
                        "--what-if", change})
        .out;
  };
  const std::string above =
      replaced(replaced(answers("inter_node_bandwidth=100"), "\n", " "), "  ", " ");
  EXPECT_THAT(above, HasSubstr("host_link_gb_per_s"));
  EXPECT_THAT(answers("inter_node_bandwidth=25"), Not(HasSubstr("host_link_gb_per_s")));
}

TEST(Synonyms, OptionsOfOtherProgramsAreReadAsOwnOnes) {
  const Words own{"plan",        "--ranking-only",
                  "--model",     "llama-3-70b",
                  "--cluster",   "h100-512",
                  "--gpus",      "64",
                  "--tp",        "8",
                  "--pp",        "2",
                  "--mbs",       "1",
                  "--framework", "megatron-core-2026"};
  const Words theirs{"plan",
                     "--ranking-only",
                     "--model",
                     "meta-llama/Llama-3.1-70B",
                     "--cluster",
                     "h100-512",
                     "--num-gpus",
                     "64",
                     "--tensor-parallel",
                     "8",
                     "--pipeline-model-parallel-size=2",
                     "--parallelism.micro_batch_size",
                     "1",
                     "--framework",
                     "megatron"};
  EXPECT_EQ(answer(theirs)["ranked"], answer(own)["ranked"]);
}

TEST(Synonyms, NothingAskedGetsHelp) {
  for (const Words& words : {Words{}, Words{"model"}, Words{"cluster"}, Words{"help", "plan"}}) {
    const ProgramResult result = run_program(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("--help"));
  }
  for (const char* word : {"-v", "-V", "--version", "version"}) {
    EXPECT_THAT(run_program({word}).out, HasSubstr("meshwright 0"));
  }
}

// As their config.json says: quantization_config of Qwen3-32B-FP8 has blocks of 128 x 128, NVIDIA's
// and llm-compressor's FP8 a scale a tensor or a row.
TEST(Synonyms, NamesOfCheckpointsSayTheirFormat) {
  for (const auto& [name, experts, format] :
       {std::tuple{"Qwen/Qwen3-32B-FP8", false, WeightFormat::fp8_block},
        {"Qwen/Qwen3-30B-A3B-FP8", true, WeightFormat::fp8_block},
        {"Qwen/Qwen3-32B-FP8-Static-PerTensor", false, WeightFormat::fp8},
        {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8", true, WeightFormat::fp8},
        {"RedHatAI/Qwen3-30B-A3B-FP8-dynamic", true, WeightFormat::fp8},
        {"nvidia/DeepSeek-R1-NVFP4", true, WeightFormat::nvfp4},
        {"amd/Llama-3.1-70B-Instruct-MXFP4", false, WeightFormat::mxfp4},
        {"Qwen/Qwen3-32B-AWQ", false, WeightFormat::int4},
        {"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", false, WeightFormat::int4},
        {"unsloth/gpt-oss-20b-BF16", true, WeightFormat::bf16}}) {
    EXPECT_EQ(app::format_in_name(name, experts), format) << name;
  }
  EXPECT_EQ(app::format_in_name("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", false), std::nullopt);
}

// Every shipped model that has a checkpoint on Hugging Face.
TEST(Synonyms, HuggingFaceNamesFindTheShippedModels) {
  for (const auto& [typed, means] :
       {std::pair{"meta-llama/Llama-3.1-70B", "llama-3-70b"},
        {"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"},
        {"meta-llama/Llama-3.1-405B", "llama-3-405b"},
        {"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"},
        {"meta-llama/Llama-2-13b-hf", "llama-2-13b"},
        {"meta-llama/Llama-2-70b-hf", "llama-2-70b"},
        {"meta-llama/Llama-4-Maverick-17B-128E-Instruct", "llama-4-maverick"},
        {"mistralai/Mistral-7B-v0.1", "mistral-7b"},
        {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
        {"mistralai/Mixtral-8x22B-v0.1", "mixtral-8x22b"},
        {"deepseek-ai/DeepSeek-V3-Base", "deepseek-v3"},
        {"deepseek-ai/DeepSeek-R1", "deepseek-v3"},
        {"deepseek-ai/DeepSeek-V2-Chat", "deepseek-v2"},
        {"moonshotai/Kimi-K2-Instruct", "kimi-k2"},
        {"Qwen/Qwen2.5-72B-Instruct", "qwen2.5-72b"},
        {"Qwen/Qwen2.5-7B", "qwen2.5-7b"},
        {"Qwen/Qwen3-8B", "qwen3-8b"},
        {"Qwen/Qwen3-32B", "qwen3-32b"},
        {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"},
        {"Qwen/Qwen3-235B-A22B", "qwen3-235b-a22b"},
        {"openai/gpt-oss-120b", "gpt-oss-120b"},
        {"openai-community/gpt2-xl", "gpt2-xl"},
        {"EleutherAI/gpt-neox-20b", "gpt-neox-20b"},
        {"bigscience/bloom", "bloom-176b"},
        {"tiiuae/falcon-40b", "falcon-40b"},
        {"tiiuae/falcon-180B-chat", "falcon-180b"},
        {"google/gemma-2-27b-it", "gemma-2-27b"},
        {"zai-org/GLM-4.5", "glm-4.5"},
        {"facebook/opt-66b", "opt-66b"},
        {"microsoft/Phi-3-mini-4k-instruct", "phi-3-mini"},
        {"microsoft/Phi-4-mini-instruct", "phi-4-mini"},
        {"mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b"},
        {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
        {"unsloth/mistral-7b-instruct-v0.3-bnb-4bit", "mistral-7b-v0.3"},
        {"Moonlight-16B-A3B-Instruct-mcore", "moonlight-16b-a3b"},
        {"Qwen/Qwen3-VL-30B-A3B-Instruct", "qwen3vl-30b-a3b"},
        {"moonshotai/Kimi-K2-Thinking", "kimi-k2.5"},
        {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8", "nemotron-3-super-120b-a12b"},
        {"google/gemma-3-27b-it-qat-w4a16-ct", "gemma-3-27b"},
        {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-r1-distill-qwen-1.5b"},
        {"openai-community/gpt2", "gpt2"}}) {
    EXPECT_EQ(app::config_synonym(typed, "models"), means) << typed;
  }
  EXPECT_EQ(app::config_synonym("someone/unknown-7b", "models"), "");
  EXPECT_EQ(app::config_synonym("deepseek-ai/DeepSeek-V2-Lite-Chat", "models"), "deepseek-v2-lite");
  EXPECT_EQ(app::config_synonym("./llama-3-8b", "models"), "");
  EXPECT_EQ(app::config_synonym("torchtitan", "frameworks"), "torchtitan-2025");
  EXPECT_EQ(app::config_synonym("megatron", "frameworks"), "megatron-core-2026");
  EXPECT_EQ(app::config_synonym("deepspeed", "frameworks"), "deepspeed-2025");
}

// Between nodes on EFA: alltoall unasked, and a word on what was asked for.
TEST(Dispatcher, OnEfaIsAlltoallUnlessAsked) {
  const auto estimate = [](const std::string& layout) {
    return run_program({"estimate", "--model", "qwen3-30b-a3b", "--cluster", "aws-p5", "--gpus",
                        "64", "--global-batch-size", "256", "--layout", layout});
  };
  const std::string layout = "tp=8,pp=4,dp=2,ep=16,etp=1,mbs=4,sp,zero=1";
  const ProgramResult unasked = estimate(layout);
  EXPECT_EQ(unasked.out, estimate(layout + ",dispatcher=alltoall").out);
  EXPECT_THAT(unasked.err, testing::Not(HasSubstr("unproven")));
  const ProgramResult asked = estimate(layout + ",dispatcher=flex");
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("16 expert ranks, 8 of which share fast links, which is "
                                   "unproven on AWS p5.48xlarge"));
}

}  // namespace
}  // namespace meshwright::test
