// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/profile_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/json/input_records.h"
#include "sim/json/serving_records.h"

namespace meshwright::calibrate {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

constexpr IntRange kFromZero{.low = 0};

// Texts by name, as an object.
Kind<Texts> named_texts() {
  return {.read =
              [](ObjectReader& reader, const std::string& key, Texts& values) {
                values.clear();
                for (const auto& [name, value] : reader.member(key).items()) {
                  values.emplace_back(name,
                                      value.is_string() ? value.get<std::string>() : value.dump());
                }
              },
          .write =
              [](Json& json, const std::string& key, const Texts& values) {
                Json& object = json[key] = Json::object();
                for (const auto& [name, value] : values) object[name] = value;
              },
          .schema =
              [] {
                return Json{{"type", "object"}};
              }};
}

const Record<MachineDescription>& machine_record() {
  static const Record<MachineDescription> record = [] {
    using M = MachineDescription;
    Record<M> r("The machine that measured.");
    r.row(&M::host, "host", kind::text(), "Name of the host.");
    r.required();
    r.row(&M::cpu, "cpu", kind::text(), "Model of the CPU.");
    r.required();
    r.row(&M::cores, "cores", kind::integer(), "Hardware threads of the host.");
    r.required();
    r.row(&M::memory, "memory_bytes", kind::base_amount<Bytes>(), "Memory of the host.");
    r.required();
    r.row(&M::kernel, "kernel", kind::text(), "Operating system and its version.");
    r.row(&M::load_average, "load_average", kind::number(), "Load of one minute at the start.");
    r.row(&M::details, "details", named_texts(), "Libraries, driver and clocks.");
    r.row(&M::nccl_variables, "nccl_variables", named_texts(), "NCCL's environment variables.");
    r.omitted_at_default();
    return r;
  }();
  return record;
}

// A parameter that the points do not bound has no finite error: null.
Kind<double> error_or_null() {
  Kind<double> error = kind::number();
  error.write = [](Json& json, const std::string& key, const double& value) {
    json[key] = std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  error.schema = [] { return Json{{"type", Json::array({"number", "null"})}}; };
  return error;
}

const Record<FittedParameter>& parameter_record() {
  static const Record<FittedParameter> record = [] {
    using P = FittedParameter;
    Record<P> r("A fitted parameter.");
    r.row(&P::name, "name", kind::text(), "Name with its unit.");
    r.required();
    r.row(&P::value, "value", kind::number(), "Fitted value.");
    r.required();
    r.row(&P::standard_error, "standard_error", error_or_null(),
          "Standard error; null: the points do not bound it.");
    r.default_from([](P& parameter) { parameter.standard_error = INFINITY; });
    return r;
  }();
  return record;
}

const Record<Fit>& fit_record() {
  static const Record<Fit> record = [] {
    Record<Fit> r("What was fitted to points.");
    r.row(&Fit::what, "what", kind::text(), "Such as gemm fp32 or link intra_node.");
    r.required();
    r.row(&Fit::points, "points", kind::integer(kFromZero), "Points behind the fit.");
    r.required();
    r.row(&Fit::relative_spread, "relative_spread", kind::number(), "Spread of the residuals.");
    r.required();
    r.row(&Fit::parameters, "parameters", kind::list(parameter_record), "Fitted parameters.");
    r.required();
    return r;
  }();
  return record;
}

const Record<RankSpeed>& rank_record() {
  static const Record<RankSpeed> record = [] {
    using R = RankSpeed;
    Record<R> r("A rank's times over those of the median rank.");
    r.row(&R::rank, "rank", kind::integer(kFromZero), "Number of the rank.").required();
    r.row(&R::local_rank, "local_rank", kind::integer(kFromZero), "Number on its host.");
    r.required();
    r.row(&R::host, "host", kind::text(), "Its host.").required();
    r.row(&R::gemm, "gemm", kind::number(), "GEMMs.").required();
    r.row(&R::memory, "memory", kind::number(), "Kernels and copies.").required();
    r.row(&R::network, "network", kind::number(), "Its links.").required();
    return r;
  }();
  return record;
}

const Record<Straggler>& straggler_record() {
  static const Record<Straggler> record = [] {
    using S = Straggler;
    Record<S> r("A rank or link that is slow.");
    r.row(&S::what, "what", kind::text(), "gemm, memory, network or link.").required();
    r.row(&S::rank, "rank", kind::integer(kFromZero), "Number of the rank.").required();
    r.row(&S::other, "other_rank", kind::integer(kFromZero), "The other end of a link.");
    r.written_if([](const S& straggler) { return straggler.other >= 0; });
    r.row(&S::relative_time, "relative_time", kind::number(), "Time over the median.").required();
    r.row(&S::score, "score", kind::number(), "Distance from the median in deviations.");
    r.required();
    r.row(&S::sentence, "sentence", kind::text(), "The same as a sentence.").required();
    return r;
  }();
  return record;
}

// A profile stays small on any machine: of a large job only the ranks that are named are kept.
constexpr std::size_t kMostRanks = 1024;

Profile with_named_ranks(Profile profile) {
  std::erase_if(profile.ranks, [&](const RankSpeed& rank) {
    return std::none_of(
        profile.stragglers.begin(), profile.stragglers.end(),
        [&](const Straggler& s) { return s.rank == rank.rank || s.other == rank.rank; });
  });
  return profile;
}

Record<Profile> make_profile_record() {
  using F = Profile;
  Record<F> r("A measured machine: the cluster that it is, and what was measured.");
  r.file_of({kProfileSchema}, true);
  r.row(&F::created, "created", kind::text(), "Time of the calibration, UTC.").required();
  r.row(&F::tool_version, "tool_version", kind::text(), "Version of meshwright.");
  r.row(&F::command, "command", kind::text(), "Command that made it.");
  r.row(&F::machine, "machine", kind::object(machine_record), "").required();
  r.row(&F::cluster, "cluster", kind::object(cluster_record), "").required();
  r.row(&F::inference, "inference", kind::object(inference_rates_record),
        "Rates of the trial's inference engine.");
  r.omitted_at_default();
  r.row(&F::fits, "fits", kind::list(fit_record), "What was fitted.");
  r.row(&F::not_measured, "not_measured", kind::texts(), "What is modelled or unknown therefore.");
  r.row(&F::dropped, "dropped", kind::texts(),
        "Points without a time, each with the reason: a library refused them, a result was wrong, "
        "or measuring them ended the calibration twice.");
  r.omitted_at_default();
  r.row(&F::notes, "notes", kind::texts(), "Points left out or noisy, a loaded machine.");
  r.row(&F::ranks, "ranks", kind::list(rank_record), "Speed of the ranks.");
  r.row(&F::stragglers, "stragglers", kind::list(straggler_record), "Slow ranks and links.");
  r.row(&F::points, "measurements", kind::list(point_record), "Measured points, in order.");
  r.row(&F::onto, "onto", kind::text(),
        "Cluster onto which it was measured; absent: nothing was there before.");
  r.omitted_at_default();
  r.row(&F::num_ranks, "num_ranks", kind::integer(kFromZero), "Ranks that measured together.");
  r.omitted_at_default();
  return r;
}

}  // namespace

const Record<Profile>& profile_record() {
  static const Record<Profile> record = make_profile_record();
  return record;
}

Json to_json(const Profile& profile) {
  const bool many = profile.ranks.size() > kMostRanks;
  return profile_record().write(many ? with_named_ranks(profile) : profile);
}

Profile profile_from_json(const Json& json, const std::string& file) {
  return profile_record().read(json, file);
}

}  // namespace meshwright::calibrate
