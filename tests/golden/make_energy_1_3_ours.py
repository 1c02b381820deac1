#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Writes energy_1_3_ours.json and its two traces: an invented experiment of five blocks whose numbers are derived here,
# apart from the C code, so that the recomputation in C is held against other arithmetic. Run it in this folder.
import hashlib
import json
import math
import random

T95_DOF4 = 2.7764451051977987
BLOCKS, RATE_HZ = 5, 20
rng = random.Random(7)


def rows_of(base_w, tokens_per_s, t0_s, energy_j):
    """Rows (t_us, power_mw, energy_mj, milli_tokens, temp_dc, block, phase) of one arm's file, all integers."""
    rows, t_us, tokens = [], round(t0_s * 1e6), 0.0
    windows = [("decode", b) for b in range(1, BLOCKS + 1)] + [("generation", 0), ("prefill", 0)]
    temp_dc = 340

    def power(load):
        return round(1000 * ((base_w if load else 95.0) * (1 + rng.gauss(0, 0.004))))

    for phase, block in windows:
        for _ in range(6):  # rest
            t_us += 50000 + rng.randrange(-40, 40)
            rows.append((t_us, power(False), None, None, temp_dc, block, "cooldown"))
            energy_j += 95.0 * 0.05
        last_w = base_w
        speed = tokens_per_s * (1 + rng.gauss(0, 0.002)) * (12.5 if phase == "prefill" else 1)
        tokens = 0.0
        for _ in range(8):  # ramp
            t_us += 50000 + rng.randrange(-40, 40)
            rows.append((t_us, power(True), None, None, temp_dc, block, "ramp"))
            energy_j += base_w * 0.05
            tokens += speed * 0.05
        for k in range(42):
            step_us = 50000 + rng.randrange(-40, 40)
            t_us += step_us
            energy_j += base_w * (1 + rng.gauss(0, 0.001)) * step_us * 1e-6
            tokens += speed * step_us * 1e-6
            edge = k in (0, 41)
            temp_dc += 1 if k % 9 == 0 else 0
            rows.append((t_us, None if edge else power(True), round(energy_j * 1000) if edge else None,
                         round(tokens * 1000) if edge else None, temp_dc, block, phase))
        temp_dc -= 4
        t_us += 900000
    return rows


def probe_rows():
    """The probe of the ceilings, before everything else: a counter reading at each end of half a second."""
    noise = random.Random(3)
    rows, t_us, mj, tokens = [], 200000, 80000000, 0.0
    for k in range(11):
        edge = k in (0, 10)
        rows.append((t_us, None if edge else round(1000 * (352.0 + noise.gauss(0, 1.0))), mj if edge else None,
                     round(tokens * 1000) if edge else None, 339, 0, "probe"))
        t_us += 50000 + noise.randrange(-40, 40)
        mj += round(352.0 * 50 * (1 + noise.gauss(0, 0.001)))
        tokens += 279.3 * 0.05
    return rows


def fixed(value, decimals):
    if value is None:
        return ""
    sign = "-" if value < 0 else ""
    return f"{sign}{abs(value) // 10**decimals}.{abs(value) % 10**decimals:0{decimals}d}"


def csv_of(rows):
    out = ["t_s,power_w,energy_j,tokens,temp_c,block,phase"]
    out += [",".join((fixed(t, 6), fixed(p, 3), fixed(e, 3), fixed(n, 3), fixed(c, 1), str(b), ph))
            for t, p, e, n, c, b, ph in rows]
    return "\n".join(out) + "\n"


def power_at(rows, t_us):
    before = [r for r in rows if r[1] is not None and t_us - 1000000 <= r[0] <= t_us]
    after = [r for r in rows if r[1] is not None and t_us < r[0] <= t_us + 1000000]
    if not after:
        return before[-1][1] / 1e3
    if not before:
        return after[0][1] / 1e3
    a, b = before[-1], after[0]
    return (a[1] + (b[1] - a[1]) * (t_us - a[0]) / (b[0] - a[0])) / 1e3


def window(rows, block, phase):
    own = [r for r in rows if r[5] == block and r[6] == phase]
    edges = [r for r in own if r[2] is not None]
    a, b = edges[0], edges[-1]
    points = [(a[0], power_at(rows, a[0]))]
    points += [(r[0], r[1] / 1e3) for r in rows if r[1] is not None and a[0] < r[0] < b[0]]
    points += [(b[0], power_at(rows, b[0]))]
    integral = math.fsum((p + q) / 2 * (u - t) * 1e-6 for (t, p), (u, q) in zip(points, points[1:]))
    joules, seconds, tokens = (b[2] - a[2]) / 1e3, (b[0] - a[0]) / 1e6, (b[3] - a[3]) / 1e3
    return {"open": a[0] / 1e6, "close": b[0] / 1e6, "j": joules, "integral": integral, "ratio": joules / integral,
            "tokens": tokens, "mj": joules / tokens * 1e3, "w": joules / seconds, "tps": tokens / seconds,
            "t0": own[0][4] / 10, "t1": own[-1][4] / 10}


