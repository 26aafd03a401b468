"""Writes tables that imitate brain imaging, with their true edges: `python brain_imitation.py FOLDER SEED...` (needs numpy).

Fifteen regions follow each other and a switch of their own that is on now and then; what is seen every three seconds is
a slow response to them, later in some regions than in others, and a little noise. For trying rules on, not a benchmark.
"""

import math
import sys
from pathlib import Path

import numpy as np

REGIONS, EDGES, SERIES, ROWS = 15, 18, 5, 200
STEP, GAP = 0.05, 3.0
NEURAL_RATE = 10.0
MEAN_ON, MEAN_OFF = 2.5, 10.0


def response(delay):
    """The slow response to an impulse: a rise, and a dip after it."""
    times = np.maximum(np.arange(0, 30, STEP) - delay, 0)
    bump = lambda shape: times ** (shape - 1) * np.exp(-times) / math.gamma(shape)
    total = bump(6) - bump(16) / 6
    return total / total.sum()


def edges(random):
    """Three rings of five regions, and a few edges more."""
    found = []
    for first in range(0, REGIONS, 5):
        for place in range(5):
            pair = first + place, first + (place + 1) % 5
            turned = random.random() < 0.5 and place == 4
            found.append(pair[::-1] if turned else pair)
    while len(found) < EDGES:
        source, target = random.integers(REGIONS), random.integers(REGIONS)
        if source != target and (source, target) not in found and (target, source) not in found:
            found.append((source, target))
    return found


def series(pairs, random):
    """Rows of one subject, whose edges are stronger or weaker than those of others."""
    weights = -np.eye(REGIONS)
    for source, target in pairs:
        weights[source, target] = np.clip(random.normal(0.4, 0.1), 0.2, 0.6)
    n_steps = int(ROWS * GAP / STEP)
    switches = np.zeros((n_steps, REGIONS))
    on = random.random(REGIONS) < 0.2
    for step in range(n_steps):
        on = on ^ (random.random(REGIONS) < np.where(on, STEP / MEAN_ON, STEP / MEAN_OFF))
        switches[step] = on
    switches += random.normal(0, 0.05, switches.shape)
    state, states = np.zeros(REGIONS), np.zeros((n_steps, REGIONS))
    for step in range(n_steps):
        state = state + STEP * NEURAL_RATE * (state @ weights + switches[step])
        states[step] = state
    delays = random.normal(0, 0.5, REGIONS)
    seen = [np.convolve(states[:, j], response(delays[j]))[:n_steps] for j in range(REGIONS)]
    rows = np.stack(seen, 1)[:: int(GAP / STEP)]
    return rows + random.normal(0, 1, rows.shape) * 0.02 * rows.std(0)


def write(folder, seed):
    random = np.random.default_rng(seed)
    pairs, names = edges(random), [f"r{number}" for number in range(REGIONS)]
    lines = ["series,time," + ",".join(names)]
    for number in range(SERIES):
        for row, values in enumerate(series(pairs, random)):
            lines.append(f"s{number},{row * GAP}," + ",".join(f"{value:.5f}" for value in values))
    (folder / f"{seed}.csv").write_text("\n".join(lines) + "\n")
    own = [(number, number) for number in range(REGIONS)]
    truth = [f"{names[source]},{names[target]}" for source, target in own + pairs]
    (folder / f"{seed}.truth.csv").write_text("source,target\n" + "\n".join(truth) + "\n")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    for text in sys.argv[2:]:
        write(place, int(text))
