// SPDX-License-Identifier: Apache-2.0
//
// The ways to measure, each with what it needs and what it gives. tests/web/test_run.mjs holds every command and option
// against `ecocompute --help`.

import type { JSX } from "preact";
import { pageHref } from "../../app/links.js";
import { strings } from "../../app/text.js";
import { CodeBlock } from "../../parts/controls.js";
import { words } from "./words.js";

interface Way {
  title: string;
  code: string;
  needs: string;
  gives: string;
}

const ways = strings<Way[]>({
  en: [
    {
      title: "From a fresh machine",
      code: "./quickstart.sh",
      needs: "Debian or Ubuntu, root or sudo to install five packages, an NVIDIA card with its driver (else the CPU is measured where its meter can be read).",
      gives: "Builds the program and runs the measurement below with its defaults. With --dry-run it prints every command and changes nothing.",
    },
    {
      title: "Measure, properly",
      code: "ecocompute measure --model Qwen2-7B --precision NF4,INT8",
      needs: "The built program, the card for itself for some minutes; no Python, no weights to download.",
      gives: "Five shuffled blocks of FP16 against each format: one energy.json a format with a 95 % interval, the reason, and the raw traces. Weights are synthetic: energy and speed hold for the shape.",
    },
    {
      title: "A first look",
      code: "ecocompute measure --quick",
      needs: "The same, less than 45 s.",
      gives: "Three blocks and short windows: a wider interval. Not for publishing.",
    },
    {
      title: "The published task",
      code: "ecocompute energy_estimate --model_name Qwen/Qwen2-7B \\\n    --precision NF4 --share",
      needs: "Nothing. Without a card the published dataset answers, and the report says so.",
      gives: "One energy.json by the published protocol (n = 1), power traces, and the link that shows it here. Add --require_measured to refuse the dataset's answer.",
    },
    {
      title: "Your own engine: any command against another",
      code: "ecocompute run -r 5 --vs 'python3 generate.py --nf4' \\\n    -- python3 generate.py --fp16",
      needs: "Two commands that do the same work, and a meter (ecocompute meters lists them).",
      gives: "Energy of each on every meter and the paired difference with its interval, in run.json with --output-dir. Tokens only where the command reports them.",
    },
    {
      title: "Before, and after",
      code: "ecocompute doctor\necocompute validate --recompute ecocompute-out/latest/energy.json\necocompute explain ecocompute-out/latest/energy.json",
      needs: "Nothing; the last two need a report.",
      gives: "What could spoil a measurement here; whether every number follows from its traces; what bound each arm. This page does the last two for what you drop.",
    },
  ],
  zh: [
    {
      title: "从一台新机器开始",
      code: "./quickstart.sh",
      needs: "Debian 或 Ubuntu；安装五个软件包需要 root 或 sudo；装好驱动的 NVIDIA 显卡（没有则在可读取功率计的 CPU 上测）。",
      gives: "编译程序，并按默认设置运行下面的测量。加上 --dry-run 只打印每条命令，不做改动。",
    },
    {
      title: "正式测量",
      code: "ecocompute measure --model Qwen2-7B --precision NF4,INT8",
      needs: "编译好的程序，显卡独占几分钟；不需要 Python，也不下载权重。",
      gives: "五个打乱顺序的区组，FP16 对每种格式：每种格式一份 energy.json，含 95 % 区间、原因与原始功率轨迹。权重为合成：能耗与速度对该模型形状成立。",
    },
    {
      title: "先看一眼",
      code: "ecocompute measure --quick",
      needs: "同上，不到 45 s。",
      gives: "三个区组、较短的窗口：区间更宽，不宜发表。",
    },
    {
      title: "已发布的任务",
      code: "ecocompute energy_estimate --model_name Qwen/Qwen2-7B \\\n    --precision NF4 --share",
      needs: "无。没有显卡时由已发布的数据集作答，报告会写明。",
      gives: "按已发布的规程（n = 1）得到一份 energy.json、功率轨迹，以及在这里显示它的链接。加上 --require_measured 则拒绝由数据集作答。",
    },
    {
      title: "你自己的引擎：任意两条命令相比",
      code: "ecocompute run -r 5 --vs 'python3 generate.py --nf4' \\\n    -- python3 generate.py --fp16",
      needs: "两条做同样工作的命令，以及一个功率计（用 ecocompute meters 列出）。",
      gives: "每条命令在每个功率计上的能耗，以及成对差值与区间；加 --output-dir 则写入 run.json。只有命令自己报告时才有 token 数。",
    },
    {
      title: "测量之前与之后",
      code: "ecocompute doctor\necocompute validate --recompute ecocompute-out/latest/energy.json\necocompute explain ecocompute-out/latest/energy.json",
      needs: "无；后两条需要一份报告。",
      gives: "这台机器上有什么会破坏测量；每个数字能否由功率轨迹推出；各臂受什么限制。拖入文件后，本页也会做后两件事。",
    },
  ],
});

export function Commands(): JSX.Element {
  const t = words();
  return (
    <section class="stack-y" aria-labelledby="ways">
      <h2 id="ways">{t.commands}</h2>
      <p>
        {t.commandsLead} <a href={pageHref("run-guide")}>{t.moreRun}</a> · <a href={pageHref("container")}>{t.container}</a>
      </p>
      <ol class="ways">
        {ways().map((way) => (
          <li key={way.title}>
            <h3>{way.title}</h3>
            <CodeBlock code={way.code} label={way.title} />
            <dl>
              <dt>{t.needs}</dt>
              <dd>{way.needs}</dd>
              <dt>{t.gives}</dt>
              <dd>{way.gives}</dd>
            </dl>
          </li>
        ))}
      </ol>
    </section>
  );
}
