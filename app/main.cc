// SPDX-License-Identifier: Apache-2.0
#include "app/console/process.h"
#include "app/program.h"

int main(int argc, char** argv) {
  meshwright::app::prepare_process();
  return meshwright::app::run(argc, argv);
}
