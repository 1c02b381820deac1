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
  "true or false": "true 或 false",
  "an array of strings": "字符串数组",
  "an object of strings": "字符串对象",
  "a key in double quotes": "双引号中的键",
  "the end after the value": "值之后结束",
  "':' after the key": "键之后的“:”",
  "',' or '}'": "“,”或“}”",
  "',' or ']'": "“,”或“]”",
  "four hexadecimal digits after \\u": "\\u 之后的四位十六进制数字",
  object: "对象",
  array: "数组",
  string: "字符串",
  number: "数字",
  null: "null",
};
const kind = (text: string): string => KINDS[text] ?? (text.startsWith("one of ") ? `${text.slice(7).replaceAll("|", "、")} 之一` : text.replace(/^at least /, "至少 ").replace(/^(\S+) or more$/, "$1 或更大"));

const BOUNDS: Record<string, string> = {
  "launch-bound": "启动受限",
  "bandwidth-bound": "带宽受限",
  "compute-bound": "计算受限",
  "kernel-bound": "核函数受限",
  "power-capped": "触及功率上限",
  throttled: "降频",
  unknown: "未知",
};
const ASPECTS: Record<string, string> = { stack: "软件栈", window: "窗口", thermal: "热模式", locks: "锁定", workload: "工作负载", basis: "依据", card: "显卡", meter: "功率计", order: "顺序", validity: "有效性", energies: "能耗" };
const aspect = (text = ""): string => ASPECTS[text] ?? text;
const less = (text = ""): string => (text === "more" ? "多" : "少");

/** What limits an arm, in the reader's language. */
export function boundWords(name: string): string {
  return lang.value === "zh" ? (BOUNDS[name] ?? name) : name;
}

