/**
 * A form generated from a JSON Schema: backend settings and options, also those of plugins.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { Json } from '../../api/wire.js';
import { record } from '../../api/wire.js';
import { ChoicePicker } from './choicepicker.js';
import type { ChoiceSource } from './choices.js';
import { staysOpen } from './fielderror.js';
import { parseField, textOf } from './fieldtext.js';
import type { IField } from './schemafields.js';
import { errorAt, errorsBelow, fieldsOf, trimmed, withValue } from './schemafields.js';
import { MessageText } from '../messagetext.js';

interface IProps {
  /** The schema of an object, with its `$defs`. */
  readonly schema: Json;
  /** The current value. Empty fields are left out. */
  readonly value: Json;
  /** The engine's errors, by dotted paths below the value. */
  readonly errors: ReadonlyMap<string, string>;
  readonly onChange: (value: Json) => void;
  readonly trans: TranslationBundle;
  /** Prefix of element ids. */
  readonly idPrefix: string;
  /** The source of lists to pick from; null if there are none yet, as for a new profile. */
  readonly source?: ChoiceSource | null;
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

function Fields({ fields, value, errors, onChange, trans, idPrefix, source = null }: IFieldsProps): React.JSX.Element {
  return (
    <>
      {fields.map(field => {
        const props: IFieldProps = {
          field,
          value: value[field.name],
          errors,
          onChange: newValue => onChange(withValue(value, field.name, newValue)),
          trans,
          id: `${idPrefix}-${field.name}`,
          source
        };
        return field.kind === 'object' ? <Group key={field.name} {...props} /> : <Field key={field.name} {...props} />;
      })}
    </>
  );
}

interface IFieldProps {
  readonly field: IField;
  readonly value: unknown;
  readonly errors: ReadonlyMap<string, string>;
  readonly onChange: (value: unknown) => void;
  readonly trans: TranslationBundle;
  readonly id: string;
  readonly source: ChoiceSource | null;
}

