// SPDX-License-Identifier: Apache-2.0
//
// The core writes its notes and messages in English, a line each. In Chinese they are turned here, number by number as they
// stand; a line that no pattern knows stays as the core wrote it. tests/web/test_core_words.mjs asks the core hundreds of
// questions and holds that none does.

import { NARROW } from "./format.js";
import { lang } from "./text.js";

type Turn = (match: RegExpMatchArray) => string;

const list = (text: string): string => text.replaceAll(", ", "、");
const FIELDS: Record<string, string> = {
  params_b: "模型规模",
  batch: "批大小",
  context: "上下文",
  ctx: "上下文",
  arch: "显卡",
  precision: "精度",
  model: "模型",
  stack: "软件栈",
  engine: "引擎",
  objective: "目标",
  max_latency_ms: "最大延迟",
  max_vram_gb: "最大显存",
  min_throughput: "最小吞吐量",
};
const field = (name: string): string => (FIELDS[name] === undefined ? name : `${FIELDS[name]}（${name}）`);
const meant = (name: string | undefined): string => (name === undefined ? "" : `，你是指“${name}”吗`);
const EXPECTED: Record<string, string> = {
  "a number above 0": "大于 0 的数",
  "billions of parameters, 0.01 to 10000": "0.01 到 10000，单位十亿参数",
  "a whole number of sequences, 1 to 4096": "1 到 4096 的整数，单位序列",
  "a whole number of tokens, 1 to 16777216": "1 到 16777216 的整数，单位 token",
};

