/**
 * The form to run a job again with changes. Its values come from the server, never from the output of a notebook.
 */

import * as React from 'react';

import { errorMessageOf } from '../api/engine.js';
import type { Json } from '../api/wire.js';
import { parseMap, record, string } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import type { IFieldErrors, IRow } from '../ui/fields/specedits.js';
import { changesOf, duplicateNames, fieldErrorsOf, isEmpty } from '../ui/fields/specedits.js';
import { useQuery, useTask } from '../ui/hooks.js';

interface IProps extends Omit<ITabProps, 'isVisible'> {
  readonly rerun: (changes: Json) => Promise<void>;
  readonly onCancel: () => void;
}

interface IFormProps extends IProps {
  readonly spec: Json;
}

interface IFormRow extends IRow {
  readonly key: number;
  readonly isNew: boolean;
}

const NO_ERRORS: IFieldErrors = { name: '', rows: new Map(), rest: '' };

export function RerunForm(props: IProps): React.JSX.Element {
  const { engine, model, trans } = props;
  const fetchSpec = async () => record(record(await engine.call('show', { job: model.jobId }))['spec']);
  const [spec, error] = useQuery(fetchSpec, model.jobId, true);
  if (!spec) {
    return error ? <ErrorMessage error={error} /> : <p>{trans.__('Loading…')}</p>;
  }
  return <Form {...props} spec={spec} />;
}

interface IRerun {
  readonly rows: readonly IFormRow[];
  readonly name: string;
  readonly errors: IFieldErrors;
  readonly isBusy: boolean;
  readonly setName: (name: string) => void;
  /** Replace the row at an index; null removes it. */
  readonly change: (index: number, row: IFormRow | null) => void;
  readonly add: () => void;
  readonly submit: (event: React.SyntheticEvent) => void;
}

/** Return the state of the form, and its actions. */
function useRerun({ trans, rerun, spec }: IFormProps): IRerun {
  const before = React.useMemo(() => parseMap(spec['hyperparameters'], string), [spec]);
  const [rows, setRows] = React.useState<readonly IFormRow[]>(() =>
    [...before].map(([name, value], key) => ({ key, name, value, isNew: false }))
  );
  const [name, setName] = React.useState('');
  const [errors, setErrors] = React.useState(NO_ERRORS);
  const task = useTask();
  const change = (index: number, row: IFormRow | null) => {
    setRows(rows.flatMap((old, n) => (n !== index ? [old] : row ? [row] : [])));
    setErrors(NO_ERRORS);
  };
  const add = () =>
    setRows([...rows, { key: 1 + Math.max(-1, ...rows.map(row => row.key)), name: '', value: '', isNew: true }]);
  const submit = (event: React.SyntheticEvent) => {
    event.preventDefault();
    const invalid = invalidRows(rows, trans);
    if (invalid.size) {
      setErrors({ ...NO_ERRORS, rows: invalid });
      return;
    }
    task.run(async () => {
      try {
        await rerun(changesOf(before, rows, name));
      } catch (error) {
        const { message, fix } = errorMessageOf(error);
        const fieldErrors = fieldErrorsOf(message, rows);
        setErrors({ ...fieldErrors, rest: [fieldErrors.rest, fix].filter(Boolean).join(' ') });
      }
    });
  };
  return { rows, name, errors, isBusy: task.isBusy, setName, change, add, submit };
}

/** Return the errors of rows that the form detects itself, by index. */
function invalidRows(rows: readonly IRow[], trans: IFormProps['trans']): ReadonlyMap<number, string> {
  const duplicates = duplicateNames(rows);
  const errorOf = (row: IRow) =>
    !row.name && !isEmpty(row)
      ? trans.__('Name is required.')
      : duplicates.has(row.name)
        ? trans.__('Duplicate name.')
        : '';
  return new Map(rows.map((row, n) => [n, errorOf(row)] as const).filter(([, text]) => text));
}

function Form(props: IFormProps): React.JSX.Element {
  const { trans, onCancel, spec } = props;
  const form = useRerun(props);
  const { errors, isBusy, submit } = form;
  const id = React.useId();
  const first = React.useRef<HTMLInputElement>(null);
  React.useEffect(() => first.current?.focus(), []);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.nativeEvent.isComposing) {
      return;
    }
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation(); // Escape would otherwise return to the notebook.
      if (!isBusy) {
        onCancel();
      }
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      submit(event);
    }
  };
  return (
    <form
      className="jp-pai-EditForm"
      data-lm-suppress-shortcuts="true"
      onSubmit={submit}
      onKeyDown={onKeyDown}
      aria-label={trans.__('Edit and rerun')}
    >
      <label>
        <span>{trans.__('Name')}</span>
        <input
          ref={first}
          value={form.name}
          placeholder={string(spec['name'])}
          title={trans.__('Default: the previous name with a timestamp')}
          aria-invalid={errors.name !== ''}
          onChange={event => form.setName(event.target.value)}
        />
        <InlineError id={`${id}-name`} text={errors.name} />
      </label>
      <fieldset>
        <legend>{trans.__('Hyperparameters')}</legend>
        {form.rows.map((row, n) => (
          <Row
            key={row.key}
            id={`${id}-${n}`}
            row={row}
            error={errors.rows.get(n) ?? ''}
            trans={trans}
            change={changed => form.change(n, changed)}
          />
        ))}
        <button type="button" className="jp-pai-Button" onClick={form.add}>
          {trans.__('Add hyperparameter')}
        </button>
      </fieldset>
      <ErrorMessage error={errors.rest ? { message: errors.rest, fix: '' } : null} />
      <div className="jp-pai-Actions">
        <button type="submit" className="jp-pai-Button jp-mod-accept" disabled={isBusy}>
          {trans.__('Run')}
        </button>
        <button type="button" className="jp-pai-Button" disabled={isBusy} onClick={onCancel}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}

interface IRowProps {
  readonly id: string;
  readonly row: IFormRow;
  readonly error: string;
  readonly trans: IFormProps['trans'];
  readonly change: (row: IFormRow | null) => void;
}

/** A hyperparameter; the name of an existing one cannot be edited. */
function Row({ id, row, error, trans, change }: IRowProps): React.JSX.Element {
  const hasError = error !== '';
  return (
    <div className="jp-pai-EditForm-row">
      {row.isNew ? (
        <input
          aria-label={trans.__('Hyperparameter name')}
          placeholder={trans.__('name')}
          aria-invalid={hasError}
          value={row.name}
          onChange={event => change({ ...row, name: event.target.value })}
        />
      ) : (
        <label htmlFor={`${id}-value`}>{row.name}</label>
      )}
      <input
        id={`${id}-value`}
        aria-label={row.isNew ? trans.__('Hyperparameter value') : row.name}
        aria-invalid={hasError && !row.isNew}
        aria-describedby={hasError ? id : undefined}
        placeholder={row.isNew ? trans.__('value') : undefined}
        value={row.value}
        onChange={event => change({ ...row, value: event.target.value })}
      />
      <button
        type="button"
        className="jp-pai-Button"
        title={trans.__('Remove')}
        aria-label={trans.__('Remove %1', row.name)}
        onClick={() => change(null)}
      >
        ×
      </button>
      <InlineError id={id} text={error} />
    </div>
  );
}

function InlineError({ id, text }: { id: string; text: string }): React.JSX.Element | null {
  return text ? (
    <span className="jp-pai-Trouble" role="alert" id={id}>
      {text}
    </span>
  ) : null;
}
