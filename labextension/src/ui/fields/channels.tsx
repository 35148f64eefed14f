/**
 * Input or output channels of a job: their names and URIs.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../../api/engine.js';
import type { IHost } from '../../host/host.js';
import type { Channels as ChannelMap, IChannelRow } from './channelrows.js';
import { appendRow, channelErrors, channelsOf, rowsOf, suggestedNames, variableOf } from './channelrows.js';
import { UriPicker } from './uripicker.js';

interface IProps {
  readonly engine: IEngine;
  readonly host: IHost;
  readonly trans: TranslationBundle;
  readonly kind: 'inputs' | 'outputs';
  readonly value: ChannelMap;
  readonly onChange: (value: ChannelMap) => void;
  /** The engine's errors, by channel name. */
  readonly errors: ReadonlyMap<string, string>;
  readonly profile: string;
  /** Base folder of relative paths, absolute on the server. */
  readonly home?: string;
}

export function Channels(props: IProps): React.JSX.Element {
  const { trans, kind, value, onChange, errors } = props;
  const id = React.useId();
  const [localRows, setLocalRows] = React.useState<readonly IChannelRow[]>(() => rowsOf(value, []));
  // The value may be changed from outside; rows that are incomplete stay.
  const rows = React.useMemo(() => rowsOf(value, localRows), [value, localRows]);
  const rowErrors = channelErrors(rows, errors, trans);
  const box = React.useRef<HTMLFieldSetElement>(null);
  const focus = React.useRef('');
  React.useEffect(() => {
    if (focus.current) {
      box.current?.querySelector<HTMLElement>(focus.current)?.focus();
      focus.current = '';
    }
  });
  const update = (changed: readonly IChannelRow[]) => {
    setLocalRows(changed);
    onChange(channelsOf(changed));
  };
  const add = () => {
    focus.current = '[data-row]:last-of-type input';
    update(appendRow(rows));
  };
  const remove = (row: IChannelRow) => {
    focus.current = 'button[data-add]';
    update(rows.filter(other => other !== row));
  };
  const title = kind === 'inputs' ? trans.__('Inputs') : trans.__('Outputs');
  return (
    <fieldset ref={box} className="jp-pai-ChannelRows" data-lm-suppress-shortcuts="true" aria-label={title}>
      <datalist id={`${id}-names`}>
        {suggestedNames(kind, rows).map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {rows.map(row => (
        <Row
          {...props}
          key={row.key}
          row={row}
          names={`${id}-names`}
          error={rowErrors.get(row.key) ?? ''}
          change={now => update(rows.map(other => (other === row ? now : other)))}
          remove={() => remove(row)}
        />
      ))}
      <button type="button" data-add className="jp-pai-Button" onClick={add}>
        {kind === 'inputs' ? trans.__('Add input') : trans.__('Add output')}
      </button>
    </fieldset>
  );
}

interface IRowProps extends IProps {
  readonly row: IChannelRow;
  readonly names: string;
  readonly error: string;
  readonly change: (row: IChannelRow) => void;
  readonly remove: () => void;
}

function Row(props: IRowProps): React.JSX.Element {
  const { trans, kind, row, names, error, change, remove } = props;
  const variable = variableOf(kind, row.name);
  const label = kind === 'inputs' ? trans.__('Location of %1', row.name) : trans.__('Destination of %1', row.name);
  return (
    <div className="jp-pai-ChannelRow" data-row={row.key}>
      <input
        className="jp-pai-Input"
        aria-label={kind === 'inputs' ? trans.__('Input name') : trans.__('Output name')}
        placeholder={trans.__('name')}
        title={variable && trans.__('Available to the script as $%1', variable)}
        list={names}
        spellCheck={false}
        value={row.name}
        onChange={event => change({ ...row, name: event.target.value })}
      />
      <button
        type="button"
        className="jp-pai-Button"
        title={trans.__('Remove')}
        aria-label={trans.__('Remove %1', row.name)}
        onClick={remove}
      >
        ×
      </button>
      <UriPicker
        engine={props.engine}
        trans={trans}
        label={label.trim()}
        placeholder={kind === 'inputs' ? trans.__('path or URI') : 'URI'}
        value={row.value}
        onChange={uri => change({ ...row, value: uri })}
        profile={props.profile}
        {...(props.home === undefined ? {} : { home: props.home })}
        isNew={kind === 'outputs'}
        error={error}
      />
    </div>
  );
}
