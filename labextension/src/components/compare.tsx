/**
 * Several jobs beside each other.
 */

import * as React from 'react';

import type { IContext } from './context.js';

interface IProps extends IContext {
  readonly jobIds: readonly string[];
  readonly isVisible: boolean;
}

export function Compare({ jobIds }: IProps): React.JSX.Element {
  return <p>{jobIds.join(', ')}</p>;
}
