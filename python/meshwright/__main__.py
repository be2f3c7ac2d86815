# SPDX-License-Identifier: Apache-2.0
from meshwright import run

run()
