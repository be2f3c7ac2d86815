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
  return {{.read =
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
               }}};
}

const Record<MachineDescription>& machine_record() {
  return described([](Record<MachineDescription>& r) {
    using M = MachineDescription;
    r.about("The machine that measured.");
    r.row<&M::host>("Name of the host.");
    r.required();
    r.row<&M::cpu>("Model of the CPU.");
    r.required();
    r.row<&M::cores>("Hardware threads of the host.");
    r.required();
    r.row<&M::memory>("Memory of the host.");
    r.required();
    r.row<&M::kernel>("Operating system and its version.");
    r.row<&M::load_average>("Load of one minute at the start.");
    r.row<&M::details>(named_texts(), "Libraries, driver and clocks.");
    r.row<&M::nccl_variables>(named_texts(), "NCCL's environment variables.");
    r.omitted_at_default();
  });
}

// A parameter that the points do not bound has no finite error: null.
Kind<double> error_or_null() {
  return kind::number().with({.write =
                                  [](Json& json, const std::string& key, const double& value) {
                                    json[key] = std::isfinite(value) ? Json(value) : Json(nullptr);
                                  },
                              .schema =
                                  [] {
                                    return Json{{"type", Json::array({"number", "null"})}};
                                  }});
}

const Record<FittedParameter>& parameter_record() {
  return described([](Record<FittedParameter>& r) {
    using P = FittedParameter;
    r.about("A fitted parameter.");
    r.row<&P::name>("Name with its unit.");
    r.required();
    r.row<&P::value>("Fitted value.");
    r.required();
    r.row<&P::standard_error>(error_or_null(), "Standard error; null: the points do not bound it.");
    r.default_from([](P& parameter) { parameter.standard_error = INFINITY; });
  });
}

const Record<Fit>& fit_record() {
  return described([](Record<Fit>& r) {
    r.about("What was fitted to points.");
    r.row<&Fit::what>("Such as gemm fp32 or link intra_node.");
    r.required();
    r.row<&Fit::points>(kFromZero, "Points behind the fit.");
    r.required();
    r.row<&Fit::relative_spread>("Spread of the residuals.");
    r.required();
    r.row<&Fit::parameters>(parameter_record, "Fitted parameters.");
    r.required();
  });
}

const Record<RankSpeed>& rank_record() {
  return described([](Record<RankSpeed>& r) {
    using R = RankSpeed;
    r.about("A rank's times over those of the median rank.");
    r.row<&R::rank>(kFromZero, "Number of the rank.").required();
    r.row<&R::local_rank>(kFromZero, "Number on its host.");
    r.required();
    r.row<&R::host>("Its host.").required();
    r.row<&R::gemm>("GEMMs.").required();
    r.row<&R::memory>("Kernels and copies.").required();
    r.row<&R::network>("Its links.").required();
  });
}

const Record<Straggler>& straggler_record() {
  return described([](Record<Straggler>& r) {
    using S = Straggler;
    r.about("A rank or link that is slow.");
    r.row<&S::what>("gemm, memory, network or link.").required();
    r.row<&S::rank>(kFromZero, "Number of the rank.").required();
    r.row<&S::other>("other_rank", kFromZero, "The other end of a link.");
    r.written_if([](const S& straggler) { return straggler.other >= 0; });
    r.row<&S::relative_time>("Time over the median.").required();
    r.row<&S::score>("Distance from the median in deviations.");
    r.required();
    r.row<&S::sentence>("The same as a sentence.").required();
  });
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
  r.row<&F::created>("Time of the calibration, UTC.").required();
  r.row<&F::tool_version>("Version of meshwright.");
  r.row<&F::command>("Command that made it.");
  r.row<&F::machine>(machine_record).required();
  r.row<&F::cluster>(cluster_record).required();
  r.row<&F::inference>(inference_rates_record, "Rates of the trial's inference engine.");
  r.omitted_at_default();
  r.row<&F::fits>(fit_record, "What was fitted.");
  r.row<&F::not_measured>("What is modelled or unknown therefore.");
  r.row<&F::dropped>(
      "Points without a time, each with the reason: a library refused them, a result was wrong, "
      "or measuring them ended the calibration twice.");
  r.omitted_at_default();
  r.row<&F::notes>("Points left out or noisy, a loaded machine.");
  r.row<&F::ranks>(rank_record, "Speed of the ranks.");
  r.row<&F::stragglers>(straggler_record, "Slow ranks and links.");
  r.row<&F::points>("measurements", point_record, "Measured points, in order.");
  r.row<&F::onto>("Cluster onto which it was measured; absent: nothing was there before.");
  r.omitted_at_default();
  r.row<&F::num_ranks>(kFromZero, "Ranks that measured together.");
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
