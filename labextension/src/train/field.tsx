/**
 * Building blocks of the form: labelled fields with errors, rows of names and values, collapsible sections.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { staysOpen } from '../ui/fields/fielderror.js';
import type { IDraftRow } from './draft.js';
import { addRow, rowErrors } from './draft.js';
import { MessageText } from '../ui/messagetext.js';

/** Attributes that connect a control with its label, error and hint. */
export interface IControl {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string | undefined;
}

interface IField {
  readonly label: string;
  /** A text next to the label. */
  readonly note?: string;
  readonly error?: string | undefined;
  readonly hint?: React.ReactNode;
  /** A warning that does not prevent submitting. */
  readonly warning?: string;
  readonly children: (control: IControl) => React.ReactNode;
}

export function Field({ label, note = '', error = '', hint, warning = '', children }: IField): React.JSX.Element {
  const id = React.useId();
  const describedBy = [error && `${id}-error`, warning && `${id}-doubt`, hint ? `${id}-hint` : '']
    .filter(Boolean)
    .join(' ');
  return (
    <div className="jp-pai-Field">
      <span className="jp-pai-Field-label">
        <label htmlFor={id}>{label}</label>
        {note && <small aria-hidden>{note}</small>}
      </span>
      {children({ id, 'aria-invalid': error !== '', 'aria-describedby': describedBy || undefined })}
      {error && (
        <span className="jp-pai-Trouble" id={`${id}-error`}>
          <MessageText text={error} />
        </span>
      )}
      {warning && (
        <span className="jp-pai-Train-doubt" id={`${id}-doubt`}>
          <MessageText text={warning} />
        </span>
      )}
      {hint && (
        <span className="jp-pai-Train-hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

interface ITextField extends Omit<IField, 'children'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  readonly mode?: 'numeric' | 'decimal';
}

export function TextField({ value, onChange, placeholder, mode, ...rest }: ITextField): React.JSX.Element {
  return (
    <Field {...rest}>
      {control => (
        <input
          {...control}
          className="jp-pai-Input"
          value={value}
          placeholder={placeholder}
          inputMode={mode}
          spellCheck={false}
          onChange={event => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

interface INumberField extends Omit<ITextField, 'value' | 'onChange' | 'mode'> {
  /** A number, or an invalid text; undefined if empty. */
  readonly value: unknown;
  readonly onChange: (value: number | string) => void;
}

/** A number field that keeps the typed text: `1.` stays until more is typed. */
export function NumberField({ value, onChange, ...rest }: INumberField): React.JSX.Element {
  const [text, setText] = React.useState('');
  const now = typeof value === 'number' || typeof value === 'string' ? value : '';
  const shown = parseNumber(text) === now ? text : String(now);
  const change = (input: string) => {
    setText(input);
    onChange(parseNumber(input));
  };
  return <TextField {...rest} mode="decimal" value={shown} onChange={change} />;
}

function parseNumber(text: string): number | string {
  const number = Number(text);
  return text.trim() === '' || Number.isNaN(number) ? text : number;
}

interface ILinesField extends Omit<IField, 'children'> {
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
  readonly placeholder?: string;
}

/** A list of texts, one per line. */
export function LinesField({ value, onChange, placeholder, ...rest }: ILinesField): React.JSX.Element {
  const [text, setText] = React.useState(value.join('\n'));
  const lines = linesOf(text);
  const hasChanged = lines.join('\n') !== value.join('\n');
  const shown = hasChanged ? value.join('\n') : text; // Blank lines are kept while typing.
  return (
    <Field {...rest}>
      {control => (
        <textarea
          {...control}
          className="jp-pai-Input"
          rows={Math.min(Math.max(shown.split('\n').length, 2), 8)}
          value={shown}
          placeholder={placeholder}
          spellCheck={false}
          onChange={event => {
            setText(event.target.value);
            onChange(linesOf(event.target.value));
          }}
        />
      )}
    </Field>
  );
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean);
}

interface IRowsProps {
  readonly trans: TranslationBundle;
  /** The heading, and the label of the button that adds a row. */
  readonly title: string;
  readonly addLabel: string;
  readonly rows: readonly IDraftRow[];
  /** All rows of the table these rows belong to; names must be unique in it. */
  readonly tableRows?: readonly IDraftRow[];
  readonly onChange: (rows: readonly IDraftRow[]) => void;
  /** Return the error and the warning of a row. */
  readonly errorOf: (row: IDraftRow) => string;
  readonly warningOf?: (row: IDraftRow) => string;
  readonly hint?: string;
  /** True if the title is for screen readers only. */
  readonly isTitleHidden?: boolean;
  /** The placeholder of the second column, and suggestions for it. */
  readonly valueLabel?: string;
  readonly suggestions?: readonly string[];
}

/** Rows of freely chosen names and values. */
export function Rows(props: IRowsProps): React.JSX.Element {
  const { trans, title, addLabel, rows, tableRows = rows, onChange, hint, isTitleHidden, suggestions } = props;
  const id = React.useId();
  const newKey = React.useRef<number | null>(null);
  const errors = rowErrors(tableRows);
  const change = (key: number, row: IDraftRow | null) =>
    onChange(tableRows.flatMap(old => (old.key !== key ? [old] : row ? [row] : [])));
  const errorOf = (row: IDraftRow) => {
    const error = errors.get(row.key);
    return error === 'nameless'
      ? trans.__('Name is required.')
      : error === 'duplicate'
        ? trans.__('Duplicate name.')
        : props.errorOf(row);
  };
  const add = () => {
    const changed = addRow(tableRows);
    newKey.current = changed.at(-1)?.key ?? null;
    onChange(changed);
  };
  return (
    <fieldset className="jp-pai-Rows">
      <legend className={isTitleHidden ? 'jp-pai-Train-told' : ''}>{title}</legend>
      {hint && <p className="jp-pai-Train-hint">{hint}</p>}
      {rows.map(row => (
        <Row
          key={row.key}
          {...{ trans, title, row }}
          id={`${id}-${row.key}`}
          valueLabel={props.valueLabel ?? trans.__('value')}
          listId={suggestions && `${id}-suggestions`}
          error={errorOf(row)}
          warning={(row.name && props.warningOf?.(row)) || ''}
          isNew={newKey.current === row.key}
          change={changed => change(row.key, changed)}
        />
      ))}
      {suggestions && (
        <datalist id={`${id}-suggestions`}>
          {suggestions.map(text => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
      <button type="button" className="jp-pai-Button" onClick={add}>
        {addLabel}
      </button>
    </fieldset>
  );
}

interface IRowProps {
  readonly id: string;
  readonly trans: TranslationBundle;
  readonly title: string;
  readonly valueLabel: string;
  /** The element id of the suggestions for the value. */
  readonly listId: string | undefined;
  readonly row: IDraftRow;
  readonly error: string;
  readonly warning: string;
  /** True if the row was just added, so that it takes the focus. */
  readonly isNew: boolean;
  readonly change: (row: IDraftRow | null) => void;
}

function Row({
  id,
  trans,
  title,
  valueLabel,
  listId,
  row,
  error,
  warning,
  isNew,
  change
}: IRowProps): React.JSX.Element {
  const message = error || warning;
  const describedBy = message ? id : undefined;
  return (
    <div className="jp-pai-Rows-row">
      <input
        className="jp-pai-Input"
        aria-label={trans.__('%1: name', title)}
        placeholder={trans.__('name')}
        aria-invalid={error !== ''}
        aria-describedby={describedBy}
        autoFocus={isNew}
        spellCheck={false}
        value={row.name}
        onChange={event => change({ ...row, isOwn: true, name: event.target.value })}
      />
      <input
        className="jp-pai-Input"
        aria-label={`${title}: ${row.name || '–'}: ${valueLabel}`}
        placeholder={valueLabel}
        list={listId}
        aria-describedby={describedBy}
        spellCheck={false}
        value={row.value}
        onChange={event => change({ ...row, value: event.target.value })}
      />
      <button
        type="button"
        className="jp-pai-Button jp-pai-Train-remove"
        title={trans.__('Remove')}
        aria-label={trans.__('Remove %1', row.name)}
        onClick={() => change(null)}
      >
        ×
      </button>
      {message && (
        <span className={error ? 'jp-pai-Trouble' : 'jp-pai-Train-doubt'} id={id}>
          <MessageText text={message} />
        </span>
      )}
    </div>
  );
}

interface ICollapsibleProps {
  readonly title: string;
  /** A summary of its settings. */
  readonly summary: string;
  /** True if it contains an error, so that it cannot be closed. */
  readonly hasError?: boolean;
  readonly children: React.ReactNode;
}

export function CollapsibleSection({
  title,
  summary,
  hasError = false,
  children
}: ICollapsibleProps): React.JSX.Element {
  // Null until it is opened. Then it stays mounted, so that incomplete input is kept.
  const [open, setOpen] = React.useState<boolean | null>(null);
  const isOpen = open === true || hasError;
  return (
    <details
      className="jp-pai-Fold"
      open={isOpen}
      onToggle={event => setOpen(staysOpen(event.currentTarget, hasError))}
    >
      <summary>
        <span className="jp-pai-Fold-title">{title}</span>
        <span className="jp-pai-Fold-said" title={summary}>
          {summary}
        </span>
      </summary>
      {(isOpen || open !== null) && <div className="jp-pai-Fold-content">{children}</div>}
    </details>
  );
}
