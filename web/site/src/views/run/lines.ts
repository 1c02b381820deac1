// SPDX-License-Identifier: Apache-2.0
//
// Lines of the core on reports and links in the reader's language. What no pattern knows stays as the core wrote it.

import { lang } from "../../app/text.js";
import { coreLine } from "../../app/core_words.js";
import { words } from "./words.js";

const KINDS: Record<string, string> = {
  "a value": "一个值",
  "an object": "对象",
  "a string": "字符串",
  "a number": "数字",
  "an integer": "整数",
  "a boolean": "布尔值",
  "an array": "数组",
  "the end": "文件末尾",
  "no such key": "没有这个键",
  object: "对象",
  array: "数组",
  string: "字符串",
  number: "数字",
  null: "null",
};
const kind = (text: string): string => KINDS[text] ?? (text.startsWith("one of ") ? `${text.slice(7).replaceAll("|", "、")} 之一` : text.replace(/^at least /, "至少 "));

const BOUNDS: Record<string, string> = {
  "launch-bound": "启动受限",
  "bandwidth-bound": "带宽受限",
  "compute-bound": "计算受限",
  "kernel-bound": "核函数受限",
  "power-capped": "触及功率上限",
  throttled: "降频",
  unknown: "未知",
};
const ASPECTS: Record<string, string> = { stack: "软件栈", window: "窗口", thermal: "散热", locks: "锁定", workload: "工作负载", basis: "依据", card: "显卡", meter: "电表", order: "顺序", validity: "有效性", energies: "能耗" };
const aspect = (text = ""): string => ASPECTS[text] ?? text;
const less = (text = ""): string => (text === "more" ? "多" : "少");

/** What limits an arm, in the reader's language. */
export function boundWords(name: string): string {
  return lang.value === "zh" ? (BOUNDS[name] ?? name) : name;
}

