"""One training step of the published model in eager PyTorch, to compare speeds with.

    python scotch_step.py FOLDER [--steps N]

Reads weights, data and noise from FOLDER (`index.json`, `tensors.f32`) and prints one line of JSON:
CPU milliseconds of the fastest step on one thread, loss and gradient norm of the first step, peak memory.

Written the straightforward way, series batched, steps in a loop. The diffusion is evaluated once per
solver step; everything else is computed as the model is usually written down.
"""

import argparse
import json
import math
import resource
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

WARM_UP_STEPS = 1


class Linear(nn.Module):
    """y = W x + b with stored weights."""

    def __init__(self, stored, name):
        super().__init__()
        self.weight = nn.Parameter(stored[f"{name}.weight"])
        self.bias = nn.Parameter(stored[f"{name}.bias"].flatten())

    def forward(self, x):
        return functional.linear(x, self.weight, self.bias)


class NodeMlp(nn.Module):
    """Two hidden layers with LeakyReLU and a skip wherever the widths match."""

    def __init__(self, stored, name):
        super().__init__()
        self.layers = nn.ModuleList([Linear(stored, f"{name}.{idx}") for idx in range(3)])

    def forward(self, x):
        for layer in self.layers[:2]:
            y = functional.leaky_relu(layer(x), 0.01)
            x = x + y if x.shape[-1] == y.shape[-1] else y
        return self.layers[2](x)


class NodeFunction(nn.Module):
    """out_j = combine(sum_i G_ij w_ij message(z_i, e_i), e_j)_j."""

    def __init__(self, stored, name):
        super().__init__()
        self.embeddings = nn.Parameter(stored[f"{name}.embeddings"])
        self.edge_weights = nn.Parameter(stored[f"{name}.edge_weights"])
        self.message = NodeMlp(stored, f"{name}.message")
        self.combine = NodeMlp(stored, f"{name}.combine")

    def forward(self, state, graph):
        embeddings = self.embeddings.expand(len(state), -1, -1)
        one_variable_per_row = torch.diag_embed(state)
        messages = self.message(torch.cat([one_variable_per_row, embeddings], -1))
        aggregates = torch.einsum("nij,nio->njo", graph * self.edge_weights, messages)
        outputs = self.combine(torch.cat([aggregates, embeddings], -1))
        return torch.diagonal(outputs, dim1=1, dim2=2)


class Scotch(nn.Module):
    """The whole model."""

    def __init__(self, stored):
        super().__init__()
        self.edge_logits = nn.Parameter(stored["edge_logits"])
        self.prior_mean = nn.Parameter(stored["initial_prior.mean"].flatten())
        self.prior_log_scale = nn.Parameter(stored["initial_prior.log_scale"].flatten())
        self.initial_mean = Linear(stored, "initial_state.mean")
        self.initial_log_scale = Linear(stored, "initial_state.log_scale")
        self.prior_drift = NodeFunction(stored, "prior_drift")
        self.diffusion = NodeFunction(stored, "diffusion")
        self.posterior_drift = nn.Sequential(
            Linear(stored, "posterior_drift.0"),
            nn.Softplus(),
            Linear(stored, "posterior_drift.2"),
            nn.Softplus(),
            Linear(stored, "posterior_drift.4"),
        )
        hidden = stored["encoder.gru.weight_hh_l0"].shape[1]
        self.gru = nn.GRU(len(self.edge_logits), hidden, batch_first=True)
        for name, parameter in self.gru.named_parameters():
            parameter.data = stored[f"encoder.gru.{name}"].view_as(parameter).clone()
        self.context = Linear(stored, "encoder.linear")

    def sample_graph(self, logistic, temperature):
        """Hard samples whose gradient is that of the relaxed ones."""
        soft = torch.sigmoid((self.edge_logits + logistic) / temperature)
        hard = (soft > 0.5).to(soft.dtype)
        return hard + soft - soft.detach()

    def contexts(self, observed, graph):
        states = self.gru(observed.flip(1))[0].flip(1)
        flat = graph.flatten(1).unsqueeze(1).expand(-1, states.shape[1], -1)
        return self.context(torch.cat([states, flat], -1))

    def loss(self, data, settings):
        graph = self.sample_graph(data["graph_noise"], settings["temperature"])
        self_edges = torch.eye(graph.shape[-1])
        diffusion_graph = graph * (1 - self_edges) + self_edges
        contexts = self.contexts(data["observed"], graph)

        mean = self.initial_mean(contexts[:, 0])
        log_scale = self.initial_log_scale(contexts[:, 0])
        state = mean + log_scale.exp() * data["initial_noise"]
        variance_and_gap = (2 * log_scale).exp() + (mean - self.prior_mean) ** 2
        initial_kl = self.prior_log_scale - log_scale - 0.5
        initial_kl = initial_kl + variance_and_gap / (2 * (2 * self.prior_log_scale).exp())

        times, observed_times = data["grid"], data["times"]
        states, path_kl = [state], 0.0
        for step in range(len(times) - 1):
            dt = times[step + 1] - times[step]
            seen = int((observed_times <= times[step]).sum())
            context = contexts[:, min(seen, len(observed_times) - 1)]
            posterior = self.posterior_drift(torch.cat([state, context], -1))
            prior = self.prior_drift(state, graph)
            diffusion = torch.sigmoid(self.diffusion(state, diffusion_graph))
            floor = settings["diffusion_floor"]
            divisor = torch.where(diffusion > floor, diffusion, torch.full_like(diffusion, floor))
            control = (posterior - prior) / divisor
            path_kl = path_kl + 0.5 * (control**2).sum() * float(dt)
            noise = data["path_noise"][:, step] * math.sqrt(dt)
            state = state + posterior * float(dt) + diffusion * noise
            states.append(state)

        latent = interpolate(torch.stack(states, 1), times, observed_times)
        scale = settings["noise_scale"]
        log_likelihood = -(data["observed"] - latent).abs() / scale - math.log(2 * scale)
        sparsity = settings["sparsity"] * graph.abs().sum() / len(graph)
        probabilities = torch.sigmoid(self.edge_logits)
        entropy = functional.binary_cross_entropy_with_logits(
            self.edge_logits, probabilities, reduction="sum"
        )
        divergence = settings["kl_weight"] * (initial_kl.sum() + path_kl)
        return -log_likelihood.sum() + divergence + sparsity - entropy