def geometric(values):
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def interval(values):
    mean = math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
    return mean, sd, T95_DOF4 * sd / math.sqrt(len(values))


def num(value, decimals):
    value = round(value, decimals)
    return int(value) if value == int(value) else value


arms = {}
for name, base_w, tps, t0 in (("FP16", 402.0, 210.0, 1.0), ("NF4", 331.0, 236.0, 4.0)):
    rows = rows_of(base_w, tps, t0, 81234.5 if name == "FP16" else 90021.25)
    rows = probe_rows() + rows if name == "FP16" else rows
    text = csv_of(rows)
    with open(f"power_trace_{name}.csv", "w", newline="") as out:
        out.write(text)
    wins = [("decode", b, window(rows, b, "decode")) for b in range(1, BLOCKS + 1)]
    wins += [("generation", 0, window(rows, 0, "generation")), ("prefill", 0, window(rows, 0, "prefill"))]
    arms[name] = {"rows": rows, "sha": hashlib.sha256(text.encode()).hexdigest(), "wins": wins}

IDLE_W = 94.998
decode = {n: [w for k, _, w in a["wins"] if k == "decode"] for n, a in arms.items()}
logs = [math.log(b["mj"] / a["mj"]) for a, b in zip(decode["FP16"], decode["NF4"])]
mean, sd, half = interval(logs)


EDGE_S = {"FP16": 0.002345, "NF4": 0.0034567}


def place(name, block):
    """Who comes first changes from block to block, the baseline first of all."""
    return 1 if (block % 2 == 1) == (name == "FP16") else 2


def trend(values):
    """Rise of the least-squares line from the first value to the last."""
    n, middle = len(values), (len(values) - 1) / 2
    xs = [i - middle for i in range(n)]
    return math.fsum(x * y for x, y in zip(xs, values)) / math.fsum(x * x for x in xs) * (n - 1)


def u_expanded():
    k, root3, root6 = BLOCKS, math.sqrt(3), math.sqrt(6)
    seconds = min(w["close"] - w["open"] for d in decode.values() for w in d)
    tokens = {n: math.fsum(w["tokens"] for w in d) / k for n, d in decode.items()}
    watts = {n: geometric([w["w"] for w in d]) for n, d in decode.items()}
    ratios = {n: geometric([w["ratio"] for w in d]) for n, d in decode.items()}
    edge = max(num(e, 6) for e in EDGE_S.values())
    tick = 2 * edge / root3 / seconds / math.sqrt(k)
    read = math.sqrt(sum(1 / t**2 for t in tokens.values())) / root6 / math.sqrt(k)
    shift = sum(place("NF4", b) - place("FP16", b) for b in range(1, k + 1)) / k
    rise = math.fsum(trend([math.log(w["mj"]) for w in d]) for d in decode.values()) / 2
    drift = abs(rise / ((k - 1) * 2) * shift) / root3
    integral = abs(math.log(ratios["NF4"] / ratios["FP16"])) / root3
    offset = 5.0 * abs(1 / watts["NF4"] - 1 / watts["FP16"]) / root3
    gain = 0.05 / root3
    ratio = 2 * math.sqrt(tick**2 + read**2 + drift**2 + integral**2 + offset**2)
    read_arm = 1 / min(tokens.values()) / root6 / math.sqrt(k)
    own_integral = max(abs(math.log(c)) for c in ratios.values()) / root3
    absolute = 2 * math.sqrt(tick**2 / 2 + read_arm**2 + own_integral**2 + (5.0 / min(watts.values()) / root3)**2 + gain**2)
    return {"ratio_pct": num(100 * ratio, 4), "absolute_pct": num(100 * absolute, 4), "tick_pct": num(100 * tick, 4),
            "read_pct": num(100 * read, 4), "drift_pct": num(100 * drift, 4),
            "counter_integral_pct": num(100 * integral, 4), "sampling_pct": 0, "sensor_offset_pct": num(100 * offset, 4),
            "sensor_gain_pct": num(100 * gain, 4), "declared_gain_pct": 5, "declared_offset_w": 5,
            "declared_source": "invented"}


