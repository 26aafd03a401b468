"""Paths of a fitted model in PyTorch, to compare speeds with.

    python simulate_paths.py FOLDER [--paths N] [--steps N] [--timed N]

Reads the model from FOLDER (`index.json`, `tensors.f64`) and prints one line of JSON: CPU seconds of all
steps on one thread, and the moments of all variables at the end.

Written the straightforward way: all paths in one batch, steps in a loop, each path under its own graph. Every
step costs the same, so that with `--timed` only the first ones are run and their time is scaled up.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional


def load(folder):
    index = json.loads((folder / "index.json").read_text())
    numbers = np.fromfile(folder / "tensors.f64", dtype="<f8")
    tensors = {}
    for entry in index["tensors"]:
        size = math.prod(entry["shape"])
        values = numbers[entry["offset"] : entry["offset"] + size].reshape(entry["shape"])
        tensors[entry["name"]] = torch.tensor(values, dtype=torch.float32)
    return index, tensors


def mlp(tensors, name, x):
    """Two hidden layers with LeakyReLU and a skip wherever the widths match."""
    for layer in range(2):
        weight, bias = tensors[f"{name}.{layer}.weight"], tensors[f"{name}.{layer}.bias"]
        y = functional.leaky_relu(functional.linear(x, weight, bias.flatten()), 0.01)
        x = x + y if x.shape[-1] == y.shape[-1] else y
    return functional.linear(x, tensors[f"{name}.2.weight"], tensors[f"{name}.2.bias"].flatten())


def node_function(tensors, name, state, strengths):
    """out_j = combine(sum_i G_ij message(z_i, e_i), e_j)_j."""
    embeddings = tensors[f"{name}.embeddings"].expand(len(state), -1, -1)
    messages = mlp(tensors, f"{name}.message", torch.cat([torch.diag_embed(state), embeddings], -1))
    aggregates = torch.einsum("nij,nio->njo", strengths, messages)
    outputs = mlp(tensors, f"{name}.combine", torch.cat([aggregates, embeddings], -1))
    return torch.diagonal(outputs, dim1=1, dim2=2)


@torch.no_grad()
def simulate(index, tensors, n_paths, n_steps):
    d = len(index["increment_scales"])
    scales = torch.tensor(index["increment_scales"], dtype=torch.float32)
    step = index["step"]
    probabilities = torch.sigmoid(tensors["lagged.edge_logits"])
    graphs = (torch.rand(n_paths, d, d) < probabilities).float()
    deviations = tensors["lagged.log_deviations"].exp()
    effects = graphs * (tensors["lagged.means"] + deviations * torch.randn(n_paths, d, d))
    strengths = graphs / math.sqrt(max(0.25 * d, 1.0))
    noise = scales * tensors["log_diffusions"].flatten().exp() * math.sqrt(step)
    state = tensors["initial.means"] + tensors["initial.log_deviations"].exp() * torch.randn(n_paths, d)
    offsets = tensors["offsets"].flatten()
    for _ in range(n_steps):
        drift = offsets + torch.einsum("ni,nij->nj", state, effects)
        drift = drift + node_function(tensors, "drift_net", state, strengths)
        state = state + step * scales * drift + noise * torch.randn(n_paths, d)
    return state


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--paths", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--timed", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    index, tensors = load(arguments.folder)
    simulate(index, tensors, arguments.paths, 1)
    timed = arguments.timed or arguments.steps
    start = time.process_time()
    state = simulate(index, tensors, arguments.paths, timed)
    seconds = (time.process_time() - start) * arguments.steps / timed
    means, scales = torch.tensor(index["means"]), torch.tensor(index["scales"])
    state = state.double() * scales + means
    result = {
        "cpu_seconds": seconds,
        "timed_steps": timed,
        "means": state.mean(0).tolist(),
        "deviations": state.std(0).tolist(),
        "torch": torch.__version__,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
