"""The schemes in which workers push to parameter servers, and what others call them."""

from __future__ import annotations

from collections.abc import Mapping

from mlhub.runtime.strategies.catalogue.declarations import FEWER_BYTES, PERIOD, WARMUP, Parameter, Preset, Scheme
from mlhub.wire.launch import Mode

_SCALING = Parameter(str, "none", choices=("none", "zhang", "dynsgd", "gupta", "dc", "dc_adaptive"))
_STALE = {
    "staleness_scaling": _SCALING,
    "dc_strength": Parameter(float, 0.04, minimum=0.0),
    "dc_decay": Parameter(float, 0.95, minimum=0.0, maximum=0.99999),
}
_SERVERS = Mode.PARAMETER_SERVER


def _on_servers(about: str, **parameters: Parameter) -> Scheme:
    return Scheme(about, _SERVERS, parameters, is_lockstep=False, survives=True)


WITH_SERVERS: Mapping[str, Scheme] = {
    "bsp": Scheme("Synchronous parameter servers: every step waits for every worker.", _SERVERS, FEWER_BYTES),
    "hierarchical": Scheme(
        "bsp with `leaves` of the servers between: each adds up its workers' gradients and forwards the sum, so that "
        "the roots receive as many gradients as there are leaves. For many workers.",
        _SERVERS,
        {"leaves": Parameter(int, 2, minimum=1, maximum=1024), **FEWER_BYTES},
    ),
    "asp": _on_servers("Asynchronous: every push is applied at once.", warmup_steps=WARMUP, **_STALE, **FEWER_BYTES),
    "sparse_rows": _on_servers(
        "Asynchronous; a step moves only the rows of embeddings that its batch names. For large nn.Embedding layers, "
        "with plain SGD or Adagrad."
    ),
    "bounded_delay": _on_servers(
        "Asynchronous, and workers compute on while their last `max_outstanding` exchanges are under way: hides slow "
        "links behind staleness.",
        max_outstanding=Parameter(int, 1, minimum=0, maximum=64),
        staleness_scaling=Parameter(str, "dynsgd", choices=("none", "zhang", "dynsgd")),
        **FEWER_BYTES,
    ),
    "ssp": _on_servers(
        "Stale synchronous: nobody starts more than `staleness` steps ahead of the slowest. Helps against workers "
        "that are slow at random, not against one that is always slow.",
        staleness=Parameter(int, 3, minimum=0, maximum=10_000),
        warmup_steps=WARMUP,
        **_STALE,
        **FEWER_BYTES,
    ),
    "softsync": _on_servers(
        "A version of every `group` pushes; workers wait for it only with `block`.",
        group=Parameter(int, 2, minimum=1, maximum=10_000),
        block=Parameter(bool, False),
        warmup_steps=WARMUP,
        **_STALE,
        **FEWER_BYTES,
    ),
    "k_of_n": _on_servers(
        "The first k gradients make a version, the late ones are discarded.", k=Parameter(int, 1, minimum=1)
    ),
    "downpour": _on_servers(
        "Workers push summed gradients every n_push steps and fetch weights every n_fetch.",
        n_push=Parameter(int, 1, minimum=1),
        n_fetch=Parameter(int, 1, minimum=1),
        warmup_steps=WARMUP,
        **FEWER_BYTES,
    ),
    "adag": _on_servers("Workers train `window` steps alone and push the mean of their way.", window=PERIOD),
    "dynsgd": _on_servers("Workers push their way of `window` steps, which counts less when stale.", window=PERIOD),
    "easgd": _on_servers(
        "Workers train by themselves, tied elastically to a centre every `window` steps.",
        window=PERIOD,
        alpha=Parameter(float, 0.5, minimum=0.0, maximum=1.0, above_minimum=True),
        momentum=Parameter(float, 0.0, minimum=0.0, maximum=0.999),
    ),
}  # fmt: skip

_ELASTIC_NAMES = {"communication_window": "window"}
_ELASTIC_PRODUCTS = {"alpha": {"rho": 5.0, "learning_rate": 0.1}}  # dist-keras' defaults

NAMES_WITH_SERVERS: Mapping[str, Preset] = {
    "elephas-asynchronous": Preset("asp"),
    "hogwild": Preset("asp"),
    "mxnet-dist-sync": Preset("bsp"),
    "mxnet-dist-async": Preset("asp"),
    "rudra-softsync": Preset("softsync", {"staleness_scaling": "gupta"}, aliases={"s": "group"}),
    "dc-asgd": Preset("asp", {"staleness_scaling": "dc"}, aliases={"lambda": "dc_strength"}),
    "dc-asgd-a": Preset(
        "asp",
        {"staleness_scaling": "dc_adaptive", "dc_strength": 2.0},
        aliases={"lambda": "dc_strength", "m": "dc_decay"},
    ),
    "mxnet-row-sparse": Preset("sparse_rows"),
    "rudra-adv": Preset("hierarchical"),
    "bounded-delay": Preset("bounded_delay", aliases={"tau": "max_outstanding"}),
    "mxnet-2bit": Preset("bsp", {"compression": "two_bit"}),
    "byteps-onebit": Preset("bsp", {"compression": "scaled_sign"}),
    "byteps-dithering": Preset(
        "bsp",
        {"compression": "dithering"},
        aliases={"k": "levels", "dithering_partition": "partition", "dithering_normalize": "norm"},
    ),
    "staleness-aware": Preset("asp", {"staleness_scaling": "zhang"}),
    "backup-workers": Preset("k_of_n"),
    "dist-keras-downpour": Preset("downpour", {"n_push": 5, "n_fetch": 5}),
    "dist-keras-adag": Preset("adag", {"window": 12}, aliases={"communication_window": "window"}),
    "dist-keras-dynsgd": Preset("dynsgd", {"window": 5}, aliases={"communication_window": "window"}),
    "aeasgd": Preset("easgd", {"window": 32, "alpha": 0.5}, _ELASTIC_NAMES, products=_ELASTIC_PRODUCTS),
    "eamsgd": Preset("easgd", {"window": 32, "momentum": 0.9}, _ELASTIC_NAMES, products=_ELASTIC_PRODUCTS),
}
