/**
 * The tab Metrics of the job view.
 */

import * as React from 'react';

import type { ITabProps } from './context.js';

export function Metrics({ model }: ITabProps): React.JSX.Element {
  return <p>{model.jobId}</p>;
}
