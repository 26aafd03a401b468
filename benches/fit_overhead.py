"""The time of a fit from Python, beside the binary on the same job.

    python fit_overhead.py BINARY [--rounds N]

Both fit the same table with the same settings on two threads, in turns; Python starts from a frame in memory, the
binary from a file. Prints one line of JSON: least wall and CPU seconds of each, and whether the bytes agree.
"""

import argparse
import json
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from driftgraph import Scotch, systems

SETTINGS = {"select": "none", "ensemble": 2, "steps": 800, "seed": 1, "threads": 2}


def cpu_seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def measured(work, who):
    wall, cpu = time.perf_counter(), cpu_seconds(who)
    result = work()
    return {"wall": time.perf_counter() - wall, "cpu": cpu_seconds(who) - cpu}, result


def fit_with_report(frame):
    """What the binary does: it writes a report with every fit."""
    model = Scotch(**SETTINGS, progress=lambda news: None).fit(frame)
    model.report()
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    data = systems.gene_network(variables=40, n_series=20, n_points=101, seed=0)
    data.to_csv(folder / "data.csv")
    frame = data.to_pandas()
    flags = [text for name, value in SETTINGS.items() for text in (f"--{name}", str(value))]
    python, binary = [], []
    for number in range(args.rounds):
        out = folder / f"run-{number}"
        command = [str(args.binary), "fit", str(folder / "data.csv"), *flags, "--out", str(out)]
        run = lambda: subprocess.run(command, check=True, capture_output=True)
        binary.append(measured(run, resource.RUSAGE_CHILDREN)[0])
        seconds, model = measured(lambda: fit_with_report(frame), resource.RUSAGE_SELF)
        python.append(seconds)
        same = (model.folder / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()
        assert same, "the two fits differ"
    least = lambda rounds, clock: min(one[clock] for one in rounds)
    print(
        json.dumps(
            {
                f"{name}_{clock}_seconds": least(rounds, clock)
                for name, rounds in (("python", python), ("binary", binary))
                for clock in ("wall", "cpu")
            }
        )
    )


if __name__ == "__main__":
    main()
