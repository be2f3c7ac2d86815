// SPDX-License-Identifier: Apache-2.0
// What a command writes never destroys what is there: devices, links, its own inputs; and a write
// that failed is never a success.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <regex>

#include "app/console/build.h"
#include "interop/tables/csv.h"
#include "sim/base/text.h"
#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::vector<std::string> kEstimate = split_words(
    "estimate --model llama-3-8b --cluster h100-8 --layout "
    "tp=2,dp=4,sp,zero=1");

ProgramResult estimate(const std::vector<std::string>& more) {
  return run_program(with(kEstimate, more));
}

// A plan and trials of it that need no ranks.
struct Files {
  TemporaryFolder folder;
  std::string plan = folder.path("plan.json");
  std::string trials = folder.path("trials.json");

  Files() {
    const ProgramResult made = run_program(
        {"plan", "--model", "llama-3-8b", "--cluster", "h100-8", "--ranking-only", "--out", plan});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    folder.write("trials.json", R"({"observations": []})");
  }
};

TEST(Output, ADeviceStaysADevice) {
  const TemporaryFolder folder;
  const std::string null = folder.path("null");
  fs::create_symlink("/dev/null", null);  // were it replaced, only the link would be lost
  for (const std::string& device : {null, std::string("/dev/null")}) {
    EXPECT_EQ(estimate({"--out", device}).exit_code, 0);
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_TRUE(fs::is_symlink(null));
  }
  const ProgramResult full = estimate({"--out", "/dev/full"});
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_THAT(full.err, HasSubstr("/dev/full: cannot be written: No space left"));
}

