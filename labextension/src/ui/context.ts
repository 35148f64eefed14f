/**
 * The context passed to every component, and hooks to follow a job.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { ISignal } from '@lumino/signaling';
import * as React from 'react';

import type { IEngine } from '../api/engine.js';
import type { JobModel } from '../api/jobmodel.js';
import type { IHost } from '../host/host.js';

export interface IContext {
  readonly engine: IEngine;
  readonly host: IHost;
  readonly trans: TranslationBundle;
  /** Language tag of the texts, for screen readers: the surrounding page may use another language. */
  readonly lang: string;
  /**
   * Return the folder of the notebook that contains the view, below the server root. Undefined outside of a notebook.
   */
  readonly folder?: () => string;
}

/** Properties of each tab of the job view. A tab that is not `isVisible` does no work. */
export interface ITabProps extends IContext {
  readonly model: JobModel;
  readonly isVisible: boolean;
  /** True if the view is shown in a cell output: long sections are collapsed. */
  readonly isCompact?: boolean;
  /** The instance whose log was opened by `openLog`; null for all instances. */
  readonly instance?: string | null;
  /** Open the log of an instance. */
  readonly openLog?: (instance: string) => void;
}

/** Render again whenever a model changes. */
export function useChanges(model: { readonly changed: ISignal<unknown, unknown> }): void {
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  React.useEffect(() => {
    const slot = () => redraw();
    model.changed.connect(slot);
    return () => void model.changed.disconnect(slot);
  }, [model]);
}

/** Return the current time, updated every second while `isOn`. */
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
