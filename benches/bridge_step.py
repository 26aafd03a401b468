"""One training step of the bridge posterior in PyTorch, to compare speeds with.

    python bridge_step.py FOLDER [--steps N] [--single]

Reads parameters, paths, data and noise from FOLDER (`index.json`, `tensors.f64`) and prints one line of JSON:
CPU milliseconds of the middle step on one thread (forward, backward, Adam), the ELBO's terms and the
gradient norm of the first batch, peak memory. Numbers are doubles, or floats with `--single`.

Vectorised over all steps, variables and sampled graphs, with the same savings as ours: only the rows that a batch
touches are differentiated and updated, steps that share a grid share its variances, embeddings are multiplied once per
step, and of the combining net's outputs only the one that is used is computed. Places of rows are
prepared beforehand, Adam of the common parameters is PyTorch's fused one.
"""

import argparse
import json
import math
import resource
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

WARM_UP_STEPS = 10
BETAS = (0.9, 0.99)
ALPHA, BETA = 0.5, 5.0


def load(folder, dtype):
    index = json.loads((folder / "index.json").read_text())
    numbers = np.fromfile(folder / "tensors.f64", dtype="<f8")

    def read(name, kind):
        entry = index["tensors"][name]
        size = math.prod(entry["shape"])
        values = numbers[entry["offset"] : entry["offset"] + size].reshape(entry["shape"])
        return torch.tensor(values, dtype=kind)

    tensors = {}
    for name in index["tensors"]:
        tensors[name] = read(name, torch.int64 if name.startswith("batch") else dtype)
    return index, tensors


class Batch:
    """Places of the rows that a batch touches, and what is constant in them."""

    def __init__(self, tensors, number):
        get = lambda name: tensors[f"batch{number}.{name}"]
        self.points, self.spreads = get("points"), get("spreads")
        self.distinct, self.step_distinct = get("distinct"), get("step_distinct")
        self.step_points = get("step_points")
        self.starts = (get("start_points"), get("start_spreads"))
        self.step_spreads = self.distinct[self.step_distinct]
        self.observed_points = torch.cat([self.starts[0], self.step_points + 1])
        self.observed_spreads = torch.cat([self.starts[1], self.step_spreads + 1])
        self.observed = tensors["observed"][self.points[self.observed_points]]
        self.lengths = tensors["step_lengths"][self.spreads[self.distinct]][:, None]
        self.step_lengths = self.lengths[self.step_distinct]


class LazyAdam:
    """Adam for rows that learn only when a batch touches them, each with its own step count."""

    def __init__(self, values, rate):
        self.values, self.rate = values, rate
        self.first, self.second = torch.zeros_like(values), torch.zeros_like(values)
        self.n_steps = torch.zeros(len(values), 1, dtype=values.dtype)

    def step(self, rows, gradient):
        n_steps = self.n_steps[rows] + 1
        first = self.first[rows].lerp_(gradient, 1 - BETAS[0])
        second = self.second[rows].mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        self.n_steps[rows], self.first[rows], self.second[rows] = n_steps, first, second
        root = second.div_(1 - BETAS[1] ** n_steps).sqrt_().add_(1e-8)
        self.values.index_add_(0, rows, first.div_(1 - BETAS[0] ** n_steps).div_(root), alpha=-self.rate)