const TURNS: readonly (readonly [RegExp, Turn])[] = [
  // Verdicts.
  [
    /^(\S+) changes energy per token by ([+-]?[\d.]+)% against FP16 on (.+?)(?: under engine (\S+))?: (quantize|do not quantize|the interval)/,
    (m) =>
      `在 ${m[3]} 上${m[4] === undefined ? "" : `（引擎 ${m[4]}）`}，${m[1]} 使每个 token 的能耗相对 FP16 变化 ${m[2]} %：` +
      (m[5] === "quantize" ? "可以量化，能省电。" : m[5] === "do not quantize" ? "从能耗看不要量化，会费电。" : "区间包含零，请先测量再决定。"),
  ],
  // Notes of an estimate.
  [/^Single trial \(n = 1\) on (.+): a trial repeated/, (m) => `只在 ${list(m[1] ?? "")} 上测过一次（n = 1）：换一个场次再测，结果可能不同。`],
  [/^A single trial \(n = 1\)/, () => "只测过一次（n = 1）：换一个场次再测，结果可能不同。"],
  [/^Mean of (\d+) measurements, ([\d.]+) points apart: (.+)\.$/, (m) => `${m[1]} 次测量的平均，相差 ${m[2]} 个百分点：${list(m[3] ?? "")}。`],
  [
    /^Measured (?:at batch (\d+) )?in (\d+) sessions?(?:, under (\d+) named stacks?)?(?:, (\d+) without a named stack)?: (.+?)( and more)?\.$/,
    (m) =>
      (m[1] === undefined ? "" : `以批大小 ${m[1]} `) +
      `在 ${m[2]} 个场次中测过` +
      (m[3] === undefined ? "" : `，其中 ${m[3]} 种软件栈有记录`) +
      (m[4] === undefined ? "" : `，${m[4]} 个未记录软件栈`) +
      `：${list(m[5] ?? "")}${m[6] === undefined ? "" : " 等"}。`,
  ],
  [/^Outside the measured sizes, ([\d.]+) to ([\d.]+) B\.$/, (m) => `超出实测规模范围（${m[1]}–${m[2]} B）。`],
  [/^Batch (\S+) and context (\S+) are modelled: all measurements/, (m) => `批大小 ${m[1]}、上下文 ${m[2]} 的影响来自模型：所有测量都在批大小 1 下进行。`],
  [
    /^Batch (\S+) and context (\S+) are modelled from batch 1; the table has (\d+) rows?/,
    (m) => `批大小 ${m[1]}、上下文 ${m[2]} 的影响由批大小 1 推算；表中此类显卡与格式另有 ${m[3]} 行更大批的数据，能量模型的拟合用到了它们。`,
  ],
  [/^Of the class (\S+), measured on (.+); you asked for (.+)\.$/, (m) => `属于 ${m[1]} 类，实测于 ${list(m[2] ?? "")}；你问的是 ${m[3]}。`],
  [/^The energy model answers/, () => "由能量模型作答；它依据读取的字节、启动开销和数据手册参数，对全部实测显卡拟合而成。"],
  [/^That software stack was not measured/, () => "没有测过这个软件栈：区间已包含不同软件栈之间的差异。"],
  [/^No software stack was named/, () => "未指定软件栈：区间已包含不同软件栈之间的差异。"],
  [/^No measurement on (\S+): the curve of (\S+) is borrowed/, (m) => `${m[1]} 没有测量数据：借用 ${m[2]} 的曲线，标准差另加 10 个百分点。`],
  [/^No measurement on (\S+) under engine transformers\.$/, (m) => `${m[1]} 在 transformers 引擎下没有测量数据。`],
  [/^No curve of (\S+) in (\S+); rows of the table/, (m) => `${m[1]} 类没有 ${m[2]} 的曲线；表中只有其他规模的数据。`],
  [
    /^Engine (\S+) only: (\S+) was measured on (.+?) at ([\d.]+)(?: to ([\d.]+))? B, (\d+) rows? of (\d+) sessions?, window (\S+?)(, synthetic weights)?(?: \((.+)\))?(?:; not on (.+?))?\.( Another version of it can differ by more than the interval says\.)?$/,
    (m) =>
      `仅限引擎 ${m[1]}：${m[2]} 实测于 ${list(m[3] ?? "")}，规模 ${m[4]}${m[5] === undefined ? "" : `–${m[5]}`} B，${m[7]} 个场次共 ${m[6]} 行，窗口 ${m[8]}` +
      (m[9] === undefined ? "" : "，合成权重") +
      (m[10] === undefined ? "" : `（${m[10]}）`) +
      (m[11] === undefined ? "" : `；未在 ${m[11]} 上测过`) +
      "。" +
      (m[12] === undefined ? "" : "换一个版本，差别可能超出这个区间。"),
  ],
  [/^No crossover within the measured sizes/, () => "实测规模之内没有交叉点：正负号不变。"],
  [/^The crossover of ([\d.]+) B is that of batch 1/, (m) => `${m[1]} B 的交叉点只对批大小 1 成立，这里不适用。`],
  // Notes of the optimizer.
  [/^What batch and context do to energy is the energy model's/, () => "批大小和上下文对能耗的影响由能量模型外推：几乎所有数据都是批大小 1。"],
  [/^No time of an FP16 run was measured/, () => "没有测过 FP16 的时间，因此这里不给出，也不参与前沿，并且不满足任何延迟或吞吐量限制。"],
  [/^Where no time of this class and format was measured/, () => "此类显卡与格式没有实测时间时，屋顶线只是下界：被测的即时执行栈把时间花在核函数启动上。"],
  [/^A shorter context never costs more/, () => "上下文更短，能耗不会更高，因此请给出你需要的上下文长度。"],
  [/^Energy is anchored in measurements at batch 1/, () => "能耗以批大小 1 的测量为锚点；时间是数据手册参数的屋顶线；显存是计算值。"],
  [/^The time to unpack quantized weights/, () => "屋顶线不含解包量化权重的时间。"],
  [/^Energy per token at batch b is taken as ([\d.]+) \+ ([\d.]+) \/ b of batch 1/, (m) => `批大小 b 的每 token 能耗按批大小 1 的 ${m[1]} + ${m[2]} / b 计算；这没有测过。`],
  [/^No FP16 energy was measured on (\S+):/, (m) => `${m[1]} 没有测过 FP16 能耗：能耗为空，min_energy 按相对 FP16 的变化排序。`],
  // Messages.
  [/^engine (\S+): (.+)$/, (m) => `引擎 ${m[1]}：${toChinese(m[2] ?? "")}`],
  [/^(.+): out of memory$/, (m) => `${m[1]}：内存不足。`],
  [/^arch: no curve for '(.+?)'; there is one for (.+)$/, (m) => `显卡（arch）：“${m[1]}”没有曲线；有曲线的是 ${list(m[2] ?? "")}。`],
  [/^arch: one of (.+) is expected$/, (m) => `显卡（arch）：应为 ${list(m[1] ?? "")} 之一。`],
  [/^arch: no bandwidth and matrix rate known for '(.+?)'$/, (m) => `显卡（arch）：不知道“${m[1]}”的带宽与矩阵运算速率。`],
  [/^(stack|engine): the rules (\S+) know no (?:stacks|engines)/, (m) => `${field(m[1] ?? "")}：规则 ${m[2]} 不区分${m[1] === "stack" ? "软件栈" : "引擎"}，请不要填写。`],
  [/^stack: engine (\S+) has no bitsandbytes/, (m) => `软件栈（stack）：引擎 ${m[1]} 没有 bitsandbytes；软件栈与引擎请只填一个。`],
  [/^stack: no version of bitsandbytes in '(.*?)'; expected such as '(.+?)'$/, (m) => `软件栈（stack）：“${m[1]}”里没有 bitsandbytes 的版本；应如“${m[2]}”。`],
  [/^engine: curves of your own do not say whose they are/, () => "引擎（engine）：自备的曲线没有写明属于哪个引擎；引擎与曲线请只给一个。"],
  [/^precision: (\S+) or (\S+) is expected$/, (m) => `精度（precision）：应为 ${m[1]} 或 ${m[2]}。`],
  [/^grid: at most (\S+) precisions, (\S+) batches, (\S+) contexts and (\S+) candidates$/, (m) => `网格：最多 ${m[1]} 种精度、${m[2]} 种批大小、${m[3]} 种上下文、${m[4]} 种候选。`],
  [/^(\w+): (\S+) is given twice$/, (m) => `${field(m[1] ?? "")}：${m[2]} 给了两次。`],
  [/^(\w+): (.+) is not usable; expected (.+)$/, (m) => `${field(m[1] ?? "")}：${m[2] === "not a number" ? "不是数字，" : `${m[2]} `}不可用；应为 ${EXPECTED[m[3] ?? ""] ?? m[3]}。`],
  [/^(\w+): (a number above 0) is expected$/, (m) => `${field(m[1] ?? "")}：应为${EXPECTED[m[2] ?? ""] ?? m[2]}。`],
  [/^(\w+): '(.*)' is no number$/, (m) => `${field(m[1] ?? "")}：“${m[2]}”不是数字。`],
  [/^params_b: a size above 0 is expected/, () => "模型规模（params_b）：应为大于 0 的数，单位是十亿参数。"],
  [/^params_b: too far from the measured sizes of (\S+) in (\S+)$/, (m) => `模型规模（params_b）：离 ${m[1]} 在 ${m[2]} 下的实测规模太远。`],
  [/^arch: '(.+?)' is no known class or card(?:, did you mean '(.+?)'\?|.*?); expected (.+?), or a card/, (m) => `显卡（arch）：“${m[1]}”不是已知的类别或显卡；可用 ${list(m[3] ?? "")}，或显卡名，如 RTX 4090。`],
  [/^arch: no data sheet of '(.+?)' here/, (m) => `显卡（arch）：这里没有“${m[1]}”的数据手册，因此不对它下结论。`],
  [/^precision: '(\S+)' was not measured under engine (\S+); measured there: (.+?), on (.+)$/, (m) => `精度（precision）：引擎 ${m[2]} 下没有测过 ${m[1]}；测过的是 ${list(m[3] ?? "")}，显卡 ${list(m[4] ?? "")}。`],
  [/^precision: '(\S+)' was measured on (\S+) cards under engine (\S+) only \((\d+) rows?/, (m) => `精度（precision）：${m[2]} 类显卡只在引擎 ${m[3]} 下测过 ${m[1]}（表中 ${m[4]} 行）；请选择该引擎。`],
  [/^precision: '(\S+)' was not measured on (\S+) cards/, (m) => `精度（precision）：${m[2]} 类显卡没有测过 ${m[1]}。`],
  [/^precision: (\S+) was not measured on (\S+)/, (m) => `精度（precision）：${m[2]} 没有测过 ${m[1]}。`],
  [/^precision: FP16 is the baseline; (\S+) or (\S+) is expected$/, (m) => `精度（precision）：FP16 是基线；应为 ${m[1]} 或 ${m[2]}。`],
  [/^precision: '(.+?)' is no weight format(?:, did you mean '(.+?)'\?|; expected .+)$/, (m) => `精度（precision）：“${m[1]}”不是权重格式${meant(m[2])}。`],
  [/^model: '(.+?)' is not built in(?:, did you mean '(.+?)'\?|;.+)$/, (m) => `模型（model）：没有内置“${m[1]}”${meant(m[2])}。`],
  [/^engine: unknown '(.+?)'(?:, did you mean '(.+?)'\?|; the table has (.+))$/, (m) => `引擎（engine）：不认识“${m[1]}”${meant(m[2])}${m[3] === undefined ? "" : `；表中有 ${list(m[3])}`}。`],
  [/^objective: '(.+?)' is not known(?:, did you mean '(.+?)'\?)?; expected (.+?) or (\S+)$/, (m) => `目标（objective）：不认识“${m[1]}”${meant(m[2])}；可用 ${list(m[3] ?? "")}、${m[4]}。`],
  [/^no precision can be scored: (.+)$/, (m) => `没有可以评分的精度：${m[1]}。`],
];

/** Percentages as the page sets them. */
const typeset = (line: string): string =>
  line.replace(/(?<![\w.])([+-]?)(\d+(?:\.\d+)?)%/g, (_, sign: string, digits: string) => `${sign.replace("-", "\u2212")}${digits}${NARROW}%`);

/** A line of the core in the reader's language. */
export function coreLine(line: string): string {
  return typeset(lang.value === "en" ? line : toChinese(line));
}

/** Exported for its test. */
export function toChinese(line: string): string {
  for (const [pattern, turn] of TURNS) {
    const match = pattern.exec(line);
    if (match !== null) {
      return turn(match);
    }
  }
  return line;
}