def solver_grid(times, step_size):
    """Steps of the same length, the last one shortened; times add up in single precision."""
    grid, step_size = [times[0]], np.float32(step_size)
    while grid[-1] < times[-1]:
        grid.append(min(grid[-1] + step_size, times[-1]))
    return np.array(grid)


def interpolate(states, grid, times):
    """States `[series, grid time, variable]` read off at the observation times."""
    after = np.clip(np.searchsorted(grid, times), 1, len(grid) - 1)
    weight = (times - grid[after - 1]) / (grid[after] - grid[after - 1])
    weight = torch.from_numpy(weight).unsqueeze(-1)
    return states[:, after - 1] * (1 - weight) + states[:, after] * weight


def read(folder):
    """Settings, data and weights of a folder."""
    settings = json.loads((folder / "index.json").read_text())
    numbers = torch.from_numpy(np.fromfile(folder / "tensors.f32", dtype="<f4"))
    data, weights = {}, {}
    for name, place in settings["tensors"].items():
        tensor = numbers[place["offset"] :][: math.prod(place["shape"])].view(place["shape"])
        if name.startswith("parameter."):
            weights[name.removeprefix("parameter.")] = tensor.clone()
        else:
            data[name] = tensor
    data["times"] = data["times"].numpy()
    data["grid"] = solver_grid(data["times"], settings["step_size"])
    assert len(data["grid"]) == data["path_noise"].shape[1] + 1, "as many steps as noise"
    return settings, data, weights


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=5, help="timed steps")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    settings, data, weights = read(arguments.folder)
    model = Scotch(weights)
    n_stored = sum(tensor.numel() for tensor in weights.values())
    assert sum(parameter.numel() for parameter in model.parameters()) == n_stored, "all weights"
    optimiser = torch.optim.Adam(model.parameters(), lr=settings["learning_rate"])
    first, cpu_ms = None, []
    for step in range(WARM_UP_STEPS + arguments.steps):
        start = time.process_time()
        optimiser.zero_grad()
        loss = model.loss(data, settings)
        loss.backward()
        optimiser.step()
        if step >= WARM_UP_STEPS:
            cpu_ms.append((time.process_time() - start) * 1e3)
        if first is None:
            squares = sum(p.grad.double().square().sum().item() for p in model.parameters())
            first = {"loss": loss.item(), "gradient_norm": math.sqrt(squares)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024e-6
    result = {"cpu_ms": min(cpu_ms), **first, "peak_memory_mb": peak}
    print(json.dumps({**result, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
