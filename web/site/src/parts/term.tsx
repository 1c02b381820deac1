// SPDX-License-Identifier: Apache-2.0
//
// A word with an explanation on hover and focus, from the glossary (docs/site/*/glossary.md). Escape closes it, the
// pointer may move onto it.

import glossary from "ecocompute-glossary";
import type { ComponentChildren, JSX } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { lang } from "../app/text.js";

const WIDTH = 288;

export function Term({ id, children }: { id: string; children?: ComponentChildren }): JSX.Element {
  const entry = glossary[id]?.[lang.value];
  const box = useRef<HTMLSpanElement>(null);
  const [at, setAt] = useState<{ left: string; top?: string; bottom?: string } | null>(null);
  const tip = useId();
  if (entry === undefined) {
    return <>{children ?? id}</>;
  }
  const open = (): void => {
    const rect = box.current?.getBoundingClientRect();
    if (rect !== undefined) {
      const left = Math.max(8, Math.min(rect.left, document.documentElement.clientWidth - WIDTH - 8));
      const { clientHeight } = document.documentElement;
      const below = rect.bottom < clientHeight / 2; // there is more room on that side
      setAt({ left: `${left}px`, ...(below ? { top: `${rect.bottom + 4}px` } : { bottom: `${clientHeight - rect.top + 4}px` }) });
    }
  };
  const close = (): void => setAt(null);
  return (
    <span class="term" ref={box} onPointerEnter={open} onPointerLeave={close}>
      <button
        type="button"
        aria-describedby={at === null ? undefined : tip}
        onFocus={open}
        onBlur={close}
        onClick={open}
        onKeyDown={(event) => event.key === "Escape" && close()}
      >
        {children ?? entry.term}
      </button>
      {at !== null && (
        <span class="term-tip" role="tooltip" id={tip} style={{ ...at, width: `${WIDTH}px` }}>
          <strong>{entry.term}</strong> {entry.text}
        </span>
      )}
    </span>
  );
}
