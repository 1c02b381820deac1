// SPDX-License-Identifier: Apache-2.0
//
// Okabe and Ito's colours by weight format, the same as in the plots of the command line. The values are custom
// properties (styles/tokens.css), so that dark and light differ; no meaning hangs on a colour alone.

const FORMATS: Record<string, string> = {
  FP16: "fp16",
  BF16: "bf16",
  NF4: "nf4",
  "NF4-DQ": "nf4dq",
  INT8: "int8",
  W8A16: "w8a16",
  Q4_0: "q4",
  Q8_0: "q8",
  FP8: "fp8",
};

export function formatColour(precision: string): string {
  return `var(--c-${FORMATS[precision.toUpperCase()] ?? "other"})`;
}
