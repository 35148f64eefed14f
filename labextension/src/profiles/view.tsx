/**
 * The profiles page: add, edit, test and remove profiles.
 */

import * as React from 'react';

import type { IProfilesTarget } from '../host/host.js';
import type { IContext } from '../ui/context.js';
import { useChanges } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { useKeptFocus } from '../ui/hooks.js';
import { ProfileForm } from './form.js';
import { ProfilesModel } from './model.js';
import type { IPlatform, IProfileView } from './profiles.js';
import { credentialsText, summaryOf } from './profiles.js';
import { TestResults } from './testresults.js';

const ADD_BUTTON = '.jp-pai-Profiles-add';

interface IProfilesActions {
  /** The form to open; each new object opens it again. */
  readonly target?: IProfilesTarget | null;
  /** Called when a profile is chosen for jobs to use. Without it, no profile can be chosen. */
  readonly onChosen?: (profile: string) => void;
  /** Called when the page is closed. Without it, the page cannot be closed. */
  readonly onClose?: () => void;
}

interface IProps extends IContext, IProfilesActions {
  readonly model: ProfilesModel;
}

/** Return a function that renders the profiles of one page; unsaved changes outlive the view. */
export function profilesView(context: IContext): (actions: IProfilesActions) => React.JSX.Element {
  const model = new ProfilesModel(context.engine, context.trans);
  return actions => <Profiles {...context} {...actions} model={model} />;
}

