/**
 * The tab Logs of the job view.
 */

import * as React from 'react';

import type { ITabProps } from './context.js';

export function Logs({ model }: ITabProps): React.JSX.Element {
  return <p>{model.jobId}</p>;
}
