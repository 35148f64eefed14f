/**
 * A part of a platform that is polled on its own: its value, its error, and how old the value is.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IErrorMessage } from '../api/engine.js';
import { useClock } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { approximateDuration, moment } from '../ui/format.js';
import type { IPolling } from '../ui/polling.js';
import { isCovered } from './problems.js';

// Milliseconds after which a time needs its date.
const HALF_DAY = 12 * 3_600_000;

interface IProps<T> {
  readonly title: string;
  /** The id of the element with the profile's name, since each profile has the same parts. */
  readonly profileId: string;
  readonly polling: IPolling<T>;
  readonly isVisible: boolean;
  /** The error of the whole platform, which is shown above its parts. */
  readonly common: IErrorMessage | null;
  readonly trans: TranslationBundle;
  /** Renders a value. */
  readonly children: (value: T) => React.ReactNode;
}

export function PolledSection<T>({
  title,
  profileId,
  polling,
  isVisible,
  common,
  trans,
  children
}: IProps<T>): React.JSX.Element {
  const { value, loadedAt, error } = polling;
  const id = React.useId();
  return (
    <section aria-labelledby={`${id} ${profileId}`}>
      <h4 id={id}>{title}</h4>
      {error && !isCovered(error, common) && (
        <Problem error={error} labelledBy={`${id} ${profileId}`} retry={polling.poll} trans={trans} />
      )}
      {error && value !== null && <Age time={loadedAt} isVisible={isVisible} trans={trans} />}
      {value !== null ? (
        children(value)
      ) : !error ? (
        <p className="jp-pai-Platforms-note">{trans.__('Loading…')}</p>
      ) : (
        isCovered(error, common) && <p className="jp-pai-Platforms-note">{trans.__('Not loaded.')}</p>
      )}
    </section>
  );
}

interface IProblemProps {
  readonly error: IErrorMessage;
  /** The ids of the elements that name what failed. */
  readonly labelledBy: string;
  readonly retry: () => Promise<unknown>;
  readonly trans: TranslationBundle;
  /** Another way to repair it. */
  readonly children?: React.ReactNode;
}

/** An error, with a button that repeats what failed. */
export function Problem({ error, labelledBy, retry, trans, children }: IProblemProps): React.JSX.Element {
  const id = React.useId();
  const [isBusy, setBusy] = React.useState(false);
  const onClick = () => {
    if (!isBusy) {
      setBusy(true);
      void retry().finally(() => setBusy(false));
    }
  };
  return (
    <div className="jp-pai-Platforms-problem">
      <ErrorMessage error={error} />
      <div className="jp-pai-Platforms-actions">
        {children}
        {/* Not disabled meanwhile, so that it keeps the focus. */}
        <button
          type="button"
          id={id}
          className="jp-pai-Button"
          aria-disabled={isBusy}
          aria-labelledby={`${id} ${labelledBy}`}
          onClick={onClick}
        >
          {isBusy ? trans.__('Loading…') : trans.__('Try again')}
        </button>
      </div>
    </div>
  );
}

/** The time of a value that could not be replaced. */
function Age({ time, isVisible, trans }: { time: number } & Pick<IProps<unknown>, 'isVisible' | 'trans'>) {
  const age = Math.max(useClock(isVisible) - time, 1000);
  const when = moment(time, age < HALF_DAY ? { timeStyle: 'short' } : undefined);
  return (
    <p className="jp-pai-Platforms-note">{trans.__('As of %1, %2 ago.', when, approximateDuration(age, trans))}</p>
  );
}
