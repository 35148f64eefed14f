/**
 * The Compute section of the form: profile, instance type, image and backend options.
 */

import * as React from 'react';

import { record, string } from '../../api/wire.js';
import { choiceSource } from '../../ui/fields/choices.js';
import { FieldError } from '../../ui/fields/fielderror.js';
import { SchemaForm } from '../../ui/fields/schemaform.js';
import { machineSizes } from '../../ui/format.js';
import { field, withField, withRequestField } from '../draft.js';
import { CollapsibleSection, Field, NumberField, TextField } from '../field.js';
import type { ISectionProps } from '../section.js';
import {
  backendOf,
  errorAt,
  errorsBelow,
  hasError,
  otherNotes,
  setField,
  textAt,
  unlistedOptions
} from '../section.js';
import { ImagePicker } from './imagepicker.js';
import { InstanceTable } from './instancepicker.js';
import type { IBackend } from './platforms.js';
import { profileOf } from './platforms.js';
import { RoleList, rolesOf } from './roles.js';

const SIZE = '16GiB';

const FAVORITES = 'jupyter-pai:favourite-instances';
const MACHINE = ['instance_type', 'instance_count', 'cpu', 'gpu', 'memory', 'image', 'roles'];

export function ComputeSection(props: ISectionProps): React.JSX.Element {
  const { form, draft, model, trans } = props;
  const { platforms } = model;
  const requested = textAt(props, 'profile');
  const profile = profileOf(platforms, requested, string(draft.rest['backend']));
  const backend = backendOf(props);
  const choose = (name: string) => {
    if (form.initial?.kind === 'job_file') {
      void form.readWith(name);
      return;
    }
    const isOther = platforms.profiles.find(profile => profile.name === name)?.backend !== backend?.name;
    // Options of one backend are invalid for another.
    const rest = isOther ? withField(draft, 'options', undefined) : draft;
    form.change(withRequestField(withField(rest, 'profile', name), 'backend', ''));
  };
  const titles = new Map(platforms.backends.map(backend => [backend.name, backend.title]));
  const notes = otherNotes(props);
  const unavailable = platforms.profiles.filter(profile => profile.refused);
  return (
    <section className="jp-pai-Train-part" aria-label={trans.__('Compute')}>
      <h3>{trans.__('Compute')}</h3>
      <Field
        label={trans.__('Profile')}
        error={errorAt(props, 'profile') || errorAt(props, 'backend') || profile?.refused}
        hint={unavailable.map(profile => `${profile.name}: ${profile.refused}`).join(' ')}
      >
        {control => (
          <select
            {...control}
            className="jp-pai-Input"
            value={profile?.name ?? requested}
            onChange={event => choose(event.target.value)}
          >
            {!profile && <option value={requested}>{requested || '…'}</option>}
            {platforms.profiles.map(candidate => (
              <option
                key={candidate.name}
                value={candidate.name}
                disabled={candidate.refused !== ''}
                title={candidate.refused}
              >
                {candidate.name === candidate.backend
                  ? (titles.get(candidate.backend) ?? candidate.name)
                  : `${candidate.name} – ${titles.get(candidate.backend) ?? candidate.backend}`}
              </option>
            ))}
          </select>
        )}
      </Field>
      {props.onProfiles && (
        <button type="button" className="jp-pai-Link" onClick={props.onProfiles}>
          {trans.__('Manage profiles…')}
        </button>
      )}
      <InstanceFields
        {...props}
        profile={profile?.name ?? requested}
        hasImages={backend?.capabilities.includes('images') === true}
        hasRoles={backend?.capabilities.includes('roles') === true}
      />
      {backend && <BackendOptions {...props} backend={backend} profile={profile?.name ?? requested} />}
      {notes.length > 0 && (
        <ul className="jp-pai-Train-notes" aria-label={trans.__('Notes')}>
          {notes.map(note => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Options of the backend: a form of its schema, or JSON if the schema is unknown. */
function BackendOptions(props: ISectionProps & { backend: IBackend; profile: string }): React.JSX.Element | null {
  const { form, draft, engine, trans, backend, profile } = props;
  const id = React.useId();
  const value = field(draft, 'options');
  const jsonSchema = React.useMemo(
    () => ({ properties: { options: { type: 'object', title: trans.__('Options') } } }),
    [trans]
  );
  const source = React.useMemo(() => choiceSource(engine, profile), [engine, profile]);
  const exclude = React.useMemo(() => unlistedOptions(backend), [backend]);
  const common = { trans, idPrefix: `${id}-options`, exclude };
  const listed = Object.keys(record(backend.options?.['properties'])).filter(name => !exclude.includes(name));
  if (backend.options && !listed.length) {
    return null;
  }
  return (
    <CollapsibleSection
      title={trans.__('%1 options', backend.title)}
      summary={Object.keys(record(value))
        .filter(name => !exclude.includes(name))
        .join(', ')}
      hasError={hasError(props, backend.options ? listed.map(name => `options.${name}`) : ['options'])}
    >
      {backend.options ? (
        <>
          <FieldError text={errorAt(props, 'options')} />
          <SchemaForm
            {...common}
            schema={backend.options}
            value={record(value)}
            errors={errorsBelow(props, 'options')}
            onChange={value => setField(props, 'options', value)}
            source={source}
          />
        </>
      ) : (
        <SchemaForm
          {...common}
          schema={jsonSchema}
          value={value === undefined ? {} : { options: value }}
          errors={form.errors.fields}
          onChange={value => setField(props, 'options', value['options'])}
        />
      )}
    </CollapsibleSection>
  );
}

interface IInstanceProps extends ISectionProps {
  readonly profile: string;
  readonly hasImages: boolean;
  readonly hasRoles: boolean;
}

/** Instance type, sizes, number of instances, image and roles. */
function InstanceFields(props: IInstanceProps): React.JSX.Element {
  const { form, draft, engine, trans, profile, hasImages, hasRoles } = props;
  const [favorites, setFavorites] = useFavorites();
  const count = field(draft, 'instance_count');
  const sizes = machineSizes(record(draft.rest['spec']));
  const type = textAt(props, 'instance_type');
  const image = textAt(props, 'image');
  const roles = rolesOf(props);
  const names = roles.map(role => `${string(role['name'])} × ${JSON.stringify(role['count'] ?? 1)}`);
  const summary = [
    type || form.preview?.instanceType,
    count && !roles.length && `× ${JSON.stringify(count)}`,
    ...sizes,
    image,
    ...names
  ];
  const number = (name: string, label: string, placeholder: string) => (
    <NumberField
      label={label}
      value={field(draft, name)}
      placeholder={placeholder}
      error={errorAt(props, name)}
      onChange={value => setField(props, name, value)}
    />
  );
  return (
    <CollapsibleSection
      title={trans.__('Machine')}
      summary={summary.filter(Boolean).join(', ')}
      hasError={hasError(props, MACHINE)}
    >
      <div className="jp-pai-Train-sizes">
        {number('cpu', trans.__('Cores'), '')}
        {number('gpu', trans.__('GPUs'), '')}
        <TextField
          label={trans.__('Memory')}
          value={textAt(props, 'memory')}
          placeholder={SIZE}
          error={errorAt(props, 'memory')}
          onChange={value => setField(props, 'memory', value)}
        />
        {roles.length === 0 && number('instance_count', trans.__('Instances'), '1')}
      </div>
      <FieldError text={errorAt(props, 'instance_type')} />
      <InstanceTable
        engine={engine}
        trans={trans}
        profile={profile}
        backend=""
        value={type}
        onChange={name => setField(props, 'instance_type', name)}
        favorites={favorites}
        onFavorites={setFavorites}
      />
      <div className="jp-pai-Field">
        <span className="jp-pai-Field-label">{trans.__('Image')}</span>
        <ImagePicker
          engine={engine}
          trans={trans}
          profile={profile}
          backend=""
          value={image}
          onChange={uri => setField(props, 'image', uri)}
          hasList={hasImages}
          error={errorAt(props, 'image')}
        />
      </div>
      {(hasRoles || roles.length > 0) && <RoleList {...props} />}
    </CollapsibleSection>
  );
}

/** Favorite instance types, stored in the browser. */
function useFavorites(): [readonly string[], (names: readonly string[]) => void] {
  const [names, setNames] = React.useState<readonly string[]>(() => {
    try {
      return (localStorage.getItem(FAVORITES) ?? '').split('\n').filter(Boolean);
    } catch {
      return []; // Storage is disabled.
    }
  });
  const store = (now: readonly string[]) => {
    setNames(now);
    try {
      localStorage.setItem(FAVORITES, now.join('\n'));
    } catch {
      // The favorites are lost with the page.
    }
  };
  return [names, store];
}
