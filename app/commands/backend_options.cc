// SPDX-License-Identifier: Apache-2.0
#include "app/commands/backend_options.h"

#include <fmt/format.h>

#include <sstream>

#include "calibrate/backends/module.h"
#include "sim/base/error.h"
#include "sim/json/reader.h"

namespace meshwright::app {

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

void check_backend(const std::string& backend) {
  if (backend != "cpu" && backend != "cuda") {
    throw InputError("--backend", "", fmt::format("must be cpu or cuda, is \"{}\"", backend),
                     nearest(backend, {"cpu", "cuda"}));
  }
  const std::string reason = calibrate::open_module(backend).unavailable();
  if (!reason.empty()) throw SystemError("backend " + backend + ": " + reason);
}

}  // namespace meshwright::app
