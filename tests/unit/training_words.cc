// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/training_words.h"

#include <algorithm>

#include "sim/base/text.h"
#include "sim/json/input_records.h"

namespace meshwright::test {

void TrainingWords::read(
    const std::string& text,
    const std::function<bool(const std::string& key, const std::string& value)>& takes) {
  const Json jobs = job_record().schema()["properties"];
  const Json models = model_record().schema()["properties"];
  bool has_experts = false;
  for (const std::string& word : split_words(text)) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals);
    const std::string value = word.substr(std::min(equals + 1, word.size()));
    if (takes(key, value)) continue;
    has_experts |= word == "experts";
    Json* const record = jobs.contains(key)      ? &job
                         : models.contains(key)  ? &model
                         : experts.contains(key) ? &experts
                                                 : nullptr;
    if (record != nullptr) {
      (*record)[key] = Json::accept(value) ? Json::parse(value) : Json(value);
    } else if (word != "experts") {
      layout += word + " ";
    }
  }
  if (has_experts) model["moe"] = experts;
}

}  // namespace meshwright::test
