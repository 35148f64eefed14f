/**
 * Disk usage and retention in the JupyterLab settings editor. The values are stored in the engine's own file, which
 * notebooks and the command line read too.
 */

import '../../style/views.css';
import * as React from 'react';

import { errorText } from '../api/engine.js';
import type { Json } from '../api/wire.js';
import { record, string } from '../api/wire.js';
import type { IContext } from '../ui/context.js';

type IProps = Pick<IContext, 'engine' | 'trans'>;

/** `file` is the path of the settings file, `values` its content, and `defaults` apply to missing values. */
interface ISettings {
  readonly file: string;
  readonly values: Json;
  readonly defaults: Json;
}

interface IRow {
  readonly table: string;
  readonly key: string;
  readonly title: string;
  readonly about: string;
  readonly isNumber: boolean;
}

export function EngineSettings({ engine, trans }: IProps): React.JSX.Element {
  const [settings, setSettings] = React.useState<ISettings | null>(null);
  const [status, setStatus] = React.useState('');
  const [error, setError] = React.useState('');
  React.useEffect(() => {
    engine.call('engine_settings').then(
      reply => setSettings(parse(reply)),
      (error: unknown) => setError(errorText(error))
    );
  }, [engine]);
  const save = async (row: IRow, text: string) => {
    if (!settings || text === textAt(settings.values, row)) {
      return;
    }
    try {
      const reply = await engine.call('set_engine_settings', {}, withText(settings.values, row, text));
      setSettings(parse(reply));
      setStatus(trans.__('Saved to %1', settings.file));
      setError('');
    } catch (error) {
      setStatus('');
      setError(errorText(error));
    }
  };
  return (
    <div className="jp-pai-Fields" data-lm-suppress-shortcuts="true">
      {settings &&
        rowsOf(trans).map(row => (
          <Row key={`${row.table}.${row.key}`} row={row} settings={settings} onWrite={text => void save(row, text)} />
        ))}
      <p className="jp-pai-Field-about" role="status">
        {status || (settings && trans.__('Stored in %1.', settings.file))}
      </p>
      {error && (
        <p className="jp-pai-Trouble" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

/** A setting, saved when its field loses the focus or on Enter. */
function Row(props: { row: IRow; settings: ISettings; onWrite: (text: string) => void }): React.JSX.Element {
  const { row, settings, onWrite } = props;
  const known = textAt(settings.values, row);
  const [text, setText] = React.useState(known);
  const id = `jp-pai-Settings-${row.table}-${row.key}`;
  return (
    <div className="jp-pai-Field">
      <label className="jp-pai-Field-title" htmlFor={id}>
        {row.title}
      </label>
      <input
        id={id}
        className="jp-pai-Input"
        inputMode={row.isNumber ? 'decimal' : 'text'}
        value={text}
        placeholder={textAt(settings.defaults, row)}
        aria-describedby={`${id}-about`}
        onChange={event => setText(event.target.value)}
        onBlur={() => onWrite(text.trim())}
        onKeyDown={event => event.key === 'Enter' && onWrite(text.trim())}
      />
      <p id={`${id}-about`} className="jp-pai-Field-about">
        {row.about}
      </p>
    </div>
  );
}

function rowsOf(trans: IProps['trans']): readonly IRow[] {
  return [
    {
      table: 'disk',
      key: 'limit',
      title: trans.__('Disk limit for jobs and environments'),
      about: trans.__('For example 50GB. Each submit above this limit warns; nothing is deleted automatically.'),
      isNumber: false
    },
    {
      table: 'disk',
      key: 'environment_days',
      title: trans.__('Days to keep unused environments'),
      about: trans.__('Environments and downloaded inputs unused for this long are deleted.'),
      isNumber: true
    },
    {
      table: 'tensorboard',
      key: 'idle_minutes',
      title: trans.__('TensorBoard idle timeout in minutes'),
      about: trans.__('A TensorBoard without viewers stops after this time.'),
      isNumber: true
    }
  ];
}

function parse(reply: unknown): ISettings {
  const { file, values, defaults } = record(reply);
  return { file: string(file), values: record(values), defaults: record(defaults) };
}

function textAt(tables: Json, { table, key }: IRow): string {
  const value = record(tables[table])[key];
  return typeof value === 'number' ? String(value) : string(value);
}

/**
 * Return all tables with one value replaced. Text instead of a number is sent unchanged, so that the engine reports it.
 */
function withText(tables: Json, { table, key, isNumber }: IRow, text: string): Json {
  const others = Object.fromEntries(Object.entries(record(tables[table])).filter(([name]) => name !== key));
  const value = isNumber && !Number.isNaN(Number(text)) ? Number(text) : text;
  return { ...tables, [table]: text === '' ? others : { ...others, [key]: value } };
}
