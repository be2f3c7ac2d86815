// SPDX-License-Identifier: Apache-2.0
// What readers make of other software's files, and what is written for it: cases/FOLDER/*.txt, a
// folder for each kind of file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "interop/huggingface.h"
#include "interop/huggingface_weights.h"
#include "interop/read_cluster/read_cluster.h"
#include "interop/read_launch/olmo.h"
#include "interop/read_launch/read_launch.h"
#include "interop/serving/read_serving.h"
#include "interop/shell/shell_arithmetic.h"
#include "interop/write_launch/launch.h"
#include "sim/base/text.h"
#include "sim/block/parameters.h"
#include "sim/json/records.h"
#include "sim/json/serving_records.h"
#include "tests/unit/cases.h"

namespace meshwright::interop {
namespace {

using test::Answer;
using test::Asked;
using test::Item;
using test::Part;

// Adds what is not as in a record that was not read.
class Facts {
 public:
  explicit Facts(std::string name) : part_{std::move(name), {}} {}
  template <typename T>
  Facts& add(const char* key, const T& value, const T& plain = T{}) {
    if (value == plain) return *this;
    if constexpr (std::is_same_v<T, bool>) {
      part_.items.emplace_back(value ? key : fmt::format("no {}", key), "");
    } else if constexpr (std::is_enum_v<T>) {
      part_.items.emplace_back(key, name_of(value));
    } else {
      part_.items.emplace_back(key, fmt::format("{}", value));
    }
    return *this;
  }
  template <typename T>
  Facts& add(const char* key, const std::optional<T>& value) {
    if (!value) return *this;
    if constexpr (std::is_enum_v<T>) {
      part_.items.emplace_back(key, name_of(*value));
    } else {
      part_.items.emplace_back(key, fmt::format("{}", *value));
    }
    return *this;
  }
  [[nodiscard]] Part part() const { return part_; }

