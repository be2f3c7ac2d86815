// SPDX-License-Identifier: Apache-2.0
#include "reports/records/origin.h"

#include <fmt/format.h>

namespace meshwright::reports {
namespace {

const Record<InputFile>& input_file_record() {
  return described([](Record<InputFile>& r) {
    using R = InputFile;
    r.about("A file that the answer was made from.");
    r.row<&R::name>("Its part: model, cluster, job, plan, trials.");
    r.row<&R::file>("As the user named it.");
    r.row<&R::sha256>("Of its bytes, in hexadecimal digits.");
    r.named("Input").all_required();
  });
}

}  // namespace

const Record<Origin>& origin_record() {
  return described([](Record<Origin>& r) {
    using R = Origin;
    r.about("Where an artefact came from.");
    r.row<&R::tool_version>().absent_in_older_files();
    r.row<&R::command>("Makes the file again.").absent_in_older_files();
    r.row<&R::inputs>(input_file_record).absent_in_older_files();
  });
}

void require_schema(const Json& json, const std::string& file, std::string_view schema) {
  ObjectReader reader(json, file);
  const std::string found = reader.optional_string("schema", "");
  if (found == schema) return;
  reader.fail("schema", fmt::format("must be \"{}\" (got \"{}\")", schema, found));
}

}  // namespace meshwright::reports
