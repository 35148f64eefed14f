/**
 * The Compute section of the form: profile, instance type, image and backend options.
 */

import * as React from 'react';

import { record, string } from '../../api/wire.js';
import { FaultText } from '../../ui/fields/fielderror.js';
import { SchemaForm } from '../../ui/fields/schemaform.js';
import { field, withField, withRest } from '../draft.js';
import { Field, Fold, NumberField, TextField } from '../field.js';
import type { IPart } from '../part.js';
import { backendOf, faultAt, faultsBelow, isWrong, otherNotes, set, textAt } from '../part.js';
import { ImagePicker } from './imagepicker.js';
import { InstanceTable } from './instancepicker.js';
import type { IBackend } from './platforms.js';
import { profileOf } from './platforms.js';

const SIZE = '16GiB';

const FAVOURITES = 'jupyter-pai:favourite-instances';
const MACHINE = ['instance_type', 'instance_count', 'cpu', 'gpu', 'memory', 'image'];

export function TrainWhere(props: IPart): React.JSX.Element {
  const { desk, draft, model, trans } = props;
  const { platforms } = model;
  const asked = textAt(props, 'profile');
  const chosen = profileOf(platforms, asked, string(draft.rest['backend']));
  const backend = backendOf(props);
  const choose = (name: string) => {
    const isOther = platforms.profiles.find(one => one.name === name)?.backend !== backend?.name;
    // Options of one backend are invalid for another.
    const rest = isOther ? withField(draft, 'options', undefined) : draft;
    desk.change(withRest(withField(rest, 'profile', name), 'backend', ''));
  };
  const titles = new Map(platforms.backends.map(one => [one.name, one.title]));
  const notes = otherNotes(props);
  const refused = platforms.profiles.filter(one => one.refused);
  return (
    <section className="jp-pai-Train-part" aria-label={trans.__('Compute')}>
      <h3>{trans.__('Compute')}</h3>
      <Field
        label={trans.__('Profile')}
        fault={faultAt(props, 'profile') || faultAt(props, 'backend') || chosen?.refused}
        hint={refused.map(one => `${one.name}: ${one.refused}`).join(' ')}
      >
        {control => (
          <select
            {...control}
            className="jp-pai-Input"
            value={chosen?.name ?? asked}
            onChange={event => choose(event.target.value)}
          >
            {!chosen && <option value={asked}>{asked || '…'}</option>}
            {platforms.profiles.map(one => (
              <option key={one.name} value={one.name} disabled={one.refused !== ''} title={one.refused}>
                {one.name === one.backend
                  ? (titles.get(one.backend) ?? one.name)
                  : `${one.name} – ${titles.get(one.backend) ?? one.backend}`}
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
      <Machine
        {...props}
        profile={chosen?.name ?? asked}
        hasImages={backend?.capabilities.includes('images') === true}
      />
      {backend && <Options {...props} backend={backend} />}
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
function Options(props: IPart & { backend: IBackend }): React.JSX.Element | null {
  const { desk, draft, trans, backend } = props;
  const id = React.useId();
  const given = field(draft, 'options');
  const whole = React.useMemo(
    () => ({ properties: { options: { type: 'object', title: trans.__('Options') } } }),
    [trans]
  );
  const common = { trans, idPrefix: `${id}-options` };
  if (backend.options && !Object.keys(record(backend.options['properties'])).length) {
    return null;
  }
  return (
    <Fold
      title={trans.__('%1 options', backend.title)}
      said={Object.keys(record(given)).join(', ')}
      isWrong={isWrong(props, ['options'])}
    >
      {backend.options ? (
        <>
          <FaultText text={faultAt(props, 'options')} />
          <SchemaForm
            {...common}
            schema={backend.options}
            value={record(given)}
            faults={faultsBelow(props, 'options')}
            onChange={value => set(props, 'options', value)}
          />
        </>
      ) : (
        <SchemaForm
          {...common}
          schema={whole}
          value={given === undefined ? {} : { options: given }}
          faults={desk.wrong.faults}
          onChange={value => set(props, 'options', value['options'])}
        />
      )}
    </Fold>
  );
}

/** Instance type, sizes, number of instances and image. */
function Machine(props: IPart & { profile: string; hasImages: boolean }): React.JSX.Element {
  const { desk, draft, engine, trans, profile, hasImages } = props;
  const [favourites, setFavourites] = useFavourites();
  const count = field(draft, 'instance_count');
  const sizes = ['cpu', 'gpu', 'memory'].flatMap(name => {
    const value = field(draft, name);
    return typeof value === 'number' || typeof value === 'string' ? [`${name} ${value}`] : [];
  });
  const type = textAt(props, 'instance_type');
  const image = textAt(props, 'image');
  const said = [type || desk.preview?.instanceType, count && `× ${JSON.stringify(count)}`, ...sizes, image];
  const number = (name: string, label: string, placeholder: string) => (
    <NumberField
      label={label}
      value={field(draft, name)}
      placeholder={placeholder}
      fault={faultAt(props, name)}
      onChange={value => set(props, name, value)}
    />
  );
  return (
    <Fold title={trans.__('Machine')} said={said.filter(Boolean).join(', ')} isWrong={isWrong(props, MACHINE)}>
      <div className="jp-pai-Train-sizes">
        {number('cpu', trans.__('Cores'), '')}
        {number('gpu', trans.__('GPUs'), '')}
        <TextField
          label={trans.__('Memory')}
          value={textAt(props, 'memory')}
          placeholder={SIZE}
          fault={faultAt(props, 'memory')}
          onChange={value => set(props, 'memory', value)}
        />
        {number('instance_count', trans.__('Instances'), '1')}
      </div>
      <FaultText text={faultAt(props, 'instance_type')} />
      <InstanceTable
        engine={engine}
        trans={trans}
        profile={profile}
        backend=""
        value={type}
        onChange={name => set(props, 'instance_type', name)}
        favourites={favourites}
        onFavourites={setFavourites}
      />
      <div className="jp-pai-Field">
        <span className="jp-pai-Field-label">{trans.__('Image')}</span>
        <ImagePicker
          engine={engine}
          trans={trans}
          profile={profile}
          backend=""
          value={image}
          onChange={uri => set(props, 'image', uri)}
          hasList={hasImages}
          fault={faultAt(props, 'image')}
        />
      </div>
    </Fold>
  );
}

/** Favorite instance types, stored in the browser. */
function useFavourites(): [readonly string[], (names: readonly string[]) => void] {
  const [names, setNames] = React.useState<readonly string[]>(() => {
    try {
      return (localStorage.getItem(FAVOURITES) ?? '').split('\n').filter(Boolean);
    } catch {
      return []; // Storage is disabled.
    }
  });
  const keep = (now: readonly string[]) => {
    setNames(now);
    try {
      localStorage.setItem(FAVOURITES, now.join('\n'));
    } catch {
      // The favorites are lost with the page.
    }
  };
  return [names, keep];
}
