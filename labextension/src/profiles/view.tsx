/**
 * The profiles page: add, edit, test and remove profiles.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { Trouble } from '../ui/errormessage.js';
import { useKeptFocus } from '../ui/hooks.js';
import { Findings } from './findings.js';
import { keptText, ProfileForm } from './form.js';
import { ProfilesModel } from './model.js';
import type { IPlatform, IProfileView } from './profiles.js';
import { factsOf } from './profiles.js';

interface IProfilesActions {
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
  const { model, trans, onClose } = props;
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  const [said, say] = React.useState('');
  const [isChoosing, setChoosing] = React.useState(false);
  const box = React.useRef<HTMLElement>(null);
  useKeptFocus(box);
  React.useEffect(() => {
    const slot = () => redraw();
    model.changed.connect(slot);
    void model.load();
    return () => void model.changed.disconnect(slot);
  }, [model]);
  /** Focus a button once it is rendered. */
  const focus = (selector: string) =>
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(selector)?.focus());
  // After the form is closed, the focus returns to the button that opened it.
  const from = React.useRef('');
  const isEditing = model.editing !== null;
  React.useEffect(() => {
    if (isEditing) {
      from.current = model.editing?.profile?.name ?? '';
    } else if (box.current?.contains(document.activeElement) || document.activeElement === document.body) {
      focus(from.current ? `[data-profile="${CSS.escape(from.current)}"] button` : '.jp-pai-Profiles-add');
    }
  }, [isEditing]);
  const saved = (name: string) => {
    const profile = model.profiles?.find(one => one.name === name);
    from.current = name;
    const kept = profile?.kept.place ? keptText(profile.kept, model.file, trans) : '';
    say(`${trans.__('Profile %1 saved.', name)} ${kept}`.trim());
  };
  const choose = (platform: IPlatform) => {
    setChoosing(false);
    say('');
    model.add(platform);
  };
  const press = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape' && !event.defaultPrevented && (isChoosing || onClose)) {
      event.preventDefault();
      event.stopPropagation();
      if (isChoosing) {
        setChoosing(false);
        focus('.jp-pai-Profiles-add');
      } else {
        onClose?.();
      }
    }
  };
  return (
    <section ref={box} className="jp-pai-Profiles" tabIndex={-1} aria-label={trans.__('Profiles')} onKeyDown={press}>
      <header>
        <h2>{trans.__('Profiles')}</h2>
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
      <p role="status">{said || (model.profiles === null && !model.trouble ? trans.__('Loading…') : '')}</p>
      <Trouble trouble={model.trouble} />
      {model.editing ? (
        <ProfileForm {...props} editing={model.editing} onSaved={saved} />
      ) : (
        <>
          {isChoosing && <Platforms model={model} trans={trans} choose={choose} />}
          <ul className="jp-pai-Profiles-list">
            {model.profiles?.map(profile => (
              <Profile key={profile.name} {...props} profile={profile} say={say} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

interface IChoice {
  readonly model: ProfilesModel;
  readonly trans: IContext['trans'];
  readonly choose: (platform: IPlatform) => void;
}

function Platforms({ model, trans, choose }: IChoice): React.JSX.Element {
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

interface IProfile extends IProps {
  readonly profile: IProfileView;
  readonly say: (text: string) => void;
}

function Profile(props: IProfile): React.JSX.Element {
  const { model, profile, trans } = props;
  const platform = model.platformOf(profile);
  const facts = factsOf(profile, platform);
  const test = model.tests.get(profile.name);
  const written = profile.file ? trans.__('Defined in %1', profile.file) : trans.__('Built in');
  return (
    <li data-profile={profile.name}>
      <p className="jp-pai-Profiles-name">
        <b>{profile.name}</b> {profile.isDefault && <span className="jp-pai-Profiles-mark">{trans.__('default')}</span>}
      </p>
      <p>{[platform?.title ?? profile.backend, facts].filter(Boolean).join(' · ')}</p>
      {profile.hasOwn && <p>{keptText(profile.kept, model.file, trans)}</p>}
      {profile.refused && <p className="jp-pai-Trouble">{profile.refused}</p>}
      <p className="jp-pai-Profiles-hint">
        {written}
        {profile.isLocked && ` · ${trans.__('Locked by the administrator')}`}
      </p>
      <Buttons {...props} />
      {test && <Findings test={test} name={profile.name} trans={trans} />}
    </li>
  );
}

function Buttons({ model, profile, host, trans, say, onChosen }: IProfile): React.JSX.Element {
  const { name } = profile;
  const remove = async () => {
    if (await host.confirm({ ...question(profile, model.file, trans), yes: trans.__('Remove'), warn: true })) {
      await model.remove(profile);
      say(model.trouble ? '' : trans.__('Profile %1 removed.', name));
    }
  };
  const makeDefault = async () => {
    await model.makeDefault(profile);
    say(model.trouble ? '' : trans.__('%1 is now the default profile.', name));
  };
  const buttons: readonly (readonly [string, string, () => void])[] = [
    ...(onChosen && !profile.refused
      ? [[trans.__('Use'), trans.__('Use profile %1', name), () => onChosen(name)] as const]
      : []),
    ...(profile.isLocked || !model.platformOf(profile)
      ? []
      : [[trans.__('Edit'), trans.__('Edit profile %1', name), () => model.change(profile)] as const]),
    [trans.__('Test'), trans.__('Test profile %1', name), () => void model.test(profile)],
    ...(profile.isDefault || profile.refused
      ? []
      : [[trans.__('Make default'), trans.__('Make %1 the default', name), () => void makeDefault()] as const]),
    ...(profile.isLocked || !profile.file
      ? []
      : [[trans.__('Remove'), trans.__('Remove profile %1', name), () => void remove()] as const])
  ];
  return (
    <div className="jp-pai-Profiles-buttons">
      {buttons.map(([text, label, press]) => (
        <button key={text} type="button" className="jp-pai-Button" aria-label={label} onClick={press}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** Describe what removing a profile deletes. */
function question(
  { name, file, hasOwn, kept }: IProfileView,
  secrets: string,
  trans: IContext['trans']
): { title: string; text: string } {
  const lost = [trans.__('Its settings are removed from %1.', file)];
  if (hasOwn && kept.place) {
    const place = kept.place === 'file' ? secrets : trans.__('the keyring');
    lost.push(trans.__('Its credentials %1 are removed from %2.', kept.hint, place));
  }
  lost.push(trans.__('Jobs submitted with it are kept, but can no longer be monitored or stopped from here.'));
  return { title: trans.__('Remove profile %1?', name), text: lost.join('\n') };
}
