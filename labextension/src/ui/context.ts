/**
 * What every component of a view may need, and the hooks by which it follows a job.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../api/engine.js';
import type { JobModel } from '../api/jobmodel.js';
import type { IHost } from '../host/host.js';

export interface IContext {
  readonly engine: IEngine;
  readonly host: IHost;
  readonly trans: TranslationBundle;
  /** The language of the texts, a tag: for readers of the screen, since the page around may speak another. */
  readonly lang: string;
  /** The folder of the notebook that the view is in, below the server's root; where it is in none, its host knows one. */
  readonly folder?: () => string;
}

/** What each tab of the job view is given. A tab that is not `isVisible` does no work. */
export interface ITabProps extends IContext {
  readonly model: JobModel;
  readonly isVisible: boolean;
  /** In a cell's output: what is long is folded. */
  readonly isCompact?: boolean;
}

/** Draw again whenever the model changes. */
export function useChanges(model: JobModel): void {
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  React.useEffect(() => {
    const slot = () => redraw();
    model.changed.connect(slot);
    return () => void model.changed.disconnect(slot);
  }, [model]);
}

/** The time of now, each second while `isOn`. */
export function useClock(isOn: boolean): number {
  const [now, setNow] = React.useState(Date.now());
  React.useEffect(() => {
    if (!isOn) {
      return;
    }
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isOn]);
  return now;
}
