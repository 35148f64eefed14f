/**
 * Colors and dashes that distinguish the lines of several jobs.
 */

import * as React from 'react';

const COLOR_COUNT = 8;
const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 2], [9, 2, 2, 2], [4, 4], [12, 3, 3, 3, 3, 3]];

/** Return the CSS variable with the color of a line. */
export function lineVariable(index: number): string {
  return `--jp-pai-line-${index % COLOR_COUNT}`;
}

export function lineDash(index: number): readonly number[] {
  return DASHES[index % DASHES.length] ?? [];
}

/** A sample of a line. */
export function Swatch({ index }: { readonly index: number }): React.JSX.Element {
  const style = { stroke: `var(${lineVariable(index)})`, strokeDasharray: lineDash(index).join(' ') };
  return (
    <svg className="jp-pai-Swatch" viewBox="0 0 28 8" aria-hidden="true">
      <line x1="0" y1="4" x2="28" y2="4" style={style} />
    </svg>
  );
}
