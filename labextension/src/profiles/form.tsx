/**
 * The form of a profile: name, settings and credentials.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { choiceSource } from '../ui/fields/choices.js';
import { focusFirstError, staysOpen } from '../ui/fields/fielderror.js';
import { SchemaForm } from '../ui/fields/schemaform.js';
import { LinkedText } from '../ui/linkedtext.js';
import type { IEditing, ProfilesModel } from './model.js';
import { credentialsText, otherFields, splitFields } from './profiles.js';

interface IProps extends IContext {
  readonly model: ProfilesModel;
  readonly editing: IEditing;
  readonly onSaved: (name: string) => void;
}

export function ProfileForm(props: IProps): React.JSX.Element {
  const { model, host, editing, trans, onSaved } = props;
  const box = React.useRef<HTMLFormElement>(null);
  const id = React.useId();
  const { nameError, errors, credentialErrors, isAtLogin } = editing;
  React.useEffect(() => {
    const part = isAtLogin ? '.jp-pai-ProfileForm-login ' : '';
    box.current?.querySelector<HTMLElement>(`${part}:is(input, select, textarea)`)?.focus();
  }, [isAtLogin]);
  React.useEffect(() => {
    if (nameError || errors.size || credentialErrors.size) {
      // The error may be inside a section that opens with this render.
      const focus = () => focusFirstError(box.current);
      requestAnimationFrame(() => requestAnimationFrame(focus));
    }
  }, [nameError, errors, credentialErrors]);
  const save = (event?: React.SyntheticEvent) => {
    event?.preventDefault();
    void model.save().then(isSaved => {
      if (isSaved) {
        onSaved(editing.name.trim());
      }
    });
  };
  const discard = async () => {
    const question = {
      title: trans.__('Discard changes?'),
      text: trans.__('Your changes, including credentials, will be lost.'),
      yes: trans.__('Discard'),
      warn: true
    };
    if (!editing.isDirty || (await host.confirm(question))) {
      model.close();
    }
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      void discard();
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
      onKeyDown={onKeyDown}
    >
      <h3>{title}</h3>
      <Notes {...props} />
      {isAtLogin && <CredentialsFields {...props} id={`${id}-login`} />}
      {!editing.profile && <Name {...props} id={`${id}-name`} />}
      {isAtLogin ? <CollapsedSettings {...props} id={id} /> : <SettingsFields {...props} id={id} />}
      {!isAtLogin && editing.platform.credentials && <CredentialsFields {...props} id={`${id}-login`} />}
      <ErrorMessage error={editing.error} />
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

/** After the settings were saved: what the engine found out about the platform. */
function Notes({ model, editing, trans }: IProps): React.JSX.Element {
  return (
    <div className="jp-pai-ProfileForm-notes" role="status">
      {model.notes.length > 0 && (
        <>
          <p>{trans.__('Profile %1 saved.', editing.name)}</p>
          {model.notes.map(note => (
            <p key={note}>
              <LinkedText text={note} />
            </p>
          ))}
        </>
      )}
    </div>
  );
}

/** All settings in a collapsed section, which opens for an error. */
function CollapsedSettings(props: IProps & { id: string }): React.JSX.Element {
  const { editing, trans } = props;
  const hasError = editing.errors.size > 0;
  const [isOpen, setOpen] = React.useState(false);
  React.useEffect(() => {
    if (hasError) {
      setOpen(true);
    }
  }, [hasError]);
  return (
    <details
      className="jp-pai-Fields-group"
      open={isOpen}
      onToggle={event => setOpen(staysOpen(event.currentTarget, hasError))}
    >
      <summary>{trans.__('Settings')}</summary>
      {isOpen && <SettingsFields {...props} />}
    </details>
  );
}

function Name({ model, editing, trans, id }: IProps & { id: string }): React.JSX.Element {
  const error = editing.nameError;
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
          aria-invalid={error !== ''}
          aria-describedby={error ? `${id}--error` : undefined}
          onChange={event => model.updateForm({ name: event.target.value })}
        />
        {error && (
          <span className="jp-pai-Trouble" role="alert" id={`${id}--error`}>
            {error}
          </span>
        )}
      </div>
    </div>
  );
}

/** The important fields, and the rest in a collapsed section. */
function SettingsFields({ model, engine, editing, trans, id }: IProps & { id: string }): React.JSX.Element {
  const { platform, values, errors } = editing;
  const [first, rest] = React.useMemo(() => splitFields(platform), [platform]);
  const hasError = rest.some(name => [...errors.keys()].some(path => path.split('.')[0] === name));
  const [isOpen, setOpen] = React.useState(false);
  React.useEffect(() => {
    if (hasError) {
      setOpen(true);
    }
  }, [hasError]);
  const saved = editing.profile?.name;
  const source = React.useMemo(() => (saved ? choiceSource(engine, saved) : null), [engine, saved]);
  const form = (names: readonly string[]) => (
    <SchemaForm
      schema={platform.settings}
      value={values}
      errors={errors}
      onChange={changed => model.updateForm({ values: changed })}
      trans={trans}
      idPrefix={id}
      exclude={otherFields(platform, names)}
      source={source}
    />
  );
  const setCount = rest.filter(name => name in values).length;
  return (
    <>
      {form(first)}
      {rest.length > 0 && (
        <details
          className="jp-pai-Fields-group"
          open={isOpen}
          onToggle={event => setOpen(staysOpen(event.currentTarget, hasError))}
        >
          <summary>{setCount ? trans.__('More settings (%1 set)', setCount) : trans.__('More settings')}</summary>
          {isOpen && form(rest)}
        </details>
      )}
    </>
  );
}

function CredentialsFields({ model, host, editing, trans, id }: IProps & { id: string }): React.JSX.Element {
  const { platform, profile, credentials, credentialErrors } = editing;
  // Credentials are optional as a whole.
  const schema = React.useMemo(() => ({ ...platform.credentials, required: [] }), [platform]);
  const removeCredentials = async () => {
    const question = {
      title: trans.__('Delete the credentials?'),
      text: trans.__(
        '%1 will then use the credentials that this machine has for the platform, if any.',
        profile?.name ?? ''
      ),
      yes: trans.__('Delete credentials'),
      warn: true
    };
    if (profile && (await host.confirm(question))) {
      await model.removeCredentials(profile);
    }
  };
  return (
    <fieldset className="jp-pai-ProfileForm-login">
      <legend>{trans.__('Profile credentials')}</legend>
      {profile?.hasOwnCredentials ? (
        <p>
          {credentialsText(profile.credentials, model.credentialsFile, trans)} {trans.__('New values replace them.')}{' '}
          <button type="button" className="jp-pai-Link" onClick={() => void removeCredentials()}>
            {trans.__('Delete credentials')}
          </button>
        </p>
      ) : (
        <p>
          {trans.__(
            'Not needed if this machine has credentials for the platform. Credentials are stored in the keyring, or in a file that only you can read, and are never shown again.'
          )}
        </p>
      )}
      <SchemaForm
        schema={schema}
        value={credentials}
        errors={credentialErrors}
        onChange={changed => model.updateForm({ credentials: changed })}
        trans={trans}
        idPrefix={id}
      />
    </fieldset>
  );
}
