// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>

#include "app/commands/catalog/cluster_template.h"
#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "app/options/inputs.h"
#include "app/options/output.h"
#include "reports/records/cluster_view.h"
#include "reports/records/listings.h"
#include "reports/tables/cluster_text.h"
#include "reports/text/text.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

struct ClusterOptions {
  std::string name;
  int gpus = 0;
  std::vector<std::string> groups;
  OutputOptions output;
};

int size_in(const std::string& text, const std::string& number) {
  int size = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
  if (error != std::errc() || end != number.data() + number.size() || size < 1) {
    throw InputError("--group", "", fmt::format("must be a size of 1 or more (got \"{}\")", text));
  }
  return size;
}

void set_group(const std::string& text, Layout& layout, bool& has_data) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const int size =
      size_in(text, equals == std::string::npos ? std::string() : text.substr(equals + 1));
  const std::vector<std::string> known{"tensor", "context", "expert", "data", "pipeline"};
  int* const places[] = {&layout.tensor_parallel_size, &layout.context_parallel_size,
                         &layout.expert_parallel_size, &layout.data_parallel_size,
                         &layout.pipeline_parallel_size};
  const auto found = std::find(known.begin(), known.end(), name);
  if (found == known.end()) {
    throw InputError("--group", "",
                     fmt::format("must be one of {} (got \"{}\")", fmt::join(known, ", "), name),
                     did_you_mean(name, known));
  }
  *places[found - known.begin()] = size;
  has_data = has_data || name == "data";
}

// The named sizes; data takes the remaining devices. Without names: tensor fills a node.
Layout parsed_layout(const ClusterOptions& options, const Cluster& cluster) {
  Layout layout;
  bool has_data = false;
  for (const std::string& text : options.groups) set_group(text, layout, has_data);
  if (options.groups.empty()) layout.tensor_parallel_size = cluster.gpus_per_node;
  const int others = world_size(layout) / layout.data_parallel_size;
  if (!has_data) layout.data_parallel_size = std::max(1, cluster.num_gpus() / others);
  if (world_size(layout) != cluster.num_gpus()) {
    throw InputError("--group", "",
                     fmt::format("{} ranks for {} devices", world_size(layout), cluster.num_gpus()),
                     "sizes must multiply to --gpus; without data=, data takes what is left");
  }
  const int mesh =
      layout.tensor_parallel_size * layout.context_parallel_size * layout.data_parallel_size;
  if (layout.expert_parallel_size > 1) layout.expert_tensor_parallel_size = 1;
  if (mesh % layout.expert_parallel_size != 0) {
    throw InputError("--group", "",
                     fmt::format("expert={} must divide tensor x context x data = {}",
                                 layout.expert_parallel_size, mesh));
  }
  return layout;
}

// Every wire of the machine is drawn: 65,536 devices take 2 s and 200 MB.
constexpr int kMostDevicesShown = 65'536;

void check_size(const ClusterOptions& options, const Cluster& cluster) {
  if (cluster.num_gpus() <= kMostDevicesShown) return;
  throw InputError(options.gpus > 0 ? "--gpus" : options.name, "",
                   fmt::format("{} devices; a machine of at most {} is shown", cluster.num_gpus(),
                               kMostDevicesShown),
                   "--gpus names a part of it: its wiring repeats itself");
}

int show(const ClusterOptions& options, const Call& call) {
  reports::Origin origin = call.origin();
  Cluster cluster = load_cluster(options.name, nullptr, &origin);
  if (options.gpus > 0) cluster = scaled_to(std::move(cluster), options.gpus);
  check_size(options, cluster);
  const Layout layout = parsed_layout(options, cluster);
  const Topology topology = Topology::of(cluster);
  const reports::ClusterView view{.origin = std::move(origin),
                                  .cluster = cluster,
                                  .layout = layout,
                                  .vertices = static_cast<std::int64_t>(topology.num_vertices()),
                                  .edges = static_cast<std::int64_t>(topology.num_edges()),
                                  .bisection = topology.bisection_bandwidth(),
                                  .groups = group_loads(topology, layout, cluster)};
  const std::vector<reports::Table> tables{
      named("numbers", reports::cluster_numbers_table(cluster)),
      named("groups", reports::group_loads_table(view.groups))};
  if (options.output.format == Format::json) {
    write_file_atomically(options.output.out,
                          reports::cluster_view_record().write(view).dump(2) + "\n");
  } else if (options.output.format == Format::table) {
    write_file_atomically(
        options.output.out,
        fmt::format("{}\nBisection: {} GB/s\n\n{}\n{}",
                    reports::cluster_tree(cluster, terminal_width()),
                    number_text(view.bisection / gigabytes_per_second(1)),
                    tables_text(tables, Format::table),
                    wrapped(fmt::format("Source: {}\nDevice: {}\n", cluster.source,
                                        only_device(cluster).source))));
  } else {
    write_output(options.output, tables, "");
  }
  say("With --cluster {}, meshwright plan ranks the layouts of a model.\n",
      reports::shell_word(options.name));
  say_next({{"model", "list"}});
  return kDone;
}

