#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_hf_logits.py DUMP OUT: the logits that HF transformers computes from a dump of dump_weights.

The model class is transformers' own (LlamaForCausalLM, Qwen2ForCausalLM), in float32, its weights the
FP16 numbers of the dump. OUT gets a line a position: the position, then its logits. Needs torch and
transformers; the tests read only what this wrote.
"""
import json
import sys

import numpy
import torch
import transformers


def read_dump(path):
    with open(path, "rb") as dump:
        shape = json.loads(dump.readline())
        tensors = {}
        while line := dump.readline():
            name, rows, columns = line.split()
            n = int(rows) * int(columns)
            values = numpy.frombuffer(dump.read(2 * n), dtype="<f2").astype(numpy.float32)
            two = "norm" not in name.decode() and "bias" not in name.decode()
            tensors[name.decode()] = torch.from_numpy(
                values.reshape(int(rows), int(columns)) if two else values
            )
    return shape, tensors


def build(shape, tensors):
    config_class, model_class = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    }[shape["family"]]
    config = config_class(
        vocab_size=shape["n_vocab"],
        hidden_size=shape["d_model"],
        intermediate_size=shape["d_ff"],
        num_hidden_layers=shape["n_layers"],
        num_attention_heads=shape["n_heads"],
        num_key_value_heads=shape["n_kv_heads"],
        max_position_embeddings=shape["n_positions_max"],
        rms_norm_eps=shape["norm_eps"],
        rope_theta=shape["rope_theta"],
        rope_parameters={"rope_type": "default", "rope_theta": shape["rope_theta"]},
        tie_word_embeddings=shape["tied"],
        attn_implementation="eager",
    )
    model = model_class(config).to(torch.float32).eval()
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    allowed = {"lm_head.weight"} if shape["tied"] else set()
    if set(missing) - allowed or unexpected:
        sys.exit(f"tensors missing: {missing}, unexpected: {unexpected}")
    model.tie_weights()
    rotary = model.model.rotary_emb.inv_freq
    step = shape["rope_theta"] ** (-2.0 / shape["d_head"])
    if abs(float(rotary[1]) / step - 1) > 1e-5:
        sys.exit("the rotary base is not the shape's")
    return model


def main():
    shape, tensors = read_dump(sys.argv[1])
    model = build(shape, tensors)
    with torch.no_grad():
        logits = model(torch.tensor([shape["tokens"]])).logits[0]
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write(
            f"# {shape['name']}: transformers {transformers.__version__}, torch "
            f"{torch.__version__.split('+')[0]}, float32 on FP16 weights; position, then logits\n"
        )
        for position in (0, 7, len(shape["tokens"]) - 1):
            numbers = " ".join(f"{value:.6g}" for value in logits[position].tolist())
            out.write(f"{position} {numbers}\n")


main()