type Turn = (match: RegExpMatchArray) => string;
const TURNS: readonly (readonly [RegExp, Turn])[] = [
  [/^nested deeper than (\d+) levels$/, (m) => `嵌套超过 ${m[1]} 层。`],
  [/^(.+): expected (.+?), found (.+)$/, (m) => `${m[1]}：应为${kind(m[2] ?? "")}，实际为 ${kind(m[3] ?? "")}。`],
  [/^expected (.+?), found (.+)$/, (m) => `应为${kind(m[1] ?? "")}，实际为${kind(m[2] ?? "")}。`],
  [/^expected (.+)$/, (m) => `应为${kind(m[1] ?? "")}。`],
  // Why an energy came out so, and what to do.
  [
    /^(\S+) reads (\d+) % (\w+) bytes a token than (\S+), takes (\d+) % (\w+) time and draws (\d+) % (\w+) power: energy (falls|rises) by ([\d.]+) %\. \S+ is ([\w-]+)(?: \((\d+) % of the probed bandwidth\))?, \S+ is ([\w-]+)(?: \((\d+) % of it\))?\.(.*)$/s,
    (m) =>
      `每个 token，${m[1]} 读取的字节比 ${m[4]} ${less(m[3])} ${m[2]} %，用时${less(m[6])} ${m[5]} %，功率${m[8] === "more" ? "高" : "低"} ${m[7]} %：能耗${m[9] === "falls" ? "下降" : "上升"} ${m[10]} %。` +
      `${m[4]} ${BOUNDS[m[11] ?? ""] ?? m[11]}${m[12] === undefined ? "" : `（达到探测带宽的 ${m[12]} %）`}，${m[1]} ${BOUNDS[m[13] ?? ""] ?? m[13]}${m[14] === undefined ? "" : `（达到 ${m[14]} %）`}。` +
      (m[15] ?? ""),
  ],
  [/^(\S+) spends its time between kernels: /, (m) => `${m[1]} 的时间花在核函数之间：更大的模型、更大的批，或更少的融合核函数，比格式更能改变结果。`],
  [/^(\S+) is limited by memory traffic: /, (m) => `${m[1]} 受内存流量限制：要省电，就得减少每个 token 的字节数。`],
  [/^(\S+) is limited by arithmetic: /, (m) => `${m[1]} 受运算限制：更小的批，或在此卡上乘法更快的格式，才能改变用时；减少字节数不能。`],
  [/^(\S+) spends its time inside kernels beyond /, (m) => `${m[1]} 在核函数内花的时间超出字节与启动所需，耗在指令与延迟上：更快的核函数会降低能耗。`],
  [/^(\S+) reached the power limit: /, (m) => `${m[1]} 触及功率上限：结果只对这一上限成立。`],
  [/^(\S+) was slowed down by heat: /, (m) => `${m[1]} 因过热降速：让显卡冷却后重测。`],
  [/^no bandwidth probe: what limits (\S+) is not known\.$/, (m) => `没有探测带宽：不知道 ${m[1]} 受什么限制。`],
  // Comparing.
  [/^(\w+): (\S+): (.+) against (.+)$/, (m) => `${aspect(m[1])}：${m[2]}：${m[3]} 对 ${m[4]}`],
  [/^(\w+): (\S+): (.+) in one, not recorded in the other(?:, which means (.+))?$/, (m) => `${aspect(m[1])}：${m[2]}：一份为 ${m[3]}，另一份未记录${m[4] === undefined ? "" : `，即 ${m[4]}`}`],
  [/^(\w+): (\S+): neither records it$/, (m) => `${aspect(m[1])}：${m[2]}：两份都未记录`],
  [/^locks: (\S+): not recorded, so that/, (m) => `锁定：${m[1]}：未记录，因此看不出上限是否被调低`],
  [/^locks: (\S+): at the card's default in one/, (m) => `锁定：${m[1]}：一份为显卡默认值，另一份被改动`],
  [/^validity: (.+) has the warning (\S+), which bars it/, (m) => `有效性：${m[1] === "the first" ? "第一份" : "这一份"}带有警告 ${m[2]}，不能用于比较`],
  [/^energies: mJ\/token is not compared: (another session)?/, (m) => `能耗：不比较 mJ/token：${m[1] === undefined ? "无法证明是同一块卡" : "属于另一场次"}，而焦耳数会逐日漂移`],
  // Recomputing.
  [/^(\S+): printed (.+), re-derived (.+)$/, (m) => `${m[1]}：写的是 ${m[2]}，重新推得 ${m[3]}`],
  [/^(\S+): the report says (\S+), the file has (\S+)$/, (m) => `${m[1]}：报告写的是 ${m[2]}，文件为 ${m[3]}`],
  [/^(\S+): the trace was not given$/, (m) => `${m[1]}：没有给出这份功率轨迹`],
  // Grading.
  [/^measurement_source: only readings of NVML are graded$/, () => "measurement_source：只评定 NVML 的读数。"],
  [/^(\S+): is not the class of (\S+)$/, (m) => `${m[1]}：与 ${m[2]} 的类别不符。`],
  [/^(\S+): is not the change between the report's two energies$/, (m) => `${m[1]}：与报告中两个能耗之间的变化不符。`],
  [/^(\S+): missing$/, (m) => `${m[1]}：缺失。`],
  // Validating.
  [/^duplicate key (".*") in the object that ends here$/, (m) => `到此结束的对象里键 ${m[1]} 重复。`],
  [/^(\S+ \S+: )?(\S+): is missing$/, (m) => `${m[1] ?? ""}${m[2]}：缺失。`],
  [/^(\S+ \S+: \S+): is neither (.+) nor (.+)$/, (m) => `${m[1]}：既不是 ${(m[2] ?? "").replaceAll(", ", "、")}，也不是 ${m[3]}。`],
  [/^(\S+ \S+: \S+): is not randomized$/, (m) => `${m[1]}：没有随机化。`],
  [/^(\S+ \S+: \S+): is no SHA-256$/, (m) => `${m[1]}：不是 SHA-256。`],
  [/^(\S+ \S+: \S+): ([\d.]+) s; at least (\d+) s are expected$/, (m) => `${m[1]}：${m[2]} s；应至少为 ${m[3]} s。`],
  [/^(\S+ \S+: \S+): is (.+), expected (.+)$/, (m) => `${m[1]}：实际为 ${m[2]}，应为 ${kind(m[3] ?? "")}。`],
  [/^(\S+ \S+: \S+): has fewer decode windows than finished blocks$/, (m) => `${m[1]}：decode 窗口少于已完成的区组。`],
  [/^(\S+): this trace was not given$/, (m) => `${m[1]}：没有给出这份功率记录。`],
  [/^link: overlay: no base64url without padding at character (\d+)$/, (m) => `第 ${m[1]} 个字符不是无填充的 base64url。`],
  [/^link: overlay: 1 to (\d+) characters are expected$/, (m) => `应为 1 至 ${m[1]} 个字符。`],
  [/^link: (\S+): a number is expected$/, (m) => `${m[1]}：应为数字。`],
  [/^link: (\S+): a text is expected$/, (m) => `${m[1]}：应为文本。`],
  [/^link: (\S+): longer than (\d+) bytes$/, (m) => `${m[1]}：超过 ${m[2]} 字节。`],
  [/^link: N: a number above 0/, () => "N：应为大于 0 且不超过 1000000 的数。"],
  [/^link: e: a number above -100/, () => "e：应为大于 -100 的数。"],
  [/^link: b: /, () => "b：应为 measured、interpolated、extrapolated 等依据之一。"],
  [/^no link: (\S+): the report has no change of energy against FP16$/, (m) => `${m[1]}：报告没有相对 FP16 的能耗变化。`],
  [/^no link: (\S+): the report does not tell the model's size$/, (m) => `${m[1]}：报告没有写明模型规模。`],
  [/^results\.basis: only a measured report is graded$/, () => "results.basis：只评定实测报告。"],
  [/^workload\.engine: the report is of (.+), the data of (.+)$/, (m) => `workload.engine：报告来自 ${m[1]}，数据来自 ${m[2]}。`],
];

function turned(line: string): string {
  for (const [pattern, turn] of TURNS) {
    const match = pattern.exec(line);
    if (match !== null) {
      return turn(match);
    }
  }
  return coreLine(line);
}

/** "66:27: expected a value" says line and column. */
export function lineWords(line: string): string {
  const place = /^(?:link:)?(\d+):(\d+): (.*)$/s.exec(line);
  const rest = place?.[3] ?? line;
  const text = lang.value === "zh" ? turned(rest) : rest;
  return place === null ? text : words().at(place[1] ?? "", place[2] ?? "") + text;
}
