# SPDX-License-Identifier: Apache-2.0
"""The program's questions as functions. Each asks the program that this wheel carries, and returns its records."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
import typing

from meshwright import records

PROGRAM = pathlib.Path(__file__).parent / "bin" / "meshwright"

# A name of a shipped file, a path, or the file's content.
Input = typing.Union[str, "os.PathLike[str]", typing.Mapping[str, typing.Any]]
# A value of an option: a list is joined by commas, True is a switch; None and False leave the option out.
Option = typing.Union[None, bool, int, float, str, "os.PathLike[str]", typing.Sequence[typing.Union[int, float, str]]]

_WRONG_INPUT = 2


class MeshwrightError(Exception):
    """What the program refused, or could not do."""

    def __init__(self, message: str, hint: str, exit_code: int) -> None:
        super().__init__(f"{message}\n  hint: {hint}" if hint else message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


class InputError(MeshwrightError):
    """An input is wrong: the message has its file, JSON pointer and value, and what is allowed."""


def _program() -> str:
    return os.environ.get("MESHWRIGHT_PROGRAM", str(PROGRAM))


def _words(options: typing.Mapping[str, Option]) -> list[str]:
    words = []
    for key, value in options.items():
        name = "--" + key.replace("_", "-")
        if value is True:
            words.append(name)
        elif isinstance(value, (list, tuple)):
            words.append(f"{name}={','.join(str(one) for one in value)}")
        elif value is not None and value is not False:
            words.append(f"{name}={value}")
    return words


def _error(said: str, exit_code: int) -> MeshwrightError:
    """The last error that the program said, with its hint."""
    mark = "meshwright: error: "
    message, _, hint = said[said.rfind(mark) + len(mark):].partition("\n  hint: ") if mark in said else (said, "", "")
    kind = InputError if exit_code == _WRONG_INPUT else MeshwrightError
    return kind(message.strip(), hint.strip(), exit_code)


def ask(*words: str, **options: Option) -> dict[str, typing.Any]:
    """The JSON of a command: ask("cluster", "list") or ask("plan", model="llama-3-8b", cluster="h100-8").

    Raises InputError for wrong input, MeshwrightError where the program fails. That nothing fits is an answer.
    """
    done = subprocess.run([_program(), *words, *_words(options), "--format=json"], capture_output=True, text=True, check=False)
    if done.returncode > 1 or not done.stdout:
        raise _error(done.stderr, done.returncode)
    answer: dict[str, typing.Any] = json.loads(done.stdout)
    return answer


def _asked(command: str, inputs: typing.Mapping[str, Input | None], options: typing.Mapping[str, Option]) -> dict[str, typing.Any]:
    """ask() with inputs that may be a file's content."""
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, Option] = {}
        for name, value in inputs.items():
            if isinstance(value, typing.Mapping):
                file = pathlib.Path(folder) / f"{name}.json"
                file.write_text(json.dumps(value), encoding="utf-8")
                value = file
            files[name] = value
        return ask(*command.split(), **files, **options)


def plan(model: Input, cluster: Input, *, job: Input | None = None, **options: Option) -> records.Plan:
    """The fastest layouts of a training job. Options are those of `meshwright plan`, "_" for "-": gpus=[64, 128]."""
    return records.Plan.from_dict(_asked("plan", {"model": model, "cluster": cluster, "job": job}, options))


def estimate(model: Input, cluster: Input, layout: Input, *, job: Input | None = None, **options: Option) -> records.EstimateAnswer:
    """Time, memory and volume of one layout, such as "tp=4,pp=2,dp=8,mbs=1,zero=1"."""
    inputs = {"model": model, "cluster": cluster, "layout": layout, "job": job}
    return records.EstimateAnswer.from_dict(_asked("estimate", inputs, options))


def volume(model: Input, cluster: Input, layout: Input, *, job: Input | None = None, **options: Option) -> records.VolumeAnswer:
    """Each collective of one layout with its bytes."""
    inputs = {"model": model, "cluster": cluster, "layout": layout, "job": job}
    return records.VolumeAnswer.from_dict(_asked("volume", inputs, options))


def serve(model: Input, cluster: Input, **options: Option) -> records.ServePlan:
    """Deployments of an inference engine for a load: isl=4000, osl=1000, rate=8, ttft="2s", tpot="30ms"."""
    return records.ServePlan.from_dict(_asked("serve", {"model": model, "cluster": cluster}, options))


def capacity(model: Input, cluster: Input | None = None, *, job: Input | None = None, **options: Option) -> records.CapacityAnswer:
    """Days, cost and energy by cluster, GPU count and batch: gpus=[512, 1024], train_tokens="2T"."""
    return records.CapacityAnswer.from_dict(_asked("capacity", {"model": model, "cluster": cluster, "job": job}, options))


def review(launch: str | os.PathLike[str], cluster: Input, *, model: Input | None = None,
           **options: Option) -> records.Review | records.ServeReview:
    """Whether a launch file runs and fits, its predicted times, and what would be faster."""
    answer = _asked("review", {"cluster": cluster, "model": model}, {"from": launch, **options})
    kind = records.ServeReview if str(answer["schema"]).startswith("meshwright.serve_review/") else records.Review
    return kind.from_dict(answer)


def backtest(runs: str | os.PathLike[str], **options: Option) -> records.Backtest:
    """Predictions of measured runs beside what was measured."""
    return records.Backtest.from_dict(ask("backtest", str(runs), **options))
