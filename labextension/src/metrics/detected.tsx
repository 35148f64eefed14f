/**
 * The mark of metrics that were found in the log without a pattern.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { ILatest } from '../api/wire.js';
import { DETECTED, visible } from '../api/wire.js';

/** A badge beside the name of a metric. */
export function Detected({ trans }: { readonly trans: TranslationBundle }): React.JSX.Element {
  return (
    <span
      className="jp-pai-Chart-detected"
      title={trans.__('Found in the log without a pattern. A pattern, report.metric or an event file replaces it.')}
    >
      {trans.__('detected')}
    </span>
  );
}

/** Return the name of a metric in a line of text, marked if it was detected. */
export function markedName(name: string, { source }: ILatest, trans: TranslationBundle): string {
  return source === DETECTED ? trans.__('%1 (detected)', visible(name)) : visible(name);
}