 private:
  Part part_;
};

ReadNamedFile files_beside(const Asked& asked) {
  if (asked.beside.empty()) return {};
  return [&asked](const std::string& name) -> std::optional<std::string> {
    const auto found = asked.beside.find(name);
    return found == asked.beside.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string file_of(const Asked& asked) { return asked.file.empty() ? "run" : asked.file; }

std::string words_of(const NotUnderstood& one) {
  std::string marks = one.place.line > 0 ? fmt::format(" ({})", one.place.line) : "";
  if (one.effect != OptionEffect::cost) marks += fmt::format(" [{}]", name_of(one.effect));
  if (one.off) marks += " [off]";
  return one.said + marks + ":";
}

Part not_understood_part(const std::vector<NotUnderstood>& all) {
  Part part{"not understood", {}};
  for (const NotUnderstood& one : all) part.items.emplace_back(words_of(one), one.why);
  return part;
}

// With what was said, or why.
Part facts_part(const std::string& name, const std::vector<Fact>& facts) {
  Part part{name, {}};
  for (const Fact& fact : facts) {
    const std::string place = fact.place.line > 0 ? fmt::format(" ({})", fact.place.line) : "";
    part.items.emplace_back(fact.field, fmt::format("{} <- {}{}", fact.value, fact.said, place));
  }
  return part;
}

// Members that are not as by default. Those that the launch does not say are marked.
Part record_part(const std::string& name, const Json& record, const Json& plain,
                 const std::vector<std::string>& said) {
  Part part{name, {}, "default"};
  for (const Item& item : test::items_of(record, plain)) {
    const bool is_said = std::find(said.begin(), said.end(), item.first) != said.end();
    if (item.first == "name" && item.second.starts_with("the launched")) continue;
    part.items.emplace_back(item.first, item.second + (is_said ? "" : " (not said)"));
  }
  return part;
}

Part model_part(const Model& model) {
  Model plain;
  if (model.moe) plain.moe.emplace();
  if (model.mla) plain.mla.emplace();
  plain.name = model.name.starts_with("the launched") ? model.name : "";
  Part part{"model", test::items_of(to_json(model), to_json(plain)), "default"};
  if (model.moe) part.items.emplace_back("experts", "");
  if (model.mla) part.items.emplace_back("latent attention", "");
  return part;
}

Answer launch_answer(const LaunchRecord& r, const Asked& asked) {
  const LaunchRecord plain;
  Facts launch("launch");
  launch.add("", r.target).add("framework", r.framework).add("model", r.model_name);
  launch.add("config", r.model_config).add("gpus", r.gpus).add("gpus_per_node", r.gpus_per_node);
  launch.add("unknown_gpus", r.unknown_gpus).add("mtp_num_layers", r.mtp_num_layers);
  launch.add("data_parallel_size said", !r.data_parallel_size_follows);
  launch.add("replicas", r.replicas, 1).add("shards_in_node", r.shards_in_node);
  launch.add("micro_batches_a_rank", r.micro_batches_a_rank);
  launch.add("accumulation_of_global", r.accumulation_of_global);
  launch.add("layers_per_chunk", r.layers_per_chunk).add("rounds_chunks_up", r.rounds_chunks_up);
  Part harmless{"harmless", {}}, environment{"environment", {}};
  for (const std::string& option : r.harmless) harmless.items.emplace_back(option, "");
  for (const EnvironmentNote& note : r.environment) {
    environment.items.emplace_back(fmt::format("{}={} ({}){}:", note.name, note.value,
                                               note.place.line, note.slows ? " slows" : ""),
                                   note.effect);
  }
  if (asked.states("said")) launch.add("says", r.says_job(asked.stated.at("said")));
  Answer answer{launch.part(),
                model_part(r.model),
                record_part("job", to_json(r.job), to_json(plain.job), r.job_fields),
                record_part("layout", to_json(r.layout), to_json(plain.layout), r.layout_fields),
                environment,
                not_understood_part(r.not_understood)};
  if (asked.states("assumed")) answer.push_back(facts_part("assumed", r.assumed));
  if (asked.states("reads")) answer.push_back(facts_part("read", r.read));
  if (asked.states("harmless")) answer.push_back(harmless);
  return answer;
}

// Words of "%%" that are no hint are variables of the script.
LaunchHints hints_of(const Asked& asked) {
  LaunchHints hints;
  for (const auto& [key, value] : asked.stated) {
    if (key == "seq_length") {
      hints.seq_length = std::stoi(value);
    } else if (key == "vocab_size") {
      hints.vocab_size = std::stoi(value);
    } else if (key == "model") {
      hints.model = Model{};
      if (!value.empty()) hints.model->num_layers = std::stoi(value);
    } else {
      hints.variables[key] = value;
    }
  }
  return hints;
}

// Words of "%%" that choose what is shown: whether a field of the job is said, assumptions, facts
// with their places, options without an effect; that call the reader of one
// format; and the parameters that the model must have, to be worked again by hand.
constexpr std::array kWords{"hints",    "said",   "assumed",   "reads",
                            "harmless", "format", "parameters"};

void expect_parameters(const Model& model, const Asked& asked) {
  if (!asked.states("parameters")) return;
  EXPECT_EQ(total_parameters(model),
            shell_arithmetic(asked.stated.at("parameters"), [](const std::string&) { return ""; }));
}

Answer launch_of(const Asked& asked) {
  Asked hinted = asked;
  for (const char* word : kWords) hinted.stated.erase(word);
  const LaunchHints hints = hints_of(hinted);
  const std::string file = file_of(asked);
  const auto read = [&] {
    if (!asked.states("format")) return read_launch(asked.text, file, hints, files_beside(asked));
    const bool olmo = asked.stated.at("format") == "olmo";
    return (olmo ? read_olmo : read_torchtitan)(asked.text, file, hints);
  };
  const LaunchRecord record = read();
  expect_parameters(record.model, asked);
  return launch_answer(record, asked);
}

Answer service_answer(const ServingLaunch& l, const Asked& asked) {
  Facts launch("launch");
  launch.add("", std::string(name_of(l.engine)))
      .add("form", l.form)
      .add("version", l.engine_version)
      .add("model", l.model);
  launch.add("weights", l.weights).add("kv_cache_said", l.kv_cache_said);
  launch.add("prefix_caching", l.prefix_caching).add("async_scheduling", l.async_scheduling);
  launch.add("longer_positions", l.longer_positions);
  Answer answer{launch.part()};
  const Json plain = replica_options_record().write(ReplicaOptions{});
  for (const LaunchedPool& pool : l.pools) {
    Facts facts{std::string(name_of(pool.role))};
    facts.add("gpus", num_gpus(pool.options.layout));
    facts.add("replicas", pool.replicas, 1).add("expert_parallel", pool.expert_parallel);
    facts.add("graph_max_batch", pool.graph_max_batch)
        .add("custom_all_reduce", pool.custom_all_reduce, true);
    facts.add("gpus_of_container", pool.gpus_of_container).add("visible_gpus", pool.visible_gpus);
    facts.add("nodes", pool.nodes).add("copies", pool.copies, 1);
    facts.add("spans_nodes", pool.spans_nodes).add("follows", pool.follows);
    facts.add("operator_gpus", pool.operator_gpus)
        .add("tensor_by_operator", pool.tensor_by_operator)
        .add("data_by_operator", pool.data_by_operator);
    Part part = facts.part();
    part.gone = "default";
    for (auto& [key, value] : test::items_of(replica_options_record().write(pool.options), plain)) {
      part.items.emplace_back(key.starts_with("layout.") ? key.substr(7) : key, value);
    }
    answer.push_back(part);
  }
  if (l.load) {
    Facts load("load");
    load.add("", std::string(name_of(l.load->kind)))
        .add("concurrency", l.load->concurrency)
        .add("request_rate", l.load->request_rate);
    load.add("num_requests", l.load->num_requests)
        .add("lengths", std::string(name_of(l.load->lengths.kind)));
    load.add("input", l.load->lengths.input)
        .add("output", l.load->lengths.output)
        .add("least_share", l.load->lengths.least_share);
    answer.push_back(load.part());
  }
  answer.push_back(facts_part("assumed", l.assumed));
  Part passed{"passed over", {}};
  for (const PassedOver& one : l.passed_over)
    passed.items.emplace_back(one.said, asked.states("why") ? ": " + one.why : "");
  answer.push_back(passed);
  answer.push_back(not_understood_part(l.not_understood));
  Part stops = not_understood_part(l.cannot_start);
  stops.name = "cannot start";
  for (const GoneOption& one : l.gone) {
    stops.items.emplace_back(one.said + ":", fmt::format("gone by {}", one.release));
  }
  answer.push_back(stops);
  return answer;
}

Answer serving_of(const Asked& asked) {
  // "why" shows why options are passed over.
  ShellInputs inputs{.variables = asked.stated, .read = files_beside(asked)};
  const ServingLaunch l = read_serving(asked.text, file_of(asked), inputs);
  Answer answer = service_answer(l, asked);
  for (const ServingLaunch& other : l.more) {
    for (Part& part : service_answer(other, asked)) {
      part.name = "another service: " + part.name;
      answer.push_back(std::move(part));
    }
  }
  return answer;
}

Answer cluster_of(const Asked& asked) {
  const ClusterFacts f = read_cluster_facts(asked.text, file_of(asked));
  Facts facts("facts");
  facts.add("", f.tool).add("gpus_per_host", f.gpus_per_host).add("num_hosts", f.num_hosts);
  facts.add("hosts_per_domain", f.hosts_per_domain).add("gpus_per_island", f.gpus_per_island);
  facts.add("node_fabric", f.node_fabric).add("nics_per_host", f.nics_per_host);
  facts.add("nvlink_gb_per_s", f.nvlink_gb_per_s);
  facts.add("ports_listed", f.ports_listed).add("nic_gb_per_s", f.nic_gb_per_s);
  facts.add("hosts_per_leaf", f.hosts_per_leaf)
      .add("hosts_per_pod", f.hosts_per_pod)
      .add("network", f.network);
  facts.add("spine_oversubscription", f.spine_oversubscription);
  facts.add("core_oversubscription", f.core_oversubscription);
  facts.add("compute_capability", f.compute_capability);
  Part part = facts.part();
  for (const std::string& device : f.devices) part.items.emplace_back("device", device);
  Part notes{"notes", {}};
  for (const std::string& note : f.notes) notes.items.emplace_back(note, "");
  return {part, notes};
}

std::string layers_of(const Model& model) {
  std::string layers;
  for (int i = 0; i < model.num_layers; ++i) {
    const LayerKind kind = layer_kind(model, i);
    layers += kind.linear_attention     ? 'l'
              : kind.mixture_of_experts ? 'x'
              : kind.sliding_window     ? 'w'
                                        : '-';
  }
  return layers;
}

// A layer with experts is an x, one with a window a w.
Answer model_of(const Asked& asked) {
  const Json config = Json::parse(asked.text);
  const Model model = model_from_huggingface(config, file_of(asked));
  expect_parameters(model, asked);
  const StoredWeights weights = stored_weights_of_huggingface(config);
  Facts facts("facts");
  facts.add("parameters", total_parameters(model)).add("layers", layers_of(model));
  facts.add("weights", weights.method).add("format", weights.format);
  facts.add("not modelled:", asked.states("trained") ? not_modelled_of_huggingface(config)
                                                     : not_modelled_layers_of_huggingface(config));
  return {model_part(model), facts.part()};
}

// Lines, without comments, of the launchers that "%%" names; without a name, what each refuses.
Answer written_of(const Asked& asked) {
  const Json said = test::json_of(asked.text);
  Scenario scenario;
  scenario.model = model_from_json(said["model"], "model.json");
  scenario.job = job_from_json(said["job"], "job.json");
  scenario.cluster.gpus_per_node = said.value("gpus_per_node", 8);
  scenario.cluster.gpus_per_tray = said.value("gpus_per_tray", 0);
  scenario.cluster.num_nodes = said.value("num_nodes", 4);
  const Layout layout = layout_from_text(said["layout"].get<std::string>());
  Answer answer;
  for (const LaunchFile& file : launches({scenario, layout})) {
    EXPECT_NE(file.text.empty(), file.refusal.empty()) << file.target;
    EXPECT_FALSE(file.names_of.empty()) << file.target;
    if (!asked.stated.empty() && !asked.states(file.target)) continue;
    Part part{file.target, {}};
    if (!file.refusal.empty()) part.items.emplace_back("refused: " + file.refusal, "");
    for (const std::string& line : split_lines(asked.stated.empty() ? "" : file.text)) {
      const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
      const bool says = begin < line.size() && !line.substr(begin).starts_with("# ");
      if (says) part.items.emplace_back(line.substr(begin), "");
    }
    answer.push_back(part);
  }
  return answer;
}

class ReaderCases : public testing::TestWithParam<std::string> {};

TEST_P(ReaderCases, HaveTheAnswersOfTheirFile) {
  static const std::map<std::string, Answer (*)(const Asked&)> readers{{"launch", launch_of},
                                                                       {"serving", serving_of},
                                                                       {"cluster", cluster_of},
                                                                       {"model", model_of},
                                                                       {"written", written_of}};
  const std::string file = GetParam(), below = file.substr(std::string("interop/cases/").size());
  test::expect_cases(file, readers.at(below.substr(0, below.find('/'))));
}

INSTANTIATE_TEST_SUITE_P(Interop, ReaderCases, testing::ValuesIn(test::case_files("interop/cases")),
                         [](const auto& file) { return test::name_of_file(file.param); });

}  // namespace
}  // namespace meshwright::interop