type Turn = (match: RegExpMatchArray) => string;
const TURNS: readonly (readonly [RegExp, Turn])[] = [
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
  [/^(\S+) is limited by memory traffic: /, (m) => `${m[1]} 受访存量限制：要省电，就得减少每个 token 的字节数。`],
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
  [/^locks: (\S+): neither records it$/, (m) => `锁定：${m[1]}：两份都未记录`],
  // Recomputing.
  [/^(\S+): power_trace\.files names no trace for it$/, (m) => `${m[1]}：power_trace.files 没有列出它的功率轨迹。`],
  [/^(\S+): printed (\S+), (\S+) holds (\S+) generations$/, (m) => `${m[1]}：写的是 ${m[2]}，${m[3]} 含 ${m[4]} 次生成。`],
  [/^(\S+): (\S+) holds no (\S+) window of block (\S+)$/, (m) => `${m[1]}：${m[2]} 中没有区组 ${m[4]} 的 ${m[3]} 窗口。`],
  [/^(\S+): (\S+) holds no probe window$/, (m) => `${m[1]}：${m[2]} 中没有探测窗口。`],
  [/^(\S+): block (\S+) is listed twice$/, (m) => `${m[1]}：区组 ${m[2]} 列出了两次。`],
  [/^(\S+): finished block (\S+) is not listed(, but the trace holds it)?/, (m) => `${m[1]}：已完成的区组 ${m[2]} 没有列出${m[3] === undefined ? "" : "，但功率轨迹中有"}。`],
  [/^(\S+): is missing, re-derived (.+)$/, (m) => `${m[1]}：缺失，重新推得 ${m[2]}`],
  [/^(\S+): printed nothing, re-derived (.+)$/, (m) => `${m[1]}：没有写，重新推得 ${m[2]}`],
  [
    /^(\S+): one baseline and at most one arm under test are expected, found (\S+) and (\S+) of (\S+)$/,
    (m) => `${m[1]}：应有一个基线、至多一个被测实验臂，实际在 ${m[4]} 个臂中有 ${m[2]} 个与 ${m[3]} 个。`,
  ],
  [/^(\S+): (\S+), but (\S+) are finished$/, (m) => `${m[1]}：写的是 ${m[2]}，但已完成 ${m[3]} 个。`],
  [/^(\S+): (\S+) of (\S+), and no warning says partial$/, (m) => `${m[1]}：${m[3]} 个中有 ${m[2]} 个，却没有 partial 警告。`],
  [/^(\S+): (\S+), but the traces hold a whole block (\S+)$/, (m) => `${m[1]}：写的是 ${m[2]}，但功率轨迹中有完整的区组 ${m[3]}。`],
  [/^(\S+): generation, but (\S+), (\S+) or (\S+) does not say of what$/, (m) => `${m[1]}：为 generation，但 ${m[2]}、${m[3]} 或 ${m[4]} 没有写明生成的是什么。`],
  [/^(\S+): more than (\S+) arms or (\S+) blocks$/, (m) => `${m[1]}：超过 ${m[2]} 个实验臂或 ${m[3]} 个区组。`],
  [/^(\S+): more than (\S+)( rows)?$/, (m) => `${m[1]}：超过 ${m[2]} ${m[3] === undefined ? "个" : "行"}。`],
  [/^(\S+): is not that of (\S+)$/, (m) => `${m[1]}：与 ${m[2]} 的不同。`],
  [/^(\S+): printed, from (\S+) blocks; expected (\S+)$/, (m) => `${m[1]}：由 ${m[2]} 个区组写出；应至少有 ${m[3]} 个。`],
  [/^(\S+): printed (\S+), (\S+) is (\S+)$/, (m) => `${m[1]}：写的是 ${m[2]}，${m[3]} 为 ${m[4]}。`],
  [/^(\S+): (\S+) to (\S+) traces are expected, found (\S+)$/, (m) => `${m[1]}：应有 ${m[2]} 至 ${m[3]} 份功率轨迹，实际为 ${m[4]}。`],
  [/^(\S+): expected the columns (.+)$/, (m) => `${m[1]}：应有的列为 ${m[2]}。`],
  [/^(\S+): printed (.+), re-derived (.+)$/, (m) => `${m[1]}：写的是 ${m[2]}，重新推得 ${m[3]}`],
  [/^(\S+): the report says (\S+), the file has (\S+)$/, (m) => `${m[1]}：报告写的是 ${m[2]}，文件为 ${m[3]}`],
  // Grading.
  // Validating.
  [/^duplicate key (".*") in the object that ends here$/, (m) => `到此结束的对象里键 ${m[1]} 重复。`],
  [/^(\S+ \S+: \S+): is neither (.+) nor (.+)$/, (m) => `${m[1]}：既不是 ${(m[2] ?? "").replaceAll(", ", "、")}，也不是 ${m[3]}。`],
  [/^(\S+ \S+: \S+): ([\d.]+) s; at least (\d+) s are expected$/, (m) => `${m[1]}：${m[2]} s；应至少为 ${m[3]} s。`],
  [/^(\S+ \S+: \S+): is (.+), expected (.+)$/, (m) => `${m[1]}：实际为 ${m[2]}，应为 ${kind(m[3] ?? "")}。`],
  [/^link: overlay: no base64url without padding at character (\d+)$/, (m) => `第 ${m[1]} 个字符不是无填充的 base64url。`],
  [/^link: overlay: 1 to (\d+) characters are expected$/, (m) => `应为 1 至 ${m[1]} 个字符。`],
  [/^link: longer than (\d+) bytes$/, (m) => `链接超过 ${m[1]} 字节。`],
  [/^link: more than (\d+) overlays$/, (m) => `链接中的叠加点超过 ${m[1]} 个。`],
  [/^link: no overlay in it/, () => "链接中没有叠加点；应为“网址/?tab=run&overlay=…”或 overlay= 之后的部分。"],
  [/^link: an object is expected, found (.+)$/, (m) => `链接：应为对象，实际为${kind(m[1] ?? "")}。`],
  [/^link: (\S+): said twice, as (\S+) too$/, (m) => `${m[1]}：写了两次，另一处为 ${m[2]}。`],
  [/^(\S+): (?:\S+: )?a number above 0 and at most 1000000 is expected$/, (m) => `${m[1]}：应为大于 0 且不超过 1000000 的数。`],
  [/^(\S+): (?:\S+: )?a number above -100 is expected$/, (m) => `${m[1]}：应为大于 -100 的数。`],
  [/^report: (\S+): '(.*)' is no basis$/, (m) => `${m[1]}：“${m[2]}”不是依据。`],
  [/^share: site '(.*)': /, (m) => `网址“${m[1]}”：应为 http:// 或 https:// 加主机名，不带查询部分。`],
  [/^(\w+): (\w+): at most (\S+)(?: are expected)?$/, (m) => `${m[1]}：${m[2]}：最多 ${m[3]} 个。`],
  [/^compare: reports: (\S+) to (\S+) are expected$/, (m) => `compare：应有 ${m[1]} 至 ${m[2]} 份报告。`],
  [/^validate: profile: unknown profile '(.*)'$/, (m) => `规则集：不认识“${m[1]}”。`],
  [/^(.+) invalidates the report$/, (m) => `${m[1]} 使报告无效。`],
  [/^link: (\S+): longer than (\d+) bytes$/, (m) => `${m[1]}：超过 ${m[2]} 字节。`],
  [/^link: N: a number above 0/, () => "N：应为大于 0 且不超过 1000000 的数。"],
  [/^link: e: a number above -100/, () => "e：应为大于 -100 的数。"],
  [/^link: b: /, () => "b：应为 measured、interpolated、extrapolated 等依据之一。"],
  [
    /^(\S+): the report is of engine (\S+), window (\S+), the data of engine (\S+), window (\S+)$/,
    (m) => `${m[1]}：报告来自引擎 ${m[2]}、窗口 ${m[3]}，数据来自引擎 ${m[4]}、窗口 ${m[5]}。`,
  ],
  [/^warnings: (\S+) bars the report from comparison$/, (m) => `warnings：${m[1]} 使报告不能用于比较。`],
  [/^(\S+): no curve for (\S+) in (\S+)$/, (m) => `${m[1]}：${m[2]} 没有 ${m[3]} 的曲线。`],
];

