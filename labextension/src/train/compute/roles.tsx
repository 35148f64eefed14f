/**
 * The roles of a job: kinds of instances with commands, images and sizes of their own.
 */

import * as React from 'react';

import type { Json } from '../../api/wire.js';
import { list, record, string } from '../../api/wire.js';
import { FieldError } from '../../ui/fields/fielderror.js';
import { field } from '../draft.js';
import { NumberField, TextField } from '../field.js';
import type { ISectionProps } from '../section.js';
import { errorAt, setField } from '../section.js';

/** Return the roles of the draft. */
export function rolesOf({ draft }: ISectionProps): readonly Json[] {
  return list(field(draft, 'roles')).map(record);
}

export function RoleList(props: ISectionProps): React.JSX.Element {
  const { trans } = props;
  const roles = rolesOf(props);
  const addButton = React.useRef<HTMLButtonElement>(null);
  const isAdding = React.useRef(false);
  const change = (now: readonly Json[]) => setField(props, 'roles', now);
  const add = () => {
    isAdding.current = true;
    change([...roles, { name: roles.length ? '' : 'worker', count: 1 }]);
  };
  const remove = (index: number) => {
    isAdding.current = false;
    change(roles.filter((_, other) => other !== index));
    addButton.current?.focus();
  };
  return (
    <fieldset className="jp-pai-Rows">
      <legend>{trans.__('Roles')}</legend>
      <p className="jp-pai-Train-hint">
        {trans.__('Instances with different commands, images or sizes. Empty fields have the values of the job.')}
      </p>
      <FieldError text={errorAt(props, 'roles')} />
      {roles.map((role, index) => (
        <RoleFields
          key={index}
          {...props}
          {...{ role, index }}
          isNew={isAdding.current && index === roles.length - 1}
          onChange={changed => change(roles.map((other, n) => (n === index ? changed : other)))}
          onRemove={() => remove(index)}
        />
      ))}
      <button ref={addButton} type="button" className="jp-pai-Button" onClick={add}>
        {trans.__('Add role')}
      </button>
    </fieldset>
  );
}

interface IRoleProps extends ISectionProps {
  readonly role: Json;
  readonly index: number;
  /** True if the role was just added, so that its name takes the focus. */
  readonly isNew: boolean;
  readonly onChange: (role: Json) => void;
  readonly onRemove: () => void;
}

function RoleFields(props: IRoleProps): React.JSX.Element {
  const { trans, role, index, isNew, onChange, onRemove } = props;
  const name = string(role['name']);
  const group = React.useRef<HTMLFieldSetElement>(null);
  React.useEffect(() => {
    if (isNew) {
      group.current?.querySelector('input')?.focus();
    }
  }, [isNew]);
  const set = (key: string, value: string | number) =>
    onChange(
      value === '' && key !== 'name'
        ? Object.fromEntries(Object.entries(role).filter(([other]) => other !== key))
        : { ...role, [key]: value }
    );
  const text = (key: string, label: string, placeholder = '') => (
    <TextField
      label={label}
      value={string(role[key])}
      placeholder={placeholder}
      error={errorAt(props, `roles.${index}.${key}`)}
      onChange={value => set(key, value)}
    />
  );
  const number = (key: string, label: string, placeholder = '') => (
    <NumberField
      label={label}
      value={role[key]}
      placeholder={placeholder}
      error={errorAt(props, `roles.${index}.${key}`)}
      onChange={value => set(key, value)}
    />
  );
  return (
    <fieldset ref={group} className="jp-pai-Train-role">
      <legend className="jp-pai-Train-told">{name || trans.__('New role')}</legend>
      <div className="jp-pai-Train-sizes">
        {text('name', trans.__('Role'))}
        {number('count', trans.__('Instances'), '1')}
        {number('cpu', trans.__('Cores'))}
        {number('gpu', trans.__('GPUs'))}
        {text('memory', trans.__('Memory'), '16GiB')}
        {text('instance_type', trans.__('Instance type'))}
      </div>
      {text('command', trans.__('Command'))}
      {text('image', trans.__('Image'))}
      <button type="button" className="jp-pai-Button" onClick={onRemove}>
        {name ? trans.__('Remove role %1', name) : trans.__('Remove role')}
      </button>
    </fieldset>
  );
}