TEST(Output, APipeGetsTheResult) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  auto read = std::async(std::launch::async, [&] { return content_of(pipe); });
  const ProgramResult result = estimate({"--out", pipe, "--format", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(read.get())["schema"], "meshwright.estimate/1");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(Output, ALinkStaysAndItsTargetIsReplaced) {
  const TemporaryFolder folder;
  folder.write("target", "old");
  fs::create_symlink("target", folder.path("link"));
  fs::create_symlink("link", folder.path("link to link"));
  ASSERT_EQ(estimate({"--out", folder.path("link to link"), "--format", "json"}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder.path("link")));
  EXPECT_EQ(Json::parse(content_of(folder.path("target")))["schema"], "meshwright.estimate/1");
  fs::create_symlink("loop", folder.path("loop"));
  EXPECT_EQ(estimate({"--out", folder.path("loop")}).exit_code, 2);
}

TEST(Output, AReplacedFileKeepsWhoMayReadIt) {
  const TemporaryFolder folder;
  const std::string file = folder.write("private", "old");
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  ASSERT_EQ(estimate({"--out", file}).exit_code, 0);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(Output, AnOutputThatIsAnInputIsRefusedBeforeAnyWork) {
  const Files files;
  const TemporaryFolder& folder = files.folder;
  const std::string model = folder.write("m.json", content_of(config("models/llama-3-8b.json")));
  const std::string csv = folder.write("x.csv", content_of(config("datasets/example-runs.csv")));
  const std::string map = folder.write("map.json", content_of(config("datasets/example-map.json")));
  const std::string cluster = folder.write("c.json", content_of(config("clusters/h100-8.json")));
  const std::vector<std::vector<std::string>> commands{
      {"report", files.plan, "--out", files.plan},
      {"report", files.plan, "--trials", files.trials, "--out", files.trials},
      {"trial", files.plan, "--out", files.plan},
      {"trial", files.plan, "--trace", files.plan},
      {"validate", files.plan, files.trials, "--out", files.trials},
      {"diff", files.plan, files.plan, "--out", files.plan},
      {"import", "measurements", csv, "--map", map, "-o", csv},
      {"import", "measurements", csv, "--map", map, "-o", map},
      {"plan", "--model", model, "--cluster", cluster, "--out", model},
      {"plan", "--model", model, "--cluster", cluster, "--out", cluster},
      {"estimate", "--model", model, "--cluster", cluster, "--layout", "tp=8", "--trace", model},
      {"volume", "--model", model, "--layout", "tp=8", "--out", model},
      {"cluster", "show", cluster, "--out", cluster},
      {"backtest", csv, "--out", csv},
      {"calibrate", "--for", model, "--out", model},
      {"calibrate", "merge", cluster, model, "-o", model},
      {"calibrate", "--import", csv, "--onto", cluster, "--out", cluster}};
  for (const std::vector<std::string>& command : commands) {
    std::map<std::string, std::string> before;
    for (const std::string& name : folder.names()) before[name] = content_of(folder.path(name));
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(command) << result.err;
    EXPECT_THAT(result.err, HasSubstr("is also the input"));
    for (const auto& [name, content] : before) EXPECT_EQ(content_of(folder.path(name)), content);
  }
}

TEST(Output, WhatAnInputNamesInsideItselfIsAnInputToo) {
  const TemporaryFolder folder;
  folder.write("device.json", content_of(config("hardware/h100-sxm-80gb.json")));
  folder.write("framework.json", content_of(config("frameworks/megatron-core-2026.json")));
  auto cluster = Json::parse(content_of(config("clusters/h100-8.json")));
  cluster["device"] = "device.json";
  cluster["framework"] = "framework.json";
  const std::string cluster_file = folder.write("cluster.json", cluster.dump());
  auto set = Json::parse(content_of(config("datasets/korthikanti-2022-table-5.json")));
  const std::string model =
      folder.write("model.json", content_of(config("models/llama-3-8b.json")));
  for (auto& run : set["runs"]) {
    run["model"] = model;
    run["cluster"] = cluster_file;
  }
  const std::string runs = folder.write("runs.json", set.dump());
  const std::vector<std::string> asked_of_runs{"backtest", runs, "--out"};
  const std::vector<std::string> asked_of_cluster{"cluster", "show", cluster_file, "--out"};
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands{
      {asked_of_cluster, "device.json"},
      {asked_of_cluster, "framework.json"},
      {asked_of_runs, "model.json"},
      {asked_of_runs, "cluster.json"},
      {asked_of_runs, "device.json"}};
  for (const auto& [command, output] : commands) {
    const std::string before = content_of(folder.path(output));
    const ProgramResult result = run_program(with(command, {folder.path(output)}));
    EXPECT_EQ(result.exit_code, 2) << command.front() << ' ' << output;
    EXPECT_THAT(result.err, HasSubstr("(named in it)"));
    EXPECT_EQ(content_of(folder.path(output)), before);
  }
}

TEST(Output, AnInputIsKnownThroughLinksAndOtherSpellings) {
  const Files files;
  const TemporaryFolder& folder = files.folder;
  fs::create_symlink(files.plan, folder.path("link"));
  fs::create_hard_link(files.plan, folder.path("hard"));
  fs::create_directory(folder.path("sub"));
  for (const std::string name : {"link", "hard", "sub/../plan.json", "./plan.json"}) {
    const ProgramResult result = run_program({"report", files.plan, "--out", folder.path(name)});
    EXPECT_EQ(result.exit_code, 2) << name;
  }
}

TEST(Output, TwoOutputsOfOneNameAreRefused) {
  const TemporaryFolder folder;
  const std::string file = folder.path("t.json");
  const ProgramResult result = estimate({"--out", file, "--trace", folder.path("./t.json")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("is also the output"));
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(estimate({"--trace", "-"}).exit_code, 2);  // the result goes there
  EXPECT_EQ(estimate({"--out", "/dev/null", "--trace", "/dev/null"}).exit_code, 0);
}

TEST(Output, ARecordNeverTakesThePlansName) {
  const Files files;
  const std::string before = content_of(files.plan);
  const ProgramResult result =
      run_program({"report", files.plan, "--out", files.folder.path("plan.html")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(content_of(files.plan), before);
  EXPECT_EQ(Json::parse(content_of(files.folder.path("plan.report.json")))["schema"],
            "meshwright.report/1");
}

TEST(Output, AFullDiskIsNoSuccessInAnyCommand) {
  const Files files;
  const std::string model = "llama-3-8b";
  const std::string cluster = "h100-8";
  const std::vector<std::vector<std::string>> commands{
      {"--help"},
      {"--version"},
      {"plan", "--model", model, "--cluster", cluster, "--ranking-only"},
      {"plan", "--model", model, "--cluster", cluster, "--format", "json"},
      kEstimate,
      {"volume", "--model", model, "--layout", "tp=8"},
      {"explain", "memory_capacity"},
      {"explain", files.plan, "--layout", "2"},
      {"diff", files.plan, files.plan},
      {"cluster", "list"},
      {"cluster", "show", cluster},
      {"report", files.plan, "--out", files.folder.path("r.html")},
      {"import", "measurements", config("datasets/example-runs.csv"), "--map",
       config("datasets/example-map.json")},
      {"backtest", config("datasets/korthikanti-2022-table-5.json")}};
  for (const std::vector<std::string>& command : commands) {
    const ProgramResult result = run_program_into("/dev/full", command);
    EXPECT_EQ(result.exit_code, 3) << testing::PrintToString(command);
    EXPECT_THAT(result.err, HasSubstr("standard output: cannot be written: No space left"));
  }
}

TEST(Output, AClosedStandardOutputIsNoSuccessAndNoOtherFileGetsIt) {
  const TemporaryFolder folder;
  const ProgramResult closed = run_program_into("", kEstimate);
  EXPECT_EQ(closed.exit_code, 3);
  const ProgramResult traced =
      run_program_into("", with(kEstimate, {"--trace", folder.path("trace.json")}));
  EXPECT_EQ(traced.exit_code, 3);
  EXPECT_TRUE(Json::accept(content_of(folder.path("trace.json"))));
}

TEST(Output, AReaderThatHasSeenEnoughIsNoFailure) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] { std::ifstream(pipe).get(); });
  const ProgramResult result = run_program_into(pipe, with(kEstimate, {"--format", "json"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, testing::Not(HasSubstr("error")));
}

TEST(Output, ADashIsStandardOutput) {
  const Files files;
  EXPECT_EQ(estimate({"--out", "-"}).out, estimate({}).out);
  const ProgramResult page = run_program({"report", files.plan, "--out", "-"});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_TRUE(page.out.starts_with("<!")) << page.out.substr(0, 40);
  EXPECT_THAT(files.folder.names(), testing::ElementsAre("plan.json", "trials.json"));
}

TEST(Output, AFailedCommandLeavesNothingBehind) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path("taken"));
  const ProgramResult taken = estimate({"--out", folder.path("taken")});
  EXPECT_EQ(taken.exit_code, 2);
  EXPECT_THAT(taken.err, HasSubstr("is a directory"));
  EXPECT_EQ(estimate({"--out", folder.path("no/such/folder/x.json")}).exit_code, 2);
  const std::string model = folder.write("m.json", R"({"num_layers": 4})");
  const ProgramResult broken = run_program(
      {"plan", "--model", model, "--cluster", "h100-8", "--out", folder.path("plan.json")});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr("/hidden_size: is required"));
  EXPECT_THAT(folder.names(), testing::ElementsAre("m.json", "taken"));
}

TEST(Output, AFileOfTenGigabytesIsNotRead) {
  const TemporaryFolder folder;
  const std::string file = folder.write("big.json", "{");
  ASSERT_EQ(::truncate(file.c_str(), 10'000'000'000), 0);  // sparse: takes no space
  const ProgramResult result = run_program({"plan", "--model", file, "--cluster", "h100-8"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("big.json"), HasSubstr("MiB")));
}

// Names of the tables that an answer has as CSV, as the note on the others says; empty: one table.
std::vector<std::string> tables_in(const std::string& note) {
  const std::string text = replaced(note, "\n", " ");
  static const std::regex names(R"(one table, (\w+)\..*writes another: ([\w, ]+)\.)");
  std::smatch found;
  if (!std::regex_search(text, found, names)) return {""};
  return with({found[1].str()}, split_words(replaced(found[2].str(), ",", " ")));
}

// A header and as many cells in every row, none with a unit or a separator beside its number.
void expect_numbers(const std::string& csv, const std::string& about) {
  const interop::CsvTable table = interop::read_csv(csv, about);
  static const std::regex with_unit(
      R"(^[-+]?[\d.,]*\d ?(GiB|MiB|GB|MB|kB|TB|s|ms|us|µs|%|h|days|W|kW|MW|x|EUR|USD)$)"
      R"(|^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$)");
  for (const auto& row : table.rows) {
    ASSERT_EQ(row.size(), table.columns.size()) << about << csv;
    for (const std::string& cell : row) {
      EXPECT_FALSE(std::regex_match(cell, with_unit)) << about << ": " << cell;
    }
  }
}

TEST(Csv, IsOneTableOfNumbers) {
  for (const char* command :
       {"estimate --model llama-3-8b --cluster h100-8 --layout tp=2,dp=4,sp,zero=1",
        "volume --model llama-3-8b --layout tp=2,dp=4",
        "plan --model llama-3-8b --cluster h100-512 --gpus 8,16 --ranking-only",
        "capacity --model llama-3-8b --cluster h100-512 --gpus 8,16 --rows-only",
        "serve --model llama-3-8b --cluster h100-8 --cluster h200-512 --gpus 1 --concurrency 4 "
        "--explain --what-if",
        "serve --model llama-3-8b --cluster h100-8 --gpus 4 --concurrency 8 --mode disaggregated",
        "serve estimate --model llama-3-8b --cluster h100-8",
        "serve simulate --model llama-3-8b --cluster h100-8 --concurrency 4 --num-prompts 20",
        "cluster show h100-8", "model list"}) {
    const std::vector<std::string> words = with(split_words(command), {"--format", "csv"});
    const std::vector<std::string> names = tables_in(run_program(words).err);
    for (const std::string& name : names) {
      const std::vector<std::string> one =
          names.size() == 1 ? words : with(words, {"--table", name});
      const ProgramResult result = run_program(one);
      EXPECT_LT(result.exit_code, 2) << result.err;
      expect_numbers(result.out, command + (" --table " + name));
    }
  }
}

// The names of the files that an answer was made from.
std::string inputs_of(const std::vector<std::string>& words) {
  const Json json = Json::parse(run_program(with(words, {"--format", "json"})).out);
  EXPECT_EQ(json.value("tool_version", ""), app::kVersion);
  EXPECT_THAT(json.value("command", ""), testing::StartsWith("meshwright "));
  std::string names;
  for (const Json& input : json.at("inputs")) {
    EXPECT_EQ(input.at("sha256").get<std::string>().size(), 64U);
    append_to_list(names, " ", input.at("name").get<std::string>());
  }
  return names;
}

TEST(Json, SaysItsVersionAndInputs) {
  const TemporaryFolder folder;
  const std::string lengths =
      folder.write("lengths.csv", "input_tokens,output_tokens\n100,20\n200,40\n");
  const std::string launch = folder.write(
      "serve.sh",
      "vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 2 --max-model-len 8192\n");
  const std::vector<std::string> service =
      split_words("--model llama-3-8b --cluster h100-8 --engine vllm-0.24");
  EXPECT_EQ(inputs_of(with({"serve", "--gpus", "1", "--concurrency", "4", "--lengths", lengths},
                           service)),
            "model cluster engine lengths prices");
  EXPECT_EQ(inputs_of(with({"serve", "estimate"}, service)), "model cluster engine");
  EXPECT_EQ(inputs_of(with({"serve", "simulate", "--concurrency", "4", "--num-prompts", "20",
                            "--lengths", lengths},
                           service)),
            "model cluster engine lengths");
  EXPECT_EQ(inputs_of({"review", "--from", launch, "--cluster", "h100-8", "--model", "llama-3-8b",
                       "--concurrency", "4"}),
            "launch model cluster engine");
  EXPECT_EQ(inputs_of({"serve", "read", launch}), "launch");
  EXPECT_EQ(inputs_of(kEstimate), "model cluster");
  EXPECT_EQ(inputs_of({"volume", "--model", "llama-3-8b", "--layout", "dp=8"}), "model");
  EXPECT_EQ(inputs_of({"cluster", "show", "h100-8"}), "cluster");
  EXPECT_EQ(inputs_of({"model", "list"}), "");
}

}  // namespace
}  // namespace meshwright::test
