/**
 * What can be done with a job.
 */

import * as React from 'react';

import type { ITabProps } from './context.js';

export function Actions({ model }: Omit<ITabProps, 'isVisible'>): React.JSX.Element {
  return <span hidden>{model.jobId}</span>;
}
