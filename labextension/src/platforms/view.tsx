/**
 * The platforms of all profiles.
 */

import * as React from 'react';

import { ProfilesModel } from '../profiles/model.js';
import type { IContext } from '../ui/context.js';
import { useChanges } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { useKeptFocus } from '../ui/hooks.js';
import { PlatformProfile } from './profile.js';
import '../../style/platforms.css';

interface IProps extends IContext {
  /** A hidden view does no work. */
  readonly isVisible: boolean;
}

const TOGGLE = '.jp-pai-Platforms-toggle';

export function Platforms(props: IProps): React.JSX.Element {
  const { engine, host, trans, isVisible } = props;
  const model = React.useMemo(() => new ProfilesModel(engine, trans), [engine, trans]);
  const box = React.useRef<HTMLElement>(null);
  useKeptFocus(box);
  useChanges(model);
  React.useEffect(() => {
    if (isVisible) {
      void model.load(); // They may have been edited meanwhile.
    }
  }, [model, isVisible]);
  const isLoaded = model.profiles !== null;
  React.useLayoutEffect(() => {
    if (box.current && document.activeElement === box.current) {
      focusContent(box.current);
    }
  }, [isLoaded]);
  return (
    <section ref={box} className="jp-pai-Platforms" tabIndex={-1} aria-label={trans.__('Platforms')}>
      <header>
        <h2>{trans.__('Platforms')}</h2>
        {host.openProfiles && (
          <button
            type="button"
            className="jp-pai-Button"
            aria-label={trans.__('Add platform')}
            onClick={() => host.openProfiles?.({ isNew: true })}
          >
            {trans.__('Add…')}
          </button>
        )}
      </header>
      <ErrorMessage error={model.error} />
      {!isLoaded && !model.error && <p role="status">{trans.__('Loading…')}</p>}
      <ul className="jp-pai-Platforms-list" onKeyDown={event => moveFocus(event, box.current)}>
        {model.profiles?.map(profile => (
          <PlatformProfile key={profile.name} {...props} model={model} profile={profile} />
        ))}
      </ul>
    </section>
  );
}

/** Focus the first profile; if none is rendered yet, the view itself. */
export function focusContent(view: HTMLElement): void {
  (view.querySelector<HTMLElement>(TOGGLE) ?? view).focus();
}

/** Move between the profiles by the arrow keys, Home and End. */
function moveFocus(event: React.KeyboardEvent, view: HTMLElement | null): void {
  const toggles = [...(view?.querySelectorAll<HTMLElement>(TOGGLE) ?? [])];
  const current = toggles.indexOf(event.target as HTMLElement);
  const places: Readonly<Record<string, number>> = {
    ArrowDown: current + 1,
    ArrowUp: current - 1,
    Home: 0,
    End: toggles.length - 1
  };
  const toggle = current < 0 ? undefined : toggles[places[event.key] ?? -1];
  if (toggle) {
    event.preventDefault();
    toggle.focus();
  }
}