class Model:
    def __init__(self, index, tensors):
        self.index, self.n_batches = index, index["n_batches"]
        stored = {name[10:]: t for name, t in tensors.items() if name.startswith("parameter.")}
        self.parameters = {name: t.clone().requires_grad_() for name, t in stored.items()}
        self.paths = [tensors[f"paths.{part}"] for part in ("means", "log_deviations", "correlations")]
        self.scales = tensors["increment_scales"]
        self.d = len(self.scales)
        rates = index["rates"]
        groups = {}
        for name, parameter in self.parameters.items():
            groups.setdefault(part_of(name), []).append(parameter)
        groups = [{"params": members, "lr": rates[part]} for part, members in groups.items()]
        self.optimiser = torch.optim.Adam(groups, betas=BETAS, fused=True)
        self.lazy = [LazyAdam(values, rates["paths"]) for values in self.paths]

    def elbo_terms(self, batch, draws=None):
        """Terms of the batch's ELBO, and the leaves that hold its rows of the paths."""
        rows = (batch.points, batch.spreads, batch.spreads)
        local = [values[places].requires_grad_() for values, places in zip(self.paths, rows)]
        means, log_deviations, correlations = local
        gated = self.gated_moments()
        if self.index["is_neural"]:
            path_kl = self.sampled_path_kl(batch, local, gated, draws or self.draw(batch, gated))
        else:
            path_kl = self.exact_path_kl(batch, local, gated)
        log_noise = self.parameters["noise.log_scales"]
        gap = batch.observed - means[batch.observed_points]
        deviations = log_deviations[batch.observed_spreads]
        square = (gap * gap + (2 * deviations).exp()) * (-2 * log_noise).exp()
        log_likelihood = -(0.5 * square + log_noise).sum() - 0.5 * math.log(math.tau) * gap.numel()
        terms = {
            "log_likelihood": self.n_batches * log_likelihood,
            "initial_kl": self.n_batches * self.initial_kl(batch, means, log_deviations),
            "path_kl": self.n_batches * path_kl,
            "graph_kl": self.graph_kl(gated),
        }
        return terms, local

    def gated_moments(self):
        p = torch.sigmoid(self.parameters["lagged.edge_logits"])
        effects = self.parameters["lagged.means"]
        square = effects * effects + (2 * self.parameters["lagged.log_deviations"]).exp()
        mean, second = p * effects, p * square
        return {"p": p, "square": square, "mean": mean, "second": second, "variance": second - mean * mean}

    def initial_kl(self, batch, means, log_deviations):
        points, spreads = batch.starts
        log_prior = self.parameters["initial.log_deviations"]
        gap, log_ratio = means[points] - self.parameters["initial.means"], log_deviations[spreads] - log_prior
        return (0.5 * (gap * gap * (-2 * log_prior).exp() + (2 * log_ratio).exp() - 1) - log_ratio).sum()

    def surprise(self, batch, residuals, variances):
        log_scales = self.parameters["log_diffusions"]
        precisions = (-2 * log_scales).exp() / batch.step_lengths
        square = (residuals * residuals + variances) * precisions
        return (0.5 * square + log_scales + 0.5 * batch.step_lengths.log()).sum()

    def exact_path_kl(self, batch, local, gated):
        means, log_deviations, correlations = local
        here, next_ = log_deviations[batch.distinct], log_deviations[batch.distinct + 1]
        raw, h = correlations[batch.distinct], batch.lengths
        square, next_square = (2 * here).exp(), (2 * next_).exp()
        cross = torch.tanh(raw) * (here + next_).exp()
        increment_variances = (square + next_square - 2 * cross) / self.scales**2
        covariances = h * (cross - square) / self.scales
        # log(1 - tanh^2) without cancellation.
        log_rest = 2 * math.log(2) - 2 * raw.abs() - 2 * functional.softplus(-2 * raw.abs())
        log_variances = 2 * next_ + log_rest - 2 * self.scales.log()
        shared = (h * h * square) @ gated["second"] + increment_variances
        shared = shared - 2 * covariances * gated["mean"].diagonal()
        at_start, at_end = means[batch.step_points], means[batch.step_points + 1]
        inputs, increments = batch.step_lengths * at_start, (at_end - at_start) / self.scales
        drift = batch.step_lengths * self.parameters["offsets"] + inputs @ gated["mean"]
        variances = (inputs * inputs) @ gated["variance"] + shared[batch.step_distinct]
        entropy = 0.5 * (1 + log_variances)[batch.step_distinct].sum()
        return self.surprise(batch, increments - drift, variances) - entropy

    def draw(self, batch, gated):
        noise = torch.randn(len(batch.step_points), self.d, dtype=self.scales.dtype)
        p = gated["p"].detach()
        return noise, (torch.rand(self.index["n_graphs"], *p.shape, dtype=p.dtype) < p).to(p.dtype)

    def sampled_path_kl(self, batch, local, gated, draws):
        means, log_deviations, correlations = local
        noise, graphs = draws
        here, next_ = log_deviations[batch.step_spreads].exp(), log_deviations[batch.step_spreads + 1].exp()
        raw, h = correlations[batch.step_spreads], batch.step_lengths
        at_start, at_end = means[batch.step_points], means[batch.step_points + 1]
        states = at_start + here * noise
        increments = (at_end - at_start + (torch.tanh(raw) * next_ - here) * noise) / self.scales
        step_variances = (next_ / (torch.cosh(raw) * self.scales)) ** 2
        # Hard samples whose derivative is that of their probability.
        graphs = graphs + (gated["p"] - gated["p"].detach())
        net, linear = self.node_function(states, graphs, gated)
        inputs = h * states
        drift = h * self.parameters["offsets"] + inputs @ gated["mean"] + h * net
        variances = step_variances + (inputs * inputs) @ gated["variance"] + 2 * h * h * net * linear
        entropy = 0.5 * (1 + step_variances.log()).sum()
        return self.surprise(batch, increments - drift, variances) - entropy

    def node_function(self, states, graphs, gated):
        """Outputs, and the linear drift's deviation from its mean, with steps dealt among graphs in turns."""
        parameter = lambda name: self.parameters[f"drift_net.{name}"]
        n, (n_graphs, d) = len(states), graphs.shape[:2]
        dealt = functional.pad(states, (0, 0, 0, -n % n_graphs)).view(-1, n_graphs, d)
        dealt = dealt.permute(1, 2, 0)  # [graph, variable, step]
        effects = graphs * self.parameters["lagged.means"] - gated["mean"]
        linear = effects.transpose(1, 2) @ dealt
        embeddings = parameter("embeddings")
        size, width = embeddings.shape[1], len(parameter("message.1.weight"))
        first = parameter("message.0.weight")
        offsets = embeddings @ first[:, d:].T + parameter("message.0.bias")
        hidden = functional.leaky_relu(dealt[..., None] * first[:, :d].T[:, None] + offsets[:, None])
        messages = functional.linear(self.hidden("message", hidden), parameter("message.2.weight"), parameter("message.2.bias").flatten())
        strengths = graphs.transpose(1, 2) / math.sqrt(max(0.25 * d, 1))
        sums = (strengths @ messages.flatten(2)).view(n_graphs, d, -1, size)
        first = parameter("combine.0.weight")
        offsets = embeddings @ first[:, size:].T + parameter("combine.0.bias")
        hidden = functional.leaky_relu(sums @ first[:, :size].T + offsets[:, None])
        if 2 * size == width:
            skip = embeddings[:, None].expand(n_graphs, d, sums.shape[2], size)
            hidden = hidden + torch.cat([sums, skip], -1)
        hidden = self.hidden("combine", hidden)
        last = parameter("combine.2.weight")[:, :, None]
        outputs = (hidden @ last).squeeze(-1) + parameter("combine.2.bias").T
        back = lambda values: values.permute(2, 0, 1).reshape(-1, d)[:n]
        return back(outputs), back(linear)

    def hidden(self, net, x):
        weight, bias = self.parameters[f"drift_net.{net}.1.weight"], self.parameters[f"drift_net.{net}.1.bias"]
        return x + functional.leaky_relu(functional.linear(x, weight, bias.flatten()))

    def graph_kl(self, gated):
        p, logits = gated["p"], self.parameters["lagged.edge_logits"]
        log_slabs = self.parameters["lagged.log_slabs"].flatten()
        log_slab = torch.where(torch.eye(self.d, dtype=torch.bool), log_slabs[1], log_slabs[0])
        slab_kl = 0.5 * (gated["square"] * (-2 * log_slab).exp() - 1) + log_slab
        slab_kl = slab_kl - self.parameters["lagged.log_deviations"]
        k = p.sum(1)
        log_beta = lambda a, b: torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
        prior = log_beta(ALPHA + k, BETA + self.d - k).sum() - self.d * log_beta(*torch.tensor([ALPHA, BETA]).to(p))
        kl = (p * slab_kl + p * logits - functional.softplus(logits)).sum() - prior
        nets = [t for name, t in self.parameters.items() if name.startswith("drift_net.")]
        return kl + sum(0.5 * self.index["weight_precision"] * (t * t).sum() for t in nets)

    def gradients(self, batch, draws=None):
        terms, local = self.elbo_terms(batch, draws)
        loss = terms["initial_kl"] + terms["path_kl"] + terms["graph_kl"] - terms["log_likelihood"]
        self.optimiser.zero_grad()
        loss.backward()
        return terms, local

    def step(self, batch):
        _, local = self.gradients(batch)
        self.optimiser.step()
        for lazy, places, leaf in zip(self.lazy, (batch.points, batch.spreads, batch.spreads), local):
            lazy.step(places, leaf.grad)


def part_of(name):
    """Which learning rate a parameter has."""
    if name.endswith("edge_logits"):
        return "graph"
    if name.startswith("drift_net."):
        return "nets"
    return "effects" if name.startswith("lagged.") or name == "offsets" else "paths"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--single", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    index, tensors = load(arguments.folder, torch.float32 if arguments.single else torch.float64)
    model = Model(index, tensors)
    batches = [Batch(tensors, number) for number in range(index["n_batches"])]
    draws = (tensors["noise"], tensors["graphs"]) if index["is_neural"] else None
    terms, local = model.gradients(batches[0], draws)
    leaves = [*model.parameters.values(), *local]
    squares = sum((leaf.grad.double() ** 2).sum().item() for leaf in leaves if leaf.grad is not None)
    times = []
    for number in range(WARM_UP_STEPS + arguments.steps):
        start = time.process_time()
        model.step(batches[number % len(batches)])
        times.append(1e3 * (time.process_time() - start))
    result = {name: value.item() for name, value in terms.items()}
    result |= {
        "cpu_ms": float(np.median(times[WARM_UP_STEPS:])),
        "gradient_norm": math.sqrt(squares),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024e-6,
        "torch": torch.__version__,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
