/**
 * The form to run a job again with changes. Its values come from the server, never from the output of a notebook.
 */

import * as React from 'react';

import type { Json } from '../api/wire.js';
import { mapped, record, string } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { Trouble } from '../ui/errormessage.js';
import type { IFaults, IRow } from '../ui/fields/specedits.js';
import { changesOf, faultsOf, isEmpty, repeated } from '../ui/fields/specedits.js';
import { troubleOf, useAnswer, useTask } from '../ui/hooks.js';

interface IProps extends Omit<ITabProps, 'isVisible'> {
  readonly rerun: (changes: Json) => Promise<void>;
  readonly onCancel: () => void;
}

interface IFormRow extends IRow {
  readonly key: number;
  readonly isNew: boolean;
}

const NO_FAULTS: IFaults = { name: '', rows: new Map(), rest: '' };

export function EditForm(props: IProps): React.JSX.Element {
  const { engine, model, trans } = props;
  const ask = async () => record(record(await engine.call('show', { job: model.jobId }))['spec']);
  const [spec, trouble] = useAnswer(ask, model.jobId, true);
  if (!spec) {
    return trouble ? <Trouble trouble={trouble} /> : <p>{trans.__('Loading…')}</p>;
  }
  return <Form {...props} spec={spec} />;
}

function Form({ trans, rerun, onCancel, spec }: IProps & { spec: Json }): React.JSX.Element {
  const before = React.useMemo(() => mapped(spec['hyperparameters'], string), [spec]);
  const [rows, setRows] = React.useState<readonly IFormRow[]>(() =>
    [...before].map(([name, value], key) => ({ key, name, value, isNew: false }))
  );
  const [name, setName] = React.useState('');
  const [faults, setFaults] = React.useState(NO_FAULTS);
  const task = useTask();
  const id = React.useId();
  const first = React.useRef<HTMLInputElement>(null);
  React.useEffect(() => first.current?.focus(), []);
  const change = (place: number, row: IFormRow | null) => {
    setRows(rows.flatMap((old, n) => (n !== place ? [old] : row ? [row] : [])));
    setFaults(NO_FAULTS);
  };
  const add = () =>
    setRows([...rows, { key: 1 + Math.max(-1, ...rows.map(row => row.key)), name: '', value: '', isNew: true }]);
  const submit = (event: React.SyntheticEvent) => {
    event.preventDefault();
    const twice = repeated(rows);
    const own = rows.flatMap((row, n): [number, string][] => {
      const said =
        !row.name && !isEmpty(row)
          ? trans.__('Name is required.')
          : twice.has(row.name)
            ? trans.__('Duplicate name.')
            : '';
      return said ? [[n, said]] : [];
    });
    if (own.length) {
      setFaults({ ...NO_FAULTS, rows: new Map(own) });
      return;
    }
    task.run(async () => {
      try {
        await rerun(changesOf(before, rows, name));
      } catch (error) {
        const { message, fix } = troubleOf(error);
        const found = faultsOf(message, rows);
        setFaults({ ...found, rest: [found.rest, fix].filter(Boolean).join(' ') });
      }
    });
  };
  const press = (event: React.KeyboardEvent) => {
    if (event.nativeEvent.isComposing) {
      return;
    }
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation(); // Escape would otherwise return to the notebook.
      if (!task.isBusy) {
        onCancel();
      }
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      submit(event);
    }
  };
  const fault = (place: number | 'name') => {
    const said = place === 'name' ? faults.name : faults.rows.get(place);
    return said ? (
      <span className="jp-pai-Trouble" role="alert" id={`${id}-${place}`}>
        {said}
      </span>
    ) : null;
  };
  return (
    <form
      className="jp-pai-EditForm"
      data-lm-suppress-shortcuts="true"
      onSubmit={submit}
      onKeyDown={press}
      aria-label={trans.__('Edit and rerun')}
    >
      <label>
        <span>{trans.__('Name')}</span>
        <input
          ref={first}
          value={name}
          placeholder={string(spec['name'])}
          title={trans.__('Default: the previous name with a timestamp')}
          aria-invalid={faults.name !== ''}
          onChange={event => setName(event.target.value)}
        />
        {fault('name')}
      </label>
      <fieldset>
        <legend>{trans.__('Hyperparameters')}</legend>
        {rows.map((row, n) => (
          <div key={row.key} className="jp-pai-EditForm-row">
            {row.isNew ? (
              <input
                aria-label={trans.__('Hyperparameter name')}
                placeholder={trans.__('name')}
                aria-invalid={faults.rows.has(n)}
                value={row.name}
                onChange={event => change(n, { ...row, name: event.target.value })}
              />
            ) : (
              <label htmlFor={`${id}-value-${row.key}`}>{row.name}</label>
            )}
            <input
              id={`${id}-value-${row.key}`}
              aria-label={row.isNew ? trans.__('Hyperparameter value') : row.name}
              aria-invalid={faults.rows.has(n) && !row.isNew}
              aria-describedby={faults.rows.has(n) ? `${id}-${n}` : undefined}
              placeholder={row.isNew ? trans.__('value') : undefined}
              value={row.value}
              onChange={event => change(n, { ...row, value: event.target.value })}
            />
            <button
              type="button"
              className="jp-pai-Button"
              title={trans.__('Remove')}
              aria-label={trans.__('Remove %1', row.name)}
              onClick={() => change(n, null)}
            >
              ×
            </button>
            {fault(n)}
          </div>
        ))}
        <button type="button" className="jp-pai-Button" onClick={add}>
          {trans.__('Add hyperparameter')}
        </button>
      </fieldset>
      <Trouble trouble={faults.rest ? { message: faults.rest, fix: '' } : null} />
      <div className="jp-pai-Actions">
        <button type="submit" className="jp-pai-Button jp-mod-accept" disabled={task.isBusy}>
          {trans.__('Run')}
        </button>
        <button type="button" className="jp-pai-Button" disabled={task.isBusy} onClick={onCancel}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}
