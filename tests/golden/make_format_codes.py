#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_format_codes.py DUMP OUT: codes and scales of one matrix by the implementations that users have.

DUMP is dump_weights' tiny-llama; the matrix is the first four rows of its first down projection, 256
columns. Q4_0 and Q8_0 come from gguf, NF4 and NF4-DQ from bitsandbytes, BF16, FP8 and INT8 (by
LLM.int8's formula) from torch. A line a list: format, what, numbers. The tests read only the output.
"""
import importlib.metadata
import sys

import bitsandbytes.functional
import gguf
import numpy
import torch

ROWS, COLUMNS = 4, 256


def read_matrix(path):
    with open(path, "rb") as dump:
        dump.readline()
        while line := dump.readline():
            name, rows, columns = line.split()
            data = dump.read(2 * int(rows) * int(columns))
            if name == b"model.layers.0.mlp.down_proj.weight":
                values = numpy.frombuffer(data, dtype="<f2").astype(numpy.float32)
                return values.reshape(int(rows), int(columns))[:ROWS].copy()
    sys.exit("the dump has no down projection")


def line(out, name, what, numbers):
    out.write(f"{name} {what} " + " ".join(f"{n:.9g}" for n in numpy.ravel(numbers)) + "\n")


def ggml(out, matrix):
    for name, kind, size in (("Q4_0", "Q4_0", 18), ("Q8_0", "Q8_0", 34)):
        kind = gguf.GGMLQuantizationType[kind]
        blocks = gguf.quants.quantize(matrix, kind).reshape(-1, size)
        scales = blocks[:, :2].copy().view("<f2").astype(numpy.float32)
        if name == "Q8_0":
            codes = blocks[:, 2:].copy().view(numpy.int8)
        else:  # column j low, column j + 16 high
            codes = numpy.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
        line(out, name, "codes", codes)
        line(out, name, "scales", scales)


def nf4(out, matrix):
    weights = torch.from_numpy(matrix).to(torch.float16)
    packed, state = bitsandbytes.functional.quantize_4bit(
        weights, blocksize=64, quant_type="nf4", compress_statistics=False
    )
    packed = packed.numpy().ravel()
    line(out, "NF4", "codes", numpy.stack([packed >> 4, packed & 15], axis=1))
    line(out, "NF4", "scales", state.absmax.numpy())
    _, state = bitsandbytes.functional.quantize_4bit(
        weights, blocksize=64, quant_type="nf4", compress_statistics=True
    )
    line(out, "NF4-DQ", "codes", state.absmax.numpy())
    line(out, "NF4-DQ", "scales", state.state2.absmax.numpy())
    line(out, "NF4-DQ", "offset", state.offset.numpy())


def row_formats(out, matrix):
    weights = torch.from_numpy(matrix)
    line(out, "BF16", "values", weights.to(torch.bfloat16).to(torch.float32).numpy())
    absmax = weights.abs().amax(dim=1, keepdim=True)
    scale = absmax / torch.finfo(torch.float8_e4m3fn).max
    line(out, "FP8", "values", (weights / scale).to(torch.float8_e4m3fn).to(torch.float32).numpy())
    line(out, "FP8", "scales", scale.numpy())
    line(out, "INT8", "codes", torch.round(weights * 127 / absmax).numpy())
    line(out, "INT8", "scales", absmax.numpy())


def main():
    matrix = read_matrix(sys.argv[1])
    versions = [f"{p} {importlib.metadata.version(p)}" for p in ("gguf", "bitsandbytes", "torch")]
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write("# " + ", ".join(versions).split("+")[0] + "\n")
        line(out, "FP16", "values", matrix)
        ggml(out, matrix)
        nf4(out, matrix)
        row_formats(out, matrix)


main()
