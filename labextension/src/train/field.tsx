/**
 * Building blocks of the form: labelled fields with errors, rows of names and values, collapsible sections.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { staysOpen } from '../ui/fields/fielderror.js';
import type { IDraftRow } from './draft.js';
import { added, rowFaults } from './draft.js';

/** Attributes that connect a control with its label, error and hint. */
export interface IControl {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string | undefined;
}

interface IField {
  readonly label: string;
  /** A text next to the label. */
  readonly mark?: string;
  readonly fault?: string | undefined;
  readonly hint?: React.ReactNode;
  /** A warning that does not prevent submitting. */
  readonly doubt?: string;
  readonly children: (control: IControl) => React.ReactNode;
}

export function Field({ label, mark = '', fault = '', hint, doubt = '', children }: IField): React.JSX.Element {
  const id = React.useId();
  const said = [fault && `${id}-fault`, doubt && `${id}-doubt`, hint ? `${id}-hint` : ''].filter(Boolean).join(' ');
  return (
    <div className="jp-pai-Field">
      <span className="jp-pai-Field-label">
        <label htmlFor={id}>{label}</label>
        {mark && <small aria-hidden>{mark}</small>}
      </span>
      {children({ id, 'aria-invalid': fault !== '', 'aria-describedby': said || undefined })}
      {fault && (
        <span className="jp-pai-Trouble" id={`${id}-fault`}>
          {fault}
        </span>
      )}
      {doubt && (
        <span className="jp-pai-Train-doubt" id={`${id}-doubt`}>
          {doubt}
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
  const shown = read(text) === now ? text : String(now);
  const change = (typed: string) => {
    setText(typed);
    onChange(read(typed));
  };
  return <TextField {...rest} mode="decimal" value={shown} onChange={change} />;
}

function read(text: string): number | string {
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
  const isOld = lines.join('\n') !== value.join('\n');
  const shown = isOld ? value.join('\n') : text; // Blank lines are kept while typing.
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

interface IRows {
  readonly trans: TranslationBundle;
  /** The heading, and the label of the button that adds a row. */
  readonly title: string;
  readonly add: string;
  readonly rows: readonly IDraftRow[];
  /** All rows of the table these rows belong to; names must be unique in it. */
  readonly all?: readonly IDraftRow[];
  readonly onChange: (rows: readonly IDraftRow[]) => void;
  /** Return the error and the warning of a row. */
  readonly fault: (row: IDraftRow) => string;
  readonly doubt?: (row: IDraftRow) => string;
  readonly hint?: string;
  /** Whether the title is for screen readers only. */
  readonly isTitleHidden?: boolean;
  /** The placeholder of the second column, and suggestions for it. */
  readonly value?: string;
  readonly proposals?: readonly string[];
}

/** Rows of freely chosen names and values. */
export function Rows(props: IRows): React.JSX.Element {
  const { trans, title, add, rows, all = rows, onChange, fault, doubt, hint, isTitleHidden, proposals } = props;
  const value = props.value ?? trans.__('value');
  const id = React.useId();
  const fresh = React.useRef<number | null>(null);
  const wrong = rowFaults(all);
  const change = (key: number, row: IDraftRow | null) =>
    onChange(all.flatMap(old => (old.key !== key ? [old] : row ? [row] : [])));
  const saidOf = (row: IDraftRow) => {
    const own = wrong.get(row.key);
    return own === 'nameless'
      ? trans.__('Name is required.')
      : own === 'twice'
        ? trans.__('Duplicate name.')
        : fault(row);
  };
  return (
    <fieldset className="jp-pai-Rows">
      <legend className={isTitleHidden ? 'jp-pai-Train-told' : ''}>{title}</legend>
      {hint && <p className="jp-pai-Train-hint">{hint}</p>}
      {rows.map(row => {
        const said = saidOf(row);
        const doubted = (row.name && doubt?.(row)) || '';
        const described = said || doubted ? `${id}-${row.key}` : undefined;
        return (
          <div key={row.key} className="jp-pai-Rows-row">
            <input
              className="jp-pai-Input"
              aria-label={trans.__('%1: name', title)}
              placeholder={trans.__('name')}
              aria-invalid={said !== ''}
              aria-describedby={described}
              autoFocus={fresh.current === row.key}
              spellCheck={false}
              value={row.name}
              onChange={event => change(row.key, { ...row, isOwn: true, name: event.target.value })}
            />
            <input
              className="jp-pai-Input"
              aria-label={`${title}: ${row.name || '–'}: ${value}`}
              placeholder={value}
              list={proposals ? `${id}-proposals` : undefined}
              aria-describedby={described}
              spellCheck={false}
              value={row.value}
              onChange={event => change(row.key, { ...row, value: event.target.value })}
            />
            <button
              type="button"
              className="jp-pai-Button jp-pai-Train-remove"
              title={trans.__('Remove')}
              aria-label={trans.__('Remove %1', row.name)}
              onClick={() => change(row.key, null)}
            >
              ×
            </button>
            {(said || doubted) && (
              <span className={said ? 'jp-pai-Trouble' : 'jp-pai-Train-doubt'} id={described}>
                {said || doubted}
              </span>
            )}
          </div>
        );
      })}
      {proposals && (
        <datalist id={`${id}-proposals`}>
          {proposals.map(text => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
      <button
        type="button"
        className="jp-pai-Button"
        onClick={() => {
          const more = added(all);
          fresh.current = more.at(-1)?.key ?? null;
          onChange(more);
        }}
      >
        {add}
      </button>
    </fieldset>
  );
}

interface IFold {
  readonly title: string;
  /** A summary of its settings. */
  readonly said: string;
  /** Whether it contains an error, so that it cannot be closed. */
  readonly isWrong?: boolean;
  readonly children: React.ReactNode;
}

export function Fold({ title, said, isWrong = false, children }: IFold): React.JSX.Element {
  // Null until it is opened. Then it stays mounted, so that incomplete input is kept.
  const [open, setOpen] = React.useState<boolean | null>(null);
  const isOpen = open === true || isWrong;
  return (
    <details className="jp-pai-Fold" open={isOpen} onToggle={event => setOpen(staysOpen(event.currentTarget, isWrong))}>
      <summary>
        <span className="jp-pai-Fold-title">{title}</span>
        <span className="jp-pai-Fold-said" title={said}>
          {said}
        </span>
      </summary>
      {(isOpen || open !== null) && <div className="jp-pai-Fold-content">{children}</div>}
    </details>
  );
}