int list_clusters(const ClusterOptions& options, const Call& call) {
  reports::Table table{"",
                       {{"cluster", "cluster", ""},
                        {"device", "device", ""},
                        {"gpus_per_node", "devices per node", ""},
                        {"num_nodes", "nodes", ""},
                        {"intra_node_gb_per_s", "node link", "GB/s"},
                        {"inter_node_gb_per_s", "network per device", "GB/s"},
                        {"intra_node_provenance", "node numbers", "", 4, true},
                        {"inter_node_provenance", "network numbers", "", 4, true}},
                       {}};
  reports::ClusterList list{call.origin(), {}};
  for (const std::string& name : config_names("clusters")) {
    const Cluster& c =
        list.clusters.emplace_back(reports::ListedCluster{name, load_cluster(name)}).cluster;
    table.rows.push_back({name, only_device(c).name, static_cast<double>(c.gpus_per_node),
                          static_cast<double>(c.num_nodes),
                          c.intra_node.bandwidth / gigabytes_per_second(1),
                          c.inter_node.bandwidth / gigabytes_per_second(1),
                          std::string(name_of(c.intra_node.provenance)),
                          std::string(name_of(c.inter_node.provenance))});
  }
  write_output(options.output, {table}, reports::cluster_list_record().write(list).dump(2) + "\n");
  say_next({{"cluster", "show", "h100-8"}});
  return kDone;
}

struct NewOptions {
  ClusterStart start;
  std::string out = "-";
};

int write_template(const NewOptions& options) {
  write_file_atomically(options.out, cluster_template(options.start));
  if (options.out != "-") say_next({{"cluster", "show", options.out}});
  return kDone;
}

void add_cluster_new(Commands& commands, Command& cluster) {
  auto options = std::make_shared<NewOptions>();
  Command& command = commands.add_below(
      cluster, "new", "Write a cluster file to edit, with a comment for each field");
  command
      .reads("--device", options->start.device,
             "Device: a file or a name from configs/hardware, for example h100-sxm-80gb",
             "hardware")
      ->required();
  const auto count = [&](const char* name, std::optional<int>& value, const char* about) {
    command.options().add_option(name, value, about)->check(CLI::Range(1, 100'000).description(""));
  };
  count("--gpus-per-node", options->start.gpus_per_node,
        "Devices per node. Default: that of the shipped cluster with this device, else "
        "8");
  count("--num-nodes", options->start.num_nodes, "Nodes. Default: 1");
  count("--nics", options->start.nics, "NICs per node. Default: one per device");
  command.options()
      .add_option("--nic-gbit", options->start.nic_gbit,
                  "Line rate of one NIC in Gbit/s. Default: 400")
      ->check(CLI::Range(0.001, 1e6).description(""));
  command.options()
      .add_option("--fabric", options->start.fabric,
                  fmt::format("Network between nodes: {}. Default: that of the shipped cluster",
                              fmt::join(fabric_names(), ", ")))
      ->check(CLI::IsMember(fabric_names()).description(""));
  count("--leaf-nodes", options->start.leaf_nodes,
        "Nodes below one leaf switch. Default: that of the shipped cluster, else 32");
  count("--rails", options->start.rails,
        "Leaf switches that a node's NICs go to: 1, or one per NIC. Default: one per NIC, but 1 "
        "on Slingshot");
  command.options()
      .add_option("--oversubscription", options->start.oversubscription,
                  "Downlinks over uplinks of a leaf switch, for example 2. Default: 1")
      ->check(CLI::Range(1.0, 1000.0).description(""));
  command.writes_new("--out", options->out,
                     "File to write; an existing file is refused. Default: standard output");
  command.runs([options](const Call&) { return write_template(*options); });
}

}  // namespace

void add_cluster(Commands& commands) {
  auto options = std::make_shared<ClusterOptions>();
  Command& command =
      commands.add("cluster", "List or show shipped clusters, or write a file for your own");
  command.options().require_subcommand(1);
  Command& list_command = commands.add_below(command, "list", "List the shipped clusters");
  add_output_options(list_command, options->output);
  list_command.runs([options](const Call& call) { return list_clusters(*options, call); });
  Command& show_command = commands.add_below(
      command, "show",
      "Show a cluster's topology, speeds and sources, and the bandwidth that groups "
      "of ranks get");
  show_command
      .reads("cluster", options->name,
             "Cluster: a file, a measured profile, or a name from configs/clusters", "clusters")
      ->required();
  show_command.options()
      .add_option("--gpus", options->gpus, "Devices of the cluster to use. Default: all")
      ->check(CLI::Range(1, 10'000'000).description(""));
  show_command.options()
      .add_option("--group", options->groups,
                  "Sizes of the groups to place, for example tensor=8,pipeline=4. data takes the "
                  "rest. Default: tensor fills a node")
      ->delimiter(',');
  add_output_options(show_command, options->output);
  show_command.runs([options](const Call& call) { return show(*options, call); });
  add_cluster_new(commands, command);
}

}  // namespace meshwright::app