/** Related fields, collapsed until one has a value or an error. */
function Group({ field, value, errors, onChange, trans, id, source }: IFieldProps): React.JSX.Element {
  const innerErrors = errorsBelow(field.name, errors);
  const error = errorAt(field, errors);
  const isSet = value !== undefined && value !== null;
  const [isOpen, setOpen] = React.useState(isSet);
  const hasError = error !== '' || innerErrors.size > 0;
  React.useEffect(() => {
    if (hasError || isSet) {
      setOpen(true);
    }
  }, [hasError, isSet]);
  return (
    <details
      className="jp-pai-Fields-group"
      open={isOpen}
      onToggle={event => setOpen(staysOpen(event.currentTarget, hasError))}
    >
      <summary id={id}>{field.title}</summary>
      <fieldset aria-labelledby={id} aria-describedby={describedBy(id, field, error)}>
        <Description id={id} field={field} error={error} />
        {field.isOptional && (
          <label className="jp-pai-Fields-check">
            <input
              type="checkbox"
              checked={isSet}
              onChange={event => onChange(event.target.checked ? {} : undefined)}
            />
            <span>{trans.__('Set this')}</span>
          </label>
        )}
        {(isSet || !field.isOptional) && (
          <Fields
            fields={field.fields}
            value={record(value)}
            errors={innerErrors}
            onChange={newValue => onChange(trimmed(field, newValue))}
            trans={trans}
            idPrefix={id}
            source={source}
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
      return <TextInput {...props} />;
  }
}

function Check({ field, value, errors, onChange, id }: IFieldProps): React.JSX.Element {
  const error = errorAt(field, errors);
  const isOn = (value ?? field.start) === true;
  // The default value is left out, unless the field is required.
  const change = (checked: boolean) =>
    onChange(checked === (field.start === true) && !field.isRequired ? undefined : checked);
  return (
    <div className="jp-pai-Field">
      <label className="jp-pai-Fields-check">
        <input
          id={id}
          type="checkbox"
          checked={isOn}
          aria-invalid={error !== ''}
          aria-describedby={describedBy(id, field, error)}
          onChange={event => change(event.target.checked)}
        />
        <span>{field.title}</span>
      </label>
      <Description id={id} field={field} error={error} />
    </div>
  );
}

function Choice({ field, value, errors, onChange, trans, id }: IFieldProps): React.JSX.Element {
  const text = textOf(field, value);
  const error = errorAt(field, errors);
  const labelOf = (choice: unknown) =>
    choice === true ? trans.__('Yes') : choice === false ? trans.__('No') : String(choice);
  const isKnown = text === '' || field.choices.some(choice => String(choice) === text);
  const defaultLabel = field.start === undefined || field.start === '' ? '' : labelOf(field.start);
  return (
    <div className="jp-pai-Field">
      <Title field={field} id={id} trans={trans} />
      <select
        id={id}
        className="jp-pai-Input"
        value={text}
        aria-invalid={error !== ''}
        aria-required={field.isRequired}
        aria-describedby={describedBy(id, field, error)}
        onChange={event => onChange(parseField(field, event.target.value, trans).value)}
      >
        <option value="">{defaultLabel ? trans.__('Default: %1', defaultLabel) : trans.__('Not set')}</option>
        {!isKnown && <option>{text}</option>}
        {field.choices.map(choice => (
          <option key={String(choice)} value={String(choice)}>
            {labelOf(choice)}
          </option>
        ))}
      </select>
      <Description id={id} field={field} error={error} />
    </div>
  );
}

/** A text field that keeps the typed text as long as it parses to the current value. */
function TextInput({ field, value, errors, onChange, trans, id, source }: IFieldProps): React.JSX.Element {
  const [typed, setTyped] = React.useState(() => textOf(field, value));
  const isCurrent = JSON.stringify(parseField(field, typed, trans).value) === JSON.stringify(value ?? undefined);
  const text = isCurrent ? typed : textOf(field, value);
  const error = parseField(field, text, trans).error || errorAt(field, errors);
  const common = {
    id,
    className: 'jp-pai-Input',
    value: text,
    placeholder: textOf(field, field.start).slice(0, 200),
    spellCheck: false,
    'aria-invalid': error !== '',
    'aria-required': field.isRequired,
    'aria-describedby': describedBy(id, field, error)
  };
  const type = (text: string) => {
    setTyped(text);
    onChange(parseField(field, text, trans).value);
  };
  const change = (event: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => type(event.target.value);
  const isLong = field.kind === 'list' || field.kind === 'map' || field.kind === 'json';
  const rows = Math.min(Math.max(text.split('\n').length + (text ? 1 : 0), 2), 8);
  return (
    <div className="jp-pai-Field">
      <Title field={field} id={id} trans={trans} />
      {field.list ? (
        <ChoicePicker
          source={source}
          list={field.list}
          title={field.title}
          trans={trans}
          value={text}
          onChange={type}
          control={common}
        />
      ) : isLong ? (
        <textarea {...common} rows={rows} onChange={change} />
      ) : (
        <input
          {...common}
          type={field.kind === 'secret' ? 'password' : 'text'}
          autoComplete={field.kind === 'secret' ? 'new-password' : 'off'}
          inputMode={field.kind === 'integer' ? 'numeric' : field.kind === 'number' ? 'decimal' : 'text'}
          onChange={change}
        />
      )}
      <Description id={id} field={field} error={error} />
    </div>
  );
}

function Title({ field, id, trans }: Pick<IFieldProps, 'field' | 'id' | 'trans'>): React.JSX.Element {
  const format =
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
      {format && <span className="jp-pai-Field-form"> · {format}</span>}
    </label>
  );
}

/** Return the ids of the error and the description of a field, if it has any. */
function describedBy(id: string, field: IField, error: string): string | undefined {
  return [error && `${id}--error`, field.description && `${id}--about`].filter(Boolean).join(' ') || undefined;
}

function Description({ id, field, error }: { id: string; field: IField; error: string }): React.JSX.Element {
  return (
    <>
      {error && (
        <span className="jp-pai-Trouble" role="alert" id={`${id}--error`}>
          <MessageText text={error} />
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
