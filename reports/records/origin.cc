// SPDX-License-Identifier: Apache-2.0
#include "reports/records/origin.h"

#include <fmt/format.h>

namespace meshwright::reports {
namespace {

const Record<InputFile>& input_file_record() {
  static const Record<InputFile> record = [] {
    using R = InputFile;
    Record<R> r("A file that the answer was made from.");
    r.row(&R::name, "name", kind::text(), "Its part: model, cluster, job, plan, trials.");
    r.row(&R::file, "file", kind::text(), "As the user named it.");
    r.row(&R::sha256, "sha256", kind::text(), "Of its bytes, in hexadecimal digits.");
    return r.named("Input").all_required();
  }();
  return record;
}

}  // namespace

const Record<Origin>& origin_record() {
  static const Record<Origin> record = [] {
    using R = Origin;
    Record<R> r("Where an artefact came from.");
    r.row(&R::tool_version, "tool_version", kind::text(), "").absent_in_older_files();
    r.row(&R::command, "command", kind::text(), "Makes the file again.").absent_in_older_files();
    r.row(&R::inputs, "inputs", kind::list(input_file_record), "").absent_in_older_files();
    return r;
  }();
  return record;
}

void require_schema(const Json& json, const std::string& file, std::string_view schema) {
  ObjectReader reader(json, file);
  const std::string found = reader.optional_string("schema", "");
  if (found == schema) return;
  reader.fail("schema", fmt::format("must be \"{}\" (got \"{}\")", schema, found));
}

}  // namespace meshwright::reports