/** What stands after the last field of a line, or is the line. */
const PHRASES: Record<string, string> = {
  missing: "缺失",
  "is missing": "缺失",
  "out of memory": "内存不足",
  "out of memory while writing": "写入时内存不足",
  // JSON.
  "nested deeper than 64 levels": "嵌套超过 64 层",
  "larger than 64 MiB": "大于 64 MiB",
  "a byte order mark is not allowed": "不允许字节顺序标记",
  "invalid UTF-8": "不是有效的 UTF-8",
  "a low surrogate without the high one before it": "低位代理之前缺少高位代理",
  "a high surrogate without the low one after it": "高位代理之后缺少低位代理",
  "the string does not end": "字符串没有结束",
  "unknown escape in a string": "字符串中有未知的转义",
  "a control character in a string must be escaped": "字符串中的控制字符必须转义",
  "too many values": "值太多",
  "not a number": "不是数字",
  "a number beyond the range of a double": "数字超出双精度范围",
  "…": "其余的问题没有列出",
  // Traces.
  "carriage return": "有回车符：每行只能以换行符结束",
  "more than 7 columns": "多于 7 列",
  "fewer than 7 columns": "少于 7 列",
  "expected a number or nothing": "应为数字或空",
  "expected seconds, at most 9 decimals": "应为秒数，最多 9 位小数",
  "expected 0 or a block number": "应为 0 或区组编号",
  "unknown phase": "未知的阶段",
  "line longer than 256 bytes": "一行超过 256 字节",
  "the last line is cut": "最后一行不完整：没有换行符",
  "the file is empty": "文件为空",
  "file and sha256 are expected": "应有 file 与 sha256",
  "this trace was not given": "没有给出这份功率轨迹",
  "the trace was not given": "没有给出这份功率轨迹",
  // Rules of a profile.
  "1.0 lacks the fields of this profile": "1.0 版没有该规则集要求的字段",
  "does not name NVML": "没有写明 NVML",
  "is not false, although software.differs_from_reference_pins names packages": "不是 false，而 software.differs_from_reference_pins 列出了包",
  "is missing, and thermal.steady_state_reached is not false": "缺失，而 thermal.steady_state_reached 不是 false",
  "does not disclose the fixed order": "没有说明顺序是固定的",
  "is not randomized": "没有随机化",
  "has fewer decode windows than finished blocks": "decode 窗口少于已完成的区组",
  "names no trace": "没有列出功率轨迹",
  "does not name a trace for each arm": "没有为每个实验臂列出功率轨迹",
  "is no SHA-256": "不是 SHA-256",
  // Recomputing.
  "no kind or block to look for": "没有可供查找的类别或区组",
  "is missing, so no verdict follows": "缺失，因此得不出判定",
  "printed a number, no block has both energies": "写了数字，但没有一个区组同时有两个能量",
  "printed a number, there is one arm": "写了数字，但只有一个实验臂",
  "printed a number, the trace has none": "写了数字，但功率轨迹中没有",
  "is not that of the arm it reports": "与所报告的实验臂不同",
  "no arm has the role under_test or baseline": "没有实验臂的角色是 under_test 或 baseline",
  "no arms or no count of finished blocks; nothing can be re-derived": "没有实验臂或已完成的区组数；无法重新推算",
  "no arm with a speed, so there is nothing to explain": "没有实验臂写明速度，因此无从解释",
  "cannot be re-derived, its inputs have no finite result": "无法重新推得：输入得不出有限的结果",
  "is no seed to draw with": "不是可用的随机种子",
  // Grading, links.
  "only a measured report is graded": "只评定实测报告",
  "only readings of NVML are graded": "只评定 NVML 的读数",
  "is not the change between the report's two energies": "与报告中两个能耗之间的变化不符",
  "is not the class of system_under_test.gpu": "与 system_under_test.gpu 的类别不符",
  "a number above 0 is expected": "应为大于 0 的数",
  "a size above 0 is expected": "应为大于 0 的规模",
  "all data are of batch 1": "所有数据都是批大小 1",
  "a number is expected": "应为数字",
  "a text is expected": "应为文本",
  "the report has no change of energy against FP16": "报告没有相对 FP16 的能耗变化",
  "the report does not tell the model's size": "报告没有写明模型规模",
  "FP16 is what the others are compared with": "FP16 是其他精度的比较基准",
};

/** "field: phrase" of the longest phrase that is known. */
function phrased(line: string): string | null {
  for (let at = 0; at >= 0; ) {
    const rest = line.slice(at);
    const known = PHRASES[rest] ?? PHRASES[rest.split(": ")[0] ?? ""];
    if (known !== undefined) {
      const field = line.slice(0, at).replace(/: $/, "").replace(/^(no )?link: /, "");
      return `${field === "" || field === "link" ? "" : `${field}：`}${known}。`;
    }
    const next = line.indexOf(": ", at);
    at = next < 0 ? -1 : next + 2;
  }
  return null;
}

function turned(line: string): string {
  for (const [pattern, turn] of TURNS) {
    const match = pattern.exec(line);
    if (match !== null) {
      return turn(match);
    }
  }
  return phrased(line) ?? coreLine(line);
}

/** "66:27: expected a value" says line and column. */
export function lineWords(line: string): string {
  const place = /^(?:link:)?(\d+):(\d+): (.*)$/s.exec(line);
  const rest = place?.[3] ?? line;
  const text = lang.value === "zh" ? turned(rest) : rest;
  return place === null ? text : words().at(place[1] ?? "", place[2] ?? "") + text;
}
