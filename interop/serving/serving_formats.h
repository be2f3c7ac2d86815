// SPDX-License-Identifier: Apache-2.0
// Formats of deployments: Kubernetes kinds, values of charts, Ray's configuration. Each is a row
// that tells by what it is known and where its facts stand. Fields count from a deployment. A list
// of fields is separated by spaces, and the first that is there counts. "*" stands for each member
// of a list or map. Source: the operators and charts named beside the rows.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace meshwright::interop {

// A field that the operator hands to the engine as an option.
struct FormatOption {
  std::string_view field;   // with a last "*": each field below is the option of its name
  std::string_view option;  // empty: the field holds words of the engine
  std::string_view
      if_not{};  // option where the field is false or absent beside others of its group
};

struct ServingFormat {
  std::string_view api;    // beginning of apiVersion; empty: it is not looked at
  std::string_view claim;  // kind; with a last dot, a key that no other format has
  std::string_view name;
  std::string_view parts{};       // deployments of the document
  std::string_view containers{};  // of a deployment; empty: the deployment itself is one
  std::string_view replicas{"replicas"}, nodes{}, gpus{}, role{}, model{};
  std::string_view program{};  // that the operator starts where the container names none
  std::span<const FormatOption> options{};
  std::string_view text{};  // a field that holds a document of another format
};
std::span<const ServingFormat> serving_formats();

// Tells whether a text claims a format that only services have.
bool claims_serving_format(std::string_view text);

// GPUs of a cloud's machine, "Standard_NC80adis_H100_v5"; 0: it is not known.
int gpus_of_machine(std::string_view name);

}  // namespace meshwright::interop
