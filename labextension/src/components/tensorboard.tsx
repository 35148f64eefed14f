/**
 * The tab TensorBoard of the job view.
 */

import * as React from 'react';

import type { ITabProps } from './context.js';

export function TensorBoard({ model }: ITabProps): React.JSX.Element {
  return <p>{model.jobId}</p>;
}
