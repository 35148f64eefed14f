/**
 * A part of a platform that is polled on its own: its value, its error, and how old the value is.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { useClock } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { approximateDuration, moment } from '../ui/format.js';
import type { IPolling } from '../ui/polling.js';

// Milliseconds after which a time needs its date.
const HALF_DAY = 12 * 3_600_000;

interface IProps<T> {
  readonly title: string;
  /** The id of the element with the profile's name, since each profile has the same parts. */
  readonly profileId: string;
  readonly polling: IPolling<T>;
  readonly isVisible: boolean;
  readonly trans: TranslationBundle;
  /** Renders a value. */
  readonly children: (value: T) => React.ReactNode;
}

export function PolledSection<T>({
  title,
  profileId,
  polling,
  isVisible,
  trans,
  children
}: IProps<T>): React.JSX.Element {
  const { value, loadedAt, error } = polling;
  const id = React.useId();
  return (
    <section aria-labelledby={`${id} ${profileId}`}>
      <h4 id={id}>{title}</h4>
      <ErrorMessage error={error} />
      {error && value !== null && <Age time={loadedAt} isVisible={isVisible} trans={trans} />}
      {value === null ? !error && <p className="jp-pai-Platforms-note">{trans.__('Loading…')}</p> : children(value)}
    </section>
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
