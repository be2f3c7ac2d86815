// SPDX-License-Identifier: Apache-2.0
#include "app/files/profile_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/console/call.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "calibrate/fit/fit_check.h"
#include "calibrate/fit/holdout.h"
#include "calibrate/imported/imported.h"
#include "calibrate/measure/deepep.h"
#include "calibrate/profile/device_spread.h"
#include "calibrate/profile/merge.h"
#include "calibrate/profile/profile_json.h"
#include "interop/shell/base_name.h"
#include "reports/fit_page.h"
#include "reports/records/sha256.h"
#include "reports/text/text.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/named_device.h"
#include "sim/json/records.h"

namespace meshwright::app {
namespace {

void write(calibrate::Profile& profile, const std::string& out, const reports::Origin& origin) {
  profile.tool_version = origin.tool_version;
  profile.command = origin.command;
  write_file_atomically(out, calibrate::to_json(profile).dump() + "\n");
  if (out == "-") return;
  print("{} points, {} notes, in {}\nnext: meshwright calibrate --plot {}\n", profile.points.size(),
        profile.notes.size(), out, reports::shell_word(out));
}

// The newest measurement of a thing stands: what is imported replaces an older import of it, and is
// left out where this tool measured the same.
void add_imported(calibrate::Profile& profile, const calibrate::MeasuredPoint& point) {
  const auto same = std::find_if(
      profile.points.begin(), profile.points.end(), [&](const calibrate::MeasuredPoint& p) {
        return same_subject(p, point) ||
               (p.is<calibrate::timed::MemoryCopy>() && point.is<calibrate::timed::MemoryCopy>());
      });
  if (same == profile.points.end()) {
    profile.points.push_back(point);
  } else if (!same->source.empty()) {
    *same = point;
  } else {
    profile.notes.push_back(
        fmt::format("{}: measured here; the imported time is ignored", point.label()));
  }
}

// Gives the cluster as many nodes and ranks as the largest imported groups have.
void widen(Cluster& cluster, const calibrate::MeasuredPoint& p) {
  const auto* collective = p.as<calibrate::timed::CollectiveCall>();
  if (collective == nullptr) return;
  const calibrate::GroupCall& call = collective->call;
  const int in_node = std::max(1, call.ranks_per_node);
  cluster.num_nodes = std::max(cluster.num_nodes, call.group_size / in_node);
  cluster.gpus_per_node =
      std::max(cluster.gpus_per_node, in_node * std::max(1, call.groups_per_node));
}

// Links and kernels of another device say nothing about the cluster's own.
void check_device(calibrate::Profile& profile, const calibrate::Imported& imported,
                  const std::string& file, bool force) {
  const Device& device = only_device(profile.cluster);
  const std::string other = other_device(imported.devices, device);
  if (other.empty()) return;
  if (!force) {
    throw InputError(
        file, "",
        fmt::format("was measured on another device (got {}; expected {})", other, device.name),
        "use --onto with a cluster of this device, or --force to import it anyway");
  }
  profile.notes.push_back(fmt::format("imported with --force: {} was measured on {}, not on {}",
                                      base_name(file), other, device.name));
}

// Hosts of a rack are trays: what goes from one to the other stays inside the NVLink domain.
bool across_trays(const Cluster& cluster, calibrate::MeasuredPoint& point) {
  auto* collective = std::get_if<calibrate::timed::CollectiveCall>(&point.subject);
  const int domain = cluster.gpus_per_node;
  if (collective == nullptr || cluster.gpus_per_tray == 0) return false;
  calibrate::GroupCall& call = collective->call;
  const bool fits = call.group_size <= domain || call.group_size % domain == 0;
  if (call.tier != Tier::inter_node || call.ranks_per_node > cluster.gpus_per_tray || !fits) {
    return false;
  }
  call.ranks_per_node = std::min(call.group_size, domain);
  call.groups_per_node = 1;
  if (call.group_size <= domain) call.tier = Tier::intra_node;
  return true;
}

// Sets where the ranks of a tool's file were in this cluster, whose hosts are trays.
void seat_on_trays(calibrate::Profile& profile, calibrate::Imported& imported) {
  int moved = 0;
  for (calibrate::MeasuredPoint& point : imported.points) {
    moved += across_trays(profile.cluster, point) ? 1 : 0;
  }
  if (moved == 0) return;
  imported.notes.push_back(
      fmt::format("{} collectives used several hosts of up to {} ranks. These hosts are trays of "
                  "one NVLink domain of {}, so the collectives count as inside it",
                  moved, profile.cluster.gpus_per_tray, profile.cluster.gpus_per_node));
}

void import_one(calibrate::Profile& profile, const std::string& file, bool force) {
  const std::string text = read_measurements(file);
  calibrate::Imported imported = calibrate::imported(text, file);
  check_device(profile, imported, file, force);
  seat_on_trays(profile, imported);
  const std::string name = base_name(file);
  const std::string source =
      fmt::format("{}, {}, sha256 {}", imported.tool, name, reports::sha256(text));
  const int devices = profile.cluster.gpus_per_node;
  for (calibrate::MeasuredPoint& point : imported.points) {
    point.source = source;
    widen(profile.cluster, point);
    add_imported(profile, point);
  }
  if (profile.cluster.gpus_per_node > devices) {
    profile.notes.push_back(
        fmt::format("imported: gpus_per_node {} -> {}, the number of ranks that shared a host",
                    devices, profile.cluster.gpus_per_node));
  }
  profile.notes.push_back(fmt::format("imported: {} points of {} from {}", imported.points.size(),
                                      imported.tool, name));
  for (const std::string& note : imported.notes) profile.notes.push_back("imported: " + note);
}

bool is_profile(const std::string& onto) {
  const std::string file = require_config(onto, "clusters");
  const Json json = read_json_file(file);
  return json.is_object() && json.contains("schema") && json["schema"] == "meshwright.profile/1";
}

// Tells whether a cluster accepts this point without a profile of its devices: GEMMs, links between
// devices, and the link of the host.
bool a_cluster_takes(const calibrate::MeasuredPoint& point) {
  const auto* collective = point.as<calibrate::timed::CollectiveCall>();
  if (collective != nullptr) return !calibrate::is_deepep_low_latency(collective->call);
  return point.is<calibrate::timed::Gemm>() || point.is<calibrate::timed::SustainedGemm>() ||
         point.is<calibrate::timed::HostLink>();
}

// Times of the cluster's own machine: its models are fitted to them, and everything else of it
// stays.
void import_onto_cluster(const std::vector<std::string>& files, const std::string& onto,
                         const std::string& out, bool force) {
  calibrate::Profile measured;
  measured.cluster = load_cluster(onto);
  const int nics = measured.cluster.nics_per_node;
  for (const std::string& file : files) import_one(measured, file, force);
  const std::size_t left_out = std::erase_if(
      measured.points, [](const calibrate::MeasuredPoint& p) { return !a_cluster_takes(p); });
  if (measured.points.empty()) {
    throw InputError(files.front(), "",
                     "has no collective, GEMM or host-link time; a cluster accepts only these",
                     "calibrate a device first, then import into its profile");
  }
  if (left_out > 0) {
    measured.notes.push_back(
        fmt::format("{} other times ignored: only a profile accepts them", left_out));
  }
  Cluster cluster = calibrate::assemble(measured.points, measured.cluster).cluster;
  if (cluster.nics_per_node == 0) cluster.nics_per_node = nics;
  cluster.source += fmt::format(" Measured: {}.", measured.points.front().source);
  if (measured.points.front().is<calibrate::timed::Gemm>()) {
    only_device(cluster).source += fmt::format(" Products: {}.", measured.points.front().source);
  }
  Json json = to_json(cluster);
  write_file_atomically(out, json.dump(2) + "\n");
  for (const std::string& note : measured.notes) say("{}\n", note);
  if (out != "-") say_next({{"cluster", "show", out}});
}

std::string checks_text(const std::vector<calibrate::FitCheck>& checks) {
  std::string text;
  for (const calibrate::FitCheck& check : checks) {
    text += fmt::format("{}\n{:>24}{:>14}{:>14}{:>10}{:>9}\n", check.sentence(), check.x_axis,
                        "measured us", "model us", "residual", "spread");
    for (const calibrate::FittedPoint& p : check.points) {
      text += fmt::format(
          "{:>24}{:>14}{:>14}{:>+9.0f}%{:>8.0f}%\n", p.label, number_text(1e6 * p.measured.value()),
          number_text(1e6 * p.modelled.value()), 100.0 * p.residual(), 100.0 * p.relative_spread);
    }
    text += '\n';
  }
  return text;
}

std::vector<reports::FitChart> charts_of(const std::vector<calibrate::FitCheck>& checks) {
  std::vector<reports::FitChart> charts;
  for (const calibrate::FitCheck& check : checks) {
    // Products of one size differ in shape: no line goes through them.
    reports::FitChart chart{check.title,  check.sentence(),        check.describes(),
                            check.x_axis, check.x_axis == "bytes", {}};
    for (const calibrate::FittedPoint& p : check.points) {
      chart.points.push_back({p.x, p.label, p.measured, p.modelled});
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace

calibrate::Profile load_profile(const std::string& path) {
  return calibrate::profile_from_json(read_json_file(path), path);
}

calibrate::Profile load_profile_of(const std::string& device, const std::string& path) {
  calibrate::Profile profile = load_profile(path);
  const std::string& name = only_device(profile.cluster).name;
  if (name != device) {
    throw InputError(path, "/cluster/device/name",
                     fmt::format("\"{}\" is not the plan's device, \"{}\"", name, device),
                     "the profile that the plan was made with: plan --cluster PROFILE");
  }
  return profile;
}

void merge_profiles(const std::vector<std::string>& files, const std::string& out,
                    const reports::Origin& origin) {
  std::vector<calibrate::Profile> profiles;
  for (const std::string& file : files) profiles.push_back(load_profile(file));
  calibrate::Profile profile = calibrate::merged(profiles);
  const auto spread = calibrate::spread_between_devices(profiles);
  if (spread && out != "-") print("{}\n", spread->sentence());
  write(profile, out, origin);
}

void import_measurements(const std::vector<std::string>& files, const std::string& onto,
                         const std::string& out, bool force, const reports::Origin& origin) {
  if (onto.empty()) {
    throw InputError(
        "--import", "", "needs a profile or a cluster to add to",
        "use --import FILE --onto profile.json (or --onto hgx-h100-400g) --out NEW.json");
  }
  if (!is_profile(onto)) return import_onto_cluster(files, onto, out, force);
  calibrate::Profile profile = load_profile(onto);
  for (const std::string& file : files) import_one(profile, file, force);
  calibrate::refit(profile);
  write(profile, out, origin);
}

bool plot_profile(const std::string& profile_file, const std::string& out) {
  const calibrate::Profile profile = load_profile(profile_file);
  const auto checks = calibrate::check_fits(profile.cluster);
  for (const Tier tier : {Tier::intra_node, Tier::inter_node}) {
    const calibrate::Holdout holdout = calibrate::hold_out_half(profile.cluster, tier);
    if (holdout.predicted > 0) print("{}: {}\n", name_of(tier), holdout.sentence());
  }
  if (out.ends_with(".html")) {
    write_file_atomically(
        out, reports::fit_page(charts_of(checks),
                               fmt::format("Fits of {}, {}", only_device(profile.cluster).name,
                                           profile.created)));
    print("{} charts in {}\n", checks.size(), out);
  } else {
    write_file_atomically(out, checks_text(checks));
  }
  return std::all_of(checks.begin(), checks.end(),
                     [](const calibrate::FitCheck& c) { return c.describes(); });
}

}  // namespace meshwright::app
