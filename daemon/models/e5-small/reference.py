"""Writes daemon/embed/src/builtin/reference.tsv: token ids and vectors of some texts, computed by others' code from the files here.

usage: reference.py FOLDER_OF_THIS_MODEL > reference.tsv      needs: numpy, tokenizers
Weights: 4-bit blocks decoded to 32-bit floats; the forward pass of BERT, mean over all tokens, length 1, plainly in numpy.
Token ids by the `tokenizers` library, `query: ` or `passage: ` before the text. Vectors rounded to int8 at 254.
"""
import json
import math
import struct
import sys

import numpy as np
from tokenizers import Tokenizer

TEXTS = """query	How are keys rotated?
passage	Keys are rotated every ninety days. The old key stays valid for a week.
query	Wie werden Schlüssel rotiert?
passage	Schlüssel werden alle neunzig Tage gewechselt; der alte gilt noch eine Woche.
query	鍵のローテーション方法は?
passage	鍵は九十日ごとに更新されます。古い鍵は一週間有効です。
query	¿Cómo se rotan las claves?
passage	Las claves se renuevan cada noventa días y la anterior vale una semana más.
query	Comment renouveler les clés ?
passage	Les clés sont renouvelées tous les quatre-vingt-dix jours.
query	如何轮换密钥？
passage	密钥每九十天轮换一次，旧密钥在一周内仍然有效。
query	Как меняются ключи?
passage	Ключи меняются каждые девяносто дней; старый ключ действует ещё неделю.
query	Come si ruotano le chiavi?
passage	Le chiavi vengono cambiate ogni novanta giorni.
query	Como são trocadas as chaves?
passage	As chaves são trocadas a cada noventa dias.
query	Jak wymieniane są klucze?
passage	Klucze są wymieniane co dziewięćdziesiąt dni.
query	키는 어떻게 교체됩니까?
passage	키는 90일마다 교체되며 이전 키는 일주일 동안 유효합니다.
query	كيف يتم تدوير المفاتيح؟
passage	يتم تدوير المفاتيح كل تسعين يومًا.
query	कुंजियाँ कैसे बदली जाती हैं?
passage	Anahtarlar doksan günde bir değiştirilir.
query	Hur roteras nycklar?
passage	Các khóa được xoay vòng mỗi chín mươi ngày.
query	Τα κλειδιά αλλάζουν κάθε ενενήντα μέρες.
passage	กุญแจจะถูกเปลี่ยนทุกเก้าสิบวัน
query	ﬁnding  ｆｕｌｌ　ｗｉｄｔｈ   cafe\u0301 ½ № ™
passage	`kgctl status --json` → {"state": "done"} 👩‍💻 a\u200bb\u00a0c"""


def tensors(path):
    data = open(path, "rb").read()
    (size,) = struct.unpack_from("<Q", data)
    head = json.loads(data[8 : 8 + size])
    types = {"F32": "<f4", "F16": "<f2", "U8": "u1"}
    raw = {}
    for name, it in head.items():
        if name != "__metadata__":
            start, end = it["data_offsets"]
            raw[name] = np.frombuffer(data[8 + size + start : 8 + size + end], types[it["dtype"]]).reshape(it["shape"])
    out = {}
    for name, it in raw.items():
        if name.endswith(".q"):
            rows, n = it.shape
            halves = np.concatenate([(it & 15).reshape(rows, -1, 16), (it >> 4).reshape(rows, -1, 16)], axis=2)
            scale = raw[name[:-2] + ".d"].astype(np.float32)[:, :, None]
            out[name[:-2]] = ((halves.astype(np.float32) - 8) * scale).reshape(rows, n * 2)
        elif not name.endswith(".d"):
            out[name] = it
    return out


ERF = np.vectorize(math.erf, otypes=[np.float32])


def vector(w, config, ids):
    width, heads = config["hidden_size"], config["num_attention_heads"]

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + config["layer_norm_eps"])
        return x * w[name + ".weight"] + w[name + ".bias"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    at = "embeddings."
    x = w[at + "word_embeddings.weight"][ids] + w[at + "position_embeddings.weight"][: len(ids)]
    x = norm(x + w[at + "token_type_embeddings.weight"][0], at + "LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        q, k, v = (
            linear(x, f"{at}attention.self.{part}").reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // heads)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), width)
        x = norm(linear(mixed, at + "attention.output.dense") + x, at + "attention.output.LayerNorm")
        wide = linear(x, at + "intermediate.dense")
        wide = wide * (ERF(wide / math.sqrt(2)) + 1) / 2
        x = norm(linear(wide, at + "output.dense") + x, at + "output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


folder = sys.argv[1]
w, config = tensors(folder + "/model_q4.safetensors"), json.load(open(folder + "/config.json"))
tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
print("# made by daemon/models/e5-small/reference.py: kind, text, token ids, vector in int8")
for line in TEXTS.split("\n"):
    kind, text = line.split("\t")
    ids = tokenizer.encode(f"{kind}: {text}").ids
    numbers = np.round(vector(w, config, ids) * 254).astype(int)
    print(kind, text, " ".join(map(str, ids)), " ".join(map(str, numbers)), sep="\t")
