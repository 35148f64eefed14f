/**
 * The form of a profile: name, settings and credentials.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { Trouble } from '../ui/errormessage.js';
import { showWrong, staysOpen } from '../ui/fields/fielderror.js';
import { SchemaForm } from '../ui/fields/schemaform.js';
import type { IEditing, ProfilesModel } from './model.js';
import type { IKept } from './profiles.js';
import { allBut, keysOf } from './profiles.js';

interface IProps extends IContext {
  readonly model: ProfilesModel;
  readonly editing: IEditing;
  readonly onSaved: (name: string) => void;
}

export function ProfileForm(props: IProps): React.JSX.Element {
  const { model, host, editing, trans, onSaved } = props;
  const box = React.useRef<HTMLFormElement>(null);
  const id = React.useId();
  React.useEffect(() => box.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), []);
  const { nameFault, faults, loginFaults } = editing;
  React.useEffect(() => {
    if (nameFault || faults.size || loginFaults.size) {
      // The error may be inside a section that opens with this render.
      const look = () => showWrong(box.current);
      requestAnimationFrame(() => requestAnimationFrame(look));
    }
  }, [nameFault, faults, loginFaults]);
  const save = (event?: React.SyntheticEvent) => {
    event?.preventDefault();
    void model.save().then(isSaved => {
      if (isSaved) {
        onSaved(editing.name.trim());
      }
    });
  };
  const leave = async () => {
    const question = {
      title: trans.__('Discard changes?'),
      text: trans.__('Your changes, including credentials, will be lost.'),
      yes: trans.__('Discard'),
      warn: true
    };
    if (!editing.isTyped || (await host.confirm(question))) {
      model.close();
    }
  };
  const press = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      void leave();
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      save(event);
    }
  };
  const title = editing.profile
    ? trans.__('Profile %1', editing.profile.name)
    : trans.__('New profile: %1', editing.platform.title);
  return (
    <form
      ref={box}
      className="jp-pai-ProfileForm"
      data-lm-suppress-shortcuts="true"
      noValidate
      aria-label={title}
      onSubmit={save}
      onKeyDown={press}
    >
      <h3>{title}</h3>
      {!editing.profile && <Name {...props} id={`${id}-name`} />}
      <Keys {...props} id={id} />
      {editing.platform.credentials && <Login {...props} id={`${id}-login`} />}
      <Trouble trouble={editing.trouble} />
      <div className="jp-pai-Actions">
        <button type="submit" className="jp-pai-Button jp-mod-accept" disabled={model.isBusy}>
          {trans.__('Save')}
        </button>
        <button type="button" className="jp-pai-Button" disabled={model.isBusy} onClick={() => model.close()}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}

function Name({ model, editing, trans, id }: IProps & { id: string }): React.JSX.Element {
  const fault = editing.nameFault;
  return (
    <div className="jp-pai-Fields">
      <div className="jp-pai-Field">
        <label htmlFor={id} className="jp-pai-Field-title">
          {trans.__('Name')}
        </label>
        <input
          id={id}
          className="jp-pai-Input"
          value={editing.name}
          autoComplete="off"
          spellCheck={false}
          aria-required
          aria-invalid={fault !== ''}
          aria-describedby={fault ? `${id}--fault` : undefined}
          onChange={event => model.type({ name: event.target.value })}
        />
        {fault && (
          <span className="jp-pai-Trouble" role="alert" id={`${id}--fault`}>
            {fault}
          </span>
        )}
      </div>
    </div>
  );
}

/** The important fields, and the rest in a collapsed section. */
function Keys({ model, editing, trans, id }: IProps & { id: string }): React.JSX.Element {
  const { platform, values, faults } = editing;
  const [first, rest] = React.useMemo(() => keysOf(platform), [platform]);
  const isWrong = rest.some(name => [...faults.keys()].some(path => path.split('.')[0] === name));
  const [isOpen, setOpen] = React.useState(false);
  React.useEffect(() => {
    if (isWrong) {
      setOpen(true);
    }
  }, [isWrong]);
  const form = (names: readonly string[]) => (
    <SchemaForm
      schema={platform.settings}
      value={values}
      faults={faults}
      onChange={changed => model.type({ values: changed })}
      trans={trans}
      idPrefix={id}
      exclude={allBut(platform, names)}
    />
  );
  const given = rest.filter(name => name in values).length;
  return (
    <>
      {form(first)}
      {rest.length > 0 && (
        <details
          className="jp-pai-Fields-group"
          open={isOpen}
          onToggle={event => setOpen(staysOpen(event.currentTarget, isWrong))}
        >
          <summary>{given ? trans.__('More settings (%1 set)', given) : trans.__('More settings')}</summary>
          {isOpen && form(rest)}
        </details>
      )}
    </>
  );
}

function Login({ model, host, editing, trans, id }: IProps & { id: string }): React.JSX.Element {
  const { platform, profile, login, loginFaults } = editing;
  // Credentials are optional as a whole.
  const schema = React.useMemo(() => ({ ...platform.credentials, required: [] }), [platform]);
  const forget = async () => {
    const question = {
      title: trans.__('Delete the credentials?'),
      text: trans.__('%1 will then use the credentials found on this machine.', profile?.name ?? ''),
      yes: trans.__('Delete credentials'),
      warn: true
    };
    if (profile && (await host.confirm(question))) {
      await model.logOut(profile);
    }
  };
  return (
    <fieldset className="jp-pai-ProfileForm-login">
      <legend>{trans.__('Profile credentials')}</legend>
      {profile?.hasOwn ? (
        <p>
          {keptText(profile.kept, model.file, trans)} {trans.__('New values replace them.')}{' '}
          <button type="button" className="jp-pai-Link" onClick={() => void forget()}>
            {trans.__('Delete credentials')}
          </button>
        </p>
      ) : (
        <p>
          {trans.__(
            'If empty, the credentials found on this machine are used. Values are stored in the keyring, or in a file that only you can read, and are never shown again.'
          )}
        </p>
      )}
      <SchemaForm
        schema={schema}
        value={login}
        faults={loginFaults}
        onChange={changed => model.type({ login: changed })}
        trans={trans}
        idPrefix={id}
      />
    </fieldset>
  );
}

/** Describe where the credentials of a profile are stored. */
export function keptText(kept: IKept, file: string, trans: IContext['trans']): string {
  switch (kept.place) {
    case 'keyring':
      return trans.__('Credentials %1, stored in the keyring.', kept.hint);
    case 'file':
      return trans.__('Credentials %1, stored in %2, readable only by you.', kept.hint, file);
    case '':
      return trans.__('The credentials of this profile are not stored on this machine. Enter them again.');
  }
}
