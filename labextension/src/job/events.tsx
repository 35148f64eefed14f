/**
 * The tab Events of the job view.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEvent } from '../api/jobhistory.js';
import { isStatus, record, string, strings } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { moment } from '../ui/format.js';
import { useEvents } from '../ui/hooks.js';
import { statusName } from '../ui/statusbadge.js';

export function Events(props: ITabProps): React.JSX.Element {
  const { trans } = props;
  const [all, error] = useEvents(props);
  const events = all.filter((event, n) => !isRepeatedStatus(event, all.slice(0, n)));
  return (
    <div className="jp-pai-Table">
      <ErrorMessage error={error} />
      <table>
        <thead>
          <tr>
            <th scope="col">{trans.__('Time')}</th>
            <th scope="col">{trans.__('Event')}</th>
            <th scope="col">{trans.__('Details')}</th>
          </tr>
        </thead>
        <tbody>
          {events.map(event => {
            const [title, details] = describeEvent(event, trans);
            return (
              <tr key={event.id}>
                <td>
                  <time dateTime={new Date(event.time).toISOString()}>{moment(event.time)}</time>
                </td>
                <td>{title}</td>
                <td>{details}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Return whether an event repeats the previous status; only the platform's name for it changed. */
function isRepeatedStatus({ kind, data }: IEvent, before: readonly IEvent[]): boolean {
  const last = before.filter(event => event.kind === 'status').at(-1);
  const same = (name: string) => string(last?.data[name]) === string(data[name]);
  return kind === 'status' && last !== undefined && same('status') && same('reason');
}

/** Describe an event. Unknown kinds are shown as they are. */
function describeEvent({ kind, data }: IEvent, trans: TranslationBundle): [string, string] {
  const status = string(data['status']);
  if (kind === 'status' && isStatus(status)) {
    return [statusName(status, trans), string(data['reason'])];
  }
  if (kind === 'platform') {
    const instance = string(data['instance']);
    const title = data['warning'] === true ? trans.__('warning of the platform') : trans.__('platform');
    return [instance ? `${title} (${instance})` : title, string(data['text'])];
  }
  if (kind !== 'detail') {
    return [kind, Object.keys(data).length ? JSON.stringify(data) : ''];
  }
  if ('pinned' in data) {
    return [data['pinned'] === true ? trans.__('pinned') : trans.__('unpinned'), ''];
  }
  if ('labels' in data) {
    const labels = Object.entries(record(data['labels']));
    return [
      trans.__('labels'),
      labels.map(([name, value]) => (value === null ? `−${name}` : `${name}=${string(value)}`)).join(', ')
    ];
  }
  return [trans.__('details'), strings(data['fields']).join(', ')];
}
