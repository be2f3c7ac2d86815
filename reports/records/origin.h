// SPDX-License-Identifier: Apache-2.0
// Where an artefact came from: the program's version, the command, and the fingerprints of its
// inputs. It holds no clock and no host name, so that the same input gives the same bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/record/record.h"

namespace meshwright::reports {

struct InputFile {
  std::string name;    // its part: "model", "cluster", "job", "plan", "trials"
  std::string file;    // as the user named it
  std::string sha256;  // of its bytes
};

struct Origin {
  std::string tool_version;
  std::string command;  // to be typed again
  std::vector<InputFile> inputs;
};

// "tool_version", "command", "inputs": after "schema" how every artefact opens.
const Record<Origin>& origin_record();
// The rows of a file whose origin is a member.
template <typename File>
void add_origin(Record<File>& r) {
  r.rows_of(
      origin_record(), [](auto& file) -> auto& { return file.origin; });
}

// Throws InputError when the artefact is of another kind or version.
void require_schema(const Json& json, const std::string& file, std::string_view schema);

}  // namespace meshwright::reports
