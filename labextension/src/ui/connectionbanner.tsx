/**
 * A banner shown while the connection is lost, since the displayed data may be stale.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IConnection, IEngine } from '../api/engine.js';
import { useClock } from './context.js';

interface IProps {
  readonly connection: IConnection;
  readonly engine: IEngine;
  readonly trans: TranslationBundle;
}

/** Show when the next attempt to reconnect starts; nothing while connected. */
export function Connection({ connection, engine, trans }: IProps): React.JSX.Element | null {
  const { state, retryAt } = connection;
  const now = useClock(state === 'broken');
  if (state !== 'broken' || retryAt === null) {
    return null;
  }
  const seconds = Math.max(Math.ceil((retryAt - now) / 1000), 0);
  return (
    <p className="jp-pai-Broken" role="status">
      {engine.kind === 'kernel'
        ? trans.__('The kernel does not respond. Retrying in %1 s.', seconds)
        : trans.__('Connection to the server lost. Retrying in %1 s.', seconds)}
    </p>
  );
}
