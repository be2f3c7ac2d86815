// SPDX-License-Identifier: Apache-2.0
#include "app/files/observations.h"

#include <fmt/format.h>

#include "reports/records/serving_trials.h"
#include "sim/base/error.h"
#include "sim/json/records.h"
#include "sim/record/reader.h"

namespace meshwright::app {

namespace {

const reports::InputFile* plan_in(const reports::Origin& origin) {
  for (const reports::InputFile& input : origin.inputs) {
    if (input.name == "plan") return &input;
  }
  return nullptr;
}

bool are_of_service(const Json& trials) {
  return trials.is_object() &&
         trials.value("schema", Json()) == Json(reports::kServingTrialsSchema);
}

}  // namespace

std::string caution_about(const Json& trials, const std::string& file,
                          const reports::Origin& origin, bool force) {
  const bool says = trials.is_object() && trials.contains("inputs");
  const reports::Origin theirs =
      says ? reports::origin_record().read({{"inputs", trials["inputs"]}}, file)
           : reports::Origin{};
  const reports::InputFile* of = plan_in(theirs);
  const reports::InputFile* here = plan_in(origin);
  if (of == nullptr) {
    return fmt::format("warning: {} does not state which plan it was made from.", file);
  }
  if (here == nullptr || of->sha256 == here->sha256) return "";
  const std::string differs = fmt::format(
      "trials of another plan: {} was made from {} (sha256 {:.12}...), not from {} "
      "({:.12}...)",
      file, of->file, of->sha256, here->file, here->sha256);
  if (!force) {
    throw InputError(differs,
                     "run meshwright trial on this plan, or use --force to compare them anyway");
  }
  return "CAUTION, forced: " + differs + ".";
}

void require_service_trials(const Json& trials, const std::string& file) {
  if (are_of_service(trials)) return;
  throw InputError(file, "", "has no trials of a service, and the plan is one",
                   "run meshwright trial on this plan");
}

void refuse_service_trials(const Json& trials, const std::string& file) {
  if (!are_of_service(trials)) return;
  throw InputError(file, "", "has trials of a service, and the plan is one of a training run",
                   "run meshwright trial on this plan");
}

std::vector<Observation> observations_from_json(const Json& json, const std::string& file) {
  const bool is_list = json.is_array();
  const Json& list = is_list ? json : ObjectReader(json, file).required_array("observations");
  std::vector<Observation> observations;
  for (std::size_t i = 0; i < list.size(); ++i) {
    observations.push_back(observation_from_json(
        list[i], file, fmt::format("{}/{}", is_list ? "" : "/observations", i)));
  }
  return observations;
}

}  // namespace meshwright::app