# TinyLlama-1.1B: 22 layers of width 2048, 4 of 32 heads kept for keys and values, 5632 inside, 32000 words.
LINEAR = 22 * (2 * 2048 * 2048 + 2 * 2048 * 256 + 3 * 2048 * 5632)
# The head in FP16, keys and values of 256 positions read and of one written, norms, one row of the embedding.
FIXED_BYTES = 2 * 32000 * 2048 + 22 * 2 * 256 * 2 * (256 + 1) + 2 * 2048 * (2 * 22 + 1) + 2 * 2048
BYTES = {"FP16": LINEAR * 2 + FIXED_BYTES, "NF4": LINEAR * 9 // 16 + FIXED_BYTES}
# At the mean position, 2 a multiply-add: every matrix, and 32 heads of 64 over the 256 cached positions and its own.
FLOPS = 2 * (LINEAR + 32000 * 2048 + 2 * 22 * 32 * 64 * (256 + 1))
LAUNCHES, LAUNCH_US, UNIT_BYTES, MATRIX_TFLOPS, MATRIX_TOPS = {"FP16": 155, "NF4": 155}, 15.25, 2147483648, 12.345, 24.5


def explain():
    probe = window(arms["FP16"]["rows"], 0, "probe")
    rate = probe["tps"] * UNIT_BYTES
    joules = probe["w"] / rate
    rows, share, bound = [], {}, {"FP16": "bandwidth-bound", "NF4": "launch-bound"}
    for n in ("FP16", "NF4"):
        token_s = 1 / geometric([w["tps"] for w in decode[n]])
        mj = geometric([w["mj"] for w in decode[n]])
        share[n] = BYTES[n] / rate / token_s
        rows.append({"precision": n, "bytes_per_token": BYTES[n], "token_us": num(token_s * 1e6, 3),
                     "roofline_us": num(BYTES[n] / rate * 1e6, 3), "roofline_mj": num(BYTES[n] * joules * 1e3, 3),
                     "bandwidth_share": num(share[n], 4),
                     "launch_share": num(LAUNCH_US * 1e-6 * LAUNCHES[n] / token_s, 4), "flops_per_token": FLOPS,
                     "compute_share": num(FLOPS / (MATRIX_TFLOPS * 1e12) / token_s, 4),
                     "energy_over_roofline": num(mj / (BYTES[n] * joules * 1e3), 3), "bound": bound[n]})
    watts = {n: geometric([w["w"] for w in d]) for n, d in decode.items()}
    less = [round(100 * (1 - x)) for x in (BYTES["NF4"] / BYTES["FP16"], rows[1]["token_us"] / rows[0]["token_us"],
                                           watts["NF4"] / watts["FP16"])]
    return {"read_bandwidth_gb_per_s": num(rate * 1e-9, 3), "read_power_w": num(probe["w"], 3),
            "read_mj_per_gb": num(joules * 1e12, 3), "read_unit_bytes": UNIT_BYTES, "launch_us": LAUNCH_US,
            "matrix_fp16_tflop_per_s": MATRIX_TFLOPS, "matrix_int8_top_per_s": MATRIX_TOPS, "arms": rows,
            "why": f"NF4 reads {less[0]} % fewer bytes a token than FP16, takes {less[1]} % less time and draws "
                   f"{less[2]} % less power: energy falls by {-100 * math.expm1(mean):.1f} %. FP16 is bandwidth-bound "
                   f"({100 * share['FP16']:.0f} % of the probed bandwidth), NF4 is launch-bound "
                   f"({100 * share['NF4']:.0f} % of it).",
            "advice": "NF4 spends its time between kernels: a larger model, a larger batch or fewer, fused kernels would "
                      "change the result more than the format does."}


def pct(x):
    return num(100 * math.expm1(x), 3)


def arm_json(name):
    d = decode[name]
    m, _, h = interval([math.log(w["mj"]) for w in d])
    by = {k: w for k, b, w in arms[name]["wins"] if b == 0}
    mj, tps = geometric([w["mj"] for w in d]), geometric([w["tps"] for w in d])
    return {
        "precision": name, "role": "baseline" if name == "FP16" else "under_test",
        "energy_per_token_mj": num(mj, 3), "energy_per_token_lo_mj": num(math.exp(m - h), 3),
        "energy_per_token_hi_mj": num(math.exp(m + h), 3), "tokens_per_s": num(tps, 3),
        "power_w": num(geometric([w["w"] for w in d]), 3), "above_idle_mj": num(mj - IDLE_W / tps * 1e3, 3),
        "prefill_per_prompt_token_mj": num(by["prefill"]["mj"], 3),
        "prefill_tokens_per_s": num(by["prefill"]["tps"], 3),
        "generation_per_output_token_mj": num(by["generation"]["mj"] * (128 + 256) / 256, 3),
        "launches_per_token": LAUNCHES[name],
        "windows": [{"kind": k, "block": b, **({"order": place(name, b)} if b > 0 else {}), "t_open_s": num(w["open"], 6), "t_close_s": num(w["close"], 6),
                     "energy_j": num(w["j"], 3), "integral_j": num(w["integral"], 3),
                     "counter_to_integral": num(w["ratio"], 5), "tokens": num(w["tokens"], 3),
                     "energy_per_token_mj": num(w["mj"], 3), "power_w": num(w["w"], 3),
                     "tokens_per_s": num(w["tps"], 3),
                     "edge_time_half_width_s": num(EDGE_S[name], 6), "temperature_start_c": num(w["t0"], 1),
                     "temperature_end_c": num(w["t1"], 1)} for k, b, w in arms[name]["wins"]]}


own, base = arm_json("NF4"), arm_json("FP16")
report = {
    "schema_version": "ecocompute-energy/1.3", "benchmark": "ecocompute-energy-methodology",
    "follows_mlcommons_energy_reporting_conventions": True, "certified_benchmark_result": False,
    "scenario": "SingleStream", "timestamp_utc": "2025-01-01T00:00:00.000000Z",
    "system_under_test": {"gpu": "Example GPU", "gpu_arch": "hopper", "accelerator_count": 1, "host": "Linux x86_64"},
    "workload": {"model_name": "TinyLlama-1.1B (shape only)", "params_b": 1.1, "precision": "NF4", "batch_size": 1,
                 "context_length": 384, "decoding": "greedy", "engine": "native", "head_precision": "FP16",
                 "prompt_tokens": 128,
                 "generated_tokens": 256},
    "measurement": {"method": "an invented experiment; no meter was read", "sample_rate_hz": 20, "tokens_per_run": 256,
                    "iterations": BLOCKS, "warmup": 1, "window": "decode", "energy_source": "counter",
                    "margin_pct": 3},
    "software": {"tool": "ecocompute 0.1.0", "nvidia_driver": None},
    "measurement_source": "none",
    "results": {"total_energy_joules": num(math.fsum(w["j"] for w in decode["NF4"]), 3),
                "tokens_generated": num(math.fsum(w["tokens"] for w in decode["NF4"]), 3),
                "energy_per_token_mj": own["energy_per_token_mj"],
                "fp16_energy_per_token_mj": base["energy_per_token_mj"], "vs_fp16_energy_pct": pct(mean),
                "avg_power_watts": own["power_w"], "throughput_tokens_per_s": own["tokens_per_s"],
                "basis": "modelled", "verdict": "saves"},
    "uncertainty": {"ci95_repeat": {"lo_pct": pct(mean - half), "hi_pct": pct(mean + half),
                                    "half_width_log": num(half, 6), "mean_log_ratio": num(mean, 6),
                                    "sd_log_ratio": num(sd, 6), "n": BLOCKS},
                    "u_expanded": u_expanded()},
    "environment": {"power_limit_w": None, "idle_loaded_w": IDLE_W},
    "trials": {"blocks_planned": BLOCKS, "blocks_finished": BLOCKS, "arms_a_block": 2,
               "order_seed": "18446744073709551615",
               "arms": [base, own],
               "pairs": [{"block": i + 1, "log_ratio": num(x, 6)} for i, x in enumerate(logs)]},
    "power_trace": {"format": "csv",
                    "columns": ["t_s", "power_w", "energy_j", "tokens", "temp_c", "block", "phase"],
                    "sample_rate_hz": RATE_HZ, "window": "decode",
                    "files": [{"role": "primary" if n == "NF4" else "fp16_baseline", "precision": n,
                               "file": f"power_trace_{n}.csv", "samples": len(arms[n]["rows"]), "dropped_samples": 0,
                               "sha256": arms[n]["sha"]} for n in ("NF4", "FP16")]},
    "meters": {"name": "invented", "counter_to_integral": num(geometric([w["ratio"] for w in decode["FP16"]]), 5)},
    "explain": explain(),
    "notice": "Test data: no card was measured.",
}
with open("energy_1_3_ours.json", "w") as out:
    json.dump(report, out, indent=2, ensure_ascii=False)
    out.write("\n")
