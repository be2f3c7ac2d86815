#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of serving predictions on the shipped points stay within tests/published/serving_limits.json.

usage: serving_gate.py PROGRAM
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

DEVIATIONS = 1.645  # ends of a 90 % interval


def main():
    limits = json.load(open("tests/published/serving_limits.json"))
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "points.json")
        for name, rows in limits["sets"].items():
            subprocess.run([sys.argv[1], "serve", "backtest", f"configs/datasets/{name}", "--format", "json",
                            "--out", out], check=True, stderr=subprocess.DEVNULL)
            points = json.load(open(out))["points"]
            for quantity, limit in rows.items():
                errors, inside = [], 0
                for point in points:
                    said = point["predicted"].get(quantity)
                    measured = point["measured"].get(quantity)
                    if said and measured:
                        errors.append(abs(said / measured - 1))
                        ends = math.exp(DEVIATIONS * point["spread"][quantity])
                        inside += said / ends <= measured <= said * ends
                found = {"points": len(errors), "median_error": statistics.median(errors),
                         "mean_error": statistics.mean(errors), "inside_interval": inside / len(errors)}
                print(name, quantity, {k: round(v, 3) for k, v in found.items()})
                failed += [f"{name}: {quantity}: {key} is {found[key]:.3f}, at most {most}"
                           for key, most in limit.items()
                           if key != "inside_interval" and key != "points" and found[key] > most]
                for key in ("points", "inside_interval"):
                    if found[key] < limit[key]:
                        failed.append(f"{name}: {quantity}: {key} is {found[key]:.3f}, at least {limit[key]}")
    print("\n".join(failed))
    return 1 if failed else 0


sys.exit(main())