function Profiles(props: IProps): React.JSX.Element {
  const { model, trans, target, onClose } = props;
  const [status, setStatus] = React.useState('');
  const [isChoosing, setChoosing] = React.useState(false);
  const box = React.useRef<HTMLElement>(null);
  useKeptFocus(box);
  useChanges(model);
  React.useEffect(() => void model.load().then(() => target && setChoosing(model.open(target))), [model, target]);
  const returnTo = useReturningFocus(box, model);
  const onSaved = (name: string) => {
    const credentials = model.profiles?.find(profile => profile.name === name)?.credentials;
    returnTo.current = name;
    const stored = credentials?.storage ? credentialsText(credentials, model.credentialsFile, trans) : '';
    setStatus([trans.__('Profile %1 saved.', name), stored, ...model.notes].filter(Boolean).join(' '));
  };
  const choose = (platform: IPlatform) => {
    setChoosing(false);
    setStatus('');
    model.startAdding(platform);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape' && !event.defaultPrevented && (isChoosing || onClose)) {
      event.preventDefault();
      event.stopPropagation();
      if (isChoosing) {
        setChoosing(false);
        focusLater(box, ADD_BUTTON);
      } else {
        onClose?.();
      }
    }
  };
  const label = trans.__('Profiles');
  return (
    <section ref={box} className="jp-pai-Profiles" tabIndex={-1} aria-label={label} onKeyDown={onKeyDown}>
      <header>
        <h2>{label}</h2>
        {!model.editing && (
          <button
            type="button"
            className="jp-pai-Button jp-pai-Profiles-add"
            aria-expanded={isChoosing}
            disabled={!model.platforms.length}
            onClick={() => setChoosing(!isChoosing)}
          >
            {trans.__('Add…')}
          </button>
        )}
        {onClose && (
          <button type="button" className="jp-pai-Button" onClick={onClose}>
            {trans.__('Back')}
          </button>
        )}
      </header>
      <p role="status">{status || (model.profiles === null && !model.error ? trans.__('Loading…') : '')}</p>
      <ErrorMessage error={model.error} />
      {model.editing ? (
        <ProfileForm {...props} editing={model.editing} onSaved={onSaved} />
      ) : (
        <>
          {isChoosing && <PlatformChoice model={model} trans={trans} choose={choose} />}
          <ul className="jp-pai-Profiles-list">
            {model.profiles?.map(profile => (
              <Profile key={profile.name} {...props} profile={profile} setStatus={setStatus} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** After the form is closed, focus the button of its profile; without one, the button that adds profiles. */
function useReturningFocus(box: React.RefObject<HTMLElement>, model: ProfilesModel): React.MutableRefObject<string> {
  const returnTo = React.useRef('');
  const isEditing = model.editing !== null;
  React.useEffect(() => {
    if (isEditing) {
      returnTo.current = model.editing?.profile?.name ?? '';
    } else if (box.current?.contains(document.activeElement) || document.activeElement === document.body) {
      focusLater(box, returnTo.current ? `[data-profile="${CSS.escape(returnTo.current)}"] button` : ADD_BUTTON);
    }
  }, [isEditing]);
  return returnTo;
}

/** Focus an element once it is rendered. */
function focusLater(box: React.RefObject<HTMLElement>, selector: string): void {
  requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(selector)?.focus());
}

interface IPlatformsProps {
  readonly model: ProfilesModel;
  readonly trans: IContext['trans'];
  readonly choose: (platform: IPlatform) => void;
}

function PlatformChoice({ model, trans, choose }: IPlatformsProps): React.JSX.Element {
  const box = React.useRef<HTMLDivElement>(null);
  React.useEffect(() => box.current?.querySelector('button')?.focus(), []);
  return (
    <div ref={box} className="jp-pai-Profiles-platforms" role="group" aria-label={trans.__('Select a platform')}>
      <p>{trans.__('Select a platform')}</p>
      {model.platforms.map(platform => (
        <button key={platform.name} type="button" className="jp-pai-Button" onClick={() => choose(platform)}>
          {platform.title}
        </button>
      ))}
    </div>
  );
}

interface IProfileProps extends IProps {
  readonly profile: IProfileView;
  readonly setStatus: (text: string) => void;
}

function Profile(props: IProfileProps): React.JSX.Element {
  const { model, profile, trans } = props;
  const platform = model.platformOf(profile);
  const summary = summaryOf(profile, platform);
  const test = model.tests.get(profile.name);
  const origin = profile.file ? trans.__('Defined in %1', profile.file) : trans.__('Built in');
  return (
    <li data-profile={profile.name}>
      <p className="jp-pai-Profiles-name">
        <b>{profile.name}</b> {profile.isDefault && <span className="jp-pai-Profiles-mark">{trans.__('default')}</span>}
      </p>
      <p>{[platform?.title ?? profile.backend, summary].filter(Boolean).join(' · ')}</p>
      {profile.hasOwnCredentials && <p>{credentialsText(profile.credentials, model.credentialsFile, trans)}</p>}
      {profile.refused && <p className="jp-pai-Trouble">{profile.refused}</p>}
      <p className="jp-pai-Profiles-hint">
        {origin}
        {profile.isLocked && ` · ${trans.__('Locked by the administrator')}`}
      </p>
      <Buttons {...props} />
      {test && <TestResults test={test} name={profile.name} trans={trans} />}
    </li>
  );
}

function Buttons({ model, profile, host, trans, setStatus, onChosen }: IProfileProps): React.JSX.Element {
  const { name } = profile;
  const remove = async () => {
    if (
      await host.confirm({
        ...removalQuestion(profile, model.credentialsFile, trans),
        yes: trans.__('Remove'),
        warn: true
      })
    ) {
      await model.remove(profile);
      setStatus(model.error ? '' : trans.__('Profile %1 removed.', name));
    }
  };
  const makeDefault = async () => {
    await model.makeDefault(profile);
    setStatus(model.error ? '' : trans.__('%1 is now the default profile.', name));
  };
  const buttons: readonly (readonly [string, string, () => void])[] = [
    ...(onChosen && !profile.refused
      ? [[trans.__('Use'), trans.__('Use profile %1', name), () => onChosen(name)] as const]
      : []),
    ...(profile.isLocked || !model.platformOf(profile)
      ? []
      : [[trans.__('Edit'), trans.__('Edit profile %1', name), () => model.startEditing(profile)] as const]),
    [trans.__('Test'), trans.__('Test profile %1', name), () => void model.test(profile)],
    ...(profile.isDefault || profile.refused
      ? []
      : [[trans.__('Make default'), trans.__('Make default: %1', name), () => void makeDefault()] as const]),
    ...(profile.isLocked || !profile.file
      ? []
      : [[trans.__('Remove'), trans.__('Remove profile %1', name), () => void remove()] as const])
  ];
  return (
    <div className="jp-pai-Profiles-buttons">
      {buttons.map(([text, label, onClick]) => (
        <button key={text} type="button" className="jp-pai-Button" aria-label={label} onClick={onClick}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** Describe what removing a profile deletes. */
function removalQuestion(
  { name, file, hasOwnCredentials: hasOwn, credentials }: IProfileView,
  credentialsFile: string,
  trans: IContext['trans']
): { title: string; text: string } {
  const consequences = [trans.__('Its settings are removed from %1.', file)];
  if (hasOwn && credentials.storage) {
    const storage = credentials.storage === 'file' ? credentialsFile : trans.__('the keyring');
    consequences.push(trans.__('Its credentials %1 are removed from %2.', credentials.hint, storage));
  }
  consequences.push(trans.__('Jobs submitted with it are kept, but can no longer be monitored or stopped from here.'));
  return { title: trans.__('Remove profile %1?', name), text: consequences.join('\n') };
}
