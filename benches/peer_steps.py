"""Training steps of NGM, CUTS and Rhino in eager PyTorch, to compare speeds with.

Their references cannot be installed by name, so what they compute in a step was written down again from its description
(NGM on torchdiffeq's adjoint solver, as its reference). `check` runs each on the golden numbers of the references first:
a time counts only for the same computation. Times are CPU seconds of one thread, the least of some steps.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional

torch.set_num_threads(1)

Stored = dict[str, torch.Tensor]


def tensors(values: dict[str, Any]) -> Stored:
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}


def cpu_seconds(step: Callable[[], object], rounds: int) -> float:
    """The least of some rounds after one that warms up."""
    step()
    best = math.inf
    for _ in range(rounds):
        begin = time.process_time()
        step()
        best = min(best, time.process_time() - begin)
    return best


def require_close(found: float, wanted: float, tolerance: float, what: str) -> None:
    if abs(found - wanted) > tolerance * max(1.0, abs(wanted)):
        raise SystemExit(f"{what}: {found} here, {wanted} in the golden file: not the same computation")


# NGM


class Ngm(nn.Module):
    """dx_e/dt = w2_e . elu(W1_e x + b1_e) + b2_e."""

    def __init__(self, stored: Stored) -> None:
        super().__init__()
        self.first, self.first_bias = nn.Parameter(stored["fc1.weight"]), nn.Parameter(stored["fc1.bias"])
        self.last, self.last_bias = nn.Parameter(stored["fc2.0.weight"]), nn.Parameter(stored["fc2.0.bias"])

    def forward(self, _time: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        n = state.shape[-1]
        hidden = functional.elu(functional.linear(state, self.first, self.first_bias))
        hidden = hidden.reshape(*state.shape[:-1], n, -1)
        weights = self.last.reshape(n, hidden.shape[-1])
        return (hidden * weights).sum(-1) + self.last_bias.flatten()


class NgmTraining:
    def __init__(self, stored: Stored, rate: float, sparsity: float) -> None:
        self.model, self.sparsity = Ngm(stored), sparsity
        self.adam = torch.optim.Adam(self.model.parameters(), lr=rate)

    def step(self, times: torch.Tensor, observed: torch.Tensor) -> float:
        from torchdiffeq import odeint_adjoint

        self.adam.zero_grad()
        path = odeint_adjoint(self.model, observed[0], times, rtol=1e-7, atol=1e-9, method="dopri5")
        loss = ((path - observed) ** 2).mean()
        loss.backward()
        self.adam.step()
        with torch.no_grad():
            n = observed.shape[-1]
            groups = self.model.first.reshape(n, -1, n)
            norms = groups.norm(dim=1, keepdim=True)
            groups *= (norms - 0.01 * self.sparsity).clamp(min=0) / norms.clamp(min=1e-300)
        return loss.item()


def check_ngm(golden: dict[str, Any]) -> None:
    case = golden["cases"][0]
    training = NgmTraining(tensors(case["params"]), case["lr"], case["GL_reg"])
    rows = torch.tensor(case["X"], dtype=torch.float64)
    times = torch.arange(case["horizon"], dtype=torch.float64) * len(rows) / (len(rows) - 1)
    for step in case["steps"]:
        observed = torch.stack([rows[torch.tensor(step["starts"]) + offset] for offset in range(case["horizon"])])
        require_close(training.step(times, observed), step["loss"], 1e-6, "NGM's loss")


def ngm(values: np.ndarray) -> float:
    """A step of 20 windows of 5 rows from first weights, as the paper sets it."""
    generator = torch.Generator().manual_seed(0)
    n, hidden = values.shape[1], 12

    def uniform(bound: float, *shape: int) -> torch.Tensor:
        return bound * (2 * torch.rand(*shape, generator=generator, dtype=torch.float64) - 1)

    stored = {
        "fc1.weight": uniform(n**-0.5, n * hidden, n),
        "fc1.bias": uniform(n**-0.5, n * hidden),
        "fc2.0.weight": uniform(hidden**-0.5, n, hidden),
        "fc2.0.bias": uniform(hidden**-0.5, n),
    }
    training = NgmTraining(stored, 0.005, 0.05)
    rows = torch.tensor(values, dtype=torch.float64)
    times = torch.arange(5, dtype=torch.float64) * len(rows) / (len(rows) - 1)

    def step() -> None:
        starts = torch.randperm(len(rows) - 5, generator=generator)[:20]
        training.step(times, torch.stack([rows[starts + offset] for offset in range(5)]))

    return cpu_seconds(step, 5)


# CUTS


class Cuts:
    """One network per target; two stages of each epoch on the same batches."""

    def __init__(self, stored: Stored, n: int, rates: tuple[float, float], decay: float) -> None:
        self.n = n
        names = [[name for name in stored if name.startswith(f"fitting_model.{target}.")] for target in range(n)]
        self.networks = [[stored[name].clone().requires_grad_() for name in names[target]] for target in range(n)]
        self.adam = torch.optim.Adam([each for one in self.networks for each in one], lr=rates[0], weight_decay=decay)
        self.theta_rate = rates[1]

    def begin(self, theta: torch.Tensor) -> None:
        self.theta = theta.clone().requires_grad_()
        self.theta_adam = torch.optim.Adam([self.theta], lr=self.theta_rate)

    def loss(self, x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, graph: torch.Tensor) -> torch.Tensor:
        """`x` is [sample, cause, lag], `graph` [sample, target, cause, lag]."""
        found = []
        for target, network in enumerate(self.networks):
            units = (x * graph[:, target]).flatten(1)
            for weight, bias in zip(network[0:-2:2], network[1:-2:2]):
                units = functional.leaky_relu(functional.linear(units, weight, bias), 0.05)
            found.append(functional.linear(units, network[-2], network[-1]))
        predicted = torch.cat(found, 1)
        return ((y * mask - predicted * mask) ** 2).mean() / mask.mean()

    def predict(self, x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, graph: torch.Tensor) -> float:
        self.adam.zero_grad()
        loss = self.loss(x, y, mask, graph)
        loss.backward()
        self.adam.step()
        return loss.item()

    def learn_graph(
        self, x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, gumbels: torch.Tensor, tau: float, penalty: float
    ) -> float:
        """`gumbels` is [sample, target, cause, lag, 2]."""
        self.theta_adam.zero_grad()
        likely = torch.sigmoid(self.theta)
        logits = torch.stack([likely, 1 - likely], -1)
        graph = functional.softmax((logits + gumbels) / tau, -1)[..., 0]
        loss = self.loss(x, y, mask, graph) + penalty * likely.sum() / self.n**2
        loss.backward()
        self.theta_adam.step()
        return loss.item()


def check_cuts(golden: dict[str, Any]) -> None:
    step, graph_step = golden["prediction_step"], golden["graph_step"]

    def number(value: Any) -> torch.Tensor:
        return torch.tensor(value, dtype=torch.float64)

    cuts = Cuts(tensors(golden["params"]), golden["n"], (step["lr"], graph_step["lr"]), step["weight_decay"])
    cuts.begin(number(golden["theta"]))
    x, y, mask = number(golden["x"]), number(golden["y"]), number(golden["mask"])
    x = x.reshape(golden["batch"], golden["n"], golden["lag"])
    y, mask = y.reshape(golden["batch"], golden["n"]), mask.reshape(golden["batch"], golden["n"])
    shape = (golden["batch"], golden["n"], golden["n"], golden["lag"])
    loss = cuts.predict(x, y, mask, number(step["sampled_graph"]).reshape(shape))
    require_close(loss, step["loss"], 1e-8, "CUTS' loss of a prediction")
    gumbels = number(graph_step["gumbels"]).reshape(*shape, 2)
    loss = cuts.learn_graph(x, y, mask, gumbels, graph_step["tau"], graph_step["lam"])
    require_close(loss, graph_step["loss"], 1e-8, "CUTS' loss of a graph")
    after = number(graph_step["theta_after"])
    require_close((cuts.theta.detach() - after).abs().max().item(), 0.0, 1e-8, "CUTS' graph after a step")


def cuts(values: np.ndarray) -> float:
    """An epoch of seven batches of 128, three hidden layers of 128 units, five lags: the authors' settings for Netsim."""
    generator = torch.Generator().manual_seed(0)
    n, lags, width, batch = values.shape[1], 5, 128, 128
    sizes = [n * lags, width, width, width, 1]
    stored: Stored = {}
    for target in range(n):
        for idx, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
            name = f"fitting_model.{target}.network.{2 * idx}"
            stored[f"{name}.weight"] = 0.1 * torch.randn(outputs, inputs, generator=generator)
            stored[f"{name}.bias"] = 0.1 * torch.randn(outputs, generator=generator)
    model = Cuts(stored, n, (1e-4, 1e-2), 0.001)
    model.begin(torch.zeros(n, n, lags))
    rows = torch.tensor(values, dtype=torch.float32)

    def epoch() -> None:
        order = lags + torch.randperm(len(rows) - lags, generator=generator)
        batches = order[: len(order) // batch * batch].split(batch)
        data = [(torch.stack([rows[one - lags + lag] for lag in range(lags)], -1), rows[one]) for one in batches]
        mask = torch.ones(batch, n)
        for x, y in data:
            likely = torch.sigmoid(model.theta).detach().expand(batch, -1, -1, -1)
            model.predict(x, y, mask, torch.bernoulli(likely, generator=generator))
        for x, y in data:
            gumbels = -torch.log(torch.empty(batch, n, n, lags, 2).exponential_(generator=generator))
            model.learn_graph(x, y, mask, gumbels, 1.0, 5.0)

    return cpu_seconds(epoch, 5)


# Rhino


class Network(nn.Module):
    """Hidden layers, each after the first normalised, the input added where widths are equal; then a normalised linear one."""

    def __init__(self, stored: Stored, name: str) -> None:
        super().__init__()

        def parameters(which: str) -> nn.ParameterList:
            pair = (stored[f"{name}.{which}.weight"], stored[f"{name}.{which}.bias"])
            return nn.ParameterList([nn.Parameter(one) for one in pair])

        n_hidden = 1 + sum(f"{name}.{idx}.block.0.weight" in stored for idx in range(1, 10))
        self.first = parameters("0.0")
        self.norms = nn.ModuleList([parameters(f"{idx}.block.0") for idx in range(1, n_hidden)])
        self.layers = nn.ModuleList([parameters(f"{idx}.block.1") for idx in range(1, n_hidden)])
        self.norms.append(parameters(str(n_hidden)))
        self.last = parameters(str(n_hidden + 1))

    @staticmethod
    def unit(layer: nn.ParameterList, x: torch.Tensor, shortcut: torch.Tensor) -> torch.Tensor:
        found = functional.leaky_relu(functional.linear(x, *layer), 0.01)
        return found + shortcut if found.shape == shortcut.shape else found

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.unit(self.first, x, x)
        for norm, layer in zip(self.norms, self.layers):
            x = self.unit(layer, functional.layer_norm(x, x.shape[-1:], *norm), x)
        return functional.linear(functional.layer_norm(x, x.shape[-1:], *self.norms[-1]), *self.last)


class Rhino(nn.Module):
    """Mean through gates and weights, noise through gates: a linear spline whose form depends on the past."""

    def __init__(self, stored: Stored, within: bool) -> None:
        super().__init__()
        self.within = within
        self.weights = nn.Parameter(stored["ICGNN.W"])
        self.embeddings = nn.Parameter(stored["ICGNN.f.embeddings"])
        self.message, self.combine = Network(stored, "ICGNN.f.g"), Network(stored, "ICGNN.f.f")
        self.logits = nn.Parameter(stored["var_dist_A.logits"])
        self.lagged = nn.Parameter(stored["var_dist_A.logits_lag"])
        noise, name = nn.Module(), "likelihoods.continuous"
        noise.embeddings = nn.Parameter(stored[f"{name}.hypernet.embeddings"])
        noise.scale = nn.Parameter(stored[f"{name}.hypernet.init_scale"])
        noise.message = Network(stored, f"{name}.hypernet.g")
        noise.combine = Network(stored, f"{name}.hypernet.f")
        for idx, place in enumerate(("0", "2")):
            setattr(noise, f"a{idx}", nn.Parameter(stored[f"{name}.transform.{place}.a"]))
            setattr(noise, f"b{idx}", nn.Parameter(stored[f"{name}.transform.{place}.b"]))
        self.noise = noise

    def graph(self, gumbels: torch.Tensor, lag_gumbels: torch.Tensor) -> torch.Tensor:
        n = self.weights.shape[-1]

        def hard(logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
            soft = functional.softmax((logits + noise) / 0.25, 0)
            one_hot = torch.zeros_like(soft).scatter_(0, soft.argmax(0, keepdim=True), 1.0)
            return one_hot - soft.detach() + soft

        now = self.weights.new_zeros(n, n)
        if self.within:
            pairs, (rows, columns) = hard(self.logits, gumbels), torch.tril_indices(n, n, -1)
            now = now.index_put((rows, columns), pairs[0]).index_put((columns, rows), pairs[1])
        return torch.cat([now[None], hard(self.lagged, lag_gumbels)[1]])

    def entropy(self) -> torch.Tensor:
        def of(logits: torch.Tensor) -> torch.Tensor:
            logs = functional.log_softmax(logits, 0)
            return -(logs.exp() * logs).sum()

        return of(self.logits) + of(self.lagged)

    def log_density(self, x: torch.Tensor, graph: torch.Tensor) -> torch.Tensor:
        """`x` is [window, time, variable], the present last."""
        n = x.shape[-1]

        def told(which: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
            return torch.cat([torch.diag_embed(rows), which.expand(len(x), -1, -1, -1)], -1)

        def combined(network: Network, sums: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
            return network(torch.cat([sums, which[0].expand(len(x), -1, -1)], -1))

        off_diagonal = 1 - torch.eye(n, dtype=x.dtype)
        weights = torch.cat([self.weights[:1] * off_diagonal, self.weights[1:]]) * graph
        messages = self.message(told(self.embeddings, x)).flip(1)
        means = combined(self.combine, torch.einsum("kce,nkcq->neq", weights, messages), self.embeddings)
        rest = x[:, -1] - torch.diagonal(means, dim1=1, dim2=2)
        noise = self.noise
        messages = noise.message(told(noise.embeddings[1:], x[:, :-1])).flip(1)
        sums = torch.einsum("kce,nkcq->neq", graph[1:], messages)
        raw = combined(noise.combine, sums, noise.embeddings) * noise.scale
        middle = (rest - noise.b1) * torch.exp(-noise.a1)
        middle, log_slope = spline_inverse(raw, middle)
        normal = (middle - noise.b0) * torch.exp(-noise.a0)
        logs = -0.5 * normal**2 - 0.5 * math.log(2 * math.pi) - noise.a0 - noise.a1 + log_slope
        return logs.sum(-1)


def spline_inverse(raw: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The inverse of a linear rational spline of 8 bins on [-5, 5], and the logarithm of its slope."""
    bins, bound = 8, 5.0
    widths, heights, slopes, shares = raw.split([bins, bins, bins - 1, bins], -1)

    def knots(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        sizes = 0.001 + (1 - 0.001 * bins) * functional.softmax(logits, -1)
        ends = 2 * bound * functional.pad(sizes.cumsum(-1), (1, 0)) - bound
        ends = torch.cat([ends[..., :-1], torch.full_like(ends[..., :1], bound)], -1)
        return ends, ends[..., 1:] - ends[..., :-1]

    (xs, widths), (ys, heights) = knots(widths), knots(heights)
    slopes = functional.pad(0.001 + functional.softplus(slopes), (1, 1), value=1 - 0.001)
    shares = 0.025 + 0.95 * torch.sigmoid(shares)
    inside = (y >= -bound) & (y <= bound)
    held = y.clamp(-bound, bound)
    place = ((ys + 1e-6) <= held[..., None]).sum(-1, keepdim=True).sub(1).clamp(0, bins - 1)

    def at(values: torch.Tensor, offset: int = 0) -> torch.Tensor:
        return values.gather(-1, place + offset).squeeze(-1)

    x0, w, y0, h, share = at(xs), at(widths), at(ys), at(heights), at(shares)
    d0, d1, s = at(slopes), at(slopes, 1), at(heights) / at(widths)
    wb = torch.sqrt(d0 / d1)
    wc = (share * d0 + (1 - share) * wb * d1) / s
    yb = y0 + h
    yc = ((1 - share) * y0 + share * wb * yb) / ((1 - share) + share * wb)
    low = held <= yc
    top = torch.where(low, share * (y0 - held), (wc - share * wb) * held + share * wb * yb - wc * yc)
    bottom = torch.where(low, (wc - 1) * held + y0 - wc * yc, (wc - wb) * held + wb * yb - wc * yc)
    factor = torch.where(low, wc * share * (yc - y0) * w, wb * wc * (1 - share) * (yb - yc) * w)
    log_slope = torch.log(factor) - 2 * torch.log(bottom.abs())
    return torch.where(inside, x0 + w * top / bottom, y), torch.where(inside, log_slope, torch.zeros_like(y))


class RhinoTraining:
    def __init__(self, model: Rhino, rates: tuple[float, float], penalties: dict[str, float]) -> None:
        self.model, self.penalties = model, penalties
        noise = {id(one) for one in model.noise.parameters()}
        others = [one for one in model.parameters() if id(one) not in noise]
        self.adam = torch.optim.Adam(
            [{"params": others, "lr": rates[0]}, {"params": list(model.noise.parameters()), "lr": rates[1]}]
        )

    def step(self, x: torch.Tensor, gumbels: torch.Tensor, lag_gumbels: torch.Tensor) -> float:
        self.adam.zero_grad()
        graph = self.model.graph(gumbels, lag_gumbels)
        cyclicity = torch.trace(torch.matrix_exp(graph[0])) - graph.shape[-1]
        p = self.penalties
        prior = p["lam"] * graph.abs().sum() - self.model.entropy()
        penalty = prior + p["alpha"] * cyclicity + p["rho"] * cyclicity**2 / 2
        loss = -self.model.log_density(x, graph).mean() + penalty / p["N"]
        loss.backward()
        self.adam.step()
        return loss.item()


def check_rhino(golden: dict[str, Any]) -> None:
    case = next(case for case in golden["cases"] if case["name"] == "linear_noinst")
    rates = (case["adam_lr"]["other"], case["adam_lr"]["likelihoods"])
    training = RhinoTraining(Rhino(tensors(case["params"]), within=False), rates, case["loss_settings"])
    x, gumbels, lagged = (torch.tensor(case[name], dtype=torch.float64) for name in ("x", "gumbel_inst", "gumbel_lag"))
    for wanted in case["losses_of_3_steps"]:
        require_close(training.step(x, gumbels, lagged), wanted, 1e-8, "Rhino's loss")


def rhino(values: np.ndarray, within: bool) -> float:
    """A step of 64 windows with two lags and two hidden layers of 64: the release's settings for Netsim."""
    generator = torch.Generator().manual_seed(0)
    n, lags, width, batch = values.shape[1], 2, 64, 64
    stored: Stored = {"ICGNN.W": torch.zeros(lags + 1, n, n), "likelihoods.continuous.hypernet.init_scale": torch.tensor(0.001)}

    def network(name: str, inputs: int, outputs: int) -> None:
        for place, (rows, columns) in {"0.0": (width, inputs), "1.block.1": (width, width), "3": (outputs, width)}.items():
            stored[f"{name}.{place}.weight"] = columns**-0.5 * (2 * torch.rand(rows, columns, generator=generator) - 1)
            stored[f"{name}.{place}.bias"] = torch.zeros(rows)
        for place in ("1.block.0", "2"):
            stored[f"{name}.{place}.weight"], stored[f"{name}.{place}.bias"] = torch.ones(width), torch.zeros(width)

    network("ICGNN.f.g", 2 * n, n)
    network("ICGNN.f.f", 2 * n, n)
    network("likelihoods.continuous.hypernet.g", 2 * n, max(32, n))
    network("likelihoods.continuous.hypernet.f", max(32, n) + n, 31)
    for name in ("ICGNN.f", "likelihoods.continuous.hypernet"):
        stored[f"{name}.embeddings"] = 0.01 * torch.randn(lags + 1, n, n, generator=generator)
    for place in ("0", "2"):
        stored[f"likelihoods.continuous.transform.{place}.a"] = torch.ones(n)
        stored[f"likelihoods.continuous.transform.{place}.b"] = torch.zeros(n)
    pairs = n * (n - 1) // 2
    stored["var_dist_A.logits"], stored["var_dist_A.logits_lag"] = torch.zeros(3, pairs), torch.zeros(2, lags, n, n)
    penalties = {"lam": 25.0, "alpha": 0.0, "rho": 1.0, "N": float(len(values))}
    training = RhinoTraining(Rhino(stored, within), (0.001, 0.001), penalties)
    rows = torch.tensor(values, dtype=torch.float32)

    def gumbel(*shape: int) -> torch.Tensor:
        return -torch.log(torch.empty(*shape).exponential_(generator=generator))

    def step() -> None:
        last = lags + torch.randperm(len(rows) - lags, generator=generator)[:batch]
        x = torch.stack([rows[last - lags + lag] for lag in range(lags + 1)], 1)
        training.step(x, gumbel(3, pairs), gumbel(2, lags, n, n))

    return cpu_seconds(step, 40)


def measure(values: np.ndarray, golden: Path) -> dict[str, float]:
    """CPU seconds of a step of each, on rows of the shape of Netsim, once it is shown to be the reference's."""

    def numbers(name: str) -> dict[str, Any]:
        return json.loads((golden / f"{name}.json").read_text(encoding="utf-8"))

    check_ngm(numbers("ngm"))
    check_cuts(numbers("cuts"))
    check_rhino(numbers("rhino"))
    return {
        "ngm": ngm(values),
        "cuts": cuts(values),
        "rhino": rhino(values, within=True),
        "rhino-noinst": rhino(values, within=False),
    }
