/**
 * A form generated from a JSON Schema: backend settings and options, also those of plugins.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { Json } from '../../api/wire.js';
import { record } from '../../api/wire.js';
import { staysOpen } from './fielderror.js';
import { read, textOf } from './fieldtext.js';
import type { IField } from './schemafields.js';
import { changed, faultAt, faultsBelow, fieldsOf, trimmed } from './schemafields.js';

interface IProps {
  /** The schema of an object, with its `$defs`. */
  readonly schema: Json;
  /** The current value. Empty fields are left out. */
  readonly value: Json;
  /** The engine's errors, by dotted paths below the value. */
  readonly faults: ReadonlyMap<string, string>;
  readonly onChange: (value: Json) => void;
  readonly trans: TranslationBundle;
  /** Prefix of element ids. */
  readonly idPrefix: string;
  /** Names of fields that are shown elsewhere. */
  readonly exclude?: readonly string[];
}

const NOTHING: readonly string[] = [];

export function SchemaForm({ schema, exclude = NOTHING, ...rest }: IProps): React.JSX.Element {
  const fields = React.useMemo(() => fieldsOf(schema, exclude), [schema, exclude]);
  return (
    <div className="jp-pai-Fields" data-lm-suppress-shortcuts="true">
      <Fields {...rest} fields={fields} />
    </div>
  );
}

type IFieldsProps = Omit<IProps, 'schema' | 'exclude'> & { readonly fields: readonly IField[] };

function Fields({ fields, value, faults, onChange, trans, idPrefix }: IFieldsProps): React.JSX.Element {
  return (
    <>
      {fields.map(field => {
        const props: IFieldProps = {
          field,
          value: value[field.name],
          faults,
          onChange: given => onChange(changed(value, field.name, given)),
          trans,
          id: `${idPrefix}-${field.name}`
        };
        return field.kind === 'object' ? <Group key={field.name} {...props} /> : <Field key={field.name} {...props} />;
      })}
    </>
  );
}

interface IFieldProps {
  readonly field: IField;
  readonly value: unknown;
  readonly faults: ReadonlyMap<string, string>;
  readonly onChange: (value: unknown) => void;
  readonly trans: TranslationBundle;
  readonly id: string;
}

/** Related fields, collapsed until one has a value or an error. */
function Group({ field, value, faults, onChange, trans, id }: IFieldProps): React.JSX.Element {
  const within = faultsBelow(field.name, faults);
  const fault = faultAt(field, faults);
  const isGiven = value !== undefined && value !== null;
  const [isOpen, setOpen] = React.useState(isGiven);
  const isWrong = fault !== '' || within.size > 0;
  React.useEffect(() => {
    if (isWrong || isGiven) {
      setOpen(true);
    }
  }, [isWrong, isGiven]);
  return (
    <details
      className="jp-pai-Fields-group"
      open={isOpen}
      onToggle={event => setOpen(staysOpen(event.currentTarget, isWrong))}
    >
      <summary id={id}>{field.title}</summary>
      <fieldset aria-labelledby={id} aria-describedby={described(id, field, fault)}>
        <Words id={id} field={field} fault={fault} />
        {field.isOptional && (
          <label className="jp-pai-Fields-check">
            <input
              type="checkbox"
              checked={isGiven}
              onChange={event => onChange(event.target.checked ? {} : undefined)}
            />
            <span>{trans.__('Set this')}</span>
          </label>
        )}
        {(isGiven || !field.isOptional) && (
          <Fields
            fields={field.fields}
            value={record(value)}
            faults={within}
            onChange={given => onChange(trimmed(field, given))}
            trans={trans}
            idPrefix={id}
          />
        )}
      </fieldset>
    </details>
  );
}

function Field(props: IFieldProps): React.JSX.Element {
  switch (props.field.kind) {
    case 'boolean':
      return <Check {...props} />;
    case 'choice':
      return <Choice {...props} />;
    default:
      return <Typed {...props} />;
  }
}

function Check({ field, value, faults, onChange, id }: IFieldProps): React.JSX.Element {
  const fault = faultAt(field, faults);
  const isOn = (value ?? field.start) === true;
  // The default value is left out, unless the field is required.
  const give = (checked: boolean) =>
    onChange(checked === (field.start === true) && !field.isRequired ? undefined : checked);
  return (
    <div className="jp-pai-Field">
      <label className="jp-pai-Fields-check">
        <input
          id={id}
          type="checkbox"
          checked={isOn}
          aria-invalid={fault !== ''}
          aria-describedby={described(id, field, fault)}
          onChange={event => give(event.target.checked)}
        />
        <span>{field.title}</span>
      </label>
      <Words id={id} field={field} fault={fault} />
    </div>
  );
}

function Choice({ field, value, faults, onChange, trans, id }: IFieldProps): React.JSX.Element {
  const text = textOf(field, value);
  const fault = faultAt(field, faults);
  const words = (choice: unknown) =>
    choice === true ? trans.__('Yes') : choice === false ? trans.__('No') : String(choice);
  const isKnown = text === '' || field.choices.some(choice => String(choice) === text);
  const start = field.start === undefined || field.start === '' ? '' : words(field.start);
  return (
    <div className="jp-pai-Field">
      <Title field={field} id={id} trans={trans} />
      <select
        id={id}
        className="jp-pai-Input"
        value={text}
        aria-invalid={fault !== ''}
        aria-required={field.isRequired}
        aria-describedby={described(id, field, fault)}
        onChange={event => onChange(read(field, event.target.value, trans).value)}
      >
        <option value="">{start ? trans.__('Default: %1', start) : trans.__('Not set')}</option>
        {!isKnown && <option>{text}</option>}
        {field.choices.map(choice => (
          <option key={String(choice)} value={String(choice)}>
            {words(choice)}
          </option>
        ))}
      </select>
      <Words id={id} field={field} fault={fault} />
    </div>
  );
}

/** A text field that keeps the typed text as long as it parses to the current value. */
function Typed({ field, value, faults, onChange, trans, id }: IFieldProps): React.JSX.Element {
  const [typed, type] = React.useState(() => textOf(field, value));
  const isMeant = JSON.stringify(read(field, typed, trans).value) === JSON.stringify(value ?? undefined);
  const text = isMeant ? typed : textOf(field, value);
  const fault = read(field, text, trans).fault || faultAt(field, faults);
  const common = {
    id,
    className: 'jp-pai-Input',
    value: text,
    placeholder: textOf(field, field.start).slice(0, 200),
    spellCheck: false,
    'aria-invalid': fault !== '',
    'aria-required': field.isRequired,
    'aria-describedby': described(id, field, fault)
  };
  const take = (event: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => {
    type(event.target.value);
    onChange(read(field, event.target.value, trans).value);
  };
  const isLong = field.kind === 'list' || field.kind === 'map' || field.kind === 'json';
  const rows = Math.min(Math.max(text.split('\n').length + (text ? 1 : 0), 2), 8);
  return (
    <div className="jp-pai-Field">
      <Title field={field} id={id} trans={trans} />
      {isLong ? (
        <textarea {...common} rows={rows} onChange={take} />
      ) : (
        <input
          {...common}
          type={field.kind === 'secret' ? 'password' : 'text'}
          autoComplete={field.kind === 'secret' ? 'new-password' : 'off'}
          inputMode={field.kind === 'integer' ? 'numeric' : field.kind === 'number' ? 'decimal' : 'text'}
          onChange={take}
        />
      )}
      <Words id={id} field={field} fault={fault} />
    </div>
  );
}

function Title({ field, id, trans }: Pick<IFieldProps, 'field' | 'id' | 'trans'>): React.JSX.Element {
  const form =
    field.kind === 'list'
      ? trans.__('one per line')
      : field.kind === 'map'
        ? trans.__('NAME=VALUE, one per line')
        : field.kind === 'json'
          ? 'JSON'
          : '';
  return (
    <label htmlFor={id} className="jp-pai-Field-title">
      {field.title}
      {field.isRequired && ` (${trans.__('required')})`}
      {form && <span className="jp-pai-Field-form"> · {form}</span>}
    </label>
  );
}

/** Return the ids of the error and the description of a field, if it has any. */
function described(id: string, field: IField, fault: string): string | undefined {
  return [fault && `${id}--fault`, field.description && `${id}--about`].filter(Boolean).join(' ') || undefined;
}

function Words({ id, field, fault }: { id: string; field: IField; fault: string }): React.JSX.Element {
  return (
    <>
      {fault && (
        <span className="jp-pai-Trouble" role="alert" id={`${id}--fault`}>
          {fault}
        </span>
      )}
      {field.description && (
        <span className="jp-pai-Field-about" id={`${id}--about`}>
          {field.description}
        </span>
      )}
    </>
  );
}
